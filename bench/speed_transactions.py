"""Transactions that read and then write, next to a writer that does not pause: in one process, and
in two processes on one file. Rates of both sides, how many were out of date, and the longest that
one of them took."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import doxa
from bench.report import Report
from doxa.base.errors import DoxaError

_SETTLE_S = 0.3


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
