"""Transactions that read and then write, next to a writer that does not pause: in one process, and
in two processes on one file. Rates of both sides, how many were out of date, and the longest that
one of them took. Then single durable updates from one thread and from many, which share commits,
next to bare SQLite, which does not."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

import doxa
from bench.report import Report
from doxa.base.errors import DoxaError

_SETTLE_S = 0.3
_THREADS = 32


class Rate(NamedTuple):
    """Of one client: commits and refusals in the measured time, and the longest transaction."""

    commits: int
    outdated: int
    seconds: float
    longest_ms: float

    @property
    def per_s(self) -> float:
        return self.commits / self.seconds


def measure_transactions(report: Report, *, seconds: float) -> None:
    """Put `transactions.*` into the report."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for key, name, ways in (
            ("one_process", "threads of one process", _threads),
            ("two_processes", "two processes on one file", _processes),
        ):
            path = Path(folder) / f"{key}.db"
            _fill(path)
            reader, writer = ways(path, seconds)
            tried = reader.commits + reader.outdated
            report.put(f"transactions.{key}.read_then_write_per_s", reader.per_s)
            report.put(f"transactions.{key}.writes_per_s", writer.per_s)
            report.put(f"transactions.{key}.outdated_share", reader.outdated / max(1, tried))
            report.put(f"transactions.{key}.longest_ms", reader.longest_ms)
            rows.append(
                [
                    name,
                    f"{reader.per_s:,.0f}",
                    f"{writer.per_s:,.0f}",
                    f"{reader.outdated / max(1, tried):.1%}",
                    f"{reader.longest_ms:,.0f}",
                ]
            )
    report.table(
        "Read-then-write transactions next to a writer that does not pause",
        ["where", "transactions a second", "writes a second", "out of date", "longest ms"],
        rows,
    )


def measure_shared_commits(report: Report, *, seconds: float) -> None:
    """Put `updates.*` into the report: single updates of one property, each durable."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shared.db"
        _fill(path)
        with doxa.open(path, role="operator", embedder=None, background=False) as memory:

            def update() -> None:
                memory.run("MATCH (n:Key {id: 1}) SET n.v = n.v + 1")

            rates = {
                "one_thread": _rates([update], seconds),
                "many_threads": _rates([update] * _THREADS, seconds),
            }
        plain = [_plain_update(Path(folder) / "plain.db") for _ in range(_THREADS)]
        rates["sqlite"] = _rates(plain[:1], seconds)
        rates["sqlite_many_threads"] = _rates(plain, seconds)
    for key, name in (
        ("one_thread", "doxa, one thread"),
        ("many_threads", f"doxa, {_THREADS} threads, which share commits"),
        ("sqlite", "plain: one SQLite row updated, WAL, synchronous=FULL, no history"),
        ("sqlite_many_threads", f"plain: the same from {_THREADS} threads"),
    ):
        rate, p99 = rates[key]
        report.put(f"updates.{key}_per_s", rate)
        report.put(f"updates.{key}_p99_ms", p99)
        rows.append([name, f"{rate:,.0f}", f"{p99:,.1f}"])
    report.table("Durable updates of one property", ["who", "a second", "p99 ms"], rows)


def plain_updates(path: Path, *, seconds: float) -> tuple[float, float]:
    """Durable updates a second of one row of bare SQLite, and their 99th percentile in ms."""
    return _rates([_plain_update(path)], seconds)


def _plain_update(path: Path) -> Callable[[], object]:
    """An update of one row of bare SQLite, on a connection of its own."""
    made: list[apsw.Connection] = []

    def update() -> None:
        if not made:
            made.append(apsw.Connection(str(path)))
            made[0].set_busy_timeout(60_000)
            made[0].pragma("journal_mode", "WAL")
            made[0].pragma("synchronous", "FULL")
            made[0].execute("CREATE TABLE IF NOT EXISTS row(id INTEGER PRIMARY KEY, v INTEGER)")
            made[0].execute("INSERT OR IGNORE INTO row VALUES(1, 0)")
        made[0].execute("UPDATE row SET v = v + 1 WHERE id = 1")

    return update


def _rates(updates: Sequence[Callable[[], object]], seconds: float) -> tuple[float, float]:
    """Updates a second from a thread for each of these, and the 99th percentile of one in ms."""
    took: list[float] = []

    def work(update: Callable[[], object]) -> None:
        begin = time.perf_counter() + _SETTLE_S
        while (start := time.perf_counter()) < begin + seconds:
            update()
            if start >= begin:
                took.append(time.perf_counter() - start)

    threads = [threading.Thread(target=work, args=(update,)) for update in updates]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(took) / seconds, sorted(took)[len(took) * 99 // 100] * 1_000


def _fill(path: Path) -> None:
    with doxa.open(path, role="operator", embedder=None) as memory:
        memory.run("CREATE INDEX keys FOR (n:Key) ON (n.id)")
        memory.run("UNWIND [1, 2] AS id CREATE (:Key {id: id, v: 0})")


def _threads(path: Path, seconds: float) -> tuple[Rate, Rate]:
    found: dict[str, Rate] = {}
    with doxa.open(path, role="operator", embedder=None) as memory:
        threads = [
            threading.Thread(
                target=lambda kind=kind: found.update({kind: run(memory, kind, seconds)})
            )
            for kind in ("reader", "writer")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return found["reader"], found["writer"]


def _processes(path: Path, seconds: float) -> tuple[Rate, Rate]:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.speed_transactions", str(path), kind, str(seconds)],
            stdout=subprocess.PIPE,
        )
        for kind in ("reader", "writer")
    ]
    reader, writer = (Rate(*json.loads(process.communicate()[0])) for process in started)
    return reader, writer


def run(memory: doxa.Memory, kind: str, seconds: float) -> Rate:
    """Run one client until the time is over; what it does first is not counted."""
    commits = outdated = 0
    longest = 0.0
    begin = time.perf_counter() + _SETTLE_S
    while (start := time.perf_counter()) < begin + seconds:
        done = _one(memory, kind)
        end = time.perf_counter()
        if start >= begin:
            commits += done
            outdated += not done
            longest = max(longest, end - start)
    return Rate(commits, outdated, seconds, longest * 1_000)


def _one(memory: doxa.Memory, kind: str) -> bool:
    """One transaction. False if it was out of date."""
    if kind == "writer":
        memory.run("MATCH (n:Key {id: 1}) SET n.v = n.v + 1")
        return True
    with memory.graph() as graph:
        try:
            graph.begin()
            value = graph.run("MATCH (n:Key {id: 2}) RETURN n.v AS v").single()
            graph.run("MATCH (n:Key {id: 2}) SET n.v = $v", {"v": value + 1}).buffer()
            graph.commit()
        except DoxaError as error:
            if error.fields.get("detail") != "Outdated":
                raise
            return False
    return True


if __name__ == "__main__":
    with doxa.open(Path(sys.argv[1]), role="operator", embedder=None) as opened:
        sys.stdout.write(json.dumps(run(opened, sys.argv[2], float(sys.argv[3]))))
