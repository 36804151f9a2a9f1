"""A property graph as plain dictionaries, and random Cypher writes that say what they do to it:
what the store is compared with.

Every node and edge has its own number in `k`. Nodes are labelled A or B; `u` is unique among the A,
`x` of the B and `w` of the R are indexed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

SCHEMA = (
    "CREATE CONSTRAINT one FOR (a:A) REQUIRE a.u IS UNIQUE",
    "CREATE INDEX FOR (b:B) ON (b.x)",
    "CREATE INDEX FOR (b:B) ON (b.x, b.y)",
    "CREATE INDEX FOR ()-[r:R]-() ON (r.w)",
)
LABELS, TYPES = st.sampled_from(["A", "B"]), st.sampled_from(["R", "S"])
VALUES = st.sampled_from([1, 0, 2, 1, "a", 1.0, 2.5, "b", True, None, (1, 2)]).map(
    lambda value: list(value) if isinstance(value, tuple) else value
)
SCALARS = st.sampled_from([0, 1, 2, "a", "b"])
NUMBERS = st.sampled_from([0, 4, 8, 12, 16, 20, 1, 5])  # each statement has four numbers to give


class Refused(Exception):
    """The statement must fail and leave nothing."""


@dataclass
class ModelNode:
    labels: frozenset[str]
    props: dict[str, Any]


@dataclass
class ModelEdge:
    type: str
    source: int
    target: int
    props: dict[str, Any]


@dataclass
class World:
    """All that the model knows."""

    nodes: dict[int, ModelNode] = field(default_factory=dict)
    edges: dict[int, ModelEdge] = field(default_factory=dict)

    def add_node(self, k: int, labels: frozenset[str], props: dict[str, Any]) -> None:
        self.nodes[k] = ModelNode(labels, present({**props, "k": k}))

    def add_edge(self, k: int, kind: str, ends: tuple[int, int], props: dict[str, Any]) -> None:
        self.edges[k] = ModelEdge(kind, *ends, present({**props, "k": k}))

    def with_value(self, label: str, name: str, value: Any) -> list[ModelNode]:
        return [
            node
            for node in self.nodes.values()
            if label in node.labels and same(node.props.get(name), value)
        ]

    def of_type(self, kind: str, name: str, value: Any) -> list[int]:
        return [
            k
            for k, edge in self.edges.items()
            if edge.type == kind and same(edge.props.get(name), value)
        ]

    def edges_at(self, k: int) -> list[int]:
        return [one for one, edge in self.edges.items() if k in (edge.source, edge.target)]

    def require_unique(self) -> None:
        held = [
            token(node.props["u"])
            for node in self.nodes.values()
            if "A" in node.labels and "u" in node.props
        ]
        if len(held) != len(set(held)):
            raise Refused

    def whole(self) -> tuple[list[Any], list[Any]]:
        nodes = sorted(
            (k, sorted(node.labels), tokens(node.props)) for k, node in self.nodes.items()
        )
        return nodes, sorted(
            (k, edge.type, edge.source, edge.target, tokens(edge.props))
            for k, edge in self.edges.items()
        )


def present(props: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in props.items() if value is not None}


def token(value: Any) -> Any:
    """Equal exactly for values that are equal in Cypher, and for two nulls, which are not."""
    if isinstance(value, list):
        return ("list", tuple(token(item) for item in value))
    return (
        type(value).__name__
        if not isinstance(value, (int, float)) or isinstance(value, bool)
        else "number",
        value,
    )


def tokens(props: dict[str, Any]) -> str:
    """All properties with the exact types of their values."""
    return repr(sorted(props.items()))


def same(one: Any, other: Any) -> bool:
    return one is not None and other is not None and bool(token(one) == token(other))


# Writes


@dataclass
class Write:
    """A statement, and what it does. `$k` is the first of many numbers that nothing has yet."""

    text: str
    params: dict[str, Any]
    change: Callable[[World, int], None]

    def apply(self, world: World, k: int) -> None:
        """Raises Refused, and then the world is not to be believed any more."""
        self.change(world, k)
        world.require_unique()


def create(labels: frozenset[str], props: dict[str, Any]) -> Write:
    text = f"CREATE (n{''.join(':' + label for label in sorted(labels))} {{k: $k}}) SET n += $props"
    return Write(text, {"props": props}, lambda world, k: world.add_node(k, labels, props))


def create_many(values: list[Any], labels: frozenset[str]) -> Write:
    def change(world: World, k: int) -> None:
        for i, value in enumerate(values):
            world.add_node(k + i, labels, {"x": value, "u": value})

    names = "".join(":" + label for label in sorted(labels))
    return Write(
        f"UNWIND range(0, size($v) - 1) AS i CREATE ({names} {{k: $k + i, x: $v[i], u: $v[i]}})",
        {"v": values},
        change,
    )


def connect(a: int, b: int, kind: str, w: Any) -> Write:
    def change(world: World, k: int) -> None:
        if a in world.nodes and b in world.nodes:
            world.add_edge(k, kind, (a, b), {"w": w})

    return Write(
        f"MATCH (a {{k: $a}}), (b {{k: $b}}) CREATE (a)-[:{kind} {{k: $k, w: $w}}]->(b)",
        {"a": a, "b": b, "w": w},
        change,
    )


def merge_nodes(label: str, name: str, values: list[Any]) -> Write:
    def change(world: World, k: int) -> None:
        for i, value in enumerate(values):
            if value is None:
                raise Refused
            found = world.with_value(label, name, value)
            for node in found:
                node.props["y"] = i
            if not found:
                world.add_node(k + i, frozenset((label,)), {name: value})

    text = (
        f"UNWIND range(0, size($v) - 1) AS i MERGE (n:{label} {{{name}: $v[i]}}) "
        "ON CREATE SET n.k = $k + i ON MATCH SET n.y = i WITH count(n) AS c RETURN c"
    )
    return Write(text, {"v": values}, change)


def merge_edge(a: int, b: int, kind: str, w: Any, directed: bool) -> Write:
    def change(world: World, k: int) -> None:
        if a not in world.nodes or b not in world.nodes:
            return
        if w is None:
            raise Refused
        ends = {(a, b)} if directed else {(a, b), (b, a)}
        found = [world.edges[one] for one in world.of_type(kind, "w", w)]
        found = [edge for edge in found if (edge.source, edge.target) in ends]
        for edge in found:
            edge.props["y"] = 1
        if not found:
            world.add_edge(k, kind, (a, b), {"w": w})

    arrow = ">" if directed else ""
    text = (
        f"MATCH (a {{k: $a}}), (b {{k: $b}}) MERGE (a)-[r:{kind} {{w: $w}}]-{arrow}(b) ON CREATE"
        " SET r.k = $k ON MATCH SET r.y = 1"
    )
    return Write(text, {"a": a, "b": b, "w": w}, change)


def merge_path(a: int, value: Any) -> Write:
    """A path as a whole: found with all its parts, or made with all of them."""

    def change(world: World, k: int) -> None:
        if a not in world.nodes:
            return
        for edge in list(world.edges.values()):
            end = world.nodes[edge.target]
            if (
                edge.source == a
                and edge.type == "R"
                and "B" in end.labels
                and same(end.props.get("x"), value)
            ):
                return
        world.add_node(k, frozenset(("B",)), {"x": value})
        world.add_edge(k, "R", (a, k), {})

    return Write(
        "MATCH (a {k: $a}) MERGE (a)-[r:R]->(b:B {x: $v}) ON CREATE SET b.k = $k, r.k = $k",
        {"a": a, "v": value},
        change,
    )


def set_where(label: str, where: Any, name: str, value: Any) -> Write:
    def change(world: World, k: int) -> None:
        for node in world.with_value(label, "x", where):
            node.props = present({**node.props, name: value})

    return Write(
        f"MATCH (n:{label}) WHERE n.x = $where SET n.{name} = $value",
        {"where": where, "value": value},
        change,
    )


def set_every(label: str, name: str, value: Any) -> Write:
    def change(world: World, k: int) -> None:
        for node in world.nodes.values():
            if label in node.labels:
                node.props = present({**node.props, name: value})

    return Write(f"MATCH (n:{label}) SET n.{name} = $value", {"value": value}, change)


def set_all(a: int, props: dict[str, Any], merge: bool) -> Write:
    def change(world: World, k: int) -> None:
        if a in world.nodes:
            world.nodes[a].props = present(
                {**(world.nodes[a].props if merge else {}), **props, "k": a}
            )

    return Write(
        f"MATCH (n {{k: $a}}) SET n {'+=' if merge else '='} $props",
        {"a": a, "props": {**props, "k": a}},
        change,
    )


def set_edges(kind: str, where: Any, value: Any, whole: bool) -> Write:
    def change(world: World, k: int) -> None:
        for one in world.of_type(kind, "w", where):
            edge = world.edges[one]
            edge.props = (
                present({"k": one, "w": value}) if whole else present({**edge.props, "w": value})
            )

    how = "r = {k: r.k, w: $value}" if whole else "r.w = $value"
    return Write(
        f"MATCH ()-[r:{kind}]->() WHERE r.w = $where SET {how}",
        {"where": where, "value": value},
        change,
    )


def relabel(label: str, where: Any, other: str, add: bool) -> Write:
    def change(world: World, k: int) -> None:
        for node in world.with_value(label, "x", where):
            node.labels = node.labels | {other} if add else node.labels - {other}

    return Write(
        f"MATCH (n:{label}) WHERE n.x = $where {'SET' if add else 'REMOVE'} n:{other}",
        {"where": where},
        change,
    )


def remove_property(label: str, name: str) -> Write:
    def change(world: World, k: int) -> None:
        for node in world.nodes.values():
            if label in node.labels:
                node.props.pop(name, None)

    return Write(f"MATCH (n:{label}) REMOVE n.{name}", {}, change)


def delete_nodes(label: str, where: Any, detach: bool) -> Write:
    def change(world: World, k: int) -> None:
        for node in world.with_value(label, "x", where):
            at = world.edges_at(node.props["k"])
            if at and not detach:
                raise Refused
            for one in at:
                del world.edges[one]
            del world.nodes[node.props["k"]]

    return Write(
        f"MATCH (n:{label}) WHERE n.x = $where {'DETACH ' if detach else ''}DELETE n",
        {"where": where},
        change,
    )


def delete_node(a: int, detach: bool) -> Write:
    def change(world: World, k: int) -> None:
        at = world.edges_at(a)
        if at and not detach:
            raise Refused
        for one in at:
            del world.edges[one]
        world.nodes.pop(a, None)

    return Write(f"MATCH (n {{k: $a}}) {'DETACH ' if detach else ''}DELETE n", {"a": a}, change)


def delete_edges(kind: str, where: Any) -> Write:
    def change(world: World, k: int) -> None:
        for one in world.of_type(kind, "w", where):
            del world.edges[one]

    return Write(f"MATCH ()-[r:{kind} {{w: $where}}]-() DELETE r", {"where": where}, change)


def delete_with_edges(a: int) -> Write:
    """A node that has edges goes with them, named one by one."""

    def change(world: World, k: int) -> None:
        at = world.edges_at(a)
        for one in at:
            del world.edges[one]
        if at:
            del world.nodes[a]

    return Write("MATCH (n {k: $a})-[r]-() DELETE n, r", {"a": a}, change)


def foreach(a: int, values: list[Any]) -> Write:
    def change(world: World, k: int) -> None:
        if a in world.nodes:
            for i, value in enumerate(values):
                world.nodes[a].props = present({**world.nodes[a].props, "x": value})
                world.add_node(k + i, frozenset(("B",)), {"x": value})
                world.add_edge(k + i, "R", (a, k + i), {"w": value})

    text = (
        "FOREACH (i IN range(0, size($v) - 1) | SET n.x = $v[i] CREATE (n)-[:R {k: $k + i, w:"
        " $v[i]}]->(:B {k: $k + i, x: $v[i]}))"
    )
    return Write(f"MATCH (n {{k: $a}}) {text}", {"a": a, "v": values}, change)


def broken(values: list[Any]) -> Write:
    """Writes, and then fails on its last row."""

    def change(world: World, k: int) -> None:
        raise Refused

    text = (
        "UNWIND range(0, size($v)) AS i CREATE (n:B {k: $k + i, x: $v[i]}) SET n.y = 1 / (size($v)"
        " - i)"
    )
    return Write(text, {"v": values}, change)


MAPS = st.dictionaries(st.sampled_from(["x", "y", "u"]), VALUES, max_size=3)
SETS = st.frozensets(LABELS)
LISTS = st.lists(VALUES, min_size=1, max_size=3)
WRITES: st.SearchStrategy[Write] = st.one_of(
    st.builds(create, SETS, MAPS),
    st.builds(create_many, LISTS, SETS),
    st.builds(connect, NUMBERS, NUMBERS, TYPES, VALUES),
    st.builds(merge_nodes, st.just("A"), st.just("u"), LISTS),
    st.builds(
        merge_nodes, LABELS, st.sampled_from(["x", "u"]), st.lists(SCALARS, min_size=1, max_size=3)
    ),
    st.builds(merge_edge, NUMBERS, NUMBERS, TYPES, VALUES, st.booleans()),
    st.builds(merge_path, NUMBERS, SCALARS),
    st.builds(set_where, LABELS, VALUES, st.sampled_from(["x", "y", "u"]), VALUES),
    st.builds(set_every, LABELS, st.sampled_from(["x", "y", "u"]), VALUES),
    st.builds(set_all, NUMBERS, MAPS, st.booleans()),
    st.builds(set_edges, TYPES, VALUES, VALUES, st.booleans()),
    st.builds(relabel, LABELS, VALUES, LABELS, st.booleans()),
    st.builds(remove_property, LABELS, st.sampled_from(["x", "y", "u"])),
    st.builds(delete_nodes, LABELS, VALUES, st.booleans()),
    st.builds(delete_node, NUMBERS, st.booleans()),
    st.builds(delete_edges, TYPES, VALUES),
    st.builds(delete_with_edges, NUMBERS),
    st.builds(foreach, NUMBERS, LISTS),
    st.builds(broken, LISTS),
)


START = (
    create(frozenset("AB"), {"x": 1, "u": 1}),
    create(frozenset("B"), {"x": 1, "y": 1}),
    create(frozenset("A"), {"u": 2, "x": "a"}),
    connect(0, 4, "R", 1),
    connect(4, 0, "R", 1),
    connect(4, 4, "S", 2),
)


# Reads, with what the model answers


def reads(world: World, value: Any) -> Iterator[tuple[str, list[Any]]]:
    """Queries with $v, and the rows that they must give, sorted by their text."""
    b = [node for node in world.nodes.values() if "B" in node.labels]
    yield (
        "MATCH (n:B) WHERE n.x = $v RETURN n.k",
        [node.props["k"] for node in world.with_value("B", "x", value)],
    )
    yield (
        "MATCH (n:B {x: $v, y: 1}) RETURN n.k",
        [
            one.props["k"]
            for one in world.with_value("B", "x", value)
            if same(one.props.get("y"), 1)
        ],
    )
    yield (
        "MATCH (n:A {u: $v}) RETURN n.k",
        [node.props["k"] for node in world.with_value("A", "u", value)],
    )
    yield (
        "MATCH (n:B) WHERE n.x >= 1 RETURN n.k",
        [one.props["k"] for one in b if _number(one.props.get("x")) and one.props["x"] >= 1],
    )
    yield (
        "MATCH (n:B) WHERE n.x < 'b' RETURN n.k",
        [
            one.props["k"]
            for one in b
            if isinstance(one.props.get("x"), str) and one.props["x"] < "b"
        ],
    )
    yield (
        "MATCH (n:B) WHERE n.x IS NOT NULL RETURN count(*)",
        [sum(1 for one in b if "x" in one.props)],
    )
    yield "MATCH ()-[r:R]->() WHERE r.w = $v RETURN r.k", world.of_type("R", "w", value)
    yield (
        "MATCH (:A)-[r]->(:B) RETURN count(r)",
        [sum(1 for edge in world.edges.values() if _joins(world, edge))],
    )
    near = [
        (edge.source, edge.target)
        for edge in world.edges.values()
        if same(world.nodes[edge.source].props.get("x"), value)
    ]
    yield "MATCH (n {x: $v})-->(m) RETURN n.k, m.k", near
    yield (
        "MATCH (n:A) RETURN sum(n.k)",
        [sum(k for k, node in world.nodes.items() if "A" in node.labels)],
    )


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _joins(world: World, edge: ModelEdge) -> bool:
    return "A" in world.nodes[edge.source].labels and "B" in world.nodes[edge.target].labels
