"""Whether a source says what a claim says.

    missing   the source is not there, or says nothing of it: less than half of its content words
    drifted   the source is there, and its passage is not the one that the claim was made from
    exact     a sentence of the passage is the claim, word for word, and is asserted
    partial   anything else. It supports the claim if the check of consolidation finds nothing
              against it: names, numbers, dates, denial, and whether it is asserted at all

Case, punctuation and the marks of lists do not matter to `exact`; a word more or less does, since
it may be "not". The check and its threshold are those by which consolidation judges what is drawn
from turns (consolidation/claims.py): nothing was fitted here. It reads denial by the grammar of
English. For German, Spanish, French and Chinese the words that deny are counted, in the claim and
in the sentence that shares most words with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from doxa.agent.claims.handles import ResolvedHandle
from doxa.agent.signals.patterns import denies, negations
from doxa.base.words import terms
from doxa.consolidation.claims import COVERED_MIN, why_unsupported
from doxa.consolidation.evidence import ClaimEvidence
from doxa.consolidation.transcript import SourceTurn
from doxa.language.sentences import sentence_spans

Verdict = Literal["exact", "partial", "drifted", "missing"]
DENIAL_COUNTED = ("de", "es", "fr", "zh")
_MARK = re.compile(r"^\s*(?:[-*•>#]+|\d{1,3}[.)])\s+")
_WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Verified:
    """The verdict on a claim and one source. `supports`: the source bears the claim out as it is;
    `reason` says in a word what speaks against it: words, name, number, date, denial, question"""

    verdict: Verdict
    supports: bool
    reason: str = ""


def verify(
    claim: str, source: ResolvedHandle, *, hash_then: str, people: Iterable[str] = ()
) -> Verified:
    """Compare a claim with what its source says now; `hash_then` is that of the passage that the
    claim was made from."""
    if source.is_missing:
        return Verified("missing", False, source.problem)
    now = compare(claim, source, people=people)
    if hash_then and source.hash != hash_then:
        return Verified("drifted", False, now.reason)
    return now


def compare(claim: str, source: ResolvedHandle, *, people: Iterable[str] = ()) -> Verified:
    """Compare a claim with a passage, whatever it was made from."""
    turn = SourceTurn(
        source.handle,
        source.speaker,
        source.role or "document",
        "\n".join(_MARK.sub("", line) for line in source.text.splitlines()),
        source.time_ns,
    )
    named = [one for one in dict.fromkeys((source.speaker, *people)) if one]
    evidence = ClaimEvidence((turn,), answered=frozenset())
    reason = why_unsupported(claim, evidence, section="facts", participants=named)
    reason = reason or ("denial" if _turns_round(claim, _sentences(turn.text)) else "")
    wanted = frozenset(terms(claim))
    covered = len(wanted & evidence.terms) / len(wanted) if wanted else 0.0
    if covered < COVERED_MIN:
        return Verified("missing", False, "words")
    if not reason and _words(claim) in {_words(one) for one in _sentences(turn.text)}:
        return Verified("exact", True)
    return Verified("partial", not reason, reason)


def _turns_round(claim: str, sentences: Iterable[str]) -> bool:
    """Return whether the sentence that shares most words with a claim denies it by a word of
    another language than English, or says what it denies."""
    wanted = _content(claim)
    nearest = max(sentences, key=lambda one: len(wanted & _content(one)), default="")
    return denies(nearest, DENIAL_COUNTED) != denies(claim, DENIAL_COUNTED)


def _content(text: str) -> frozenset[str]:
    return frozenset(terms(negations(DENIAL_COUNTED).sub(" ", text)))


def _sentences(text: str) -> Iterable[str]:
    return [text[start:end] for start, end in sentence_spans(text)] + text.splitlines()


def _words(text: str) -> tuple[str, ...]:
    return tuple(match[0].casefold().replace("’", "'") for match in _WORD.finditer(text))
