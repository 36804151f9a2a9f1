"""How long hooks take, against their budgets. One line of JSON for each hook, next to the memory
file; standard library and base alone, since a hook is a process that a host waits for.

    <memory file>-agents/hooks.jsonl      {"host", "event", "ms", "ok"}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

from doxa.base.limits import HOOK_AFTER_MS, HOOK_BEFORE_MS, HOOK_METRICS_BYTES_MAX

_BEFORE = frozenset(("open", "prompt"))
_NEAR = 0.8  # of a budget


@dataclass(frozen=True, slots=True)
class HookLoad:
    """How long hooks of one event of a host took, in ms. `host` is empty where hooks of earlier
    versions were measured. `status` is healthy, near_budget from 80 % of it on,
    over_budget, or error where one failed."""

    host: str
    event: str
    count: int
    median_ms: float
    p95_ms: float
    max_ms: float
    budget_ms: int
    errors: int
    status: str


@contextmanager
def measured(folder: Path, event: str, host: str = "") -> Iterator[None]:
    """Measure a hook. What cannot be written is passed over: a hook never fails its host."""
    began = perf_counter_ns()
    ok = False
    try:
        yield
        ok = True
    finally:
        note(folder, event, (perf_counter_ns() - began) / 1e6, ok=ok, host=host)


def note(folder: Path, event: str, ms: float, *, ok: bool = True, host: str = "") -> None:
    """Add one measurement."""
    measure = {"host": host, "event": event, "ms": round(ms, 3), "ok": ok}
    line = json.dumps(measure).encode() + b"\n"
    path = folder / "hooks.jsonl"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, line)
            is_full = os.fstat(handle).st_size > HOOK_METRICS_BYTES_MAX
        finally:
            os.close(handle)
        if is_full:
            os.replace(path, folder / "hooks.old.jsonl")


def report(folder: Path) -> list[HookLoad]:
    """Return how long hooks took, by host and event."""
    held: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    for name in ("hooks.old.jsonl", "hooks.jsonl"):
        with suppress(OSError):
            for raw in (folder / name).read_bytes().splitlines():
                with suppress(ValueError, TypeError, KeyError):
                    found = json.loads(raw)
                    one = (float(found["ms"]), bool(found["ok"]))
                    whose = str(found.get("host", "")), str(found["event"])
                    held.setdefault(whose, []).append(one)
    return [_load(host, event, rows) for (host, event), rows in sorted(held.items())]


def _load(host: str, event: str, rows: list[tuple[float, bool]]) -> HookLoad:
    times = sorted(ms for ms, _ in rows)
    budget = HOOK_BEFORE_MS if event in _BEFORE else HOOK_AFTER_MS
    errors = sum(not ok for _, ok in rows)
    p95 = times[min(len(times) - 1, -(-95 * len(times) // 100) - 1)]
    status = (
        "over_budget" if p95 > budget else "near_budget" if p95 >= _NEAR * budget else "healthy"
    )
    return HookLoad(
        host,
        event,
        len(times),
        times[(len(times) - 1) // 2],
        p95,
        times[-1],
        budget,
        errors,
        "error" if errors else status,
    )
