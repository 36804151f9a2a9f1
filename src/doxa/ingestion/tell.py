"""Update beliefs from plain text: match the text and apply the verdict in one transaction.

If the match is certain, the text becomes the next revision of the belief, and other beliefs that it
replaces are retired. If it is uncertain, the text is stored as the challenger of a conflict that a
user resolves. A text that asserts nothing is not stored. Otherwise it is a new belief, with the
facts that it states. The result names everything that was found and retired.
"""

from __future__ import annotations

from doxa.belief import Change, Draft, Ledger, check_draft, with_receipt
from doxa.belief.types import CheckedDraft
from doxa.belief.writes import draft_kref
from doxa.ingestion.remember import clean_draft
from doxa.ingestion.revise import noted
from doxa.ingestion.verdict import (
    Verdict,
    challenged,
    consult,
    may_retire,
    revised,
    sure,
    with_facts,
)
from doxa.recall import Recaller
from doxa.store import Identity, Store, Transaction


def tell(
    store: Store, identity: Identity, recaller: Recaller, draft: Draft, *, dry_run: bool = False
) -> Change:
    """State the text of a draft, wherever it belongs. The match is made before the transaction, and
    again within it if anybody wrote meanwhile."""
    clean, secrets = clean_draft(draft)
    checked = check_draft(clean)
    with store.read() as snapshot:
        seen = snapshot.last_change()
        verdict = consult(store, recaller, clean)
    ledger = Ledger(store, identity, dry_run=dry_run)
    with ledger.write("tell") as work:
        if work.tx.written_since(seen):
            verdict = consult(store, recaller, clean)
        change = _told(work.tx, ledger, checked, verdict)
    return noted(with_receipt(change, work), secrets)


def _told(tx: Transaction, ledger: Ledger, draft: CheckedDraft, verdict: Verdict) -> Change:
    if verdict.action == "nothing":
        reason = f"nothing was stored: {verdict.unasserted}; to keep the sentence, use remember"
        return Change("unchanged", "", None, tx.now, reason=reason)
    if verdict.action == "same" and verdict.proposals:
        return Change(
            "unchanged",
            verdict.proposals[0].kref,
            None,
            tx.now,
            reason="memory holds this already",
        )
    found = sure(tx, verdict)
    if found and may_retire(draft, [node for _, node in found]):
        return revised(tx, ledger, draft, found, facts=verdict.facts)
    full = draft if draft.facts else with_facts(draft, verdict.facts)
    return challenged(tx, full, verdict) or ledger.upsert(tx, draft_kref(draft), full)
