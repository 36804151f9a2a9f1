"""The schema as a graph of its own: a node for each label, an edge for each type between labels.

The elements are not stored; their ids are negative.
db.schema.visualization() and APOC's meta procedures read it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from doxa.query.core.elements import Edge, Node
from doxa.query.procedures.registry import Rows

_COUNTS = ("count", "in", "out")  # equal, since an edge stands for one type between two labels


class Between(NamedTuple):
    """Relationships of one type from nodes of one label to nodes of another."""

    start: str
    type: str
    end: str


def label_counts(run: Any) -> dict[str, int]:
    """Count the nodes of each label."""
    sql = f"SELECT label, count(*) FROM {run.graph.label_table()} GROUP BY 1 ORDER BY 1"
    return dict(run.graph.rows(sql))


def type_counts(run: Any) -> dict[str, int]:
    """Count the relationships of each type."""
    sql = f"SELECT type, count(*) FROM {run.graph.edge_table()} GROUP BY 1 ORDER BY 1"
    return dict(run.graph.rows(sql))


def counts_between(run: Any) -> dict[Between, int]:
    """Count the relationships of each type between each two labels."""
    labels = run.graph.label_table()
    found = run.graph.rows(
        f"SELECT a.label, e.type, b.label, count(*) FROM {run.graph.edge_table()} e JOIN {labels} a"
        f" ON a.node = e.src JOIN {labels} b ON b.node = e.dst GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    return {Between(*row[:3]): row[3] for row in found}


def visualization(run: Any) -> Rows:
    """Run db.schema.visualization: labels with their indexes and constraints, and the types."""
    declared = run.graph.reader.declared()
    nodes: dict[str, Node] = {}
    for label in label_counts(run):
        indexed = [
            ",".join(rule.properties)
            for rule in declared.indexes.rules
            if not rule.edge and label in rule.names and not rule.owner
        ]
        ruled = [
            rule.name
            for rule in declared.constraints.rules
            if not rule.edge and rule.about == label
        ]
        nodes[label] = _node(nodes, label, {"indexes": indexed, "constraints": ruled})
    edges = [
        _edge(number, between, nodes, {"name": between.type})
        for number, between in enumerate(counts_between(run), start=1)
    ]
    return [(list(nodes.values()), edges)]


def counted(run: Any, _config: Any = None) -> Rows:
    """Run apoc.meta.graph and apoc.meta.subGraph: labels and types with their counts."""
    nodes: dict[str, Node] = {}
    for label, count in label_counts(run).items():
        nodes[label] = _node(nodes, label, {"count": count})
    edges = [
        _edge(number, between, nodes, {"type": between.type, **dict.fromkeys(_COUNTS, count)})
        for number, (between, count) in enumerate(counts_between(run).items(), start=1)
    ]
    return [(list(nodes.values()), edges)]


def _node(nodes: dict[str, Node], label: str, more: dict[str, Any]) -> Node:
    return Node(-len(nodes) - 1, labels=(label,), props={"name": label, **more})


def _edge(number: int, between: Between, nodes: dict[str, Node], props: dict[str, Any]) -> Edge:
    start, end = nodes[between.start].id, nodes[between.end].id
    return Edge(-number, kind=between.type, start=start, end=end, props=props)
