"""The night shift keeps one report, which begins with what was lost or refused; it cares for the
indexes, and says of the newest backup whether it can be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.app import Memory
from doxa.base.clock import FakeClock
from doxa.base.limits import BACKUP_AGE_DAYS_MAX
from doxa.dream.nightshift import Shift, Work, report_of, work_through

TITLES = ("## Lost or refused", "## Waits for a person", "## Done")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with doxa.open(
        tmp_path / "m.doxa",
        role="operator",
        actor="olga",
        clock=clock,
        embedder=None,
        background=False,
    ) as found:
        yield found


def sections(report: str) -> dict[str, str]:
    places = [report.index(title) for title in TITLES]
    assert places == sorted(places)
    ends = [*places[1:], len(report)]
    return {
        title: report[place + len(title) : end].strip()
        for title, place, end in zip(TITLES, places, ends, strict=True)
    }


def test_one_report_begins_with_what_was_lost_or_refused(memory: Memory) -> None:
    def broken(_: object) -> dict[str, int]:
        raise OSError("the disk is full")

    def refused(_: object) -> dict[str, int]:
        raise doxa.RoleError("An agent may not.", next_step="Ask.")

    jobs = {
        "first": Work(lambda _: {"made": 2, "proposed": 3}),
        "second": Work(broken),
        "third": Work(refused),
        "fourth": Work(lambda _: {"lost": 1, "failed": 0}),
    }
    done = work_through(memory.store, "default", jobs)
    assert [one.state for one in done] == ["done", "failed", "skipped", "done"]
    found = sections(memory.run_report(job="nightshift"))
    assert found[TITLES[0]].splitlines() == [
        "- second failed: OSError: the disk is full",
        "- third skipped: An agent may not.",
        "- fourth: lost 1",
    ]
    assert found[TITLES[1]] == "- 3 new proposals"
    assert found[TITLES[2]].splitlines()[0] == "- first: made 2, proposed 3"


def test_a_quiet_night_says_that_nothing_was_lost(memory: Memory) -> None:
    assert sections(report_of(memory.store, [Shift("x", "done")]))[TITLES[0]] == "None."


def test_the_shift_has_a_heartbeat_and_its_reports_are_bounded(
    memory: Memory, clock: FakeClock
) -> None:
    for _ in range(60):
        clock.advance(seconds=60)
        memory.nightshift(jobs=["index"])
    assert len(memory.runs(job="nightshift", limit=1_000)) == 50
    clock.advance(seconds=9 * 86_400)
    (check,) = [one for one in memory.doctor() if one.name == "jobs"]
    assert "nightshift has not run for 9 days" in check.detail


def test_a_process_that_ends_within_a_shift_leaves_its_report(memory: Memory) -> None:
    def ended(_: object) -> dict[str, int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work_through(
            memory.store, "default", {"one": Work(lambda _: {"made": 1}), "two": Work(ended)}
        )
    (run,) = memory.runs(job="nightshift")
    assert (run.state, "after 1 of 2 jobs" in run.error) == ("stopped", True)
    assert "- one: made 1" in run.report


def test_index_care_merges_what_is_new_and_finds_the_same(memory: Memory) -> None:
    for number in range(30):
        memory.remember(f"The garden has {number} apple trees.")
    before = [hit.kref for hit in memory.recall("apple trees").hits]
    (first,) = memory.nightshift(jobs=["index"])
    assert first.counts["merged"] > 0
    assert first.counts["left"] == 0
    assert [hit.kref for hit in memory.recall("apple trees").hits] == before
    assert memory.nightshift(jobs=["index"])[0].counts["merged"] == 0
    assert memory.check() == []


def test_the_newest_backup_is_verified(memory: Memory, clock: FakeClock, tmp_path: Path) -> None:
    memory.remember("I like tea.")
    (none,) = memory.nightshift(jobs=["backup"])
    assert (none.state, none.counts["backups"]) == ("done", 0)
    assert "none was ever made" in none.reason
    assert "none was ever made" in sections(memory.run_report(job="nightshift"))[TITLES[1]]
    made = memory.backup(tmp_path / "b.doxa")
    (good,) = memory.nightshift(jobs=["backup"])
    assert (good.reason, good.counts["receipts"] > 0, good.counts["missing"]) == ("", True, 0)
    clock.advance(seconds=(BACKUP_AGE_DAYS_MAX + 1) * 86_400)
    assert "8 days old" in memory.nightshift(jobs=["backup"])[0].reason
    made.write_bytes(made.read_bytes()[:4_096] + b"x" * 4_096)
    (damaged,) = memory.nightshift(jobs=["backup"])
    assert damaged.state == "failed"
    assert "cannot be used" in sections(memory.run_report(job="nightshift"))[TITLES[0]]
    made.unlink()
    (gone,) = memory.nightshift(jobs=["backup"])
    assert (gone.counts["missing"], "none that doxa wrote" in gone.reason) == (1, True)


def test_a_session_bound_to_a_project_leaves_the_file_alone(memory: Memory) -> None:
    bound = memory.session(actor="ana", role="agent", projects=["default"])
    states = {one.job: one.state for one in bound.nightshift(jobs=["index", "backup"])}
    assert states == {"index": "skipped", "backup": "skipped"}


def test_a_job_without_a_place_comes_before_the_dream(memory: Memory) -> None:
    session = memory.session(role="operator", actor="olga")
    known = session._night_work
    session._night_work = lambda *given: (
        known(*given)
        | {  # type: ignore[method-assign]
            "later": Work(lambda _: {"written": 1})
        }
    )
    jobs = [one.job for one in session.nightshift()]
    assert jobs.index("standing") < jobs.index("later") < jobs.index("dream")


def test_a_shift_ends_when_its_seconds_are_over(memory: Memory) -> None:
    ticks = iter([0.0, 5.0, 9.0, 10.0, 11.0])
    done: list[str] = []
    jobs = {name: Work(lambda _, n=name: done.append(n) or {}) for name in "abcd"}  # type: ignore[misc]
    shifts = work_through(memory.store, "default", jobs, budget_s=10, monotonic=lambda: next(ticks))
    assert done == ["a", "b"]
    assert [one.state for one in shifts] == ["done", "done", "skipped", "skipped"]
    assert shifts[2].reason == "The 10 seconds of the shift are over."
    with pytest.raises(doxa.InputError):
        memory.nightshift(budget_s=-1)
    assert {one.state for one in memory.nightshift(budget_s=0, jobs=["index"])} == {"skipped"}
