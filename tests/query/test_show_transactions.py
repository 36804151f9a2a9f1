"""SHOW and TERMINATE TRANSACTIONS: who runs what, who sees it, what a termination ends. SHOW
CURRENT USER and db.info."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.base.temporal import Duration
from doxa.cypher.errors import QueryError
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

SHOW = (
    "SHOW TRANSACTIONS YIELD transactionId, username, currentQuery, status"
    " WHERE NOT currentQuery STARTS WITH 'SHOW'"
)


class World:
    def __init__(self, store: Store) -> None:
        self.store, self.engine = store, QueryEngine()
        self.sessions: list[GraphSession] = []

    def session(self, actor: str, role: str = "agent") -> GraphSession:
        made = GraphSession(self.store, self.engine, Identity(actor, role))  # type: ignore[arg-type]
        self.sessions.append(made)
        return made


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Store(tmp_path / "graph.db") as store:
        made = World(store)
        yield made
        for session in made.sessions:
            session.close()
        assert made.engine.transactions.seen_by(Identity("x", "operator")) == []


def shown(session: GraphSession) -> list[tuple[Any, ...]]:
    return [
        (row["username"], row["currentQuery"], row["status"]) for row in session.run(SHOW).records()
    ]


def test_an_operator_sees_all_and_an_agent_its_own(world: World) -> None:
    ana, bot, other = world.session("ana", "operator"), world.session("bot"), world.session("other")
    bot.begin()
    bot.run("CREATE (:A)")
    result = other.run("UNWIND range(1, 10) AS x RETURN x")
    next(iter(result))
    assert shown(ana) == [
        ("bot", "CREATE (:A)", "Running"),
        ("other", "UNWIND range(1, 10) AS x RETURN x", "Running"),
    ]
    assert shown(world.session("bot")) == [("bot", "CREATE (:A)", "Running")]
    assert shown(world.session("third")) == []
    list(result)
    bot.commit()
    assert shown(ana) == []


def test_a_statement_lists_itself(world: World) -> None:
    (row,) = world.session("ana").run("SHOW TRANSACTIONS").records()
    assert (row["username"], row["currentQuery"]) == ("ana", "SHOW TRANSACTIONS")
    assert row["database"] == "doxa" and row["transactionId"].startswith("doxa-transaction-")
    assert isinstance(row["elapsedTime"], Duration) and row["startTime"].endswith("Z")


@pytest.mark.parametrize("end", ["commit", "rollback", "failure", "write", "drop", "syntax"])
def test_what_has_ended_is_not_listed(world: World, end: str) -> None:
    session = world.session("bot")
    if end in ("commit", "rollback"):
        session.begin()
        session.run("CREATE (:A)")
        getattr(session, end)()
    elif end == "failure":
        session.begin()
        with pytest.raises(QueryError):
            session.run("CREATE (:A {x: {}})")
    elif end == "drop":
        session.run("UNWIND [1, 2] AS x RETURN x").close()
    elif end == "syntax":
        with pytest.raises(QueryError):
            session.run("RETURN")
    else:
        session.run("CREATE (:A)")
    assert shown(world.session("ana", "operator")) == []


def identifier(session: GraphSession) -> str:
    (row,) = session.run(SHOW).records()
    return str(row["transactionId"])


def test_a_terminated_transaction_is_rolled_back_at_its_next_statement(world: World) -> None:
    ana, bot = world.session("ana", "operator"), world.session("bot")
    for step in ("run", "commit"):
        bot.begin()
        bot.run("CREATE (:A)")
        (row,) = ana.run("TERMINATE TRANSACTION $id", {"id": identifier(ana)}).records()
        assert (row["username"], row["message"]) == ("bot", "Transaction terminated.")
        assert [one[2] for one in shown(ana)] == ["Terminated"]
        with pytest.raises(QueryError) as caught:
            bot.run("RETURN 1") if step == "run" else bot.commit()
        assert caught.value.detail == "Terminated"
        assert not bot.in_transaction
        assert shown(ana) == []
        assert ana.run("MATCH (a:A) RETURN count(a)").single() == 0
    assert bot.run("RETURN 1").single() == 1


def test_a_running_statement_is_terminated(world: World) -> None:
    ana, bot = world.session("ana", "operator"), world.session("bot")
    caught: list[str] = []

    def work() -> None:
        try:
            bot.run("CALL apoc.util.sleep(600000)")
        except QueryError as error:
            caught.append(error.detail)

    thread = threading.Thread(target=work)
    thread.start()
    while not (rows := ana.run(SHOW).records()):
        pass
    ana.run("TERMINATE TRANSACTIONS $ids", {"ids": [rows[0]["transactionId"]]}).records()
    thread.join(30)
    assert caught == ["Terminated"]


def test_an_agent_terminates_only_its_own(world: World) -> None:
    ana, bot, spy = world.session("ana", "operator"), world.session("bot"), world.session("spy")
    bot.begin()
    bot.run("CREATE (:A)")
    found = identifier(ana)
    for absent in (found, "doxa-transaction-999999"):
        (row,) = spy.run(f"TERMINATE TRANSACTION '{absent}'").records()
        assert (row["username"], row["message"]) == (None, "Transaction not found.")
    assert spy.run(f"SHOW TRANSACTION '{found}'").records() == []
    bot.commit()
    assert ana.run("MATCH (a:A) RETURN count(a)").single() == 1


@pytest.mark.parametrize("given", ["'x'", "''", "1", "null", "['doxa-transaction-1', 2]", "{}"])
def test_an_id_that_cannot_be_is_refused(world: World, given: str) -> None:
    with pytest.raises(QueryError) as caught:
        world.session("ana").run(f"TERMINATE TRANSACTIONS {given}").records()
    assert caught.value.detail == "InvalidArgumentValue"


def test_ids_are_texts_lists_or_parameters(world: World) -> None:
    session = world.session("ana", "operator")
    text = (
        "TERMINATE TRANSACTIONS 'a-transaction-7', ['a-transaction-8'], $x YIELD transactionId AS t"
    )
    rows = session.run(f"{text} RETURN t ORDER BY t DESC", {"x": "a-transaction-9"}).records()
    assert [row["t"][-1] for row in rows] == ["9", "8", "7"]
    with pytest.raises(QueryError):
        session.run("TERMINATE TRANSACTIONS")


def test_the_current_user(world: World) -> None:
    assert world.session("bot").run("SHOW CURRENT USER").records() == [
        {
            "user": "bot",
            "roles": ["agent"],
            "passwordChangeRequired": False,
            "suspended": False,
            "home": None,
        }
    ]
    assert world.session("a", "operator").run(
        "SHOW CURRENT USER YIELD user, roles RETURN user + roles[0] AS who"
    ).records() == [{"who": "aoperator"}]


def test_the_database(world: World) -> None:
    session = world.session("bot")
    assert session.run("CALL db.info()").records()[0]["creationDate"] is None
    session.run("CREATE (:A)")
    (info,) = session.run("CALL db.info()").records()
    assert info["name"] == "doxa" and len(info["id"]) >= 32 and info["creationDate"].endswith("Z")
    session.run("CREATE (:A)")
    assert session.run("CALL db.info()").records() == [info]
