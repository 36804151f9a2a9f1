"""Decompose a MATCH into its nodes, edges, paths and a list of conjuncts.

    MATCH p = (a:A {x: 1})-[:R]->(b) WHERE a.y > 2

    nodes a, b
    edge <0> from a to b of type R
    path p: a, <0>, b
    conjuncts a:A, a.x = 1, a.y > 2

Unnamed elements get an `InternalName`, which no query can write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from doxa.cypher import tree as t
from doxa.query.core.names import InternalName, Kind

_PLAIN = (
    t.Property,
    t.Variable,
    t.ParameterRef,
    t.Literal,
)  # expressions that may be evaluated twice


@dataclass(slots=True)
class EdgeVar:
    """An edge, a variable length, a shortest path or a quantified pattern from node `left` to node
    `right`."""

    key: str
    left: str
    right: str
    pattern: t.EdgePattern | t.QuantifiedPattern
    shortest: str | None = None
    path: str | None = None  # the path variable, if the whole pattern is one shortest path

    @property
    def fixed(self) -> bool:
        return (
            isinstance(self.pattern, t.EdgePattern)
            and self.pattern.length is None
            and self.shortest is None
        )


@dataclass(slots=True)
class PatternGraph:
    nodes: list[str] = field(default_factory=list)
    known_nodes: set[str] = field(default_factory=set)  # the same, to find one at once
    edges: list[EdgeVar] = field(default_factory=list)
    paths: list[tuple[str, list[str]]] = field(default_factory=list)
    conjuncts: list[t.Expression] = field(default_factory=list)
    brings: list[str] = field(default_factory=list)  # named variables, in order of appearance


def decompose(
    patterns: tuple[t.PathPattern, ...], where: t.Expression | None, *, fresh: Iterator[int]
) -> PatternGraph:
    """Decompose patterns and their WHERE. `fresh` numbers the unnamed elements uniquely within the
    query."""
    graph = PatternGraph()
    for pattern in patterns:
        _add_path(graph, pattern, fresh)
    if where is not None:
        graph.conjuncts.extend(conjuncts(where))
    return graph


def _add_path(graph: PatternGraph, pattern: t.PathPattern, fresh: Iterator[int]) -> None:
    elements = list(pattern.elements)
    keys: list[str] = []
    index = 0
    while index < len(elements):
        element = elements[index]
        if isinstance(element, t.NodePattern):
            keys.append(_add_node(graph, element, fresh))
        else:
            if not keys:
                keys.append(_add_node(graph, t.NodePattern(at=element.at), fresh))
            after = elements[index + 1] if index + 1 < len(elements) else None
            if isinstance(after, t.NodePattern):
                right = _add_node(graph, after, fresh)
                index += 1
            else:
                right = _add_node(graph, t.NodePattern(at=element.at), fresh)
            keys.extend(
                (
                    _add_edge(
                        graph, element, left=keys[-1], right=right, pattern=pattern, fresh=fresh
                    ),
                    right,
                )
            )
        index += 1
    if pattern.variable:
        graph.paths.append((pattern.variable, keys))
        graph.brings.append(pattern.variable)


def _add_node(graph: PatternGraph, node: t.NodePattern, fresh: Iterator[int]) -> str:
    key = node.variable or InternalName(Kind.ELEMENT, next(fresh))
    if key not in graph.known_nodes:
        graph.known_nodes.add(key)
        graph.nodes.append(key)
        if node.variable:
            graph.brings.append(key)
    variable = t.Variable(key, at=node.at)
    if node.labels is not None:
        graph.conjuncts.append(t.HasLabels(variable, node.labels, at=node.at))
    graph.conjuncts.extend(equalities(variable, node.properties))
    if node.where is not None:
        graph.conjuncts.extend(conjuncts(node.where))
    return key


def _add_edge(
    graph: PatternGraph,
    edge: t.EdgePattern | t.QuantifiedPattern | t.NodePattern,
    *,
    left: str,
    right: str,
    pattern: t.PathPattern,
    fresh: Iterator[int],
) -> str:
    assert not isinstance(edge, t.NodePattern)
    name = edge.variable if isinstance(edge, t.EdgePattern) else None
    key = name or InternalName(Kind.ELEMENT, next(fresh))
    graph.edges.append(
        EdgeVar(
            key, left, right, edge, pattern.shortest, pattern.variable if pattern.shortest else None
        )
    )
    if name:
        graph.brings.append(name)
    if isinstance(edge, t.QuantifiedPattern):
        graph.brings.extend(variables_of(edge.path))
    elif edge.length is None and pattern.shortest is None:
        variable = t.Variable(key, at=edge.at)
        if edge.types is not None and plain_types(edge.types) is None:
            graph.conjuncts.append(t.HasLabels(variable, edge.types, at=edge.at))
        graph.conjuncts.extend(equalities(variable, edge.properties))
        if edge.where is not None:
            graph.conjuncts.extend(conjuncts(edge.where))
    return key


def equalities(variable: t.Variable, properties: t.Expression | None) -> list[t.Expression]:
    """Convert {a: 1, b: x} to a = 1 and b = x."""
    if properties is None:
        return []
    assert isinstance(properties, t.MapOf)
    return [
        t.Comparison((t.Property(variable, name, at=value.at), value), ("=",), at=value.at)
        for name, value in properties.items
    ]


def conjuncts(where: t.Expression) -> list[t.Expression]:
    """Split a condition into conjuncts; 1 < n.x <= 5 becomes 1 < n.x and n.x <= 5."""
    if (
        isinstance(where, t.Comparison)
        and len(where.ops) > 1
        and all(isinstance(one, _PLAIN) for one in where.operands[1:-1])
    ):
        pairs = zip(where.operands, where.ops, where.operands[1:], strict=False)
        return [t.Comparison((left, right), (op,), at=where.at) for left, op, right in pairs]
    if isinstance(where, t.Logic) and where.op == "AND":
        return [part for item in where.items for part in conjuncts(item)]
    return [where]


def plain_types(types: t.LabelExpression | None) -> tuple[str, ...] | None:
    """Return the names of A|B, the empty tuple without types, None for other expressions."""
    if types is None:
        return ()
    if isinstance(types, t.LabelName):
        return (types.name,)
    if isinstance(types, t.LabelOr) and all(isinstance(item, t.LabelName) for item in types.items):
        return tuple(
            dict.fromkeys(item.name for item in types.items if isinstance(item, t.LabelName))
        )
    return None


def variables_of(pattern: t.PathPattern) -> list[str]:
    """Return the named elements of a path, in order, each once."""
    names = [
        element.variable
        for element in pattern.elements
        if isinstance(element, (t.NodePattern, t.EdgePattern)) and element.variable
    ]
    return list(dict.fromkeys(names))


def free_variables(tree: t.Tree) -> frozenset[str]:
    """Return the variables of an expression that are bound outside of it."""
    match tree:
        case t.Variable(name):
            return frozenset({name})
        case t.ListComprehension(variable, source, where, projection):
            inner = _free(where, projection) - {variable}
            return free_variables(source) | inner
        case t.Quantifier(_, variable, source, where):
            return free_variables(source) | (free_variables(where) - {variable})
        case t.Reduce(accumulator, initial, variable, source, body):
            return (
                free_variables(initial)
                | free_variables(source)
                | (free_variables(body) - {accumulator, variable})
            )
    found: set[str] = set()
    own = getattr(tree, "variable", None)
    if isinstance(own, str):
        found.add(own)  # pattern elements: they may stand for variables outside
    for part in t.children(tree):
        found |= free_variables(part)
    return frozenset(found)


def _free(*trees: t.Tree | None) -> frozenset[str]:
    return frozenset().union(*(free_variables(tree) for tree in trees if tree is not None))
