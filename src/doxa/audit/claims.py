"""What a belief says, in the forms that an audit compares."""

from __future__ import annotations

from collections.abc import Iterator

from doxa.audit.types import CurrentBelief
from doxa.base.values import decode
from doxa.base.words import written_marks
from doxa.belief.types import Fact, parse_fact
from doxa.ingestion.remember import gist
from doxa.language.statement import Claim, read_fact, read_statement
from doxa.language.verbs import FINITE

_READ_CHARS = 400  # of a text without facts that is read as claims
_READ_BY_RULES = "candidate"


def facts_of(belief: CurrentBelief) -> tuple[Fact, ...]:
    return tuple(map(parse_fact, decode(belief.facts))) if belief.facts else ()


def statement_of(belief: CurrentBelief) -> str:
    """Return the statement to be judged: of what rules read in a turn their fact, since its text is
    the whole turn."""
    facts = facts_of(belief) if is_of_rules(belief) else ()
    if not facts:
        return belief.text
    subject, predicate, value = facts[0]
    is_verb = FINITE.fullmatch(f" {predicate}", 1) or predicate.startswith(("no", "is"))
    return f"{subject} {predicate} {value}." if is_verb else f"{subject}'s {predicate} is {value}."


def is_of_rules(belief: CurrentBelief) -> bool:
    """Return whether rules read it in a turn as it came in: then its text is that of the turn."""
    return belief.trust == _READ_BY_RULES


def is_derived(belief: CurrentBelief) -> bool:
    """Return whether a job, a model or rules concluded it, rather than that somebody stated it."""
    return belief.run is not None or belief.trust in ("candidate", "inferred")


def said(belief: CurrentBelief) -> tuple[str, ...]:
    """Return the terms of a belief in order and what is written with it, as `remember` compares
    them."""
    return (*gist(belief.text), *written_marks(belief.text))


def stated(belief: CurrentBelief) -> frozenset[tuple[str, str, str]]:
    """Return the facts of a belief, in small letters."""
    return frozenset(
        (fact.subject.casefold(), fact.predicate.casefold(), str(fact.value).casefold())
        for fact in facts_of(belief)
    )


def settled_claims(belief: CurrentBelief) -> Iterator[Claim]:
    """Yield the claims of which only one can hold at a time: a port, a home, an age."""
    facts = facts_of(belief)
    if facts:
        read: Iterator[Claim] = (
            read_fact(one.subject, one.predicate, str(one.value), time_ns=belief.time)
            for one in facts
        )
    elif len(belief.text) <= _READ_CHARS:
        read = iter(read_statement(belief.text, speaker=belief.author, time_ns=belief.time))
    else:
        return
    for claim in read:
        asserted = claim.positive and not (claim.unasserted or claim.unnamed or claim.past)
        if asserted and claim.property and not claim.besides and claim.value.text:
            yield claim
