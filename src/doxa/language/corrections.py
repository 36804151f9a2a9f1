"""Decide whether a later statement corrects an earlier one, both extracted by rules. Pure functions
of two extracted facts.

    "We decided to use SQLite"  <-  "We switched from SQLite to PostgreSQL"  names the former value
    "I live in Berlin"          <-  "I moved to Munich"                      allows one value only
    "We use Redis"              <-  "We no longer use Redis"                 is a denial

Both must be about the same subject in the same sense, and the values must be equal except for a
version ("MySQL", "MySQL 8"). Statements that are merely similar both stay. Ingestion decides which
statements may be retired: only candidates that a rule produced.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_USE = frozenset(
    "decided to|decided on|agreed to|agreed on|chose|picked|are going with|going with|went"
    " with|settled on|moved to|switched to|migrated to|changed to|use|uses|using|run|running|will"
    " use|will switch to|will move to|will adopt|will go with|will migrate to|will deploy to|will"
    " standardise on|will standardize on|deploy to|deploying to|runs on".split("|")
)
_HOME = frozenset(("live in", "lives in", "moved to"))
_WORK = frozenset(("work at", "work for", "works at", "works for"))
_LIKE = frozenset(("prefer", "love", "like", "enjoy", "adore"))
_SENSES = (_USE, _HOME, _WORK, _LIKE)
_TAKEN_BACK = re.compile(r"(?:no longer|not) ")
_LEAD = re.compile(
    r"(?:(?:use|using|adopt|run|go with|switch to|move to|migrate to|deploy (?:to|on)|the|an?|our"
    r"|my) )+"
)
_VERSION = re.compile(r"[ -]?v?\d[\w.]*")
_MOVED_HOME = re.compile(r"\bI(?:['’]ve| have)? (?:\w+ ){0,2}moved to\b")
_SOFTWARE = frozenset(
    "linux windows android chrome firefox safari python java rust ruby go kotlin swift docker"
    " kubernetes git github gitlab slack notion emacs vim postgres mysql sqlite redis kafka azure"
    " aws django flask react angular vue svelte ubuntu debian fedora arch mac jira teams"
    " zoom".split()
)


class ExtractedFact(NamedTuple):
    """A fact extracted by a rule: the triple, the value that it replaces, the rule, the speaker and
    the sentence."""

    subject: str
    predicate: str
    value: str
    replaces: str
    rule: str
    speaker: str
    quote: str


def corrects(later: ExtractedFact, earlier: ExtractedFact) -> bool:
    """Return whether the later statement implies that the earlier one no longer holds."""
    base, back = _strip_negation(later.predicate)
    earlier_base, earlier_back = _strip_negation(earlier.predicate)
    if not _same_subject(later, earlier):
        return False
    given_up = later.value if back else later.replaces
    if not earlier_back:
        if (
            given_up
            and _same_value(earlier.value, given_up)
            and (_same_sense(base, earlier_base) or _is_owned(later, earlier))
        ):
            return True
        moved = earlier_base == "live in" and _moved_home(later)
        changed_work = base in _WORK and earlier_base in _WORK and not back
        return (moved or changed_work) and not _same_value(earlier.value, later.value)
    return not back and _same_sense(base, earlier_base) and _same_value(later.value, earlier.value)


def index_words(claim: ExtractedFact) -> set[str]:
    """Return the words under which statements about the same subject are indexed."""
    words = {claim.subject.casefold().split()[-1]} if claim.subject.strip() else set()
    return words | (
        {claim.predicate.casefold().split()[-1]}
        if claim.rule == "mine-is" and claim.predicate.strip()
        else set()
    )


def _strip_negation(predicate: str) -> tuple[str, bool]:
    """Strip a predicate's negation; also return whether it had one."""
    match = _TAKEN_BACK.match(predicate)
    return (predicate[match.end() :], True) if match else (predicate, False)


def _same_subject(later: ExtractedFact, earlier: ExtractedFact) -> bool:
    """Return whether both have the same subject. If the later one names a replaced value, the end
    of the name is enough ("the port" for "the API port"); "my" refers to the speaker."""
    one, other = later.subject.casefold(), earlier.subject.casefold()
    if one == "it" or other == "it":
        return False
    return (
        one == other
        or (bool(later.replaces) and other.endswith(f" {one}"))
        or _is_owned(later, earlier)
    )


def _is_owned(later: ExtractedFact, earlier: ExtractedFact) -> bool:
    return (
        earlier.rule == "mine-is"
        and earlier.subject == later.speaker
        and earlier.predicate.casefold() == later.subject.casefold()
    )


def _same_sense(one: str, other: str) -> bool:
    return one == other or any(one in sense and other in sense for sense in _SENSES)


def _same_value(held: str, named: str) -> bool:
    one, other = (_LEAD.sub("", value.casefold(), count=1).strip() for value in (held, named))
    return one == other or (
        bool(other) and one.startswith(other) and _VERSION.fullmatch(one[len(other) :]) is not None
    )


def _moved_home(claim: ExtractedFact) -> bool:
    """Return whether a fact is like "I moved to Munich", and not about moving to another tool."""
    words = claim.value.split()
    is_name = (
        bool(words)
        and len(words) <= 3
        and all(word[0].isupper() and word[1:].islower() for word in words)
    )
    return (
        claim.predicate == "moved to"
        and is_name
        and words[0].lower() not in _SOFTWARE
        and _MOVED_HOME.search(claim.quote) is not None
    )
