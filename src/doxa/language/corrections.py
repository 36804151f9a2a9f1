"""Decide whether a later candidate corrects an earlier one. Pure functions of two extracted facts.

    "We decided to use SQLite"  <-  "We switched from SQLite to PostgreSQL"  names the former value
    "I live in Berlin"          <-  "I moved to Munich"                      allows one value only
    "We use Redis"              <-  "We no longer use Redis"                 is a denial

The sentences that the facts were read from are read again and compared by `agreement`. Only what
is certain corrects: the same subject, and no sign that both may hold. Statements that are merely
similar both stay. Ingestion decides which statements may be retired: only candidates that a rule
produced.
"""

from __future__ import annotations

from typing import NamedTuple

from doxa.language.agreement import FEATURES, RETIRING, Agreement, agreement
from doxa.language.candidates import fact_of
from doxa.language.comparison.values import compare_values
from doxa.language.stated_values import StatedValue
from doxa.language.statement import Claim, read_fact, read_statement
from doxa.language.subjects import GROUP, SPEAKER

_CERTAIN = frozenset(
    FEATURES.index(name)
    for name in ("near_predicate", "gives_up_held", "takes_back", "change", "shared_words")
)
_SAYS_LESS = FEATURES.index("says_less_of_subject")
_NEAR = FEATURES.index("near_predicate")
_NAMED = (FEATURES.index("gives_up_held"), FEATURES.index("takes_back"))


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
    new, held = claim_of(later), claim_of(earlier)
    own = {GROUP, SPEAKER, later.speaker.casefold()}
    if later.speaker.casefold() != earlier.speaker.casefold() and own & new.key:
        return False
    if new.given_up.text and not _is_version(held.value, new.given_up):
        return False
    found = agreement(new, held, several=False, same_speaker=True, shared_words=0.0)
    return found.relation in RETIRING and _is_certain(found)


def claim_of(fact: ExtractedFact) -> Claim:
    """Return the claim of a sentence that a fact was read from; without one, the claim of the
    triple."""
    for claim in read_statement(fact.quote, speaker=fact.speaker):
        stated = fact_of(claim, speaker=fact.speaker)
        if stated[:2] == (fact.subject, fact.predicate) and not claim.unasserted:
            return claim
    return read_fact(fact.subject, fact.predicate, fact.value, speaker=fact.speaker)


def index_words(fact: ExtractedFact) -> set[str]:
    """Return the words under which statements about the same subject are indexed."""
    claim = claim_of(fact)
    return set(claim.key) | {f"={claim.predicate}"}


def _is_certain(found: Agreement) -> bool:
    """Return whether nothing speaks against a correction. "The port is 9090, not 8080" corrects
    "the API port is 8080", since it names the value."""
    doubts = {
        number for number, value in enumerate(found.features) if value and number not in _CERTAIN
    }
    named = any(found.features[number] for number in _NAMED)
    if found.features[_NEAR] and not named:
        return False
    return not doubts or (doubts == {_SAYS_LESS} and named)


def _is_version(held: StatedValue, given_up: StatedValue) -> bool:
    """Return whether a value is the one given up, or a version of it: "MySQL 8" for "MySQL"."""
    more = held.words - given_up.words
    versions = given_up.words <= held.words and all(any(map(str.isdigit, word)) for word in more)
    return versions or compare_values(held, given_up) == "same"
