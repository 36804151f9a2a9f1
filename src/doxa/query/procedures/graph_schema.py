"""Procedures that list labels, types and properties in use, and the compatible version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from doxa.query.procedures.registry import Rows


def labels(run: Any) -> Rows:
    return [
        (row[0],)
        for row in run.graph.rows(
            f"SELECT DISTINCT label FROM {run.graph.label_table()} ORDER BY 1"
        )
    ]


def relationship_types(run: Any) -> Rows:
    return [
        (row[0],)
        for row in run.graph.rows(f"SELECT DISTINCT type FROM {run.graph.edge_table()} ORDER BY 1")
    ]


def property_keys(run: Any) -> Rows:
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


def node_type_properties(run: Any) -> Iterator[tuple[Any, ...]]:
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


def edge_type_properties(run: Any) -> Iterator[tuple[Any, ...]]:
    table = run.graph.edge_table()
    totals = dict(run.graph.rows(f"SELECT type, count(*) FROM {table} GROUP BY 1"))
    for kind, key, count, kinds in run.graph.rows(_properties_sql(table, "type")):
        yield f":`{kind}`", key, _kinds(kinds), key is not None and count == totals[kind]


def _properties_sql(table: str, group: str) -> str:
    """Count, for each group and property, the elements that have it, and list the kinds of its
    values; of a tagged value, the tag."""
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


def components(run: Any) -> Rows:

    return [("Neo4j Kernel", [COMPATIBLE_VERSION], "community")]


COMPATIBLE_VERSION = "5.26.0"
