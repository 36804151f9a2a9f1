"""The process of one system: loads the graph and goes through the rows, telling each as a line of
JSON.

    python -m bench.peers_work SYSTEM FOLDER [ROW …]
    {"about": {"version": …, "durable": …}}   {"row": "load", "ms": […]}   {"row": "lookup", "ms":
    […], "answers": […]}   {"row": …, "failed": …}

It runs under the interpreter that has the system, so it imports nothing of doxa and nothing that
needs it.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.peers_adapters import LIMIT_S, SYSTEMS, System
from bench.peers_data import GIVEN, NAMED, TYPED, answer, load

_ROW_S = 10  # after so long a row has been asked often enough
_TELL_S = 2  # so often it says that it is alive, between two questions


def work(name: str, folder: Path, rows: Sequence[str]) -> None:
    data = load(folder)
    system = SYSTEMS[name](folder)
    tell({"about": {"version": system.version(), "durable": system.durable}})
    try:
        fill = system.ready(data)
        start = time.perf_counter()
        fill()
        tell({"row": "load", "ms": [(time.perf_counter() - start) * 1_000]})
        del data, fill
        gc.collect()
        for asked in json.loads((folder / "plan.json").read_text()):
            if not rows or asked["row"] in rows:
                tell({"begin": asked["row"]})
                tell({"row": asked["row"], **measured(system, asked)})
        tell({"memory_bytes": memory_bytes(system), "disk_bytes": disk_bytes(folder)})
    finally:
        with suppress(Exception):
            system.close()


def measured(system: System, asked: dict[str, Any]) -> dict[str, Any]:
    """The times and answers of one row. The first repetition fills caches and is not counted."""
    times: list[float] = []
    answers: list[str] = []
    began = told = time.monotonic()
    try:
        prepared = system.prepare(asked["text"])
        for params in asked["params"]:
            if time.monotonic() - told > _TELL_S:
                told = time.monotonic()
                tell({"begin": asked["row"]})
            start = time.perf_counter()
            found = system.ask(prepared, params)
            times.append((time.perf_counter() - start) * 1_000)
            if not asked["check"]:
                answers.append(answer(system.rows(found), ordered=asked["ordered"]))
            if times[-1] > LIMIT_S * 1_000:
                return {"failed": f"over {LIMIT_S} s"}
            if time.monotonic() - began > _ROW_S and len(times) > 1:
                break
        if asked["check"]:
            check = system.prepare(asked["check"])
            for params in asked["params"][: len(times)]:
                answers.append(answer(system.rows(system.ask(check, {"key": params["new"]}))))
    except BaseException as error:  # each system raises its own, a panic of Rust among them
        if isinstance(error, KeyboardInterrupt):
            raise
        slow = (
            time.monotonic() - began > LIMIT_S * 0.9
            or "timeout" in str(error).lower()
            or "timed out" in str(error).lower()
        )
        return {
            "failed": f"over {LIMIT_S} s"
            if slow
            else f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        }
    return {"ms": times[1:] if len(times) > 1 else times, "answers": answers}


def memory_bytes(system: System) -> float:
    """Memory of the process that holds the graph that is not a mapped file."""
    server = getattr(system, "server", None)
    try:
        lines = Path(f"/proc/{server.pid if server else 'self'}/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(
        (float(line.split()[1]) * 1_024 for line in lines if line.startswith("RssAnon:")),
        float("nan"),
    )


def disk_bytes(folder: Path) -> int:
    """What the system itself has written next to the graph that it was given."""
    given = {*GIVEN, *TYPED, *NAMED}
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and path.name not in given
    )


def tell(line: dict[str, Any]) -> None:
    sys.stdout.write("\n" + json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
