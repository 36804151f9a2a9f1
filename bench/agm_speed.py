"""How long a revision takes that looks for what contradicts it among many beliefs, and how long it takes to say what would fall."""

from __future__ import annotations

import random
import time

from bench.persistence_parts import Part, fresh
from doxa.base.clock import format_time
from doxa.belief import Draft, Fact, Ledger
from doxa.store import Identity

REVISE_P95_MS = 5.0
IMPACT_MS = 50.0
_BATCH = 2_000


def speed(beliefs: int, repetitions: int, seed: int) -> Part:
    """p95 of revise over so many beliefs; medians of impact over a chain of 1,000 and a fan of 10,000."""
    part, rng = Part(), random.Random(seed)
    with fresh(project="many") as memory:
        _fill(memory.store, beliefs)
        people = [rng.randrange(beliefs // 2) for _ in range(repetitions)]
        rows = [
            _timed(part, "a new fact, nothing contradicts it", [lambda n=n: memory.revise([f"guest {n}", "lives in", "Rome"]) for n in range(repetitions)]),
            _timed(part, "a fact that contradicts one belief", [lambda n=n: memory.revise([f"person {n}", "lives in", "Rome"]) for n in people]),
            _timed(part, "the same, a dry run", [lambda n=n: memory.revise([f"person {n}", "lives in", "Oslo"], dry_run=True) for n in people]),
            _timed(part, "the next revision of a named item", [
                lambda n=n: memory.revise(f"kref://many/likes-{n}.fact", f"person {n} likes milk", facts=[(f"person {n}", "likes", "milk")])
                for n in people
            ]),
            _timed(part, "contract one fact", [lambda n=n: memory.contract([f"person {n}", "lives in", "Rome"]) for n in people]),
        ]  # fmt: skip
        for row in rows[:4]:
            if float(row[3]) > REVISE_P95_MS:
                part.wrong.append(f"{row[0]}: p95 {row[3]} ms, wanted at most {REVISE_P95_MS:g}")
        part.tables.append((f"Revision over {beliefs:,} beliefs, each durable before it returns, ms", ["operation", "times", "p50", "p95", "most"], rows))
        part.tables.append(("What would fall, ms", ["shape", "steps", "fall", "p50", "p95"], [_impact(part, memory, shape) for shape in ("chain", "fan")]))
    part.summary = f"revise p95 {max(float(row[3]) for row in rows[:4]):.2f} ms over {beliefs:,} beliefs; " + "; ".join(
        f"impact of a {row[0]} {row[3]} ms" for row in part.tables[-1][2]
    )
    return part


def _fill(store: object, beliefs: int) -> None:
    """Half say where somebody lives, half what somebody likes: written in large transactions, as an import would."""
    ledger = Ledger(store, Identity("bench", "operator"))  # type: ignore[arg-type]
    for start in range(0, beliefs // 2, _BATCH):
        with ledger.write("fill") as work:
            for number in range(start, min(start + _BATCH, beliefs // 2)):
                for name, predicate, value in (("lives", "lives in", "Berlin"), ("likes", "likes", "tea")):
                    fact = Fact(f"person {number}", predicate, value)
                    draft = Draft(f"person {number} {predicate} {value}", project="many", name=f"{name}-{number}", facts=(fact,))
                    ledger.put_in(work.tx, _kref(draft.name), draft)


def _kref(name: str):  # type: ignore[no-untyped-def]
    from doxa.belief import parse_kref

    return parse_kref(f"kref://many/{name}.fact")


def _timed(part: Part, name: str, calls: list) -> list[str]:  # type: ignore[type-arg]
    times = []
    for call in calls:
        began = time.perf_counter_ns()
        call()
        times.append((time.perf_counter_ns() - began) / 1e6)
    times.sort()
    p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
    part.figures[f"speed.{name.replace(',', '').replace(' ', '_')}.p95_ms"] = p95
    return [name, str(len(times)), f"{p50:.2f}", f"{p95:.2f}", f"{times[-1]:.2f}"]


def _impact(part: Part, memory, shape: str) -> list[str]:  # type: ignore[no-untyped-def]
    """Beliefs that rest on each other in a line, or all on one."""
    size = 1_000 if shape == "chain" else 10_000
    ledger = Ledger(memory.store, Identity("bench", "operator"))
    with ledger.write("fill") as work:
        made = []
        for number in range(size + 1):
            draft = Draft(f"{shape} {number}", project="many", name=f"{shape}-{number}")
            links = [("DEPENDS_ON" if number % 2 else "DERIVED_FROM", made[-1 if shape == "chain" else 0])] if made else []
            made.append(ledger.put_in(work.tx, _kref(draft.name), draft, links=links).kref)
    times = []
    for _ in range(30):
        began = time.perf_counter_ns()
        walk = memory.impact(made[0])
        times.append((time.perf_counter_ns() - began) / 1e6)
    times.sort()
    fall = sum(step.falls for step in walk.steps)
    if len(walk.steps) != size or fall != size:
        part.wrong.append(f"impact of a {shape}: {len(walk.steps):,} steps, {fall:,} fall, instead of {size:,} of each")
    if times[len(times) // 2] > IMPACT_MS:
        part.wrong.append(f"impact of a {shape} of {size:,}: {times[len(times) // 2]:.1f} ms, wanted at most {IMPACT_MS:g}")
    part.figures[f"speed.impact_{shape}.p50_ms"] = times[len(times) // 2]
    return [shape, f"{len(walk.steps):,}", f"{fall:,}", f"{times[len(times) // 2]:.1f}", f"{times[int(len(times) * 0.95)]:.1f}"]


__all__ = ["format_time", "speed"]
