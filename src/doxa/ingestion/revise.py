"""Revise a belief: fields that the caller gives are replaced, the others are carried over from the
current revision.

Carried over are title, topics, keywords, validity, confidence, trust, metadata, and the links that
the belief depends on. Trust never rises by itself: it changes only when a caller sets it, and an
agent's revision of a verified belief opens a conflict. Metadata that is given replaces all but what
adapters find by it. Facts, enrichments and the embedding text belong to the former text: they are
carried over only if the text stays the same; otherwise the result says that they were dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from doxa.base.errors import InputError
from doxa.base.ids import is_below_operator
from doxa.belief import (
    Change,
    Draft,
    Kref,
    Ledger,
    build_revision,
    check_draft,
    draft_kref,
    parse_target,
    with_receipt,
)
from doxa.belief.graph import current_of
from doxa.belief.loading import load_item
from doxa.belief.removal.retiring import mark_turns
from doxa.belief.stating import stated_facts
from doxa.belief.types import ENRICHMENTS
from doxa.belief.types import check_kind as check_belief_kind
from doxa.belief.writes import EMBEDDING_TEXT, require_belief
from doxa.ingestion.arguments import check_kind
from doxa.ingestion.remember import clean_draft
from doxa.logic.sentence import Sentence, parse_sentence, worded
from doxa.redaction.redact import left_out
from doxa.store import Identity, Node, Store, Transaction

_APART = ("embedding_text", "statements")
_KEPT = ("title", "topics", "keywords", "valid_from", "valid_until", "confidence", "trust")
_OF_ADAPTERS = (
    "adapter_"  # metadata by which an adapter finds what it keeps (adapters/documents.py)
)


def revise(
    store: Store,
    identity: Identity,
    target: str | Kref,
    text: str,
    *,
    given: Mapping[str, Any],
    expect: int | None = None,
    again: bool = False,
    dry_run: bool = False,
) -> Change:
    """Write a new revision of an item. `given` holds the checked fields; `expect` is
    the revision that must be current; `again` writes a revision even if nothing changes; `dry_run`
    only returns what would happen."""
    kref = parse_target(target)
    draft, secrets = _worded(kref, text, given)
    check_belief_kind(draft.kind)
    ledger = Ledger(store, identity, dry_run=dry_run)
    with ledger.write("revise") as work:
        tx = work.tx
        loaded = load_item(tx, kref.item())
        before = current_of(tx, require_belief(tx, kref).id)
        full, notes = _carried(draft, before, given=given, identity=identity)
        change = ledger.upsert(
            tx,
            kref.item(),
            check_draft(full),
            expect=expect,
            again=again,
            carry=True,
            loaded=loaded,
        )
        _mark(tx, before, change)
    return noted(with_receipt(change, work), secrets, notes if change.action != "unchanged" else ())


def believe(
    store: Store,
    identity: Identity,
    sentences: Sequence[Sentence],
    *,
    given: Mapping[str, Any],
    links: Sequence[tuple[str, str]] = (),
    item: Kref | None = None,
    dry_run: bool = False,
) -> Change:
    """State sentences wherever they belong. `given` are checked fields, and `summary`:
    without one the words are made from the sentences. `item`: at this address, whose current
    revision is carried over if there is one by now."""
    facts, rest = stated_facts(sentences)
    fields = {
        name: value
        for name, value in given.items()
        if name != "embedding_text" and value not in ("", None)
    }
    summary = fields.pop("summary", "") or "; ".join(map(worded, sentences))
    check_kind(fields.get("kind", "fact"))
    draft = Draft(
        summary,
        **(
            fields
            | {
                "facts": (*fields.get("facts", ()), *facts),
                "sentences": (*fields.get("sentences", ()), *rest),
            }
        ),
    )
    clean, secrets = clean_draft(draft)
    ledger = Ledger(store, identity, dry_run=dry_run)
    if item is None:
        return noted(ledger.believe(clean, links=links), secrets)
    with ledger.write("revise") as work:
        found = work.tx.node_by_kref(str(item))
        before = current_of(work.tx, found.id) if found else None
        named = {**given, "statements": sentences}
        full, notes = _carried(clean, before, given=named, identity=identity)
        checked = ledger.check(full)
        change = ledger.upsert(work.tx, item, checked, links=links, carry=True)
    return noted(with_receipt(change, work), secrets, notes if change.action != "unchanged" else ())


def supersede(
    store: Store, identity: Identity, target: str | Kref, text: str, *, given: Mapping[str, Any]
) -> Change:
    """Replace a belief: under its own address a revision, under another (project, space, name or
    kind given) an item of its own."""
    kref = parse_target(target)
    draft, secrets = _worded(kref, text, given)
    if draft_kref(draft) == kref.item():
        return revise(store, identity, kref, text, given=given)
    ledger = Ledger(store, identity)
    with ledger.write("supersede") as work:
        old = current_of(work.tx, require_belief(work.tx, kref).id)
        full, notes = _carried(draft, old, given=given, identity=identity)
        change = ledger.replace_in(work.tx, kref, ledger.check(full))
        _mark(work.tx, old, change)
    return noted(with_receipt(change, work), secrets, notes)


def _mark(tx: Transaction, before: Node | None, change: Change) -> None:
    """Mark the turns that the former revision was read from as superseded."""
    if before is None or change.action not in ("revised", "superseded"):
        return
    made = tx.node_by_kref(change.kref)
    if (
        made is not None
        and made.id != before.id
        and made.props["summary"] != before.props["summary"]
    ):
        mark_turns(tx, before.id, by=made.id, read=False)


def noted(change: Change, secrets: list[str], notes: tuple[str, ...] = ()) -> Change:
    """Return the change with a note of what was left out of it."""
    if not secrets and not notes:
        return change
    parts = [part for part in (change.reason, left_out(secrets), *notes) if part]
    return replace(
        change,
        reason=". ".join(
            part.removesuffix(".") if n < len(parts) - 1 else part for n, part in enumerate(parts)
        ),
    )


def _worded(kref: Kref, text: str, given: Mapping[str, Any]) -> tuple[Draft, list[str]]:
    """Build a redacted draft from the given fields at the address. Also returns the kinds of
    secrets found."""
    if not kref.is_item:
        raise InputError(
            f"{kref} is not an item.",
            next_step="Give the address of an item, such as kref://project/name.kind.",
            kref=str(kref),
        )
    place = {
        "project": kref.project,
        "space": "/".join(kref.spaces),
        "name": kref.name,
        "kind": kref.kind,
    }
    fields = {
        name: value
        for name, value in given.items()
        if name not in _APART and not (name in place and not value)
    }
    if "statements" in given:  # sentences for an item, in place of the words that it had
        facts, rest = stated_facts(given["statements"])
        fields |= {
            "facts": (*fields.get("facts", ()), *facts),
            "sentences": (*fields.get("sentences", ()), *rest),
        }
        text = text or "; ".join(map(worded, given["statements"]))
    draft = Draft(summary=text, **(place | fields))
    check_kind(draft.kind)
    override = given.get("embedding_text", "")
    if override.strip():
        draft = replace(draft, metadata={**draft.metadata, EMBEDDING_TEXT: override})
    return clean_draft(draft)


def _carried(
    draft: Draft, before: Node | None, *, given: Mapping[str, Any], identity: Identity
) -> tuple[Draft, tuple[str, ...]]:
    """The draft with what the former revision states and was not given, and notes of what could not
    be carried over. The revision is read in the transaction that replaces it."""
    if before is None:
        return draft, ()
    old = build_revision(before, status="current")
    notes: list[str] = []
    kept: dict[str, Any] = {name: getattr(old, name) for name in _KEPT if name not in given}
    if kept.get("trust") == "verified" and is_below_operator(identity.role):
        kept["trust"] = "stated"
        notes.append("It is no longer verified; an operator may verify it again.")
    same = draft.summary == old.summary
    of_the_words = [
        name
        for name in (*(() if "statements" in given else ("facts", "sentences")), *ENRICHMENTS)
        if name not in given
    ]
    if same:
        kept |= {
            name: tuple(map(parse_sentence, old.sentences))
            if name == "sentences"
            else getattr(old, name)
            for name in of_the_words
        }
    elif left := [name for name in of_the_words if getattr(old, name)]:
        notes.append(
            f"Its {', '.join(left)} belong to the former text and were not carried over; give those"
            " that still hold."
        )
    held = {
        name: value
        for name, value in old.metadata.items()
        if "metadata" not in given or name.startswith(_OF_ADAPTERS)
    }
    override = held.pop(EMBEDDING_TEXT, old.metadata.get(EMBEDDING_TEXT))
    if override is not None and "embedding_text" not in given:
        if same:
            held[EMBEDDING_TEXT] = override
        else:
            notes.append("Its embedding text belongs to the former text and was not carried over.")
    return replace(draft, metadata={**held, **draft.metadata}, **kept), tuple(notes)
