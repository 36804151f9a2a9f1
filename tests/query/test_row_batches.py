"""Reading ahead: how far, in what parts, and that nothing is lost before an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.query.sql.row_batches import KEYS_MAX, ROWS_MAX, Template, chunks, parts
from doxa.store import Identity, Store


def test_chunks_grow_and_lose_nothing() -> None:
    found = list(chunks(iter(range(500))))
    assert [item for chunk in found for item in chunk] == list(range(500))
    assert [len(chunk) for chunk in found][:4] == [1, 8, ROWS_MAX, ROWS_MAX]
    longer = [len(chunk) for chunk in chunks(iter(range(2_000)), most=KEYS_MAX)]
    assert longer == [1, 8, ROWS_MAX, KEYS_MAX, KEYS_MAX, KEYS_MAX, 2_000 - 73 - 3 * KEYS_MAX]
    assert [len(part) for part in parts(list(range(75)))] == [ROWS_MAX, 8, 1, 1, 1]
    assert list(chunks(iter(()))) == []


def test_what_came_before_an_error_is_given_first() -> None:
    def failing() -> Iterator[int]:
        yield from range(5)
        raise ValueError

    given: list[int] = []
    with pytest.raises(ValueError):
        for chunk in chunks(failing()):
            given += chunk
    assert given == [0, 1, 2, 3, 4]


def test_a_limit_is_reached_before_an_error_further_on(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "graph.db") as store,
        GraphSession(store, QueryEngine(), Identity("t", "operator")) as session,
    ):
        session.run("CREATE (:A {x: 1})")
        text = (
            "UNWIND [1, 1, 1, 0, 1, 1] AS d MATCH (n:A) WHERE n.x = 1 / d RETURN n.x LIMIT $limit"
        )
        assert len(list(session.run(text, {"limit": 3}))) == 3
        with pytest.raises(Exception, match="zero"):
            list(session.run(text, {"limit": 4}))


def test_the_columns_stand_where_the_arguments_stood() -> None:
    body = "FROM a WHERE a.x >= ? AND a.y = ? AND a.x < ?", [("low",), 7, ("high",)]
    template = Template(
        ("a.id, a.p -> ?", ["$.x"]), body, columns=[("low",), ("high",)], apart=False
    )
    assert template.statement([[1, 2], [3, 4]]) == (
        (
            "SELECT a.id, a.p -> ?, k.n FROM (SELECT column1 AS n, column2 AS c0, column3 AS c1"
            " FROM (VALUES (?, ?, ?), (?, ?, ?))) k CROSS JOIN a WHERE a.x >= k.c0 AND a.y = ? AND"
            " a.x < k.c1"
        ),
        ["$.x", 0, 1, 2, 1, 3, 4, 7],
    )


def test_a_question_mark_in_a_name_and_a_table_apart_are_asked_about_row_by_row() -> None:
    named = Template(
        ("1", []), ('FROM a WHERE a."x?" = ?', [("test", 0)]), columns=[("test", 0)], apart=False
    )
    apart = Template(
        ("1", []), ("FROM (SELECT ? AS id) a", [("node", 0)]), columns=[("node", 0)], apart=True
    )
    assert (named.statement([[1], [2]]), apart.statement([[1], [2]])) == (None, None)
