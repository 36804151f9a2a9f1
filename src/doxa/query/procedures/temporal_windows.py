"""db.temporal.*: the version of a key that was valid at a time, and a test for overlapping windows.

A window belongs to a node with the label and the key and reaches from one point in time to another,
or has no end. A node whose start is missing, or whose end is not a point in time, has no window.
Under a temporal constraint on exactly these properties the neighbours are read from its index in
two B-tree steps. Otherwise an index on the key leads to the nodes, or all nodes of the label are
read.

systemTime and systemSequence select the state of the graph: a time, the number of a transaction, or
the earlier of the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from doxa.base.ids import TxId
from doxa.base.temporal_instant import instant_of
from doxa.query.core.comparison import equals
from doxa.query.core.elements import Node
from doxa.query.core.errors import fail, shown
from doxa.query.core.graph import Graph
from doxa.query.core.valid_time import instant_ns
from doxa.store import after_key, key_of
from doxa.store.index import window_neighbours
from doxa.store.retention.horizon import require_kept


class Sought(NamedTuple):
    """The windows to search: of nodes with this label whose property `key` has the value."""

    label: str
    key: str
    value: Any
    start: str
    end: str


def as_of(
    run: Any,
    label: str,
    key: str,
    value: Any,
    start: str,
    end: str,
    moment: Any,
    system_time: Any = None,
    sequence: Any = None,
) -> Iterator[tuple[Any, ...]]:
    """Return the node whose window contains the instant; if there are several, the one with the
    latest start."""
    asked, best = instant_ns(moment), None
    for node, low, high in _windows(
        run, _sought(label, key, value, start, end), asked, system_time, sequence
    ):
        if low <= asked and (high is None or asked < high) and (best is None or best[1] < low):
            best = (node, low)
    if best is not None:
        yield (best[0],)


def assert_no_overlap(
    run: Any,
    label: str,
    key: str,
    start: str,
    end: str,
    value: Any,
    new_from: Any,
    new_to: Any,
    system_time: Any = None,
    sequence: Any = None,
) -> Iterator[tuple[Any, ...]]:
    """Return true, or raise an error that names the node whose window overlaps [new_from,
    new_to)."""
    low, high = instant_ns(new_from), None if new_to is None else instant_ns(new_to)
    if high is not None and not low < high:
        fail(
            "A window must begin before it ends.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Exchange or correct the times.",
        )
    for node, begins, ends in _windows(
        run, _sought(label, key, value, start, end), low, system_time, sequence
    ):
        if (high is None or begins < high) and (ends is None or low < ends):
            fail(
                f"The window overlaps that of node {node.id}.",
                kind="ConstraintValidationFailed",
                detail="TemporalOverlap",
                hint="End the other window first, or begin later.",
                node=node.id,
            )
    yield (True,)


def _sought(label: str, key: str, value: Any, start: str, end: str) -> Sought:
    for what, name in (
        ("label", label),
        ("keyProperty", key),
        ("fromProperty", start),
        ("toProperty", end),
    ):
        if not isinstance(name, str):
            fail(f"{what} is a name, not {shown(name)}.", hint="Give it as text.")
    return Sought(label, key, value, start, end)


def _windows(
    run: Any, sought: Sought, instant: int, system_time: Any, sequence: Any
) -> Iterator[tuple[Node, int, int | None]]:
    """Yield the windows that may contain the instant or follow it, and perhaps others of the
    key."""
    graph = _graph_of(run, system_time, sequence)
    for node in _candidates(graph, sought, instant):
        run.tick()
        if (
            sought.label not in node.labels
            or equals(node.properties.get(sought.key), sought.value) is not True
        ):
            continue
        low, end = instant_of(node.properties.get(sought.start)), node.properties.get(sought.end)
        high = instant_of(end)
        if low is not None and (end is None or high is not None):
            yield node, low, high


def _graph_of(run: Any, system_time: Any, sequence: Any) -> Any:

    times = [] if system_time is None else [instant_ns(system_time)]
    if sequence is not None:
        receipt = run.graph.reader.receipt(TxId(sequence)) if 0 < sequence < 2**63 else None
        if receipt is None:
            fail(
                f"There is no transaction {sequence}.",
                kind="ArgumentError",
                detail="InvalidArgumentValue",
                hint="db.txlog.entries lists them.",
            )
        times.append(receipt.time)
    if not times:
        return run.graph
    require_kept(run.graph.reader._db, min(times))
    return Graph(run.graph.reader, as_of=min(times))


def _candidates(graph: Any, sought: Sought, instant: int) -> Iterator[Node]:
    found = _by_index(graph, sought, instant)
    if found is None:
        columns = "SELECT n.id, n.labels, json(n.props)"
        sql = (
            f"{columns} FROM {graph.label_table()} l CROSS JOIN {graph.node_table()} n WHERE"
            " l.label = ? AND n.id = l.node ORDER BY n.id"
        )
        for row in graph.rows(sql, (sought.label,)):
            yield graph.node_of(*row)
        return
    for identity in found:
        for row in graph.rows(
            f"SELECT id, labels, json(props) FROM {graph.node_table()} WHERE id = ?", (identity,)
        ):
            yield graph.node_of(*row)


def _by_index(graph: Any, sought: Sought, instant: int) -> list[int] | None:
    """The nodes that an index leads to, in order; None without a usable index. As of a past time
    they may have changed since."""
    prefix = _key(sought.value)
    if prefix is None:
        return None
    declared = graph.reader.declared()
    properties = (sought.key, sought.start, sought.end)
    rules = [
        rule
        for rule in declared.constraints.labels.get(sought.label, ())
        if rule.kind == "temporal" and rule.properties == properties
    ]
    if rules:
        entries, least, beyond = rules[0].entries, prefix, after_key(prefix)
    else:
        plain = [
            rule
            for rule in declared.indexes.of_labels([sought.label])
            if rule.properties == (sought.key,)
        ]
        ordered = [rule for rule in plain if rule.kind in ("range", "text", "point")]
        if not ordered:
            return None
        entries, least, beyond = ordered[0].id, prefix, prefix + b"\x00"
    sql = "SELECT element FROM {table} WHERE idx = ? AND key >= ? AND key < ?"
    if rules and graph.as_of is None:
        parts = window_neighbours(prefix, instant)
        return [
            row[0]
            for way, low, high in parts
            for row in graph.rows(
                f"{sql.format(table='entry')} ORDER BY key {way} LIMIT 1", (entries, low, high)
            )
        ]
    tables = ("entry",) if graph.as_of is None else ("entry", "entry_past")
    return sorted(
        {
            row[0]
            for table in tables
            for row in graph.rows(sql.format(table=table), (entries, least, beyond))
        }
    )


def _key(value: Any) -> bytes | None:
    try:
        return key_of([value])
    except KeyError:  # a map or another value that properties cannot have
        return None
