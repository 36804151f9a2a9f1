"""APOC's tables of the schema: what labels and types there are, their properties and neighbours.

Everything is read; `sample` is accepted and has no effect. Source: the APOC documentation,
"apoc.meta.data", "apoc.meta.schema", "apoc.schema.nodes".
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from doxa.base.values import decode_properties
from doxa.query.core.errors import fail, shown
from doxa.query.functions.apoc import as_map, type_in_apoc
from doxa.query.procedures.registry import Rows
from doxa.query.procedures.virtual_schema import (
    Between,
    counts_between,
    label_counts,
    type_counts,
)


class Neighbours(NamedTuple):
    """The relationships of one type that go out of nodes of one label."""

    nodes: int  # that have one
    outgoing: int
    incoming: int  # of the same type, at the same nodes
    several: bool  # whether a node has two


class Schema(NamedTuple):
    """What the tables are made of."""

    properties: dict[tuple[str, str, str], Any]  # (node or relationship, name, property): a value
    neighbours: dict[tuple[str, str], Neighbours]  # (label, type)
    ends: dict[tuple[str, str], list[str]]  # (label, type): labels at the other end


def meta_data(run: Any, config: Any = None) -> Rows:
    """Run apoc.meta.data: a row for each property of a label or type, and for each type that leaves
    a label."""
    schema = _schema(run, _checked(config))
    for (sort, name, prop), value in schema.properties.items():
        if sort == "relationship":
            yield _property_row(run, sort, name, prop, value)
    for (label, kind), found in schema.neighbours.items():
        yield _edge_row(kind, label, found, schema.ends[label, kind], "relationship")
    for (sort, name, prop), value in schema.properties.items():
        if sort == "node":
            yield _property_row(run, sort, name, prop, value)
    for (label, kind), found in schema.neighbours.items():
        yield _edge_row(label, kind, found, schema.ends[label, kind], "node")


def _edge_row(
    name: str, prop: str, found: Neighbours, other: list[str], sort: str
) -> tuple[Any, ...]:
    ratios = (found.outgoing // found.nodes, found.incoming // found.nodes)
    facts = (False, False, False, "RELATIONSHIP", found.several, None)
    return name, prop, found.nodes, *facts, *ratios, other, [], sort


def _property_row(run: Any, sort: str, name: str, prop: str, value: Any) -> tuple[Any, ...]:
    rules = _rules(run, sort, name, prop)
    typed = (type_in_apoc(value), type(value) is list, None)
    return name, prop, 0, *rules, *typed, 0, 0, [], [], sort


def _rules(run: Any, sort: str, name: str, prop: str) -> tuple[bool, bool, bool]:
    """Whether a property is unique, indexed and required."""
    declared, edge = run.graph.reader.declared(), sort == "relationship"
    kinds = {
        rule.kind
        for rule in declared.constraints.rules
        if rule.edge == edge and rule.about == name and prop in rule.properties
    }
    indexed = any(
        rule.edge == edge and name in rule.names and prop in rule.properties
        for rule in declared.indexes.rules
    )
    return bool(kinds & {"unique", "key"}), indexed, bool(kinds & {"exists", "key"})


def meta_schema(run: Any, config: Any = None) -> Rows:
    """Run apoc.meta.schema: one map of labels and types, with properties and relationships."""
    schema = _schema(run, _checked(config))
    between = counts_between(run)
    types, labels = type_counts(run), label_counts(run)
    properties: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for (sort, name, prop), value in schema.properties.items():
        unique, indexed, exists = _rules(run, sort, name, prop)
        facts: dict[str, Any] = {"type": type_in_apoc(value), "indexed": indexed}
        facts |= {"existence": exists}
        facts |= {"unique": unique} if sort == "node" else {"array": type(value) is list}
        properties[sort, name][prop] = facts
    found: dict[str, Any] = {
        kind: {
            "type": "relationship",
            "count": count,
            "properties": properties["relationship", kind],
        }
        for kind, count in types.items()
        if _wanted(_checked(config), "Rels", kind)
    }
    for label, count in labels.items():
        if _wanted(_checked(config), "Labels", label):
            found[label] = {
                "type": "node",
                "count": count,
                "labels": [],
                "properties": properties["node", label],
                "relationships": _relationships(label, between, properties, _checked(config)),
            }
    return [(found,)]


def _relationships(
    label: str,
    between: dict[Between, int],
    properties: dict[tuple[str, str], dict[str, Any]],
    config: dict[str, Any],
) -> dict[str, Any]:
    """The types at a label; a type that leaves it is "out", also if it arrives too."""
    found: dict[str, Any] = {}
    for direction in ("out", "in"):
        for one, count in between.items():
            here, there = (one.start, one.end) if direction == "out" else (one.end, one.start)
            if here != label or not _wanted(config, "Rels", one.type):
                continue
            held = found.setdefault(
                one.type,
                {
                    "direction": direction,
                    "count": 0,
                    "labels": [],
                    "properties": properties["relationship", one.type],
                },
            )
            held["count"] += count if held["direction"] == direction else 0
            held["labels"] += [there] if there not in held["labels"] else []
    return found


def _checked(config: Any) -> dict[str, Any]:
    given = as_map(config)
    for name, value in given.items():
        if name.startswith(("include", "exclude")) and type(value) is not list:
            fail(f"{name} takes a list, not {shown(value)}.", detail="InvalidArgumentValue")
    return given


def _wanted(config: dict[str, Any], what: str, name: str) -> bool:
    included = config.get(f"include{what}") or ()
    excluded = config.get(f"exclude{what}") or config.get(f"excludes{what}") or ()
    return (not included or name in included) and name not in excluded


def _schema(run: Any, config: dict[str, Any]) -> Schema:
    ends: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in counts_between(run):
        ends[one.start, one.type].append(one.end)
    return Schema(
        dict(_properties(run, config)),
        {
            (label, kind): found
            for label, kind, found in _neighbours(run)
            if _wanted(config, "Labels", label) and _wanted(config, "Rels", kind)
        },
        ends,
    )


def _properties(run: Any, config: dict[str, Any]) -> Iterator[tuple[tuple[str, str, str], Any]]:
    """For each label or type and property: a value of the first element that has it."""
    graph = run.graph
    sources = (
        ("relationship", "Rels", f"(SELECT type AS name, id, props FROM {graph.edge_table()})"),
        (
            "node",
            "Labels",
            f"(SELECT l.label AS name, n.id, n.props FROM {graph.label_table()} l JOIN"
            f" {graph.node_table()} n ON n.id = l.node)",
        ),
    )
    for sort, what, source in sources:
        # the value is that of the row with the least id: "Bare columns in an aggregate query"
        sql = (
            "SELECT t.name, j.key, min(t.id), j.type,"
            " CASE WHEN j.type IN ('object', 'array') THEN j.value ELSE json_quote(j.value) END"
            f" FROM {source} t, json_each(t.props) j GROUP BY 1, 2 ORDER BY 1, 2"
        )
        for name, key, _, kind, text in graph.rows(sql):
            if _wanted(config, what, name):
                yield (sort, name, key), _value(kind, text)


def _value(kind: str, text: str) -> Any:
    if kind in ("true", "false"):
        return kind == "true"
    return decode_properties(json.dumps({"value": json.loads(text)}))["value"]


def _neighbours(run: Any) -> Iterator[tuple[str, str, Neighbours]]:
    edges, labels = run.graph.edge_table(), run.graph.label_table()
    sql = (
        "SELECT label, type, count(*), sum(leaving), sum(arriving), max(leaving) > 1 FROM (SELECT"
        f" l.label, e.type, e.src, count(*) AS leaving, (SELECT count(*) FROM {edges} x WHERE"
        f" x.dst = e.src AND x.type = e.type) AS arriving FROM {edges} e JOIN {labels} l ON"
        " l.node = e.src GROUP BY 1, 2, 3) GROUP BY 1, 2 ORDER BY 1, 2"
    )
    for label, kind, nodes, leaving, arriving, several in run.graph.rows(sql):
        yield label, kind, Neighbours(nodes, leaving, arriving, bool(several))


def schema_nodes(run: Any, _config: Any = None) -> Rows:
    """Run apoc.schema.nodes: the declared indexes on nodes, their size, how selective they are."""
    rules = [rule for rule in run.graph.reader.declared().indexes.rules if not rule.edge]
    rows = [(rule, rule.kind.upper()) for rule in rules]
    for rule, kind in [*rows, *((rule, "UNIQUENESS") for rule in rules if rule.owner)]:
        size, distinct = _entries(run, rule) if kind == "RANGE" else (0, 0)
        label: Any = rule.names[0] if len(rule.names) == 1 else list(rule.names)
        yield (
            f":{'|'.join(rule.names)}({','.join(rule.properties)})",
            label,
            list(rule.properties),
            "" if kind == "UNIQUENESS" else "ONLINE",
            kind,
            "NO FAILURE",
            100.0,
            size,
            distinct / size if size else 0.0,
            f"{rule.name}: {kind} on {', '.join(rule.properties)}",
        )


def _entries(run: Any, rule: Any) -> tuple[int, int]:
    """Count the nodes that an index holds, and their different values."""
    values = [f"n.{_quoted(name)}" for name in rule.properties]
    ((size, distinct),) = run.query(
        f"MATCH (n:{_quoted(rule.names[0])}) WHERE {' IS NOT NULL AND '.join(values)} IS NOT NULL"
        f" RETURN count(*) AS size, count(DISTINCT [{', '.join(values)}]) AS values",
        {},
    )
    return size, distinct


def distinct_values(run: Any, label: Any, key: Any) -> Rows:
    """Run apoc.schema.properties.distinct: the different values of a property, as one list."""
    if not key:
        fail("The values of a property need its name.", detail="InvalidArgumentValue")
    about = f":{_quoted(label)}" if label else ""
    return run.query(  # type: ignore[no-any-return]
        f"MATCH (n{about}) WHERE n.{_quoted(key)} IS NOT NULL WITH DISTINCT n.{_quoted(key)} AS"
        " value RETURN collect(value) AS value",
        {},
    )


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
