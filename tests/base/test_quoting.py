"""Quoting: hidden characters are removed, nothing ends its own quotation, and plain text is
unchanged."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.quoting import bare, one_line, quoted, visible

ANY = st.text(
    st.characters(categories=("Cc", "Cf", "Zl", "Zp", "L", "Po", "Cs")), max_size=40
) | st.text(max_size=40)
POINTS = (
    0x202E,
    0x2066,
    0x2069,
    *range(0x2060, 0x2066),
    0x180E,
    0x061C,
    0xAD,
    0xFEFF,
    0x200B,
    0x200E,
    0,
    0x1B,
    0x7F,
    *range(0xE0000, 0xE0080),
)


@given(ANY)
def test_a_quotation_is_one_line_and_says_what_is_visible(text: str) -> None:
    made = quoted(text)
    assert json.loads(made) == visible(text) == visible(visible(text))
    assert len(made.splitlines()) == len(one_line(text + "x").splitlines()) == 1
    left = {
        char
        for char in visible(text)
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }
    assert left <= set("\n\t\u200c\u200d")
    assert "\n".join(visible(text).splitlines()) == visible(text).removesuffix("\n")


@pytest.mark.parametrize("point", POINTS)
def test_what_hides_is_left_out(point: int) -> None:
    assert visible(f"a{chr(point)}b") == "ab"
    assert quoted(f"a{chr(point)}b") == '"ab"'


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"]
)
def test_every_end_of_a_line_is_a_line_feed(end: str) -> None:
    assert (visible(f"a{end}b"), one_line(f"a{end}b"), quoted(f"a{end}b")) == (
        "a\nb",
        "a b",
        '"a\\nb"',
    )


@pytest.mark.parametrize(
    "text", ["", "Ana said 5 €", "می\u200cخواهم", "👩\u200d🚀", "क्\u200dष", "a\tb"]
)
def test_what_is_plain_or_joined_stays(text: str) -> None:
    assert visible(text) == text == json.loads(quoted(text))


def test_a_name_is_quoted_only_where_it_could_pass_for_more() -> None:
    assert all(
        bare(name) == name
        for name in (
            "kref://p/s/náme.fact?r=2&a=x.txt",
            "verified",
            "kref://p/a.fact?at=2026-01-01T00:00:00+02:00",
        )
    )
    assert all(
        bare(name) == quoted(name)
        for name in ("", "a b", "a·b", "a;", "a]", 'a"', "a\u202e", "a\n")
    )
