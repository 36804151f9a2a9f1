"""Decide whether the turns that a claim names support it.

    every name in it is in those turns, or is that of a speaker                     "name"
    every number in it is in those turns, by its value                              "number"
    every date in it is one of theirs, resolved against the time of the turn        "date"
    at least half of the content words of each of its clauses are theirs, and
    more than half of those from its verb on: what is said, not of whom             "words"
    the clause that shares most of its words is denied if and only if it is denied  "denial"
    that clause asserts something, or the claim says that it does not               its reason
    a participant is not credited with what another says of themselves              "speaker"

Half is the majority: a clause most of whose words nobody said is not what they said. Nothing was
fitted to data; docs/internals/consolidation.md has what the check does to the observations of
LoCoMo, whose sources are known, and to the same with false ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from doxa.base.dates import DateMention, find_dates
from doxa.base.words import STOP_WORDS, stem, terms
from doxa.consolidation.evidence import (
    NUMBER_STEMS,
    Evidence,
    TurnClause,
    is_denied,
    is_past,
    names_in,
    numbers_in,
    words_in,
)
from doxa.consolidation.transcript import SourceTurn
from doxa.language.assertion import why_unasserted
from doxa.language.verbs import find_verb

COVERED_MIN = 0.5
_DAY_NS = 86_400 * 10**9
_CLAUSE_TERMS_MIN = 2  # fewer words are not a clause of their own
_CLAIM_CLAUSE = re.compile(
    r"[,;:]\s+|\s+(?=(?:and|but|because|so|which|who|while|although|after|before|when)\b)",
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
_PLANS = frozenset(("planned", "reported", "command"))
# Which unasserted clauses may support an entry, by its section: a decision is often a proposal that
# nobody asks about any more ("let's use X"), an action a request.
LICENCES: dict[str, frozenset[str]] = {
    "decisions": frozenset(("command", "planned")),
    "actions": frozenset(("command", "planned", "question")),
    "commitments": frozenset(("planned",)),
}
_IGNORED = frozenset(("unclear", "outdated"))


def why_unsupported(
    text: str,
    evidence: Evidence,
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
    wanted = frozenset(terms(rest)) - told
    clauses = evidence.nearest(wanted)
    if not clauses:
        return "words"
    return _by_clause(rest, clauses, evidence, section=section, people=people)


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
    text: str,
    clauses: list[TurnClause],
    evidence: Evidence,
    *,
    section: str,
    people: dict[str, str],
) -> str:
    """Return what speaks against a claim in each of the clauses that share most of its words."""
    reason = ""
    for clause in clauses:
        reason = (
            ("denial" if clause.denied != is_denied(text) else "")
            or _unlicensed(text, evidence.unasserted(clause), section)
            or (_misattributed(text, clause, people) if section != "summary" else "")
        )
        if not reason:
            return ""
    return reason


def _unlicensed(text: str, reason: str, section: str) -> str:
    """Return the reason why a clause asserts nothing, unless such a clause may support an entry of
    this section, or the entry says as much itself."""
    if not reason or reason in _IGNORED or reason in LICENCES.get(section, ()):
        return ""
    if section == "summary" and _TALKS.search(text):
        return ""
    if reason in _PLANS and why_unasserted(text.strip(" .") + ".") == reason:
        return ""
    return reason


def _misattributed(text: str, clause: TurnClause, people: dict[str, str]) -> str:
    """Return "speaker" if the claim is of a participant, and the clause is what another says of
    themselves."""
    of = next((people[word] for word in words_in(text) if word in people), "")
    if not of or of == clause.speaker:
        return ""
    named = {stem(word) for word in words_in(of)} & clause.terms
    return "" if named or clause.second_person else "speaker"


def _names(text: str, evidence: Evidence, people: dict[str, str]) -> str:
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


def _without_dates(text: str, evidence: Evidence) -> tuple[str, str]:
    """Return a text without its dates, and "date" if one of them is not that of a turn."""
    base = evidence.turns[0].time_ns if evidence.turns else None
    mentions = find_dates(text, base)
    allowed = list(evidence.dates())
    for mention in mentions:
        if not is_dated(mention, evidence, allowed):
            return text, "date"
    for mention in reversed(mentions):
        text = f"{text[: mention.start]} {text[mention.end :]}"
    return text, ""


def is_dated(mention: DateMention, evidence: Evidence, allowed: list[DateMention]) -> bool:
    """Return whether a date is one that the turns name, or a longer time around it; where they name
    none, the day of a turn."""
    if any(_contains(mention, other.start_ns, other.end_ns) for other in allowed):
        return True
    if any(other.precision == "day" for other in allowed):
        return False
    return any(_said_within(mention, turn) for turn in evidence.turns)


def _said_within(mention: DateMention, turn: SourceTurn) -> bool:
    day = turn.time_ns // _DAY_NS * _DAY_NS
    return _contains(mention, day, day + _DAY_NS)


def _contains(mention: DateMention, start_ns: int, end_ns: int) -> bool:
    return mention.start_ns <= start_ns and end_ns <= mention.end_ns
