"""Which earlier statement a later one corrects, where both were read by rules: a pure verdict on
two sentences.

    "We decided to use SQLite"   <-  "We switched from SQLite to PostgreSQL"     the value given up
    is named
    "I live in Berlin"           <-  "I moved to Munich"                         a thing has one
    such value
    "We use Redis"               <-  "We no longer use Redis"                    the statement
    itself is taken back

Both must be about the same subject in the same sense, and the value must be the same but for its
version ("MySQL", "MySQL 8"). What only sounds alike stays beside. Whether a statement may be
retired at all (only candidates that a rule made) is for ingestion to see.
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
    r"(?:(?:use|using|adopt|run|go with|switch to|move to|migrate to|deploy"
    r" (?:to|on)|the|an?|our|my) )+"
)
_VERSION = re.compile(r"[ -]?v?\d[\w.]*")
_MOVED_HOME = re.compile(r"\bI(?:['’]ve| have)? (?:\w+ ){0,2}moved to\b")
_SOFTWARE = frozenset(
    "linux windows android chrome firefox safari python java rust ruby go kotlin swift docker"
    " kubernetes git github gitlab slack notion emacs vim postgres mysql sqlite redis kafka azure"
    " aws django flask react angular vue svelte ubuntu debian fedora arch mac jira teams zoom".split()
)


class ExtractedFact(NamedTuple):
    """One statement as a rule read it: the fact, the value it gives up, who spoke, and the
    sentence."""

    subject: str
    predicate: str
    value: str
    replaces: str
    rule: str
    speaker: str
    quote: str


def corrects(later: ExtractedFact, earlier: ExtractedFact) -> bool:
    """Whether the later statement means that the earlier one holds no more."""
    base, back = _based(later.predicate)
    earlier_base, earlier_back = _based(earlier.predicate)
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


def keys(claim: ExtractedFact) -> set[str]:
    """Words under which statements of the same subject meet."""
    words = {claim.subject.casefold().split()[-1]} if claim.subject.strip() else set()
    return words | (
        {claim.predicate.casefold().split()[-1]}
        if claim.rule == "mine-is" and claim.predicate.strip()
        else set()
    )


def _based(predicate: str) -> tuple[str, bool]:
    """The predicate without its negation, and whether it had one."""
    match = _TAKEN_BACK.match(predicate)
    return (predicate[match.end() :], True) if match else (predicate, False)


def _same_subject(later: ExtractedFact, earlier: ExtractedFact) -> bool:
    """The same name, or the end of it where a value is named besides ("the port" for "the API
    port"); what is "mine" is the speaker's."""
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
    """ "I moved to Munich", and not to another tool."""
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
