"""What the checker infers of an expression before anything runs. A condition of another type than
boolean is refused by the name of its type, which makes inference visible from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.cypher.errors import QueryError
from tests.fixtures_shared import opened


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    path: Path = tmp_path_factory.mktemp("types") / "empty.db"
    with opened(path, embedder=None) as made:
        yield made


def inferred(memory: Memory, expression: str) -> str:
    """The type of an expression over a node n, an edge r, a path p and an unknown value u; "" where
    it may be a boolean."""
    try:
        memory.run(
            f"MATCH p = (n)-[r]->() UNWIND $u AS u WITH * WHERE {expression} RETURN 1", {"u": [1]}
        )
    except QueryError as error:
        found = re.search(r"A condition must be .* this is of type (.*?)\.(?= |$)", error.message)
        assert found, error.message
        return found[1]
    return ""


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("n", "node"),
        ("r", "edge"),
        ("p", "path"),
        ("u", ""),
        ("n.x", ""),
        ("1", "integer"),
        ("1.5", "float"),
        ("'a'", "string"),
        ("true", ""),
        ("null", ""),
        ("[1, 2]", "list<integer>"),
        ("[1, 'a']", "list"),
        ("[]", "list"),
        ("[[1]]", "list<list<integer>>"),
        ("[1, 2][0]", "integer"),
        ("[1, 'a'][0]", ""),
        ("u[0]", ""),
        ("[1, 2][0..1]", "list<integer>"),
        ("{a: 1}", "map"),
        ("n {.a, b: 1}", "map"),
        ("{a: 1}.a", ""),
        ("1 + 2", "integer"),
        ("1 + 2.0", "float"),
        ("1.0 + 2", "float"),
        ("1.0 * 2.0", "float"),
        ("2 ^ 2", "float"),
        ("1 + u", ""),
        ("u + 1", ""),
        ("1 - u", ""),
        ("1 + 'a'", "string"),
        ("'a' + 1", "string"),
        ("'a' + u", ""),
        ("[1] + 2", "list"),
        ("2 + [1]", "list"),
        ("[1] + [2]", "list"),
        ("u || u", ""),
        ("[x IN [1, 2] | x]", "list<integer>"),
        ("[x IN [1, 2]]", "list<integer>"),
        ("[x IN [1, 2] | toString(x)]", "list<string>"),
        ("[x IN ['a'] WHERE x = 'a']", "list<string>"),
        ("[x IN u]", "list<any>"),
        ("[(n)-->(m) | m]", "list<node>"),
        ("[(n)-->(m) | 1]", "list<integer>"),
        ("shortestPath((n)-[*]->({x: 1}))", "path"),
        ("allShortestPaths((n)-[*]->({x: 1}))", "list<path>"),
        ("COUNT { (n)-->() }", "integer"),
        ("COLLECT { MATCH (m) RETURN m }", "list"),
        ("EXISTS { (n)-->() }", ""),
        ("all(x IN [1] WHERE x = 1)", ""),
        ("reduce(a = 0, x IN [1] | a + x)", ""),
        ("CASE WHEN true THEN 1 ELSE 2 END", "integer"),
        ("CASE WHEN true THEN 1 END", "integer"),
        ("CASE WHEN true THEN 1 ELSE null END", "integer"),
        ("CASE WHEN true THEN null ELSE 1 END", "integer"),
        ("CASE WHEN true THEN 1 ELSE 'a' END", ""),
        ("CASE WHEN true THEN 1 WHEN false THEN 'a' END", ""),
        ("CASE 1 WHEN 1 THEN 'a' END", "string"),
        ("head([1])", "integer"),
        ("last(['a'])", "string"),
        ("head([1, 'a'])", ""),
        ("coalesce(1, 2)", "integer"),
        ("coalesce(1, 'a')", ""),
        ("coalesce([1], [2])", "list<integer>"),
        ("size([1])", "integer"),
        ("toString(1)", "string"),
    ],
)
def test_types(memory: Memory, expression: str, kind: str) -> None:
    assert inferred(memory, expression) == kind


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("date('2024-01-01') - duration('P1D')", "date"),
        ("duration('P1D') + date('2024-01-01')", "date"),
        ("duration('P1D') + duration('P1D')", "duration"),
        ("duration('P1D') * 2", "duration"),
        ("datetime('2024-01-01T00:00Z') + duration('P1D')", "datetime"),
        ("u + date('2024-01-01')", "date"),
    ],
)
def test_types_of_times(memory: Memory, expression: str, kind: str) -> None:
    """Times have no name in conditions; a property of a list of them shows it."""
    with pytest.raises(QueryError) as caught:
        memory.run(f"UNWIND $u AS u WITH u WHERE [{expression}] RETURN 1", {"u": [1]})
    assert f"this is of type list<{kind}>." in caught.value.message


@pytest.mark.parametrize(
    ("aggregate", "kind"),
    [
        ("collect(x)", "list<integer>"),
        ("max(x)", "integer"),
        ("min(x)", "integer"),
        ("count(*)", "integer"),
        ("count(x)", "integer"),
        ("head(collect(x))", "integer"),
    ],
)
def test_types_of_aggregates(memory: Memory, aggregate: str, kind: str) -> None:
    with pytest.raises(QueryError) as caught:
        memory.run(f"UNWIND [1, 2] AS x WITH {aggregate} AS a WHERE a RETURN a")
    assert f"this is of type {kind}." in caught.value.message


@pytest.mark.parametrize(
    ("expression", "detail"),
    [
        ("[zz]", "UndefinedVariable"),
        ("{a: zz}", "UndefinedVariable"),
        ("n {a: zz}", "UndefinedVariable"),
        ("[1][zz..]", "UndefinedVariable"),
        ("[1][..zz]", "UndefinedVariable"),
        ("[1][0..'a']", "InvalidArgumentType"),
        ("[1][1.5..]", "InvalidArgumentType"),
        ("[1]['a']", "InvalidArgumentType"),
        ("[1][[0]]", "InvalidArgumentType"),
        ("{a: 1}[0]", "InvalidArgumentType"),
        ("n[1]", "InvalidArgumentType"),
        ("1[0]", "InvalidArgumentType"),
        ("'a'[0]", "InvalidArgumentType"),
        ("p[0]", "InvalidArgumentType"),
        ("(1).x", "InvalidArgumentType"),
        ("p.x", "InvalidArgumentType"),
        ("[1].x", "InvalidArgumentType"),
        ("[x IN [1] | x {.a}]", "InvalidArgumentType"),
        ("[x IN 1 | x]", "InvalidArgumentType"),
        ("[x IN n | x]", "InvalidArgumentType"),
        ("[x IN [1] WHERE 1]", "InvalidArgumentType"),
        ("[x IN [1] WHERE zz | x]", "UndefinedVariable"),
        ("[(n)-->(m) WHERE 1 | m]", "InvalidArgumentType"),
        ("[(n)-->(m) WHERE zz.x = 1 | m]", "UndefinedVariable"),
        ("[(n)-->(m) | zz]", "UndefinedVariable"),
        ("any(x IN [1] WHERE 1)", "InvalidArgumentType"),
        ("any(x IN 1 WHERE true)", "InvalidArgumentType"),
        ("reduce(a = zz, x IN [1] | a)", "UndefinedVariable"),
        ("reduce(a = 0, x IN [1] | zz)", "UndefinedVariable"),
        ("reduce(a = 0, x IN 1 | a)", "InvalidArgumentType"),
        ("COUNT { MATCH (m) WHERE zz.x = 1 }", "UndefinedVariable"),
        ("EXISTS { MATCH (m) WHERE 1 }", "InvalidArgumentType"),
        ("CASE WHEN 1 THEN true END", "InvalidArgumentType"),
        ("CASE zz WHEN 1 THEN true END", "UndefinedVariable"),
        ("CASE 1 WHEN zz THEN true END", "UndefinedVariable"),
        ("CASE WHEN true THEN zz END", "UndefinedVariable"),
        ("CASE WHEN true THEN true ELSE zz END", "UndefinedVariable"),
        ("true AND 1", "InvalidArgumentType"),
        ("true OR [1]", "InvalidArgumentType"),
        ("true XOR 'a'", "InvalidArgumentType"),
        ("NOT 1", "InvalidArgumentType"),
        ("(n)-->(zz)", "UndefinedVariable"),
        ("NOT (n)-->(zz)", "UndefinedVariable"),
        ("1 + true", "InvalidArgumentType"),
        ("{a: 1} + 1", "InvalidArgumentType"),
        ("1 + n", "InvalidArgumentType"),
        ("1 - 'a'", "InvalidArgumentType"),
        ("[1] - 1", "InvalidArgumentType"),
        ("true * 2", "InvalidArgumentType"),
        ("size(1)", "InvalidArgumentType"),
        ("size()", "InvalidNumberOfArguments"),
        ("size([1], [2])", "InvalidNumberOfArguments"),
        ("nothing(1)", "UnknownFunction"),
    ],
)
def test_refusals(memory: Memory, expression: str, detail: str) -> None:
    """Nothing has run: the store is empty, and a refusal at run time would need a row."""
    with pytest.raises(QueryError) as caught:
        memory.run(f"MATCH p = (n)-[r]->() WITH * WHERE {expression} RETURN 1")
    assert caught.value.detail == detail


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("RETURN count(count(1))", "NestedAggregation"),
        ("RETURN sum(1 + count(1))", "NestedAggregation"),
        ("RETURN sum(rand())", "NonConstantExpression"),
        ("RETURN max(1 + rand())", "NonConstantExpression"),
        ("MATCH (n) WHERE count(n) > 1 RETURN n", "InvalidAggregation"),
        ("RETURN any(x IN [1] WHERE count(x) > 0)", "InvalidAggregation"),
        ("RETURN reduce(a = 0, x IN [1] | a + count(x))", "InvalidAggregation"),
        ("MATCH (n) RETURN [(n)-->(m) | count(m)]", "InvalidAggregation"),
        ("MATCH (n) RETURN [(n)-->(m) WHERE count(m) > 1 | m]", "InvalidAggregation"),
        ("MATCH (n) RETURN n, [x IN [1] WHERE count(x) > 1 | m]", "InvalidAggregation"),
        ("MATCH (n) RETURN n, 1 + reduce(a = 0, x IN [1] | m + count(x))", "InvalidAggregation"),
        ("MATCH (n) RETURN n, [(n)-->(m) | m.x] + count(*)", "AmbiguousAggregationExpression"),
        ("RETURN NOT 1", "InvalidArgumentType"),
        ("RETURN true AND 1", "InvalidArgumentType"),
        ("MATCH (n) RETURN 1:A", "UnexpectedSyntax"),
    ],
)
def test_refused_queries(memory: Memory, query: str, detail: str) -> None:
    with pytest.raises(QueryError) as caught:
        memory.run(query)
    assert caught.value.detail == detail


@pytest.mark.parametrize(
    "expression",
    ["(n)-->()", "NOT (n)-->()", "exists((n)-->())", "n:A", "u", "(n)-->() AND u", "u.x", "u[0]"],
)
def test_accepted_conditions(memory: Memory, expression: str) -> None:
    assert inferred(memory, expression) == ""
