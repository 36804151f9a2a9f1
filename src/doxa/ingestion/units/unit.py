"""Store one complete unit in one transaction: places, item, revision, artifacts, edges, bundles and
tags, or nothing of it. The answer names what was known already.

    draft, files -> redact, hash -> what is known -> transaction:
        revision (or the one that says the same) -> artifacts -> edges -> bundles -> tags

What is there already is not written again, so that the same unit stored twice changes nothing. A
unit whose words are known and whose files are others is a new revision: the files are what it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from doxa.base.errors import InputError
from doxa.base.limits import KNOWN_ITEMS_MAX
from doxa.belief import Change, Draft, Kref, Ledger, draft_kref, parse_kref, with_receipt
from doxa.belief.graph import current_of, parse_target, resolve
from doxa.belief.types import Action, CheckedDraft
from doxa.belief.writes import place_of
from doxa.ingestion.match import match
from doxa.ingestion.remember import clean_draft, near_duplicate
from doxa.ingestion.units.files import FilePointer
from doxa.recall import Ask, Recaller
from doxa.redaction.redact import left_out, refuse_secret
from doxa.store import Identity, Node, Store, Transaction

_ABOUT_AT = 0.15  # the score from which a match is a belief about the same (match.CONFLICT_AT)


@dataclass(frozen=True, slots=True)
class UnitDraft:
    """What a unit consists of. `links` are (edge type, address)."""

    draft: Draft
    files: tuple[FilePointer, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    bundles: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownBelief:
    """A belief that was there before: its revision, what it says, and how it is related: `same`
    (it says the same), `address` (it has the address of the unit), a relation of a match such as
    `restates` or `contradicts`, or `alike`."""

    kref: str
    text: str
    relation: str
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """The result of storing a unit. `kref` is its revision; with `stored` False that was there
    before. `artifacts`, `edges`, `bundles` and `tags` are addresses and names of what this call
    added; `known` what was believed about it before."""

    action: str
    kref: str
    stored: bool
    artifacts: tuple[str, ...]
    edges: tuple[str, ...]
    bundles: tuple[str, ...]
    tags: tuple[str, ...]
    known: tuple[KnownBelief, ...]
    warnings: tuple[str, ...]
    change: Change


def store_unit(
    store: Store,
    identity: Identity,
    recaller: Recaller | None,
    unit: UnitDraft,
    *,
    dry_run: bool = False,
) -> StoredUnit:
    """Store a unit. Without a recaller, nothing is looked for but the address and the words."""
    clean, secrets = clean_draft(unit.draft)
    warnings = [left_out([kind]) for kind in secrets]
    for name in (*unit.tags, *unit.bundles):
        refuse_secret(name, field="tags")
    ledger = Ledger(store, identity, dry_run=dry_run)
    checked = ledger.check(clean)
    draft_kref(clean)  # the place is checked before anything is looked for in it
    bundles = tuple(_bundle(clean, name) for name in unit.bundles)
    about = () if recaller is None else _about(store, recaller, clean)
    with ledger.write("store_unit") as work:
        tx = work.tx
        before = _held(tx, clean)
        change, said = _state(tx, ledger, checked, before, unit.files)
        revision = said or str(change.kref)
        address = parse_kref(revision)
        inner = Ledger(store, identity)
        with store.joined(tx):
            artifacts = tuple(_attached(tx, inner, address, unit.files))
            edges = tuple(_linked(tx, inner, address, unit.links))
            if change.action == "challenged":
                warnings += ["It waits for a decision, so that it was not grouped or tagged."]
                grouped: tuple[str, ...] = ()
                tagged: tuple[str, ...] = ()
            else:
                grouped = tuple(one for one in bundles if _grouped(inner, one, address))
                tagged = tuple(one for one in unit.tags if _tagged(inner, one, address))
    stored = not said and change.action != "unchanged"
    if work.wrote and change.change is None:
        receipt = work.tx.receipt_made
        change = replace(change, change=receipt.tx if receipt else None, reason="")
    change = with_receipt(change, work)
    action: Action = change.action if stored or not work.wrote else "attached"
    known = _known(before, said, about, own=str(address.item()))
    return StoredUnit(
        action,
        revision,
        stored,
        artifacts,
        edges,
        grouped,
        tagged,
        known,
        tuple(warnings),
        replace(change, action=action, kref=revision),
    )


def _held(tx: Transaction, draft: Draft) -> Node | None:
    """Return what is believed at the address of a draft; without a name, what says the same."""
    if draft.name:
        item = tx.node_by_kref(str(draft_kref(draft)))
        return None if item is None else current_of(tx, item.id)
    same = near_duplicate(tx, draft)
    return tx.node_by_kref(same) if same else None


def _state(
    tx: Transaction,
    ledger: Ledger,
    draft: CheckedDraft,
    before: Node | None,
    files: tuple[FilePointer, ...],
) -> tuple[Change, str]:
    """Write the revision of a unit. Also returns the address of the one that says the same, if
    nothing had to be written."""
    others = before is not None and _other_files(tx, str(before.props["kref"]), files)
    if before is not None and not draft.name and not others:
        said = str(before.props["kref"])
        known = "memory holds this already"
        return Change("unchanged", said, None, tx.now, reason=known), said
    target = draft_kref(draft)
    if before is not None and not draft.name:
        target = parse_kref(str(before.props["kref"])).item()
    change = ledger.upsert(tx, target, draft, again=others)
    return change, change.kref if change.action == "unchanged" else ""


def _other_files(tx: Transaction, revision: str, files: tuple[FilePointer, ...]) -> bool:
    """Return whether a revision has a file under one of these names that is not the same."""
    for one in files:
        held = tx.node_by_kref(f"{revision}&a={one.name}")
        if held is not None and not _same_file(held, one):
            return True
    return False


def _same_file(held: Node, one: FilePointer) -> bool:
    """Return whether an artifact points to this file: by the digest if both have one."""
    digest = held.props.get("sha256") or ""
    if digest and one.sha256:
        return digest == one.sha256
    return held.props.get("location") == one.location and digest == one.sha256


def _attached(
    tx: Transaction, ledger: Ledger, revision: Kref, files: tuple[FilePointer, ...]
) -> Iterable[str]:
    for one in files:
        if tx.node_by_kref(f"{revision}&a={one.name}") is None:
            yield ledger.attach(
                revision,
                one.name,
                location=one.location,
                sha256=one.sha256,
                size_bytes=one.size_bytes,
            ).kref


def _linked(
    tx: Transaction, ledger: Ledger, revision: Kref, links: tuple[tuple[str, str], ...]
) -> Iterable[str]:
    source = resolve(tx, revision)
    for kind, target in links:
        end = resolve(tx, parse_target(target))
        if all(edge.dst != end.id for edge in tx.edges_out(source.id, kind)):
            yield f"{kind} {end.props['kref']}"
            ledger.link(revision, target, kind=kind)


def _bundle(draft: Draft, name: str) -> str:
    """Return the address of a bundle: as given, or of this name in the space of the unit."""
    if name.startswith("kref:"):
        return str(parse_kref(name))
    place = place_of(draft.project, draft.space)
    return str(Kref(place.project, place.spaces, name.removesuffix(".bundle"), "bundle"))


def _grouped(ledger: Ledger, bundle: str, revision: Kref) -> bool:
    return ledger.bundle(bundle, add=[str(revision.item())]).action == "grouped"


def _tagged(ledger: Ledger, tag: str, revision: Kref) -> bool:
    if tag == "current":
        raise InputError(
            "A unit that is stored is current by itself.",
            next_step="Give tags of your own, such as draft.",
            field="tags",
        )
    return ledger.tag(revision, tag).action == "tagged"


def _about(store: Store, recaller: Recaller, draft: Draft) -> tuple[KnownBelief, ...]:
    """Return the beliefs about the same: what a match finds, then what recall finds alike."""
    with store.read() as snapshot:
        if snapshot.node_by_kref(str(place_of(draft.project, ""))) is None:
            return ()
    found = [
        KnownBelief(one.kref, "", one.relation, one.score)
        for one in match(store, recaller, draft.summary, project=draft.project).proposals
        if one.score >= _ABOUT_AT
    ]
    ask = Ask(draft.summary[:_ASKED_CHARS], project=draft.project, strict=True, limit=10)
    hits = [hit for hit in recaller.recall(ask, context=None).hits if hit.type == "revision"]
    texts = {hit.kref: hit.text for hit in hits}
    with store.read() as snapshot:
        for one in found:
            node = snapshot.node_by_kref(one.kref)
            if node is not None:
                texts[one.kref] = str(node.props["summary"])
    named = {one.kref for one in found}
    found += [
        KnownBelief(hit.kref, hit.text, "alike", hit.score) for hit in hits if hit.kref not in named
    ]
    return tuple(replace(one, text=texts.get(one.kref, one.text)) for one in found)


_ASKED_CHARS = 2_000


def _known(
    before: Node | None, said: str, about: tuple[KnownBelief, ...], *, own: str
) -> tuple[KnownBelief, ...]:
    first: list[KnownBelief] = []
    if before is not None:
        relation = "same" if said else "address"
        first = [KnownBelief(str(before.props["kref"]), str(before.props["summary"]), relation)]
    rest = [one for one in about if not one.kref.startswith(f"{own}?")]
    known = {one.kref for one in first}
    return tuple([*first, *(one for one in rest if one.kref not in known)][:KNOWN_ITEMS_MAX])
