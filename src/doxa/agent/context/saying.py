"""Whether the writer of a message says what a belief says.

    "We deploy on Thursdays from now on."           says "We deploy on Thursdays"
    "Should we deploy on Thursdays?"                a question says nothing
    "If the tests fail we deploy the old build."    the condition is lost
    "Avoid deployments on Thursdays."               one of the two denies
    "Use MySQL instead of PostgreSQL."              the reverse of "Use PostgreSQL instead of MySQL"

One sentence, or two in a row, of the writer's own words has to hold the words of the belief, to
assert them, and to deny what the belief denies and nothing else of it. In doubt the answer is no: a
belief that is not injected can still be recalled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from doxa.base.words import terms
from doxa.ingestion.own_words import own_words
from doxa.language.assertion import is_frame, modes, retracts

_SAID = 0.75  # of the words of a belief, how many the message has
_WORDS_MIN = 2
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
_CLAUSE_END = re.compile(r"[,;:.!?()。！？，；：]|\s[-–—]\s")
_FRAMES = frozenset("question joked fiction outdated reported hypothetical hedged".split())
_BOUND = frozenset(("question", "hypothetical"))  # lost or added, they change what is said
# what `modes` has no pattern for: conditions in mid-sentence, a past that is over, other languages
_QUESTION = re.compile(r"[?？]\W*$|¿|[吗嗎呢]\W*$")
_CONDITION = re.compile(
    r"\b(?:when|whenever|once|until|till|except|only|wenn|falls|sofern|bis|sobald|nur|si|quand"
    r"|lorsque|sauf|jusqu\w*|seulement|cuando|salvo|hasta|solo|sólo)\b|如果|要是|假如|除非|只有",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:I|we|you|they|he|she|it) (?:had )?used to\b|\b(?:formerly|previously|früher|autrefois"
    r"|antes)\b|以前",
    re.IGNORECASE,
)
_REPLACES = (
    r"instead of|rather than|as opposed to|in place of|in lieu of|anstelle|anstatt|statt"
    r"|au lieu de|plutôt que|en lugar de|en vez de|而不是"
)
_REPLACEMENT = re.compile(rf"\b(?:{_REPLACES})\b|而不是|, (?P<plain>not|nicht)\b", re.IGNORECASE)
_NOT = re.compile(
    rf"\b(?:{_REPLACES}|not|no|never|none|nobody|nothing|cannot|without|neither|nor|avoid\w*"
    r"|stop|stops|stopped|stopping|against|refus\w+|reject\w*|forbid\w*|prohibit\w*|ban|bans|banned"
    r"|drop|drops|dropped|abandon\w*|cease\w*|quit|ditch\w*|unlike|disallow\w*|don['’]?t|dont"
    r"|nicht|kein\w*|nie|niemals|ohne|gegen|vermeid\w*|verbiet\w*|verboten"
    r"|pas|jamais|sans|contre|évite\w*|interdi\w*"
    r"|nunca|jamás|sin|ningún\w*|contra|evita\w*|prohib\w*)\b|\b\w+n['’]t\b|而不是|避免|禁止"
    r"|[没沒別别]|(?<!而)不(?!是)|不是(?<!而不是)",
    re.IGNORECASE,
)
_ORDERED = re.compile(
    r"\b(?:with|by|to|into|over|than|from|before|after|above|below|als|vor|nach|avant|après|que|antes|después)\b",
    re.IGNORECASE,
)
_SMALL = re.compile(
    r"\s+(?:for|in|on|at|to|with|by|as|of|für|im|auf|bei|mit|pour|dans|avec|sur|para|en|con)\s",
    re.IGNORECASE,
)


def says(message: str, belief: str) -> bool:
    """Return whether the writer's own words in a message say what a belief says: one sentence, or
    two in a row, that asserts nearly all of its words, all its numbers, and denies the same."""
    asked = set(terms(belief))
    plain = set(terms(_NOT.sub(" ", belief)))  # "not" and "never" deny alike
    asked = plain if len(plain) >= _WORDS_MIN else asked
    if len(asked) < _WORDS_MIN:
        return False
    sentences = _sentences(message)
    held = [one for one in sentences if _holds(one, asked)]
    if any(_reverses(one, belief) for one in held):
        return False
    if any(_asserts(one, belief) for one in held):
        return True
    return any(
        _holds(f"{one} {two}", asked)
        and not _reverses(f"{one} {two}", belief)
        and all(_asserts(part, belief) for part in (one, two) if asked & set(terms(part)))
        for one, two in pairwise(sentences)
    )


def _sentences(message: str) -> list[str]:
    """The sentences of the writer's own words, without those that the next one takes back, up to
    one that makes the rest unreal."""
    found: list[str] = []
    for one in _SENTENCE.split(own_words(message)):
        sentence = (one or "").strip()
        if is_frame(sentence):
            break
        if found and retracts(sentence) == "whole":
            found.pop()
        elif sentence:
            found.append(sentence)
    return found


def _holds(part: str, asked: set[str]) -> bool:
    held = set(terms(part))
    numbers = {word for word in asked if any(char.isdigit() for char in word)}
    return numbers <= held and len(asked & held) >= _SAID * len(asked)


def _asserts(part: str, belief: str) -> bool:
    """Whether a sentence asserts what it holds, as far as the belief does."""
    here, there = _modes(part), _modes(belief)
    return here <= there and here & _BOUND == there & _BOUND


def _modes(text: str) -> frozenset[str]:
    found = modes(text) & _FRAMES
    found |= {"question"} if _QUESTION.search(text) else set()
    found |= {"hypothetical"} if _CONDITION.search(text) else set()
    return found | ({"outdated"} if _OVER.search(text) else set())


def _reverses(part: str, belief: str) -> bool:
    """Whether one of two texts in nearly the same words denies or reverses what the other says."""
    shared = set(terms(part)) & set(terms(belief))
    here = _without_replaced(part, set(terms(belief)))
    there = _without_replaced(belief, set(terms(part)))
    denied = [_scopes(_NOT, text, shared) for text in (here, there)]
    if len(denied[0]) != len(denied[1]):
        return True
    if not _alike(*denied) and all(map(all, denied)):
        return True
    same_order = _order(here, shared) == _order(there, shared)
    return not same_order and not (_alike(*denied) and _same_roles(here, there, shared))


def _same_roles(here: str, there: str, shared: set[str]) -> bool:
    """Whether "over", "from", "to" and the like are followed by the same shared word in both texts,
    as far as both have them."""
    roles = [_roles(text, shared) for text in (here, there)]
    both = roles[0].keys() & roles[1].keys()
    return all(roles[0][mark] == roles[1][mark] for mark in both) and (bool(both) or not all(roles))


def _roles(text: str, shared: set[str]) -> dict[str, str]:
    marks = [mark.casefold() for mark in _ORDERED.findall(text)]
    return {
        mark: scope[0]
        for mark, scope in zip(marks, _scopes(_ORDERED, text, shared), strict=True)
        if scope
    }


def _scopes(marks: re.Pattern[str], text: str, shared: set[str]) -> list[list[str]]:
    """The shared words that follow each mark in its clause."""
    found = []
    for mark in marks.finditer(text):
        clause = _CLAUSE_END.split(text[mark.end() :], maxsplit=1)[0]
        found.append([word for word in terms(clause) if word in shared])
    return found


def _alike(here: Sequence[list[str]], there: Sequence[list[str]]) -> bool:
    """Whether the marks of both texts are about the same: they begin with the same word, and one
    reaches as far as the other or farther."""
    return len(here) == len(there) and all(
        bool(one and two) and one[0] == two[0] and (set(one) <= set(two) or set(two) <= set(one))
        for one, two in zip(sorted(here), sorted(there), strict=True)
    )


def _order(text: str, shared: set[str]) -> list[str]:
    return list(dict.fromkeys(word for word in terms(text) if word in shared))


def _without_replaced(text: str, other: set[str]) -> str:
    """Cut out what something is used instead of, where the other text says nothing of that."""
    mark = _REPLACEMENT.search(text)
    if mark is None:
        return text
    rest = text[mark.end() :]
    small = None if mark["plain"] else _SMALL.search(rest, 1)
    clause = _CLAUSE_END.search(rest)
    ends = [one.start() for one in (small, clause) if one is not None]
    end = min(ends, default=len(rest))
    replaced = set(terms(rest[:end]))
    return text if not replaced or replaced & other else text[: mark.start()] + rest[end:]
