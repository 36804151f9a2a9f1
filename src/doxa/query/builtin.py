"""Procedures of the graph itself: what there is, how it was, its log, and what SHOW shows. Rooms above add theirs to the same registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from doxa.base.clock import format_time
from doxa.base.ids import TxId
from doxa.cypher.signatures import FUNCTIONS, ProcedureSignature
from doxa.query.errors import fail
from doxa.query.procedures import Procedure, Registry
from doxa.query.schema import register_shows
from doxa.query.search import fulltext, set_vector, vectors
from doxa.query.values import compare, detach, equals
from doxa.query.visibility import instant_ns

Rows = Iterable[tuple[Any, ...]]
_LOG_ROWS_MAX = 10_000


def _signature(text: str, description: str, *, optional: int = 0, writes: bool = False) -> ProcedureSignature:
    """name(arg :: TYPE, …) :: (column :: TYPE, …)."""
    name, _, rest = text.partition("(")
    args, _, results = rest.partition(")")
    return ProcedureSignature(
        name.strip(), _fields(args), _fields(results.partition("(")[2].rstrip(") ")), writes, optional, description
    )


def _fields(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.split("::") for part in text.split(",") if part.strip()]
    return tuple((name.strip(), kind.strip()) for name, kind in pairs)


# What there is


def _labels(run: Any) -> Rows:
    return [(row[0],) for row in run.graph.rows(f"SELECT DISTINCT label FROM {run.graph.label_table()} ORDER BY 1")]


def _types(run: Any) -> Rows:
    return [(row[0],) for row in run.graph.rows(f"SELECT DISTINCT type FROM {run.graph.edge_table()} ORDER BY 1")]


def _property_keys(run: Any) -> Rows:
    parts = [f"SELECT j.key FROM {table} t, json_each(t.props) j" for table in (run.graph.node_table(), run.graph.edge_table())]
    return [(row[0],) for row in run.graph.rows(f"SELECT DISTINCT key FROM ({' UNION ALL '.join(parts)}) ORDER BY 1")]


def _node_properties(run: Any) -> Iterator[tuple[Any, ...]]:
    sql = (
        f"SELECT t.labels, j.key, count(*), group_concat(DISTINCT j.type) FROM {run.graph.node_table()} t "
        "LEFT JOIN json_each(t.props) j GROUP BY 1, 2 ORDER BY 1, 2"
    )
    totals = dict(run.graph.rows(f"SELECT labels, count(*) FROM {run.graph.node_table()} GROUP BY 1"))
    for labels, key, count, kinds in run.graph.rows(sql):
        names = json.loads(labels)
        shown = "".join(f":`{name}`" for name in names)
        yield shown, names, key, _kinds(kinds), key is not None and count == totals[labels]


def _edge_properties(run: Any) -> Iterator[tuple[Any, ...]]:
    sql = (
        f"SELECT t.type, j.key, count(*), group_concat(DISTINCT j.type) FROM {run.graph.edge_table()} t "
        "LEFT JOIN json_each(t.props) j GROUP BY 1, 2 ORDER BY 1, 2"
    )
    totals = dict(run.graph.rows(f"SELECT type, count(*) FROM {run.graph.edge_table()} GROUP BY 1"))
    for kind, key, count, kinds in run.graph.rows(sql):
        yield f":`{kind}`", key, _kinds(kinds), key is not None and count == totals[kind]


def _kinds(text: str | None) -> list[str] | None:
    names = {"text": "String", "integer": "Long", "real": "Double", "true": "Boolean", "false": "Boolean", "array": "List", "object": "Temporal"}
    return None if text is None else sorted({names.get(kind, kind) for kind in text.split(",")})


def _components(run: Any) -> Rows:
    from doxa.query.version import COMPATIBLE_VERSION

    return [("Neo4j Kernel", [COMPATIBLE_VERSION], "community")]


# Time


def _as_of(run: Any, label: str, key: str, value: Any, start: str, end: str, moment: Any) -> Iterator[tuple[Any, ...]]:
    """The node of a label and key whose window [start, end) holds the moment: the latest start, if several do."""
    best = None
    for node in _keyed(run, label, key, value):
        low, high = node.properties.get(start), node.properties.get(end)
        if low is None or not _reached(low, moment) or (high is not None and _reached(high, moment)):
            continue
        if best is None or compare(best.properties[start], low) == -1:
            best = node
    if best is not None:
        yield (best,)


def _no_overlap(run: Any, label: str, key: str, start: str, end: str, value: Any, low: Any, high: Any) -> Iterator[tuple[Any, ...]]:
    """ok, or an error that names the node whose window overlaps [low, high)."""
    if high is not None and not _before(low, high):
        fail("A window must begin before it ends.", kind="ArgumentError", detail="InvalidArgumentValue")
    for node in _keyed(run, label, key, value):
        from_, to = node.properties.get(start), node.properties.get(end)
        if from_ is not None and (high is None or _before(from_, high)) and (to is None or _before(low, to)):
            fail(
                f"The window overlaps that of node {node.id}.",
                kind="ConstraintValidationFailed",
                detail="TemporalOverlap",
                hint="End the other window first, or begin later.",
                node=node.id,
            )
    yield (True,)


def _keyed(run: Any, label: str, key: str, value: Any) -> Iterator[Any]:
    sql = (
        f"SELECT n.id, n.labels, json(n.props) FROM {run.graph.label_table()} l CROSS JOIN {run.graph.node_table()} n "
        "WHERE l.label = ? AND n.id = l.node ORDER BY n.id"
    )
    for row in run.graph.rows(sql, (label,)):
        run.tick()
        node = run.graph.node_of(*row)
        if equals(node.properties.get(key), value):
            yield node


def _before(one: Any, other: Any) -> bool:
    found = compare(one, other)
    if found is None or found is False:
        fail(
            "The times of a window must be of one type.", kind="ArgumentError", detail="InvalidArgumentValue", hint="Use the type of the stored ones."
        )
    return bool(found < 0)


def _reached(one: Any, moment: Any) -> bool:
    return not _before(moment, one)


# The log


def _entries(run: Any, first: int, last: int | None = None) -> Iterator[tuple[Any, ...]]:
    if first < 1:
        fail("Sequence numbers begin at 1.", kind="ArgumentError", detail="InvalidArgumentValue")
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


def _by_tx(run: Any, tx: Any, most: int = _LOG_ROWS_MAX) -> Iterator[tuple[Any, ...]]:
    reader = run.graph.reader
    times: dict[int, tuple[str, str]] = {}
    for entry in reader.log_of(TxId(int(tx)))[:most]:
        yield _entry(reader, entry, times)


def _entry(reader: Any, entry: Any, times: dict[int, tuple[str, str]]) -> tuple[Any, ...]:
    if entry.tx not in times:
        receipt = reader.receipt(entry.tx)
        times[entry.tx] = (format_time(receipt.time), receipt.actor)
    data = None if entry.payload is None else json.dumps(entry.payload, sort_keys=True, ensure_ascii=False)
    return entry.seq, entry.op, times[entry.tx][0], str(entry.tx), "default", data


def _diff(run: Any, one: Any, other: Any) -> Iterator[tuple[Any, ...]]:
    """What changed between two system times: (change, element, before, after), by element."""
    from doxa.query.graph import Graph

    first, second = sorted((instant_ns(one), instant_ns(other)))
    before, after = Graph(run.graph.reader, as_of=first), Graph(run.graph.reader, as_of=second)
    for what in ("node", "edge"):
        touched = (
            f"SELECT id FROM {what} WHERE since > ? AND since <= ? UNION SELECT id FROM {what}_past WHERE (since > ? AND since <= ?) OR "
            "(until > ? AND until <= ?) ORDER BY 1"
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
        return None if edge is None else {"type": edge.type, "start": edge.start, "end": edge.end, "properties": detach(edge).properties}
    for row in graph.rows(f"SELECT labels, json(props) FROM {graph.node_table()} WHERE id = ?", (identity,)):
        node = graph.node_of(identity, row[0], row[1])
        return {"labels": list(node.labels), "properties": node.properties}
    return None


# SHOW


def _functions(run: Any, detail: str) -> Rows:
    aggregates = {name for name, item in FUNCTIONS.items() if item.aggregate}
    return [(item.name, "Aggregating" if name in aggregates else "Scalar", item.aggregate, True) for name, item in sorted(FUNCTIONS.items())]


def _show_procedures(registry: Registry) -> Callable[..., Rows]:
    def show(run: Any, detail: str) -> Rows:
        shown = [item.signature for item in registry.all() if not item.signature.name.startswith("doxa.show.")]
        return [(item.name, item.description, "WRITE" if item.writes else "READ", False) for item in shown]

    return show


_TABLE: tuple[tuple[str, str, Callable[..., Any], int], ...] = (
    (
        "db.index.fulltext.queryNodes(indexName :: STRING, queryString :: STRING, options :: MAP) :: (node :: NODE, score :: FLOAT)",
        "Find nodes by a full-text index.",
        lambda run, name, query, options=None: fulltext(run, name, query, options, edge=False),
        1,
    ),
    (
        "db.index.fulltext.queryRelationships(indexName :: STRING, queryString :: STRING, options :: MAP) :: "
        "(relationship :: RELATIONSHIP, score :: FLOAT)",
        "Find relationships by a full-text index.",
        lambda run, name, query, options=None: fulltext(run, name, query, options, edge=True),
        1,
    ),
    (
        "db.index.vector.queryNodes(indexName :: STRING, numberOfNearestNeighbours :: INTEGER, query :: LIST) :: (node :: NODE, score :: FLOAT)",
        "Find the nearest nodes by a vector index.",
        lambda run, name, most, query: vectors(run, name, most, query, edge=False),
        0,
    ),
    (
        "db.index.vector.queryRelationships(indexName :: STRING, numberOfNearestNeighbours :: INTEGER, query :: LIST) :: "
        "(relationship :: RELATIONSHIP, score :: FLOAT)",
        "Find the nearest relationships by a vector index.",
        lambda run, name, most, query: vectors(run, name, most, query, edge=True),
        0,
    ),
    ("db.labels() :: (label :: STRING)", "All labels in use.", _labels, 0),
    ("db.relationshipTypes() :: (relationshipType :: STRING)", "All relationship types in use.", _types, 0),
    ("db.propertyKeys() :: (propertyKey :: STRING)", "All property names in use.", _property_keys, 0),
    (
        "db.schema.nodeTypeProperties() :: (nodeType :: STRING, nodeLabels :: LIST, propertyName :: STRING, propertyTypes :: LIST, "
        "mandatory :: BOOLEAN)",
        "The properties of each set of labels.",
        _node_properties,
        0,
    ),
    (
        "db.schema.relTypeProperties() :: (relType :: STRING, propertyName :: STRING, propertyTypes :: LIST, mandatory :: BOOLEAN)",
        "The properties of each relationship type.",
        _edge_properties,
        0,
    ),
    ("dbms.components() :: (name :: STRING, versions :: LIST, edition :: STRING)", "What drivers ask to know whom they talk to.", _components, 0),
    ("db.ping() :: (success :: BOOLEAN)", "Whether the database answers.", lambda run: [(True,)], 0),
    ("db.awaitIndexes(timeOutSeconds :: INTEGER) ::", "Returns at once: indexes are ready when their creation returns.", lambda run, *_: [], 1),
    (
        "db.temporal.asOf(label :: STRING, keyProperty :: STRING, keyValue :: ANY, fromProperty :: STRING, toProperty :: STRING, asOf :: ANY) "
        ":: (node :: NODE)",
        "The version of a key that was valid at a time.",
        _as_of,
        0,
    ),
    (
        "db.temporal.assertNoOverlap(label :: STRING, keyProperty :: STRING, fromProperty :: STRING, toProperty :: STRING, keyValue :: ANY, "
        "newFrom :: ANY, newTo :: ANY) :: (ok :: BOOLEAN)",
        "Fails if a window would overlap one that is there.",
        _no_overlap,
        0,
    ),
    (
        "db.txlog.entries(fromSequence :: INTEGER, toSequence :: INTEGER) :: (sequence :: INTEGER, operation :: STRING, timestamp :: STRING, "
        "tx_id :: STRING, database :: STRING, data :: STRING)",
        "Entries of the log, at most 10,000.",
        _entries,
        1,
    ),
    (
        "db.txlog.byTxId(txId :: ANY, max :: INTEGER) :: (sequence :: INTEGER, operation :: STRING, timestamp :: STRING, tx_id :: STRING, "
        "database :: STRING, data :: STRING)",
        "The log entries of one transaction.",
        _by_tx,
        1,
    ),
    (
        "doxa.diff(t1 :: ANY, t2 :: ANY) :: (change :: STRING, entity :: STRING, id :: INTEGER, before :: MAP, after :: MAP)",
        "What changed between two system times.",
        _diff,
        0,
    ),
    (
        "doxa.show.functions(detail :: STRING) :: (name :: STRING, category :: STRING, aggregating :: BOOLEAN, isBuiltIn :: BOOLEAN)",
        "SHOW FUNCTIONS.",
        _functions,
        0,
    ),
)


_WRITING: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("db.create.setNodeVectorProperty(node :: NODE, key :: STRING, vector :: LIST) ::", "Set a property of a node to a vector.", set_vector),
    (
        "db.create.setRelationshipVectorProperty(relationship :: RELATIONSHIP, key :: STRING, vector :: LIST) ::",
        "Set a property of a relationship to a vector.",
        set_vector,
    ),
)


def builtin(registry: Registry) -> Registry:
    """Add the procedures of the graph to a registry, and return it."""
    for text, description, write in _WRITING:
        registry.add(Procedure(_signature(text, description, writes=True), write))
    for text, description, call, optional in _TABLE:
        registry.add(Procedure(_signature(text, description, optional=optional), call))
    shown = "doxa.show.procedures(detail :: STRING) :: (name :: STRING, description :: STRING, mode :: STRING, worksOnSystem :: BOOLEAN)"
    registry.add(Procedure(_signature(shown, "SHOW PROCEDURES."), _show_procedures(registry)))
    register_shows(registry)
    return registry
