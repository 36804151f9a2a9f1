"""Where a script is cut: at semicolons that belong to no text, name or comment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.cypher.errors import Problem, QueryError
from doxa.cypher.parser import parse
from doxa.cypher.script import Piece, placed, statements
from doxa.cypher.tokens import tokens
from tests.effort import assert_ends, calls_of


def texts(script: str) -> list[str]:
    return [piece.text for piece in statements(script)]


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("", []),
        (" \n\t ", []),
        (";", []),
        (" ; ;; ", []),
        ("// only; a comment", []),
        ("/* ; */ ;", []),
        ("\ufeff;\u0085", []),
        ("RETURN 1", ["RETURN 1"]),
        ("RETURN 1;", ["RETURN 1"]),
        ("RETURN 1; RETURN 2", ["RETURN 1", "RETURN 2"]),
        ("RETURN 1;;\n;RETURN 2;\n", ["RETURN 1", "RETURN 2"]),
        ("RETURN ';', \";\", `;`; x", ["RETURN ';', \";\", `;`", "x"]),
        (r"RETURN 'a\';b'; x", [r"RETURN 'a\';b'", "x"]),
        (r'RETURN "a\\"; x', [r'RETURN "a\\"', "x"]),
        ("RETURN `a``;``b`; x", ["RETURN `a``;``b`", "x"]),
        (r"RETURN `a\`; x", [r"RETURN `a\`", "x"]),
        (
            "// first; not cut\nRETURN 1; // and; after\nRETURN 2",
            ["// first; not cut\nRETURN 1", "// and; after\nRETURN 2"],
        ),
        ("RETURN 1 /* ; ' */; x", ["RETURN 1 /* ; ' */", "x"]),
        ("RETURN 'it /* is'; x */", ["RETURN 'it /* is'", "x */"]),
        ("RETURN 'http://x;y'; x", ["RETURN 'http://x;y'", "x"]),
        ("a; RETURN 'open; b;", ["a", "RETURN 'open; b;"]),
        ("a; /* open; b", ["a", "/* open; b"]),
        ("a; `open; b", ["a", "`open; b"]),
        ("RETURN 8 / 2; x", ["RETURN 8 / 2", "x"]),
    ],
)
def test_cuts(script: str, wanted: list[str]) -> None:
    assert texts(script) == wanted


def test_a_piece_knows_its_place_and_its_end() -> None:
    script = " RETURN 1 ;\n\n  RETURN 2\n"
    assert statements(script) == [Piece("RETURN 1", 1, True), Piece("RETURN 2", 15, False)]


_WORDS = st.sampled_from(
    [
        "'",
        '"',
        "`",
        "\\",
        ";",
        "//",
        "/*",
        "*/",
        "\n",
        " ",
        "a",
        "``",
        "\\'",
        "RETURN",
        "é",
        "\u2028",
        "\ufeff",
    ]
)


@given(st.lists(_WORDS, max_size=24))
def test_the_cut_is_that_of_the_tokens(words: list[str]) -> None:
    script = "".join(words)
    pieces = statements(script)
    for piece in pieces:
        assert script[piece.at : piece.at + len(piece.text)] == piece.text
    try:
        whole = [token[:2] for token in tokens(script)]
    except Problem:
        return
    alone = [[token[:2] for token in tokens(piece.text)][:-1] for piece in pieces]
    assert all(("OP", ";") not in found and found for found in alone)
    assert [token for token in whole[:-1] if token != ("OP", ";")] == [
        token for found in alone for token in found
    ]
    assert sum(piece.ended for piece in pieces) <= whole.count(("OP", ";"))


def test_an_error_has_its_place_in_the_script() -> None:
    script = "RETURN 1;\nRETURN 2;\n  RETURN (3;\n"
    piece = statements(script)[2]
    with pytest.raises(QueryError) as raised:
        parse(piece.text)
    error = placed(raised.value, piece, script)
    assert (error.fields["line"], error.fields["column"]) == (3, 12)
    assert "(line 3, column 12)\n  RETURN (3;\n           ^" in error.message
    assert (error.kind, error.detail, error.next_step) == (
        raised.value.kind,
        raised.value.detail,
        raised.value.next_step,
    )


def test_a_long_script_is_cut_in_one_pass() -> None:
    """Four times the script takes four times the calls."""
    effort = []
    for size in (1, 4):
        script = (
            "CREATE (:A {x: 'y;z'}); // note\n" * 2_000 * size + "RETURN '" + "\\'" * 5_000 * size
        )
        assert len(statements(script)) == 2_000 * size + 1
        effort.append(calls_of(lambda text=script: statements(text)))  # type: ignore[misc]
    assert effort[1] < 5 * effort[0]


def cut_long_script() -> None:
    script = "CREATE (:A {x: 'y;z'}); // note\n" * 80_000 + "RETURN '" + "\\'" * 200_000
    assert len(statements(script)) == 80_001


def test_a_script_of_megabytes_is_cut_to_its_end() -> None:
    assert_ends("tests.cypher.test_statements", "cut_long_script")
