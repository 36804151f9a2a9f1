"""The comparison with Neo4j without a Neo4j: what the generator writes, that a difference is found,
made smaller and grouped, and that each explanation has its heading."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import pytest

from tests.compat.conftest import ROOT
from tests.oracle.__main__ import KINDS, Comparison, main
from tests.oracle.compare import difference
from tests.oracle.explained import EXPLAINED, explanation
from tests.oracle.shrink import shape, shrink
from tests.oracle.sides import Answer, Doxa
from tests.oracle.statements import INDEXES, Statement, statement
from tests.properties.random_queries import graph_text


class Wrong:
    """doxa again, but with a mistake: it takes no OPTIONAL MATCH for what it is, and knows no
    sum()."""

    def __init__(self, inner: Doxa) -> None:
        self.inner = inner

    def reset(self, *texts: str) -> None:
        self.inner.reset(*texts)

    def ask(self, asked: Statement) -> Answer:
        if "sum(" in asked.text:
            return Answer(None, "Neo.ClientError.Statement.SyntaxError", "no sum")
        return self.inner.ask(asked._replace(text=asked.text.replace("OPTIONAL MATCH", "MATCH")))


@pytest.fixture
def sides(tmp_path: Path) -> Any:
    made = []
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
        made.append(Doxa(tmp_path / name))
    yield made
    for one in made:
        one.close()


@pytest.mark.parametrize("kind", KINDS)
def test_most_statements_run_and_the_same_seed_writes_the_same(
    sides: list[Doxa], kind: str
) -> None:
    written = [statement(kind, Random(seed)) for seed in range(150)]
    assert [one.text for one in written] == [
        statement(kind, Random(seed)).text for seed in range(150)
    ]
    sides[0].reset(graph_text(Random(3)), *INDEXES)
    answers = [sides[0].ask(one) for one in written]
    assert not [one for one in answers if one.error.startswith("INTERNAL")]
    refused = sum(one.rows is None for one in answers)
    assert refused < {"error": 150, "operator": 90, "temporal": 100}.get(kind, 60)
    assert len({one.text for one in written}) > 90


def test_one_side_compared_with_itself_is_the_same(sides: list[Doxa]) -> None:
    made = Comparison(sides[0], sides[1])  # type: ignore[arg-type]
    for kind in KINDS:
        made.batch(kind, 5)
    assert made.report()["unexplained"] == 0
    assert set(made.compared) == set(KINDS)


def test_an_update_leaves_the_graph_as_it_was(sides: list[Doxa]) -> None:
    sides[0].reset("CREATE (:A {i: 1})")
    count = Statement("read", "MATCH (n) RETURN count(*)")
    before = sides[0].ask(count)
    changed = sides[0].ask(Statement("update", "CREATE (:B {i: 2})-[:R]->(:C)", writes=True))
    assert [len(part) for part in changed.graph] == [3, 1]
    assert sides[0].ask(Statement("update", "CREATE (n", writes=True)).rows is None
    assert sides[0].ask(count) == before


def test_mistakes_are_found_made_smaller_and_grouped(sides: list[Doxa]) -> None:
    made = Comparison(sides[0], Wrong(sides[1]))  # type: ignore[arg-type]
    for seed in range(4):
        made.batch("read", seed)
    report = made.report()
    kinds = Counter(cause.split(":")[1].strip() for cause in report["causes"])
    assert kinds["rows differ"] and kinds["Neo4j refuses"]
    for cause, found in report["causes"].items():
        text = found["example"]["text"]
        assert ("OPTIONAL MATCH" if "rows differ" in cause else "sum(") in text
        assert len(text) <= len(found["example"]["whole"])


def test_a_difference_of_rows_graphs_refusals_and_order() -> None:
    read = Statement("read", "…")
    one, two = ("int", 1), ("int", 2)
    rows = Answer([(one,), (two,)])
    assert difference(read, rows, Answer([(two,), (one,)])) is None
    assert difference(read._replace(ordered=True), rows, Answer([(two,), (one,)])) == "rows differ"
    assert difference(read, rows, Answer([(one,)])) == "rows differ"
    assert difference(read, rows, Answer(None, "Neo.X")) == "Neo4j refuses: Neo.X"
    assert difference(read, Answer(None, "Type.X"), rows) == "doxa refuses: Type.X"
    assert difference(read, Answer(None, "a"), Answer(None, "b")) is None
    internal = Answer(None, "INTERNAL.KeyError")
    assert difference(read, internal, Answer(None, "b")) == "internal error INTERNAL.KeyError"
    bags = read._replace(bags=(True,))
    left, right = Answer([(("list", one, two),)]), Answer([(("list", two, one),)])
    assert (difference(read, left, right), difference(bags, left, right)) == ("rows differ", None)
    update = Statement("update", "…", writes=True)
    assert difference(update, Answer([], graph=[[1], []]), Answer([], graph=[[], []])) is not None


def test_shrinking_drops_what_does_not_matter() -> None:
    text = (
        "MATCH (a:A {x: 1})-[r]->(b) WHERE a.x > 1 AND (b.y = 2 OR b.z) RETURN a.x, sum(b.y) AS s"
    )
    assert shrink(text, lambda one: "sum(" in one and ")" in one) == "sum()"
    assert shrink("RETURN date('2020-01-01')", lambda one: "date" in one) != "date()"
    assert (
        shape("MATCH (n1:A {x: 17}) RETURN n1.x + 'abc'") == "MATCH (n:A {n: 1}) RETURN n.n + '…'"
    )


def test_every_explanation_has_its_heading_and_no_rule_explains_everything() -> None:
    page = (ROOT / "docs/reference/differences-from-neo4j.md").read_text()
    headings = {
        line.removeprefix("## ").lower().replace(" ", "-")
        for line in page.splitlines()
        if line.startswith("## ")
    }
    assert {one.anchor for one in EXPLAINED} <= headings
    asked = Statement("read", "MATCH (n) RETURN n.x + 1 AS x", MappingProxyType({}))
    rows, other = Answer([(("int", 1),)]), Answer([(("int", 2),)])
    refused = Answer(None, "Neo.ClientError.Statement.SyntaxError", "Invalid input")
    for ours, theirs in ((rows, other), (rows, refused), (refused, rows), (rows, Answer([]))):
        assert explanation(asked, ours, theirs) is None


@pytest.mark.parametrize(
    ("text", "explained"),
    [
        ("MATCH (n)-->(m) SET n.a = 5 REMOVE m.a", True),
        ("MATCH (n)-->(m) SET n.a = 5 SET m += {b: 7}", True),
        ("MATCH (n)-->(m) SET n:New REMOVE m:New", True),
        ("MATCH (n)-->(m) SET n.a = 5 REMOVE m.b", False),
        ("MATCH (n)-->(m) SET n.a = 5 REMOVE n.a", False),
        ("MATCH (n)-->(m) SET n.a = 5 REMOVE m:A", False),
    ],
)
def test_the_order_of_writes_explains_what_two_variables_write_to_one_property(
    text: str, explained: bool
) -> None:
    asked = Statement("update", text, writes=True)
    ours, theirs = Answer([], graph=[[1], []]), Answer([], graph=[[2], []])
    anchor = "writes-of-clauses-that-follow-one-another" if explained else None
    assert explanation(asked, ours, theirs) == anchor
    assert explanation(asked, ours, theirs._replace(rows=[(("int", 1),)])) is None


def test_a_clause_writes_for_all_rows_before_the_next_one(sides: list[Doxa]) -> None:
    sides[0].reset("CREATE (x:A {i: 1, a: 0})-[:R]->(y:A {i: 2, a: 0}), (y)-[:R]->(x)")
    for text, left in (("REMOVE m.a", None), ("SET m += {a: 7}", 7)):
        sides[0].ask(Statement("update", "MATCH (n) SET n.a = 0", writes=False))
        run = f"MATCH (n)-->(m) SET n.a = 5 {text} WITH DISTINCT m RETURN m.a"
        answer = sides[0].ask(Statement("read", run))
        wanted = ("NoneType", None) if left is None else ("int", left)
        assert answer.rows == [(wanted,), (wanted,)]


def test_the_command_needs_an_address(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "--oracle" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("anchor", "text", "instead"),
    [
        (
            "several-properties-in-one-set",
            "MATCH (n), (m) SET n.a = coalesce(1, n.b), n.b = n.a, m:L, m += {x: 1} RETURN n.a, 2",
            "MATCH (n), (m) SET n.a = coalesce(1, n.b) SET n.b = n.a SET m:L SET m += {x: 1} RETURN"
            " n.a, 2",
        ),
        (
            "several-properties-in-one-set",
            "FOREACH (n IN [1] | SET n.a = 1, n.b = n.a) RETURN 1, n.b = 2",
            "FOREACH (n IN [1] | SET n.a = 1 SET n.b = n.a) RETURN 1, n.b = 2",
        ),
        (
            "lists-that-neo4j-gets-wrong",
            "RETURN range(0, -1, 2), range(0, 4, 2)",
            "RETURN [], range(0, 4, 2)",
        ),
    ],
)
def test_an_explanation_is_held_against_what_it_says(anchor: str, text: str, instead: str) -> None:
    """A statement that differs for another reason too has none."""
    found = next(one for one in EXPLAINED if one.anchor == anchor and one.instead is not None)
    assert found.instead is not None and found.instead(text) == instead
    if "FOREACH" in text:
        return
    asked = Statement("update", text, writes=True)
    ours = Answer([(1,)], graph=[[], []])
    theirs = Answer([(2,)], graph=[[], []])

    def right(other: Statement) -> Answer:
        return ours if other.text == instead else theirs

    assert explanation(asked, ours, theirs, right) == anchor
    assert explanation(asked, ours, theirs, lambda _: theirs) is None
