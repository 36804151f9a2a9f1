"""Many processes, one file, nothing lost: eight writers to the end, and writers killed at random
moments.

The random run prints its seed; set DOXA_SEED to make the same choices again. `make campaign`
kills many more.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from doxa.belief import Draft, Ledger, declare, parse_kref, read_revision, resolve
from doxa.store import Identity, Store, check, digest, replayed_digest, verify_log
from tests.crash.writer import ANCHOR, unit

WRITERS, WRITES = 8, 250
KILLS = 25
ROOT = Path(__file__).parents[2]
KILLED = -9


def prepare(path: Path) -> None:
    with Store(path) as store:
        declare(store)
        Ledger(store, Identity("ana", "operator")).put(
            Draft("what all units rest on", project="crash", name="anchor")
        )


def start(
    path: Path, worker: int, *, first: int, count: int, threads: int = 1
) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-W",
        "error",
        str(ROOT / "tests/crash/writer.py"),
        str(path),
        str(acknowledgements(path, worker)),
        str(worker),
        str(first),
        str(count),
        str(threads),
    ]
    return subprocess.Popen(command, env={"PYTHONPATH": str(ROOT / "src")}, stderr=subprocess.PIPE)


def acknowledgements(path: Path, worker: int) -> Path:
    return path.with_name(f"acknowledged-{worker}")


def acknowledged(path: Path, worker: int) -> list[int]:
    found = acknowledgements(path, worker)
    return [int(line) for line in found.read_text().split()] if found.exists() else []


def assert_whole(path: Path) -> int:
    """Every acknowledged unit is there, every unit that is there is whole, and the store proves
    itself. Returns the units."""
    units = 0
    with Store(path) as store:
        with store.read() as snapshot:
            anchor = resolve(snapshot, parse_kref(ANCHOR)).id
            numbers: dict[int, set[int]] = {worker: set() for worker in range(WRITERS)}
            for item in snapshot.labelled("Item"):
                if item.props["name"] == "anchor":
                    continue
                worker, n = int(str(item.props["space"])[1:]), int(str(item.props["name"])[1:])
                wanted = unit(worker, n)
                node = resolve(snapshot, parse_kref(str(item.props["kref"])))
                found = read_revision(snapshot, node)
                assert (found.summary, found.facts, found.author, found.number) == (
                    wanted.summary,
                    wanted.facts,
                    f"writer-{worker}",
                    1,
                )
                assert [edge.dst for edge in snapshot.edges_out(node.id, "DEPENDS_ON")] == [anchor]
                assert snapshot.rows("SELECT live FROM doc WHERE node = ?", (node.id,)) == [(1,)]
                numbers[worker].add(n)
                units += 1
            assert snapshot.count("Revision") == units + 1
            puts = [r for r in snapshot.receipts(limit=1_000_000) if r.actor.startswith("writer-")]
            assert len(puts) == units
        for worker, there in numbers.items():
            told = acknowledged(path, worker)
            assert len(told) == len(set(told))
            assert set(told) <= there, f"writer {worker} lost {sorted(set(told) - there)[:5]}"
        assert verify_log(store).receipts == units + 2
        assert check(store) == []
        assert digest(store) == replayed_digest(store)
    return units


def test_eight_processes_write_and_nothing_is_lost(
    tmp_path: Path, tally: Callable[..., None], campaign: int
) -> None:
    writes = WRITES * campaign
    path = tmp_path / "many.db"
    prepare(path)
    writers = [start(path, worker, first=0, count=writes) for worker in range(WRITERS)]
    endings = [(writer.communicate()[1].decode(), writer.returncode) for writer in writers]
    assert endings == [("", 0)] * WRITERS
    assert [acknowledged(path, worker) for worker in range(WRITERS)] == [
        list(range(writes))
    ] * WRITERS
    assert assert_whole(path) == WRITERS * writes
    tally(writes_side_by_side=WRITERS * writes)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL here")
@pytest.mark.parametrize(("processes", "threads"), [(WRITERS, 1), (2, 6)])
def test_killed_writers_lose_nothing_they_were_told(
    tmp_path: Path,
    seed: int,
    tally: Callable[..., None],
    campaign: int,
    *,
    processes: int,
    threads: int,
) -> None:
    """With several threads, whose transactions become durable together, too."""
    rng = random.Random(seed)
    path = tmp_path / "killed.db"
    prepare(path)
    endless = 10**6
    writers = {
        worker: start(path, worker, first=0, count=endless, threads=threads)
        for worker in range(processes)
    }
    first = dict.fromkeys(writers, 0)
    kills = KILLS * campaign
    for kill in range(1, kills + 1):
        time.sleep(rng.expovariate(4))
        worker = rng.choice(list(writers))
        end(writers[worker])
        first[worker] += (
            endless  # what the dead one had under way is never written again by a later life
        )
        writers[worker] = start(path, worker, first=first[worker], count=endless, threads=threads)
        if kill % 5 == 0:
            with Store(path) as store:
                verify_log(store)
    for writer in writers.values():
        end(writer)
    units = assert_whole(path)
    told = sum(len(acknowledged(path, worker)) for worker in writers)
    assert units >= told > kills
    tally(kills=kills, acknowledged=told)


def end(writer: subprocess.Popen[bytes]) -> None:
    """Kill, and see that it died of that alone: no error reached it before."""
    writer.kill()
    said = writer.communicate()[1]
    assert (said, writer.returncode) == (b"", KILLED)
