"""Procedures of the graph itself: what there is, how it was, its log, and what SHOW shows. Rooms
above add theirs to the same registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from doxa.base.clock import format_time
from doxa.base.ids import TxId
from doxa.cypher.signatures import ProcedureSignature
from doxa.query.errors import fail, shown
from doxa.query.policies import register_policies
from doxa.query.procedures import Procedure, Registry
from doxa.query.search import fulltext, set_vector, vectors
from doxa.query.show import register_shows
from doxa.query.values import detach
from doxa.query.visibility import instant_ns
from doxa.query.windows import as_of, assert_no_overlap

Rows = Iterable[tuple[Any, ...]]
_LOG_ROWS_MAX = 10_000
_DIGITS_MAX = 19
_DATABASE = "doxa"  # as SHOW DATABASES calls it


def _signature(
    text: str, description: str, *, optional: int = 0, writes: bool = False
) -> ProcedureSignature:
    """name(arg :: TYPE, …) :: (column :: TYPE, …)."""
    name, _, rest = text.partition("(")
    args, _, results = rest.partition(")")
    return ProcedureSignature(
        name.strip(),
        _fields(args),
        _fields(results.partition("(")[2].rstrip(") ")),
        writes,
        optional,
        description,
    )


def _fields(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.split("::") for part in text.split(",") if part.strip()]
    return tuple((name.strip(), kind.strip()) for name, kind in pairs)


# What there is


def _labels(run: Any) -> Rows:
    return [
        (row[0],)
        for row in run.graph.rows(
            f"SELECT DISTINCT label FROM {run.graph.label_table()} ORDER BY 1"
        )
    ]


def _types(run: Any) -> Rows:
    return [
        (row[0],)
        for row in run.graph.rows(f"SELECT DISTINCT type FROM {run.graph.edge_table()} ORDER BY 1")
    ]


def _property_keys(run: Any) -> Rows:
    parts = [
        f"SELECT j.key FROM {table} t, json_each(t.props) j"
        for table in (run.graph.node_table(), run.graph.edge_table())
    ]
    return [
        (row[0],)
        for row in run.graph.rows(
            f"SELECT DISTINCT key FROM ({' UNION ALL '.join(parts)}) ORDER BY 1"
        )
    ]


def _node_properties(run: Any) -> Iterator[tuple[Any, ...]]:
    table = run.graph.node_table()
    totals = dict(run.graph.rows(f"SELECT labels, count(*) FROM {table} GROUP BY 1"))
    for labels, key, count, kinds in run.graph.rows(_properties_sql(table, "labels")):
        names = json.loads(labels)
        yield (
            "".join(f":`{name}`" for name in names),
            names,
            key,
            _kinds(kinds),
            key is not None and count == totals[labels],
        )


def _edge_properties(run: Any) -> Iterator[tuple[Any, ...]]:
    table = run.graph.edge_table()
    totals = dict(run.graph.rows(f"SELECT type, count(*) FROM {table} GROUP BY 1"))
    for kind, key, count, kinds in run.graph.rows(_properties_sql(table, "type")):
        yield f":`{kind}`", key, _kinds(kinds), key is not None and count == totals[kind]


def _properties_sql(table: str, group: str) -> str:
    """For each group and property: how many elements have it, and the kinds of their values; of a
    tagged value, its tag."""
    kind = (
        "CASE j.type WHEN 'object' THEN (SELECT k.key FROM json_each(j.value) k LIMIT 1) ELSE"
        " j.type END"
    )
    return (
        f"SELECT t.{group}, j.key, count(*), group_concat(DISTINCT {kind}) FROM {table} t LEFT JOIN"
        " json_each(t.props) j GROUP BY 1, 2 ORDER BY 1, 2"
    )


_KINDS = {
    "text": "String",
    "integer": "Long",
    "real": "Double",
    "true": "Boolean",
    "false": "Boolean",
    "array": "List",
    "$float": "Double",
    "$bytes": "ByteArray",
    "$point": "Point",
    "$date": "Date",
    "$time": "Time",
    "$localtime": "LocalTime",
    "$datetime": "DateTime",
    "$localdatetime": "LocalDateTime",
    "$duration": "Duration",
}


def _kinds(text: str | None) -> list[str] | None:
    return None if text is None else sorted({_KINDS.get(kind, kind) for kind in text.split(",")})


def _components(run: Any) -> Rows:
    from doxa.query.version import COMPATIBLE_VERSION

    return [("Neo4j Kernel", [COMPATIBLE_VERSION], "community")]


# The log


def _entries(run: Any, first: int | None, last: int | None = None) -> Iterator[tuple[Any, ...]]:
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


def _by_tx(run: Any, tx: Any, most: int | None = None) -> Iterator[tuple[Any, ...]]:
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


def _diff(run: Any, one: Any, other: Any) -> Iterator[tuple[Any, ...]]:
    """What changed between two system times: (change, element, before, after), by element."""
    from doxa.query.graph import Graph

    first, second = sorted((instant_ns(one), instant_ns(other)))
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


# SHOW


_TABLE: tuple[tuple[str, str, Callable[..., Any], int], ...] = (
    (
        (
            "db.index.fulltext.queryNodes(indexName :: STRING, queryString :: STRING, options ::"
            " MAP) :: (node :: NODE, score :: FLOAT)"
        ),
        "Find nodes by a full-text index.",
        lambda run, name, query, options=None: fulltext(run, name, query, options, edge=False),
        1,
    ),
    (
        (
            "db.index.fulltext.queryRelationships(indexName :: STRING, queryString :: STRING,"
            " options :: MAP) :: (relationship :: RELATIONSHIP, score :: FLOAT)"
        ),
        "Find relationships by a full-text index.",
        lambda run, name, query, options=None: fulltext(run, name, query, options, edge=True),
        1,
    ),
    (
        (
            "db.index.vector.queryNodes(indexName :: STRING, numberOfNearestNeighbours :: INTEGER,"
            " query :: LIST) :: (node :: NODE, score :: FLOAT)"
        ),
        "Find the nearest nodes by a vector index.",
        lambda run, name, most, query: vectors(run, name, most, query, edge=False),
        0,
    ),
    (
        (
            "db.index.vector.queryRelationships(indexName :: STRING, numberOfNearestNeighbours ::"
            " INTEGER, query :: LIST) :: (relationship :: RELATIONSHIP, score :: FLOAT)"
        ),
        "Find the nearest relationships by a vector index.",
        lambda run, name, most, query: vectors(run, name, most, query, edge=True),
        0,
    ),
    ("db.labels() :: (label :: STRING)", "All labels in use.", _labels, 0),
    (
        "db.relationshipTypes() :: (relationshipType :: STRING)",
        "All relationship types in use.",
        _types,
        0,
    ),
    (
        "db.propertyKeys() :: (propertyKey :: STRING)",
        "All property names in use.",
        _property_keys,
        0,
    ),
    (
        (
            "db.schema.nodeTypeProperties() :: (nodeType :: STRING, nodeLabels :: LIST,"
            " propertyName :: STRING, propertyTypes :: LIST, mandatory :: BOOLEAN)"
        ),
        "The properties of each set of labels.",
        _node_properties,
        0,
    ),
    (
        (
            "db.schema.relTypeProperties() :: (relType :: STRING, propertyName :: STRING,"
            " propertyTypes :: LIST, mandatory :: BOOLEAN)"
        ),
        "The properties of each relationship type.",
        _edge_properties,
        0,
    ),
    (
        "dbms.components() :: (name :: STRING, versions :: LIST, edition :: STRING)",
        "What drivers ask to know whom they talk to.",
        _components,
        0,
    ),
    (
        "db.ping() :: (success :: BOOLEAN)",
        "Whether the database answers.",
        lambda run: [(True,)],
        0,
    ),
    (
        "db.awaitIndexes(timeOutSeconds :: INTEGER) ::",
        "Returns at once: indexes are ready when their creation returns.",
        lambda run, *_: [],
        1,
    ),
    (
        (
            "db.temporal.asOf(label :: STRING, keyProperty :: STRING, keyValue :: ANY, fromProperty"
            " :: STRING, toProperty :: STRING, asOf :: ANY, systemTime :: ANY, systemSequence ::"
            " INTEGER) :: (node :: NODE)"
        ),
        "The version of a key that was valid at a time.",
        as_of,
        2,
    ),
    (
        (
            "db.temporal.assertNoOverlap(label :: STRING, keyProperty :: STRING, fromProperty ::"
            " STRING, toProperty :: STRING, keyValue :: ANY, newFrom :: ANY, newTo :: ANY,"
            " systemTime :: ANY, systemSequence :: INTEGER) :: (ok :: BOOLEAN)"
        ),
        "Fails if a window would overlap one that is there.",
        assert_no_overlap,
        2,
    ),
    (
        (
            "db.txlog.entries(fromSequence :: INTEGER, toSequence :: INTEGER) :: (sequence ::"
            " INTEGER, operation :: STRING, timestamp :: STRING, tx_id :: STRING, database ::"
            " STRING, data :: STRING)"
        ),
        "Entries of the log, at most 10,000.",
        _entries,
        1,
    ),
    (
        (
            "db.txlog.byTxId(txId :: ANY, max :: INTEGER) :: (sequence :: INTEGER, operation ::"
            " STRING, timestamp :: STRING, tx_id :: STRING, database :: STRING, data :: STRING)"
        ),
        "The log entries of one transaction.",
        _by_tx,
        1,
    ),
    (
        (
            "doxa.diff(t1 :: ANY, t2 :: ANY) :: (change :: STRING, entity :: STRING, id :: INTEGER,"
            " before :: MAP, after :: MAP)"
        ),
        "What changed between two system times.",
        _diff,
        0,
    ),
)


_WRITING: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (
        "db.create.setNodeVectorProperty(node :: NODE, key :: STRING, vector :: LIST) ::",
        "Set a property of a node to a vector.",
        set_vector,
    ),
    (
        (
            "db.create.setRelationshipVectorProperty(relationship :: RELATIONSHIP, key :: STRING,"
            " vector :: LIST) ::"
        ),
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
    register_shows(registry)
    register_policies(registry)
    return registry
