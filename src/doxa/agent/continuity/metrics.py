"""How long hooks take, against their budgets. One line of JSON for each hook, next to the memory
file; standard library and base alone, since a hook is a process that a host waits for.

    <memory file>-agents/hooks.jsonl      {"event", "ms", "ok"}
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
    """How long hooks of one event took, in ms. `status` is healthy, near_budget from 80 % of it on,
    over_budget, or error where one failed."""

    event: str
    count: int
    median_ms: float
    p95_ms: float
    max_ms: float
    budget_ms: int
    errors: int
    status: str


@contextmanager
def measured(folder: Path, event: str) -> Iterator[None]:
    """Measure a hook. What cannot be written is passed over: a hook never fails its host."""
    began = perf_counter_ns()
    ok = False
    try:
        yield
        ok = True
    finally:
        note(folder, event, (perf_counter_ns() - began) / 1e6, ok=ok)


def note(folder: Path, event: str, ms: float, *, ok: bool = True) -> None:
    """Add one measurement."""
    line = json.dumps({"event": event, "ms": round(ms, 3), "ok": ok}).encode() + b"\n"
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
    """Return how long hooks took, by event."""
    held: dict[str, list[tuple[float, bool]]] = {}
    for name in ("hooks.old.jsonl", "hooks.jsonl"):
        with suppress(OSError):
            for raw in (folder / name).read_bytes().splitlines():
                with suppress(ValueError, TypeError, KeyError):
                    found = json.loads(raw)
                    one = (float(found["ms"]), bool(found["ok"]))
                    held.setdefault(str(found["event"]), []).append(one)
    return [_load(event, rows) for event, rows in sorted(held.items())]


def _load(event: str, rows: list[tuple[float, bool]]) -> HookLoad:
    times = sorted(ms for ms, _ in rows)
    budget = HOOK_BEFORE_MS if event in _BEFORE else HOOK_AFTER_MS
    errors = sum(not ok for _, ok in rows)
    p95 = times[min(len(times) - 1, -(-95 * len(times) // 100) - 1)]
    status = (
        "over_budget" if p95 > budget else "near_budget" if p95 >= _NEAR * budget else "healthy"
    )
    return HookLoad(
        event,
        len(times),
        times[(len(times) - 1) // 2],
        p95,
        times[-1],
        budget,
        errors,
        "error" if errors else status,
    )
