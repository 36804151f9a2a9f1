"""APOC's procedures that merge nodes and relationships whose labels, types and properties are data.

The rules of the store apply to them as to any write. Source: the APOC documentation,
"apoc.merge.node", "apoc.merge.relationship", "apoc.refactor.mergeNodes".
"""

from __future__ import annotations

import time
from typing import Any, NoReturn

from doxa.base.limits import QUERY_TIMEOUT_MS
from doxa.query.core.elements import Edge, Node
from doxa.query.core.errors import fail, shown
from doxa.query.core.operators import text_of
from doxa.query.functions.apoc import as_map, different, validate
from doxa.query.procedures.registry import Rows

_NAP_S = 0.02


def merge_node(run: Any, labels: Any, ident: Any, created: Any = None, matched: Any = None) -> Rows:
    """Run apoc.merge.node: MERGE with labels from a list."""
    ident = as_map(ident)
    if not ident:
        _refuse("apoc.merge.node needs at least one property that identifies the node.")
    names = "".join(f":{_quoted(_name(label, 'label'))}" for label in labels or ())
    text = f"MERGE (e{names} {_map(ident)}) {_SETS} RETURN e"
    return run.query(text, _given(ident, created, matched))  # type: ignore[no-any-return]


def merge_relationship(
    run: Any, start: Any, kind: Any, ident: Any, created: Any, end: Any, matched: Any = None
) -> Rows:
    """Run apoc.merge.relationship: MERGE with a type from a text."""
    if start is None or end is None:
        _refuse("apoc.merge.relationship connects two nodes, and one is null.")
    ident = as_map(ident)
    found = _quoted(_name(kind, "relationship type"))
    text = f"WITH $start AS a, $end AS b MERGE (a)-[e:{found} {_map(ident)}]->(b) {_SETS} RETURN e"
    given = _given(ident, created, matched) | {"start": start, "end": end}
    return run.query(text, given)  # type: ignore[no-any-return]


_SETS = "ON CREATE SET e += $created ON MATCH SET e += $matched"


def _given(ident: Any, created: Any, matched: Any) -> dict[str, Any]:
    return {"ident": ident, "created": as_map(created), "matched": as_map(matched)}


def _map(ident: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{_quoted(key)}: $ident.{_quoted(key)}" for key in ident) + "}"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        _refuse(f"A {what} is a text of at least one character, not {shown(value)}.")
    return value


def add_labels(run: Any, nodes: Any, labels: Any) -> Rows:
    """Run apoc.create.addLabels: add labels from a list to a node or several."""
    names = [_name(label, "label") for label in labels or ()]
    for node in nodes if type(nodes) is list else [nodes]:
        if isinstance(node, int):
            node = run.graph.node(node)
        if not isinstance(node, Node):
            _refuse(f"apoc.create.addLabels takes nodes, not {shown(node)}.")
        run.graph.set_labels(node, add=names)
        yield (node,)


def sleep(run: Any, milliseconds: int | None) -> Rows:
    """Run apoc.util.sleep: wait, until a cancellation or the timeout of the statement at most."""
    if milliseconds is None or milliseconds > QUERY_TIMEOUT_MS:
        _refuse(
            f"apoc.util.sleep takes at most {QUERY_TIMEOUT_MS:,} milliseconds, not"
            f" {shown(milliseconds)}."
        )
    until = time.monotonic() + milliseconds / 1000
    while (left := until - time.monotonic()) > 0:
        run.raise_if_cancelled()
        time.sleep(min(left, _NAP_S))
    return ()


def validate_call(run: Any, predicate: Any, message: Any, params: Any = None) -> Rows:
    """Run apoc.util.validate: fail if the predicate is true."""
    validate(predicate, message, params, called="procedure `apoc.util.validate`")
    return ()


def _refuse(message: str) -> NoReturn:
    fail(message, kind="ProcedureError", detail="InvalidArgumentValue")


# Merging nodes


class Merging:
    """How mergeNodes merges: the property rules by pattern, and what becomes of relationships."""

    def __init__(self, config: dict[str, Any]) -> None:
        given = config.get("properties")
        rules = {".*": given} if isinstance(given, str) else given or {}
        if not isinstance(rules, dict) or any(
            rule not in ("discard", "overwrite", "override", "combine") for rule in rules.values()
        ):
            _refuse(
                "properties of apoc.refactor.mergeNodes is discard, overwrite or combine, or a map"
                f" of these by property, not {shown(given)}."
            )
        self.ruled = given is not None
        self.rules: dict[str, str] = rules
        self.merges = config.get("mergeRels") is True
        self.loops = config.get("produceSelfRel", True) is not False
        self.single = config.get("singleElementAsArray") is True

    def rule(self, name: str, *, edge: bool) -> str:
        """Return the rule for a property. Without rules, those of relationships are combined."""
        if edge and not self.ruled:
            return "combine"
        if name in self.rules:
            return self.rules[name]
        for pattern, rule in self.rules.items():
            # a prefix with .* at its end, as in the documentation: a full expression of a user's
            # could run for hours
            if pattern != ".*" and pattern.endswith(".*") and name.startswith(pattern[:-2]):
                return rule
        return self.rules.get(".*", "overwrite")

    def merged(self, one: dict[str, Any], other: dict[str, Any], *, edge: bool) -> dict[str, Any]:
        """Merge the properties of another element into one's."""
        found = dict(one)
        for name, value in other.items():
            rule = self.rule(name, edge=edge)
            if name not in found or rule in ("overwrite", "override"):
                found[name] = value
            elif rule == "combine":
                found[name] = self._combined(found[name], value)
        return found

    def _combined(self, one: Any, other: Any) -> Any:
        """The different values of both; texts of them if their types differ."""
        values = different([*_listed(one), *_listed(other)])
        if len(values) == 1 and not self.single:
            return values[0]
        if len({type(value) for value in values}) > 1:
            return [text_of(value) for value in values]
        return values


def _listed(value: Any) -> list[Any]:
    return value if type(value) is list else [value]


def merge_nodes(run: Any, nodes: Any, config: Any = None) -> Rows:
    """Run apoc.refactor.mergeNodes: merge nodes into the first of them, with their labels,
    properties and relationships; the others are deleted."""
    if not isinstance(nodes, list) or any(not isinstance(node, Node) for node in nodes):
        _refuse(f"apoc.refactor.mergeNodes takes a list of nodes, not {shown(nodes)}.")
    merging = Merging(as_map(config))
    found = list({node.id: node for node in nodes}.values())
    if not found:
        return []
    target, others = found[0], found[1:]
    ids = {node.id for node in found}
    properties = dict(target.properties)
    for other in others:
        run.tick()
        properties = merging.merged(properties, other.properties, edge=False)
        labels, moved = other.labels, _edges_of(run, other)
        for edge in moved:
            run.graph.delete_edge(edge.id)
        # what the deleted node had may be unique
        run.graph.delete_node(other.id)
        for edge in moved:
            _move(run, edge, target, ids, merging)
        run.graph.set_labels(target, add=labels)
    if properties != target.properties:
        run.graph.set_properties(target, properties)
    if merging.merges:
        _merge_edges(run, target, merging)
    return [(target,)]


def _edges_of(run: Any, node: Node) -> list[Edge]:
    found = [run.graph.edge(one, revealed=True) for one in run.graph.edges_of(node.id)]
    edges = [edge for edge in found if edge is not None]
    for edge in edges:
        edge.detach()
    return edges


def _move(run: Any, edge: Edge, target: Node, ids: set[int], merging: Merging) -> None:
    """Create the edge again at the target. One between merged nodes becomes a loop."""
    start, end = (target.id if one in ids else one for one in (edge.start, edge.end))
    if start == end and edge.start != edge.end and not merging.loops:
        return
    nodes = (run.graph.node(start), run.graph.node(end))
    run.graph.create_edge(edge.type, nodes[0], end=nodes[1], props=edge.properties)


def _merge_edges(run: Any, target: Node, merging: Merging) -> None:
    """Keep one edge of each type between the target and another node."""
    kept: dict[tuple[str, int, int], Edge] = {}
    for edge in sorted(_edges_of(run, target), key=lambda edge: edge.id):
        run.tick()
        key = (edge.type, edge.start, edge.end)
        first = kept.setdefault(key, edge)
        if first is edge:
            continue
        run.graph.delete_edge(edge.id)
        props = merging.merged(first.properties, edge.properties, edge=True)
        live = run.graph.edge(first.id, revealed=True)
        run.graph.set_properties(live, props)
        first.detach()
        kept[key] = Edge(first.id, kind=first.type, start=first.start, end=first.end, props=props)
