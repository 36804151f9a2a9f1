"""Store a validated structure: one transaction of a run, with everything of a unit or nothing.

    (summary) -DERIVED_FROM-> every turn of the unit that was read
    (event, fact, decision, action, ...) -DERIVED_FROM-> the turns that say it
    (summary) -SUMMARIZES-> each of them

A unit is stored once for its digest of turns. When it has grown, its summary and what changed get
their next revision, and what is not said any more is retired; nothing that a person stated, tagged
or verified is touched, and no turn ever: the laws of background work refuse it at the commit. Where
they refuse one entry (incomplete, implied already), that entry is left out and the rest is stored;
where they refuse the words of the summary, it says how many turns there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from doxa.base.errors import ConstraintError, InputError, RoleError
from doxa.base.ids import NodeId
from doxa.belief import CURRENT, Kref, Ledger, check_draft, item_of
from doxa.belief.background.sources import Sources
from doxa.belief.graph import TAG, current_of
from doxa.belief.removal.retiring import set_deprecated
from doxa.consolidation.drafts import (
    DIGEST,
    ItemDraft,
    Origin,
    address_of,
    item_drafts,
    summary_draft,
)
from doxa.consolidation.structure import SECTIONS, Structure
from doxa.consolidation.transcript import Transcript
from doxa.consolidation.units import SUMMARIZES, Unit, transcript_of
from doxa.jobs import JobRun
from doxa.logic.sentence import Atom
from doxa.store import RUN_KREF, Reader, Transaction

OP = "consolidate"
_WHY = "it is drawn from the same session"
_REFUSALS_MAX = 50  # entries that one unit may lose to the laws before it fails


class MentionEntity(Protocol):
    """Records that a turn mentions an entity, in a transaction. The app gives it."""

    def __call__(
        self,
        tx: Transaction,
        *,
        project: str,
        name: str,
        kind: str,
        aliases: tuple[str, ...],
        source: str,
        rule: str,
    ) -> object: ...


@dataclass(frozen=True, slots=True)
class Stored:
    """What was stored of a unit: the address of its summary, entries by section, how many were
    known already, retired, or refused, and the change. `unchanged`: somebody else stored it
    meanwhile, and nothing was written."""

    kref: str
    counts: Mapping[str, int] = field(default_factory=dict)
    known: int = 0
    retired: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    change: int | None = None
    unchanged: bool = False


def is_stored(
    reader: Reader, unit: Unit, digest: str, *, producer: str | None, model: str | None
) -> bool:
    """Return whether the summary of a unit is of these turns, by this producer and model (None:
    by any)."""
    item = reader.node_by_kref(str(unit.kref))
    held = current_of(reader, item.id) if item is not None else None
    if held is None or held.props.get(DIGEST) != digest:
        return False
    wanted = (("producer", producer), ("model", None if model is None else model or "rules"))
    return all(one in (None, held.props.get(name)) for name, one in wanted)


def summary_of(reader: Reader, unit: Unit) -> NodeId | None:
    """Return the current revision of the summary of a unit; None if there is none."""
    item = reader.node_by_kref(str(unit.kref))
    held = current_of(reader, item.id) if item is not None else None
    return held.id if held is not None else None


def _is_stored_since(
    tx: Transaction, origin: Origin, seen: NodeId | None, *, keeping: bool
) -> bool:
    if summary_of(tx, origin.unit) == seen:
        return False
    return is_stored(
        tx,
        origin.unit,
        origin.transcript.digest,
        producer=None if keeping else origin.producer,
        model=None if keeping else origin.model,
    )


def is_retired(reader: Reader, unit: Unit) -> bool:
    """Return whether the summary of a unit was retired, or the run that wrote it undone."""
    item = reader.node_by_kref(str(unit.kref))
    return item is not None and bool(item.props.get("deprecated"))


def elements_of(structure: Structure) -> int:
    """Return how many elements storing a structure may touch, with room for entities."""
    listed = sum(len(getattr(structure, section)) for section in SECTIONS)
    mentions = sum(len(one.sources) * (2 + len(one.aliases)) for one in structure.entities)
    return 50 + 3 * listed + 4 * mentions


def store_structure(
    run: JobRun,
    structure: Structure,
    origin: Origin,
    *,
    mention: MentionEntity | None = None,
    seen: NodeId | None = None,
    keeping: bool = False,
) -> Stored:
    """Store the structure of a unit in one transaction of a run. Raises ConstraintError if its
    turns are not those that were read any more, and what the laws refuse. `seen` is the revision
    of the summary that was there before: if another one is of the same turns and of this producer
    and model (`keeping`: of any), nothing is written."""
    refused: Counter[str] = Counter()
    left_out: set[str] = set()
    while True:
        try:
            with run.write(OP) as tx:
                if _is_stored_since(tx, origin, seen, keeping=keeping):
                    return Stored(str(origin.unit.kref), unchanged=True)
                made = _Writing(tx, run, origin, mention, left_out).store(structure)
            receipt = tx.receipt_made
            change = receipt.tx if receipt is not None else None
            return Stored(made.kref, made.counts, made.known, made.retired, dict(refused), change)
        except (RoleError, ConstraintError) as error:
            addresses = [str(address_of(one.draft)) for one in item_drafts(structure, origin)]
            addresses.append(str(origin.unit.kref))
            named = next((one for one in addresses if f"{one}?" in error.message), "")
            if not named or named in left_out or len(left_out) >= _REFUSALS_MAX:
                raise
            left_out.add(named)
            refused["refused"] += 1


class _Writing:
    """One transaction that stores a unit."""

    def __init__(
        self,
        tx: Transaction,
        run: JobRun,
        origin: Origin,
        mention: MentionEntity | None,
        left_out: set[str],
    ) -> None:
        self._tx = tx
        self._ledger = Ledger(run.store, run.identity)
        self._origin = origin
        self._mention = mention
        self._left_out = left_out
        self._sources = Sources(tx)

    def store(self, structure: Structure) -> Stored:
        unit, transcript = self._origin.unit, self._origin.transcript
        self._require_same(unit, transcript)
        former = self._former(unit)
        counts: Counter[str] = Counter()
        kept: dict[NodeId, None] = {}
        known = 0
        for one in item_drafts(structure, self._origin):
            if str(address_of(one.draft)) in self._left_out:
                continue
            if self._is_known(one):
                known += 1
                continue
            revision = self._put(one)
            if revision is not None:
                kept[revision] = None
                counts[one.section] += 1
        wordless = str(unit.kref) in self._left_out
        summary = summary_draft(Structure() if wordless else structure, self._origin)
        links = [("DERIVED_FROM", turn.kref) for turn in transcript.turns]
        change = self._ledger.upsert(
            self._tx, unit.kref, check_draft(summary), links=links, again=True
        )
        node = self._tx.node_by_kref(change.kref)
        assert node is not None
        for revision in kept:
            self._tx.create_edge(SUMMARIZES, node.id, dst=revision, props={"why": _WHY})
        retired = self._retire(former - {item_of(self._tx, one).id for one in kept})
        counts["summary"] = 0 if wordless else len(structure.summary)
        counts["entities"] = self._entities(structure)
        return Stored(change.kref, dict(+counts), known, retired)

    def _require_same(self, unit: Unit, transcript: Transcript) -> None:
        """The turns are read again, in the transaction: what has been retired, erased, hidden or
        put on hold since then is not a source."""
        if transcript_of(self._tx, unit).digest != transcript.digest:
            raise ConstraintError(
                f"The turns of {unit.thread} changed while they were consolidated.",
                next_step="Consolidate again; the session stays in the queue.",
                thread=unit.thread,
            )

    def _put(self, one: ItemDraft) -> NodeId | None:
        """Write an item or its next revision; None where somebody else's belief forbids it."""
        address = address_of(one.draft)
        links = [("DERIVED_FROM", source) for source in one.sources]
        if self._was_retired(address):
            return None
        change = self._ledger.upsert(
            self._tx, address, check_draft(one.draft), links=links, in_time=True
        )
        if change.action in ("challenged", "superseded"):
            return None
        node = self._tx.node_by_kref(change.kref)
        return node.id if node is not None else None

    def _was_retired(self, address: Kref) -> bool:
        """Return whether an item was retired, and not by a run: then it stays so."""
        item = self._tx.node_by_kref(str(address))
        if item is None or not item.props.get("deprecated"):
            return False
        rows = self._tx.rows(
            "SELECT r.op FROM receipt r WHERE r.tx = (SELECT max(tx) FROM log WHERE element = ? AND"
            " op = 'node.set')",
            (item.id,),
        )
        return not rows or rows[0][0] != OP

    def _is_known(self, one: ItemDraft) -> bool:
        """Return whether what is believed says a fact already."""
        if not one.draft.facts:
            return False
        self._tx.flush_atoms()
        address = str(address_of(one.draft))
        keys = [Atom(*fact).key for fact in one.draft.facts]
        for node in self._tx.nodes(self._tx.saying(one.draft.project, keys=keys)):
            held = str(node.props.get("kref", "")).partition("?")[0]
            if held != address and self._tx.edges_in(node.id, CURRENT):
                return True
        return False

    def _former(self, unit: Unit) -> set[NodeId]:
        """Return the items that the unit was made into before."""
        item = self._tx.node_by_kref(str(unit.kref))
        held = current_of(self._tx, item.id) if item is not None else None
        if held is None:
            return set()
        edges = self._tx.edges_out(held.id, SUMMARIZES)
        return {item_of(self._tx, edge.dst).id for edge in edges}

    def _retire(self, items: set[NodeId]) -> int:
        """Retire what a session does not say any more, unless a person has touched it."""
        count = 0
        for node in self._tx.nodes(sorted(items)):
            held = current_of(self._tx, node.id)
            made_here = held is not None and held.props.get(RUN_KREF) is not None
            if made_here and not self._tx.edges_out(node.id, TAG):
                set_deprecated(self._tx, node, True)
                count += 1
        return count

    def _entities(self, structure: Structure) -> int:
        if self._mention is None:
            return 0
        turns = {turn.id: turn.kref for turn in self._origin.transcript.turns}
        count = 0
        for entity in structure.entities:
            for source in entity.sources:
                try:
                    self._mention(
                        self._tx,
                        project=self._origin.unit.project,
                        name=entity.name,
                        kind=entity.kind,
                        aliases=entity.aliases,
                        source=turns[source],
                        rule=self._origin.model or "rules",
                    )
                except InputError:
                    break  # it is not a name
            else:
                count += 1
        return count
