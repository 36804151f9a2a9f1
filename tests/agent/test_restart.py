"""Continuing after a restart: the budgets, over all sequences of events up to a length, and single
rules."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.agent.gate.restart import Restart, advance, begin_restart
from doxa.base.errors import InputError

_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("ping", "ask", "work")),
        st.sampled_from(("succeeded", "failed")),
        st.sampled_from(("", "timeout", "refused")),
        st.sampled_from(("", "key", "other")),
        st.booleans(),
    ),
    max_size=12,
)


def step(held: Restart, outcome: str = "succeeded", **given: object) -> Restart:
    return advance(held, "call", outcome, **given)  # type: ignore[arg-type]


@given(_EVENTS, st.integers(0, 4))
def test_no_sequence_makes_more_calls_than_declared(
    events: list[tuple[str, str, str, str, bool]], declared: int
) -> None:
    held, calls, failures = begin_restart("key", declared), 0, set()
    for call, outcome, failure, key, last in events:
        allowed, writes = held.may_call, held.may_write
        after = advance(held, call, outcome, failure=failure, key=key, last=last)  # type: ignore[arg-type]
        if held.phase in ("done", "stopped"):
            assert after.phase == held.phase
            continue
        calls += allowed
        shape = (call, failure)
        if allowed and outcome == "failed" and shape in failures:
            assert after.phase == "stopped"
        if outcome == "failed":
            failures.add(shape)
        if after.may_write and not writes:
            assert held.phase == "identify"
            assert key == "key"
        held = after
    assert calls <= 2 + 1 + declared
    assert not held.may_write or held.found == "key"


def test_the_way_through() -> None:
    held = step(begin_restart("key", 2), key="key")
    assert held.phase == "identify"
    assert not held.may_write
    held = step(held, key="key")
    assert (held.phase, held.may_write, held.budget) == ("continue", True, 2)
    assert step(held, last=True).phase == "done"
    assert step(step(held)).phase == "stopped"


def test_another_session_stops_and_writes_nothing() -> None:
    held = step(step(begin_restart("key", 2), key="key"), key="other")
    assert (held.phase, held.may_write) == ("stopped", False)
    assert held.hands()["key"] == "other"


def test_the_same_failure_twice_stops_and_another_does_not() -> None:
    held = step(step(begin_restart("key", 3), key="key"), key="key")
    once = step(held, "failed", failure="timeout")
    assert once.phase == "continue"
    assert step(once, "failed", failure="refused").phase == "continue"
    assert step(once, "failed", failure="timeout").phase == "stopped"


def test_one_failed_comparison_stops() -> None:
    assert step(step(begin_restart("k", 1), key="k"), "failed", failure="x").phase == "stopped"


@pytest.mark.parametrize(("key", "declared"), [("", 1), ("k", -1), ("k", 101)])
def test_what_cannot_begin(key: str, declared: int) -> None:
    with pytest.raises(InputError):
        begin_restart(key, declared)


def test_the_end_is_the_end() -> None:
    stopped = step(step(begin_restart("k", 0), "failed", failure="a"), "failed", failure="a")
    for outcome, key, last in product(("succeeded", "failed"), ("", "k"), (True, False)):
        assert step(stopped, outcome, key=key, last=last).phase == "stopped"
