"""What operations cost without a clock: SQL statements and Python calls, counted.

`python -m bench compare --short` holds the counts against the recorded ones (bench/counts.json);
the tests do the same. One statement more fails, and so do calls beyond CALLS_WORSE_MAX; calls are
compared only by the Python that they were recorded with, since each version inlines other things.
`python -m bench compare --short --record` keeps new counts, which a change then has to explain.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import apsw

import doxa
from bench.report import markdown
from doxa.models import HashEmbedder

RECORDED = Path(__file__).parent / "counts.json"
CALLS_WORSE_MAX = 0.15
_WARM = 3
_TURNS = 40
# A regular expression is compiled once in a process: which operation meets it first says nothing.
_COMPILING = ("re._compiler", "re._parser")
TWO_HOPS = "MATCH (a:Item {name: $name})-[:CURRENT]->()-[:DEPENDS_ON]->(b) RETURN b.name"


@dataclass(frozen=True)
class Count:
    """One operation in a store that has done it before."""

    statements: int
    calls: int


class _Meter:
    """Counts the statements of every connection that is opened meanwhile, and Python's calls while
    it is on. A statement that a trigger runs is part of the one that set it off."""

    def __init__(self) -> None:
        self.statements = 0
        self.calls = 0

    def opened(self, db: apsw.Connection) -> None:
        db.trace_v2(apsw.SQLITE_TRACE_STMT, self._statement)

    def _statement(self, event: dict[str, Any]) -> None:
        if not event["sql"].startswith("--"):
            self.statements += 1

    def _call(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_globals.get("__name__") not in _COMPILING:
            self.calls += 1

    def count(self, operation: Callable[[], object]) -> Count:
        self.statements = self.calls = 0
        sys.setprofile(self._call)
        try:
            operation()
        finally:
            sys.setprofile(None)
        return Count(self.statements, self.calls)


@contextmanager
def _metered() -> Iterator[_Meter]:
    meter = _Meter()
    apsw.connection_hooks.append(meter.opened)
    try:
        yield meter
    finally:
        apsw.connection_hooks.remove(meter.opened)


def measure() -> dict[str, Count]:
    """Count each operation once, after it was done _WARM times in a small store."""
    found: dict[str, Count] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        _metered() as meter,
        doxa.open(
            Path(folder) / "counts.db",
            embedder=HashEmbedder(dimensions=64),
            background=False,
            role="operator",
            project="shop",
        ) as memory,
    ):
        for name, operation in _operations(memory).items():
            for number in range(_WARM):
                operation(number)
            found[name] = meter.count(lambda run=operation: run(_WARM))  # type: ignore[misc]
    return found


def _operations(memory: doxa.Memory) -> dict[str, Callable[[int], object]]:
    base = memory.remember("The shop runs on one server in Basel", name="server").kref
    deploy = memory.remember(
        "We deploy the shop on Thursdays", name="deploy-day", depends_on=[base]
    ).kref.split("?")[0]
    for number in range(_TURNS):
        memory.remember(f"Order {number} was packed in hall {number % 7}", name=f"order-{number}")

    def with_edge(number: int) -> object:
        return memory.remember(
            f"We deploy the shop in week {number}", name="deploy-day", depends_on=[base]
        )

    return {
        "revise": lambda n: memory.revise(deploy, f"We deploy the shop on day {n} of the month"),
        "revise with an edge": with_edge,
        "remember": lambda n: memory.remember(f"The lamp in hall {n} is broken", name=f"lamp-{n}"),
        "remember in plain words": lambda n: memory.remember(f"The desk of Bo is now in hall {n}"),
        "tell": lambda n: memory.tell(f"Ana now lives in house {n}"),
        "recall": lambda n: memory.recall(f"when do we deploy the shop, {n}?", limit=5),
        "get": lambda n: memory.get(deploy),
        "query of two hops": lambda n: memory.run(TWO_HOPS, {"name": "deploy-day"}).records(),
    }


def record(counts: dict[str, Count], path: Path = RECORDED) -> None:
    value = {
        "python": _python(),
        "counts": {
            name: {"statements": one.statements, "calls": one.calls} for name, one in counts.items()
        },
    }
    path.write_text(json.dumps(value, indent=1) + "\n")


def compare(counts: dict[str, Count], path: Path = RECORDED) -> tuple[str, bool]:
    """Return a table of the counts and the recorded ones, and whether none has grown and each is
    recorded."""
    found = json.loads(path.read_text())
    same_python = found["python"] == _python()
    rows, held = [], True
    for name, one in counts.items():
        before = found["counts"].get(name)
        if before is None:
            rows.append((name, "–", str(one.statements), "–", str(one.calls), "not recorded"))
            held = False
            continue
        grown = one.statements > before["statements"]
        slower = same_python and one.calls > before["calls"] * (1 + CALLS_WORSE_MAX)
        held = held and not grown and not slower
        marks = ["more statements"] * grown + ["more calls"] * slower
        rows.append(
            (
                name,
                str(before["statements"]),
                str(one.statements),
                str(before["calls"]),
                str(one.calls),
                ", ".join(marks),
            )
        )
    head = ("operation", "statements, recorded", "now", "calls, recorded", "now", "")
    return markdown(head, rows), held


def _python() -> str:
    return ".".join(platform.python_version_tuple()[:2])
