"""The signals of a turn: seven numbers from 0 to 1, and their composite. By patterns and counts, no
model; a turn takes well under 5 ms.

    correction      phrases by which the user corrects, 0.5 each, and the reply's apology 0.25
    novelty         the share of the user's words that the last turns did not have, at half weight,
                    and phrases that announce something new, 0.5 each
    contradiction   sentences of the reply that deny what an earlier reply said, or say what it
                    denied, 0.5 each
    loop            1 for the third equal reply of the last twenty, 0.5 for the second
    confabulation   1 if the user speaks of a plan and the reply treats it as done
    tension         phrases of doubt or disappointment, 0.4 each; an ability that the reply claims
                    and an earlier one denied, or the reverse, 0.5
    coherence       1 less the share of the identity's principles touched by the reply that it
                    denies; 1 where it touches none

    composite       the sum of WEIGHTS times them, coherence counting as 1 less itself, at most 1

What is kept between turns are counts and 16-bit digests of words, no text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from doxa.agent.signals.patterns import denies, negations, phrases
from doxa.base.limits import SIGNALS_KEPT_TURNS, SIGNALS_TEXT_CHARS_READ
from doxa.base.patterns import lazy_re
from doxa.base.words import terms

COMPONENTS = (
    "correction",
    "novelty",
    "contradiction",
    "loop",
    "confabulation",
    "tension",
    "coherence",
)
# Chosen and not fitted, since no set says when a conversation is agitated: novelty as in the
# runtime that this follows (at most 0.3), and the others so that none alone is SUSTAINED.
WEIGHTS = {
    "correction": 0.6,
    "novelty": 0.3,
    "contradiction": 0.5,
    "loop": 0.4,
    "confabulation": 0.5,
    "tension": 0.5,
    "coherence": 0.4,
}
_SENTENCE = lazy_re(r"[.!?。！？\n]+")
_WORDS_KEPT, _SENTENCES_KEPT = 40, 8
_RECENT = 5


@dataclass(frozen=True, slots=True)
class SignalValues:
    """The signals of one turn, each from 0 to 1; of coherence 1 is the best."""

    correction: float
    novelty: float
    contradiction: float
    loop: float
    confabulation: float
    tension: float
    coherence: float
    composite: float


@dataclass(slots=True)
class TurnTrace:
    """What the next turns need of a turn: digests of its words and of its reply's sentences."""

    words: list[int] = field(default_factory=list)
    reply: str = ""
    sentences: list[tuple[list[int], bool]] = field(default_factory=list)
    ability: int = 0  # 1 claimed, -1 denied

    def stored(self) -> dict[str, Any]:
        return {"w": self.words, "r": self.reply, "s": self.sentences, "a": self.ability}

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> TurnTrace:
        sentences = [(list(words), bool(denied)) for words, denied in value.get("s", ())]
        return cls(
            list(value.get("w", ())), str(value.get("r", "")), sentences, int(value.get("a", 0))
        )


def measure(
    user: str, reply: str, before: Sequence[TurnTrace], principles: Sequence[str] = ()
) -> tuple[SignalValues, TurnTrace]:
    """Return the signals of a turn and what the next turns need of it. `before` are the last
    turns, the newest last; `principles` the lines of SOUL."""
    user, reply = user[:SIGNALS_TEXT_CHARS_READ], reply[:SIGNALS_TEXT_CHARS_READ]
    before = before[-SIGNALS_KEPT_TURNS:]
    trace = _trace(user, reply)
    values = {
        "correction": 0.5 * _found("correction", user) + 0.25 * bool(_found("apology", reply)),
        "novelty": 0.5 * _fresh(trace, before) + 0.5 * _found("novelty", user),
        "contradiction": 0.5 * _contradictions(trace, before),
        "loop": 0.5 * sum(one.reply == trace.reply for one in before if trace.reply),
        "confabulation": float(bool(_found("plan", user) and _found("done", reply))),
        "tension": 0.4 * _found("tension", user) + 0.5 * _ability_turned(trace, before),
        "coherence": _coherence(reply, principles) if principles else 1.0,
    }
    clamped = {name: min(1.0, max(0.0, value)) for name, value in values.items()}
    total = sum(
        WEIGHTS[name] * (1 - value if name == "coherence" else value)
        for name, value in clamped.items()
    )
    return SignalValues(**clamped, composite=min(1.0, total)), trace


def is_marked(user: str) -> bool:
    """Return whether the user asks for something to be kept."""
    return bool(_found("marker", user[:SIGNALS_TEXT_CHARS_READ]))


def digest_of(word: str) -> int:
    """Return 16 bits that stand for a word."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=2).digest())


def _found(name: str, text: str) -> int:
    return sum(1 for _ in phrases(name).finditer(text))


def _trace(user: str, reply: str) -> TurnTrace:
    words = sorted({digest_of(word) for word in terms(user)})[:_WORDS_KEPT]
    sentences: list[tuple[list[int], bool]] = []
    for part in _SENTENCE.split(reply)[: 4 * _SENTENCES_KEPT]:
        said = sorted({digest_of(word) for word in terms(negations().sub(" ", part))})
        if len(said) > 1 and len(sentences) < _SENTENCES_KEPT:
            sentences.append((said[:_WORDS_KEPT], denies(part)))
    plain = " ".join(reply.casefold().split())
    digest = hashlib.blake2b(plain.encode(), digest_size=8).hexdigest() if plain else ""
    ability = -1 if _found("inability", reply) else int(bool(_found("ability", reply)))
    return TurnTrace(words, digest, sentences, ability)


def _fresh(trace: TurnTrace, before: Sequence[TurnTrace]) -> float:
    known = {word for one in before[-_RECENT:] for word in one.words}
    if not known or not trace.words:
        return 0.0
    return sum(word not in known for word in trace.words) / len(trace.words)


def _contradictions(trace: TurnTrace, before: Sequence[TurnTrace]) -> int:
    earlier = [one for turn in before[-_RECENT:] for one in turn.sentences]
    return sum(
        any(
            denying != denied
            and len({*words} & {*held}) >= max(2, 0.7 * min(len(words), len(held)))
            for held, denied in earlier
        )
        for words, denying in trace.sentences
    )


def _ability_turned(trace: TurnTrace, before: Sequence[TurnTrace]) -> bool:
    return bool(trace.ability) and any(
        one.ability == -trace.ability and {*one.words} & {*trace.words} for one in before[-_RECENT:]
    )


@lru_cache(maxsize=1_024)
def _principle(text: str) -> tuple[frozenset[str], bool]:
    return frozenset(terms(negations().sub(" ", text))), denies(text)


def _coherence(reply: str, principles: Sequence[str]) -> float:
    parts = [
        (frozenset(terms(negations().sub(" ", part))), denies(part))
        for part in _SENTENCE.split(reply)[: 4 * _SENTENCES_KEPT]
    ]
    touched = denied = 0
    for principle in principles:
        words, denying = _principle(principle)
        near = [one for said, one in parts if len(said & words) >= max(2, 0.6 * len(words))]
        touched += bool(near)
        denied += any(one != denying for one in near)
    return 1 - denied / touched if touched else 1.0
