"""What `remember` and `tell` share: which beliefs a plain text is about, and how it replaces them.

    text -> own words -> claims -> match -> Verdict -> revise and retire in a transaction

A text in the first person is matched as said by nobody in particular, and as said by each user
whose beliefs share words with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from doxa.base.words import terms
from doxa.belief import (
    Change,
    Draft,
    Fact,
    Ledger,
    facts_of,
    item_of,
    parse_kref,
    status_of,
)
from doxa.belief.conflicts import open_conflict
from doxa.belief.relevant_beliefs import trust_rank
from doxa.belief.removal.retiring import SPEAKER_NAME, SPEAKER_ROLE, mark_turns, retire_for
from doxa.belief.types import CheckedDraft, Retracted, check_facts, without
from doxa.belief.writes import draft_kref, link
from doxa.ingestion.candidates import SearchedPlace, find_candidates
from doxa.ingestion.match import (
    CONFLICT_AT,
    REVISE_AT,
    MatchResult,
    Proposal,
    asserts_nothing,
    is_unplaced,
    match,
)
from doxa.ingestion.own_words import own_words
from doxa.language.agreement import RETIRING
from doxa.language.predicates import cue_words
from doxa.language.statement import Claim, read_fact
from doxa.language.subjects import SPEAKER
from doxa.language.tables.reader import read_claims
from doxa.recall import Recaller
from doxa.store import TRUSTS, Node, Store, Transaction

Links = tuple[tuple[str, str], ...]
Action = Literal["revise", "conflict", "same", "create", "nothing"]
_STRENGTH: tuple[Action, ...] = ("revise", "conflict", "same", "create", "nothing")
_USER = "user"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a text asks for. `proposals` are the beliefs that it is about, the surest first; `facts`
    are what it states itself; `unasserted` says why it asserts nothing, or is empty."""

    action: Action
    proposals: tuple[Proposal, ...] = ()
    facts: tuple[Fact, ...] = ()
    unasserted: str = ""
    claims: tuple[Claim, ...] = ()


def consult(store: Store, recaller: Recaller, draft: Draft) -> Verdict:
    """Return what the text of a draft asks for, by what is committed now. Writes nothing."""
    speaker = str(draft.metadata.get(SPEAKER_NAME, "") or "")
    said = own_words(draft.summary)
    if not said.strip():
        return Verdict("nothing", unasserted="it only passes on the words of others")
    with store.read() as reader:
        claims = read_claims(said, speaker=speaker, time_ns=reader.now)
        if asserts_nothing(said, claims) and not is_unplaced(said, claims):
            reasons = [claim.unasserted for claim in claims]
            return Verdict("nothing", unasserted=(reasons or ["unclear"])[0], claims=claims)
        facts = stated_facts(said, claims, speaker=speaker, time_ns=reader.now)
        others: Iterable[str] = ()
        if not speaker and any(SPEAKER in claim.key for claim in claims):
            place = SearchedPlace(draft.project, draft.space, ())
            others = sorted(_users(find_candidates(reader, recaller, said, claims, place)[0]))
        results = [
            match(store, recaller, said, project=draft.project, space=draft.space, speaker=one)
            for one in (speaker, *others)
        ]
    return _merged(results, facts, claims)


def _users(nodes: Iterable[Node]) -> set[str]:
    """The users who stated these beliefs."""
    return {
        str(node.props[SPEAKER_NAME])
        for node in nodes
        if node.props.get(SPEAKER_ROLE) == _USER and node.props.get(SPEAKER_NAME)
    }


def _merged(
    results: Sequence[MatchResult], facts: tuple[Fact, ...], claims: tuple[Claim, ...]
) -> Verdict:
    """Join what was found for each speaker: the strongest verdict, and each proposal once."""
    actions: list[Action] = [one.verdict for one in results]
    action = min(actions, key=_STRENGTH.index)
    best: dict[tuple[str, Fact | None], Proposal] = {}
    for one in (proposal for result in results for proposal in result.proposals):
        at = (one.kref, one.held)
        if at not in best or _rank(one) < _rank(best[at]):
            best[at] = one
    unasserted = "it asserts nothing" if action == "nothing" else ""
    return Verdict(action, tuple(sorted(best.values(), key=_rank)), facts, unasserted, claims)


def _rank(one: Proposal) -> tuple[bool, float, str]:
    return one.relation not in RETIRING, -one.score, one.kref


# What a text states


_SUBJECT = re.compile(r"^(?:the|a|an)\s+(?=\S)", re.IGNORECASE)
_NOT_NAMING = re.compile(
    r"[,;:()]|^(?:on|in|at|by|for|to|from|with|since|until|after|before|during|not|no)\b", re.I
)
_LEADING = re.compile(r"^(?:(?:now|currently|still|also|just|actually|already)\s+)+", re.I)


def stated_facts(
    text: str, claims: tuple[Claim, ...], *, speaker: str, time_ns: int
) -> tuple[Fact, ...]:
    """Return what a text states as facts, if each is read back as the claim that it came from. A
    text of several claims yields none: which of its words belong to which fact is not known, and a
    change of one would carry the words of the others away."""
    if len(claims) != 1:
        return ()
    (claim,) = claims
    plain = claim.positive and not (claim.unasserted or claim.unnamed or claim.past or claim.ends)
    if not plain or not claim.value.text or claim.besides:
        return ()
    subject = _SUBJECT.sub("", claim.subject.strip()) or claim.subject
    if speaker and subject.casefold() == "i":
        subject = speaker
    if _NOT_NAMING.search(subject):
        return ()
    value = claim.value.text
    for predicate in _predicates(text, claim):
        read = read_fact(subject, predicate, value, speaker=speaker, time_ns=time_ns)
        if _same_claim(read, claim):
            return (Fact(subject, predicate, value),)
    return ()


def _predicates(text: str, claim: Claim) -> list[str]:
    """Return how the predicate of a claim may be written, the plainest first."""
    _, _, after = text.partition(claim.subject)
    between, found, _ = after.partition(claim.value.text)
    words = _LEADING.sub("", " ".join(between.split()).casefold()) if found else ""
    surface = [words] if words and len(words.split()) <= 4 else []
    named = [claim.predicate.removeprefix("to ")] if claim.predicate else []
    return [*named, *surface, "is"] if claim.change else [*surface, *named, "is"]


def _same_claim(one: Claim, other: Claim) -> bool:
    return (one.key, one.predicate, one.value, one.positive, one.scope, one.property) == (
        other.key,
        other.predicate,
        other.value,
        other.positive,
        other.scope,
        other.property,
    )


# What becomes of the beliefs that it is about


def standing(
    tx: Transaction, proposals: Iterable[Proposal], *, least: float
) -> list[tuple[Proposal, Node]]:
    """Return the proposals that may retire their belief with at least this score and whose revision
    is still current, the best one for each revision."""
    nodes: dict[str, tuple[Proposal, Node]] = {}
    for one in proposals:
        if one.score < least or one.relation not in RETIRING or one.kref in nodes:
            continue
        node = tx.node_by_kref(one.kref)
        if node is not None and status_of(tx, node) == "current":
            nodes[one.kref] = (one, node)
    return list(nodes.values())


def sure(tx: Transaction, verdict: Verdict) -> list[tuple[Proposal, Node]]:
    """Return what the text surely replaces."""
    if verdict.action != "revise":
        return []
    return standing(tx, verdict.proposals, least=REVISE_AT)


def unsure(tx: Transaction, verdict: Verdict) -> list[tuple[Proposal, Node]]:
    """Return what the text surely or perhaps replaces."""
    if verdict.action not in ("revise", "conflict"):
        return []
    return standing(tx, verdict.proposals, least=CONFLICT_AT)


def may_retire(draft: Draft, nodes: Iterable[Node]) -> bool:
    """Return whether nothing of these beliefs is trusted more than the draft."""
    return all(trust_rank(node) <= TRUSTS.index(draft.trust) for node in nodes)


def restated(verdict: Verdict, draft: Draft) -> str:
    """Return the belief of the same place and kind that states the one fact of a text, or an empty
    text. A text that says more than that fact is another belief."""
    if verdict.action != "same" or not (verdict.proposals and verdict.facts):
        return ""
    first, (fact, *_) = verdict.proposals[0], verdict.facts
    if first.relation != "restates" or first.held is None:
        return ""
    kref = parse_kref(first.kref)
    place = kref.project, "/".join(kref.spaces), kref.kind
    if place != (draft.project, draft.space, draft.kind):
        return ""
    if terms(fact.subject) != terms(first.held.subject):
        return ""
    parts = (fact.subject, str(fact.value), *cue_words(verdict.claims[0].predicate))
    known = {term for part in (*parts, fact.predicate) for term in terms(part)}
    return "" if set(terms(draft.summary)) - known else first.kref


def with_facts(checked: Draft, facts: tuple[Fact, ...]) -> CheckedDraft:
    """Return a checked draft with these facts, which are checked alone."""
    check_facts(facts)
    return CheckedDraft(replace(checked, facts=facts))


def revised(
    tx: Transaction,
    ledger: Ledger,
    draft: CheckedDraft,
    found: Sequence[tuple[Proposal, Node]],
    *,
    facts: tuple[Fact, ...] = (),
    links: Links = (),
) -> Change:
    """Write a draft as the next revision of the first of these beliefs, and retire the others.
    `facts` are those of the text, for a belief that held none."""
    (first, node), *others = found
    item = parse_kref(str(item_of(tx, node.id).props["kref"]))
    stated = _facts(node, first) if first.held is not None else facts
    change = ledger.upsert(
        tx,
        item,
        with_facts(
            replace(draft, name=item.name, space="/".join(item.spaces), kind=item.kind),
            (*draft.facts, *without(stated, draft.facts)),
        ),
        links=links,
    )
    if change.action != "revised":
        return change
    made = tx.node_by_kref(change.kref)
    assert made is not None
    mark_turns(tx, node.id, by=made.id)
    said = str(node.props["summary"])
    losses = [Retracted(first.kref, said, " ".join(first.reasons), (change.kref,))]
    losses += [loss for loss in change.losses if loss.kref != first.kref]
    for other, held in others:
        if status_of(tx, held) != "current":  # the revision has already retired it
            continue
        retire_for(tx, held.id, by=made.id)
        mark_turns(tx, held.id, by=made.id)
        losses.append(
            Retracted(
                other.kref, str(held.props["summary"]), " ".join(other.reasons), (change.kref,)
            )
        )
    return replace(
        change, losses=tuple(losses), reason=" ".join((f"{first.score:.2f}:", *first.reasons))
    )


def challenged(
    tx: Transaction, draft: CheckedDraft, verdict: Verdict, *, links: Links = ()
) -> Change | None:
    """Open a conflict between a draft and the beliefs that it may replace; None if there are
    none."""
    found = unsure(tx, verdict)
    if not found:
        return None
    links = tuple(links)
    made, conflict, new = open_conflict(
        tx, draft_kref(draft), draft, [node for _, node in found], links=links
    )
    for kind, target in links if new else ():
        link(tx, made, kind=kind, target=target)
    names = ", ".join(one.kref for one, _ in found)
    return Change(
        "challenged" if new else "unchanged",
        str(made.props["kref"]),
        tx.tx if new else None,
        tx.now,
        reason=f"it may replace {names} ({found[0][0].score:.2f}): resolve the conflict {conflict}",
        conflict=conflict,
    )


def _facts(node: Node, proposal: Proposal) -> tuple[Fact, ...]:
    """Return the facts of the next revision: the matched fact in its new form, the others
    unchanged."""
    if proposal.held is None:
        return ()
    kept = without(facts_of(node), (proposal.held,))
    return (*kept, proposal.fact) if proposal.relation == "updates" else kept
