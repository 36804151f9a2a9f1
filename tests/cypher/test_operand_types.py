"""Which types an operand may have, and that no part of an expression is left unchecked. Everything
here is refused before it runs: the store is empty, and an error at run time would need a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.cypher.errors import QueryError
from tests.fixtures_shared import opened

VALUES = {
    "integer": "1",
    "float": "1.5",
    "string": "'a'",
    "boolean": "true",
    "map": "{a: 1}",
    "list": "[1]",
    "node": "n",
    "edge": "r",
    "path": "p",
    "number": "abs(u)",
    "date": "date()",
    "null": "null",
    "any": "u",
}
ELEMENTS = "node edge path"
NOT_A_LIST = f"integer float string boolean map {ELEMENTS}"
NOT_A_NUMBER = f"string boolean map list {ELEMENTS}"
NOT_A_CONDITION = f"integer float number string map list date {ELEMENTS}"
NOT_JOINED = f"integer float boolean map date {ELEMENTS}"

# An expression over y, and the types of y that it refuses; the detail is InvalidArgumentType.
REFUSED = {
    "u[y..]": f"float string boolean map {ELEMENTS}",
    "u[..y]": f"float string boolean map {ELEMENTS}",
    "y {.a}": "integer float number string boolean list path",
    "y {.*}": "integer float number string boolean list path",
    "y {b: 1}": "integer float number string boolean list path",
    "-y": NOT_A_NUMBER,
    "+y": NOT_A_NUMBER,
    "1 IN y": f"{NOT_A_LIST} number",
    "y:A": "integer float number string boolean map list path",
    "[x IN y | x]": f"{NOT_A_LIST} number",
    "all(x IN y WHERE true)": f"{NOT_A_LIST} number",
    "reduce(a = 0, x IN y | a)": f"{NOT_A_LIST} number",
    "y.a": "integer float number string boolean list path",
    "y[0]": f"{NOT_A_LIST} number",
    "y['a']": "integer float number string boolean path list",
    "[1][y]": f"float string boolean map list {ELEMENTS}",
    "{a: 1}[y]": f"integer float number boolean map list {ELEMENTS}",
    "n[y]": f"integer float number boolean map list {ELEMENTS}",
    "r[y]": f"integer float number boolean map list {ELEMENTS}",
    "y + 1": f"boolean map {ELEMENTS}",
    "1 + y": f"boolean map {ELEMENTS}",
    "y + [1]": "",
    "[1] + y": "",
    "y || 'a'": NOT_JOINED,
    "y =~ 'a'": f"{NOT_JOINED} list",
    "'a' =~ y": f"{NOT_JOINED} list",
    **{f"y {op} 2": NOT_A_NUMBER for op in "-*/%^"},
    **{f"2 {op} y": NOT_A_NUMBER for op in "-*/%^"},
    "NOT y": NOT_A_CONDITION,
    "y AND true": NOT_A_CONDITION,
    "true OR y": NOT_A_CONDITION,
    "true XOR y": NOT_A_CONDITION,
    "CASE WHEN y THEN 1 END": NOT_A_CONDITION,
    "CASE y WHEN 1 THEN 2 END": "",
    "CASE 1 WHEN y THEN 2 END": "",
    "[x IN [1] WHERE y | x]": NOT_A_CONDITION,
    "any(x IN [1] WHERE y)": NOT_A_CONDITION,
    "[(n)-->(m) WHERE y | m]": NOT_A_CONDITION,
    "y IN [1]": "",
    "y = 1": "",
    "1 < y": "",
    "y STARTS WITH 'a'": "",
    "'a' CONTAINS y": "",
    "y IS NULL": "",
    "y IS :: INTEGER": "",
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    path: Path = tmp_path_factory.mktemp("operands") / "empty.db"
    with opened(path, embedder=None) as made:
        yield made


@pytest.mark.parametrize("expression", REFUSED)
def test_an_operand_of_each_type(memory: Memory, expression: str) -> None:
    refused = set()
    for kind, value in VALUES.items():
        given = f"MATCH p = (n)-[r]->() UNWIND $u AS u WITH n, r, p, u, {value} AS y"
        try:
            memory.run(f"{given} RETURN {expression} AS z", {"u": [1]})
        except QueryError as error:
            assert error.detail == "InvalidArgumentType"
            refused.add(kind)
    wanted = set(REFUSED[expression].split())
    if "integer" in wanted:
        wanted.add("number")
    assert refused == wanted


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("p.a", "SyntaxError"),
        ("true.a", "TypeError"),
        ("[1].a", "TypeError"),
        ("'a'[0]", "TypeError"),
        ("[1]['a']", "TypeError"),
        ("n[1]", "TypeError"),
        ("-'a'", "SyntaxError"),
        ("1 IN 2", "SyntaxError"),
    ],
)
def test_the_kind_of_a_refusal(memory: Memory, expression: str, kind: str) -> None:
    """As the TCK distinguishes them."""
    with pytest.raises(QueryError) as caught:
        memory.run(f"MATCH p = (n) WITH n, p RETURN {expression} AS z")
    assert (caught.value.kind, caught.value.detail) == (kind, "InvalidArgumentType")


@pytest.mark.parametrize(
    "expression",
    [
        "§.a",
        "§[0]",
        "u[§]",
        "§[0..1]",
        "u[§..]",
        "u[..§]",
        "[1, §]",
        "{a: 1, b: §}",
        "n {.a, b: §}",
        "zz {.a}",
        "zz {.*}",
        "zz {b: 1}",
        "NOT §",
        "true AND §",
        "§ OR true",
        "§ = 1",
        "1 = §",
        "1 < 2 < §",
        "§ + 1",
        "1 + §",
        "§ * 1",
        "1 ^ §",
        "u || §",
        "-§",
        "§ STARTS WITH 'a'",
        "'a' ENDS WITH §",
        "'a' =~ §",
        "§ IN [1]",
        "1 IN §",
        "§ IS NULL",
        "§ IS NOT NULL",
        "§ IS :: INTEGER",
        "§:A",
        "CASE § WHEN 1 THEN 2 END",
        "CASE 1 WHEN § THEN 2 END",
        "CASE 1 WHEN 1 THEN § END",
        "CASE 1 WHEN 1 THEN 2 ELSE § END",
        "CASE WHEN § THEN 2 END",
        "CASE WHEN true THEN 2 WHEN true THEN § END",
        "[x IN §]",
        "[x IN [1] WHERE § | x]",
        "[x IN [1] | §]",
        "none(x IN § WHERE true)",
        "single(x IN [1] WHERE §)",
        "reduce(a = §, x IN [1] | a)",
        "reduce(a = 0, x IN § | a)",
        "reduce(a = 0, x IN [1] | §)",
        "[(n)-->(m) WHERE § | m]",
        "[(n)-->(m) | §]",
        "[(n)-->({a: §}) | 1]",
        "size([(n)-->({a: §}) | 1])",
        "toString(§)",
        "coalesce(1, §)",
        "exists((n)-->({a: §}))",
        "shortestPath((n)-[*]->({a: §}))",
        "EXISTS { MATCH (n) WHERE § RETURN n }",
        "COUNT { MATCH (n {a: §}) }",
        "COLLECT { RETURN § }",
    ],
)
def test_every_part_of_an_expression_is_checked(memory: Memory, expression: str) -> None:
    """An undefined variable is noticed in each place that an expression has."""
    with pytest.raises(QueryError) as caught:
        memory.run(
            "MATCH p = (n)-[r]->() UNWIND $u AS u WITH n, r, p, u RETURN "
            + expression.replace("§", "zz")
            + " AS z",
            {"u": [1]},
        )
    assert caught.value.detail == "UndefinedVariable" and "zz" in caught.value.message
    sound = expression.replace("§", "u").replace("zz", "n")
    memory.run(
        f"MATCH p = (n)-[r]->() UNWIND $u AS u WITH n, r, p, u RETURN {sound} AS z", {"u": []}
    )


@pytest.mark.parametrize(
    "condition",
    [
        "(n)-->(zz)",
        "NOT (n)-->(zz)",
        "(n)-->({a: zz})",
        "true AND (n)-[zz]->()",
        "exists((n)-->(zz))",
    ],
)
def test_a_pattern_in_a_condition_names_only_what_is_there(memory: Memory, condition: str) -> None:
    with pytest.raises(QueryError) as caught:
        memory.run(f"MATCH (n) WHERE {condition} RETURN n")
    assert caught.value.detail == "UndefinedVariable" and "zz" in caught.value.message


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("toString(DISTINCT 1)", "DISTINCT does not apply"),
        ("size((n)-->())", "not a pattern"),
        ("[(n)-->()]", "where a condition stands"),
        ("toUpper('a', 'b')", "takes 1 arguments, not 2"),
        ("substring('a')", "takes 2 to 3 arguments, not 1"),
        ("coalesce()", "takes 1 to any number of arguments, not 0"),
        ("toUpper(1)", "takes string, not a value of type integer"),
    ],
)
def test_calls_are_refused_with_their_reason(memory: Memory, expression: str, words: str) -> None:
    with pytest.raises(QueryError) as caught:
        memory.run(f"MATCH (n) RETURN {expression} AS z")
    assert words in caught.value.message


@pytest.mark.parametrize("expression", ["count(DISTINCT n)", "collect(DISTINCT n.x)", "count(*)"])
def test_aggregations_may_be_of_distinct_values(memory: Memory, expression: str) -> None:
    memory.run(f"MATCH (n) RETURN {expression} AS z")
