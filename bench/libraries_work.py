"""The process of one system: fills its store, or opens what another process filled and asks it.

    python -m bench.libraries_work fill SYSTEM FOLDER STORE      {"version": …, "load_s": …}
    python -m bench.libraries_work ask SYSTEM FOLDER STORE       {"first_s": …, "ms": […], "hits":
    [[…]], "anon_bytes": …, "resident_bytes": …}

It runs under the interpreter that has the system, so it imports nothing of doxa and nothing that
needs it. What is held in memory is counted in the process that asks, since filling leaves things
behind.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.libraries_adapters import SYSTEMS
from bench.libraries_data import load_asked

WARM = 5
_STATUS = Path("/proc/self/status")


def fill(name: str, folder: Path, store: Path) -> dict[str, Any]:
    system = SYSTEMS[name](folder, store)
    load = system.ready()
    gc.collect()
    start = time.perf_counter()
    load()
    seconds = time.perf_counter() - start
    system.close()
    return {"version": system.version(), "load_s": seconds}


def ask(name: str, folder: Path, store: Path) -> dict[str, Any]:
    """The first answer is timed with everything before it; then some that are not counted, then
    each question once."""
    asked = load_asked(folder)
    rows = list(zip(asked.scopes, asked.texts, asked.vectors, strict=True))
    start = time.perf_counter()
    system = SYSTEMS[name](folder, store)
    system.open(asked)
    system.ask(*rows[0])
    first = time.perf_counter() - start
    for row in rows[1:WARM]:
        system.ask(*row)
    times, hits = [], []
    for row in rows[WARM:]:
        start = time.perf_counter()
        found = system.ask(*row)
        times.append((time.perf_counter() - start) * 1_000)
        hits.append(found)
    gc.collect()
    held = {"anon_bytes": _status("RssAnon"), "resident_bytes": _status("VmRSS")}
    system.close()
    return {"first_s": first, "ms": times, "hits": hits, **held}


def _status(name: str) -> float:
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return float("nan")
    return next(
        (float(line.split()[1]) * 1_024 for line in lines if line.startswith(f"{name}:")),
        float("nan"),
    )


def main(phase: str, name: str, folder: Path, store: Path) -> None:
    try:
        told = (fill if phase == "fill" else ask)(name, folder, store)
    except BaseException as error:  # each system raises its own, a panic of Rust among them
        if isinstance(error, KeyboardInterrupt):
            raise
        told = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"}
    sys.stdout.write("\n" + json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
