"""MATCH against its definition: every assignment of the pattern's variables is tried, in Python,
and those that fit are the rows.

The definition is openCypher 9's: labels, types and properties fit, a direction is kept, a length
counts edges, no edge is used twice within one MATCH, a variable that is bound stays what it is,
WHERE keeps what is true, and OPTIONAL MATCH gives nulls where nothing fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.base.errors import LimitError
from doxa.query.core.elements import Edge, Node, Path
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

LABELS, TYPES, VALUES = ("A", "B"), ("R", "S"), (0, 1, 2, None)
Row = dict[str, Any]
Found = tuple[str, int]  # an element: ("n" or "r", its number)


@dataclass(frozen=True)
class AnyElement:
    label: str
    x: int | None
    source: int = 0
    target: int = 0


@dataclass(frozen=True)
class Pattern:
    """A part of a path: a node, or an edge with its arrow and length (None for one edge)."""

    name: str | None
    labels: tuple[str, ...]
    x: int | None = None
    arrow: str = "-"
    length: tuple[int, int] | None = None


@dataclass(frozen=True)
class Match:
    optional: bool
    paths: tuple[tuple[str | None, tuple[Pattern, ...]], ...]
    where: tuple[str, Callable[[Row, Graph], bool | None]] | None


class Graph:
    def __init__(self, rng: Random) -> None:
        count = rng.randint(1, 4)
        self.nodes = [
            AnyElement(rng.choice((*LABELS, "")), rng.choice(VALUES)) for _ in range(count)
        ]
        self.edges = [
            AnyElement(
                rng.choice(TYPES), rng.choice(VALUES), rng.randrange(count), rng.randrange(count)
            )
            for _ in range(rng.randint(0, 6))
        ]

    def text(self) -> str:
        nodes = [
            f"(n{i}{':' + one.label if one.label else ''} {{i: {i}, x: {_literal(one.x)}}})"
            for i, one in enumerate(self.nodes)
        ]
        edges = [
            f"(n{one.source})-[:{one.label} {{i: {i}, x: {_literal(one.x)}}}]->(n{one.target})"
            for i, one in enumerate(self.edges)
        ]
        return "CREATE " + ", ".join(nodes + edges)

    def of(self, found: Found) -> AnyElement:
        return (self.nodes if found[0] == "n" else self.edges)[found[1]]


def _literal(value: int | None) -> str:
    return "null" if value is None else str(value)


# The definition


def matched(graph: Graph, rows: list[Row], match: Match) -> list[Row]:
    names = [
        name
        for path, parts in match.paths
        for name in (path, *(part.name for part in parts))
        if name
    ]
    made: list[Row] = []
    for row in rows:
        fitting = [found for found, _ in _paths(graph, row, match.paths, frozenset())]
        if match.where is not None:
            fitting = [found for found in fitting if match.where[1](found, graph) is True]
        made += fitting or ([{**dict.fromkeys(names), **row}] if match.optional else [])
    return made


def _paths(
    graph: Graph, row: Row, paths: Any, used: frozenset[int]
) -> Iterator[tuple[Row, frozenset[int]]]:
    if not paths:
        yield row, used
        return
    name, parts = paths[0]
    for start in range(len(graph.nodes)):
        for bound in _bind(graph, row, parts[0], ("n", start)):
            for found, after, walked in _rest(graph, bound, parts[1:], start, used):
                yield from _paths(
                    graph,
                    found | ({name: (("n", start), *walked)} if name else {}),
                    paths[1:],
                    after,
                )


def _rest(
    graph: Graph, row: Row, parts: Any, at: int, used: frozenset[int]
) -> Iterator[tuple[Row, frozenset[int], tuple[Found, ...]]]:
    if not parts:
        yield row, used, ()
        return
    edge, node = parts[0], parts[1]
    low, high = edge.length or (1, 1)
    for trail, end in _trails(graph, edge, at, high, used):
        if len(trail) < low:
            continue
        value = trail[0] if edge.length is None else trail
        for bound in _bound(row, edge.name, value):
            for after in _bind(graph, bound, node, ("n", end)):
                spent = used | {item[1] for item in trail}
                for found, last, walked in _rest(graph, after, parts[2:], end, spent):
                    yield found, last, (*_walk(graph, at, trail), *walked)


def _trails(
    graph: Graph, edge: Pattern, at: int, high: int, used: frozenset[int]
) -> Iterator[tuple[tuple[Found, ...], int]]:
    yield (), at
    if high == 0:
        return
    for i, one in enumerate(graph.edges):
        if (
            i in used
            or (edge.labels and one.label not in edge.labels)
            or (edge.x is not None and one.x != edge.x)
        ):
            continue
        ends = {one.target} if edge.arrow != "<" and one.source == at else set()
        ends |= {one.source} if edge.arrow != ">" and one.target == at else set()
        for end in ends:
            for trail, last in _trails(graph, edge, end, high - 1, used | {i}):
                yield (("r", i), *trail), last


def _walk(graph: Graph, at: int, trail: tuple[Found, ...]) -> Iterator[Found]:
    for _, i in trail:
        one = graph.edges[i]
        at = one.target if one.source == at else one.source
        yield ("r", i)
        yield ("n", at)


def _bind(graph: Graph, row: Row, part: Pattern, found: Found) -> Iterator[Row]:
    one = graph.of(found)
    if all(label == one.label for label in part.labels) and (part.x is None or one.x == part.x):
        yield from _bound(row, part.name, found)


def _bound(row: Row, name: str | None, value: Any) -> Iterator[Row]:
    if name is None or (name in row and row[name] == value):
        yield row
    elif name not in row:
        yield {**row, name: value}


# Random matches


def random_match(rng: Random, scope: dict[str, str], *, optional: bool) -> Match:
    paths = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        name = _new(scope, "p", "path") if rng.random() < 0.25 else None
        parts = [_node(rng, scope)]
        for _ in range(rng.choice((0, 1, 1, 2, 2))):
            parts += [_edge(rng, scope), _node(rng, scope)]
        paths.append((name, tuple(parts)))
    return Match(optional, tuple(paths), _condition(rng, scope, 2) if rng.random() < 0.5 else None)


def _new(scope: dict[str, str], prefix: str, kind: str) -> str:
    name = f"{prefix}{len(scope)}"
    scope[name] = kind
    return name


def _node(rng: Random, scope: dict[str, str]) -> Pattern:
    held = [name for name, kind in scope.items() if kind == "node"]
    labels = (rng.choice(LABELS),) if rng.random() < 0.25 else ()
    x = rng.choice((0, 1)) if rng.random() < 0.1 else None
    if held and rng.random() < 0.4:
        return Pattern(rng.choice(held), labels)
    return Pattern(_new(scope, "n", "node") if rng.random() < 0.8 else None, labels, x)


def _edge(rng: Random, scope: dict[str, str]) -> Pattern:
    types = tuple(sorted(set(rng.choices(TYPES, k=2)))) if rng.random() < 0.3 else ()
    x = rng.choice((0, 1)) if rng.random() < 0.1 else None
    length = (
        rng.choice(((1, 2), (0, 1), (2, 2), (0, 2), (1, 3), (0, 0)))
        if rng.random() < 0.35
        else None
    )
    name = _new(scope, "r", "edges" if length else "edge") if rng.random() < 0.5 else None
    return Pattern(name, types, x, rng.choice("><-"), length)


def _condition(
    rng: Random, scope: dict[str, str], depth: int
) -> tuple[str, Callable[[Row, Graph], bool | None]] | None:
    held = [name for name, kind in scope.items() if kind in ("node", "edge")]
    if not held:
        return None
    if depth and rng.random() < 0.4:
        one, other = _condition(rng, scope, depth - 1), _condition(rng, scope, depth - 1)
        assert one is not None
        assert other is not None
        word = rng.choice(("AND", "OR", "XOR"))
        return f"({one[0]} {word} {other[0]})", lambda row, graph: _logic(
            word, one[1](row, graph), other[1](row, graph)
        )
    if depth and rng.random() < 0.2:
        inner = _condition(rng, scope, depth - 1)
        assert inner is not None
        return (
            f"(NOT {inner[0]})",
            lambda row, graph: None if inner[1](row, graph) is None else not inner[1](row, graph),
        )
    return _comparison(rng, held)


def _logic(word: str, one: bool | None, other: bool | None) -> bool | None:
    if word == "AND":
        return (
            False
            if one is False or other is False
            else None
            if one is None or other is None
            else True
        )
    if word == "OR":
        return (
            True
            if one is True or other is True
            else None
            if one is None or other is None
            else False
        )
    return None if one is None or other is None else one != other


def _comparison(rng: Random, held: list[str]) -> tuple[str, Callable[[Row, Graph], bool | None]]:
    name, other, op = (
        rng.choice(held),
        rng.choice((*held, "0", "1")),
        rng.choice(("=", "<>", "<", ">=")),
    )
    if rng.random() < 0.2:
        return f"({name}.x IS NULL)", lambda row, graph: _x(row, graph, name) is None

    def test(row: Row, graph: Graph) -> bool | None:
        left, right = _x(row, graph, name), int(other) if other.isdigit() else _x(row, graph, other)
        if left is None or right is None:
            return None
        return {"=": left == right, "<>": left != right, "<": left < right, ">=": left >= right}[op]

    return f"({name}.x {op} {other if other.isdigit() else other + '.x'})", test


def _x(row: Row, graph: Graph, name: str) -> int | None:
    return None if row[name] is None else graph.of(row[name]).x


# As text, and as doxa answers


def text_of(match: Match) -> str:
    paths = ", ".join(
        f"{name} = {_path(parts)}" if name else _path(parts) for name, parts in match.paths
    )
    return f"{'OPTIONAL ' if match.optional else ''}MATCH {paths}" + (
        f" WHERE {match.where[0]}" if match.where else ""
    )


def _path(parts: tuple[Pattern, ...]) -> str:
    return "".join(_part(part, i % 2 == 1) for i, part in enumerate(parts))


def _part(part: Pattern, edge: bool) -> str:
    props = "" if part.x is None else f" {{x: {part.x}}}"
    if not edge:
        return f"({part.name or ''}{''.join(':' + label for label in part.labels)}{props})"
    length = "" if part.length is None else f"*{part.length[0]}..{part.length[1]}"
    inner = (
        f"[{part.name or ''}{':' + '|'.join(part.labels) if part.labels else ''}{length}{props}]"
    )
    return f"{'<' if part.arrow == '<' else ''}-{inner}-{'>' if part.arrow == '>' else ''}"


def comparable(value: Any) -> Any:
    if isinstance(value, Node):
        return ("n", value["i"])
    if isinstance(value, Edge):
        return ("r", value["i"])
    if isinstance(value, Path):
        return tuple(comparable(element) for element in value.elements())
    return tuple(comparable(item) for item in value) if isinstance(value, list) else value


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("patterns") / "graph.db") as made:
        yield made


@settings(max_examples=90, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_rows_are_those_of_the_definition(store: Store, rng: Random) -> None:
    graph = Graph(rng)
    with opened(store, optimise=True) as fast, opened(store, optimise=False) as plain:
        fast.run("MATCH (n) DETACH DELETE n")
        fast.run(graph.text())
        for _ in range(4):
            agrees(graph, (fast, plain), rng)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("MATCH (n)-->(n), (m)-->(m) RETURN n", 2),
        ("MATCH (n)<--(n:A), (m {i: 1})<--(m) RETURN n", 1),
        ("MATCH (a {i: 1}) MATCH (x)<--(a)-->(y) RETURN x", 2),
        ("MATCH (a {i: 1}) MATCH (a)-[:R]->(x), (a)-[:S]->(y) RETURN x", 1),
        ("MATCH (a {i: 1}) OPTIONAL MATCH (x)<-[:R]-(a)-[:R]->(y) RETURN x", 1),
        ("MATCH (a {i: 1}) RETURN [(x)<--(a)-->(y) | x.i] AS l", 1),
        ("MATCH (a) WHERE (a)-->()<--(a) RETURN a", 0),
        ("MATCH (a) WHERE EXISTS { MATCH (x)<--(a)-->(y) } RETURN a", 1),
    ],
)
def test_no_edge_is_taken_twice_whatever_is_known_before(
    store: Store, text: str, count: int
) -> None:
    """Two loops and an edge between them; parts of a pattern that only known nodes connect are
    found one after the other."""
    for optimise in (True, False):
        with opened(store, optimise=optimise) as session:
            session.run("MATCH (n) DETACH DELETE n")
            session.run("CREATE (a:A {i: 0})-[:R]->(a), (b:A {i: 1})-[:R]->(b), (b)-[:S]->(a)")
            assert len(list(session.run(text))) == count


def test_a_pattern_larger_than_one_statement(store: Store) -> None:
    """A ring of 100 edges: each walk around it uses every edge once, from any node, and there is
    none of 101."""
    for optimise in (True, False):
        with opened(store, optimise=optimise) as session:
            session.run("MATCH (n) DETACH DELETE n")
            session.run("UNWIND range(0, 99) AS i CREATE (:A {i: i})")
            session.run("MATCH (a), (b) WHERE b.i = (a.i + 1) % 100 CREATE (a)-[:R {i: a.i}]->(b)")
            assert (
                session.run(
                    f"MATCH (n){'-->()' * 99}-[r]->(m) WHERE m.i = n.i RETURN count(r)"
                ).single()
                == 100
            )
            assert session.run(f"MATCH (n){'-->()' * 100}-->(m) RETURN count(m)").single() == 0
            assert (
                session.run(f"MATCH p = (n {{i: 5}}){'-->()' * 60} RETURN length(p)").single() == 60
            )
            assert (
                session.run(
                    f"MATCH {', '.join('()-->()' for _ in range(60))}, (n {{i: 200}}) RETURN"
                    " count(n)"
                ).single()
                == 0
            )


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:{all}) RETURN n",
        "MATCH (n) RETURN {columns}",
        "MATCH ()-[:{any}]->() RETURN 1 AS x",
    ],
)
def test_what_no_statement_can_hold_is_refused(store: Store, text: str) -> None:
    many = range(40_000)
    columns = ", ".join(f"n.p{i} AS c{i}" for i in many[:3_000])
    filled = text.format(
        all="&".join(f"L{i}" for i in many[:1_200]),
        any="|".join(f"L{i}" for i in many),
        columns=columns,
    )
    with opened(store, optimise=True) as session, pytest.raises(LimitError):
        list(session.run(filled))


def opened(store: Store, *, optimise: bool) -> GraphSession:
    return GraphSession(store, QueryEngine(optimise=optimise), Identity("t", "operator"))


def agrees(graph: Graph, sessions: tuple[GraphSession, ...], rng: Random) -> None:
    scope: dict[str, str] = {}
    rows: list[Row] = [{}]
    texts = []
    for clause in range(rng.choice((1, 1, 2))):
        match = random_match(rng, scope, optional=clause > 0 and rng.random() < 0.5)
        rows = matched(graph, rows, match)
        texts.append(text_of(match))
        if len(rows) > 500:
            break
    text = f"{' '.join(texts)} RETURN {', '.join(scope) or '1'}"
    wanted = sorted(repr(tuple(row.get(name) for name in scope) if scope else (1,)) for row in rows)
    for session in sessions:
        assert (
            sorted(repr(tuple(comparable(value) for value in row)) for row in session.run(text))
            == wanted
        ), (graph.text(), text)
