"""Servers over a simulated engine that delays, loses, repeats and fails. A schedule that fails is
repeated by DOXA_SEED, the seed that it names; `python -m bench campaign --factor 50
tests/replication/test_schedules.py` runs ten thousand."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from doxa.base.errors import CorruptError, DoxaError, InputError
from doxa.replication import following
from doxa.replication import replica as replicas
from doxa.store import Store
from tests.replication.schedules import Schedule, Violated

_SCHEDULES = 200  # times the factor of a campaign, over all parts
_PARTS = 20
_FAST = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: each schedule writes a few files."""
    if not _FAST.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=_FAST, prefix="doxa-schedules-") as place:
        yield Path(place)


@pytest.fixture
def template(folder: Path) -> Path:
    path = folder / "template"
    Store(path).close()
    return path


@contextmanager
def simulated_time(schedule: Schedule, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", schedule.scheduler.monotonic)
        patch.setattr(time, "sleep", schedule.scheduler.sleep)
        yield


def run(
    folder: Path, template: Path, seed: int, monkeypatch: pytest.MonkeyPatch, wrong: str = ""
) -> Schedule:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        schedule = Schedule(Path(place), template, seed, wrong=wrong)
        with simulated_time(schedule, monkeypatch):
            try:
                schedule.run()
            finally:
                for one in schedule.servers:
                    one.close()
    return schedule


@pytest.mark.parametrize("part", range(_PARTS))
def test_schedules(
    folder: Path,
    template: Path,
    part: int,
    campaign: int,
    tally: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = int(os.environ.get("DOXA_SEED", 0))
    counts: Counter[str] = Counter()
    for number in range(part, _SCHEDULES * campaign, _PARTS):
        seed = first + number
        try:
            counts.update(run(folder, template, seed, monkeypatch).counts)
        except BaseException:
            print(f"schedule {seed}: DOXA_SEED={seed}")
            raise
        counts["schedules"] += 1
    assert counts["acknowledged"] and counts["refused"]
    tally(**{name.replace(" ", "_"): n for name, n in counts.items()})


_SEEDS = 80  # within which a broken law has to be noticed


def noticed(
    folder: Path, template: Path, monkeypatch: pytest.MonkeyPatch, wrong: str = ""
) -> tuple[int, str]:
    """The first schedule in which something that must hold does not, and what it was."""
    for seed in range(_SEEDS):
        try:
            run(folder, template, seed, monkeypatch, wrong)
        except (Violated, CorruptError, InputError) as error:
            return seed, str(error)
    raise AssertionError(f"{_SEEDS} schedules noticed nothing")


@pytest.mark.parametrize("wrong", ["compare", "standby", "twice", "erase", "fence"])
def test_an_engine_that_breaks_a_law_is_noticed(
    folder: Path, template: Path, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, said = noticed(folder, template, monkeypatch, wrong)
    print(f"{wrong}: schedule {seed}: {said[:120]}")


def _guess(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes a lost answer for a yes."""
    commit = replicas.ReplicaTurn.commit

    def guessing(self: replicas.ReplicaTurn, tx: object) -> None:
        try:
            commit(self, tx)  # type: ignore[arg-type]
        except DoxaError:
            return

    monkeypatch.setattr(replicas.ReplicaTurn, "commit", guessing)


def _early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that honours a token before it has the transaction."""
    monkeypatch.setattr(
        replicas.Replica, "wait_for", lambda self, token, timeout_s: replicas.local_head(self.store)
    )


def _old(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that calls what it has the latest state."""
    monkeypatch.setattr(replicas.Replica, "before_read", lambda self: None)


def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not destroy what another one erased."""
    write = following._write_log
    monkeypatch.setattr(
        following,
        "_write_log",
        lambda db, tenant, tail, one: write(db, tenant, tail, one._replace(erased=())),
    )


def _skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes a transaction into its log, and sometimes not into its state."""
    apply, rng = following.Follower.apply, random.Random(1)

    def skipping(self: following.Follower, one: object) -> None:
        if rng.random() < 0.8:
            apply(self, one)  # type: ignore[arg-type]

    monkeypatch.setattr(following.Follower, "apply", skipping)


@pytest.mark.parametrize("broken", [_guess, _early, _old, _kept, _skipped])
def test_a_server_that_breaks_a_law_is_noticed(
    folder: Path,
    template: Path,
    broken: Callable[[pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        broken(patch)
        seed, said = noticed(folder, template, monkeypatch)
    print(f"{broken.__name__}: schedule {seed}: {said[:120]}")


def test_a_schedule_is_its_seed(
    folder: Path, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same calls with the same outcomes, so that what was found can be looked at again."""
    ran = [run(folder, template, 7, monkeypatch) for _ in range(2)]
    one, other = (
        (each.counts, each.scheduler.step, [(a.tx, a.began, a.ended) for a in each.acked])
        for each in ran
    )
    assert one == other
