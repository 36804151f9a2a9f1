"""Update beliefs from plain text: match the text and apply the verdict in one transaction.

If the match is certain, the text becomes the next revision of the belief, and other beliefs that it
replaces are retired. If it is uncertain, the text is stored as the challenger of a conflict that a
user resolves. Otherwise it is a new belief. The result names everything that was found and retired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from doxa.belief import (
    Change,
    Draft,
    Fact,
    Ledger,
    check_draft,
    facts_of,
    item_of,
    parse_kref,
    status_of,
    with_receipt,
)
from doxa.belief.conflicts import open_conflict
from doxa.belief.relevant_beliefs import trust_rank
from doxa.belief.retiring import retire_for
from doxa.belief.types import CheckedDraft, Retracted, check_facts, without
from doxa.belief.writes import draft_kref
from doxa.ingestion.match import CONFLICT_AT, REVISE_AT, MatchResult, Proposal, match
from doxa.ingestion.remember import clean_draft
from doxa.ingestion.revise import noted
from doxa.language.agreement import RETIRING
from doxa.recall import Recaller
from doxa.store import TRUSTS, Identity, Node, Store, Transaction


def tell(
    store: Store, identity: Identity, recaller: Recaller, draft: Draft, *, dry_run: bool = False
) -> tuple[Change, MatchResult]:
    """State the text of a draft, wherever it belongs. The match is made before the transaction, and
    again within it if anybody wrote meanwhile."""
    clean, secrets = clean_draft(draft)
    checked = check_draft(clean)
    with store.read() as snapshot:
        seen = snapshot.last_change()
        found = match(store, recaller, clean.summary, project=clean.project, space=clean.space)
    ledger = Ledger(store, identity, dry_run=dry_run)
    with ledger.write("tell") as work:
        if work.tx.written_since(seen):
            found = match(store, recaller, clean.summary, project=clean.project, space=clean.space)
        change = _told(work.tx, ledger, checked, found)
    return noted(with_receipt(change, work), secrets), found


def _told(tx: Transaction, ledger: Ledger, draft: CheckedDraft, found: MatchResult) -> Change:
    sure = _standing(
        tx, [one for one in found.proposals if one.score >= REVISE_AT and one.relation in RETIRING]
    )
    if found.verdict == "same" and found.proposals:
        return Change(
            "unchanged", found.proposals[0].kref, None, tx.now, reason="memory holds this already"
        )
    if (
        found.verdict == "revise"
        and sure
        and all(trust_rank(node) <= TRUSTS.index(draft.trust) for _, node in sure)
    ):
        return _revised(tx, ledger, draft, sure)
    unsure = _standing(
        tx,
        [one for one in found.proposals if one.score >= CONFLICT_AT and one.relation in RETIRING],
    )
    if found.verdict in ("revise", "conflict") and unsure:
        made, conflict, new = open_conflict(
            tx, draft_kref(draft), draft, [node for _, node in unsure]
        )
        names = ", ".join(one.kref for one, _ in unsure)
        action, number = ("challenged", tx.tx) if new else ("unchanged", None)
        reason = (
            f"it may replace {names} ({unsure[0][0].score:.2f}): resolve the conflict {conflict}"
        )
        return Change(
            action,  # type: ignore[arg-type]
            str(made.props["kref"]),
            number,
            tx.now,
            reason=reason,
            conflict=conflict,
        )
    return ledger.upsert(tx, draft_kref(draft), draft)


def _standing(tx: Transaction, proposals: Sequence[Proposal]) -> list[tuple[Proposal, Node]]:
    """Return the proposals whose revision is still current, the best one for each revision."""
    nodes: dict[str, tuple[Proposal, Node]] = {}
    for one in proposals:
        node = tx.node_by_kref(one.kref)
        if one.kref not in nodes and node is not None and status_of(tx, node) == "current":
            nodes[one.kref] = (one, node)
    return list(nodes.values())


def _revised(
    tx: Transaction, ledger: Ledger, draft: CheckedDraft, sure: Sequence[tuple[Proposal, Node]]
) -> Change:
    (first, node), *others = sure
    item = parse_kref(str(item_of(tx, node.id).props["kref"]))
    facts = (*draft.facts, *_facts(node, first))
    check_facts(facts)
    there = replace(draft, name=item.name, space="/".join(item.spaces), kind=item.kind, facts=facts)
    change = ledger.upsert(tx, item, CheckedDraft(there))
    if change.action != "revised":
        return change
    made = tx.node_by_kref(change.kref)
    assert made is not None
    losses = [*change.losses]
    for other, held in others:
        if status_of(tx, held) != "current":  # the revision has already retired it
            continue
        retire_for(tx, held.id, by=made.id)
        losses.append(
            Retracted(
                other.kref, str(held.props["summary"]), " ".join(other.reasons), (change.kref,)
            )
        )
    return replace(
        change, losses=tuple(losses), reason=" ".join((f"{first.score:.2f}:", *first.reasons))
    )


def _facts(node: Node, proposal: Proposal) -> tuple[Fact, ...]:
    """Return the facts of the next revision: the matched fact in its new form, the others
    unchanged."""
    if proposal.held is None:
        return ()
    kept = without(facts_of(node), (proposal.held,))
    return (*kept, proposal.fact) if proposal.relation == "updates" else kept
