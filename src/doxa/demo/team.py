"""A month of a small team's life, for the page: people and agents who state, revise, contradict and
import, on the days on which they did.

`sample/team.jsonl` has a step on each line: the day of the month and the time, who does it, the
verb and its arguments. The month ends today, and the clock of the memory follows the steps, so that
history, decay and the events of this week are real.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from doxa.app import Memory, Session, open_memory
from doxa.base.clock import NS, FakeClock

PROJECT = "spoke"
_DAYS, _DAY_S = 30, 86_400
_OPERATORS = frozenset(("mira", "dream"))
# What the models of the month were used for: day, purpose, model, calls, tokens in and out.
_MODEL_CALLS = (
    (2, "enrich", "small-model", 4, 6_120, 840),
    (6, "consolidate", "small-model", 3, 9_480, 1_150),
    (11, "enrich", "small-model", 6, 8_930, 1_310),
    (14, "recall", "rerank-model", 22, 30_800, 440),
    (18, "consolidate", "small-model", 5, 14_200, 1_960),
    (22, "enrich", "small-model", 2, 2_750, 390),
    (25, "dream", "large-model", 7, 41_300, 5_220),
    (27, "recall", "rerank-model", 31, 44_100, 620),
    (29, "enrich", "small-model", 5, 7_040, 930),
    (30, "dream", "large-model", 4, 22_600, 2_480),
    (30, "recall", "rerank-model", 9, 12_700, 180),
)
_PRICES = "month;shop;amount\n2026-01;Sykkelhuset;24\n2026-01;Hjul og Gir;0\n"


class DemoStep(NamedTuple):
    """One call: seconds since the beginning of the month, who calls, the verb and its arguments."""

    at_s: int
    who: str
    verb: str
    arguments: dict[str, Any]


def fill(path: Path, *, now_s: float | None = None, **options: Any) -> None:
    """Make a memory at a new path and fill it with the month that ends now."""
    now = int(time.time() if now_s is None else now_s)
    start = now - now % _DAY_S - (_DAYS - 1) * _DAY_S
    clock = FakeClock(start * NS)
    given: dict[str, Any] = {"decay_enabled": True, "background": False, "project": PROJECT}
    given |= options
    with open_memory(path, role="operator", actor="demo", clock=clock, **given) as memory:
        memory.constrain({"functional": ["database", "port", "price", "weekday", "command"]})
        for step in steps():
            clock.set(min(start + step.at_s, now - 60) * NS)
            _carry_out(memory, step, clock)
        _spend(memory, clock, start)
        clock.set((now - 60) * NS)
        _attach_file(memory, path.with_name("invoices.csv"))
        memory.record_mentions(project=PROJECT)
        memory.embed()


def steps() -> Iterator[DemoStep]:
    """Read the steps, in their order."""
    lines = (files("doxa") / "sample" / "team.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines:
        found = json.loads(line)
        hours, minutes = found["at"].split(":")
        at_s = (found["day"] - 1) * _DAY_S + int(hours) * 3600 + int(minutes) * 60
        yield DemoStep(at_s, found["who"], found["do"], found["with"])


def _carry_out(memory: Memory, step: DemoStep, clock: FakeClock) -> None:
    session = _session(memory, step.who)
    arguments = dict(step.arguments)
    if step.verb == "ingest":  # a minute between two turns
        at = clock.now_ns() // NS
        arguments["source"] = [
            turn | {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at + 60 * number))}
            for number, turn in enumerate(arguments["source"])
        ]
    owner = memory if step.verb == "dream" else session
    getattr(owner, step.verb)(**arguments)


def _session(memory: Memory, who: str) -> Session:
    return memory.session(
        actor=who, role="operator" if who in _OPERATORS else "agent", project=PROJECT
    )


def _spend(memory: Memory, clock: FakeClock, start: int) -> None:
    """Enter into the book of spending what the models of the month would have used."""
    for day, purpose, model, calls, tokens_in, tokens_out in _MODEL_CALLS:
        clock.set((start + (day - 1) * _DAY_S) * NS)
        held = memory.ledger.reserve(purpose, model, tokens_in + tokens_out)
        if held is not None:
            memory.ledger.settle(
                held,
                calls=calls,
                tokens_in=tokens_in,
                tokens_out=tokens_out,
                tokens_estimated=0,
            )


def _attach_file(memory: Memory, file: Path) -> None:
    """Attach a file that is there, so that its hash can be checked."""
    file.write_text(_PRICES, encoding="utf-8")
    data = file.read_bytes()
    memory.attach(
        f"kref://{PROJECT}/product/csv.decision?r=1",
        file.name,
        location=str(file),
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
    )
