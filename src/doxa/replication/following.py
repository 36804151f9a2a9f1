"""Apply the transactions of a shared log to a file, exactly: the same log, the same state, and the
search rows, windows and index entries that the writer has.

Two ways lead there. `follow` writes one transaction as its writer did, without logging or judging
it again. `rebuild` makes the state from the whole log: for a new file, and where payloads were
erased or versions imported, since what such a log says holds at its end only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import apsw

from doxa.base.errors import CorruptError
from doxa.base.ids import EdgeId, NodeId
from doxa.base.values import Properties, canonical, decode, decode_properties
from doxa.replication.protocol import Head, SharedTransaction, chained, continues
from doxa.store import Identity, Store, Transaction, int64_array
from doxa.store import apply as rows
from doxa.store.batches import insert_rows
from doxa.store.bulk.progress import write_progress
from doxa.store.declared import SUPPRESSING, declared
from doxa.store.dump.derived import index_nodes, sweep_windows
from doxa.store.file.engine import translated
from doxa.store.file.scrub import mark
from doxa.store.index import Indexes, build
from doxa.store.log_writer import LogWriter, Tail, read_start
from doxa.store.proof.verify import replay_log
from doxa.store.retention.rewriting import reindex_past, set_usage
from doxa.store.retention.state import drop_versions, put_state
from doxa.store.scope.quota import forget_count
from doxa.store.visibility.window_writer import load

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECEIPT = "INSERT INTO main.receipt VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ANSWER = (
    "INSERT OR REPLACE INTO main.idempotency_key(key, tx, expires, salt, request, answer)"
    " VALUES(?, ?, ?, ?, ?, ?)"
)
_STATE_AND_DERIVED = (
    "node node_label edge node_past edge_past access catalogue entry entry_past doc posting"
    " posting_new atom vector vector_code vector_next vector_code_next vector_next_due"
    " block_state doc_block vector_code_block"
).split()
_IMPORTS = ("node.import", "edge.import")


def local_head(store: Store) -> Head:
    """Return how far a file has come."""
    with translated(store.path):
        _, tail = read_start(store.connection())
    return Head(tail.tx, tail.hash)


def apply_transactions(
    store: Store, tenant: str, transactions: Iterable[Sequence[SharedTransaction]]
) -> Head:
    """Apply runs of transactions that continue the log of the file; those that it has are skipped.
    Returns its head afterwards. Raises CorruptError if they do not continue it."""
    head, erased = local_head(store), False
    runs = iter(transactions)
    for run in runs:
        with _writing(store) as db:
            _, tail = read_start(db)
            new = [one for one in run if one.tx > tail.tx]
            if new and (not tail.tx or any(map(_holds_at_the_end_only, new))):
                _rebuild(store, db, tenant, new, runs)
                erased = True
            else:
                _follow(store, db, tenant, new)
                erased = erased or any(one.erased for one in new)
        head = local_head(store)
        store.commits.notify(head.tx)
    if erased:
        store.scrub()
    return head


def _holds_at_the_end_only(one: SharedTransaction) -> bool:
    return any(entry.payload is None or entry.op in _IMPORTS for entry in one.entries)


@contextmanager
def _writing(store: Store) -> Iterator[apsw.Connection]:
    """A transaction of the file that no shared log is asked for."""
    db = store.connection()
    with translated(store.path, db):
        turn = store._engine.begin(db)
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            with suppress(apsw.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            raise
        finally:
            turn.end()


def _follow(
    store: Store, db: apsw.Connection, tenant: str, transactions: Sequence[SharedTransaction]
) -> None:
    for one in transactions:
        version, tail = read_start(db)
        _write_log(db, tenant, tail, one)
        if version != store._catalogue_version:
            store._load_catalogue(db, version)
        follower = Follower(store, db, tail, one)
        store._judging(db, follower)
        try:
            follower.apply(one)
        finally:
            follower.let_go(db)
        if follower.left_to_sweep:
            store.on_due(True)
        if follower.catalogue_changed:
            db.execute("UPDATE meta SET value = value + 1 WHERE key = 'catalogue'")
            store._catalogue_version = -1


def _write_log(db: apsw.Connection, tenant: str, tail: Tail, one: SharedTransaction) -> None:
    """Write the log and the receipt of a transaction, which must continue those of the file."""
    try:
        continues(Head(tail.tx, tail.hash), [one], tenant)
    except Exception as error:
        raise diverged(tenant, tail.tx) from error
    insert_rows(db, "INSERT INTO main.log", chained(one, tail.head))
    payloads = [
        (seq, entry.salt, entry.payload)
        for seq, entry in enumerate(one.entries, one.first_seq)
        if entry.payload is not None
    ]
    insert_rows(db, "INSERT INTO main.log_payload", payloads)
    db.execute(_RECEIPT, one.receipt)
    if one.erased:
        db.execute(
            "DELETE FROM main.log_payload WHERE seq IN carray(?)", (int64_array(one.erased),)
        )
        mark(db, one.tx)
    if one.retained is not None:
        db.execute("INSERT OR REPLACE INTO meta VALUES('retained', ?)", (one.retained,))
    for key, *rest in one.answers:
        db.execute(_ANSWER, (key, one.tx, *rest))
    for name, loaded in one.progress:
        write_progress(db, name, loaded)


def diverged(tenant: str, tx: int) -> CorruptError:
    """Return the error for a file whose log is not a beginning of the shared one."""
    return CorruptError(
        f"The replica of tenant {tenant} and the shared log differ at or before transaction {tx}:"
        " the file was written by itself, or the engine was restored to an earlier state.",
        next_step="Keep the file as evidence, and open the tenant with another replica folder.",
        tenant=tenant,
        change=tx,
    )


# All at once


def _rebuild(
    store: Store,
    db: apsw.Connection,
    tenant: str,
    first: Sequence[SharedTransaction],
    more: Iterable[Sequence[SharedTransaction]],
) -> None:
    """Take in the rest of the log, and make state and all that is derived from it."""
    for run in chain([first], more):
        for one in run:
            _, tail = read_start(db)
            if one.tx > tail.tx:
                _write_log(db, tenant, tail, one)
    for table in _STATE_AND_DERIVED:
        db.execute(f"DELETE FROM main.{table}")
    db.execute("UPDATE meta SET value = 0 WHERE key = 'posting_new'")
    db.execute(
        "INSERT INTO meta VALUES('vector_set', 1) ON CONFLICT(key) DO UPDATE SET value = value + 1"
    )
    forget_count(db)
    replay_log(db, db)
    db.execute("UPDATE meta SET value = value + 1 WHERE key = 'catalogue'")
    store._catalogue_version = -1
    reader = store._reader(db, store.clock.now_ns())
    known = declared(reader.catalogue_all(), store._expressions)
    store._judging(db, reader)
    sweep_windows(db, known)
    for rule in Indexes(reader.catalogue_all()).rules:
        build(db, rule)
    index_nodes(db, known, now=reader.now)


# One after the other


class SilentLog(LogWriter):
    """The log of a transaction that is logged already."""

    def add(self, op: str, element: int, payload: bytes) -> None:
        pass


class Follower(Transaction):
    """A transaction that writes what another server logged, with what is derived from it."""

    def __init__(
        self, store: Store, db: apsw.Connection, tail: Tail, one: SharedTransaction
    ) -> None:
        super().__init__(
            db,
            clock_ns=one.time,
            tail=tail,
            identity=Identity(one.receipt[2], one.receipt[3]),
            op=one.receipt[4],
            note="",
            rules=store._declared,
            expressions=store._expressions,
            neutral=not store.decay_enabled,
        )
        self.scored_at = self.now
        self.entries = SilentLog(db, tx=self.tx, seq=tail.seq, head=tail.head)

    def apply(self, one: SharedTransaction) -> None:
        for entry in one.entries:
            self._apply(entry.op, decode(entry.payload or b""))
        self.follow_policies()
        self._search.flush()
        if self._declared.quota is not None:
            forget_count(self._db)

    def _apply(self, op: str, body: dict[str, Any]) -> None:
        kind, _, verb = op.partition(".")
        edge = kind == "edge"
        match op:
            case "node.create":
                props, data = _stated(body)
                names = tuple(body["labels"])
                self._insert_node(body["id"], names, props, data, body.get("project"))
            case "node.set":
                node = self._require_node(NodeId(body["id"]))
                props, data = _stated(body)
                self._replace_node(node, tuple(body["labels"]), props, data)
            case "node.delete":
                self._remove_node(self._require_node(NodeId(body["id"])))
            case "edge.create":
                self._insert_edge(
                    body["id"],
                    body["type"],
                    src=NodeId(body["src"]),
                    dst=NodeId(body["dst"]),
                    props=_stated(body)[0],
                    made=body["id"] > self._edge,
                )
                self._edge = max(self._edge, body["id"])
            case "edge.set":
                held = self._require_edge(EdgeId(body["id"]))
                self._replace_edge(held, *_stated(body))
            case "edge.delete":
                self._remove_edge(self._require_edge(EdgeId(body["id"])))
            case "catalogue.set":
                self._declare(body["name"], body["value"])
                if body["name"] == SUPPRESSING:
                    self._windows.idle = False
            case "erase":
                self._erase(body["nodes"], body["edges"])
            case "node.rewrite" | "edge.rewrite":
                self._rewrite(body, edge)
            case "node.usage" | "edge.usage":
                set_usage(self, body["id"], body["data"], edge=edge)
            case "past.drop":
                drop_versions(self._db, body["versions"], edge=body["edge"])
                for identity in {version[0] for version in body["versions"]}:
                    reindex_past(self, identity, edge=body["edge"])
            case _:
                self._use(op, body, verb)

    def _use(self, op: str, body: dict[str, Any], verb: str) -> None:
        """Access metadata, or a suppression: the state, then the window."""
        edge = op[0] == "e"
        found = load(self._db, body["id"], edge=edge)
        rows.replay_entry(self._db, op, body=body, now=self.now)
        seen = load(self._db, body["id"], edge=edge)
        if found is None or seen is None:
            return
        evaluator = self._windows.evaluator
        decision = evaluator.decide(seen[0], seen[1], evaluator.rule(seen[0]))
        self._windows.write(seen[0], decision, before=found[2], docs=True)

    def _rewrite(self, body: dict[str, Any], edge: bool) -> None:
        """Put the stated versions of an element in the place of those that there are. Its live
        version is the same unless the entries before said so."""
        identity = body["id"]
        found = load(self._db, identity, edge=edge)
        put_state(self._db, body, edge=edge)
        self._cache.clear()
        reindex_past(self, identity, edge=edge)
        seen = load(self._db, identity, edge=edge)
        if found is not None and seen is not None:
            evaluator = self._windows.evaluator
            decision = evaluator.decide(seen[0], seen[1], evaluator.rule(seen[0]))
            self._windows.write(seen[0], decision, before=seen[2], docs=True)


def _stated(body: dict[str, Any]) -> tuple[Properties, bytes]:
    """Return the properties of an entry, and how they are stored."""
    data = canonical(body["props"])
    return decode_properties(data.decode()), data
