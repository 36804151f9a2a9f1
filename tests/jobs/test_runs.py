"""A run from its beginning to its end: what it makes bears its marks, its limits hold, proposals
are applied one by one, and the run is undone as one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import BusyError, ConflictError, InputError, LimitError, RoleError, StoreError
from doxa.belief import Ledger
from doxa.belief.types import Draft
from doxa.dream.nightshift import Work, work_through
from doxa.jobs import Caps, apply, begin, heartbeats, lease, list_proposals, list_runs, undo_run
from doxa.jobs.runs import JobRun
from doxa.language.turns import Turn
from doxa.store import Identity

AGENT = Identity("ann", "agent")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(Config(path=tmp_path / "m.doxa", clock=FakeClock(), embedder=None)) as opened:
        yield opened


def _turn(memory: Memory, text: str) -> str:
    memory.ingest([Turn("t", "s", "Ann", "user", text, None, "")])
    with memory.store.read() as reader:
        return str(max(reader.labelled("Exchange"), key=lambda node: node.id).props["kref"])


def _conclude(memory: Memory, summary: str, source: str, *, trust: str = "inferred") -> str:
    with begin(memory.store, "test", project="default", model="fake") as run:
        with run.write():
            ledger = Ledger(memory.store, run.identity)
            change = ledger.put(Draft(summary, trust=trust), links=[("DERIVED_FROM", source)])
        run.finish({"written": 1})
    return change.kref


def test_what_a_run_concludes_bears_its_marks(memory: Memory) -> None:
    source = _turn(memory, "I moved to Lisbon in May.")
    kref = _conclude(memory, "Ann lives in Lisbon.", source)
    with memory.store.read() as reader:
        node = reader.node_by_kref(f"{kref.partition('?')[0]}?r=1")
        assert node is not None
        (run,) = list_runs(reader)
    assert (node.props["job_run"], node.props["job_model"]) == (run.kref, "fake")
    assert (run.state, run.touched, dict(run.counts)) == ("done", 1, {"written": 1})


def test_a_conclusion_needs_a_source_and_is_inferred(memory: Memory) -> None:
    source = _turn(memory, "I moved to Lisbon in May.")
    with pytest.raises(RoleError, match="inferred"):
        _conclude(memory, "Ann lives in Lisbon.", source, trust="stated")
    derived = _conclude(memory, "Ann lives in Lisbon.", source)
    with pytest.raises(RoleError, match="written by a background job"):
        _conclude(memory, "Ann likes Portugal.", derived)


def test_the_role_writes_only_in_a_run(memory: Memory) -> None:
    with (
        pytest.raises(InputError, match="in the name of a run"),
        memory.store.write(Identity("x", "background"), op="x"),
    ):
        pass


def test_a_run_has_limits(memory: Memory) -> None:
    source = _turn(memory, "I moved to Lisbon in May.")
    run = begin(memory.store, "test", project="default", caps=Caps(number=2))
    ledger = Ledger(memory.store, run.identity)
    for number in range(2):
        with run.write():
            ledger.put(
                Draft(f"Ann said it {number} times.", trust="inferred"),
                links=[("DERIVED_FROM", source)],
            )
    with pytest.raises(LimitError, match="limit is 2"), run.write():
        ledger.put(Draft("Ann said it often.", trust="inferred"), links=[("DERIVED_FROM", source)])
    with pytest.raises(InputError):
        Caps(share=0.95)


def test_what_somebody_stated_is_proposed_and_applied_by_an_agent(memory: Memory) -> None:
    first = memory.remember("The door is blue.", name="door")
    other = memory.remember("The wall is red.", name="wall")
    run = begin(memory.store, "test", project="default")
    with pytest.raises(RoleError, match="somebody stated it"), run.write():
        Ledger(memory.store, run.identity).deprecate("kref://default/door.fact")
    kref = run.propose(
        "stale",
        "Nobody needs it.",
        about=[first.kref],
        action={"do": "retire", "kref": first.kref},
    )
    run.finish({})
    with memory.store.read() as reader:
        (proposal,) = list_proposals(reader)
    assert (proposal.kref, proposal.kind, proposal.state) == (kref, "stale", "open")
    (done,) = apply(memory.store, AGENT, [kref])
    assert done.state == "applied"
    assert memory.recall("door").hits == () or "blue" not in memory.recall("door").hits[0].text
    undone = undo_run(memory.store, AGENT, run.kref)
    assert undone.changes == (done.change,)
    assert memory.get(first.kref).status == "current"
    assert memory.get(other.kref).status == "current"
    assert memory.check() == []
    with pytest.raises(ConflictError, match="undone"):
        apply(memory.store, AGENT, [kref])
    memory.verify()


def test_one_leader_has_the_lease(memory: Memory) -> None:
    clock = memory.store.clock
    assert isinstance(clock, FakeClock)
    with lease(memory.store, "dream", ttl_ms=1_000, kept=False) as held:
        with pytest.raises(BusyError), lease(memory.store, "dream"):
            pass
        held.renew()
        clock.advance(seconds=5)
        with lease(memory.store, "dream"), pytest.raises(BusyError):
            held.renew()
    with lease(memory.store, "dream"):
        pass


def test_a_stage_that_takes_longer_than_the_lease_does_not_lose_it(memory: Memory) -> None:
    clock = memory.store.clock
    assert isinstance(clock, FakeClock)
    with (
        ThreadPoolExecutor(1) as others,
        lease(memory.store, "dream", ttl_ms=300) as held,
        memory.store.read() as snapshot,
    ):
        snapshot.rows("SELECT count(*) FROM node")  # a stage that reads, in which nobody renews
        for _ in range(4):
            clock.advance(seconds=0.2)
            least = clock.now_ns() + 250_000_000
            for _ in range(1_000):
                if held.until >= least:
                    break
                time.sleep(0.01)
            taken = others.submit(memory.store.take_lease, "dream", held=0, ttl_ns=10**9)
            assert taken.result() == 0
    with lease(memory.store, "dream"):
        pass


def test_a_run_is_not_stalled_while_somebody_holds_its_lease(memory: Memory) -> None:
    clock = memory.store.clock
    assert isinstance(clock, FakeClock)
    run = begin(memory.store, "dream", project="default")
    clock.advance(seconds=600)
    with lease(memory.store, "dream"), memory.store.read() as reader:
        assert [beat.is_stalled for beat in heartbeats(reader, now=clock.now_ns())] == [False]
    with memory.store.read() as reader:
        assert [beat.is_stalled for beat in heartbeats(reader, now=clock.now_ns())] == [True]
    run.finish({})


def test_a_night_shift_that_loses_its_lease_reports_what_it_did(memory: Memory) -> None:
    def lose(_: JobRun) -> dict[str, int]:
        memory.store.take_lease("nightshift", held=_token(memory), ttl_ns=0)
        memory.store.take_lease("nightshift", held=0, ttl_ns=10**12)
        return {"items": 1}

    shifts = work_through(memory.store, "default", {"one": Work(lose), "two": Work(lose)})
    assert [(shift.job, shift.state) for shift in shifts] == [("one", "done"), ("two", "skipped")]


def _token(memory: Memory) -> int:
    with memory.store.read() as reader:
        return reader.lease_until("nightshift")


def test_a_heartbeat_says_how_long_ago(memory: Memory) -> None:
    begin(memory.store, "dream", project="default").finish({})
    clock = memory.store.clock
    assert isinstance(clock, FakeClock)
    clock.advance(days=9)
    with memory.store.read() as reader:
        (beat,) = heartbeats(reader, now=clock.now_ns())
    assert beat.said() == "dream has not run for 9 days"
    (check,) = [one for one in memory.doctor() if one.name == "jobs"]
    assert (check.ok, check.detail) == (False, "dream has not run for 9 days")
    assert memory.stats()["jobs"] == ["dream has not run for 9 days"]
    begin(memory.store, "dream", project="default").finish({})
    assert memory.stats()["jobs"] == ["dream ran today"]
    begin(memory.store, "embed", project="default").finish({}, state="failed", error="no model")
    (check,) = [one for one in memory.doctor() if one.name == "jobs"]
    assert (check.ok, "embed has never ended well" in check.detail) == (False, True)


def test_a_run_that_died_is_said(memory: Memory) -> None:
    begin(memory.store, "dream", project="default")
    clock = memory.store.clock
    assert isinstance(clock, FakeClock)
    assert [(run.state, run.error) for run in memory.runs()] == [("running", "")]
    clock.advance(seconds=61)
    with lease(memory.store, "dream", kept=False):
        assert memory.runs()[0].error == ""
    (check,) = [one for one in memory.doctor() if one.name == "jobs"]
    assert (check.ok, check.detail) == (
        False,
        "dream has never ended well; its last run stopped in the middle",
    )
    assert [(run.state, run.error) for run in memory.runs()] == [("running", "its process died")]


def test_of_a_job_without_a_lease_nobody_says_that_it_died(memory: Memory) -> None:
    begin(memory.store, "mentions", project="default")
    clock = memory.store.clock
    assert isinstance(clock, FakeClock)
    clock.advance(seconds=61)
    assert [(run.state, run.error) for run in memory.runs()] == [("running", "")]


def test_a_run_is_no_part_of_a_transaction(memory: Memory) -> None:
    run = begin(memory.store, "test", project="default")
    with (
        memory.store.write(AGENT, op="x") as tx,
        memory.store.joined(tx),
        pytest.raises(StoreError, match="part of a transaction"),
        run.write(),
    ):
        pass


def test_check_accepts_a_lease_that_is_held_and_the_progress_of_a_load(
    memory: Memory, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id\n" + "".join(f"{number}\n" for number in range(50)))
    memory.load(rows, label="Row")
    with lease(memory.store, "dream", kept=False):
        assert memory.check() == []
