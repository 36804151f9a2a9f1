"""Procedures that read the transaction log and compare the graph at two system times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from doxa.base.clock import format_time
from doxa.base.ids import TxId
from doxa.query.core.elements import detach
from doxa.query.core.errors import fail, shown
from doxa.query.core.graph import Graph
from doxa.query.core.valid_time import instant_ns
from doxa.store.retention.horizon import require_kept

_LOG_ROWS_MAX = 10_000
_DIGITS_MAX = 19
_DATABASE = "doxa"  # the name in SHOW DATABASES


def entries(run: Any, first: int | None, last: int | None = None) -> Iterator[tuple[Any, ...]]:
    if first is None or first < 1:
        fail(
            f"Sequence numbers begin at 1; this is {shown(first)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    reader, after, left = run.graph.reader, first - 1, _LOG_ROWS_MAX
    times: dict[int, tuple[str, str]] = {}
    while left > 0:
        entries = reader.log(after=after, limit=min(left, 1_000))
        for entry in entries:
            if last is not None and entry.seq > last:
                return
            yield _entry(reader, entry, times)
        if not entries:
            return
        after, left = entries[-1].seq, left - len(entries)


def entries_by_tx(run: Any, tx: Any, most: int | None = None) -> Iterator[tuple[Any, ...]]:
    number = (
        int(tx)
        if isinstance(tx, str) and tx.isascii() and tx.isdecimal() and len(tx) <= _DIGITS_MAX
        else tx
    )
    if type(number) is not int or not 0 < number < 2**63:
        fail(
            f"A transaction has a number from 1, not {shown(tx)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Give it as a number or as the text of the column tx_id.",
        )
    if most is not None and most < 0:
        fail(
            f"max is a whole number from 0, not {most}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    reader = run.graph.reader
    times: dict[int, tuple[str, str]] = {}
    for entry in reader.log_of(TxId(number))[
        : _LOG_ROWS_MAX if most is None else min(most, _LOG_ROWS_MAX)
    ]:
        yield _entry(reader, entry, times)


def _entry(reader: Any, entry: Any, times: dict[int, tuple[str, str]]) -> tuple[Any, ...]:
    if entry.tx not in times:
        receipt = reader.receipt(entry.tx)
        times[entry.tx] = (format_time(receipt.time), receipt.actor)
    data = (
        None
        if entry.payload is None
        else json.dumps(entry.payload, sort_keys=True, ensure_ascii=False)
    )
    return entry.seq, entry.op, times[entry.tx][0], str(entry.tx), _DATABASE, data


def diff(run: Any, one: Any, other: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the changes between two system times: (change, element, before, after), by element."""

    first, second = sorted((instant_ns(one), instant_ns(other)))
    require_kept(run.graph.reader._db, first)
    before, after = Graph(run.graph.reader, as_of=first), Graph(run.graph.reader, as_of=second)
    for what in ("node", "edge"):
        touched = (
            f"SELECT id FROM {what} WHERE since > ? AND since <= ? UNION SELECT id FROM {what}_past"
            " WHERE (since > ? AND since <= ?) OR (until > ? AND until <= ?) ORDER BY 1"
        )
        for (identity,) in list(run.graph.rows(touched, (first, second) * 3)):
            run.tick()
            old, new = _state(before, what, identity), _state(after, what, identity)
            if old != new:
                change = "created" if old is None else "deleted" if new is None else "changed"
                yield change, "NODE" if what == "node" else "RELATIONSHIP", identity, old, new


def _state(graph: Any, what: str, identity: int) -> dict[str, Any] | None:
    if what == "edge":
        edge = graph.edge(identity)
        return (
            None
            if edge is None
            else {
                "type": edge.type,
                "start": edge.start,
                "end": edge.end,
                "properties": detach(edge).properties,
            }
        )
    for row in graph.rows(
        f"SELECT labels, json(props) FROM {graph.node_table()} WHERE id = ?", (identity,)
    ):
        node = graph.node_of(identity, row[0], row[1])
        return {"labels": list(node.labels), "properties": node.properties}
    return None
