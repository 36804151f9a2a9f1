"""Whether a message brings in what was said before: the injection gate.

    requests    it asks or orders something: who only states something asks for nothing
    stands out  hits are far from what is unrelated in this memory, and memory probably holds the
                answer: both on scales that count how many memories there are (recall.threshold)
    asks        it has words for the past ("what did I tell you about ...")
    names       a proper noun of it stands in one of the first hits

The gate opens where all of `NEEDED` hold. `python -m bench injection` measures each part, next to
the published rule, by which a raw distance below 1.0, or 1.3 in a small memory, opens it; what did
not earn its place there, as the noise filter, is used by the benchmark alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doxa.agent.context.phrases import patterns
from doxa.agent.context.trivial import is_trivial
from doxa.base.limits import HOOK_QUESTION_CHARS_MAX
from doxa.ingestion.own_words import own_words
from doxa.language.assertion import modes
from doxa.recall import Hit, Recall
from doxa.redaction.stripping import stripped

NEEDED = frozenset(("requests", "stands out"))
_CHARS_MIN = 10
_NAMED_HITS = 10
_BEFORE_SENTENCE = frozenset('.!?:;"“«(')
_CAPITAL = re.compile(r"\b[^\W\d_a-z][\w’'-]*[\w]")
_JOINT = re.compile(r"\s+(?:(?:of|the|de|la|le|du|des|von|van|der|den|del|di|da|y|and)\s+){0,2}")
_NAME_CHARS_MIN = 3
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
_ASKS = re.compile(r"[?？]|¿|[吗嗎呢]\W*$")
_REQUESTS = frozenset(("question", "command"))


def question_of(message: str) -> str:
    """Return what a message asks, without injected blocks and pasted text; "" if it asks nothing.
    A long one is asked by its end."""
    own = own_words(stripped(message)).strip()
    if is_trivial(own) or len(own) < _CHARS_MIN:
        return ""
    return own[-HOOK_QUESTION_CHARS_MAX:]


def asks_for_the_past(message: str) -> bool:
    """Return whether a message asks for something that was said before."""
    return patterns().intent.search(message) is not None


def requests(message: str) -> bool:
    """Return whether a message asks or orders something, in a sentence of its own words."""
    own = own_words(stripped(message))
    return any(
        _ASKS.search(one) is not None or modes(one.strip()) & _REQUESTS
        for one in _SENTENCE.split(own)
        if one.strip()
    )


def proper_nouns(message: str) -> list[str]:
    """Return the proper nouns of a message: runs of capitalised words, also joined by "of the" and
    the like, and single ones that do not begin a sentence."""
    spans: list[tuple[int, int]] = []
    starts = set()
    for match in _CAPITAL.finditer(message):
        start, end = match.span()
        if _begins_sentence(message, start):
            starts.add(match.group())
        if spans and _JOINT.fullmatch(message, spans[-1][1], start):
            start = spans.pop()[0]
        spans.append((start, end))
    found = (message[start:end] for start, end in spans)
    return [
        " ".join(name.split())
        for name in found
        if len(name) >= _NAME_CHARS_MIN and (" " in name or name not in starts)
    ]


def _begins_sentence(message: str, start: int) -> bool:
    """Return whether a sentence, a line or a quotation begins at a place."""
    at = start
    while at and message[at - 1].isspace():
        at -= 1
        if message[at] == "\n":
            return True
    return start == 0 or (at > 0 and message[at - 1] in _BEFORE_SENTENCE)


def signals(message: str, found: Recall, hits: Sequence[Hit]) -> frozenset[str]:
    """Return what speaks for bringing in these hits of a strict recall of the message: of what it
    asks, where words and names count, since the rest may be a pasted log."""
    asked = question_of(message)
    names = [name.casefold() for name in proper_nouns(asked)]
    first = [hit.text.casefold() for hit in hits[:_NAMED_HITS]]
    held = {
        "requests": requests(message),
        "asks": bool(hits) and asks_for_the_past(asked),
        "stands out": bool(hits) and found.answerable_level != "low",
        "names": any(name in text for name in names for text in first),
    }
    return frozenset(name for name, holds in held.items() if holds)


def is_noise(said: str) -> bool:
    """Return whether what a person said only asks about memory itself, or asks nothing."""
    text = said.strip()
    return is_trivial(text) or patterns().meta.search(text) is not None


def denies_memory(answered: str) -> bool:
    """Return whether an answer only says that nothing is remembered."""
    return patterns().denial.search(answered) is not None
