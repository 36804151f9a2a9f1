"""Every procedure of the graph with arguments of every kind and number: rows or a DoxaError."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.base.errors import DoxaError
from doxa.cypher.errors import QueryError
from doxa.query.engine import QueryEngine
from doxa.query.procedures.builtin import builtin
from doxa.query.procedures.registry import Registry
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

PROCEDURES = builtin(Registry()).all()
ODD = (
    "null",
    "1",
    "-1",
    "0",
    "1.5",
    "true",
    "'nope'",
    "''",
    "[]",
    "[null]",
    "[0.0]",
    "['x']",
    "{}",
    "{x: 1}",
    "{limit: 'x'}",
    "date('2024-01-01')",
    "duration('P1D')",
    "9223372036854775807",
    "-9223372036854775808",
    "1.0/0.0",
    "0.0/0.0",
    "n",
    "r",
    "p",
    "[n]",
    "'words'",
    "'near'",
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphSession]:
    folder: Path = tmp_path_factory.mktemp("procedures")
    with (
        Store(folder / "g.db") as store,
        GraphSession(store, QueryEngine(), Identity("t", "operator")) as made,
    ):
        made.run("CREATE FULLTEXT INDEX words FOR (n:N) ON EACH [n.text]")
        made.run("CREATE VECTOR INDEX near FOR (n:N) ON (n.v)")
        made.run(
            "CREATE CONSTRAINT windows FOR (n:words) REQUIRE (n.words, n.a, n.b) IS TEMPORAL NO"
            " OVERLAP"
        )
        made.run(
            "CREATE (:N {text: 'red', v: [1.0], at: date('2024-01-01'), p: point({x: 1, y: 2}), z:"
            " 1.0/0.0})-[:R {t: time('10:00')}]->(:N)"
        )
        yield made


def called(procedure: Any, args: tuple[str, ...]) -> str:
    """A statement that calls it, for an element of the graph if an argument is one."""
    signature = procedure.signature
    call = f"CALL {signature.name}({', '.join(args)})"
    if not {"n", "r", "p", "[n]"} & set(args):
        return call
    return (
        f"MATCH p = (n)-[r]->() {call}"
        + (f" YIELD {signature.results[0][0]} AS found" if signature.results else "")
        + " RETURN 1"
    )


def answered(session: GraphSession, procedure: Any, args: tuple[str, ...]) -> None:
    session.begin()
    try:
        session.run(called(procedure, args)).records()
    except DoxaError as error:
        assert getattr(error, "detail", "") not in ("UnexpectedSyntax", "InvalidSyntax"), error
    finally:
        if session.in_transaction:
            session.rollback()


GOOD = {
    "STRING": "'words'",
    "INTEGER": "1",
    "BOOLEAN": "false",
    "LIST": "[1.0]",
    "MAP": "{}",
    "NODE": "n",
    "RELATIONSHIP": "r",
    "ANY": "'2024-01-01'",
}


@pytest.mark.parametrize("procedure", PROCEDURES, ids=lambda item: item.signature.name)
def test_every_argument_of_every_kind(session: GraphSession, procedure: Any) -> None:
    signature = procedure.signature
    fitting = [GOOD[kind] for _, kind in signature.args]
    if ".vector.query" in signature.name:
        fitting[0] = "'near'"
    for index in range(len(fitting)):
        for odd in ODD:
            answered(session, procedure, (*fitting[:index], odd, *fitting[index + 1 :]))
    for odd in ODD:
        answered(session, procedure, (odd,) * len(fitting))
    for one, other in itertools.product(ODD, repeat=2) if len(fitting) == 2 else ():
        answered(session, procedure, (one, other))


@pytest.mark.parametrize("procedure", PROCEDURES, ids=lambda item: item.signature.name)
def test_every_number_of_arguments(session: GraphSession, procedure: Any) -> None:
    signature = procedure.signature
    for count in range(len(signature.args) + 3):
        args = tuple(GOOD[kind] for _, kind in signature.args[:count]) + ("1",) * max(
            0, count - len(signature.args)
        )
        answered(session, procedure, args)
        if not len(signature.args) - signature.optional <= count <= len(signature.args):
            with pytest.raises(QueryError):
                session.run(called(procedure, args)).records()


def test_the_log_is_read(session: GraphSession) -> None:
    every = session.run("CALL db.txlog.entries(1)").records()
    assert [row["sequence"] for row in every] == list(range(1, len(every) + 1))
    assert {row["database"] for row in every} == {session.run("SHOW DATABASES YIELD name").single()}
    assert (
        session.run("CALL db.txlog.entries(2, 3)").records()
        == every[1:3]
        == session.run("CALL db.txlog.entries(2, null)").records()[:2]
    )
    last = every[-1]["tx_id"]
    of_last = [row for row in every if row["tx_id"] == last]
    assert session.run("CALL db.txlog.byTxId($t)", {"t": last}).records() == of_last
    assert session.run("CALL db.txlog.byTxId($t, null)", {"t": int(last)}).records() == of_last
    assert session.run("CALL db.txlog.byTxId($t, 1)", {"t": last}).records() == of_last[:1]
    assert session.run("CALL db.txlog.byTxId($t, 0)", {"t": last}).records() == []
    assert session.run("CALL db.txlog.byTxId(999)").records() == []
    for bad in ("'nope'", "null", "1.5", "true", "0", "1, -1", "'١'"):
        with pytest.raises(QueryError):
            session.run(f"CALL db.txlog.byTxId({bad})").records()


def test_types_have_their_names(session: GraphSession) -> None:
    session.run(
        "MATCH (n:N {text: 'red'}) SET n.d = datetime('2024-01-01T00:00Z'), n.l ="
        " localdatetime('2024-01-01'), n.u = duration('P1D')"
    )
    rows = session.run(
        "CALL db.schema.nodeTypeProperties() YIELD propertyName, propertyTypes"
    ).records()
    found = {row["propertyName"]: row["propertyTypes"] for row in rows}
    assert found == {
        "text": ["String"],
        "v": ["List"],
        "at": ["Date"],
        "p": ["Point"],
        "z": ["Double"],
        "d": ["DateTime"],
        "l": ["LocalDateTime"],
        "u": ["Duration"],
    } | ({None: None} if None in found else {})
    rows = session.run(
        "CALL db.schema.relTypeProperties() YIELD propertyName, propertyTypes"
    ).records()
    assert rows == [{"propertyName": "t", "propertyTypes": ["Time"]}]
