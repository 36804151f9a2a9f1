"""Turn the complete claims of a turn into candidate facts.

    Ana: "We switched from MySQL to PostgreSQL."
        decision  Ana | uses | PostgreSQL, replaces MySQL
    Ana: "My sister's name is Clara."
        fact      Ana | sister's name | Clara
    Ana: "I no longer work at Acme."
        correction  Ana | no longer works at | Acme

The predicate of a fact is one phrase for all the ways of saying it, and `read_fact` reads it as the
predicate of the claim, so that a later sentence in other words meets the fact. The first person
becomes the speaker's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from doxa.base import limits
from doxa.base.dates import DateMention
from doxa.base.patterns import lazy_re
from doxa.language.completeness import is_complete, is_first_person
from doxa.language.predicates import ANY, BY_NAME
from doxa.language.statement import Claim, read_fact, read_spans
from doxa.language.subjects import parse_subject

CandidateKind = Literal["preference", "decision", "fact", "correction"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate fact. `quote` is text[start:end]; `replaces` is the former value, if the sentence
    names it; with `single`, the subject has one such value at a time; `rule` is the predicate of
    the claim."""

    kind: CandidateKind
    subject: str
    predicate: str
    value: str
    certainty: float
    rule: str
    start: int
    end: int
    quote: str
    replaces: str = ""
    single: bool = False


class StatedFact(NamedTuple):
    """What a claim states, in words."""

    subject: str
    predicate: str
    value: str


_ARTICLE = lazy_re(r"(?:the|a|an|this|that|these|those)\s+", re.IGNORECASE)
_OWN = lazy_re(r"(?:my|our)\s+", re.IGNORECASE)
_LEAD = lazy_re(r"(?:(?:on|at|in|by|to|from|until|the) )+", re.IGNORECASE)
_PRONOUN_OBJECT = lazy_re(r"\b(?P<word>my|our|me|myself)\b", re.IGNORECASE)
_PHRASES = {
    "home": "lives in",
    "where": "is in",
    "work": "works at",
    "school": "goes to",
    "drives": "drives",
    ANY: "is",
    "set": "is",
    "switched": "uses",
    "given up": "uses",
    "kind": "is",
    "is": "is",
    "when": "takes place",
    "spouse": "is married to",
    "allergic": "is allergic to",
    "member": "is a member of",
    "visited": "has been to",
    "role": "works as",
    "leaves from": "leaves from",
    "runs on": "runs on",
    "hosting": "is hosted on",
    "kept at": "is limited to",
    "points": "points to",
    "stored": "is stored in",
    "depends": "depends on",
    "consumes": "drinks",
    "seat": "sits at",
}
_CHOICES = frozenset(("uses", ANY, "switched", "hosting", "runs on", "language"))
_TASTES = frozenset(("likes",))
_CERTAINTY = {"preference": 0.8, "decision": 0.8, "fact": 0.75, "correction": 0.75}


@lru_cache(maxsize=1_024)
def phrase_of(predicate: str) -> str:
    """Return the words for a predicate that `read_fact` reads as the same predicate."""
    if predicate in _PHRASES:
        return _PHRASES[predicate]
    found = BY_NAME.get(predicate)
    if found is None:
        return predicate
    plain = re.sub(r"\(\?[=!].*?\)|\\b", "", f"{found.verbs}|{found.nouns}")
    forms = [form.replace("?", "").strip() for form in plain.split("|") if "(" not in form]
    for phrase in (predicate, *forms):
        if phrase and read_fact("it", phrase, "Rome").predicate == predicate:
            return phrase
    return predicate


def fact_of(claim: Claim, *, speaker: str = "", value: str = "") -> StatedFact:
    """Return what a claim states as a fact. A denial has `not` before its predicate, an end `no
    longer`."""
    subject, predicate = _terms(claim, speaker=speaker)
    if not claim.positive:
        ended = claim.ends and claim.predicate not in _TASTES  # to hate is not to like
        predicate = f"{'no longer' if ended else 'not'} {predicate}"
    text = value or claim.value.text
    if claim.value.type in ("date", "time", "weekday"):
        text = _LEAD.sub("", text, count=1) or text
    return StatedFact(subject, predicate, text)


def _terms(claim: Claim, *, speaker: str) -> tuple[str, str]:
    subject = claim.subject
    if is_first_person(subject):
        changing = claim.predicate in _CHOICES and claim.predicate != "language"
        phrase = "uses" if changing else phrase_of(claim.predicate)
        if claim.predicate == "is" and claim.value.type == "amount":
            phrase = "has"  # "I have two cats"
        alone = subject.casefold() != "we" or changing or not claim.property
        return (speaker if alone else "") or subject, phrase
    by_noun = parse_subject(subject, "is", speaker="").predicate
    stated = "is" if by_noun == claim.predicate else phrase_of(claim.predicate)
    own = _OWN.match(subject)
    if own and speaker:
        rest = subject[own.end() :]
        return (speaker, rest) if stated == "is" else (f"{speaker}'s {rest}", stated)
    article = _ARTICLE.match(subject)
    return subject[article.end() :] if article else subject, stated


def candidates_of(
    text: str,
    *,
    speaker: str,
    time_ns: int | None,
    dates: tuple[DateMention, ...],
    written: str,
) -> Iterator[Candidate]:
    """Yield the candidates of a text. `written` is the text as it was written, from which the
    quotations are taken."""
    for start, end, claim in read_spans(text, speaker=speaker, time_ns=time_ns):
        if not is_complete(claim):
            continue
        inner = text[start:end]
        start += len(inner) - len(inner.lstrip(" \t\r\n-*•#>"))
        end -= len(inner) - len(inner.rstrip())
        day = _day_of(claim, dates, start=start, end=end)
        stated = fact_of(claim, speaker=speaker, value=day)
        if len(stated.value) > limits.CANDIDATE_VALUE_CHARS_MAX or not stated.value:
            continue
        kind = _kind_of(claim)
        yield Candidate(
            kind,
            *stated,
            certainty=_CERTAINTY[kind],
            rule=claim.predicate.replace(" ", "-"),
            start=start,
            end=end,
            quote=written[start:end],
            replaces=claim.given_up.text,
            single=_is_single(claim),
        )


def _is_single(claim: Claim) -> bool:
    """Return whether a later statement of the same subject and predicate replaces this one. "We"
    are not always the same people."""
    named = claim.known and claim.positive and not claim.besides
    return claim.property and named and claim.subject.casefold() != "we"


def _day_of(claim: Claim, dates: tuple[DateMention, ...], *, start: int, end: int) -> str:
    """Return the ISO form of the date that is the value of a claim, or nothing."""
    if claim.value.type != "date":
        return ""
    inside = (date for date in dates if start <= date.start < end and date.text in claim.value.text)
    return next((date.iso for date in inside), "")


def _kind_of(claim: Claim) -> CandidateKind:
    if claim.predicate in _TASTES or "favo" in claim.subject.casefold():
        return "preference"
    if not claim.positive or (claim.given_up.text and not claim.change):
        return "correction"
    if is_first_person(claim.subject) and claim.change and claim.predicate in _CHOICES:
        return "decision"
    return "fact"
