"""A quota is checked at each commit, whichever interface writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.app import Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import InputError, LimitError, RoleError
from doxa.base.ids import Role
from doxa.base.limits import RUNS_REGULAR_ITEMS_MAX
from doxa.jobs import begin
from doxa.maintenance.regular import RegularRetention
from doxa.store import check, digest, replayed_digest
from doxa.store.scope.quota import Quota


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with doxa.open(
        tmp_path / "a.db", role="operator", clock=clock, background=False, embedder=None
    ) as made:
        yield made
        assert check(made.store) == []
        assert digest(made.store) == replayed_digest(made.store)


def _count(memory: Memory) -> int:
    return int(next(iter(memory.run("MATCH (n) RETURN count(n)")))[0])


def test_there_is_none_unless_it_is_set(memory: Memory) -> None:
    assert memory.quota() == Quota()
    memory.run("UNWIND range(1, 500) AS i CREATE (:A)")


def test_nodes_beyond_a_quota_are_refused_and_nothing_of_them_stays(memory: Memory) -> None:
    memory.run("UNWIND range(1, 8) AS i CREATE (:A {i: i})")
    assert memory.quota(items=10) == Quota(items=10)
    memory.run("CREATE (:A), (:A)")
    agent = memory.session(actor="eve", projects=["mine"])
    for write in (
        lambda: memory.run("CREATE (:A)"),
        lambda: agent.run("CREATE (:A)"),
        lambda: agent.remember("The office is in Bern"),
        lambda: agent.ingest([{"text": "hello"}]),
    ):
        with pytest.raises(LimitError, match="quota is 10"):
            write()
    assert _count(memory) == 10


def test_a_full_file_can_be_emptied_and_given_more(memory: Memory) -> None:
    memory.run("UNWIND range(1, 10) AS i CREATE (:A {i: i})")
    memory.quota(items=5)
    with pytest.raises(LimitError):
        memory.run("MATCH (n:A {i: 1}) DELETE n CREATE (:A)")
    memory.run("MATCH (n:A) WHERE n.i > 4 DELETE n")
    memory.run("CREATE (:A)")
    with pytest.raises(LimitError):
        memory.run("CREATE (:A)")
    memory.quota(items=6)
    memory.run("CREATE (:A)")
    assert memory.quota(items=0) == Quota()
    memory.run("CREATE (:A)")
    memory.quota(items=7)
    with pytest.raises(LimitError):
        memory.run("CREATE (:A)")


def test_undone_and_erased_nodes_are_counted(memory: Memory) -> None:
    change = memory.remember("The office is in Bern").change
    held = _count(memory)
    memory.quota(items=held + 1)
    memory.run("CREATE (:A)")
    memory.forget(change.kref.partition("?")[0], erase=True)
    memory.run("CREATE (:A)")
    assert _count(memory) <= held + 1


def test_bytes_beyond_a_quota_are_refused(memory: Memory) -> None:
    size = memory.stats()["bytes"]
    assert isinstance(size, int)
    memory.quota(size_bytes=size + 200_000)
    memory.run("CREATE (:A {t: $t})", {"t": "x" * 1_000})
    with pytest.raises(LimitError, match="bytes; its quota"):
        memory.run("UNWIND range(1, 40) AS i CREATE (:A {t: $t})", {"t": "x" * 10_000})
    with pytest.raises(LimitError, match="bytes; its quota"):
        memory.run("MATCH (n:A) SET n.t = $t", {"t": "x" * 400_000})
    memory.run("MATCH (n:A) DELETE n")


def test_writes_beyond_a_quota_wait_for_the_next_minute(memory: Memory, clock: FakeClock) -> None:
    memory.quota(writes_per_minute=3)
    clock.advance(seconds=120)
    for _ in range(3):
        memory.run("CREATE (:A)")
    with pytest.raises(LimitError, match="3 writes a minute"):
        memory.run("CREATE (:A)")
    memory.run("MATCH (n) RETURN n")
    clock.advance(seconds=61)
    memory.run("CREATE (:A)")
    assert _count(memory) == 4


def test_only_operators_set_one(memory: Memory, tmp_path: Path) -> None:
    with (
        doxa.open(tmp_path / "b.db", role="agent", background=False) as other,
        pytest.raises(RoleError),
    ):
        other.quota(items=5)
    for wrong in (-1, True, 1.5, "9"):
        with pytest.raises(InputError):
            memory.quota(items=wrong)  # type: ignore[arg-type]
    with (
        pytest.raises(InputError, match="no 'rows'"),
        memory.store.write(memory.identity, op="x") as tx,
    ):
        tx.set_catalogue("quota", {"rows": 5})


_TALK = [{"text": "We moved the office to Bern.", "speaker": "Ana", "role": "user"}]
_JOBS = ("dream", "consolidate", "record_mentions", "nightshift")


@pytest.mark.parametrize("role", ["agent", "operator"])
@pytest.mark.parametrize("job", _JOBS)
def test_a_job_in_a_full_file_writes_nothing_and_leaves_no_run_open(
    memory: Memory, job: str, role: Role
) -> None:
    memory.ingest(_TALK, thread="talk", extract=False)
    memory.remember("The office is in Bern")
    memory.quota(items=1)
    session = memory.session(actor="eve", role=role)
    held, changes = _count(memory), len(memory.log(limit=1_000))
    for _ in range(3):
        if job == "nightshift":
            jobs = ["index", "backup", "embed", "mentions", "consolidate", "standing", "dream"]
            done = session.nightshift(jobs=jobs)
            assert [one.state for one in done] == ["failed"] * len(jobs)
            assert all("quota" in one.reason for one in done)
        else:
            with pytest.raises(LimitError, match="quota is 1"):
                getattr(session, job)()
    assert (_count(memory), len(memory.log(limit=1_000))) == (held, changes)
    assert memory.runs() == []


def test_a_run_that_fills_the_file_ends(memory: Memory) -> None:
    run = begin(memory.store, "tidy", project="default")
    memory.quota(items=1)
    assert run.finish({}).state == "done"


@pytest.mark.parametrize("limits", [{"items": 1}, {"size_bytes": 4_096}])
def test_retention_empties_a_full_file_and_is_not_noted(
    memory: Memory, clock: FakeClock, limits: dict[str, int]
) -> None:
    memory.run("CREATE RETENTION POLICY short FOR (n) KEEP PAST 1 DAY")
    memory.run("CREATE (:A {i: 1})")
    memory.run("MATCH (n:A) SET n.i = 2")
    clock.advance(days=3)
    memory.quota(**limits)
    held = _count(memory)
    assert memory.retain().versions > 0
    assert memory.retain().versions == 0
    assert [one.state for one in memory.nightshift(jobs=["retain"])] == ["done"]
    assert (_count(memory), memory.runs()) == (held, [])


def test_regular_retention_goes_on_in_a_full_file_and_its_runs_take_turns(
    memory: Memory, clock: FakeClock
) -> None:
    memory.run("CREATE RETENTION POLICY short FOR (n) KEEP PAST 1 DAY")
    memory.quota(items=1)
    job = RegularRetention(memory.store, every_s=86_400, project="default")
    for _ in range(RUNS_REGULAR_ITEMS_MAX + 20):
        clock.advance(days=2)
        job.apply(lambda: False)
    runs = memory.runs(job="retain", limit=1_000)
    assert {run.state for run in runs} == {"done"}
    assert len(runs) == RUNS_REGULAR_ITEMS_MAX
    assert clock.now_ns() - runs[0].started < 86_400 * 10**9


def test_what_regular_runs_drop_is_neither_another_job_nor_one_that_changed_something(
    memory: Memory, clock: FakeClock
) -> None:
    memory.remember("The gate is open", name="gate", trust="candidate")
    other = begin(memory.store, "tidy", project="default")
    other.finish({})
    run = begin(memory.store, "retain", project="default")
    run.propose("stale", "It is old.", about=["kref://default/gate.fact"])
    run.finish({})
    for _ in range(RUNS_REGULAR_ITEMS_MAX + 5):
        clock.advance(days=2)
        begin(memory.store, "retain", project="default", regular=True).finish({})
    kept = {one.kref for one in memory.runs(limit=1_000)}
    assert {other.kref, run.kref} <= kept
    assert len(kept) <= RUNS_REGULAR_ITEMS_MAX + 2
