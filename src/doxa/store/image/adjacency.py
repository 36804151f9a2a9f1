"""The edges of some types by the node at one end, as arrays in compressed sparse rows.

    offsets   by node id: where its edges begin; they end where those of the next id begin
    far, ids  the node at the other end, and the edge, in the order of the index edge_out or edge_in

Nodes whose edges changed since are `dirty`: theirs are read from the index, at the snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from doxa.store.image.tail import ChangedSince

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[Any]

_DIRTY_MIN, _DIRTY_SHARE = 256, 16  # one node in 16 may be dirty
_SPARSE = 16  # ids up to 16 times the number of edges, so that offsets stay in proportion
_ENDS = (
    "SELECT id, type, src, dst FROM main.edge WHERE id IN carray(?1) UNION ALL"
    " SELECT id, type, src, dst FROM main.edge_past WHERE id IN carray(?1)"
)


class ResidentEdges(msgspec.Struct, frozen=True):
    """Edges by the node that they leave (`outgoing`) or reach. `types` None: of all types."""

    types: tuple[str, ...] | None
    outgoing: bool
    offsets: Ints
    far: Ints
    ids: Ints
    dirty: Ints  # sorted

    @property
    def size_bytes(self) -> int:
        return int(sum(part.nbytes for part in (self.offsets, self.far, self.ids, self.dirty)))

    def edges_of(self, nodes: Ints) -> tuple[Ints, Ints, Ints]:
        """Return (node, node at the other end, edge) for the edges of these nodes, which are not
        dirty, in the order of the nodes and of the index."""
        import numpy as np

        nodes = nodes[nodes < len(self.offsets) - 1]
        first = self.offsets[nodes]
        counts = self.offsets[nodes + 1] - first
        before = np.cumsum(counts) - counts
        places = np.arange(int(counts.sum())) + np.repeat(first - before, counts)
        return np.repeat(nodes, counts), self.far[places], self.ids[places]

    def is_dirty(self, node: int) -> bool:
        at = int(self.dirty.searchsorted(node))
        return at < len(self.dirty) and int(self.dirty[at]) == node

    def degree(self, node: int, *, loops: bool) -> int:
        """Return how many edges a node has that is not dirty, with or without those to itself."""
        if node >= len(self.offsets) - 1:
            return 0
        first, end = int(self.offsets[node]), int(self.offsets[node + 1])
        if loops:
            return end - first
        return end - first - int((self.far[first:end] == node).sum())

    def forward(self, db: apsw.Connection, tail: ChangedSince) -> ResidentEdges | None:
        """Return the adjacency after a tail; None if too much changed, or it cannot be known."""
        import numpy as np

        changed = tail.edges_made | tail.edges_gone
        if not changed:
            return self
        rows = db.execute(
            _ENDS, (apsw.carray(np.array(sorted(changed), dtype=np.int64)),)
        ).fetchall()
        if not tail.edges_gone - tail.edges_made <= {row[0] for row in rows}:
            return None  # the past of an edge that went was dropped: its ends are unknown
        near = 2 if self.outgoing else 3
        touched = [row[near] for row in rows if self.types is None or row[1] in self.types]
        if not touched:
            return self
        dirty = np.union1d(self.dirty, np.array(touched, dtype=np.int64))
        if len(dirty) > max(_DIRTY_MIN, len(self.offsets) // _DIRTY_SHARE):
            return None
        return msgspec.structs.replace(self, dirty=dirty)


def build_adjacency(
    db: apsw.Connection, types: Sequence[str] | None, *, outgoing: bool, bytes_max: int
) -> ResidentEdges | None:
    """Derive the adjacency of a snapshot; None if it is larger than `bytes_max`."""
    import numpy as np

    near, far, index = ("src", "dst", "edge_out") if outgoing else ("dst", "src", "edge_in")
    where = "" if types is None else f" WHERE type IN ({', '.join('?' * len(types))})"
    rows = db.execute(
        f"SELECT {near}, {far}, id FROM main.edge INDEXED BY {index}{where} ORDER BY {near}, type,"
        f" {far}, vis_from, vis_until, id",
        tuple(types or ()),
    )
    edges_max = max(bytes_max // 8, 1)
    flat = np.fromiter(chain.from_iterable(islice(rows, edges_max + 1)), dtype=np.int64).reshape(
        -1, 3
    )
    if len(flat) > edges_max:
        return None
    top = int(flat[-1, 0]) + 1 if len(flat) else 0
    if top > _SPARSE * len(flat) + 1_000_000:
        return None
    offsets = np.zeros(top + 1, dtype=np.int64)
    if len(flat):
        np.cumsum(np.bincount(flat[:, 0], minlength=top), out=offsets[1:])
    made = ResidentEdges(
        None if types is None else tuple(types),
        outgoing,
        offsets,
        _narrow(flat[:, 1]),
        _narrow(flat[:, 2]),
        np.empty(0, dtype=np.int64),
    )
    return made if made.size_bytes <= bytes_max else None


def _narrow(values: Ints) -> Ints:
    """Copy ids to 32 bits where they fit."""
    import numpy as np

    fits = not len(values) or int(values.max()) < 2**31
    return values.astype(np.int32 if fits else np.int64)
