"""Turn ids: the same history gives the same ids, however often and however much of it is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.language.turns import Turn, identified, turn_id

TURN = Turn(
    thread="t", session="s", speaker="Ana", role="person", text="hello", time_ns=1, source_id="m1"
)
TURNS = st.builds(
    Turn,
    thread=st.sampled_from(["t", "u"]),
    session=st.sampled_from(["s", ""]),
    speaker=st.sampled_from(["Ana", "Bo"]),
    role=st.just("person"),
    text=st.sampled_from(["ok", "yes", ""]) | st.text(max_size=5),
    time_ns=st.none() | st.integers(0, 3),
    source_id=st.just(""),
)


def test_an_id_is_sixteen_hexadecimal_digits_and_fixed() -> None:
    assert turn_id(TURN, 0) == "054ae2886a9c4094"


@pytest.mark.parametrize(
    "change",
    [
        {"thread": "x"},
        {"session": "x"},
        {"speaker": "x"},
        {"text": "x"},
        {"time_ns": None},
        {"time_ns": 2},
    ],
)
def test_content_decides(change: dict[str, object]) -> None:
    assert turn_id(replace(TURN, **change), 0) != turn_id(TURN, 0)  # type: ignore[arg-type]


def test_what_a_later_export_may_change_does_not_decide() -> None:
    assert turn_id(replace(TURN, source_id="other", caption="c", role="user"), 0) == turn_id(
        TURN, 0
    )


def test_field_borders_count() -> None:
    assert turn_id(replace(TURN, thread="ts", session=""), 0) != turn_id(
        replace(TURN, thread="t", session="s"), 0
    )


def test_a_lone_surrogate_has_an_id() -> None:
    assert len(turn_id(replace(TURN, text="\ud800"), 0)) == 16


def test_equal_turns_differ_by_ordinal() -> None:
    pairs = list(identified([TURN, TURN, TURN]))
    assert [name for name, _ in pairs] == [turn_id(TURN, ordinal) for ordinal in range(3)]


@given(st.lists(TURNS), st.lists(TURNS))
def test_appending_changes_no_id(turns: list[Turn], more: list[Turn]) -> None:
    before = [name for name, _ in identified(turns)]
    after = [name for name, _ in identified(turns + more)]
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)
