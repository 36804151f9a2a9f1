"""Lookups of many rows by single values give what one lookup after the other gives: the same rows
in the same order, and the same log of what is created from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doxa
from doxa.query.sql import pattern_scan, plain_lookups

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from((2**53, 2**53 + 1, -(2**63), 2**63 - 1)),
    st.sampled_from((0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"))),
    st.sampled_from(("", "a", "b", "é", "a\x00", "\x00", "1")),
    st.lists(st.integers(0, 1), max_size=2),
)
STORED = [None, True, False, 0, 1, -1, 1.0, 2.5, 2**53, 2**53 + 1, "", "a", "b", "é", "a\x00", "1"]
QUERIES = (
    "UNWIND $rows AS r MATCH (a:P {id: r.a}) RETURN r.a, a.n",
    "UNWIND $rows AS r MATCH (a:P {id: r.a}), (b:P {id: r.b}) RETURN r.a, r.b, a.n, b.n",
    "UNWIND $rows AS r MATCH (a:P {id: r.a, kind: r.b}) RETURN r.a, a.n",
    "UNWIND $rows AS r OPTIONAL MATCH (a:P {id: r.a}) WHERE a.kind = 'x' RETURN r.a, a.n",
    "UNWIND $rows AS r MATCH (a:P) WHERE a.id = r.a RETURN r.a, a.n LIMIT 5",
)


def filled(path: Path, index: str) -> doxa.Memory:
    memory = doxa.open(path, embedder=None, background=False, role="operator")
    if index:
        list(memory.run(index))
    rows = [
        {"id": value, "n": number, "kind": kind}
        for number, value in enumerate(STORED)
        for kind in ("x", 1)
    ]
    list(memory.run("UNWIND $rows AS r CREATE (n:P) SET n = r", {"rows": rows}))
    return memory


@pytest.fixture(
    scope="module",
    params=["", "CREATE INDEX p FOR (n:P) ON (n.id)", "CREATE INDEX p FOR (n:P) ON (n.id, n.kind)"],
)
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    with filled(tmp_path_factory.mktemp("lookups") / "m.db", request.param) as opened:
        yield opened


def found(memory: doxa.Memory, query: str, rows: list[dict[str, Any]]) -> list[str]:
    return [repr(tuple(row)) for row in memory.run(query, {"rows": rows})]


@given(
    rows=st.lists(st.fixed_dictionaries({"a": VALUES, "b": VALUES}), max_size=80),
    query=st.sampled_from(QUERIES),
)
def test_many_rows_find_what_each_finds(
    memory: doxa.Memory, rows: list[dict[str, Any]], query: str
) -> None:
    at_once = found(memory, query, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern_scan, "compares_singly", lambda _: False)
        assert at_once == found(memory, query, rows)


def test_rows_of_the_same_types_skip_the_classification(
    memory: doxa.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    classify = plain_lookups.classify_arguments
    monkeypatch.setattr(
        plain_lookups,
        "classify_arguments",
        lambda *given: calls.append(given) or classify(*given),
    )
    rows = [{"a": number} for number in range(100)] + [{"a": "a"}, {"a": "b"}, {"a": "a\x00"}]
    found(memory, QUERIES[0], rows)
    assert len(calls) == 3  # numbers, texts, and the text with a zero byte


def entries(memory: doxa.Memory) -> list[tuple[Any, ...]]:
    """The log but its salts and hashes, and the receipts but their times."""
    with memory.store.read() as reader:
        return [
            *reader.rows(
                "SELECT l.seq, l.tx, l.op, l.element, p.payload FROM log l LEFT JOIN log_payload p"
                " ON p.seq = l.seq ORDER BY l.seq"
            )
        ]


def test_what_is_created_from_many_rows_is_logged_as_from_single_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"a": n % 7, "b": (n * 5) % 11, "w": n} for n in range(300)]
    query = (
        "UNWIND $rows AS r MATCH (a:P {n: r.a}), (b:P {n: r.b}) CREATE (a)-[:KNOWS {w: r.w}]->(b)"
    )
    nodes = "UNWIND $rows AS r CREATE (:Q {id: r.w, name: toString(r.w)})"
    logs = []
    for name, plain in (("on", True), ("off", False)):
        if not plain:
            monkeypatch.setattr(pattern_scan, "compares_singly", lambda _: False)
        with filled(tmp_path / f"{name}.db", "CREATE INDEX p FOR (n:P) ON (n.n)") as memory:
            list(memory.run(query, {"rows": rows}))
            list(memory.run(nodes, {"rows": rows}))
            list(memory.run(query.replace("CREATE", "MERGE"), {"rows": rows[:40]}))
            assert not memory.check()
            logs.append(entries(memory))
    assert logs[0] == logs[1]
    assert len(logs[0]) > 600
