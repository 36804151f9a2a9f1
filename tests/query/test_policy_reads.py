"""No read returns what a policy hides: a graph with hidden elements answers every query as the same
graph without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.base.clock import FakeClock
from doxa.query.engine import QueryEngine
from doxa.query.expressions.policy_expressions import PolicyExpressions
from doxa.query.session import GraphSession
from doxa.store import Identity, Store, check, transaction
from doxa.store.visibility import window_writer
from tests.properties.random_queries import Dialect, graph_text, query
from tests.query.test_differential import answer

OPERATOR = Identity("t", "operator")
FADE = "DECAY HALF LIFE 60 DECAY THRESHOLD 0.5"  # hidden a minute after it was made
# By mode: the policies, and what of a graph they hide after an hour
MODES = {
    "windows": (
        (
            f"CREATE DECAY PROFILE c FOR (n:C) APPLY {{ {FADE} }} CREATE DECAY PROFILE t FOR"
            f" ()-[r:T]-() APPLY {{ {FADE} }}"
        ),
        "n:C",
        "r:T",
    ),
    "several labels": (
        (
            "CREATE DECAY PROFILE a FOR (n:A) APPLY { NO DECAY } CREATE DECAY PROFILE ab FOR"
            f" (n:A:B) APPLY {{ {FADE} }} CREATE DECAY PROFILE any FOR ()-[r]-() APPLY {{ {FADE} }}"
            " CREATE DECAY PROFILE r FOR ()-[r:R]->() APPLY { NO DECAY }"
        ),
        "n:A AND n:B",
        "NOT r:R",
    ),
    "clock": (
        (
            f"CREATE DECAY PROFILE c FOR (n:C) APPLY {{ {FADE} }} CREATE DECAY PROFILE t FOR"
            f" ()-[r:T]-() APPLY {{ {FADE} }} CREATE PROMOTION POLICY c FOR (n:C) APPLY {{ WHEN"
            " timestamp() >= 0 AND n.a > 0 APPLY PROFILE 'high_confidence' } CREATE PROMOTION"
            " POLICY t FOR ()-[r:T]-() APPLY { WHEN datetime() < datetime('1990-01-01') APPLY"
            " PROFILE 'high_confidence' }"
        ),
        "n:C AND NOT coalesce(toFloatOrNull(n.a) > 0, false)",
        "r:T",
    ),
    "properties": (
        (
            "CREATE DECAY PROFILE c FOR (n:C) APPLY { NO DECAY n.a DECAY PROFILE 'p' } "
            "CREATE DECAY PROFILE t FOR ()-[r:T]-() APPLY { NO DECAY r.a DECAY PROFILE 'p' }"
        ),
        "",
        "",
    ),
}
BUNDLE = (
    "CREATE DECAY PROFILE p OPTIONS { halfLifeSeconds: 60, function: 'step', visibilityThreshold:"
    " 0.5 } "
)


class Pair:
    """The same graph twice: with policies that hide a part of it, and with that part deleted."""

    def __init__(self, folder: Path, *, indexed: bool) -> None:
        self.clock = FakeClock(1_000_000_000_000_000_000)
        self.hiding = Store(folder / "hiding.db", clock=self.clock, expressions=PolicyExpressions())
        self.neutral = Store(
            folder / "hiding.db",
            clock=self.clock,
            expressions=PolicyExpressions(),
            decay_enabled=False,
        )
        self.plain = Store(folder / "plain.db", clock=self.clock)
        self.engine = QueryEngine()
        for store in (self.hiding, self.plain) if indexed else ():
            for index in (
                "(n:A) ON (n.f)",
                "(n:B) ON (n.m)",
                "(n:C) ON (n.s, n.f)",
                "()-[r:R]-() ON (r.s)",
            ):
                self.run(store, f"CREATE INDEX FOR {index}")

    def run(self, store: Store, text: str, params: Any = None) -> list[Any]:
        with GraphSession(store, self.engine, OPERATOR) as session:
            return list(session.run(text, params))

    def graph(self, made: str, mode: str) -> None:
        for store in (self.neutral, self.plain):
            self.run(store, "MATCH (n) DETACH DELETE n")
        for what in ("PROMOTION POLICIES", "DECAY PROFILES"):
            for row in self.run(
                self.hiding, f"SHOW {what} YIELD name RETURN name ORDER BY name = 'p'"
            ):
                self.run(
                    self.hiding, f"DROP {what.replace('IES', 'Y').removesuffix('S')} `{row[0]}`"
                )
        policies, nodes, edges = MODES[mode]
        self.run(self.hiding, BUNDLE + policies)
        for store in (self.neutral, self.plain):
            self.run(store, made)
        self.clock.advance(seconds=3_600)
        if edges:
            self.run(self.plain, f"MATCH ()-[r]->() WHERE {edges} DELETE r")
        if nodes:
            self.run(self.plain, f"MATCH (n) WHERE {nodes} DETACH DELETE n")
        if mode == "properties":
            self.run(self.plain, "MATCH (n:C) REMOVE n.a")
            self.run(self.plain, "MATCH ()-[r:T]->() REMOVE r.a")

    def close(self) -> None:
        for store in (self.hiding, self.neutral, self.plain):
            store.close()


@pytest.fixture(scope="module", params=["plain", "indexed"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    made = Pair(tmp_path_factory.mktemp("policies"), indexed=request.param == "indexed")
    yield made
    made.close()


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False))
def test_random_queries_see_nothing_hidden(pair: Pair, mode: str, rng: Random) -> None:
    made = graph_text(rng)
    pair.graph(made, mode)
    with (
        GraphSession(pair.hiding, pair.engine, OPERATOR) as hiding,
        GraphSession(pair.plain, pair.engine, OPERATOR) as plain,
    ):
        for _ in range(5):
            asked = query(rng, Dialect())
            assert answer(hiding, asked) == answer(plain, asked), (mode, made, asked.text)
    assert check(pair.hiding) == []


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(rng=st.randoms(use_true_random=False))
def test_nor_while_a_change_of_policies_is_still_on_its_way(pair: Pair, rng: Random) -> None:
    """No element's window is as the policies say: each is judged when it is read."""
    made = graph_text(rng)
    before = window_writer.SWEEP_AT_ONCE_ITEMS_MAX, transaction.SWEEP_BATCH_ITEMS_MAX
    try:
        window_writer.SWEEP_AT_ONCE_ITEMS_MAX, transaction.SWEEP_BATCH_ITEMS_MAX = 0, 2
        pair.graph(made, "windows")
        pair.run(
            pair.hiding,
            "CREATE OR REPLACE DECAY PROFILE c FOR (n:C) APPLY { DECAY HALF LIFE 61 DECAY THRESHOLD"
            " 0.5 }",
        )
        pair.run(
            pair.hiding,
            "CREATE OR REPLACE DECAY PROFILE t FOR ()-[r:T]-() APPLY { DECAY HALF LIFE 61 DECAY"
            " THRESHOLD 0.5 }",
        )
        with (
            GraphSession(pair.hiding, pair.engine, OPERATOR) as hiding,
            GraphSession(pair.plain, pair.engine, OPERATOR) as plain,
        ):
            more = True
            while more:
                asked = query(rng, Dialect())
                assert answer(hiding, asked) == answer(plain, asked), (made, asked.text)
                hiding.close()
                more = pair.hiding.sweep()
    finally:
        window_writer.SWEEP_AT_ONCE_ITEMS_MAX, transaction.SWEEP_BATCH_ITEMS_MAX = before
    assert check(pair.hiding) == []


GRAPH = (
    "CREATE (a:A {i: 0, s: 'tea'})-[:R {i: 0}]->(b:B {i: 1, s: 'tea now'})-[:T {i: 1}]->(c:A {i: 2,"
    " s: 'green'}), (a)-[:R {i: 2}]->(d:C {i: 3, s: 'tea'}), (d)-[:R {i: 3}]->(c), (b)-[:R {i:"
    " 4}]->(c), (c)-[:S {i: 5}]->(:C:B {i: 4, s: 'tea'}), (a)-[:S {i: 6}]->(:D {i: 5, s: 'tea', v:"
    " [1.0, 0.0]}), (:C {i: 6, v: [0.9, 0.1], s: 'tea'}), (:FactVersion:C {i: 7, validFrom:"
    " date('2000-01-01')}), (:FactVersion {i: 8, validFrom: date('2000-01-01')})"
)
EVERY_WAY = (
    "MATCH (n) RETURN n.i",
    "MATCH (n:C) RETURN n",
    "MATCH (n) WHERE n.s = 'tea' RETURN n.i",
    "MATCH (n) WHERE id(n) > 0 RETURN n.i",
    "MATCH (n:C) WHERE n.i = 3 RETURN n.s",
    "MATCH (n) RETURN count(n)",
    "MATCH (n) RETURN count(*)",
    "MATCH (n) RETURN labels(n), count(*)",
    "MATCH ()-[r]->() RETURN type(r), count(r)",
    "MATCH ()-[r]->() RETURN r.i",
    "MATCH ()-[r]-() RETURN r.i",
    "MATCH (a:A)--(b) RETURN a.i, b.i",
    "MATCH (a:A)-->(b) RETURN count(b)",
    "MATCH (a:A)-->()-->(c) RETURN a.i, c.i",
    "MATCH (a:A)-[r:R|T]->(b) RETURN a.i, r.i, b.i",
    "MATCH p = (a {i: 0})-[*1..3]->(b) RETURN [n IN nodes(p) | n.i]",
    "MATCH (a {i: 0})-[*1..3]->(b) RETURN DISTINCT b.i",
    "MATCH (a {i: 0})-[r*0..2]-(b) RETURN b.i, size(r)",
    "MATCH (a {i: 0})-[:R*2]->(b) RETURN b.i",
    "MATCH (a {i: 0}) ((x)-[:R]->(y)){1,2} (b) RETURN b.i",
    "MATCH p = shortestPath((a {i: 0})-[*]->(b {i: 2})) RETURN [n IN nodes(p) | n.i]",
    "MATCH p = allShortestPaths((a {i: 0})-[*]-(b {i: 2})) RETURN [n IN nodes(p) | n.i]",
    "MATCH (a:A) RETURN a.i, [(a)-->(b) | b.i] AS l",
    "MATCH (a:A) RETURN a.i, [(a)-[r]-(b) | type(r)] AS l",
    "MATCH (a:A) WHERE (a)-->(:C) RETURN a.i",
    "MATCH (a:A) WHERE EXISTS { (a)-->(:C) } RETURN a.i",
    "MATCH (a) RETURN a.i, COUNT { (a)--() } AS c",
    "MATCH (a:A) RETURN a.i, COLLECT { MATCH (a)-->(b) RETURN b.i } AS c",
    "MATCH (a:A) CALL (a) { MATCH (a)-->(b) RETURN b.i AS i } RETURN a.i, i",
    "MATCH (a:A) OPTIONAL MATCH (a)-->(b:C) RETURN a.i, b.i",
    "MATCH (a:A) RETURN a.i, size([(a)-->() | 1]) AS c",
    "MATCH (n) RETURN collect(n.i) AS l",
    "MATCH (n) RETURN max(n.i), min(n.s), sum(n.i)",
    "MATCH (n) RETURN n.i ORDER BY n.i DESC LIMIT 3",
    "MATCH (n) WITH n ORDER BY n.i LIMIT 4 RETURN n.i",
    "MATCH (n:A|C) RETURN n.i",
    "MATCH (n:!A) RETURN n.i",
    "MATCH (a), (b) WHERE a.i + 1 = b.i RETURN a.i, b.i",
    "MATCH (n:%) RETURN n.i",
    "MATCH (n) WHERE n:C RETURN n.i",
    "MATCH (n) RETURN n:C, count(*)",
    "MATCH (n) WHERE n.s STARTS WITH 'tea' RETURN n.i",
    "MATCH (n) WHERE n.s CONTAINS 'tea' RETURN n.i",
    "MATCH (n) WHERE n.i IN [1, 3, 4, 6] RETURN n.i",
    "MATCH (n) WHERE n.i > 2 RETURN n.i",
    "MATCH (n) WHERE n.s IS NOT NULL RETURN n.i",
    "MATCH (n) WHERE n.i = 3 OR n.i = 5 RETURN n.i",
    "MATCH ()-[r:R]->() RETURN startNode(r).i, endNode(r).i",
    "MATCH ()-[r:R {i: 3}]->() RETURN r",
    "MATCH ()-[r:R]->() WHERE r.i > 1 RETURN r.i",
    "CALL db.index.fulltext.queryNodes('ft', 'tea') YIELD node RETURN node.i",
    "CALL db.index.fulltext.queryNodes('ft', 'tea', {limit: 2}) YIELD node RETURN count(node)",
    "CALL db.index.vector.queryNodes('vx', 1, [0.9, 0.1]) YIELD node RETURN node.i",
    "CALL db.index.fulltext.queryRelationships('fr', 'x') YIELD relationship RETURN relationship",
    "CALL db.labels()",
    "CALL db.relationshipTypes()",
    "CALL db.propertyKeys()",
    "CALL db.schema.nodeTypeProperties() YIELD nodeLabels, propertyName, propertyTypes",
    "CALL db.schema.relTypeProperties() YIELD relType, propertyName",
    "AS OF VALID TIME date('2005-01-01') MATCH (n:FactVersion) RETURN n.i",
    (
        "CALL db.temporal.asOf('FactVersion', 'i', 7, 'validFrom', 'validUntil',"
        " date('2005-01-01')) YIELD node RETURN node.i"
    ),
    "MATCH (a {i: 0}) MATCH (a)-->(b) MATCH (b)-->(c) RETURN b.i, c.i",
    "UNWIND [3, 5] AS i MATCH (n {i: i}) RETURN n.i",
    "MATCH (n) RETURN n.i UNION MATCH (n:C) RETURN n.i",
    "MATCH (n) WHERE NOT EXISTS { (n)--() } RETURN n.i",
    "MATCH (n) RETURN n.i, COUNT { (n)-[:R]->(:C) } AS c",
    "MATCH (a {i: 0})-[r]->(b) RETURN properties(b), keys(r)",
)


@pytest.mark.parametrize("mode", ["windows", "clock", "suppressed"])
@pytest.mark.parametrize("indexed", [False, True])
def test_every_way_of_reading(tmp_path: Path, mode: str, indexed: bool) -> None:
    pair = Pair(tmp_path, indexed=indexed)
    for store in (pair.hiding, pair.plain):
        pair.run(store, "CREATE FULLTEXT INDEX ft FOR (n:A|B|C|D) ON EACH [n.s]")
        pair.run(store, "CREATE FULLTEXT INDEX fr FOR ()-[r:R]-() ON EACH [r.s]")
        pair.run(
            store,
            "CREATE VECTOR INDEX vx FOR (n:C) ON (n.v) OPTIONS {indexConfig:"
            " {`vector.dimensions`: 2}}",
        )
        if indexed:
            pair.run(store, "CREATE INDEX FOR (n:C) ON (n.i)")
    if mode == "suppressed":
        for store in (pair.neutral, pair.plain):
            pair.run(store, GRAPH)
        pair.run(pair.hiding, "MATCH (n:C) CALL doxa.policy.suppress(n) YIELD id RETURN id")
        pair.run(pair.hiding, "MATCH ()-[r:T]->() CALL doxa.policy.suppress(r) YIELD id RETURN id")
        pair.run(pair.plain, "MATCH ()-[r:T]->() DELETE r")
        pair.run(pair.plain, "MATCH (n:C) DETACH DELETE n")
    else:
        pair.graph(GRAPH, mode)
    hidden = {row[0] for row in pair.run(pair.neutral, "MATCH (n:C) RETURN n.i")}
    assert hidden == {3, 4, 6, 7}
    for text in EVERY_WAY:
        found, wanted = (
            sorted(map(repr, pair.run(store, text))) for store in (pair.hiding, pair.plain)
        )
        assert found == wanted, text
    for text in ("MATCH (n:C) RETURN reveal(n)", "MATCH (n:C) WHERE reveal(n).i >= 0 RETURN n.i"):
        assert len(pair.run(pair.hiding, text)) == 4
    assert len(pair.run(pair.hiding, "MATCH ()-[r:T]->() RETURN reveal(r)")) == 1
    pair.close()


def test_reveal_is_about_its_variable_only(tmp_path: Path) -> None:
    pair = Pair(tmp_path, indexed=False)
    pair.graph(
        "CREATE (:A {i: 1})-[:R]->(:C {i: 2}), (:A {i: 3})-[:T]->(:B {i: 4}), (:C {i: 5})-[:R]->(:C"
        " {i: 6})",
        "windows",
    )
    for text, wanted in (
        ("MATCH (a)-->(b) RETURN a.i, reveal(b).i", [(1, 2)]),
        ("MATCH (a)-->(b) RETURN reveal(a).i, reveal(b).i", [(1, 2), (5, 6)]),
        ("MATCH (a)-[r]->(b) RETURN reveal(r), a.i", [3]),
        ("MATCH (a)-[r]->(b) RETURN reveal(r), reveal(a).i, reveal(b).i", [1, 3, 5]),
        (
            "MATCH p = (a)-->(b) RETURN [n IN nodes(reveal(p)) | n.i]",
            [([1, 2],), ([3, 4],), ([5, 6],)],
        ),
        ("MATCH (c:C) WITH c AS d WITH d AS e RETURN reveal(e).i", [(2,), (5,), (6,)]),
        ("MATCH (c:C) RETURN c.i", []),
        ("MATCH (a:A {i: 1}) RETURN [(a)-->(b) | b.i] AS l", [([],)]),
    ):
        found = pair.run(pair.hiding, text)
        assert (
            sorted([row[1] for row in found] if wanted and isinstance(wanted[0], int) else found)
            == wanted
        ), text
    pair.close()
