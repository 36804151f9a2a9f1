"""Decide whether the turns that a claim names support it.

    every name in it is in those turns, or is that of a speaker                     "name"
    every number in it is in those turns, by its value                              "number"
    every date in it is one of theirs, resolved against the time of the turn        "date"
    at least half of the content words of each of its clauses are theirs, and
    more than half of those from its verb on: what is said, not of whom             "words"
    the clause that shares most of its words is denied if and only if it is denied  "denial"
    that clause asserts something, or the claim is as reserved as it is             its reason
    a participant is not credited with what another says of themselves, nor
    asked to do what they ask of another                                             "speaker"

The last three are compared clause by clause, so that a claim of two clauses needs both.

Half is the majority: a clause most of whose words nobody said is not what they said. Nothing was
fitted to data; docs/internals/consolidation.md has what the check does to the observations of
LoCoMo, whose sources are known, and to the same with false ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from doxa.base.dates import DateMention, find_dates
from doxa.base.words import STOP_WORDS, stem, terms
from doxa.consolidation.evidence import (
    NUMBER_STEMS,
    ClaimEvidence,
    TurnClause,
    is_denied,
    is_past,
    modes_of,
    names_in,
    numbers_in,
    words_in,
)
from doxa.consolidation.transcript import SourceTurn
from doxa.language.verbs import find_verb

COVERED_MIN = 0.5
_DAY_NS = 86_400 * 10**9
_CLAUSE_TERMS_MIN = 2  # fewer words are not a clause of their own
_CLAIM_CLAUSE = re.compile(
    r"[,;:]\s+|(?<!\s)\s+(?=(?:and|but|because|so|which|who|while|although|after|before|when)\b)",
    re.IGNORECASE,
)
# What a sentence says of the talking itself, and the denials, which are compared by themselves.
_TALKING = frozenset(
    map(
        stem,
        "say says said tell tells told ask asked mention mentioned discuss discussed talk talked"
        " share shared explain explained describe described report reported state stated note noted"
        " confirm confirmed agree agreed reply replied answer answered announce announced suggest"
        " suggested propose proposed wonder wondered express expressed conversation session user"
        " assistant decide decided plan planned planning want wants never none nobody nothing"
        " without cannot longer".split(),
    )
)
_TALKS = re.compile(
    r"\b(?:ask(?:s|ed)?|wonder(?:s|ed)?|consider(?:s|ed|ing)?|discuss(?:es|ed)?|suggest(?:s|ed)?"
    r"|propos(?:es|ed)|jok(?:es|ed)|suppos(?:es|ed)|imagin(?:es|ed)|hop(?:es|ed)|think(?:s|ing)?"
    r"|thought|request(?:s|ed)?|want(?:s|ed)?|plan(?:s|ned|ning)?|said|says?|told|question"
    r"|maybe|may|might|could|would|possibl[ye]|perhaps|if|whether|talk(?:s|ed)?)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_FINITE = frozenset(
    "is are was were am be been has have had will would can could should may might must shall do"
    " does did became becomes".split()
)
# What a claim may be as reserved as its turn with; nothing makes a joke or a novel a claim.
RESERVED = frozenset(("planned", "hedged", "hypothetical", "reported", "command"))
_ORDER = ("command", "question", "joked", "fiction", "reported", "hypothetical", "planned")
_IS_TO = re.compile(r"\b(?:is|are|was|were) (?:asked |told |supposed )?to\b", re.IGNORECASE)
_FINITE_PART = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|will|would|can|could|should|may|might|must|do|does|did)\b"
)
_ASKS = re.compile(r"\b(?:asks?|asked|wonders?|wondered|invited?)\b", re.IGNORECASE)
_ANCHOR = re.compile(r"\b(?P<side>before|after|following|prior to) (?:the )?$", re.IGNORECASE)
_LOOSELY = re.compile(r"\b(?:about|around|circa) (?=(?:19|20)\d\d\b)", re.IGNORECASE)
# Which unasserted clauses may support an entry, by its section: a decision is often a proposal that
# nobody asks about any more ("let's use X"), an action a request.
LICENCES: dict[str, frozenset[str]] = {
    "decisions": frozenset(("command", "planned")),
    "actions": frozenset(("command", "planned", "question")),
    "commitments": frozenset(("planned",)),
}
_IGNORED = frozenset(("unclear", "outdated", "denied"))


def reserve_of(text: str) -> str:
    """Return how reserved a claim is: planned, hedged, hypothetical or reported; empty if it
    asserts something."""
    found = _modes_of_claim(text)
    return next(
        (one for one in ("hypothetical", "hedged", "reported", "planned") if one in found), ""
    )


def _modes_of_claim(text: str) -> frozenset[str]:
    found = modes_of(text.strip(" .") + ".") & RESERVED
    if _IS_TO.search(text):
        found |= {"planned", "command"}
    return found | {"question"} if _ASKS.search(text) else found


def why_unsupported(
    text: str,
    evidence: ClaimEvidence,
    *,
    section: str,
    participants: Iterable[str],
) -> str:
    """Return in one word why the turns do not support a text; empty if they do."""
    people = {word: name for name in participants for word in words_in(name)}
    rest, reason = _without_dates(text.replace("’", "'"), evidence)
    reason = (
        reason
        or _names(rest, evidence, people)
        or ("number" if not frozenset(numbers_in(rest)) <= evidence.numbers else "")
    )
    if reason:
        return reason
    told = frozenset(map(stem, people))
    for part in (rest, *_CLAIM_CLAUSE.split(rest)):
        wanted = _content(part) - told
        floor = 1 if part is rest else _CLAUSE_TERMS_MIN
        if len(wanted) >= floor and len(wanted & evidence.terms) < COVERED_MIN * len(wanted):
            return "words"
        stated = _content(_predicate(part)) - told
        if stated and len(stated & evidence.terms) <= COVERED_MIN * len(stated):
            return "words"
    clauses = evidence.nearest(frozenset(terms(rest)) - told)
    if not clauses:
        return "words"
    parts = list(_parts(rest, people, told))
    whole = [max(parts, key=lambda part: len(part.terms & clause.terms)) for clause in clauses]
    compared = [list(zip(whole, clauses, strict=True))]
    for part in parts if len(parts) > 1 else []:
        near = evidence.nearest(part.terms)
        shared = len(near[0].terms & part.terms) if near else 0
        # one that denies needs a denial, however few of its words are in one clause
        if is_denied(part.text) and not near:
            return "denial"
        if is_denied(part.text) or (
            shared >= _CLAUSE_TERMS_MIN and shared > COVERED_MIN * len(part.terms)
        ):
            compared.append([(part, clause) for clause in near])
    reasons = (_by_clause(text, pairs, evidence, section) for pairs in compared)
    return next(filter(None, reasons), "")


@dataclass(frozen=True, slots=True)
class _ClaimPart:
    """A clause of a claim: the participant that it is of, and how reserved it is."""

    text: str
    terms: frozenset[str]
    of: str
    modes: frozenset[str]


def _parts(text: str, people: dict[str, str], told: frozenset[str]) -> Iterator[_ClaimPart]:
    """Yield the clauses of a claim, or the claim where it has one. One without a subject is of the
    participant before it, and one without a verb form of its own as reserved as the one before."""
    split = [part for part in _CLAIM_CLAUSE.split(text) if part]
    if sum(len(frozenset(terms(part)) - told) >= _CLAUSE_TERMS_MIN for part in split) < 2:
        split = [text]
    of, modes = "", frozenset[str]()
    for part in split:
        of = next((people[word] for word in words_in(part) if word in people), of)
        own = _modes_of_claim(part)
        modes = own if own or _FINITE_PART.search(part) or is_told(part) else modes
        yield _ClaimPart(part, frozenset(terms(part)) - told, of, modes)


def is_told(part: str) -> bool:
    """Return whether a part of a claim has a past form of its own, and so does not go on with what
    is planned before it."""
    return any(is_past(word) for word in words_in(part))


def _predicate(clause: str) -> str:
    """Return a clause from its verb on, or nothing if the verb is not known."""
    for match in _WORD.finditer(clause):
        word = match[0].casefold()
        if word in _FINITE or (match.start() and is_past(word)):
            return clause[match.start() :]
    found = find_verb(clause)
    return clause[found.start() :] if found else ""


def _content(text: str) -> frozenset[str]:
    """Return the terms of a text without numbers, which are compared by value, and without those
    of the talking itself."""
    return frozenset(
        term
        for term in terms(text)
        if not (term in _TALKING or term in NUMBER_STEMS or term.isdigit())
    )


def _by_clause(
    text: str, pairs: list[tuple[_ClaimPart, TurnClause]], evidence: ClaimEvidence, section: str
) -> str:
    """Return what speaks against clauses of a claim in each of those that share most of their
    words."""
    reason = ""
    for part, clause in pairs:
        reason = (
            ("denial" if clause.denied != is_denied(part.text) else "")
            or _unlicensed(text, evidence.modes(clause), part.modes, section)
            or (_misattributed(part.of, clause, section) if section != "summary" else "")
        )
        if not reason:
            return ""
    return reason


def _unlicensed(text: str, modes: frozenset[str], own: frozenset[str], section: str) -> str:
    """Return a reason why a clause asserts nothing, unless such a clause may support an entry of
    this section, or the claim is as reserved itself."""
    left = modes - _IGNORED - LICENCES.get(section, frozenset()) - own
    if not left or (section == "summary" and _TALKS.search(text)):
        return ""
    if own & modes & RESERVED and left <= RESERVED - {"command"}:  # of several one is enough
        return ""
    return next((one for one in _ORDER if one in left), min(left))


def _misattributed(of: str, clause: TurnClause, section: str) -> str:
    """Return "speaker" if the claim is of a participant, and the clause is what another says of
    themselves; or if it is what the participant asks another to do."""
    if not of:
        return ""
    if section in ("actions", "commitments") and clause.directs:
        return "speaker" if of == clause.speaker else ""
    if of == clause.speaker:
        return ""
    named = {stem(word) for word in words_in(of)} & clause.terms
    return "" if named or clause.second_person else "speaker"


def _names(text: str, evidence: ClaimEvidence, people: dict[str, str]) -> str:
    for name, opens in names_in(text):
        for word in words_in(name):
            if word in evidence.words or word in STOP_WORDS or len(word) < 2:
                continue
            if opens and stem(word) in evidence.terms:
                continue
            if people.get(word) in evidence.speakers or (
                word in people and evidence.addresses_somebody
            ):
                continue
            if opens and word not in people and not _looks_like_a_name(word, text):
                continue
            return "name"
    return ""


def _looks_like_a_name(word: str, text: str) -> bool:
    """Return whether a word that opens a sentence is a name: nothing that is bent or derived."""
    return re.search(r"(?:ing|ed|ly|tion|ment|ness|s)$", word) is None


def _without_dates(text: str, evidence: ClaimEvidence) -> tuple[str, str]:
    """Return a text without its dates, and "date" if one of them is not that of a turn."""
    base = evidence.turns[0].time_ns if evidence.turns else None
    text = _LOOSELY.sub("in ", text)
    mentions = find_dates(text, base)
    allowed = list(evidence.dates())
    for mention in mentions:
        side = _ANCHOR.search(text, 0, mention.start)
        if not is_dated(mention, evidence, allowed) and not (
            side and _counts_from(mention, side["side"].casefold(), evidence, allowed)
        ):
            return text, "date"
    for mention in reversed(mentions):
        text = f"{text[: mention.start]} {text[mention.end :]}"
    return text, ""


def is_dated(mention: DateMention, evidence: ClaimEvidence, allowed: list[DateMention]) -> bool:
    """Return whether a date is one that the turns name, or a longer time around it; where they name
    none, the day of a turn."""
    if any(_contains(mention, other.start_ns, other.end_ns) for other in allowed):
        return True
    if any(other.precision == "day" for other in allowed):
        return False
    return any(_said_within(mention, turn) for turn in evidence.turns)


def _counts_from(
    mention: DateMention, side: str, evidence: ClaimEvidence, allowed: list[DateMention]
) -> bool:
    """Return whether a date is the day of a turn, from which the claim counts to what the turns
    name: "the weekend before 17 July" for what was said on that day of last weekend."""
    if not any(_said_within(mention, turn) for turn in evidence.turns):
        return False
    if side in ("before", "prior to"):
        return all(one.start_ns < mention.start_ns for one in allowed)
    return all(one.end_ns > mention.end_ns for one in allowed)


def _said_within(mention: DateMention, turn: SourceTurn) -> bool:
    day = turn.time_ns // _DAY_NS * _DAY_NS
    return _contains(mention, day, day + _DAY_NS)


def _contains(mention: DateMention, start_ns: int, end_ns: int) -> bool:
    return mention.start_ns <= start_ns and end_ns <= mention.end_ns
