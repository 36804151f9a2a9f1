"""AS OF against a history that is kept: random writes of elements with windows, then both times
asked at, between and before all of them.

A window is half-open, from `from` to `to`, which may be missing. A temporal constraint names the
windows of the nodes V and of the edges W; P and its edges have none and are always valid.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.base.clock import FakeClock
from doxa.base.errors import ConstraintError
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

SCHEMA = (
    "CREATE CONSTRAINT FOR (v:V) REQUIRE (v.key, v.from, v.to) IS TEMPORAL NO OVERLAP",
    "CREATE CONSTRAINT FOR ()-[w:W]-() REQUIRE (w.key, w.from, w.to) IS TEMPORAL NO OVERLAP",
    "CREATE INDEX FOR (v:V) ON (v.x)",
    "CREATE (:P {k: 0}), (:P {k: 1})",
)
KEYS, POINTS, ENDS = st.integers(0, 2), st.integers(0, 9), st.none() | st.integers(1, 10)


@dataclass
class Window:
    key: int
    start: int
    end: int | None
    x: int = 0
    place: int = 0  # the P at its start, for an edge
    target: int = 0

    def holds(self, time: int | None) -> bool:
        return time is None or (self.start <= time and (self.end is None or time < self.end))

    def meets(self, other: Window) -> bool:
        return (
            self.key == other.key
            and (self.end is None or other.start < self.end)
            and (other.end is None or self.start < other.end)
        )


@dataclass
class World:
    """Nodes V, each at the P of its place, and edges W between the P; by number."""

    nodes: dict[int, Window] = field(default_factory=dict)
    edges: dict[int, Window] = field(default_factory=dict)

    def fits(self) -> bool:
        return all(
            (one.end is None or one.start < one.end)
            and not any(one.meets(other) for j, other in held.items() if j != i)
            for held in (self.nodes, self.edges)
            for i, one in held.items()
        )


@dataclass
class Kept:
    session: GraphSession
    store: Store
    world: World = field(default_factory=World)
    past: list[tuple[int, World]] = field(default_factory=list)

    def write(self, text: str, params: dict[str, Any], after: World) -> None:
        try:
            self.session.run(text, params)
        except ConstraintError:
            assert not after.fits(), (text, params)
            return
        assert after.fits(), (text, params)
        self.world = after
        with self.store.read() as snapshot:
            last = snapshot.last_receipt()
        assert last is not None
        self.past.append((last.time, copy.deepcopy(after)))


WRITES = st.lists(
    st.one_of(
        st.tuples(st.just("node"), KEYS, POINTS, ENDS, st.integers(0, 2), st.integers(0, 1)),
        st.tuples(st.just("edge"), KEYS, POINTS, ENDS, st.integers(0, 1), st.integers(0, 1)),
        st.tuples(st.just("move"), st.integers(0, 9), POINTS, ENDS),
        st.tuples(st.just("mark"), st.integers(0, 9), st.integers(0, 2)),
        st.tuples(st.just("drop"), st.integers(0, 9)),
        st.tuples(st.just("cut"), st.integers(0, 9)),
    ),
    min_size=1,
    max_size=14,
)


def perform(kept: Kept, number: int, write: tuple[Any, ...]) -> None:
    after, kind = copy.deepcopy(kept.world), write[0]
    if kind == "node":
        _, key, start, end, x, place = write
        after.nodes[number] = Window(key, start, end, x, place)
        text = (
            "MATCH (p:P {k: $p}) CREATE (p)-[:HAS]->(:V {k: $k, key: $key, from: $from, to: $to, x:"
            " $x})"
        )
        kept.write(
            text, {"k": number, "key": key, "from": start, "to": end, "x": x, "p": place}, after
        )
    elif kind == "edge":
        _, key, start, end, place, target = write
        after.edges[number] = Window(key, start, end, 0, place, target)
        text = (
            "MATCH (p:P {k: $p}), (q:P {k: $q}) CREATE (p)-[:W {k: $k, key: $key, from: $from, to:"
            " $to}]->(q)"
        )
        kept.write(
            text,
            {"k": number, "key": key, "from": start, "to": end, "p": place, "q": target},
            after,
        )
    elif kind == "cut":
        if after.edges.pop(write[1], None):
            kept.write("MATCH ()-[w:W {k: $k}]->() DELETE w", {"k": write[1]}, after)
    elif write[1] in after.nodes:
        node = after.nodes[write[1]]
        if kind == "move":
            node.start, node.end = write[2], write[3]
            kept.write(
                "MATCH (v:V {k: $k}) SET v.from = $from, v.to = $to",
                {"k": write[1], "from": node.start, "to": node.end},
                after,
            )
        elif kind == "mark":
            node.x = write[2]
            kept.write(
                "MATCH (v:V {k: $k}) SET v.x = $x, v.marked = true",
                {"k": write[1], "x": node.x},
                after,
            )
        else:
            del after.nodes[write[1]]
            kept.write("MATCH (v:V {k: $k}) DETACH DELETE v", {"k": write[1]}, after)


def answers(world: World, time: int | None, x: int) -> dict[str, list[Any]]:
    """Queries, and the rows that the definition gives."""
    nodes = {k: node for k, node in world.nodes.items() if node.holds(time)}
    edges = {k: edge for k, edge in world.edges.items() if edge.holds(time)}
    places = [sum(1 for node in nodes.values() if node.place == place) for place in (0, 1)]
    ends = [edge.target for edge in edges.values()]
    return {
        "MATCH (v:V) RETURN v.k": list(nodes),
        f"MATCH (v:V) WHERE v.x = {x} RETURN v.k": [k for k, node in nodes.items() if node.x == x],
        f"MATCH (v:V) WHERE v.x >= {x} RETURN count(*)": [
            sum(1 for node in nodes.values() if node.x >= x)
        ],
        "MATCH (v:V) RETURN sum(v.x)": [sum(node.x for node in nodes.values())],
        f"MATCH (p:P)-[:HAS]->(v:V {{x: {x}}}) RETURN p.k, v.k": [
            (node.place, k) for k, node in nodes.items() if node.x == x
        ],
        "MATCH (p:P) OPTIONAL MATCH (p)-[:HAS]->(v) RETURN p.k, count(v)": list(enumerate(places)),
        "MATCH ()-[w:W]->() RETURN w.k": list(edges),
        "MATCH (p:P)-[w:W]->(q:P) RETURN p.k, w.k, q.k": [
            (edge.place, k, edge.target) for k, edge in edges.items()
        ],
        "MATCH (:P)-[:W]->(q:P)-[:HAS]->(v) RETURN count(*)": [sum(places[end] for end in ends)],
        "MATCH (p:P) WHERE EXISTS { (p)-[:HAS]->(:V) } RETURN p.k": [
            place for place in (0, 1) if places[place]
        ],
        "MATCH (p:P {k: 0})-[w:W*1..1]->(q) RETURN q.k": [
            edge.target for edge in edges.values() if edge.place == 0
        ],
        "MATCH (v:V) RETURN v.k ORDER BY v.k DESC LIMIT 2": sorted(nodes, reverse=True)[:2],
    }


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(writes=WRITES, data=st.data())
def test_both_times_answer_from_what_was(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[Any, ...]], data: st.DataObject
) -> None:
    clock = FakeClock()
    with (
        Store(tmp_path_factory.mktemp("times") / "graph.db", clock=clock) as store,
        opened(store, optimise=True) as session,
    ):
        for text in SCHEMA:
            session.run(text)
        kept = Kept(session, store, past=[(clock.now_ns() + 1_000, World())])
        clock.advance(seconds=1)
        for number, write in enumerate(writes):
            perform(kept, number, write)
            clock.advance(seconds=data.draw(st.sampled_from([0, 0, 5])))
        with opened(store, optimise=False) as plain:
            for _ in range(4):
                agrees(kept, (session, plain), data)


def agrees(kept: Kept, sessions: tuple[GraphSession, ...], data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from(kept.past))[0] + data.draw(st.sampled_from([0, 0, -1, 1]))
    system = data.draw(st.sampled_from([None, chosen]))
    valid = data.draw(st.none() | st.integers(-1, 11))
    world = (
        kept.world
        if system is None
        else next((one for time, one in reversed(kept.past) if time <= system), None)
    )
    if world is None or (system is not None and system < kept.past[0][0]):
        world = World()
    prefix = ("" if system is None else f"AS OF SYSTEM TIME {system} ") + (
        "" if valid is None else f"AS OF VALID TIME {valid} "
    )
    for text, wanted in answers(world, valid, data.draw(st.integers(0, 2))).items():
        for session in sessions:
            rows = [row[0] if len(row) == 1 else row for row in session.run(prefix + text)]
            assert (rows if "ORDER BY" in text else sorted(rows)) == (
                wanted if "ORDER BY" in text else sorted(wanted)
            ), prefix + text


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 3))
def test_before_the_first_write_there_is_nothing(
    tmp_path_factory: pytest.TempPathFactory, seconds: int
) -> None:
    clock = FakeClock()
    with (
        Store(tmp_path_factory.mktemp("first") / "graph.db", clock=clock) as store,
        opened(store, optimise=True) as session,
    ):
        time = clock.now_ns() - seconds
        clock.advance(seconds=1)
        for text in SCHEMA:
            session.run(text)
        for text in (
            "MATCH (n) RETURN count(n)",
            "MATCH (p:P) RETURN count(p)",
            "MATCH (p {k: 0}) RETURN count(p)",
        ):
            assert session.run(f"AS OF SYSTEM TIME {time} {text}").single() == 0


def opened(store: Store, *, optimise: bool) -> GraphSession:
    return GraphSession(store, QueryEngine(optimise=optimise), Identity("t", "operator"))
