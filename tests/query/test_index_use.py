"""EXPLAIN shows the index, or the id, that leads into a pattern, now and as of a past time; and the
answers are those of a scan."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.base.temporal import Date
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

INDEXES = (
    "CREATE INDEX by_i FOR (n:N) ON (n.i)",
    "CREATE INDEX by_ab FOR (n:N) ON (n.a, n.b)",
    "CREATE TEXT INDEX by_s FOR (n:N) ON (n.s)",
    "CREATE INDEX by_day FOR (n:N) ON (n.day)",
    "CREATE INDEX by_w FOR ()-[r:R]-() ON (r.w)",
)
N = "MATCH (n:N) WHERE"
R = "MATCH (a)-[r:R]->(b) WHERE"
USED = (
    (f"{N} n.i = 1 RETURN n.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.i IN [1, 2] RETURN n.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.i IN $list RETURN n.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.i IN $mixed RETURN n.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.i = 1 OR n.i = 2 RETURN n.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.i < 2 OR n.i > 7 RETURN n.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.i >= 2 AND n.i < 5 RETURN n.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.i IS NOT NULL RETURN n.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.a = 1 AND n.b = 2 RETURN n.i", "index by_ab RANGE (:N {a, b})"),
    (f"{N} n.a = 1 AND n.b > 0 RETURN n.i", "index by_ab RANGE (:N {a, b})"),
    (f"{N} n.a IN [0, 1] AND n.b > 0 RETURN n.i", "index by_ab RANGE (:N {a, b})"),
    (f"{N} n.a = 1 AND n.b IS NOT NULL RETURN n.i", "index by_ab RANGE (:N {a, b})"),
    (f"{N} n.a > 0 AND n.b IS NOT NULL RETURN n.i", "index by_ab RANGE (:N {a, b})"),
    (f"{N} n.a = 1 RETURN n.i", None),  # it does not know the nodes without b
    (f"{N} n.b = 1 RETURN n.i", None),
    (f"{N} n.s STARTS WITH 't' RETURN n.i", "index by_s TEXT (:N {s})"),
    (f"{N} n.s CONTAINS '1' RETURN n.i", "index by_s TEXT (:N {s})"),
    (f"{N} n.s ENDS WITH '1' RETURN n.i", "index by_s TEXT (:N {s})"),
    (f"{N} n.s CONTAINS 't' AND n.i = 1 RETURN n.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.day > date('1970-01-04') RETURN n.i", "index by_day RANGE (:N {day})"),
    (f"{N} n.day IN $days RETURN n.i", "index by_day RANGE (:N {day})"),
    (f"{N} n.i = 1 OR n.a = 2 RETURN n.i", None),
    (f"{N} n.i <> 1 RETURN n.i", None),
    (f"{N} n.i IN $one RETURN n.i", None),
    ("MATCH (n:M) WHERE n.i = 1 RETURN n.i", None),
    (
        "UNWIND [1, 2, 2] AS v MATCH (n:N) WHERE n.i IN [v, 3] RETURN n.i",
        "index by_i RANGE (:N {i})",
    ),
    ("MATCH (n) WHERE id(n) = 3 RETURN n.i", "node by id"),
    ("MATCH (n) WHERE id(n) IN $list RETURN n.i", "node by id"),
    ("MATCH (n:N) WHERE elementId(n) = 'n:3' RETURN n.i", "node by id"),
    ("MATCH (n) WHERE elementId(n) IN ['n:3', 'n:4', 'x'] RETURN n.i", "node by id"),
    ("MATCH (n) WHERE elementId(n) = 'n:3' OR elementId(n) = 'n:5' RETURN n.i", "node by id"),
    ("UNWIND ['n:1', 'n:2'] AS v MATCH (n) WHERE elementId(n) = v RETURN n.i", "node by id"),
    ("MATCH (n)-[:R]->(m) WHERE elementId(n) = 'n:3' RETURN m.i", "node by id"),
    ("MATCH ()-[r]->() WHERE id(r) = 3 RETURN r.w", "relationship by id"),
    ("MATCH ()-[r:R]->() WHERE elementId(r) = 'r:3' RETURN r.w", "relationship by id"),
    (
        "MATCH (a)-[r]-(b) WHERE elementId(r) IN ['r:3', 'r:4'] RETURN a.i, b.i",
        "relationship by id",
    ),
    (f"{R} r.w = 1 RETURN a.i", "index by_w RANGE ()-[:R {w}]-()"),
    (f"{R} r.w IN [1, 2] RETURN a.i", "index by_w RANGE ()-[:R {w}]-()"),
    ("MATCH (a)-[r:R]-(b) WHERE r.w = 1 RETURN a.i, b.i", "index by_w RANGE ()-[:R {w}]-()"),
    ("MATCH (n:N {i: 1})-[:R]->(m) RETURN m.i", "index by_i RANGE (:N {i})"),
    (f"{N} n.i IN [1, 2, 2] RETURN count(*), sum(n.i)", "index by_i RANGE (:N {i})"),
    (f"{N} n.i IN [1, 2, 3] RETURN n.i ORDER BY n.i DESC LIMIT 2", "index by_i RANGE (:N {i})"),
)
PARAMS: dict[str, Any] = {
    "list": [1, 2.0, 2, None, 4],
    "mixed": [1, "a", True, [1], {"a": 1}, 2],
    "days": [Date(1), Date(3)],
    "one": 5,
}


@pytest.fixture(scope="module")
def moments() -> list[int]:
    return []


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, moments: list[int]) -> Iterator[Store]:
    with (
        Store(tmp_path_factory.mktemp("uses") / "graph.db") as made,
        GraphSession(made, QueryEngine(), Identity("t", "operator")) as session,
    ):
        for index in INDEXES:
            session.run(index)
        session.run(
            "UNWIND range(0, 9) AS i CREATE (n:N {i: i, a: i % 3, s: 't' + toString(i), day:"
            " date({year: 1970, month: 1, day: i + 1})}) FOREACH (_ IN CASE WHEN i % 2 = 0 THEN [1]"
            " ELSE [] END | SET n.b = i % 4) CREATE (n)-[:R {w: i % 3}]->(:M {i: i}), (n)-[:R {w:"
            " i}]->(n)"
        )
        for change in (
            "MATCH (n:N) WHERE n.i % 2 = 1 SET n.i = n.i + 10, n.a = 1, n.b = 1, n.s = 'x1'",
            "MATCH (n:N {i: 2}) DETACH DELETE n",
            "MATCH (n:N {i: 4}) REMOVE n:N, n.s MATCH (m:M {i: 3}) SET m:N",
            "MATCH ()-[r:R {w: 1}]->() SET r.w = 2 WITH r LIMIT 2 DELETE r",
        ):
            moments.append(time.time_ns())
            session.run(change)
        yield made


def _session(store: Store, *, optimise: bool = True) -> GraphSession:
    return GraphSession(store, QueryEngine(optimise=optimise), Identity("t", "operator"))


def _explained(store: Store, text: str) -> str:
    with _session(store) as session:
        found = session.run(f"EXPLAIN {text}", PARAMS).description()
    assert found is not None
    return "\n".join(found.lines())


@pytest.mark.parametrize(("text", "used"), USED)
def test_explain_names_the_way_in(
    store: Store, moments: list[int], text: str, used: str | None
) -> None:
    for time_of in ("", f"AS OF SYSTEM TIME {moments[1]} "):
        shown = _explained(store, time_of + text)
        if used is None:
            assert "entry" not in shown and "by id" not in shown
        else:
            assert f"  {used}  " in shown
            assert ("entry_past" in shown) == (bool(time_of) and used.startswith("index"))


def test_explain_needs_no_parameters(store: Store) -> None:
    with _session(store) as session:
        for text, used in (
            ("MATCH (n) WHERE elementId(n) = $id RETURN n", "node by id"),
            (f"{N} n.i IN $given RETURN n", "index by_i"),
        ):
            found = session.run(f"EXPLAIN {text}").description()
            assert found is not None and used in "\n".join(found.lines())


@pytest.mark.parametrize("text", [text for text, _ in USED if "$one" not in text])
def test_a_way_in_finds_what_a_scan_finds(store: Store, moments: list[int], text: str) -> None:
    for time_of in ("", *(f"AS OF SYSTEM TIME {moment} " for moment in moments)):
        with _session(store) as fast, _session(store, optimise=False) as plain:
            assert sorted(fast.run(time_of + text, PARAMS), key=repr) == sorted(
                plain.run(time_of + text, PARAMS), key=repr
            )


def test_what_a_statement_writes_is_found_by_the_same_statement(store: Store) -> None:
    with _session(store) as session:
        texts = ("n.i IN [98, 99]", "n.s CONTAINS 'new'", "n.i = 98 OR n.i = 99")
        for text in texts:
            made = session.run(
                f"CREATE (:N {{i: 99, s: 'a new one'}}) WITH 1 AS one {N} {text} DELETE n RETURN"
                " count(n)"
            )
            assert made.single() == 1
        text = (
            "CREATE (x:N) WITH id(x) AS id, elementId(x) AS e MATCH (n) WHERE id(n) = id AND"
            " elementId(n) IN [e] DELETE n RETURN count(*)"
        )
        assert session.run(text).single() == 1


def test_what_a_constraint_promises_is_there(tmp_path: Path) -> None:
    """A key of (a, b) serves a alone, since there is no node without b; but not before the
    statement ends, nor in a past without it."""
    with Store(tmp_path / "k.db") as store, _session(store) as session:
        session.run("CREATE (:K {a: 1})")
        before = time.time_ns()
        session.run("MATCH (k:K) SET k.b = 1")
        session.run("CREATE CONSTRAINT by_key FOR (k:K) REQUIRE (k.a, k.b) IS NODE KEY")
        used = "index by_key RANGE (:K {a, b})"
        for text in (
            "MATCH (k:K {a: 1}) RETURN count(k)",
            "MATCH (k:K) WHERE k.a > 0 RETURN count(k)",
        ):
            assert used in _explained(store, text)
            assert used not in _explained(store, f"AS OF SYSTEM TIME {before} {text}")
            assert (
                session.run(text).single()
                == session.run(f"AS OF SYSTEM TIME {before} {text}").single()
                == 1
            )
        made = (
            "CREATE (x:K {a: 1}) WITH 1 AS one MATCH (k:K {a: 1}) SET k.b = coalesce(k.b, 2) RETURN"
            " count(k)"
        )
        assert session.run(made).single() == 2
        assert session.run("MATCH (k:K {a: 1}) RETURN count(k)").single() == 2
        assert used not in _explained(store, "MATCH (k:K {b: 1}) RETURN count(k)")
        assert used not in _explained(store, "MATCH (k:K) RETURN count(k)")


def test_many_ranges_become_fewer(store: Store) -> None:
    """Lists for several properties multiply; beyond a bound the index is read more widely."""
    with _session(store) as fast, _session(store, optimise=False) as plain:
        many = {"many": list(range(400))}
        for text in (
            f"{N} n.a IN $many AND n.b IN $many RETURN n.i",
            f"{N} n.a IN $many AND n.b >= 0 RETURN n.i",
        ):
            assert sorted(fast.run(text, many)) == sorted(plain.run(text, many))
