"""Drop what the retention policies do not keep: past versions, payloads of the log that a later
state supersedes, and notes of accesses. Work goes in transactions of at most BATCH elements.

A past version goes by the time at which it ended. A payload goes if its change is old enough and
the element was changed since, or is gone; the element is stated again in the log, so that a replay
still gives the state. Of an element that was never changed the first payload says what it is now,
and stays. What is on legal hold stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import apsw

from doxa.base.values import canonical, decode
from doxa.store.file.scrub import mark
from doxa.store.reader import Reader
from doxa.store.retention.holds import held_elements, holds_of
from doxa.store.retention.horizon import LOG, note_dropped
from doxa.store.retention.policies import RetentionPolicy, policies_of
from doxa.store.retention.rewriting import destroy_payloads, reindex_past, restate, set_usage
from doxa.store.retention.state import drop_versions, state_of
from doxa.store.rows import Identity
from doxa.store.sql_values import int64_array
from doxa.store.store import Store
from doxa.store.transaction import Transaction

BATCH = 500
Due = tuple[int, list[int]]  # an element, and the log entries whose payloads go
RETAIN = "retain"
_RAN = "retain_ran"  # in `meta`: when the policies were last applied
_MAX = 9_223_372_036_854_775_807


@dataclass(slots=True)
class Dropped:
    """What a run of retention dropped, or would: past versions, payloads of the log and access
    notes; `held` elements were left because of a legal hold. `changes` are the transactions."""

    versions: int = 0
    payloads: int = 0
    accesses: int = 0
    held: int = 0
    changes: list[int] = field(default_factory=list)
    note: str = ""  # where dropped bytes may still be


def last_retained(reader: Reader) -> int | None:
    """Return when the policies were last applied to the end, in ns; None if never."""
    found = reader.rows("SELECT value FROM meta WHERE key = ?", (_RAN,))
    return int(found[0][0]) if found else None


def retain(
    store: Store,
    identity: Identity,
    *,
    preview: bool = False,
    stopped: Callable[[], bool] = bool,
) -> Dropped:
    """Apply every retention policy. With `preview` nothing is written. Does not scrub. `stopped` is
    asked before each transaction and ends the run, which the next one goes on with."""
    total = Dropped()
    if not preview:
        store.flush_accesses()
    now = store.clock.now_ns()
    with store.read() as snapshot:
        policies = policies_of(snapshot.catalogue_all("retention:"))
    for policy in policies:
        for part, span in (
            ("past", policy.past),
            ("log", policy.log),
            ("accesses", policy.accesses),
        ):
            if span is not None:
                due = (policy, part, now - span)
                _apply(store, identity, due, total, preview=preview, stopped=stopped)
    if policies and not preview and not stopped():
        store.connection().execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (_RAN, now))
    return total


def _apply(
    store: Store,
    identity: Identity,
    asked: tuple[RetentionPolicy, str, int],
    total: Dropped,
    *,
    preview: bool,
    stopped: Callable[[], bool],
) -> None:
    policy, part, before = asked
    with store.read() as snapshot:
        due = list(_DUE[part](snapshot._db, policy, before))
    for start in range(0, len(due), BATCH):
        batch = due[start : start + BATCH]
        if stopped():
            return
        if preview:
            with store.read() as snapshot:
                free = _free(snapshot._db, snapshot.catalogue_all("hold:"), policy, batch, total)
                _COUNT[part](snapshot._db, policy, before, free, total)
            continue
        # a full file can be emptied: what this writes is less than what it drops
        with store.write(identity, op=RETAIN, note=policy.name, counted=False) as tx:
            free = _free(tx._db, tx.catalogue_all("hold:"), policy, batch, total)
            if free:
                _DROP[part](tx, policy, before, free, total)
        if tx.receipt_made is not None:
            total.changes.append(tx.receipt_made.tx)


def _free(
    db: apsw.Connection,
    catalogue: dict[str, Any],
    policy: RetentionPolicy,
    batch: list[Due],
    total: Dropped,
) -> list[Due]:
    """Return the elements of a batch that no hold is on."""
    given = {identity for identity, _ in batch}
    held = held_elements(
        db,
        holds_of(catalogue),
        nodes=set() if policy.edge else given,
        edges=given if policy.edge else set(),
    )
    total.held += len(held)
    return [due for due in batch if (policy.edge, due[0]) not in held]


# Which elements have something to drop


def _past_due(db: apsw.Connection, policy: RetentionPolicy, before: int) -> Iterator[Due]:
    seen: set[int] = set()
    for identity, *_ in _past_versions(db, policy, before, None):
        if identity not in seen:
            seen.add(identity)
            yield identity, []


def _past_versions(
    db: apsw.Connection, policy: RetentionPolicy, before: int, among: Iterable[int] | None
) -> list[tuple[int, int, int, list[str]]]:
    """Return the past versions that go: (id, since, until, labels or type)."""
    one = "" if among is None else " AND p.id IN carray(?2)"
    args: tuple[object, ...] = (before,) if among is None else (before, int64_array(sorted(among)))
    if policy.edge:
        sql = (
            "SELECT p.id, p.since, p.until, json_array(p.type), coalesce((SELECT n.kref FROM node n"
            " WHERE n.id = p.src), (SELECT q.kref FROM node_past q WHERE q.id = p.src ORDER BY"
            f" q.since DESC LIMIT 1)) FROM edge_past p WHERE p.until <= ?1{one} ORDER BY 1, 2"
        )
    else:
        sql = (
            "SELECT p.id, p.since, p.until, p.labels, p.kref FROM node_past p WHERE p.until <="
            f" ?1{one} ORDER BY 1, 2"
        )
    found = []
    for identity, since, until, names, kref in db.execute(sql, args):
        labels = decode(names)
        if policy.covers(labels, kref):
            found.append((identity, since, until, labels))
    return found


def _log_due(db: apsw.Connection, policy: RetentionPolicy, before: int) -> Iterator[Due]:
    kind = "edge." if policy.edge else "node."
    rows = db.execute(
        "SELECT l.element, l.seq, l.op, p.payload FROM log l JOIN log_payload p ON p.seq = l.seq"
        " WHERE l.tx <= ? AND substr(l.op, 1, 5) = ? ORDER BY l.element, l.seq",
        (_last_change(db, before), kind),
    )
    for identity, group in groupby(rows, key=itemgetter(0)):
        entries: list[Any] = list(group)
        state = state_of(db, int(identity), edge=policy.edge)
        if len(entries) == 1 and _is_needed(entries[0], kind, state):
            continue
        bodies = [state, *(decode(bytes(entry[3]).decode()) for entry in entries)]
        if _is_covered(db, policy, bodies):
            yield int(identity), [entry[1] for entry in entries]


def _is_needed(entry: Any, kind: str, state: dict[str, Any]) -> bool:
    """Return whether the only entry of an element states what is kept of it, and nothing else."""
    _, _, op, payload = entry
    if op == kind + "rewrite":
        return canonical(state) == bytes(payload)
    return op != kind + "import" or decode(bytes(payload).decode())["until"] is None


def _last_change(db: apsw.Connection, before: int) -> int:
    found: Any = db.execute("SELECT max(tx) FROM receipt WHERE time <= ?", (before,)).get
    return int(found or 0)


def _is_covered(
    db: apsw.Connection, policy: RetentionPolicy, bodies: Iterable[dict[str, Any]]
) -> bool:
    """Return whether a policy covers an element: by any version that is kept, or what its payloads
    say of it."""
    return any(
        policy.covers(names, kref) for body in bodies for names, kref in _said(db, policy, body)
    )


def _said(
    db: apsw.Connection, policy: RetentionPolicy, body: dict[str, Any]
) -> Iterator[tuple[list[str], object]]:
    """Return what a body says of its element: labels or type, and the address."""
    versions = [body["live"]] if body.get("live") else []
    versions += [version[2:] for version in body.get("past", ())]
    if policy.edge:
        given = [(version[0], version[1]) for version in versions]
        given += [(body["type"], body["src"])] if "type" in body else []
        for kind, src in given:
            yield [kind], db.execute("SELECT kref FROM node WHERE id = ?", (src,)).get
        return
    for version in versions:
        yield version[0], version[1].get("kref")
    if "labels" in body:
        yield body["labels"], body["props"].get("kref")


def _accesses_due(db: apsw.Connection, policy: RetentionPolicy, before: int) -> Iterator[Due]:
    rows: list[Any] = db.execute(
        "SELECT element, json(data) FROM access WHERE edge = ?", (policy.edge,)
    ).fetchall()
    for identity, data in rows:
        held = decode(data)
        if _last_use(held) > before or not held.keys() - {"suppressed"}:
            continue
        if _is_covered(db, policy, [state_of(db, identity, edge=policy.edge)]):
            yield identity, []


def _last_use(data: dict[str, Any]) -> int:
    return max(data.get(name) or 0 for name in ("last", "walked", "changed"))


# Dropping


def _drop_past(
    tx: Transaction, policy: RetentionPolicy, before: int, batch: list[Due], total: Dropped
) -> None:
    found = _past_versions(tx._db, policy, before, [identity for identity, _ in batch])
    if not found:
        return
    versions = [[identity, since] for identity, since, _, _ in found]
    tx._log("past.drop", 0, payload=canonical({"edge": policy.edge, "versions": versions}))
    drop_versions(tx._db, versions, edge=policy.edge)
    horizons: dict[str, int] = {}
    for _, _, until, names in found:
        # a version without a label is found by reads of all nodes only
        for name in names or ["\0"]:
            key = f"{'e' if policy.edge else 'n'}:{name}"
            horizons[key] = max(until, horizons.get(key, 0))
    note_dropped(tx._db, horizons)
    for identity in {identity for identity, *_ in found}:
        reindex_past(tx, identity, edge=policy.edge)
    mark(tx._db, tx.tx)
    total.versions += len(found)


def _drop_log(
    tx: Transaction, policy: RetentionPolicy, before: int, batch: list[Due], total: Dropped
) -> None:
    last = _last_change(tx._db, before)
    for identity, entries in batch:
        total.payloads += restate(
            tx, identity, edge=policy.edge, payloads=entries, until=tx.entries.seq
        )
    note_dropped(tx._db, {LOG: last})
    mark(tx._db, tx.tx)


def _drop_accesses(
    tx: Transaction, policy: RetentionPolicy, before: int, batch: list[Due], total: Dropped
) -> None:
    kind = "edge" if policy.edge else "node"
    gone = []
    for identity, _ in batch:
        data = tx._db.execute(
            "SELECT json(data) FROM access WHERE edge = ? AND element = ?", (policy.edge, identity)
        ).get
        held = {} if data is None else decode(data)
        if _last_use(held) > before or not held:
            continue
        kept = {"suppressed": True} if held.get("suppressed") else {}
        set_usage(tx, identity, kept, edge=policy.edge)
        tx._log(f"{kind}.usage", identity, payload=canonical({"id": identity, "data": kept}))
        gone.append(identity)
    rows: list[Any] = tx._db.execute(
        "SELECT seq FROM log WHERE op = ? AND element IN carray(?)",
        (f"{kind}.access", int64_array(gone)),
    ).fetchall()
    destroy_payloads(tx, [row[0] for row in rows])
    total.accesses += len(gone)
    mark(tx._db, tx.tx)


# Counting, for a preview


def _count_past(
    db: apsw.Connection, policy: RetentionPolicy, before: int, batch: list[Due], total: Dropped
) -> None:
    among = [identity for identity, _ in batch]
    total.versions += len(_past_versions(db, policy, before, among)) if among else 0


def _count_log(
    db: apsw.Connection, policy: RetentionPolicy, before: int, batch: list[Due], total: Dropped
) -> None:
    total.payloads += sum(len(entries) for _, entries in batch)


def _count_accesses(
    db: apsw.Connection, policy: RetentionPolicy, before: int, batch: list[Due], total: Dropped
) -> None:
    total.accesses += len(batch)


_DUE = {"past": _past_due, "log": _log_due, "accesses": _accesses_due}
_DROP = {"past": _drop_past, "log": _drop_log, "accesses": _drop_accesses}
_COUNT = {"past": _count_past, "log": _count_log, "accesses": _count_accesses}
