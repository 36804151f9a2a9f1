"""Continuing after a restart: the budgets, over all sequences of events up to a length, and single
rules."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.agent.gate.restart import Restart, advance, begin_restart
from doxa.agent.records.records import move_record, note_record, write_record
from doxa.app import Memory
from doxa.base.errors import (
    ConflictError,
    ConstraintError,
    InputError,
    NotFoundError,
    RoleError,
)
from tests.fixtures_shared import opened

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


# As records


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p", actor="olga") as made:
        yield made


def test_a_continuation_outlives_the_process(tmp_path: Path) -> None:
    for number, (call, key) in enumerate((("ping", ""), ("ping", "k"), ("compare", "k"))):
        with opened(tmp_path / "m.db", embedder=None, project="p", actor="olga") as made:
            ana = made.session(actor="ana")
            if not number:
                begun = ana.restart_begin("k", declared=2)
                assert (begun.phase, begun.budget, begun.may_write) == ("reach", 2, False)
            found = ana.restart_step(call, "succeeded", key=key)
    assert (found.phase, found.budget, found.may_write) == ("continue", 2, True)
    with opened(tmp_path / "m.db", embedder=None, project="p", actor="olga") as made:
        ana = made.session(actor="ana")
        ana.restart_step("work", "succeeded")
        done = ana.restart_step("work", "succeeded", last=True)
        assert (done.phase, done.may_call) == ("done", False)
        with pytest.raises(NotFoundError):
            ana.restart_step("work", "succeeded")
        assert ana.restart_show() == done
        assert ana.restart_begin("k", declared=0).phase == "reach"


def test_a_key_that_looks_like_a_secret_is_refused_at_once(memory: Memory) -> None:
    ana = memory.session(actor="ana")
    with pytest.raises(InputError, match="key contains what looks like a secret"):
        ana.restart_begin("ghp_abcdEFGH1234567890abcdEFGH1234567890", declared=1)
    assert ana.restart_begin("s1", declared=1).phase == "reach"


def test_a_failure_that_holds_a_secret_stops_the_second_time(memory: Memory) -> None:
    ana = memory.session(actor="ana")
    ana.restart_begin("s1", declared=1)
    failure = "401 for ghp_abcdEFGH1234567890abcdEFGH1234567890"
    assert ana.restart_step("ping", "failed", failure=failure).phase == "reach"
    found = ana.restart_step("ping", "failed", failure=failure)
    assert (found.phase, found.reason) == (
        "stopped",
        "ping failed twice in the same way: 401 for [redacted:github-token]",
    )


def test_a_stopped_continuation_is_the_operators(memory: Memory) -> None:
    ana = memory.session(actor="ana")
    ana.restart_begin("k", declared=5)
    ana.restart_step("ping", "succeeded", key="k")
    stopped = ana.restart_step("compare", "succeeded", key="other")
    assert (stopped.phase, stopped.found) == ("stopped", "other")
    with pytest.raises(ConflictError, match="not the one of before"):
        ana.restart_step("compare", "succeeded", key="k")
    with pytest.raises(ConstraintError):
        ana.restart_begin("k", declared=5)
    with pytest.raises(ConstraintError):
        ana.restart_begin("another", declared=5)
    with pytest.raises(RoleError):
        memory.session(actor="bob").restart_begin("k", agent="ana")
    assert memory.restart_begin("k", declared=1, agent="ana").phase == "reach"
    states = memory.run("MATCH (r:Record {type: 'restart'}) RETURN r.state AS s ORDER BY r.kref")
    assert [row["s"] for row in states.records()] == ["closed", "reach"]


@pytest.mark.parametrize(
    ("state", "notes"),
    [
        ("continue", {}),
        ("reach", {"used": 0}),
        ("identify", {"found": "k", "used": 0}),
        ("done", {"reason": "the task is done"}),
        ("closed", {}),
    ],
)
def test_no_transaction_of_an_agent_gives_a_continuation_calls(
    memory: Memory, state: str, notes: dict[str, object]
) -> None:
    ana = memory.session(actor="ana")
    ana.restart_begin("k", declared=5)
    held = ana.restart_step("ping", "failed", failure="timeout")
    with (
        pytest.raises((ConstraintError, RoleError)),
        memory.store.write(ana.identity, op="x") as tx,
    ):
        if state != "reach":
            move_record(tx, held.kref, state)
        note_record(tx, held.kref, notes)
    data = {"key": "k", "declared": 50}
    for name, more in (("b", {"used": -5}), ("c", {})):
        with (
            pytest.raises((ConstraintError, RoleError)),
            memory.store.write(ana.identity, op="x") as tx,
        ):
            write_record(
                tx,
                project="p",
                agent="ana",
                kind="restart",
                name=name,
                state="reach",
                data=data,
                notes={"used": 0, "found": "", "failures": [], "reason": ""} | more,
            )
    assert ana.restart_show() == held
