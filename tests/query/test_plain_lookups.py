"""Lookups of many rows by single values give what one lookup after the other gives: the same rows
in the order of what is looked up, and the same log of what is created from them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import doxa
from doxa.base.errors import DoxaError
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


ROWS = st.lists(st.fixed_dictionaries({"a": VALUES, "b": VALUES}), max_size=80)
OF_ONE_TYPE = [  # of each column
    st.lists(st.fixed_dictionaries({"a": one, "b": other}), min_size=2, max_size=200)
    for one in (
        st.integers(-3, 3) | st.sampled_from((2**53, 2**53 + 1, 2**63 - 1, -(2**63))),
        st.sampled_from(("", "a", "b", "é", "1")),
        st.booleans(),
    )
    for other in (st.integers(0, 2**53 + 2), st.sampled_from(("a", "x")))
]


@given(rows=st.one_of(ROWS, *OF_ONE_TYPE), query=st.sampled_from(QUERIES))
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
    for module in (plain_lookups, pattern_scan):
        monkeypatch.setattr(
            module,
            "classify_arguments",
            lambda *given: calls.append(given) or classify(*given),
        )
    rows = [{"a": number} for number in range(100)] + [{"a": "a"}, {"a": "b"}, {"a": "a\x00"}]
    found(memory, QUERIES[0], rows)
    # the first number alone, and then of many; where types differ, or no index has them as keys,
    # numbers, texts, and that with a zero byte
    assert len(calls) == 5


WRITES = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "UNWIND $rows AS r MATCH (a:P {id: r.a}) SET a.id = r.b",
                "UNWIND $rows AS r MATCH (a:P {id: r.a}) REMOVE a.id",
                "UNWIND $rows AS r MATCH (a:P {id: r.a}) REMOVE a:P SET a:Q",
                "UNWIND $rows AS r MATCH (a:P {id: r.a}) DETACH DELETE a",
                "UNWIND $rows AS r CREATE (:P {id: r.a, n: 0})",
                "UNWIND $rows AS r MERGE (a:P {id: r.a}) SET a.n = r.b",
                QUERIES[0],
                QUERIES[1],
            )
        ),
        st.one_of(ROWS, *OF_ONE_TYPE[:3]).map(lambda rows: rows[:9]),
    ),
    max_size=6,
)


@settings(max_examples=40, deadline=None)
@given(statements=WRITES)
def test_what_a_transaction_has_written_is_found_by_its_keys(
    statements: list[tuple[str, list[dict[str, Any]]]],
) -> None:
    """With an index, whose entries decide, and without one, where every node is tested."""
    answers = []
    for index in ("CREATE INDEX p FOR (n:P) ON (n.id)", ""):
        with (
            tempfile.TemporaryDirectory() as folder,
            filled(Path(folder) / "m.db", index) as memory,
        ):
            answers.append(_in_a_transaction(memory, statements))
            assert not memory.check()
    assert answers[0] == answers[1]


def _in_a_transaction(
    memory: doxa.Memory, statements: list[tuple[str, list[dict[str, Any]]]]
) -> list[list[str]]:
    """The rows of each answer, in an order of their own, and what is there at the end and after it;
    an error, which ends the transaction, by its kind."""
    given = []
    every = "MATCH (n:P) RETURN n.id, n.n"
    with memory.graph() as graph:
        graph.begin()
        try:
            for text, rows in [*statements, (every, [])]:
                given.append(sorted(repr(tuple(row)) for row in graph.run(text, {"rows": rows})))
        except DoxaError as error:
            given.append([str(error.fields.get("detail"))])
        else:
            graph.commit()
    return [*given, sorted(found(memory, every, []))]


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
