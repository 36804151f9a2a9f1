"""Comments with dashes, and several commands in one text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.cypher import tree as t
from doxa.cypher.dash_comments import without_dashes
from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse, parse_expression
from doxa.cypher.script import statements
from doxa.cypher.semantics.check import check
from tests.cypher.policy_trees import commands, options, refused


@pytest.mark.parametrize(
    "text",
    [
        "-- one\n--two\n\n  -- it's three\nRETURN 1 AS x",
        "/* a */ -- b\n// c\n--\nRETURN 1 AS x",
        "------ heading ------\nRETURN 1 AS x",
        "--\r\nRETURN 1 AS x",
        "\ufeff-- a\nRETURN 1 AS x",
    ],
)
def test_dashes_before_any_statement(text: str) -> None:
    assert parse(text) == parse("RETURN 1 AS x")


def test_dashes_in_queries_are_relationships() -> None:
    for text in (
        "MATCH (a) -- (b) RETURN a",
        "MATCH (a)\n-- (b) RETURN a",
        "MATCH (a) --\n(b) RETURN a",
        "RETURN 1 -- 1 AS x",
    ):
        assert check(parse(text), text).columns
    for text in ("RETURN 1 AS x -- it's one", "MATCH (n) -- the rest\nRETURN n"):
        with pytest.raises(QueryError):
            parse(text)


def test_dashes_within_policy_commands() -> None:
    text = (
        "CREATE -- a\n DECAY -- it's b\nPROFILE p --\nOPTIONS { -- { \n function: 'step' ---"
        " \"c\n-- 'd\n halfLifeSeconds: 5 -- $h }\n-- e\n} -- f\n\tCREATE PROMOTION POLICY q FOR"
        " (n:`a -- b`) APPLY { ON ACCESS { SET n.x = ' -- c', n.y = 1 --1, n.z = 5 // -- d\n } /*"
        " -- e */ }"
    )
    bundle, policy = commands(text)
    assert bundle == t.CreateDecayBundle(
        "p", options(function="step", halfLifeSeconds=5), False, False
    )
    assert isinstance(policy, t.CreatePromotionPolicy)
    assert policy.target.names == ("a -- b",)
    assert [one.value for one in policy.accesses] == [
        t.Literal(" -- c"),
        parse_expression("1 - -1"),
        t.Literal(5),
    ]
    assert text[policy.at :].startswith("CREATE PROMOTION")


def test_places_are_those_of_the_text_with_its_comments() -> None:
    refused(
        "-- one 'é\n/* two */ CREATE DECAY PROFILE p OPTIONS { -- three ' \n function: §'cubic' }"
    )
    refused("CREATE DECAY PROFILE p OPTIONS { enabled: true } -- it's done\n§RETURN 1")
    refused("CREATE DECAY PROFILE p OPTIONS { -- it's\n function: §'open }")
    refused("-- nothing but a comment§")
    refused("-- a\n§-x")


def test_scripts_are_cut_between_policy_commands() -> None:
    parts = [
        (
            "-- it's first; not cut\nCREATE DECAY PROFILE a OPTIONS { function: 'step';"
            " halfLifeSeconds: 5; } -- done; so\n"
        ),
        "\n-- second\ndrop decay profile a",
        (
            "CREATE PROMOTION POLICY p FOR (n) APPLY { ON ACCESS { SET n.x = ';}'; SET n.y = 1 } /*"
            " } ; */; WHEN n.x APPLY PROFILE p }"
        ),
        " -- third; it's\nRETURN {a: 1}",
        "MATCH (n) -- (m) RETURN ';'",
    ]
    script = ";".join(parts) + "; -- it's; over"
    pieces = statements(script)
    assert [piece.text for piece in pieces] == [part.strip() for part in parts]
    assert all(piece.ended and script.startswith(piece.text, piece.at) for piece in pieces)
    for piece in pieces:
        parse(piece.text)


def test_a_cut_needs_no_end() -> None:
    assert [piece.text for piece in statements("CREATE DECAY PROFILE a OPTIONS { x; y")] == [
        "CREATE DECAY PROFILE a OPTIONS { x; y"
    ]
    assert [piece.text for piece in statements("DROP DECAY PROFILE a }; x")] == [
        "DROP DECAY PROFILE a }",
        "x",
    ]
    assert statements("-- a;\n--b\n/* c */ ; -- d") == []


PIECES = (
    "--",
    "-- ",
    "'",
    '"',
    "`",
    "/*",
    "*/",
    "//",
    "\n",
    " ",
    ";",
    "{",
    "}",
    "CREATE DECAY PROFILE",
    "a",
    "\\",
    "\r",
    "RETURN",
)


@given(st.lists(st.sampled_from(PIECES)))
def test_blanked_comments_leave_all_else_in_place(words: list[str]) -> None:
    text = "".join(words)
    ready = without_dashes(text)
    assert len(ready) == len(text)
    assert all(
        now == before or (now == " " and before not in "\n\r")
        for now, before in zip(ready, text, strict=True)
    )
    for piece in statements(text):
        assert text.startswith(piece.text, piece.at)
        assert piece.text
