"""Statements that work for long after their timeout: each kind of work is counted, so that the
timeout is looked at. Ticks are counted, not seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.cypher.errors import QueryError
from doxa.query.core import deadline as deadlines
from doxa.query.core.deadline import Deadline
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

ROWS = 200


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with (
        Store(tmp_path / "graph.db") as store,
        GraphSession(store, QueryEngine(), Identity("tester", "operator")) as made,
    ):
        yield made


class Clock:
    """Passes the deadline after a number of looks at it."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def monotonic(self) -> float:
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 1e9


def ticks(session: GraphSession, monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """Count the ticks of a statement."""
    counted = 0
    plain = Deadline.tick

    def tick(self: Deadline) -> None:
        nonlocal counted
        counted += 1
        plain(self)

    with monkeypatch.context() as patch:
        patch.setattr(Deadline, "tick", tick)
        list(session.run(text))
    return counted


WRITES = {
    "CREATE": "WITH range(1, {n}) AS x FOREACH (i IN x | CREATE (:N {{i: i}}))",
    "several patterns": "UNWIND range(1, {n}) AS i CREATE (:N {{i: i}}), (:M {{i: i}})",
    "FOREACH in FOREACH": "FOREACH (i IN range(1, 1) | FOREACH (j IN range(1, {n}) | CREATE (:N)))",
    "MERGE": "FOREACH (i IN range(1, {n}) | MERGE (:N {{i: 0}}))",
    "SET": "CREATE (n:N) FOREACH (i IN range(1, {n}) | SET n.x = i)",
    "DELETE": "CREATE (n:N) FOREACH (i IN range(1, {n}) | DELETE n)",
}


@pytest.mark.parametrize("kind", WRITES)
def test_every_written_row_is_work(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """An item of a list costs two ticks: one to take it and one to write it."""
    few, many = (ticks(session, monkeypatch, WRITES[kind].format(n=n)) for n in (ROWS, 3 * ROWS))
    assert many - few >= 2 * 2 * ROWS


def test_every_token_and_expression_is_work(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def text(count: int) -> str:
        return f"RETURN [{', '.join(['[1, x.y]'] * count)}] AS list, {count} AS count".replace(
            "x.y", "{a: 1}.a"
        )

    few, many = (ticks(session, monkeypatch, text(n)) for n in (ROWS, 2 * ROWS))
    assert many - few >= 20 * ROWS  # 12 tokens; 5 expressions, each parsed, checked, planned


@pytest.mark.parametrize("kind", [*WRITES, "parsing"])
def test_a_statement_ends_soon_after_its_timeout(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    text = (
        f"RETURN [{', '.join(['1'] * 5_000)}] AS list"
        if kind == "parsing"
        else WRITES[kind].format(n=5_000)
    )
    session.run("RETURN 1")
    monkeypatch.setattr(deadlines, "time", Clock(3))
    with pytest.raises(QueryError) as caught:
        list(session.run(text))
    monkeypatch.undo()
    assert caught.value.detail == "TimedOut"
    assert session.run("MATCH (n) RETURN count(n)").single() == 0


def test_a_cancelled_statement_is_not_parsed_to_its_end(session: GraphSession) -> None:
    engine = session.engine
    prepare = engine.prepare

    def cancelling(text: str, tick: object = None) -> object:
        session.cancel()
        return prepare(text, tick)  # type: ignore[arg-type]

    engine.prepare = cancelling  # type: ignore[method-assign, assignment]
    with pytest.raises(QueryError) as caught:
        session.run(f"RETURN [{', '.join(['1'] * 5_000)}]")
    assert caught.value.detail == "Terminated"
