"""The parser on texts of every kind: binding, errors with their place, arbitrary input, depth,
time."""

from __future__ import annotations

import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse, parse_expression
from doxa.cypher.semantics.check import check

PIECES = (
    "MATCH (n:A {x: 1})-[r:R*1..3]->(m) WHERE n.x > $p RETURN n.x AS y ORDER BY y DESC SKIP 1 LIMIT"
    " 2 WITH UNWIND [1, 2] CREATE MERGE ON SET DELETE DETACH REMOVE CALL { } YIELD EXISTS COUNT"
    " CASE WHEN THEN ELSE END NOT AND OR XOR IN IS NULL STARTS ENDS CONTAINS 'a' \"b\" `c` $d 0x1F"
    " 1.5e3 -> <- -- [ ] ( ) { } , . .. : ; | & ! % + - * / ^ = <> <= >= =~ += // /* */ \\ \n all"
    " any none single reduce shortestPath"
).split(" ")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("a OR b AND c", "a OR (b AND c)"),
        ("a XOR b AND c OR d", "(a XOR (b AND c)) OR d"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("2 ^ 3 ^ 2", "(2 ^ 3) ^ 2"),
        ("-a ^ 2", "(-a) ^ 2"),
        ("a = b IS NULL", "a = (b IS NULL)"),
        ("a + b IN c + d", "(a + b) IN (c + d)"),
        ("a.b[1].c", "((a.b)[1]).c"),
        ("a STARTS WITH b + c", "a STARTS WITH (b + c)"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
    ],
)
def test_operators_bind_as_the_grammar_says(text: str, same: str) -> None:
    assert parse_expression(text) == parse_expression(same)


def test_a_chain_of_comparisons_is_one() -> None:
    found = parse_expression("1 < a <= 3")
    assert isinstance(found, t.Comparison)
    assert found.ops == ("<", "<=")


def test_literals_of_different_types_are_different() -> None:
    trees = [parse_expression(text) for text in ("1", "1.0", "true", "0", "0.0", "false")]
    assert len(set(trees)) == 6


def test_keywords_are_names_where_a_name_stands() -> None:
    statement = parse("MATCH (match:return) WHERE match.where = 1 RETURN match.with AS order")
    assert isinstance(statement.body, t.Query)
    assert check(statement, "").columns == ("order",)


@pytest.mark.parametrize(
    ("text", "detail", "line", "column"),
    [
        ("MATCH (n)\nRETRUN n", "UnexpectedSyntax", 2, 1),
        ("RETURN 1 +", "UnexpectedSyntax", 1, 11),
        ("RETURN 'abc", "UnexpectedSyntax", 1, 8),
        ("RETURN 99999999999999999999", "IntegerOverflow", 1, 8),
        ("RETURN 1e999", "FloatingPointOverflow", 1, 8),
        ("RETURN '\\uZZZZ'", "InvalidUnicodeLiteral", 1, 9),
        ("RETURN 012", "InvalidNumberLiteral", 1, 8),
        ("RETURN 1; RETURN 2", "UnexpectedSyntax", 1, 11),
        ("RETURN a != b", "InvalidComparisonOperator", 1, 10),
        ("RETURN missing(1)", "UnknownFunction", 1, 8),
        ("MATCH (n) RETURN m.x", "UndefinedVariable", 1, 18),
        ("SHOW NONSENSE", "UnexpectedSyntax", 1, 14),
        ("CALL nothing.here()", "ProcedureNotFound", 1, 1),
        ("FROBNICATE (n)", "UnexpectedSyntax", 1, 1),
    ],
)
def test_what_is_wrong_has_a_class_and_a_place(
    text: str, detail: str, line: int, column: int
) -> None:
    with pytest.raises(QueryError) as caught:
        check(parse(text), text)
    assert caught.value.detail == detail
    assert (caught.value.fields["line"], caught.value.fields["column"]) == (line, column)
    assert "^" in str(caught.value.fields["excerpt"])


@pytest.mark.parametrize(
    "escape",
    [
        "\\Ud83d9223",  # beyond the numbers of a C int
        "\\UFFFFFFFF",
        "\\U00110000",
        "\\UD800",
        "\\U0000DC00",
        "\\U0000D83D\\uDE00",  # a pair is written as two escapes of four digits
        "\\uDE00",
        "\\uD83D",
        "\\uD83D\\u",
        "\\uD83D\\u00",
        "\\uD83D\\u0041",  # no second half: it was read as another character
        "\\uD83D\\u-001",
        "\\u00_1",
        "\\u\u0663\u0663\u0663\u0663",  # digits, but not of ASCII
        "\\u",
    ],
)
def test_an_escape_of_no_character_is_refused(escape: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(f"RETURN 'a{escape}'")
    assert caught.value.detail == "InvalidUnicodeLiteral"
    assert caught.value.fields["column"] == 10


@given(
    st.lists(
        st.one_of(
            st.builds("\\U{:08x}".format, st.integers(0, 2**32 - 1)),
            st.builds("\\U{:08X}".format, st.integers(0, 0x110010)),
            st.builds("\\u{:04x}".format, st.integers(0, 0xFFFF)),
            st.builds("\\u{:04X}".format, st.integers(0xD7FE, 0xE001)),
            st.builds("\\{}{}".format, st.sampled_from("uU"), st.text("09afAF-_ +²٣", max_size=9)),
        ),
        max_size=4,
    ).map("".join)
)
def test_an_escape_is_its_character_or_an_error(escapes: str) -> None:
    """JSON reads escapes of four digits alike; a lone surrogate is a character only there."""
    try:
        read = parse_expression(f"'{escapes}'")
    except QueryError as error:
        assert error.detail == "InvalidUnicodeLiteral"
        return
    long = re.compile(r"\\U([0-9A-Fa-f]{8})")
    short = long.sub(lambda found: json.dumps(chr(int(found[1], 16)))[1:-1], escapes)
    assert read == t.Literal(json.loads(f'"{short}"'))
    read.value.encode()  # type: ignore[attr-defined]  # no lone surrogate


@given(st.text(max_size=200))
def test_any_text_is_a_tree_or_an_error_with_a_place(text: str) -> None:
    _parsed(text)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join))
def test_any_order_of_words_is_a_tree_or_an_error(text: str) -> None:
    _parsed(text)


def _parsed(text: str) -> None:
    try:
        check(parse(text), text)
    except QueryError as error:
        assert 0 <= int(str(error.fields["offset"])) <= len(text)


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "[",
        "{a: ",
        "NOT ",
        "(a {x: ",
        "[x IN ",
        "CASE WHEN ",
        "EXISTS { MATCH (a) WHERE ",
        "-",
        "a[",
        "reduce(a = ",
    ],
)
def test_depth_ends_in_an_error(unit: str) -> None:
    with pytest.raises(QueryError):
        parse("RETURN " + unit * 5_000)


@pytest.mark.parametrize("unit", [".a", "[0]", "[0..1]", " + 1", " IS NULL"])
def test_length_ends_in_an_error(unit: str) -> None:
    """A chain makes a tree as deep as it is long."""
    parse("RETURN a" + unit * 150)
    with pytest.raises(QueryError) as caught:
        parse("RETURN a" + unit * 5_000)
    assert caught.value.detail == "NestingTooDeep"


@pytest.mark.parametrize("unit", ["(a {x: ", "((", "[(a {x: "])
def test_attempts_at_patterns_stay_linear(unit: str) -> None:
    """An attempt that fails is not made again: twice the depth takes about twice the work, not
    twice for each level."""

    def calls(depth: int) -> int:
        """How many functions are called: no clock, so that a busy machine does not matter."""
        made = 0

        def count(_: object, event: str, __: object) -> None:
            nonlocal made
            made += event == "call"

        sys.setprofile(count)
        try:
            with pytest.raises(QueryError):
                parse("RETURN " + unit * depth)
        finally:
            sys.setprofile(None)
        return made

    assert calls(50) < 20 * calls(5)


@pytest.mark.parametrize("comment", ["/* c */", "// d\n", "/* c */ // d\n"])
def test_a_column_is_named_without_the_comments_after_it(comment: str) -> None:
    name = "'//' + n { .x /* inner */ }"
    text = f"MATCH (n) RETURN {name} {comment} LIMIT 1"
    assert name in str(parse(text))
    assert "c */ /" not in str(parse(text)) and "// d" not in str(parse(text))
