"""The image changes no answer: random graphs, random writes between, random statements, with it and
without it, in every state of a transaction and at older snapshots."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.cypher.errors import QueryError
from doxa.query.core.comparison import group_key
from doxa.query.core.deadline import Deadline
from doxa.query.engine import QueryEngine
from doxa.query.exec import triangle_count
from doxa.query.session import GraphSession
from doxa.store import Identity, Reader, Store
from doxa.store.image.columns import COLUMNS_MAX, LabelColumns
from doxa.store.image.images import Images
from doxa.store.scope.bound_store import BoundStore
from tests.properties.random_queries import Dialect, RandomQuery, graph_text, query
from tests.query.policy_world import EPISODES, World

OPERATOR = Identity("t", "operator")
BYTES = 1 << 24
ENGINE = QueryEngine()
PROPERTIES = ("i", "a", "f", "s", "b", "l", "m")
VALUES = (
    "1",
    "-1",
    "2",
    "1.0",
    "0.0",
    "-0.0",
    "2.5",
    "9007199254740993",
    "1e300",
    "-1e300",
    "0.1",
    "'a'",
    "'ä'",
    "'1'",
    "true",
    "null",
    "[1, 2]",
    "date('2024-01-01')",
    "1.0 / 0.0",
    "0.0 / 0.0",
)
TYPED = ("", ":R", ":S", ":R|S", ":T|R")
LENGTHS = ("*", "*1..2", "*..3", "*0..2", "*0..", "*2", "*1..4")
ARROWS = (("-", "->"), ("<-", "-"), ("-", "-"))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, ...]]:
    """One file with the image and without it, each twice, since a thread has one snapshot of a
    store: the first and the third share the image."""
    path = tmp_path_factory.mktemp("image") / "g.db"
    with Store(path) as made, Store(path) as plain, Store(path) as old, Store(path) as old_plain:
        made.images = old.images = Images(BYTES, patience=0)
        yield made, plain, old, old_plain


def opened(store: Store) -> GraphSession:
    return GraphSession(store, ENGINE, OPERATOR)


def answer(session: GraphSession, asked: RandomQuery) -> Any:
    return _answer(lambda: session.run(asked.text), asked)


def told(reader: Reader, asked: RandomQuery) -> Any:
    """The answer on a snapshot, or in a transaction."""
    return _answer(lambda: ENGINE.execute(ENGINE.prepare(asked.text), reader), asked)


def _answer(run: Callable[[], Iterable[Any]], asked: RandomQuery) -> Any:
    try:
        rows = [
            tuple(_plain(value, bag) for value, bag in zip(row, asked.unordered, strict=True))
            for row in run()
        ]
    except QueryError as error:
        return error.detail
    return rows if asked.ordered else sorted(rows, key=repr)


def _plain(value: Any, bag: bool) -> Any:
    """A value with its type: 1 and 1.0 are different answers."""
    if bag and value is not None:
        return sorted(repr(group_key(item)) for item in value)
    return type(value).__name__, repr(value) if isinstance(value, float) else group_key(value)


# Statements of the shapes that the image answers


def wide(rng: Random) -> RandomQuery:
    shape = rng.choice((_grouped, _first, _reached, _shortest, _triangles, _degrees))
    return shape(rng)


def _grouped(rng: Random) -> RandomQuery:
    keys = [f"n.{rng.choice(PROPERTIES)} AS k{at}" for at in range(rng.randrange(3))]
    folded = [
        "count(*)"
        if rng.random() < 0.2
        else f"{rng.choice(('sum', 'avg', 'min', 'max', 'count'))}(n.{rng.choice(PROPERTIES)})"
        for _ in range(rng.randint(1, 3))
    ]
    columns = [*keys, *(f"{one} AS v{at}" for at, one in enumerate(folded))]
    return RandomQuery(
        f"MATCH (n:{rng.choice('ABC')}) RETURN {', '.join(columns)}",
        tuple(columns),
        True,  # both give the groups in the order of their keys
        (False,) * len(columns),
    )


def _first(rng: Random) -> RandomQuery:
    keys = [
        f"n.{rng.choice(PROPERTIES)}{rng.choice(('', ' DESC'))}" for _ in range(rng.randint(1, 2))
    ]
    columns = tuple(f"n.{name}" for name in rng.sample(PROPERTIES, 2))
    if rng.random() < 0.3:
        columns = ("n",)
    return RandomQuery(
        f"MATCH (n:{rng.choice('ABC')}) RETURN {', '.join(columns)} ORDER BY {', '.join(keys)}"
        f" {rng.choice(('', 'SKIP 1 '))}LIMIT {rng.randrange(5)}",
        columns,
        True,  # both give equal ones in the order of their ids
        (False,) * len(columns),
    )


def _edge(rng: Random, length: str) -> str:
    left, right = rng.choice(ARROWS)
    return f"{left}[{rng.choice(TYPED)}{length}]{right}"


def _reached(rng: Random) -> RandomQuery:
    column = rng.choice(("count(DISTINCT m)", "DISTINCT m.i", "DISTINCT m"))
    start = rng.choice((f"(n {{i: {rng.randrange(6)}}})", "(n:A)"))
    edge = _edge(rng, rng.choice(LENGTHS))
    return RandomQuery(f"MATCH {start}{edge}(m) RETURN {column}", (column,), False, (False,))


def _shortest(rng: Random) -> RandomQuery:
    ends = f"(n {{i: {rng.randrange(6)}}}), (m {{i: {rng.randrange(6)}}})"
    edge = _edge(rng, rng.choice(("*", "*..3", "*1..2")))
    function, column = rng.choice(
        (
            ("shortestPath", "length(p)"),
            ("allShortestPaths", "[x IN relationships(p) | id(x)]"),
            ("allShortestPaths", "count(p)"),
        )
    )
    return RandomQuery(
        f"MATCH {ends}, p = {function}((n){edge}(m)) RETURN {column}", (column,), False, (False,)
    )


def _triangles(rng: Random) -> RandomQuery:
    kind = rng.choice(TYPED)
    left, right = rng.choice(ARROWS[:2])
    kinds = [kind] * 3 if rng.random() < 0.8 else [rng.choice(TYPED) for _ in range(3)]
    one, two, three = (f"{left}[{name}]{right}" for name in kinds)
    text = rng.choice(
        (
            f"MATCH (a){one}(b){two}(c){three}(a) RETURN count(*)",
            f"MATCH (a){one}(b){two}(c), (c){three}(a) RETURN count(*) AS n",
            f"MATCH (a){one}(b), (a)<-[{kind}]-(c), (b)-[{kind}]->(c) RETURN count(*)",
            f"MATCH (a:A){one}(b){two}(c){three}(a) RETURN count(*)",
            f"MATCH (a:A){one}(b){two}(c:B){three}(a) RETURN count(*)",
            f"MATCH (a:A:B){one}(b:C){two}(c:A){three}(a:A) RETURN count(*)",
            f"MATCH (a){one}(b){two}(b){three}(a) RETURN count(*)",
            f"MATCH (a){one}(b){two}(c) RETURN count(*)",
        )
    )
    return RandomQuery(text, ("n",), True, (False,))


def _degrees(rng: Random) -> RandomQuery:
    left, right = rng.choice(ARROWS)
    counted = f"count {{ (n){left}[{rng.choice(TYPED)}]{right}() }}"
    text = rng.choice(
        (
            f"MATCH (n) RETURN n.i, {counted} AS d",
            f"MATCH (n:A) WHERE {counted} > {rng.randrange(3)} RETURN n.i, n.a",
            f"MATCH (n:B) RETURN n.i, {counted} + {counted} AS d",
            f"OPTIONAL MATCH (n:C {{i: 1}}) RETURN n.i, {counted} AS d",
            f"MATCH (m)-[:R]->(n) RETURN m.i, {counted} AS d",
        )
    )
    return RandomQuery(text, ("i", "d"), False, (False, False))


def written(rng: Random) -> str:
    one, other = (f"({name} {{i: {rng.randrange(7)}}})" for name in "xy")
    name, kind = rng.choice(PROPERTIES[1:]), rng.choice("RST")
    return rng.choice(
        (
            f"MATCH {one} SET x.{name} = {rng.choice(VALUES)}",
            f"MATCH {one} SET x.{name} = {rng.choice(VALUES)}",
            f"MATCH (x:{rng.choice('ABC')}) SET x.{name} = {rng.choice(('1', '2', '0.5'))}",
            f"MATCH {one} SET x:{rng.choice('ABC')}",
            f"MATCH {one} REMOVE x:{rng.choice('ABC')}",
            f"MATCH {one} DETACH DELETE x",
            f"CREATE (:A:B {{i: {rng.randrange(7)}, {name}: {rng.choice(VALUES)}}})",
            f"MATCH {one}, {other} CREATE (x)-[:{kind} {{i: {rng.randrange(9)}}}]->(y)",
            f"MATCH {one}, {other} CREATE (x)-[:{kind} {{i: {rng.randrange(9)}}}]->(y)",
            f"MATCH ()-[x {{i: {rng.randrange(9)}}}]->() DELETE x",
            f"MATCH ()-[x {{i: {rng.randrange(9)}}}]->() SET x.a = {rng.choice(VALUES)}",
        )
    )


def asked(rng: Random) -> RandomQuery:
    return wide(rng) if rng.random() < 0.8 else query(rng, Dialect())


def write(session: GraphSession, text: str) -> None:
    try:
        list(session.run(text))
    except QueryError as error:  # a list of several types, say, which is not a property
        assert error.kind in ("TypeError", "ArgumentError", "ConstraintValidationFailed"), error


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_answers_are_those_without_it(stores: tuple[Store, ...], rng: Random) -> None:
    made, plain, *_ = stores
    with opened(made) as on, opened(plain) as off, opened(plain) as writer:
        writer.run("MATCH (n) DETACH DELETE n")
        writer.run(graph_text(rng))
        history = []
        for _ in range(10):
            for _ in range(rng.randrange(3)):
                history.append(written(rng))
                write(rng.choice((writer, on)), history[-1])
            one = asked(rng)
            assert answer(on, one) == answer(off, one), (history, one.text)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_older_snapshots_and_open_transactions(stores: tuple[Store, ...], rng: Random) -> None:
    made, plain, old, old_plain = stores
    with opened(made) as on, opened(plain) as off:
        off.run("MATCH (n) DETACH DELETE n")
        off.run(graph_text(rng))
        questions = [wide(rng) for _ in range(6)]
        for one in questions[:3]:
            answer(on, one)  # derived before the snapshot, or not
        with old.read() as snapshot, old_plain.read() as same:
            assert told(snapshot, questions[0]) == told(same, questions[0])
            for _ in range(4):
                write(off, written(rng))
                answer(on, rng.choice(questions))  # brought forward beyond the snapshot
            for one in questions:
                assert told(snapshot, one) == told(same, one), one.text
        with made.write(OPERATOR, op="test") as tx:
            text = "CREATE (:A {i: 3, a: 5})-[:R {i: 20}]->(:B {i: 5, s: 'x'})"
            list(ENGINE.execute(ENGINE.prepare(text), tx))
            within = [told(tx, one) for one in questions]
        assert within == [answer(off, one) for one in questions]


SEED = (
    "UNWIND range(0, 199) AS i CREATE (:A {i: i, a: i % 7, f: i / 8.0, s: 's' + toString(i % 3)})"
)
RING = "MATCH (n:A), (m:A) WHERE m.i = (n.i + 1) % 200 CREATE (n)-[:R]->(m)"
GROUPED = "MATCH (n:A) RETURN n.s, count(*), sum(n.a), avg(n.f), max(n.i)"
FIRST = "MATCH (n:A) RETURN n.i ORDER BY n.f DESC, n.i LIMIT 3"
REACHED = "MATCH (n:A {i: 5})-[:R*1..4]->(m) RETURN count(DISTINCT m)"
SHORTEST = "MATCH (n:A {i: 5}), (m:A {i: 11}), p = shortestPath((n)-[:R*]->(m)) RETURN length(p)"
TRIANGLES = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*)"
DEGREES = "MATCH (n:A) RETURN n.i, count { (n)-[:R]-() } AS d ORDER BY n.i"
SHAPES = (GROUPED, FIRST, REACHED, SHORTEST, TRIANGLES, DEGREES)


def rows(session: GraphSession, text: str, **params: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.run(text, params)]


def filled(path: Path, bytes_max: int = BYTES, patience: float = 0) -> Store:
    store = Store(path, image_bytes_max=bytes_max)
    assert store.images is not None
    store.images.patience = patience
    with opened(store) as session:
        session.run(SEED)
        session.run(RING)
    return store


def traced(store: Store, text: str) -> list[str]:
    """The SQL statements that a query runs."""
    found: list[str] = []
    db = store.connection()
    db.trace_v2(1, lambda event: found.append(event["sql"]))
    try:
        with opened(store) as session:
            rows(session, text)
    finally:
        db.trace_v2(0, None)
    return found


def test_it_answers_without_the_tables(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as store:
        for text in SHAPES:
            traced(store, text)  # derived
        grouped, first, reached, shortest, *counted = (traced(store, text) for text in SHAPES)
        assert not any("GROUP BY" in sql for sql in grouped)
        assert not any("json_type" in sql for sql in first)
        assert not any("CROSS JOIN edge e" in sql for sql in (*reached, *shortest))
        assert not any("edge e" in sql for one in counted for sql in one)
        with Store(tmp_path / "m.db") as plain:
            assert any("GROUP BY" in sql for sql in traced(plain, GROUPED))
            assert any("json_type" in sql for sql in traced(plain, FIRST))
            assert any("CROSS JOIN edge e" in sql for sql in traced(plain, REACHED))
            assert any("CROSS JOIN edge e" in sql for sql in traced(plain, SHORTEST))
            assert any("edge e" in sql for sql in traced(plain, TRIANGLES))
            assert any("edge e" in sql for sql in traced(plain, DEGREES))


def test_a_part_is_brought_forward_and_not_derived_again(tmp_path: Path) -> None:
    with (
        filled(tmp_path / "m.db") as store,
        Store(tmp_path / "m.db") as plain,
        opened(store) as on,
        opened(plain) as off,
    ):
        before = [rows(on, text) for text in SHAPES]
        off.run("MATCH (n:A {i: 6}) SET n.s = 'new', n.f = 99.0")
        off.run("MATCH (n:A {i: 7})-[r:R]->() DELETE r")
        off.run("MATCH (n:A {i: 7}), (m:A {i: 10}) CREATE (n)-[:R]->(m)")
        off.run("CREATE (:A {i: 300, a: 1, f: 100.0, s: 's1'})")
        after = [rows(off, text) for text in SHAPES]
        assert before != after
        said = [sql for text in SHAPES for sql in traced(store, text)]
        assert not any("edge INDEXED BY" in sql for sql in said)
        assert not any("n.id = l.node ORDER BY l.node" in sql for sql in said)
        assert [rows(on, text) for text in SHAPES] == after


@pytest.mark.parametrize("doing", ["erase", "purge a past version", "many writes"])
def test_what_a_tail_does_not_tell_drops_the_part(tmp_path: Path, doing: str) -> None:
    with (
        filled(tmp_path / "m.db") as store,
        Store(tmp_path / "m.db") as plain,
        opened(store) as on,
        opened(plain) as off,
    ):
        for text in SHAPES:
            rows(on, text)
        (gone,) = rows(off, "MATCH (n:A {i: 8}) RETURN id(n)")
        if doing == "erase":
            with plain.write(OPERATOR, op="erase") as tx:
                tx.erase([gone[0]])
        elif doing == "purge a past version":
            off.run("MATCH (n:A {i: 8})-[r:R]->() DELETE r")
            plain.connection().execute("DELETE FROM main.edge_past")
        else:
            off.run("MATCH (n:A)-[r:R]->() DELETE r")
            off.run("UNWIND range(0, 3000) AS i CREATE (:A {i: -i, a: 1})")
        assert [rows(on, text) for text in SHAPES] == [rows(off, text) for text in SHAPES]


def test_an_erasure_empties_it(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as store, opened(store) as on:
        rows(on, GROUPED)
        assert store.images is not None and store.images.size_bytes
        store.scrub()
        assert not store.images.size_bytes


def test_it_stays_within_its_bound(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", bytes_max=8_000) as store, Store(tmp_path / "m.db") as plain:
        assert store.images is not None
        sizes = set()
        with opened(store) as on, opened(plain) as off:
            for text in (*SHAPES, *SHAPES):
                assert rows(on, text) == rows(off, text)
                sizes.add(store.images.size_bytes)
        assert 0 < max(sizes) <= 8_000


def test_nothing_is_derived_before_it_was_earned(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db", patience=1) as store, opened(store) as on:
        assert store.images is not None
        for _ in range(8):
            for text in SHAPES:
                rows(on, text)
        assert not store.images.size_bytes  # 200 nodes are read faster than numpy is loaded
        on.run("UNWIND range(0, 20000) AS i CREATE (:B {i: i, s: 'x'})")
        text = "MATCH (n:B) RETURN n.s, count(*)"
        assert rows(on, text) == [("x", 20_001)]
        assert not store.images.size_bytes
        assert rows(on, text) == [("x", 20_001)]
        assert store.images.size_bytes


def test_a_bound_session_and_a_past_time_do_without(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as store:
        with opened(store) as on:
            (count,) = rows(on, "MATCH (n:A) RETURN count(*)")
            assert count == (200,)
            time = store.clock.now_ns()
            on.run("MATCH (n:A {i: 1}) DETACH DELETE n")
            assert rows(on, "MATCH (n:A) RETURN count(*)") == [(199,)]
            assert rows(on, f"AS OF SYSTEM TIME {time} MATCH (n:A) RETURN count(*)") == [(200,)]
        bound = BoundStore(store, ["p"])
        try:
            with opened(bound) as session:
                assert rows(session, "MATCH (n:A) RETURN count(*)") == [(0,)]
                assert rows(session, REACHED) == [(0,)]
                assert rows(session, FIRST) == []
        finally:
            bound.close()


def test_a_valid_time_is_asked_of_the_tables(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as store, opened(store) as on:
        on.run("CREATE (:FactVersion {i: 1, validFrom: date('2024-01-01')})")
        on.run("CREATE (:FactVersion {i: 2, validFrom: date('2020-01-01')})")
        counted = "MATCH (v:FactVersion) RETURN count(*)"
        assert rows(on, counted) == [(2,)]
        assert rows(on, f"AS OF VALID TIME date('2022-01-01') {counted}") == [(1,)]


def test_what_a_policy_hides_is_hidden(world: World) -> None:
    store = world.memory.store
    world.run(EPISODES)
    store.images = Images(BYTES, patience=0)
    world.run("UNWIND range(0, 9) AS i CREATE (:Episode {i: i})-[:R]->(:A {i: i})")
    asked = (
        "MATCH (n:Episode) RETURN count(*)",
        "MATCH (n:Episode) RETURN n.i ORDER BY n.i LIMIT 3",
        "MATCH (n:A {i: 1})<-[:R*1..2]-(m) RETURN count(DISTINCT m)",
    )
    seen = [world.run(text) for text in asked]
    assert len(seen[1]) == 3
    world.later(60)
    assert [len(world.run(asked[1])), *world.run(asked[0])[0].values()] == [0, 0]
    assert list(world.run(asked[2])[0].values()) == [0]
    store.images = None


def test_triangles_are_counted_next_to_loops_and_parallel_edges(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as store, Store(tmp_path / "m.db") as plain:  # noqa: SIM117
        with opened(store) as on, opened(plain) as off:
            off.run(
                "MATCH (n:A), (m:A) WHERE n.i < 12 AND m.i < 12 AND (n.i * 7 + m.i * 5) % 3 = 0"
                " CREATE (n)-[:R]->(m), (n)-[:R]->(m)"
            )
            off.run("MATCH (n:A) WHERE n.i IN [1, 2, 2, 150] CREATE (n)-[:R]->(n), (n)-[:R]->(n)")
            (before,) = rows(off, TRIANGLES)
            assert before[0] > 1_000
            assert rows(on, TRIANGLES) == [before]
            assert rows(on, DEGREES) == rows(off, DEGREES)
            off.run(
                "MATCH (n:A {i: 2}), (m:A {i: 5}) CREATE (n)-[:R]->(m), (:A {i: 999})-[:R]->(n)"
            )
            off.run("MATCH (:A {i: 3})-[r:R]->() DELETE r")  # brought forward: some are dirty
            (after,) = rows(off, TRIANGLES)
            assert after != before
            assert rows(on, TRIANGLES) == [after]
            assert rows(on, DEGREES) == rows(off, DEGREES)


@pytest.mark.parametrize("searched", [0, 1_000_000])
def test_many_triangles_are_counted_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searched: int
) -> None:
    monkeypatch.setattr(triangle_count, "_WALKS_OF_A_TABLE", searched)
    monkeypatch.setattr(triangle_count, "_MARKS", 500)
    monkeypatch.setattr(triangle_count, "_WALKS", 7)
    with filled(tmp_path / "m.db") as store, Store(tmp_path / "m.db") as plain:  # noqa: SIM117
        with opened(store) as on, opened(plain) as off:
            off.run("MATCH (n:A), (m:A) WHERE n.i < 9 AND m.i < 9 CREATE (n)-[:R]->(m)")
            assert rows(on, TRIANGLES) == rows(off, TRIANGLES) != [(0,)]
            off.run("MATCH (n:A) WHERE n.i % 2 = 0 SET n:B")
            for text in ("(a:A)", "(a:B)"):
                labelled = TRIANGLES.replace("(a)", text, 1)
                assert rows(on, labelled) == rows(off, labelled) != [(0,)]


def test_triangles_are_those_of_all_triples_of_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """In both ways, in pieces and at once, next to loops and parallel edges."""
    rng, found = Random(7), 0
    for _ in range(150):
        nodes = [3 * one + 5 for one in range(rng.randint(1, 7))]
        edges = [(rng.choice(nodes), rng.choice(nodes)) for _ in range(rng.randrange(14))]
        of = [rng.choice((None, sorted(rng.sample(nodes, len(nodes) // 2)))) for _ in range(3)]
        expected = sum(
            one[1] == two[0] and two[1] == three[0] and three[1] == one[0]
            for one, two, three in permutations(edges, 3)
            if all(
                ids is None or edge[0] in ids
                for ids, edge in zip(of, (one, two, three), strict=True)
            )
        )
        found += expected
        src, dst = (np.array([edge[at] for edge in edges], dtype=np.int64) for at in (0, 1))
        ids = [None if one is None else np.array(one, dtype=np.int64) for one in of]
        for searched, marks, walks in product((0, 1_000_000), (3, 10_000), (2, 10_000)):
            monkeypatch.setattr(triangle_count, "_WALKS_OF_A_TABLE", searched)
            monkeypatch.setattr(triangle_count, "_MARKS", marks)
            monkeypatch.setattr(triangle_count, "_WALKS", walks)
            assert triangle_count._triangles(src, dst, ids, lambda: None) == expected
    assert found > 1_000


def test_many_nodes_with_few_edges_are_not_counted_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triangle_count, "_MARKS", 100)  # of one node
    calls: list[Deadline] = []
    check = Deadline.raise_if_cancelled
    monkeypatch.setattr(
        Deadline, "raise_if_cancelled", lambda self: (calls.append(self), check(self))[1]
    )
    with filled(tmp_path / "m.db") as store, opened(store) as on:
        rows(on, TRIANGLES)  # derived
        calls.clear()
        assert rows(on, TRIANGLES) == [(0,)]
        assert 0 < len(calls) < 20


def test_nodes_of_a_result_are_loaded_together(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as store:
        text = "MATCH (:A {i: 5})-[:R*1..150]->(m) RETURN DISTINCT m"
        said = traced(store, text)
        single = [sql for sql in said if sql.endswith("FROM node WHERE id = ?")]
        assert len(single) < 3
        with opened(store) as on:
            found = [row[0] for row in rows(on, text)]
        assert len(found) == 150
        assert [node["i"] for node in found] == [(6 + n) % 200 for n in range(150)]
        assert all(node.labels == ("A",) for node in found)


@pytest.mark.parametrize("columns", ["m", "m, $text + toString(id(m)) AS t"])
def test_what_is_read_ahead_is_some_megabytes(tmp_path: Path, columns: str) -> None:
    """Also where large nodes come after small ones, and where the rows hold something else that is
    large."""
    with Store(tmp_path / "m.db") as store, opened(store) as on:
        large = "x" * 400_000
        on.run("CREATE (:S)")
        for text, count in (("", 100), (large if columns == "m" else "", 100)):
            on.run(
                "MATCH (s:S) UNWIND range(1, $count) AS i CREATE (s)-[:R]->(:B {i: i, t: $text})",
                {"count": count, "text": text},
            )
        asked, given = f"MATCH (:S)-[:R*1..1]->(m) WITH DISTINCT m RETURN {columns}", 0
        tracemalloc.start()
        try:
            for row in on.run(asked, {"text": large}):
                given += len(row[0].labels)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert given == 200
        assert peak < 4_194_304 + 15 * len(large)


def test_rows_before_an_error_arrive_when_nodes_are_read_ahead(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as store, opened(store) as on:
        text = "MATCH (:A {i: 5})-[:R*1..150]->(m) WITH DISTINCT m RETURN m, 1 / (m.i - 20) AS x"
        result = on.run(text)
        got = []
        with pytest.raises(QueryError, match="zero"):
            for row in result:
                got.append(row[0]["i"])
        assert got == list(range(6, 20))


MOVES, QUESTIONS = 40, 150


def test_readers_next_to_writers_see_whole_transactions(tmp_path: Path) -> None:
    """Each transaction moves an amount between two nodes and one edge of a hub to another leaf: the
    sums are the same in every snapshot."""
    with filled(tmp_path / "m.db") as store:
        with opened(store) as session:
            session.run("MATCH (n:A) SET n.a = 10")
            session.run("MATCH (h:A {i: 0}), (n:A) WHERE 0 < n.i <= 50 CREATE (h)-[:H]->(n)")
        failed: list[object] = []

        def move(seed: int) -> None:
            rng = Random(seed)
            try:
                with opened(store) as session:
                    for _ in range(MOVES):
                        one, other = rng.sample(range(200), 2)
                        gone, come = rng.randint(1, 50), rng.randint(51, 199)
                        session.begin()
                        session.run(f"MATCH (n:A {{i: {one}}}) SET n.a = n.a - 1")
                        session.run(f"MATCH (n:A {{i: {other}}}) SET n.a = n.a + 1")
                        list(
                            session.run(
                                f"MATCH (h:A {{i: 0}})-[r:H]->({{i: {gone}}}) DELETE r WITH h"
                                f" MATCH (n:A {{i: {come}}}) WHERE NOT (h)-[:H]->(n)"
                                " CREATE (h)-[:H]->(n)"
                            )
                        )
                        session.rollback() if rng.random() < 0.2 else session.commit()
            except BaseException as error:
                failed.append(error)

        def ask() -> None:
            try:
                with opened(store) as session:
                    for _ in range(QUESTIONS):
                        found = rows(session, "MATCH (n:A) RETURN count(*), sum(n.a)")
                        if found != [(200, 2000)]:
                            failed.append(found)
            except BaseException as error:
                failed.append(error)

        threads = [
            threading.Thread(target=move, args=(1,)),
            *(threading.Thread(target=ask) for _ in range(3)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not failed and not any(thread.is_alive() for thread in threads)
        hub = "MATCH (h:A {i: 0})-[:H*1..1]->(m) RETURN count(DISTINCT m)"
        with Store(tmp_path / "m.db") as plain, opened(plain) as off, opened(store) as on:
            assert rows(on, hub) == rows(off, hub)
            assert rows(on, GROUPED) == rows(off, GROUPED)


def test_a_label_keeps_a_bounded_number_of_columns(tmp_path: Path) -> None:
    """All of them are read when one is brought forward; SQLite has a limit of 2,000."""
    with filled(tmp_path / "m.db") as store, opened(store) as on:
        for first in range(0, 3 * COLUMNS_MAX, COLUMNS_MAX):
            names = [f"p{number}" for number in range(first, first + COLUMNS_MAX)]
            counted = ", ".join(f"count(n.{name}) AS {name}" for name in names)
            on.run(f"MATCH (n:A) RETURN {counted}").records()
        (part,) = [one for one, _ in store.images._parts.values() if isinstance(one, LabelColumns)]
        assert len(part.columns) == COLUMNS_MAX
        on.run("CREATE (:A {i: -1})").records()
        on.run("MATCH (n:A) RETURN count(n.p1) AS c").records()
        wide = ", ".join(f"count(n.p{number}) AS c{number}" for number in range(1_999))
        assert len(on.run(f"MATCH (n:A) RETURN {wide}").records()[0]) == 1_999


def test_a_part_that_cannot_be_brought_forward_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no")

    with filled(tmp_path / "m.db") as store, opened(store) as on:
        on.run("MATCH (n:A) RETURN n.i, count(*)").records()
        on.run("CREATE (:A {i: -1})").records()
        with monkeypatch.context() as patched:
            patched.setattr(LabelColumns, "forward", broken)
            with pytest.raises(OSError):
                on.run("MATCH (n:A) RETURN n.i, count(*)").records()
        assert not [key for key in store.images._parts if key[0] == "label"]
        assert on.run("MATCH (n:A) RETURN n.i, count(*)").records()


def test_a_reader_of_before_an_erasure_puts_nothing_back(tmp_path: Path) -> None:
    with filled(tmp_path / "m.db") as store:
        with store.write(OPERATOR, op="test") as tx:
            node = tx.create_node(("Told",), {"s": "a secret of Ana"})
        question = "MATCH (n:Told) RETURN n.s, count(*)"
        with opened(store) as before:
            before.run(question).records()
        assert store.images.size_bytes
        began, erased = threading.Event(), threading.Event()
        seen = []

        def read_before() -> None:
            with store.read() as snapshot, opened(store) as on:
                assert snapshot.rows("SELECT max(id) FROM main.node", ())  # here it begins
                began.set()
                assert erased.wait(30)
                seen.extend(on.run(question).records())

        reader = threading.Thread(target=read_before)
        reader.start()
        assert began.wait(30)
        with store.write(OPERATOR, op="test") as tx:
            tx.erase([node])
        store.images.clear()  # as a scrub does, before it waits for readers
        erased.set()
        reader.join(30)
        assert len(seen) == 1
        assert store.images.size_bytes == 0
        store.close()
