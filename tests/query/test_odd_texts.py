"""Texts with U+0000 and with characters beyond 16 bits: WHERE, which SQL may test, agrees with
RETURN, which Python evaluates. SQLite's functions end some texts at U+0000."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

_WHO = Identity("t", "operator")
_LETTERS = ("\x00", "a", "b", "ä", "\U0001f600")
_TEXTS = ["".join(some) for n in range(4) for some in itertools.product(_LETTERS, repeat=n)]
_ARGUMENTS = [text for text in _TEXTS if len(text) < 3]


@pytest.fixture(scope="module", params=["plain", "indexed", "text"])
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GraphSession]:
    path = tmp_path_factory.mktemp("odd") / "graph.db"
    with Store(path) as store, GraphSession(store, QueryEngine(), _WHO) as made:
        made.run("UNWIND $texts AS x CREATE (:E {x: x})-[:R {x: x}]->(:F)", {"texts": _TEXTS})
        if request.param != "plain":
            kind = "TEXT" if request.param == "text" else ""
            made.run(f"CREATE {kind} INDEX FOR (n:E) ON (n.x)")
            made.run(f"CREATE {kind} INDEX FOR ()-[r:R]-() ON (r.x)")
        yield made


@pytest.mark.parametrize("pattern", ["(n:E)", "()-[n:R]->()"])
@pytest.mark.parametrize(
    "test",
    [
        *[f"n.x {op} $p" for op in ("STARTS WITH", "ENDS WITH", "CONTAINS")],
        *[f"n.x {op} $p" for op in ("=", "<>", "<", "<=", ">", ">=")],
        "n.x IN [$p, 'b', '\\u0000']",
        "n.x ENDS WITH $p OR n.x STARTS WITH $p",
        "size(n.x) = size($p)",
        "substring(n.x, 1) = $p",
        "right(n.x, 1) = $p",
    ],
)
def test_where_finds_what_return_says(session: GraphSession, pattern: str, test: str) -> None:
    for given in _ARGUMENTS:
        found = session.run(f"MATCH {pattern} WHERE {test} RETURN n.x", {"p": given})
        told = session.run(f"MATCH {pattern} RETURN n.x, {test}", {"p": given})
        assert sorted(row[0] for row in found) == sorted(x for x, holds in told if holds), given


def test_a_text_ends_as_in_python(session: GraphSession) -> None:
    for given in _ARGUMENTS:
        found = session.run("MATCH (n:E) WHERE n.x ENDS WITH $p RETURN n.x", {"p": given})
        assert sorted(row[0] for row in found) == [x for x in sorted(_TEXTS) if x.endswith(given)]


def test_groups_extremes_and_orders_take_whole_texts(session: GraphSession) -> None:
    rows = [tuple(row) for row in session.run("MATCH (n:E) RETURN n.x, count(*)")]
    assert sorted(rows) == [(text, 1) for text in sorted(_TEXTS)]
    (least, most), *_ = session.run("MATCH (n:E) RETURN min(n.x), max(n.x)")
    assert (least, most) == (min(_TEXTS), max(_TEXTS))
    first = session.run("MATCH (n:E) RETURN n.x ORDER BY n.x LIMIT 40")
    assert [row[0] for row in first] == sorted(_TEXTS)[:40]
