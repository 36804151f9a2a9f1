"""The SQL of a statement is made once: other parameters run it again."""

from __future__ import annotations

from pathlib import Path

import pytest

import doxa
from doxa.app import Memory
from doxa.query.sql.pattern_sql import StatementBuilder

STATEMENTS = (
    "MATCH (n:City {name: $x}) RETURN n.size",
    "MATCH (n:City {name: $x})-[:NEAR]->(m) RETURN m.name",
    "MATCH (n:City {name: $x})-[:NEAR]->(m) RETURN count(m) AS n",
    "MATCH (n:City) WHERE n.size > $y RETURN n.name, count(*) AS n, max(n.size) AS most",
    "MATCH (n:City) WHERE n.size > $y RETURN n.name ORDER BY n.size DESC LIMIT 2",
)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    made = doxa.open(tmp_path / "m.doxa", embedder=None, role="operator")
    made.run(
        "UNWIND range(1, 9) AS i CREATE (:City {name: toString(i), size: i})-[:NEAR]->(:City {name:"
        " 'near', size: 0})"
    )
    return made


def made_by(memory: Memory, text: str, x: str, y: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a statement; return how many SQL statements were made for it."""
    made = 0
    body = StatementBuilder.body

    def counted(self: StatementBuilder) -> tuple[str, list[object]]:
        nonlocal made
        made += 1
        return body(self)

    with monkeypatch.context() as patched:
        patched.setattr(StatementBuilder, "body", counted)
        memory.run(text, {"x": x, "y": y})
    return made


@pytest.mark.parametrize("text", STATEMENTS)
def test_other_values_use_the_same_sql(
    memory: Memory, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made_by(memory, text, "1", 3, monkeypatch) > 0
    assert made_by(memory, text, "2", 4, monkeypatch) == 0
    memory.run("CREATE (:City {name: 'new', size: 10})")
    assert made_by(memory, text, "new", 9, monkeypatch) == 0


@pytest.mark.parametrize("text", STATEMENTS[:3])
def test_an_index_makes_new_sql_and_the_same_rows(
    memory: Memory, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = list(memory.run(text, {"x": "3"}))
    memory.run("CREATE INDEX city_name FOR (n:City) ON (n.name)")
    assert made_by(memory, text, "3", 0, monkeypatch) > 0
    assert list(memory.run(text, {"x": "3"})) == before


def test_limits_differ_with_the_same_sql(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "MATCH (n:City) RETURN n.size ORDER BY n.size DESC LIMIT $y"
    assert made_by(memory, text, "", 2, monkeypatch) > 0
    assert made_by(memory, text, "", 4, monkeypatch) == 0
    assert [row[0] for row in memory.run(text, {"y": 4})] == [9, 8, 7, 6]
