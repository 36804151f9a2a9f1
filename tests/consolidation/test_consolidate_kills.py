"""A consolidation that is killed loses nothing and repeats nothing; of two at once one writes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError
from doxa.base.limits import JOB_LEASE_MS
from doxa.consolidation.consolidate import Consolidation
from doxa.consolidation.producers.rules import RulesProducer
from doxa.consolidation.units import units_of
from doxa.jobs import lease, list_runs, undo_run
from doxa.store import Identity
from tests.consolidation.stored import items, retired, state

BOUNDARIES = (
    "doxa.consolidation.queue:enqueue",
    "doxa.consolidation.producers.rules:RulesProducer.produce",
    "doxa.consolidation.consolidate:validate",
    "doxa.consolidation.consolidate:begin",
    "doxa.consolidation.consolidate:store_structure",
    "doxa.consolidation.consolidate:Consolidation._sum_up",
    "doxa.jobs.runs:JobRun.finish",
    "doxa.consolidation.queue:done",
)
_KILLED = """
import importlib, os, sys
import doxa
place, where, after = sys.argv[1], sys.argv[2], sys.argv[3] == "after"
module, _, path = where.partition(":")
owner = importlib.import_module(module)
*outer, name = path.split(".")
for part in outer:
    owner = getattr(owner, part)
real = getattr(owner, name)
def dying(*args, **rest):
    if after:
        real(*args, **rest)
    os.kill(os.getpid(), 9)
setattr(owner, name, dying)
with doxa.open(place, embedder=None, project="shop", background=False) as memory:
    memory.consolidate("ops")
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("where", BOUNDARIES)
def test_a_kill_at_any_boundary_loses_nothing_and_repeats_nothing(
    memory: Memory, thread: str, where: str, moment: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.doxa"
    memory.close()
    dead = subprocess.run(
        [sys.executable, "-c", _KILLED, str(path), where, moment], check=False, env=os.environ
    )
    assert dead.returncode == -9
    with doxa.open(path, embedder=None, project="shop") as opened:
        with opened.store.read() as reader:
            stored = bool([n for n in reader.labelled("Item") if n.props["kind"] == "summary"])
        waiting = bool(opened.consolidations())
        if not (where.endswith("enqueue") and moment == "before"):
            assert stored or waiting  # it is in one of the two at least
        done = opened.consolidate("ops")
        assert done.status in ("done", "unchanged")
        assert opened.consolidations() == []
        found = items(opened)
        assert len(found) == 9
        assert all(len(opened.history(kref).revisions) == 1 for kref in found)
        assert all(check.ok for check in opened.doctor())


def killed_after_storing(path: Path) -> tuple[Memory, FakeClock, str]:
    """Return a memory whose consolidation was killed after it stored a session, its clock a moment
    after that, and the run."""
    where, moment = "doxa.consolidation.consolidate:store_structure", "after"
    dead = subprocess.run(
        [sys.executable, "-c", _KILLED, str(path), where, moment], check=False, env=os.environ
    )
    assert dead.returncode == -9
    clock = FakeClock(time.time_ns())
    opened = Memory(Config(path=path, clock=clock, embedder=None, project="shop", role="operator"))
    with opened.store.read() as reader:
        (run,) = list_runs(reader, project="shop", job="consolidate")
    assert run.state == "running"
    return opened, clock, run.kref


def test_a_run_that_was_killed_can_be_undone(memory: Memory, thread: str, tmp_path: Path) -> None:
    memory.close()
    opened, clock, run = killed_after_storing(tmp_path / "m.doxa")
    with opened:
        assert items(opened)
        with pytest.raises(ConflictError, match="running"):  # it may be alive
            undo_run(opened.store, Identity("op", "operator"), run)
        clock.advance(seconds=JOB_LEASE_MS / 1_000 + 1)
        with (
            lease(opened.store, "consolidate", kept=False),
            pytest.raises(ConflictError, match="running"),  # somebody works
        ):
            undo_run(opened.store, Identity("op", "operator"), run)
        undo_run(opened.store, Identity("op", "operator"), run)
        assert all(retired(opened, kref) for kref in items(opened))


def test_the_next_consolidation_ends_a_run_that_was_killed(
    memory: Memory, thread: str, tmp_path: Path
) -> None:
    memory.close()
    opened, clock, run = killed_after_storing(tmp_path / "m.doxa")
    with opened:
        clock.advance(seconds=JOB_LEASE_MS / 1_000 + 1)
        assert opened.consolidate("ops").status == "unchanged"
        with opened.store.read() as reader:
            states = {one.kref: one.state for one in list_runs(reader, job="consolidate")}
        assert states.pop(run) == "failed"


@pytest.mark.parametrize("first", ["rules", "host"])
def test_of_two_who_consolidate_a_session_at_once_one_writes(
    memory: Memory, thread: str, first: str
) -> None:
    asked = memory.consolidate(thread, producer="host").needs
    assert asked is not None
    entry = {"claim": "The disk of db-2 was full.", "sources": [asked.turns[0]["id"]]}

    class Late(RulesProducer):
        """Others are faster: they store the session while it is produced."""

        def produce(self, transcript):  # type: ignore[no-untyped-def]
            made = super().produce(transcript)
            if first == "rules":
                assert memory.consolidate(thread).status == "done"
            else:
                given = {"facts": [entry]}
                memory.consolidate(thread, structure=given, digest=asked.digest)
            nonlocal before
            before = state(memory), items(memory)
            return made

    before: Any = None
    with memory.store.read() as reader:
        units = list(units_of(reader, thread))
    (late,) = Consolidation(memory.store, Late(), keeping=True).run(units)
    assert late.status == "unchanged" and late.change is None
    assert before == (state(memory), items(memory))
    assert all(len(memory.history(kref).revisions) == 1 for kref in items(memory))
    assert memory.consolidations() == []
