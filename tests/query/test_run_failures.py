"""Failures while a query runs: where they are, in whose words, and that nothing of them lives on
after the statement."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa import open as open_memory
from doxa.app import Memory
from doxa.cypher.errors import QueryError
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store, check


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with (
        Store(tmp_path / "graph.db") as store,
        GraphSession(store, QueryEngine(), Identity("tester", "operator")) as made,
    ):
        yield made


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.db", role="operator", embedder=None, background=False) as made:
        yield made


@pytest.mark.parametrize(
    "text, line, column",
    [
        ("RETURN 1 AS a\nUNION\nRETURN 1/0 AS a", 3, 9),
        ("RETURN 9223372036854775807 + 1 AS x", 1, 28),
        ("WITH 0 AS z\nRETURN range(1, 10, z)", 2, 8),
        ("WITH -1 AS n RETURN substring('abc', n)", 1, 21),
        ("RETURN 'a' =~ '(' AS x", 1, 12),
        ("RETURN 1 AS one, date('2024-02-30') AS d", 1, 18),
        ("RETURN point({x: 1}) AS p", 1, 8),
        ("RETURN duration('rubbish') AS d", 1, 8),
        ("RETURN toUpper(substring('abc', -$one))", 1, 16),
        ("MATCH (n) WHERE n.x = $missing RETURN n", 1, 23),
        ("WITH [1] AS l RETURN l['a']", 1, 24),
    ],
)
def test_an_error_knows_its_place(session: GraphSession, text: str, line: int, column: int) -> None:
    session.run("CREATE (:A {x: 1})")
    with pytest.raises(QueryError) as caught:
        session.run(text, {"one": 1}).records()
    fields = caught.value.fields
    assert (fields.get("line"), fields.get("column")) == (line, column)
    assert "^" in str(fields["excerpt"]) and str(fields["excerpt"]) in caught.value.message


def test_a_timeout_ends_with_its_statement(session: GraphSession) -> None:
    session.run("UNWIND range(1, 20000) AS i CREATE (:Z {i: i})")
    session.run("CREATE (:A)", timeout_ms=50)
    session.run("MATCH (a:A) RETURN a", timeout_ms=50).records()
    time.sleep(0.1)
    session.run("CREATE INDEX z FOR (n:Z) ON (n.i)")
    assert check(session.store) == []
    session.begin()
    session.run("MATCH (a:A) RETURN a", timeout_ms=50).records()
    time.sleep(0.1)
    assert session.run("MATCH (z:Z) WHERE z.i + 0 > 0 RETURN count(z)").single() == 20_000
    session.commit()


def test_schema_commands_have_a_timeout_of_their_own(session: GraphSession) -> None:
    session.run("UNWIND range(1, 20000) AS i CREATE (:Z {i: i})")
    with pytest.raises(QueryError) as caught:
        session.run("CREATE INDEX z FOR (n:Z) ON (n.i)", timeout_ms=1)
    assert caught.value.detail == "TimedOut"
    assert session.run("SHOW INDEXES YIELD name WHERE name = 'z' RETURN count(*)").single() == 0


def test_the_memory_tells_a_timeout_as_the_session_does(memory: Memory) -> None:
    memory.run("UNWIND range(1, 400) AS i CREATE (:Z {i: i})")
    for _ in range(3):
        with pytest.raises(QueryError) as caught:
            memory.run(
                "MATCH (a:Z), (b:Z), (c:Z) WHERE a.i + b.i = c.i - 1000 RETURN count(*)",
                timeout_ms=100,
            )
        assert caught.value.detail == "TimedOut"
    assert memory.verify().receipts and memory.run("RETURN 1").single() == 1


@pytest.mark.parametrize(
    "expression", ["(a+)+$", "(a|aa)+$", "(.*)*x", "((a?){20}){20}b", "(a*)*(a*)*(a*)*!x"]
)
def test_no_regular_expression_backtracks(session: GraphSession, expression: str) -> None:
    """The engine is RE2, which takes time in proportion to the text. By backtracking, none of these
    would end."""
    given = {"t": "a" * 5_000 + "!", "e": expression}
    assert session.run("RETURN $t =~ $e", given).single() is False


def test_regular_expressions_match_whole_texts(session: GraphSession) -> None:
    held = {
        "A.C": ("ABC", True),
        "(?i)a.c": ("ABC", True),
        "a": ("ab", False),
        r"\p{L}+": ("äö", True),
        ".*": ("a\nb", False),
    }
    held |= {
        "(?s).*": ("a\nb", True),
        "(?iu)ä.*": ("Äx", True),
        "(?u)a": ("a", True),
        "(?i-u:A)b": ("ab", True),
        r"\(\?u\)": ("(?u)", True),
    }
    held |= {"[(?u)]+": ("u?", True), "(?u:A)": ("a", False), "[]a]": ("]", True)}
    for expression, (text, expected) in held.items():
        assert session.run("RETURN $t =~ $e", {"t": text, "e": expression}).single() is expected
    for expression in ("(", "(?=a)a", r"(a)\1", "[z-a]", "a{2,1}"):
        with pytest.raises(QueryError, match="regular expression"):
            session.run("RETURN 'a' =~ $e", {"e": expression}).records()


COMMANDS = (
    "CREATE INDEX x FOR (n:A) ON (n.x)",
    "DROP INDEX x IF EXISTS",
    "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE",
)


@pytest.mark.parametrize("when", ["SYSTEM", "VALID"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_schema_of_the_past_is_not_changed(
    session: GraphSession, when: str, command: str
) -> None:
    with pytest.raises(QueryError, match="AS OF is for reading"):
        session.run(f"AS OF {when} TIME datetime() {command}")
    session.run(f"AS OF {when} TIME datetime() SHOW INDEXES")


def test_numbers_are_rounded_as_they_are_written(session: GraphSession) -> None:
    text = (
        "RETURN [round(1.255, 2, 'HALF_UP'), round(2.675, 2), round(-1.5), round(2.5),"
        " round(0.49999999999999994), round(1e22, 3), round(7, 2)]"
    )
    assert session.run(text).single() == [1.26, 2.68, -1.0, 3.0, 0.0, 1e22, 7.0]
