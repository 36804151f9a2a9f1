"""The procedures of APOC that integrations of Neo4j call, with APOC's names, arguments and columns.

Only these exist: a call of another fails with ProcedureNotFound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doxa.cypher.semantics.signatures import ProcedureSignature
from doxa.query.procedures import apoc_schema, apoc_writes, virtual_schema
from doxa.query.procedures.registry import RegisteredProcedure, Registry

_NODE, _EDGE, _MAP, _LIST, _TEXT = "NODE", "RELATIONSHIP", "MAP", "LIST", "STRING"
_META = tuple(
    (name, kind)
    for kind, names in (
        (_TEXT, "label property"),
        ("INTEGER", "count"),
        ("BOOLEAN", "unique index existence"),
        (_TEXT, "type"),
        ("BOOLEAN", "array"),
        (_LIST, "sample"),
        ("INTEGER", "left right"),
        (_LIST, "other otherLabels"),
        (_TEXT, "elementType"),
    )
    for name in names.split()
)
_INDEXES = (
    ("name", _TEXT),
    ("label", "ANY"),
    ("properties", _LIST),
    ("status", _TEXT),
    ("type", _TEXT),
    ("failure", _TEXT),
    ("populationProgress", "FLOAT"),
    ("size", "INTEGER"),
    ("valuesSelectivity", "FLOAT"),
    ("userDescription", _TEXT),
)
_GRAPH = (("nodes", _LIST), ("relationships", _LIST))
_CONFIG = (("config", _MAP),)
_IDENT = ("identProps", _MAP)
_SETS = (("onCreateProps", _MAP), ("onMatchProps", _MAP))

Fields = tuple[tuple[str, str], ...]
# name, arguments, how many may be left out, results, function, description
_READING: tuple[tuple[str, Fields, int, Fields, Callable[..., Any], str], ...] = (
    (
        "meta.data",
        _CONFIG,
        1,
        _META,
        apoc_schema.meta_data,
        "Properties and neighbours of each label and type.",
    ),
    (
        "meta.schema",
        _CONFIG,
        1,
        (("value", _MAP),),
        apoc_schema.meta_schema,
        "Labels and types with their properties and relationships, as one map.",
    ),
    (
        "meta.graph",
        _CONFIG,
        1,
        _GRAPH,
        virtual_schema.counted,
        "Labels and types with their counts, as a graph that is not stored.",
    ),
    (
        "meta.subGraph",
        _CONFIG,
        0,
        _GRAPH,
        virtual_schema.counted,
        "The same as apoc.meta.graph.",
    ),
    (
        "schema.nodes",
        _CONFIG,
        1,
        _INDEXES,
        apoc_schema.schema_nodes,
        "The indexes on nodes and how selective they are.",
    ),
    (
        "schema.properties.distinct",
        (("label", _TEXT), ("key", _TEXT)),
        0,
        (("value", _LIST),),
        apoc_schema.distinct_values,
        "The different values of a property.",
    ),
    (
        "util.sleep",
        (("duration", "INTEGER"),),
        0,
        (),
        apoc_writes.sleep,
        "Wait a number of milliseconds, within the timeout of the statement.",
    ),
    (
        "util.validate",
        (("predicate", "BOOLEAN"), ("message", _TEXT), ("params", _LIST)),
        0,
        (),
        apoc_writes.validate_call,
        "Fail with the message if the predicate is true.",
    ),
)
_WRITING: tuple[tuple[str, Fields, int, Fields, Callable[..., Any], str], ...] = (
    (
        "merge.node",
        (("labels", _LIST), _IDENT, *_SETS),
        2,
        (("node", _NODE),),
        apoc_writes.merge_node,
        "MERGE a node whose labels are a list.",
    ),
    (
        "merge.relationship",
        (
            ("startNode", _NODE),
            ("relType", _TEXT),
            _IDENT,
            _SETS[0],
            ("endNode", _NODE),
            _SETS[1],
        ),
        1,
        (("rel", _EDGE),),
        apoc_writes.merge_relationship,
        "MERGE a relationship whose type is a text.",
    ),
    (
        "create.addLabels",
        (("nodes", "ANY"), ("labels", _LIST)),
        0,
        (("node", _NODE),),
        apoc_writes.add_labels,
        "Add labels from a list.",
    ),
    (
        "refactor.mergeNodes",
        (("nodes", _LIST), *_CONFIG),
        1,
        (("node", _NODE),),
        apoc_writes.merge_nodes,
        "Merge nodes into the first one, with their relationships.",
    ),
)


def register_apoc(registry: Registry) -> None:
    """Add the procedures to a registry."""
    for table, writes in ((_READING, False), (_WRITING, True)):
        for name, args, optional, results, call, description in table:
            signature = ProcedureSignature(
                f"apoc.{name}", args, results, writes, optional, description
            )
            registry.add(RegisteredProcedure(signature, call))
