"""Runs the worker of one system and looks after it: a query that takes too long or too much memory
ends the process, and the rest of the rows is asked in a new one, so that one bad row costs no
other."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.peers_adapters import LIMIT_S, PACKAGES
from bench.peers_data import GIVEN

MEMORY_BYTES_MAX = 8 << 30
LOAD_S_MAX = 900
_SILENT_S_MAX = LIMIT_S + 3  # a worker tells at least every two seconds between questions
_ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Told:
    """What a worker reported of its system: times and answers by row, or why there are none."""

    about: dict[str, str] = field(default_factory=dict)
    times_ms: dict[str, list[float]] = field(default_factory=dict)
    answers: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    memory_bytes: float = float("nan")
    disk_bytes: float = float("nan")

    def take(self, line: dict[str, Any]) -> None:
        if "about" in line:
            self.about = line["about"]
        elif "failed" in line:
            self.failed[line["row"]] = line["failed"]
        elif "ms" in line:
            self.times_ms[line["row"]] = line["ms"]
            self.answers[line["row"]] = line.get("answers", [])
        elif "memory_bytes" in line:
            self.memory_bytes, self.disk_bytes = line["memory_bytes"], line["disk_bytes"]


def absent(system: str, python: str) -> str:
    """Why a system cannot run under this interpreter; empty if it can."""
    if system == "doxa":
        return ""
    return "" if importable(f"numpy, {PACKAGES[system]}", python) else "not installed"


def importable(modules: str, python: str) -> bool:
    """Whether an interpreter has all of these, named with commas between."""
    try:
        done = subprocess.run(
            [python, "-c", f"import {modules}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    except OSError:
        return False
    return done.returncode == 0


def ask_all(system: str, folder: Path, python: str, rows: Sequence[str]) -> Told:
    """The rows of one system, in as many processes as it takes."""
    told = Told()
    left = list(rows)
    while left:
        stopped_at = _one_process(system, folder, python, left, told)
        if stopped_at is None:
            break
        left = left[left.index(stopped_at) + 1 :] if stopped_at in left else []
        _clear(folder)
    return told


def _one_process(
    system: str, folder: Path, python: str, rows: Sequence[str], told: Told
) -> str | None:
    """Run until everything is reported. Return the row at which it had to be stopped, or "load"."""
    command = [
        sys.executable if system == "doxa" else python,
        "-m",
        "bench.peers_work",
        system,
        str(folder),
        *rows,
    ]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONPATH" or system == "doxa"
    }
    with (folder / "errors.txt").open("w") as errors:
        process = subprocess.Popen(
            command,
            cwd=_ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        lines: queue.Queue[str | None] = queue.Queue()
        reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
        reader.start()
        at, why = "load", ""
        began = time.monotonic()
        while True:
            try:
                line = lines.get(timeout=0.5)
            except queue.Empty:
                why = _excess(process.pid, time.monotonic() - began, at)
                if why:
                    break
                continue
            if line is None:
                why = (
                    ""
                    if process.wait() == 0
                    else f"its process ended with code {process.returncode}"
                )
                break
            if line.startswith("{"):
                found = json.loads(line)
                told.take(found)
                at, began = found.get("begin", at), time.monotonic()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join()
    if not why:
        return None
    told.failed.setdefault(at, why)
    return at


def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)


def _excess(pid: int, seconds: float, at: str) -> str:
    """Why a process must be stopped, if it must."""
    if seconds > (LOAD_S_MAX if at == "load" else _SILENT_S_MAX):
        return f"over {LOAD_S_MAX if at == 'load' else LIMIT_S} s"
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        if (
            float(next(line.split()[1] for line in lines if line.startswith("RssAnon:"))) * 1_024
            > MEMORY_BYTES_MAX
        ):
            return f"over {MEMORY_BYTES_MAX >> 30} GB of memory"
    return ""


def _clear(folder: Path) -> None:
    """Remove what a stopped process left behind; the graph and the plan stay."""
    for path in folder.iterdir():
        if path.name in GIVEN:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
