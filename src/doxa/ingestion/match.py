"""Match a plain sentence with existing beliefs: which belief it is about, how certain that is, and
whether to revise it, open a conflict, or state a new belief.

    text -> claims -> candidates (recall by text, recall by subject) -> claims of each candidate
         -> agreement -> score -> verdict

A score is the probability that the text replaces (or restates) a belief: a logistic regression over
the features of `agreement`. The weights are literals, fitted by `python -m bench updates --fit` on
one half of the cases in tests/cases/updates.txt and evaluated on the other. From REVISE_AT on, a
belief is proposed for revision. From CONFLICT_AT on, the match is uncertain, and both are kept in a
conflict that a user resolves. Below that, the text is a new belief. This module writes nothing; the
caller decides what to do with a proposal.

Two keys that differ in a word on both sides (api-port, api-host) are different subjects, however
similar they look; a spelling variant (colour, color) is the same word. Text is data: a sentence
that reads like an instruction is matched like any other. Questions, suppositions and quotations
assert nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from doxa.base.limits import CLAIMS_PER_TEXT_ITEMS_MAX, STATEMENT_CHARS_READ
from doxa.base.words import terms
from doxa.belief import Fact
from doxa.belief.graph import facts_of
from doxa.ingestion import arguments
from doxa.ingestion.candidates import SearchedPlace, find_candidates
from doxa.language.agreement import (
    FEATURES,
    RETIRING,
    SUBJECT_DIFFERS,
    Agreement,
    Relation,
    agreement,
)
from doxa.language.statement import Claim, read_fact
from doxa.language.table_reader import read_claims
from doxa.recall import Recaller
from doxa.store import Node, Store

MatchVerdict = Literal["revise", "conflict", "create", "same"]

BIAS = 2.79
WEIGHTS: dict[str, float] = {
    "part_or_relative": -6.7,
    "part_of_name": -3.5,
    "says_less_of_subject": -4.0,
    "other_subject": -8.22,
    "owner_open": -2.0,
    "unnamed": -4.0,
    "near_predicate": -0.87,
    "other_predicate": -5.01,
    "other_kind_of_value": -3.01,
    "unspecific": -2.5,
    "may_be_several": -6.13,
    "may_replace": -4.5,
    "gives_up_held": 2.03,
    "gives_up_another": -4.0,
    "takes_back": 1.03,
    "takes_back_another": -3.03,
    "scope_open": -2.01,
    "other_scope": -5.0,
    "says_more_besides": -4.0,
    "change": 1.2,
    "past": -5.0,
    "other_speaker": -3.0,
    "shared_words": 1.0,
}
REVISE_AT = 0.8
CONFLICT_AT = 0.2
_UNASSERTED_MAX = 0.04  # a question, supposition or quotation retires nothing
_LIKE_SUBJECT_MAX = 0.1  # if another belief is about exactly the subject
_MATCHING_RELATIONS = RETIRING | {"restates"}
_REPORTED_SCORE_MIN = 0.01  # below this, the text is not about the belief
_WEIGHTS = tuple(WEIGHTS[name] for name in FEATURES)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A belief that the text may be about. `kref` is its revision and `item` its item; `fact` is
    what the text states, in the terms of the belief; `held` is the matching fact of the belief, if
    it has facts."""

    kref: str
    item: str
    predicate: str
    fact: Fact
    score: float
    relation: Relation
    reasons: tuple[str, ...]
    held: Fact | None = None


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The result of a match. `verdict` is "revise" if at least one proposal replaces its belief,
    "conflict" if one may, "same" if everything in the text is already believed, else "create".
    `proposals` are ordered by score, the highest first."""

    text: str
    verdict: MatchVerdict
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class ScoredProposal:
    """A proposal with the features of its score and the number of its claim."""

    proposal: Proposal
    features: tuple[float, ...]
    claim: int
    unasserted: bool

    @property
    def exact(self) -> bool:
        """Whether both are about exactly the same subject."""
        return not any(self.features[i] for i in SUBJECT_DIFFERS)


def match(
    store: Store,
    recaller: Recaller,
    text: str,
    *,
    project: str = "",
    space: str = "",
    kinds: Iterable[str] = (),
    speaker: str = "",
    limit: int = 10,
) -> MatchResult:
    """Match a text with existing beliefs. Empty filters match everything; a missing project or
    space contains nothing. `speaker` is the person that "I" refers to; for a belief that is its
    metadata `speaker_name`. Raises InputError or LimitError."""
    arguments.whole(limit, "limit")
    claims, found = score_proposals(
        store, recaller, text, project=project, space=space, kinds=kinds, speaker=speaker
    )
    best: dict[tuple[str, Fact | None], ScoredProposal] = {}
    for one in found:
        at = (one.proposal.kref, one.proposal.held)
        if at not in best or _rank(one) < _rank(best[at]):
            best[at] = one
    verdict = _verdict(len(claims), found)
    ordered = sorted(best.values(), key=_rank)
    return MatchResult(
        text,
        verdict,
        tuple(one.proposal for one in ordered if one.proposal.score >= _REPORTED_SCORE_MIN)[:limit],
    )


def score_proposals(
    store: Store,
    recaller: Recaller,
    text: str,
    *,
    project: str = "",
    space: str = "",
    kinds: Iterable[str] = (),
    speaker: str = "",
) -> tuple[tuple[Claim, ...], list[ScoredProposal]]:
    """Return the claims of a text and the scored proposals for them, from which `match` decides."""
    for name, value in (
        ("text", text),
        ("project", project),
        ("space", space),
        ("speaker", speaker),
    ):
        arguments.text(value, name)
    chosen = arguments.texts(kinds, "kinds")
    now = store.clock.now_ns()
    claims = read_claims(text, speaker=speaker, time_ns=now)
    if not claims:
        return (), []
    found: list[ScoredProposal] = []
    with store.read() as reader:
        words = frozenset(terms(text[:STATEMENT_CHARS_READ]))
        place = SearchedPlace(project, space, chosen)
        for node in find_candidates(reader, recaller, text, claims, place):
            found += _score_node(node, claims, words=words, speaker=speaker)
    return claims, _exact_first(found)


def _exact_first(found: list[ScoredProposal]) -> list[ScoredProposal]:
    """Lower the scores of beliefs with a similar subject for each claim for which a belief has
    exactly the same subject."""
    exact = {
        one.claim
        for one in found
        if one.proposal.score >= REVISE_AT
        and one.exact
        and one.proposal.relation in _MATCHING_RELATIONS
    }
    return [
        _set_aside(one)
        if one.claim in exact and not one.exact and one.proposal.relation in RETIRING
        else one
        for one in found
    ]


def _set_aside(one: ScoredProposal) -> ScoredProposal:
    reasons = (*one.proposal.reasons, "Another belief is about exactly this subject.")
    return replace(
        one,
        proposal=replace(
            one.proposal,
            relation="beside",
            score=min(one.proposal.score, _LIKE_SUBJECT_MAX),
            reasons=reasons,
        ),
    )


def judge_claims(
    new: Claim,
    held: Claim,
    *,
    several: bool = False,
    same_speaker: bool = True,
    shared: float = 0.0,
) -> tuple[Agreement, float]:
    """Compare two claims and score the result. Below the conflict threshold the relation becomes
    `beside`."""
    verdict = agreement(new, held, several=several, same_speaker=same_speaker, shared_words=shared)
    score = score_of(verdict.features)
    if new.unasserted:
        score = min(score, _UNASSERTED_MAX)
    return (
        replace(verdict, relation="beside")
        if score < CONFLICT_AT and verdict.relation != "names"
        else verdict
    ), score


def score_of(features: tuple[float, ...]) -> float:
    """Return the logistic regression score of a feature vector."""
    total = BIAS + sum(weight * value for weight, value in zip(_WEIGHTS, features, strict=True))
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, total))))


def _score_node(
    node: Node, claims: tuple[Claim, ...], *, words: frozenset[str], speaker: str
) -> list[ScoredProposal]:
    """Compare each claim of the text with the facts of a belief, or with its text if it has
    none."""
    props: dict[str, Any] = node.props
    said_by = str(props.get("speaker_name", "") or "")
    time = props.get("time") if isinstance(props.get("time"), int) else None
    summary = str(props.get("summary", ""))
    same_speaker = not (speaker and said_by) or speaker.casefold() == said_by.casefold()
    facts = facts_of(node)
    held: list[tuple[Claim, Fact | None]] = [
        (
            read_fact(
                fact.subject, fact.predicate, _as_text(fact.value), speaker=said_by, time_ns=time
            ),
            fact,
        )
        for fact in facts[:_FACTS_READ]
    ]
    read = read_claims(summary, speaker=said_by, time_ns=time)
    if not facts:
        held = [(claim, None) for claim in read]
        if all(claim.value.type == "none" for claim in read):
            # a value alone; the name of the item is its subject
            held.append(
                (
                    read_fact(
                        str(props.get("kref", ""))
                        .rpartition("/")[2]
                        .partition("?")[0]
                        .rpartition(".")[0],
                        "is",
                        summary,
                        time_ns=time,
                    ),
                    None,
                )
            )
    elif len(facts) == 1:
        held += [(claim, facts[0]) for claim in read]
    several = not facts and len([claim for claim in read if not claim.unasserted]) > 1
    other = frozenset(terms(summary[:STATEMENT_CHARS_READ])) | {
        term for fact in facts for part in fact[:2] for term in terms(str(part))
    }
    shared = len(words & other) / max(1, len(words | other))
    found = []
    for number, new in enumerate(claims):
        for claim, fact in held:
            if not claim.unasserted and _comparable(new, claim):
                found.append(
                    _scored_proposal(
                        node,
                        new,
                        claim,
                        fact=fact,
                        number=number,
                        several=several,
                        same_speaker=same_speaker,
                        shared=shared,
                    )
                )
    return found


def _comparable(new: Claim, held: Claim) -> bool:
    """Return whether two claims have anything in common by which they could be about the same."""
    return bool(
        new.predicate == held.predicate
        or new.key & held.key
        or new.unnamed
        or new.given_up.text
        or not new.key
        or not held.key
    )


_FACTS_READ = 4 * CLAIMS_PER_TEXT_ITEMS_MAX


def _scored_proposal(
    node: Node,
    new: Claim,
    held: Claim,
    *,
    fact: Fact | None,
    number: int,
    several: bool,
    same_speaker: bool,
    shared: float,
) -> ScoredProposal:
    verdict, score = judge_claims(
        new, held, several=several, same_speaker=same_speaker, shared=shared
    )
    reasons = verdict.reasons + (
        (f"The text asserts nothing: {new.unasserted}.",) if new.unasserted else ()
    )
    kref = str(node.props["kref"])
    proposal = Proposal(
        kref=kref,
        item=kref.partition("?")[0],
        predicate=fact.predicate if fact else held.predicate,
        fact=_stated(new, held, fact),
        score=round(score, 4),
        relation=verdict.relation,
        reasons=reasons,
        held=fact,
    )
    return ScoredProposal(proposal, verdict.features, number, bool(new.unasserted))


def _stated(new: Claim, held: Claim, fact: Fact | None) -> Fact:
    """Return what the text states as a fact in the terms of the belief. A denial has `not` before
    its predicate."""
    subject = fact.subject if fact else held.subject or new.subject or "it"
    predicate = fact.predicate if fact else held.predicate
    value: bool | int | float | str = new.value.text or True
    if fact is not None and isinstance(fact.value, (int, float)) and new.value.type == "amount":
        value = (
            int(new.value.numbers[0]) if new.value.numbers[0].is_integer() else new.value.numbers[0]
        )
    return Fact(subject, predicate if new.positive else f"not {predicate}", value)


def _as_text(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _rank(one: ScoredProposal) -> tuple[bool, float, str, int]:
    return one.proposal.relation == "beside", -one.proposal.score, one.proposal.kref, one.claim


def _verdict(claims: int, found: list[ScoredProposal]) -> MatchVerdict:
    """Return the strongest verdict of any claim; "same" only if every claim is already believed."""
    retiring = [one.proposal.score for one in found if one.proposal.relation in RETIRING]
    if any(score >= REVISE_AT for score in retiring):
        return "revise"
    if any(score >= CONFLICT_AT for score in retiring):
        return "conflict"
    known = {
        one.claim
        for one in found
        if one.proposal.relation in ("restates", "names") and one.proposal.score >= REVISE_AT
    }
    return "same" if claims and len(known) == claims else "create"
