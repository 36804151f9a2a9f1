"""Read stored turns again: a job that states the candidates which their extraction would state now.

It is for turns that were ingested without extraction, or by an earlier version of the rules, and
for candidates that an undo has taken away. Turns are read in the order of their time, in batches of
one transaction each, so that it can be stopped and repeated: what is stated already is left as it
is, and a second run writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from doxa.base.ids import NodeId
from doxa.base.limits import INGEST_BATCH_TURNS
from doxa.belief import Ledger, place_of
from doxa.ingestion.from_turns import CANDIDATES, Candidates, read_turn
from doxa.ingestion.ingest import IMPORTED, noted_in
from doxa.language.turns import TURN_ROLES, Turn
from doxa.redaction.redact import refuse_secret
from doxa.store import UNTRUSTED, Identity, Node, Store, Transaction


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of a re-extraction: numbers of turns read and of candidate beliefs created or
    revised, and the changes."""

    turns: int
    candidates: int
    changes: tuple[int, ...]


def extract_stored(
    store: Store,
    identity: Identity,
    project: str,
    *,
    again: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Extracted:
    """Extract candidates from the live turns of a project. `again`: also those whose item an undo
    has retired; what a person retired stays retired. `progress` is called after each batch with its
    number of turns."""
    place = place_of(refuse_secret(project, field="project"), CANDIDATES)
    job = Candidates(Ledger(store, identity), place)
    changes: list[int] = []
    read = 0
    for batch in _batches(store, place.project):
        with store.write(identity, op="extract") as tx:
            job.begin()
            for turn in tx.nodes(batch):
                _read(tx, job, turn, again=again)
        if tx.receipt_made:
            changes.append(tx.tx)
        read += len(batch)
        if progress:
            progress(len(batch))
    return Extracted(read, job.count, tuple(changes))


def _batches(store: Store, project: str) -> Iterator[list[NodeId]]:
    """Yield the live turns of a project, the earliest first."""
    with store.read() as reader:
        rows = reader.rows(_TURNS, (project,))
    for first in range(0, len(rows), INGEST_BATCH_TURNS):
        yield [NodeId(row[0]) for row in rows[first : first + INGEST_BATCH_TURNS]]


_TURNS = (
    "SELECT n.id FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Exchange' AND"
    " n.props ->> '$.project' = ? AND NOT coalesce(n.props ->> '$.deprecated', 0) ORDER BY n.props"
    " ->> '$.time', n.id"
)


def _read(tx: Transaction, job: Candidates, node: Node, *, again: bool) -> None:
    turn = _turn(node)
    found = read_turn(turn)
    names, dates = noted_in(found)
    noted: dict[str, Any] = {
        name: list(values)
        for name, values in (("entities", names), ("dates", dates))
        if values and not node.props.get(name)
    }
    if noted:
        tx.set_node(node.id, node.props | noted)
    if IMPORTED in node.labels and node.props.get("trust") == UNTRUSTED:
        return  # from a file of unknown origin: it states nothing
    for candidate in found.candidates:
        source = str(node.props["kref"])
        job.state(tx, candidate, turn=turn, source=source, again=again, is_new=False)


def _turn(node: Node) -> Turn:
    """Return a stored turn as it was said. Its time is the one it was stored with."""
    held = cast("dict[str, Any]", node.props)
    role = str(held.get("role", ""))
    time = held.get("time")
    return Turn(
        str(held.get("thread", "")),
        str(held.get("session", "")),
        str(held.get("speaker", "")),
        role if role in TURN_ROLES else "system",
        str(held.get("text", "")),
        time if isinstance(time, int) else None,
        str(held.get("source_id", "")),
        str(held.get("caption", "") or ""),
    )
