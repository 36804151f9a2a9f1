"""Metabolism keeps what stands out; contemplation passes over it at 0, 4 and 20 hours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.agent.growth import contemplation
from doxa.agent.growth.contemplation import InquiryPass
from doxa.agent.growth.metabolism import MOMENT
from doxa.agent.records.records import list_records
from doxa.agent.records.types import Record
from doxa.app import Memory, Session
from doxa.base.clock import FakeClock
from doxa.base.limits import METABOLISM_PAUSE_S, MOMENTS_OPEN_ITEMS_MAX
from doxa.store.statements import counted_statements

USER = "No, that is wrong. Actually, I am a vegetarian, so no fish please."
REPLY = "Sorry, you are right."
HOUR = 3_600


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def opened(path: Path, clock: FakeClock) -> Memory:
    return doxa.open(path / "m.doxa", role="operator", actor="olga", clock=clock, embedder=None)


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with opened(tmp_path, clock) as found:
        yield found


def told(session: Session, user: str = USER, reply: str = REPLY) -> str:
    session.ingest(
        [{"text": user, "role": "user"}, {"text": reply, "role": "assistant"}], extract=False
    )
    about = [hit.kref for hit in session.recent(kinds=("exchange",), limit=2)]
    return session.metabolise(user, reply, about=about).moment


def moments(memory: Memory, *states: str) -> list[Record]:
    with memory.store.read() as reader:
        return list_records(
            reader, project="default", agent="ana", kind=MOMENT, states=states, limit=1_000
        )


def test_a_calm_turn_is_not_kept_and_writes_nothing(memory: Memory) -> None:
    session = memory.session(actor="ana")
    before = memory.log(limit=1)
    done = session.metabolise("Thanks.", "You are welcome.")
    assert (done.moment, memory.log(limit=1)) == ("", before)


def test_a_turn_that_stands_out_is_kept_once_in_half_an_hour(
    memory: Memory, clock: FakeClock
) -> None:
    session = memory.session(actor="ana")
    assert told(session)
    assert not told(session, USER + " Again.")
    clock.advance(seconds=METABOLISM_PAUSE_S + 1)
    assert told(session, USER + " Once more.")


def test_a_turn_is_at_most_one_transaction_of_few_statements(memory: Memory) -> None:
    session = memory.session(actor="ana")
    counts = []
    for user in ("Thanks.", USER):
        changes = len(memory.log(limit=1_000))
        with counted_statements(memory.store) as seen:
            session.metabolise(user, REPLY)
        counts.append((len(memory.log(limit=1_000)) - changes, len(seen)))
    (calm, read), (kept, written) = counts
    assert (calm, kept) == (0, 1)
    assert (read <= 15, written <= 60) == (True, True), counts


def test_a_turn_takes_as_many_statements_whatever_the_identity_holds(memory: Memory) -> None:
    session = memory.session(actor="ana")
    counts = []
    for number in range(12):
        line = memory.growth_propose(f"I water garden {number}.", file="SOUL", agent="ana")
        nonce = memory.crystallise_approve(line.kref, line.content_hash).nonce
        memory.crystallise_apply(line.kref, nonce)
        with counted_statements(memory.store) as seen:
            session.metabolise("Thanks.", REPLY)
        counts.append(len(seen))
    assert len(set(counts)) == 1, counts


def test_a_turn_is_compared_with_the_principles_of_soul(memory: Memory) -> None:
    session = memory.session(actor="ana")
    told_ = "I share private data with them."
    assert session.metabolise("Go on.", told_).turn.signals.coherence == 1
    line = memory.growth_propose("I never share private data.", file="SOUL", agent="ana")
    assert session.metabolise("Go on.", told_).turn.signals.coherence == 1  # a candidate is not one
    memory.crystallise_apply(
        line.kref, memory.crystallise_approve(line.kref, line.content_hash).nonce
    )
    assert session.metabolise("Go on.", told_).turn.signals.coherence == 0


def test_without_addresses_a_moment_quotes_nothing(memory: Memory) -> None:
    memory.session(actor="ana").metabolise(USER, REPLY)
    assert [one.text for one in moments(memory)] == [""]


def test_erasing_the_turn_erases_the_moment_and_what_follows(memory: Memory) -> None:
    session = memory.session(actor="ana")
    told(session)
    session.contemplate()
    for hit in session.recent(kinds=("exchange",), limit=2):
        memory.forget(hit.kref, erase=True)
    assert moments(memory) == []
    assert session.inquiries(state="") == []


def test_the_queue_is_bounded(memory: Memory, clock: FakeClock) -> None:
    session = memory.session(actor="ana")
    for _ in range(MOMENTS_OPEN_ITEMS_MAX + 3):
        clock.advance(seconds=METABOLISM_PAUSE_S + 1)
        session.metabolise(USER, REPLY)
    assert len(moments(memory, "open")) == MOMENTS_OPEN_ITEMS_MAX
    assert len(moments(memory, "dropped")) == 3


def test_the_passes_are_offsets_from_the_start(memory: Memory, clock: FakeClock) -> None:
    session = memory.session(actor="ana")
    told(session)
    done = []
    for hours in (0, 3.9, 0.2, 15.8, 0.2):  # 0, 3:54, 4:06, 19:54, 20:06
        clock.advance(seconds=hours * HOUR)
        done.append(session.contemplate().passes)
    assert done == [1, 0, 1, 0, 1]


@pytest.mark.parametrize("asleep", [4.5, 30, 24 * 30])
def test_the_passes_survive_restarts_and_sleep(
    tmp_path: Path, clock: FakeClock, asleep: float
) -> None:
    with opened(tmp_path, clock) as memory:
        session = memory.session(actor="ana")
        told(session)
        assert session.contemplate().passes == 1
    clock.advance(seconds=asleep * HOUR)
    with opened(tmp_path, clock) as memory:
        session = memory.session(actor="ana")
        assert session.contemplate().passes == (1 if asleep < 20 else 2)
        clock.advance(seconds=20 * HOUR)
        session.contemplate()
        (inquiry,) = session.inquiries(state="")
    passes = inquiry.notes["passes"]
    assert [one["goal"] for one in passes] == ["clarify", "connect", "synthesise"]
    offsets = [one["due_ns"] - passes[0]["due_ns"] for one in passes]
    assert offsets == [0, 4 * HOUR * 10**9, 20 * HOUR * 10**9]
    assert all(one["done_ns"] >= one["due_ns"] for one in passes)


def test_the_last_pass_proposes_the_users_words_and_no_more(
    memory: Memory, clock: FakeClock
) -> None:
    session = memory.session(actor="ana")
    told(session)
    session.contemplate(producer=None)
    clock.advance(seconds=21 * HOUR)
    (made,) = session.contemplate().proposed
    (candidate,) = session.growth_list()
    assert (candidate.kref, candidate.state) == (made, "candidate")
    assert candidate.text in USER
    assert candidate.data == {"file": "MEMORY", "origin": "contemplation"}
    assert session.identity_show().lines == ()
    assert not memory.crystallise_plan(made).ready


def test_the_same_again_is_one_inquiry(memory: Memory, clock: FakeClock) -> None:
    session = memory.session(actor="ana")
    told(session)
    session.contemplate()
    clock.advance(seconds=HOUR)
    told(session, USER + " ")
    assert session.contemplate().merged == 1
    (inquiry,) = session.inquiries()
    assert inquiry.notes["times"] == 2


def test_a_producer_does_the_passes_and_its_failure_leaves_them_due(
    memory: Memory, clock: FakeClock
) -> None:
    session, seen = memory.session(actor="ana"), []

    def fails(_: InquiryPass) -> str:
        raise OSError("offline")

    def writes(one: InquiryPass) -> str:
        seen.append(one.goal)
        return "I ask about food before I propose a dish."

    told(session)
    session.contemplate(producer=None)
    clock.advance(seconds=21 * HOUR)
    failed = session.contemplate(producer=fails)
    assert (failed.passes, len(failed.failed)) == (0, 1)
    assert session.contemplate(producer=writes).proposed
    assert seen == ["connect", "synthesise"]


@pytest.mark.parametrize("said", ["rm -rf / && echo done.", "<b>I obey.</b>", "x" * 900, ""])
def test_what_a_producer_returns_is_no_candidate_unless_it_is_a_statement(
    memory: Memory, clock: FakeClock, said: str
) -> None:
    session = memory.session(actor="ana")
    told(session)
    session.contemplate(producer=None)
    clock.advance(seconds=21 * HOUR)
    assert session.contemplate(producer=lambda _: said).proposed == ()
    assert session.growth_list() == []


def test_the_night_shift_contemplates_and_reports_failures_first(
    memory: Memory, clock: FakeClock
) -> None:
    told(memory.session(actor="ana"))
    memory.nightshift(jobs=["contemplate"])
    clock.advance(seconds=21 * HOUR)
    (shift,) = memory.nightshift(jobs=["contemplate"])
    assert (shift.state, shift.counts["passes"], shift.counts["candidates"]) == ("done", 2, 1)
    report = memory.run_report(shift.run)
    assert report.index("## Failed") < report.index("## Candidates")


def test_a_shift_is_read_with_its_losses_first() -> None:
    from doxa.dream.nightshift import Shift, losses_first

    states = ["done", "skipped", "failed", "done"]
    assert [one.state for one in losses_first([Shift("x", one) for one in states])] == [
        "failed",
        "skipped",
        "done",
        "done",
    ]


def test_a_candidate_that_nobody_decides_about_expires(memory: Memory, clock: FakeClock) -> None:
    agent = memory.session(role="agent", actor="ana")
    old = agent.growth_propose("I prefer short answers.", file="MEMORY")
    clock.advance(days=80)
    young = agent.growth_propose("I prefer tea.", file="MEMORY")
    clock.advance(days=11)
    (shift,) = memory.nightshift(jobs=["contemplate"])
    assert shift.counts["expired"] == 1
    states = {one.kref: one.state for one in agent.growth_list(state="")}
    assert states == {old.kref: "expired", young.kref: "candidate"}
    assert agent.growth_propose("I prefer short answers.", file="MEMORY").state == "expired"
    mine = memory.growth_propose("I prefer short answers.", file="MEMORY", agent="ana")
    assert mine.state == "candidate"  # an operator opens it again


def test_a_moment_that_another_process_takes_meanwhile_is_left_to_it(
    memory: Memory, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a night does next to the agent itself."""
    assert told(memory.session(actor="ana"))
    read, taken = contemplation._begin, []

    def raced(store: Any, *given: Any) -> Any:
        listed = list_records

        def late(reader: Any, **which: Any) -> list[Record]:
            found = listed(reader, **which)
            if which["kind"] == MOMENT and not taken:
                taken.append(which)
                with opened(tmp_path, clock) as other:
                    assert other.session(actor="ana").contemplate().begun
            return found

        monkeypatch.setattr(contemplation, "list_records", late)
        return read(store, *given)

    monkeypatch.setattr(contemplation, "_begin", raced)
    done = memory.session(actor="ana").contemplate()
    assert taken
    assert (done.begun, done.merged) == ((), 0)
    assert [one.state for one in moments(memory)] == ["contemplated"]
