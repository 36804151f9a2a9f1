"""The address grammar: what is printed is parsed again, and what is refused is refused at its
position."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.clock import format_time
from doxa.base.errors import InputError, KrefError
from doxa.base.limits import KREF_CHARS_MAX, KREF_SEGMENTS_MAX, NAME_CHARS_MAX, TAG_CHARS_MAX
from doxa.belief import Kref, check_name, parse_kref, parse_target, print_kref, slug

LETTERS = st.characters(categories=["Lu", "Ll", "Lo", "Lm", "Nd", "Mn"], include_characters="-_~+@")
PLAIN = (
    st.text(LETTERS, min_size=1, max_size=8)
    .map(lambda t: unicodedata.normalize("NFC", t))
    .filter(lambda t: t[0] != "-")
)
DOTTED = st.lists(PLAIN, min_size=1, max_size=3).map(".".join)
PIN = st.one_of(
    st.just({}),
    st.builds(lambda r: {"revision": r}, st.integers(1, 10**18 - 1)),
    st.builds(lambda t: {"tag": t}, PLAIN),
    st.builds(lambda ns: {"at": format_time(ns)}, st.integers(0, 2**62)),
)
PLACES = st.builds(Kref, PLAIN, st.lists(PLAIN, max_size=4).map(tuple))
ITEMS = st.builds(
    lambda place, name, kind, pin, artifact: Kref(
        place.project, place.spaces, name, kind, artifact=artifact, **pin
    ),
    PLACES,
    DOTTED,
    PLAIN,
    PIN,
    st.none() | DOTTED,
)


@given(PLACES | ITEMS)
def test_what_is_printed_is_parsed_again(kref: Kref) -> None:
    text = print_kref(kref)
    assert parse_kref(text) == kref
    assert print_kref(parse_kref(text)) == text == str(kref)
    assert parse_kref(str(kref.item())) == kref.item()
    assert parse_target(kref) is kref
    if kref.at is not None:
        assert format_time(kref.at_ns or 0) == kref.at


@given(
    st.text(max_size=30) | st.text("kref:/.?&=rta-1 é\u0301", max_size=30).map("kref://".__add__)
)
def test_whatever_is_accepted_prints_as_itself(text: str) -> None:
    try:
        kref = parse_kref(text)
    except KrefError as error:
        position = error.fields["position"]
        assert isinstance(position, int)
        assert 0 <= position <= len(text)
        assert error.next_step.startswith("Write kref://")
    else:
        assert print_kref(kref) == text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kref://p", Kref("p")),
        ("kref://p/a/b", Kref("p", ("a", "b"))),
        ("kref://p/i.fact", Kref("p", (), "i", "fact")),
        ("kref://p/a/v1.2.fact?r=3", Kref("p", ("a",), "v1.2", "fact", revision=3)),
        (
            "kref://p/i.fact?t=approved&a=log.txt",
            Kref("p", (), "i", "fact", tag="approved", artifact="log.txt"),
        ),
        ("kref://p/i.fact?a=log.txt", Kref("p", (), "i", "fact", artifact="log.txt")),
        (
            "kref://p/i.fact?at=2026-03-02T14:00:00+02:00",
            Kref("p", (), "i", "fact", at="2026-03-02T14:00:00+02:00"),
        ),
        ("kref://茶屋/데이터/кот.факт", Kref("茶屋", ("데이터",), "кот", "факт")),
    ],
)
def test_table_of_addresses(text: str, wanted: Kref) -> None:
    assert parse_kref(text) == wanted


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("p/i.fact", 0),
        ("KREF://p", 0),
        (" kref://p", 0),
        ("kref://", 7),
        ("kref:///i.fact", 7),
        ("kref://p/", 9),
        ("kref://p//i.fact", 9),
        ("kref://p/../i.fact", 9),
        ("kref://p/a..b.fact", 10),
        ("kref://p/i.", 11),
        ("kref://p/.fact", 9),
        ("kref://a.b", 8),
        ("kref://p/a.b/c.d", 10),
        ("kref://-p", 7),
        ("kref://p/-i.fact", 9),
        ("kref://p/a b.fact", 10),
        ("kref://p/a\x00b.fact", 10),
        ("kref://p/a\nb.fact", 10),
        ("kref://p/a\u202eb.fact", 10),
        ("kref://p/a\u2066b.fact", 10),
        ("kref://p/a\u200bb.fact", 10),
        ("kref://p/a\ufeffb.fact", 10),
        ("kref://p/a\ud800.fact", 10),
        ("kref://p/a%2e.fact", 10),
        ("kref://p/a\\b.fact", 10),
        ("kref://p/a#b.fact", 10),
        ("kref://p/🍵.fact", 9),
        ("kref://p/e\u0301.fact", 9),
        ("kref://p/i.fact?", 16),
        ("kref://p/i.fact?x=1", 16),
        ("kref://p/i.fact?r", 16),
        ("kref://p/i.fact?R=1", 16),
        ("kref://p/i.fact?r=0", 18),
        ("kref://p/i.fact?r=01", 18),
        ("kref://p/i.fact?r=-1", 18),
        ("kref://p/i.fact?r=", 18),
        ("kref://p/i.fact?r=1.0", 18),
        ("kref://p/i.fact?r=٣", 18),
        ("kref://p/i.fact?r=" + "9" * 19, 18),
        ("kref://p/i.fact?r=1&r=2", 20),
        ("kref://p/i.fact?r=1&t=x", 20),
        ("kref://p/i.fact?t=x&at=2026-01-01", 20),
        ("kref://p/i.fact?a=x&r=1", 20),
        ("kref://p/i.fact?a=x&a=y", 20),
        ("kref://p/i.fact?r=1&", 20),
        ("kref://p/i.fact?t=", 18),
        ("kref://p/i.fact?t=a.b", 19),
        ("kref://p/i.fact?t=a?b", 19),
        ("kref://p/i.fact?a=..", 18),
        ("kref://p/i.fact?a=a/b", 19),
        ("kref://p/i.fact?at=soon", 19),
        ("kref://p/i.fact?at=2026-01-01 10:00", 19),
        ("kref://p?r=1", 8),
        ("kref://p/s?t=x", 10),
        ("kref://" + "p" * (NAME_CHARS_MAX + 1), 7 + NAME_CHARS_MAX),
        ("kref://p/i.fact?t=" + "t" * (TAG_CHARS_MAX + 1), 18 + TAG_CHARS_MAX),
        ("kref://p" + "/a" * KREF_SEGMENTS_MAX, 7),
        ("kref://p/" + "a/" * KREF_CHARS_MAX, KREF_CHARS_MAX),
    ],
)
def test_table_of_refusals(text: str, position: int) -> None:
    with pytest.raises(KrefError) as caught:
        parse_kref(text)
    assert caught.value.fields["position"] == position, caught.value.message
    assert f"at character {position}" in caught.value.message


@pytest.mark.parametrize("value", [None, 5, b"kref://p", ["kref://p"]])
def test_an_address_is_text(value: Any) -> None:
    with pytest.raises(InputError):
        parse_target(value)
    with pytest.raises(KrefError):
        parse_kref(value)


def test_names_apart_from_an_address_are_normalised_then_checked() -> None:
    assert check_name("cafe\u0301", what="item") == "caf\u00e9"
    for bad in ("", "a/b", "..", "a\u202eb", "-x", "x" * (NAME_CHARS_MAX + 1), None, 5):
        with pytest.raises(InputError) as caught:
            check_name(bad, what="item")  # type: ignore[arg-type]
        assert caught.value.fields["field"] == "item"


@given(st.text(max_size=80))
def test_a_slug_can_stand_in_an_address_or_is_empty(text: str) -> None:
    made = slug(text)
    assert len(made) <= 48
    assert not made or check_name(made, what="item") == made


def test_slug() -> None:
    assert slug("We deploy on Thursdays!") == "we-deploy-on-thursdays"
    assert slug("…!?") == ""


@pytest.mark.parametrize(
    ("build", "most"),
    [
        (lambda count: "kref://" + "p" * count, NAME_CHARS_MAX),
        (lambda count: "kref://p/" + "n" * count + ".fact", NAME_CHARS_MAX),
        (lambda count: "kref://p" + "/a" * (count - 1), KREF_SEGMENTS_MAX),
        (lambda count: "kref://p/n.fact?t=" + "t" * count, TAG_CHARS_MAX),
        (lambda count: _of_length(count), KREF_CHARS_MAX),
    ],
)
def test_an_address_is_as_long_as_the_limits_allow(build: Callable[[int], str], most: int) -> None:
    assert str(parse_kref(build(most))) == build(most)
    with pytest.raises(KrefError):
        parse_kref(build(most + 1))


def _of_length(count: int) -> str:
    """An address of so many characters in segments of 100."""
    rest = count - len("kref://")
    path = "/".join(["s" * 100] * (rest // 101))
    return f"kref://{path}/" + "e" * (rest - len(path) - 1)
