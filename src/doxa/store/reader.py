"""Reads on one snapshot, shared by snapshots and transactions: a transaction sees its own writes
through the same calls.

As of a system time t, an element's version is the live row with since <= t, or the past row with
since <= t < until.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw

from doxa.base.errors import ConstraintError, LimitError
from doxa.base.ids import EdgeId, NodeId, TxId
from doxa.base.values import canonical, decode, decode_properties
from doxa.store.indexing.blocks import lack_blocks
from doxa.store.indexing.vector_tables import (
    another_model,
    embedder_name,
    embedder_next,
    has_former,
    sets_before,
)
from doxa.store.rows import Edge, LogEntry, Node, Receipt
from doxa.store.sql_values import int64_array
from doxa.store.visibility.access import ACCESSES

FEW_ROWS_MAX, FEW_BYTES_MAX = 1_000, 1 << 20  # that are read at once
_FEW = 16
NOW = "doxa_now()"
WATCH_STEPS = 50_000  # of the engine's virtual machine: a few milliseconds
_NODE = "id, labels, json(props), since, born"
_EDGE = "id, type, src, dst, json(props), since, born"
_RECEIPT = "tx, time, actor, role, op, note, first_seq, last_seq, head, hash"


if TYPE_CHECKING:
    from doxa.store.declared import Declared
    from doxa.store.image.images import ImageView
    from doxa.store.log_writer import LogWriter
    from doxa.store.visibility.access import Access
    from doxa.store.visibility.evaluator import Expressions, Subject
    from doxa.store.visibility.visible_now import VisibilityFilter

_SAYING = "SELECT a.node FROM carray(?2) k CROSS JOIN atom a ON a.scope = ?1 AND a.key = k.value"
# what follows the comma sorts before "-", the next character
_SAYING_LIKE = (
    "SELECT a.node FROM carray(?2) k CROSS JOIN atom a ON a.scope = ?1 AND a.key >= k.value "
    "AND a.key < substr(k.value, 1, length(k.value) - 1) || '-'"
)


class Reader:
    """Reads of one connection. `now` is their time."""

    image: ImageView | None = None  # of a snapshot of the whole file, if the store keeps one

    def __init__(
        self,
        db: apsw.Connection,
        *,
        now: int,
        known: dict[int, Declared] | None = None,
        pending: LogWriter | None = None,
        expressions: Expressions | None = None,
        neutral: bool = False,
        leases: Callable[[str], int] | None = None,
    ) -> None:
        self._leases = leases  # until when a job's lease holds, where an engine keeps them
        self._held: Declared | None = None
        self._version = -1  # of the catalogue
        self.neutral = neutral  # policies are kept, but hide nothing and score nothing
        self._expressions = expressions
        self._pending = pending  # what a transaction of this connection still holds of the log
        self._known = (
            known  # declarations by version of the catalogue, shared by the readers of a store
        )
        self._db = db
        self.now = now
        # the time by which the policies judge: of a transaction that began with reading, the time
        # of that
        self.scored_at = now

    def _settle(self) -> None:
        """Before anything that may read the log."""
        if self._pending is not None:
            self._pending.flush()

    # Elements as they are

    def node(self, identity: NodeId) -> Node | None:
        row = self._db.execute(f"SELECT {_NODE} FROM node WHERE id = ?", (identity,)).fetchone()
        return read_node(row) if row else None

    def node_by_kref(self, kref: str) -> Node | None:
        row = self._db.execute(f"SELECT {_NODE} FROM node WHERE kref = ?", (kref,)).fetchone()
        return read_node(row) if row else None

    def nodes_by_kref(self, krefs: Sequence[str]) -> list[Node]:
        """Return the live nodes at these addresses, in order; those of no node are left out."""
        krefs = [
            kref for kref in krefs if "\0" not in kref
        ]  # carray takes none; no address has one
        if not krefs:
            return []
        sql = (
            f"SELECT {_NODE}, n.kref FROM carray(?) k CROSS JOIN node n ON n.kref = k.value"
            " WHERE n.kref IS NOT NULL"
        )
        rows = self._db.execute(sql, (apsw.carray(tuple(krefs)),))
        found = {row[-1]: read_node(row[:-1]) for row in rows}
        return [found[kref] for kref in krefs if kref in found]

    def nodes(self, identities: Sequence[int]) -> list[Node]:
        """Return live nodes in the order of the ids asked; unknown ids are left out."""
        if not identities:
            return []
        rows = self._db.execute(
            f"SELECT {_NODE} FROM node WHERE id IN carray(?)", (int64_array(identities),)
        )
        found = {row[0]: read_node(row) for row in rows}
        return [found[i] for i in identities if i in found]

    def edge(self, identity: EdgeId) -> Edge | None:
        row = self._db.execute(f"SELECT {_EDGE} FROM edge WHERE id = ?", (identity,)).fetchone()
        return read_edge(row) if row else None

    def edges_out(self, node: NodeId, kind: str | None = None) -> list[Edge]:
        return self._edges("src", node, kind)

    def edges_in(self, node: NodeId, kind: str | None = None) -> list[Edge]:
        return self._edges("dst", node, kind)

    def _edges(self, end: str, node: NodeId, kind: str | None) -> list[Edge]:
        if kind is None:
            rows = self._db.execute(f"SELECT {_EDGE} FROM edge WHERE {end} = ?", (node,))
        else:
            rows = self._db.execute(
                f"SELECT {_EDGE} FROM edge WHERE {end} = ? AND type = ?", (node, kind)
            )
        return sorted_edges(rows)

    def edges_in_of(self, node: NodeId, kinds: tuple[str, ...]) -> list[Edge]:
        """Return incoming edges of several types at once, for the reads that need all of them."""
        marks = ", ".join("?" * len(kinds))
        sql = f"SELECT {_EDGE} FROM edge WHERE dst = ? AND type IN ({marks})"
        return sorted_edges(self._db.execute(sql, (node, *kinds)))

    def labelled(self, label: str) -> Iterator[Node]:
        columns = "n.id, n.labels, json(n.props), n.since, n.born"
        rows = self._db.execute(
            f"SELECT {columns} FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = ?"
            " ORDER BY l.node",
            (label,),
        )
        return (read_node(row) for row in rows)

    def count(self, label: str) -> int:
        return int(
            self._db.execute("SELECT count(*) FROM node_label WHERE label = ?", (label,)).get
        )

    def is_made(self, identity: int) -> bool:
        """Return whether the transaction of this reader made the node."""
        return False

    @property
    def has_windows(self) -> bool:
        """Whether a node may have a visibility window other than the one it is made with."""
        return True

    # Elements as they were

    def node_as_of(self, identity: NodeId, time: int) -> Node | None:
        row = self._db.execute(
            f"SELECT {_NODE}, NULL FROM node WHERE id = ? AND since <= ?", (identity, time)
        ).fetchone()
        if row is None:
            row = self._db.execute(
                f"SELECT {_NODE}, until FROM node_past WHERE id = ? AND since <= ? AND until > ?",
                (identity, time, time),
            ).fetchone()
        return read_node(row) if row else None

    def edges_as_of(
        self, node: NodeId, time: int, *, kind: str | None = None, incoming: bool = False
    ) -> list[Edge]:
        end = "dst" if incoming else "src"
        test = "" if kind is None else " AND type = ?"
        args: tuple[object, ...] = (node, time) if kind is None else (node, time, kind)
        past: tuple[object, ...] = (node, time, time) if kind is None else (node, time, time, kind)
        rows = self._db.execute(
            f"SELECT {_EDGE}, NULL FROM edge WHERE {end} = ? AND since <= ?{test} UNION ALL SELECT"
            f" {_EDGE}, until FROM edge_past WHERE {end} = ? AND since <= ? AND until > ?{test}"
            " ORDER BY 1",
            (*args, *past),
        )
        return [read_edge(row) for row in rows]

    def edge_history(self, node: NodeId, kind: str) -> list[Edge]:
        """Return every version of the outgoing edges of one type, oldest first: a tag's history."""
        rows = self._db.execute(
            f"SELECT {_EDGE}, NULL FROM edge WHERE src = ? AND type = ? UNION ALL "
            f"SELECT {_EDGE}, until FROM edge_past WHERE src = ? AND type = ? ORDER BY 6, 1",
            (node, kind, node, kind),
        )
        return [read_edge(row) for row in rows]

    def node_history(self, identity: NodeId) -> list[Node]:
        rows = self._db.execute(
            f"SELECT {_NODE}, until FROM node_past WHERE id = ? UNION ALL SELECT {_NODE}, NULL FROM"
            " node WHERE id = ? ORDER BY 4",
            (identity, identity),
        )
        return [read_node(row) for row in rows]

    def saying(
        self, project: str, *, keys: Sequence[str] = (), starts: Sequence[str] = ()
    ) -> list[NodeId]:
        """Return live nodes of a project that state an atom of `keys`, or with a prefix of
        `starts`."""
        scope = self._db.execute("SELECT id FROM token WHERE text = ?", ("scope:" + project,)).get
        found: dict[int, None] = {}
        if scope is not None and keys:
            found |= dict.fromkeys(
                row[0] for row in self._db.execute(_SAYING, (scope, apsw.carray(tuple(keys))))
            )
        if scope is not None and starts:
            found |= dict.fromkeys(
                row[0]
                for row in self._db.execute(_SAYING_LIKE, (scope, apsw.carray(tuple(starts))))
            )
        return [NodeId(identity) for identity in found]

    def live_with_terms(
        self,
        terms: Sequence[str],
        *,
        project: str,
        space: str | None,
        kind: str | None,
        limit: int,
        live: bool = True,
    ) -> list[Node]:
        """Return the live nodes of one project, space and kind (None: of any) that are valid and
        visible now and whose text contains all of these terms of the index, the shortest texts
        first. Without `live`: those that are not live."""
        from doxa.store.indexing.search_rows import nodes_with

        identities = nodes_with(
            self._db,
            terms,
            scope="scope:" + project,
            space=None if space is None else "space:" + space,
            kind=None if kind is None else "kind:" + kind,
            now=self.now,
            limit=limit,
            live=live,
        )
        found = self.nodes(identities)
        if not self.sight().tests_nodes:
            return found
        return [node for node in found if self.is_seen(False, node.id)]

    # Catalogue, receipts, log

    def catalogue(self, name: str) -> Any:
        text = self._db.execute("SELECT json(value) FROM catalogue WHERE name = ?", (name,)).get
        return None if text is None else decode(text)

    def catalogue_all(self, prefix: str = "") -> dict[str, Any]:
        rows = self._db.execute(
            "SELECT name, json(value) FROM catalogue WHERE substr(name, 1, ?) = ? ORDER BY name",
            (len(prefix), prefix),
        )
        return {name: decode(value) for name, value in rows}

    def declared(self) -> Declared:
        """Return what the catalogue of this snapshot declares."""
        if self._held is not None:
            return self._held
        from doxa.store.declared import declared
        from doxa.store.visibility.window_writer import swept

        if self._known is None:
            return declared(self.catalogue_all(), self._expressions, swept(self._db))
        version = int(self._db.execute("SELECT value FROM meta WHERE key = 'catalogue'").get)
        found = self._known.get(version)
        if found is None:
            self._known.clear()
            found = self._known[version] = declared(
                self.catalogue_all(), self._expressions, swept(self._db)
            )
        self._held, self._version = found, version
        return found

    @property
    def has_new_names(self) -> bool:
        """Whether it may see labels or types that nothing had before its own transaction."""
        return self._pending is not None

    @property
    def known_declared(self) -> tuple[Declared, int] | None:
        """What `declared` found, if it was asked, and its version."""
        return None if self._held is None else (self._held, self._version)

    def subject(self, identity: int, *, edge: bool) -> tuple[Subject, Access] | None:
        """Return an element as policies see it, with access metadata; None if it is not there."""
        from doxa.store.visibility.window_writer import load

        found = load(self._db, identity, edge=edge)
        return None if found is None else found[:2]

    def is_seen(self, edge: bool, identity: int) -> bool:
        """Return whether an element is visible now, judged and not looked up."""
        found = self.subject(identity, edge=edge)
        return found is not None and self.declared().evaluator.seen(*found, self.scored_at)

    def ends_of(self, edges: Collection[int]) -> dict[int, tuple[int, int]]:
        """Return the ids of the nodes that edges lead from and to, of deleted edges too. Edges that
        were erased are left out."""
        from doxa.store.visibility.window_writer import ends_of

        return ends_of(self._db, edges)

    def scores_of(self, identities: Sequence[int]) -> dict[int, float]:
        """Return what policies leave now of those of the nodes that are there, in [0, 1]; 1 where
        none is about one."""
        from doxa.store.visibility.scores import scores_of

        return scores_of(self._db, self.declared().evaluator, identities, self.scored_at)

    def lease_until(self, name: str) -> int:
        """Return until when a process holds the lease of a job, in ns; 0 if none does. Of a replica
        the engine is asked, whatever the snapshot. Raises UnreachableError."""
        if self._leases is not None:
            return self._leases(name)
        found = self._db.execute("SELECT seq FROM main.cursor WHERE name = ?", (f"lease/{name}",))
        return int(found.get or 0)

    def shown_of(self, edge: bool, identity: int, props: str, fades: str) -> str:
        """Return an element's properties (JSON) without those that have faded by now."""
        from doxa.store.visibility.evaluator import faded_names

        hidden = faded_names(fades, self.scored_at) if fades else None
        if hidden is None:
            found = self.subject(identity, edge=edge)
            evaluator = self.declared().evaluator
            kept = evaluator.shown(*found, self.scored_at) if found is not None else {}
            return canonical(
                {name: value for name, value in decode(props).items() if name in kept}
            ).decode()
        return (
            canonical(
                {name: value for name, value in decode(props).items() if name not in hidden}
            ).decode()
            if hidden
            else props
        )

    def sight(self) -> VisibilityFilter:
        """Return what the policies show on this snapshot."""
        from doxa.store.visibility.visible_now import sight_of

        return sight_of(self.declared(), self.neutral)

    def subjects(self, beyond: int, limit: int, *, edge: bool) -> list[tuple[Subject, Access]]:
        """Return the next elements by id, in order, as policies see them."""
        from doxa.store.visibility.window_writer import after

        return [found[:2] for found in after(self._db, beyond, limit, edge=edge)]

    def swept(self) -> dict[str, int]:
        """Return how far a change of policies has come, by kind, "node" or "edge": windows beyond
        are not yet as the policies say. Usually empty."""
        return dict(self.declared().swept)

    def receipt(self, tx: TxId) -> Receipt | None:
        row = self._db.execute(f"SELECT {_RECEIPT} FROM receipt WHERE tx = ?", (tx,)).fetchone()
        return Receipt(*row) if row else None

    def last_change(self) -> int:
        """Return the number of the last transaction, 0 if there is none."""
        return int(self._db.execute("SELECT max(tx) FROM receipt").get or 0)

    def written_since(self, tx: int) -> bool:
        """Return whether anything was committed after a transaction besides notes of accesses."""
        sql = "SELECT 1 FROM receipt WHERE tx > ? AND NOT (op = ? AND role = 'system') LIMIT 1"
        return self._db.execute(sql, (tx, ACCESSES)).get is not None

    def receipts(
        self, *, after: int = 0, limit: int = 100, newest_first: bool = False
    ) -> list[Receipt]:
        order = "DESC" if newest_first else "ASC"
        rows = self._db.execute(
            f"SELECT {_RECEIPT} FROM receipt WHERE tx > ? ORDER BY tx {order} LIMIT ?",
            (after, limit),
        )
        return [Receipt(*row) for row in rows]

    def last_receipt(self) -> Receipt | None:
        row = self._db.execute(
            f"SELECT {_RECEIPT} FROM receipt ORDER BY tx DESC LIMIT 1"
        ).fetchone()
        return Receipt(*row) if row else None

    def log(self, *, after: int = 0, limit: int = 1_000) -> list[LogEntry]:
        self._settle()
        rows = self._db.execute(
            "SELECT l.seq, l.tx, l.op, l.element, p.payload FROM log l LEFT JOIN log_payload p ON"
            " p.seq = l.seq WHERE l.seq > ? ORDER BY l.seq LIMIT ?",
            (after, limit),
        )
        return [_log(row) for row in rows]

    def log_of(self, tx: TxId) -> list[LogEntry]:
        receipt = self.receipt(tx)
        if receipt is None:
            return []
        self._settle()
        rows = self._db.execute(
            "SELECT l.seq, l.tx, l.op, l.element, p.payload FROM log l LEFT JOIN log_payload p ON"
            " p.seq = l.seq WHERE l.seq BETWEEN ? AND ? ORDER BY l.seq",
            (receipt.first_seq, receipt.last_seq),
        )
        return [_log(row) for row in rows]

    def embedder_name(self) -> str | None:
        """Return the model that the file's vectors in use are of, or None while there are none."""
        return embedder_name(self._db)

    def embedder_next(self) -> str | None:
        """Return the model of which a second set of vectors is being made, or None."""
        return embedder_next(self._db)

    def vector_set(self) -> tuple[str | None, int]:
        """Return the model of the vectors in use and how often one set has replaced another, since
        the same model may be used again."""
        return embedder_name(self._db), sets_before(self._db)

    def has_former_vectors(self) -> bool:
        """Return whether vectors of a set that is not wanted any more wait to be deleted."""
        return has_former(self._db)

    def lack_blocks(self) -> list[int]:
        """Return the projects of which blocks of search rows are lacking or old (blocks.py)."""
        return lack_blocks(self._db)

    def another_model(self, model: str) -> ConstraintError:
        """Return the error to raise where a model can add to no set of vectors."""
        return another_model(embedder_name(self._db), embedder_next(self._db), model)

    def rows(self, sql: str, args: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Read for the packages above that own index search and plans (recall, query). Reads only:
        the engine refuses writes here."""
        if "log" in sql:
            self._settle()
        if NOW in sql:
            sql, args = timed(sql), (self.scored_at, *args)
        cursor = self._db.execute(sql, tuple(args))
        return cursor.fetchall()

    def watch(self, stopped: Callable[[], bool] | None) -> None:
        """Ask now and then, in the middle of a long statement too, whether to stop: then the
        statement ends with InterruptedError."""
        try:
            self._db.set_progress_handler(stopped, WATCH_STEPS)
        except apsw.ConnectionClosedError:  # by another thread
            if stopped is not None:
                raise

    def stream(self, sql: str, args: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Return the same, row by row: for results of any size."""
        if "log" in sql:
            self._settle()
        if NOW in sql:
            sql, args = timed(sql), (self.scored_at, *args)
        try:
            return iter(self._db.execute(sql, tuple(args)))
        except apsw.SQLError as error:
            if "too large" in str(error) or "too many" in str(error):
                raise LimitError(
                    f"This is more than one statement holds: {error}.",
                    next_step="Split the query.",
                    field="text",
                ) from error
            raise


def few_rows(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]] | None:
    """Return all rows, or None if they are more than `FEW_ROWS_MAX`, or hold more text than
    `FEW_BYTES_MAX` beyond the first few."""
    rows = iter(rows)
    found = list(islice(rows, _FEW))
    if len(found) < _FEW:
        return found
    held = 0
    while part := list(islice(rows, _FEW)):
        found += part
        held += sum([len(text) for row in part for text in row if type(text) is str])
        if len(found) > FEW_ROWS_MAX or held > FEW_BYTES_MAX:
            return None
    return found


@lru_cache(maxsize=2_048)
def timed(sql: str) -> str:
    """Return a statement whose doxa_now() is its first parameter, so that the engine need not call
    for the time."""
    rest = sql.replace(NOW, "?1")
    return (
        f"WITH doxa_moment(now) AS (SELECT ?1), {rest[5:]}"
        if rest.startswith("WITH ")
        else f"WITH doxa_moment(now) AS (SELECT ?1) {rest}"
    )


def read_node(row: Sequence[Any]) -> Node:
    return Node(
        row[0],
        tuple(decode(row[1])),
        decode_properties(row[2]),
        row[3],
        row[4],
        row[5] if len(row) > 5 else None,
    )


def read_edge(row: Sequence[Any]) -> Edge:
    props = row[4]
    return Edge(
        row[0],
        row[1],
        row[2],
        row[3],
        {} if props == "{}" else decode_properties(props),
        row[5],
        row[6],
        row[7] if len(row) > 7 else None,
    )


def sorted_edges(rows: Iterable[Sequence[Any]]) -> list[Edge]:
    """Sort edges by id. Sorted here, since the engine would build a tree for a handful of rows."""
    found = [read_edge(row) for row in rows]
    if len(found) > 1:
        found.sort(key=_id)
    return found


def _id(edge: Edge) -> int:
    return edge.id


def _log(row: Sequence[Any]) -> LogEntry:
    return LogEntry(row[0], row[1], row[2], row[3], None if row[4] is None else decode(row[4]))
