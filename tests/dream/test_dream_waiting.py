"""What a dream leaves open is tried again: what was too young, what was beyond the limits of a run,
and what a killed dream had proposed. A part that breaks stops neither a dream nor the night."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError, ModelError
from doxa.dream.model import ModelAssessor
from doxa.dream.nightshift import Work, work_through
from doxa.jobs.digests import beliefs_digest
from doxa.models.fakes import ScriptedCompleter

P = "kref://default/"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(path=tmp_path / "m.doxa", clock=FakeClock(), embedder=None, role="operator")
    with Memory(config) as opened:
        yield opened


def _later(memory: Memory, days: float = 30) -> None:
    clock = memory.store.clock
    assert isinstance(clock, FakeClock)
    clock.advance(days=days)


def _twins(memory: Memory, *numbers: int, project: str = "default") -> None:
    for number in numbers:
        for name in ("one", "two"):
            memory.expand(
                f"The lamp {number} is in room {number}.", name=f"{name}-{number}", project=project
            )


def _states(memory: Memory) -> dict[str, int]:
    found = [one.state for one in memory.proposals(state="")]
    return {state: found.count(state) for state in sorted(set(found))}


def test_nights_that_apply_end_what_has_become_old_enough(memory: Memory) -> None:
    """Each duplicate was seen on the night after it was written, six days too early."""
    for day in range(60):
        if day % 5 == 0 and day < 40:
            _twins(memory, day)
        _later(memory, days=1)
        if day % 2:
            memory.dream(apply=True)
        else:
            (night,) = memory.nightshift(jobs=["dream"], apply=True)
            assert night.state == "done"
    assert _states(memory) == {"applied": 8}
    for day in range(0, 40, 5):
        assert memory.get(f"{P}two-{day}.fact").status == "deprecated"
        assert memory.get(f"{P}one-{day}.fact").status == "current"
    memory.verify()


def test_what_waits_is_noted_once(memory: Memory) -> None:
    _twins(memory, 1)
    assert memory.dream(apply=True).blocked == ()
    (proposal,) = memory.proposals()
    assert memory.apply([proposal.kref])[0].state == "open"
    with memory.store.read() as reader:
        node = reader.node_by_kref(proposal.kref)
        assert node is not None
    for _ in range(3):
        memory.dream(apply=True)
        assert "younger" in memory.apply([proposal.kref])[0].said
    with memory.store.read() as reader:
        after = reader.node_by_kref(proposal.kref)
        assert after is not None
        assert after.since == node.since


def test_a_dream_tries_again_within_its_own_limits_and_kinds(memory: Memory) -> None:
    _twins(memory, *range(5))
    memory.expand("The API port is 9090.", name="a")
    memory.expand("The API port is 9191.", name="b")
    _later(memory)
    memory.dream(all_kinds=True)
    assert _states(memory) == {"open": 6}
    assert len(memory.dream(apply=True, number=3, share=0.9).lost) == 3
    assert len(memory.dream(apply=True, share=0.1).lost) == 1  # of twelve items
    assert len(memory.dream(apply=True).lost) == 1
    (rest,) = memory.proposals()
    assert rest.kind == "contradiction"  # not without being asked for
    assert [one.finding.kind for one in memory.dream(apply=True, all_kinds=True).applied] == [
        "contradiction"
    ]


def test_a_dream_leaves_other_projects_and_jobs_alone(memory: Memory) -> None:
    _twins(memory, 1, project="other")
    _later(memory)
    memory.dream(project="other")
    assert memory.dream(apply=True).lost == ()
    assert memory.dream(apply=True, project="other").lost == ("kref://other/two-1.fact?r=1",)


def test_what_a_later_run_applied_is_undone_with_that_run(memory: Memory) -> None:
    _twins(memory, 1)
    first = memory.dream()
    _later(memory)
    with memory.store.read() as reader:
        before = beliefs_digest(reader)
    second = memory.dream(apply=True)
    assert second.lost == (f"{P}two-1.fact?r=1",)
    memory.undo_run(first.run)  # it changed nothing
    assert _states(memory) == {"applied": 1}
    assert memory.get(f"{P}two-1.fact").status == "deprecated"
    memory.undo_run(second.run)
    assert _states(memory) == {"rejected": 1}
    with memory.store.read() as reader:
        assert beliefs_digest(reader) == before
    assert memory.dream(apply=True).lost == ()
    memory.verify()


def test_erasing_a_belief_clears_the_report_of_the_run_that_applied(memory: Memory) -> None:
    _twins(memory, 1)
    memory.dream()
    _later(memory)
    second = memory.dream(apply=True)
    assert "two-1" in memory.run_report(second.run)
    preview = memory.forget(f"{P}two-1.fact", erase=True, preview=True)
    memory.forget(f"{P}two-1.fact", erase=True, confirm=preview.token)
    (run,) = [one for one in memory.runs() if one.kref == second.run]
    assert run.report == ""


def test_each_call_to_apply_has_the_limits_of_the_run(memory: Memory) -> None:
    _twins(memory, *range(30))
    _later(memory)
    report = memory.dream(share=0.9)
    krefs = [one.kref for one in memory.proposals()]
    assert len(krefs) == 30
    with memory.store.read() as reader:
        before = beliefs_digest(reader)
    done = [one.state for one in memory.apply(krefs)]
    assert (done.count("applied"), done.count("open")) == (20, 10)
    rest = [one.kref for one in memory.proposals()]
    assert len(rest) == 10
    assert "limit is 20" in memory.proposals()[0].said
    assert {one.state for one in memory.apply(rest)} == {"applied"}
    assert {one.said for one in memory.proposals(state="applied")} == {""}
    memory.undo_run(report.run)
    with memory.store.read() as reader:
        assert beliefs_digest(reader) == before
    memory.verify()


def test_what_was_rejected_is_not_applied(memory: Memory) -> None:
    _twins(memory, 1, 2)
    _later(memory)
    memory.dream()
    first, second = memory.proposals()
    memory.session(actor="Ben").reject(second.kref, reason="both lamps are needed")
    with pytest.raises(ConflictError, match="rejected by Ben: both lamps are needed"):
        memory.apply([first.kref, second.kref])
    assert _states(memory) == {"open": 1, "rejected": 1}  # nothing was applied
    assert memory.get(f"{P}two-2.fact").status == "current"
    assert len(memory.dream(apply=True).lost) == 1


def _breaks(_: object) -> str:
    raise ValueError("no weights")


def test_a_model_that_breaks_stops_neither_a_dream_nor_the_night(tmp_path: Path) -> None:
    clock, model = FakeClock(), ScriptedCompleter(_breaks)
    path = tmp_path / "m.doxa"
    with doxa.open(path, clock=clock, embedder=None, model=model, role="operator") as memory:
        _twins(memory, 1, 2)
        clock.advance(days=30)
        report = memory.dream(calls=3)
        assert (report.state, len(report.proposed)) == ("done", 2)
        assert any("ValueError: no weights" in said for said in report.warnings)
        assert "no weights" in report.markdown
        _twins(memory, 3)
        states = {one.job: one.state for one in memory.nightshift(calls=3)}
        assert states.pop("dream") == "done"
        assert "running" not in {run.state for run in memory.runs()}
        with memory.store.read() as reader, pytest.raises(ModelError, match="no weights"):
            from doxa.dream.findings import DreamBatch

            ModelAssessor(model).assess(
                reader, DreamBatch("default", tuple(reader.labelled("Revision")))
            )


def test_a_job_of_the_night_that_breaks_stops_no_other(memory: Memory) -> None:
    def broken(*_: object) -> dict[str, int]:
        raise ZeroDivisionError("a part divides")

    jobs = {
        "first": Work(broken),
        "second": Work(notes_itself=broken),  # type: ignore[arg-type]
        "third": Work(lambda _: {"made": 1}),
    }
    done = work_through(memory.store, "default", jobs)
    assert [one.state for one in done] == ["failed", "failed", "done"]
    assert {one.reason for one in done[:2]} == {"ZeroDivisionError: a part divides"}
    assert [(run.job, run.state) for run in memory.runs()] == [
        ("third", "done"),
        ("first", "failed"),
        ("nightshift", "done"),
    ]


_KILLED = """
import os, sys
from pathlib import Path
import doxa.dream.pipeline as pipeline
from doxa import Config, Memory
from doxa.base.clock import FakeClock
pipeline.apply = lambda *_, **__: os._exit(9)
clock = FakeClock(int(sys.argv[2]))
with Memory(Config(path=Path(sys.argv[1]), clock=clock, embedder=None, role="operator")) as memory:
    memory.dream(apply=True)
"""


def test_a_dream_killed_between_proposing_and_applying_is_resumed(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / "m.doxa"
    config = Config(path=path, clock=clock, embedder=None, role="operator")
    with Memory(config) as memory:
        _twins(memory, 1, 2)
    clock.advance(days=30)
    command = [sys.executable, "-c", _KILLED, str(path), str(clock.now_ns())]
    died = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert died.returncode == 9, died.stderr
    clock.advance(days=1)
    with Memory(config) as memory:
        assert _states(memory) == {"open": 1}
        report = memory.dream(apply=True)
        assert (report.state, report.resumed, len(report.lost)) == ("done", True, 2)
        assert _states(memory) == {"applied": 2}
        assert len(memory.runs(job="dream")) == 1
        memory.undo_run(report.run)
        assert memory.get(f"{P}two-1.fact").status == "current"
        memory.verify()


def test_a_job_that_stopped_in_one_project_is_not_hidden_by_another(memory: Memory) -> None:
    memory.dream(project="a")
    for _ in range(30):
        _later(memory, days=1)
        memory.dream(project="b")
    (check,) = [one for one in memory.doctor() if one.name == "jobs"]
    assert (check.ok, check.detail) == (False, "dream in a has not run for 30 days")
    assert memory.stats()["jobs"] == ["dream in a has not run for 30 days", "dream in b ran today"]
    memory.dream(project="a")
    (check,) = [one for one in memory.doctor() if one.name == "jobs"]
    assert check.ok


def test_the_night_shift_takes_the_limits_of_a_dream_and_says_what_was_spent(
    tmp_path: Path,
) -> None:
    clock, model = FakeClock(), ScriptedCompleter(lambda _: "{}")
    path = tmp_path / "m.doxa"
    with doxa.open(path, clock=clock, embedder=None, model=model, role="operator") as memory:
        _twins(memory, 1, 2, 3)
        clock.advance(days=3)
        limits = {"share": 0.9, "number": 2, "age_days": 2.0, "calls": 1, "tokens": 100_000}
        (night,) = memory.nightshift(jobs=["dream"], apply=True, **limits)
        assert dict(night.limits) == limits
        assert night.counts["applied"] >= 1  # three days are more than two
        assert memory.runs(job="dream")[0].number_max == 2
        assert 0 < night.counts["tokens"] <= 100_000 and night.counts["calls"] == 1
        said = memory.run_report(night.run)
        assert "Limits: 2 elements touched, a share of 0.9 of the items changed" in said
        assert "younger than 2 days" in said and "1 calls, 100000 tokens" in said
        with pytest.raises(doxa.InputError, match="share"):
            memory.nightshift(share=2)
        _twins(memory, 4)
        (young,) = memory.nightshift(jobs=["dream"], apply=True, age_days=30)
        assert young.counts["tokens"] == 0 and young.counts["lost"] == 0
