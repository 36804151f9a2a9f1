"""The stages that a question calls for: beliefs that answer it, and what the person said about it
before, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doxa.agent.context.beliefs import belief_line
from doxa.agent.context.gate import NEEDED, question_of, requests, signals
from doxa.agent.context.isolation import injectable, readable
from doxa.agent.context.phrases import phrases_of
from doxa.agent.context.quoting import shown
from doxa.agent.context.rules import windows_over
from doxa.agent.context.stages import ContextLine, Situation
from doxa.agent.context.vouching import BELIEF_KINDS, without_repeats
from doxa.base.clock import format_time
from doxa.base.ids import digest_of
from doxa.base.limits import CONTEXT_QUOTE_CHARS_MAX, HOOK_QUESTION_CHARS_MAX
from doxa.base.quoting import bare
from doxa.ingestion.own_words import own_words
from doxa.recall import Hit
from doxa.store import Node

_RECALLED_ITEMS = 12
_SHOWN_ITEMS = 5
_QUOTES_READ = 12
_QUOTES_SHOWN = 3
_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)|[。！？]")


class Recalled(NamedTuple):
    """Beliefs about a question that may be injected and are new to the conversation, and how many
    others recall found."""

    hits: list[Hit]
    others: int


def recalled(situation: Situation, question: str) -> Recalled:
    """Return what a person stands for about a question."""
    found = situation.recall(
        question[:HOOK_QUESTION_CHARS_MAX],
        kinds=BELIEF_KINDS,
        limit=_RECALLED_ITEMS,
        trust="candidate",
        strict=True,
    ).hits
    with situation.store.read() as reader:
        hits = without_repeats(injectable(situation, reader, found))
    others = len(without_repeats(found)) - len(hits)
    # a belief that the brief or an earlier prompt brought in is in the context already
    new = [hit for hit in hits if digest_of(hit.kref) not in situation.given]
    return Recalled(new[:_SHOWN_ITEMS], others)


def recall_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield the beliefs that the question is about."""
    question = question_of(situation.question)
    if question:
        for hit in recalled(situation, question).hits:
            yield belief_line(hit, "recall")


def quote_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield what the person said about the question before, in the order in which it was said, if
    the gate opens. What an assistant, a tool or a page said is never among it."""
    question = question_of(situation.question)
    if not question or not requests(situation.question):  # before a search that may be in vain
        return
    found = situation.recall(question, kinds=("exchange",), limit=_QUOTES_READ, strict=True)
    held = signals(situation.question, found, found.hits)
    if not held >= NEEDED:
        return
    with situation.store.read() as reader:
        nodes = reader.nodes_by_kref([hit.kref for hit in found.hits])
        seen = readable(situation, reader, nodes)
        said = {str(n.props["kref"]) for n in nodes if n.id in seen and _is_said(n)}
        own = [hit for hit in found.hits if hit.kref in said and _is_current(hit)]
        windows = windows_over(reader, situation.project)
    own = [hit for hit in own if digest_of(hit.kref) not in situation.given]
    notes = phrases_of(situation.language).notes
    for hit in sorted(without_repeats(own)[:_QUOTES_SHOWN], key=lambda hit: hit.time):
        why = next((one.why for one in windows if one.covers(hit.time, hit.text)), "")
        note = f"; {notes['window'].format(why=shown(why, 120))}" if why else ""
        words = _ended(own_words(hit.text), CONTEXT_QUOTE_CHARS_MAX)
        day = format_time(hit.time)[:10]
        text = f"- {shown(words, CONTEXT_QUOTE_CHARS_MAX)} [{bare(hit.kref)}; {day}{note}]"
        reason = f"{hit.kref}: the person said it; the message {', '.join(sorted(held))}"
        yield ContextLine("quotes", text, reason, hit.kref)


def _is_said(turn: Node) -> bool:
    """Whether a turn is the person's own words."""
    return turn.props.get("role") == "user" and not turn.props.get("deprecated")


def _is_current(hit: Hit) -> bool:
    return hit.trust in ("stated", "verified") and hit.status == "current"


def _ended(text: str, chars_max: int) -> str:
    """The text, cut at the end of a sentence if it is too long."""
    text = " ".join(text.split())
    if len(text) <= chars_max:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, chars_max)]
    return text[: ends[-1]] if ends and ends[-1] > chars_max // 2 else text
