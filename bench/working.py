"""Measures working memory: the time of adding and reading a message, on SQLite and on Redis.

    python -m bench.working [redis://127.0.0.1:6379/0?prefix=bench]

Prints the median and the 95th and 99th percentile of 2,000 calls each, in milliseconds: 40
sessions, 200 characters a message, so that buffers are full for the second half.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from doxa.base.clock import SystemClock
from doxa.working import WorkingMemory, open_working

CALLS, SESSIONS, CHARS = 2_000, 40, 200


def percentiles(call: Callable[[int], object]) -> tuple[float, float, float]:
    """Return the 50th, 95th and 99th percentile of the time of calls, in milliseconds."""
    times = []
    for number in range(CALLS):
        start = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - start) * 1_000)
    times.sort()
    return times[CALLS // 2], times[CALLS * 95 // 100], times[CALLS * 99 // 100]


def measure(working: WorkingMemory, name: str) -> None:
    text = "We deploy on Thursdays after the tests are green. " * (CHARS // 50)
    calls: dict[str, Callable[[int], object]] = {
        "add": lambda n: working.add(f"{n} {text}", project="bench", session=f"s{n % SESSIONS}"),
        "add, by user": lambda n: working.add(
            f"{n} {text}", project="bench", user=f"u{n % SESSIONS}"
        ),
        "read": lambda n: working.get(project="bench", session=f"s{n % SESSIONS}"),
    }
    for what, call in calls.items():
        middle, p95, p99 = percentiles(call)
        print(f"| {name} | {what} | {middle:.2f} | {p95:.2f} | {p99:.2f} |")
    working.clear_all(project="bench")
    working.close()


def main(urls: list[str]) -> None:
    print("| backend | call | p50, ms | p95, ms | p99, ms |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for url in ("", *urls):
            working = open_working(
                url,
                Path(folder) / "bench.working",
                clock=SystemClock(),
                ttl_s=600,
                read_only=False,
            )
            measure(working, "Redis" if url else "SQLite")


if __name__ == "__main__":
    main(sys.argv[1:])
