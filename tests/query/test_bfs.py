"""Breadth-first walking gives what walking trail by trail gives: random small graphs, both
planners, every direction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

QUERIES = (
    "MATCH (a:N {k: $a})-[:R*1..3]->(b) RETURN count(DISTINCT b)",
    "MATCH (a:N {k: $a})<-[:R|S*0..4]-(b) RETURN DISTINCT b.k AS k ORDER BY k",
    (
        "MATCH (a:N {k: $a})-[*..3]->(b) WHERE b.k > 2 RETURN b.k AS k, count(DISTINCT b) AS c"
        " ORDER BY k"
    ),
    "MATCH (a:N {k: $a})-[:R*]->(b) RETURN min(b.k), max(b.k), collect(DISTINCT b.k % 1)",
    "MATCH (a:N {k: $a})-[:R*1..3]-(b) RETURN count(DISTINCT b)",
    "MATCH (a:N {k: $a})-[:R*1..3]->(b) RETURN count(b)",
    "MATCH (a:N {k: $a})-[r:R*1..2]->(b) RETURN DISTINCT size(r) AS k ORDER BY k",
)
BOTH = "MATCH (a:N {k: $a}), (b:N {k: $b})"
PATTERNS = ("(a)-[:R|S*..4]->(b)", "(a)<-[:S*..5]-(b)", "(a)-[*..4]-(b)", "(a)-[:R*1..4]-(b)")


def made(store: Store, rng: np.random.Generator) -> tuple[GraphSession, GraphSession]:
    """A random small graph with loops and parallel edges, and a session with each planner."""
    fast, plain = (
        GraphSession(store, QueryEngine(optimise=optimise), Identity("test", "operator"))
        for optimise in (True, False)
    )
    fast.run("UNWIND range(0, 8) AS k CREATE (:N {k: k})")
    for number, (one, other) in enumerate(rng.integers(9, size=(14, 2)).tolist()):
        fast.run(
            f"{BOTH} CREATE (a)-[:{'RS'[number % 2]} {{w: $w}}]->(b)",
            {"a": one, "b": other, "w": number},
        )
    return fast, plain


@pytest.mark.parametrize("seed", range(6))
def test_ends_are_those_of_trails(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with Store(tmp_path / "graph.db") as store:
        fast, plain = made(store, rng)
        for text in QUERIES:
            for start in range(9):
                assert list(fast.run(text, {"a": start})) == list(plain.run(text, {"a": start}))


@pytest.mark.parametrize("seed", range(6))
def test_shortest_paths_are_the_shortest_trails(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    with Store(tmp_path / "graph.db") as store:
        fast, plain = made(store, rng)
        for pattern in PATTERNS:
            for one, other in rng.permuted(np.tile(np.arange(9), (12, 1)), axis=1)[:, :2].tolist():
                given = {"a": one, "b": other}
                trails = [
                    row[0]
                    for row in plain.run(
                        f"{BOTH} MATCH p = {pattern} RETURN [e IN relationships(p) | e.w]", given
                    )
                ]
                wanted = sorted(trail for trail in trails if len(trail) == min(map(len, trails)))
                every = fast.run(
                    f"{BOTH} MATCH p = allShortestPaths({pattern}) RETURN [e IN relationships(p) |"
                    " e.w]",
                    given,
                )
                assert sorted(row[0] for row in every) == wanted
                single = [
                    row[0]
                    for row in fast.run(
                        f"{BOTH} MATCH p = shortestPath({pattern}) RETURN [e IN relationships(p) |"
                        " e.w]",
                        given,
                    )
                ]
                assert len(single) == (1 if wanted else 0) and all(
                    path in wanted for path in single
                )
