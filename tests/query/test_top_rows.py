"""ORDER BY with LIMIT returns a prefix of the same query without LIMIT, whatever the values are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from doxa.base.spatial import Point
from doxa.base.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from doxa.query.core.comparison import order_key
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.query.sql.exactness import UndecidedInSQL
from doxa.query.sql.top_rows import TopRowsScanStep
from doxa.store import Identity, Store
from doxa.store.image.images import Images

_WHO = Identity("t", "operator")
_NUMBERS = (-3, 0, 1, 1.0, 2.5, 2**53, 2**53 + 1, -(2**63), 5e-324, -0.0, 1.7e308)
_NOT_FINITE = (float("inf"), float("-inf"), float("nan"))
_TEXTS = ("", "a", "A", "a\x00", "a\x00b", "ä", "\U0001f600", "\uffff", '{"$float":"NaN"}')
_UNDECIDED: tuple[Any, ...] = (
    Date(1),
    Date(-1),
    DateTime(0, 0, 0, None),
    LocalDateTime(5, 0),
    Time(1, 0),
    LocalTime(1),
    Duration(0, 1, 0, 0),
    Point(7203, 1.0, 2.0),
    Point(4326, -1.0, 2.0),
    [],
    [1],
    ["a", "b"],
    b"\x00",
)
_KINDS: dict[str, tuple[Any, ...]] = {
    "Finite": (0.5, 2.5, -3.5, 1e300, 1.0, 1.0, None, None),
    "Floats": (0.5, 2.5, -3.5, *_NOT_FINITE, *_NOT_FINITE, None),
    "Numbers": (*_NUMBERS, *_NOT_FINITE, None),
    "Ordered": (*_NUMBERS, *_NOT_FINITE, *_TEXTS, True, False, None),
    "Every": (*_NUMBERS, *_NOT_FINITE, *_TEXTS, True, False, None, *_UNDECIDED),
    "Undecided": (*_UNDECIDED, float("inf"), "a", None),
}


@pytest.fixture(scope="module", params=["plain", "indexed", "image"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    rng = random.Random(3)
    with Store(tmp_path_factory.mktemp("top") / "graph.db") as made:
        with made.write(_WHO, op="test") as tx:
            for label, values in _KINDS.items():
                nodes = []
                for x in values:
                    props = {"x": x, "y": rng.choice(values), "g": rng.randrange(3)}
                    held = {name: value for name, value in props.items() if value is not None}
                    nodes.append(tx.create_node([label], held))
                for node in nodes:
                    w = rng.choice(values)
                    tx.create_edge(
                        f"OF_{label}".upper(),
                        node,
                        dst=rng.choice(nodes),
                        props={} if w is None else {"w": w},
                    )
        if request.param == "indexed":
            with GraphSession(made, QueryEngine(), _WHO) as session:
                for label in _KINDS:
                    session.run(f"CREATE INDEX FOR (n:{label}) ON (n.x)")
                    session.run(f"CREATE INDEX FOR (n:{label}) ON (n.g, n.y)")
        if request.param == "image":
            made.images = Images(1 << 24, patience=0)
        yield made


_QUERIES = (
    "MATCH (n:{label}) RETURN n.x AS a, 0 AS b ORDER BY a {one}",
    "MATCH (n:{label}) RETURN n.x AS a, n.y AS b ORDER BY a {one}, b {two}",
    "MATCH (n:{label}) RETURN n.g AS a, n.x AS b ORDER BY a {one}, b {two}",
    "MATCH (n:{label}) WHERE n.x IS NOT NULL RETURN n.x AS a, n.g AS b ORDER BY a {one}, b {two}",
    "MATCH (n:{label}) WHERE n.x > 0 RETURN n.x AS a, n.y AS b ORDER BY a {one}, b {two}",
    "MATCH (n:{label}) WHERE n.g = 1 RETURN n.y AS a, n.x AS b ORDER BY a {one}, b {two}",
    "MATCH (n:{label})-[r]->(m) RETURN r.w AS a, m.x AS b ORDER BY a {one}, b {two}",
)


@pytest.mark.parametrize("label", _KINDS)
@pytest.mark.parametrize("text", _QUERIES)
def test_a_limit_returns_a_prefix(store: Store, text: str, label: str) -> None:
    with GraphSession(store, QueryEngine(), _WHO) as session:
        for one in ("", "DESC"):
            for two in ("", "DESC") if "{two}" in text else ("",):
                whole = text.format(label=label, one=one, two=two)
                expected = _keys(session.run(whole))
                for most in range(1, len(expected) + 2):
                    found = _keys(session.run(f"{whole} LIMIT $k", {"k": most}))
                    assert found == expected[:most], (whole, most)
                assert _keys(session.run(f"{whole} SKIP 2 LIMIT 3")) == expected[2:5], whole


@pytest.mark.parametrize("label", _KINDS)
def test_a_limit_of_with_returns_a_prefix(store: Store, label: str) -> None:
    whole = f"MATCH (n:{label}) WITH n ORDER BY n.g, n.x DESC %s RETURN n.g, n.x"
    with GraphSession(store, QueryEngine(), _WHO) as session:
        expected = _keys(session.run(whole % ""))
        for most in range(1, len(expected) + 2):
            assert _keys(session.run(whole % f"LIMIT {most}")) == expected[:most], most


def test_a_limit_returns_a_prefix_in_a_transaction_and_of_the_past(store: Store) -> None:
    whole = "MATCH (n:Ordered) RETURN n.x AS a, n.y AS b ORDER BY a DESC, b"
    with GraphSession(store, QueryEngine(), _WHO) as session:
        before = session.run("RETURN toString(datetime()) AS now").single()
        session.begin()
        session.run("CREATE (:Ordered {x: 1.0 / 0.0, y: 0.0 / 0.0}), (:Ordered {x: -1.0 / 0.0})")
        expected = _keys(session.run(whole))
        for most in range(1, len(expected) + 1):
            assert _keys(session.run(f"{whole} LIMIT {most}")) == expected[:most], most
        session.rollback()
        past = f"AS OF SYSTEM TIME datetime('{before}') {whole}"
        expected = _keys(session.run(past))
        for most in range(1, len(expected) + 1):
            assert _keys(session.run(f"{past} LIMIT {most}")) == expected[:most], most


def test_sql_orders_floats_that_are_not_finite(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prefix would prove nothing if SQL gave up on them."""
    first, undecided = TopRowsScanStep._first, []

    def counting(self: TopRowsScanStep, *args: Any) -> Any:
        try:
            return first(self, *args)
        except UndecidedInSQL:
            undecided.append(1)
            raise

    monkeypatch.setattr(TopRowsScanStep, "_first", counting)
    with GraphSession(store, QueryEngine(), _WHO) as session:
        for way in ("", "DESC"):
            list(session.run(f"MATCH (n:Ordered) RETURN n.x ORDER BY n.x {way} LIMIT 50"))
        assert not undecided
        list(session.run("MATCH (n:Every) RETURN n.x ORDER BY n.x LIMIT 1"))
        assert undecided


def _keys(rows: Any) -> list[Any]:
    """The rows as what the order compares; which of two equal values comes first is open."""
    return [tuple(map(order_key, row)) for row in rows]
