"""How long a revision takes that looks for what contradicts it among many beliefs, and how long it
takes to report what would lose its support."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

import doxa
from bench.persistence_parts import Part, fresh
from doxa.belief import Draft, Fact, Kref, Ledger, check_draft, parse_kref
from doxa.store import Identity, Store

REVISE_P95_MS = 5.0
IMPACT_MS = 50.0
_BATCH = 2_000


def speed(beliefs: int, repetitions: int, seed: int) -> Part:
    """p95 of revise over so many beliefs; medians of impact over a chain of 1,000 and a fan of
    10,000."""
    part, rng = Part(), random.Random(seed)
    with fresh(project="many") as memory:
        _fill(memory.store, beliefs)
        people = [rng.randrange(beliefs // 2) for _ in range(repetitions)]

        def next_revision(number: int) -> object:
            fact = (f"person {number}", "likes", "milk")
            return memory.revise(f"kref://many/likes-{number}.fact", " ".join(fact), facts=[fact])

        def lives(who: str, where: str, *, dry_run: bool = False) -> Callable[[int], object]:
            return lambda number: memory.revise(
                [f"{who} {number}", "lives in", where], dry_run=dry_run
            )

        rows = [
            _timed(
                part,
                "a new fact, nothing contradicts it",
                lives("guest", "Rome"),
                range(repetitions),
            ),
            _timed(part, "a fact that contradicts one belief", lives("person", "Rome"), people),
            _timed(part, "the same, a dry run", lives("person", "Oslo", dry_run=True), people),
            _timed(part, "the next revision of a named item", next_revision, people),
            _timed(
                part,
                "contract one fact",
                lambda number: memory.contract([f"person {number}", "lives in", "Rome"]),
                people,
            ),
        ]
        for row in rows[:4]:
            if float(row[3]) > REVISE_P95_MS:
                part.wrong.append(f"{row[0]}: p95 {row[3]} ms, wanted at most {REVISE_P95_MS:g}")
        head = ["operation", "times", "p50", "p95", "most"]
        part.tables.append(
            (f"Revision over {beliefs:,} beliefs, each durable before it returns, ms", head, rows)
        )
        falls = [_impact(part, memory, shape) for shape in ("chain", "fan")]
        part.tables.append(
            (
                "Impact: what would lose its support, ms",
                ["shape", "steps", "affected", "p50", "p95"],
                falls,
            )
        )
    part.summary = (
        f"revise p95 {max(float(row[3]) for row in rows[:4]):.2f} ms over {beliefs:,} beliefs; "
        + "; ".join(f"impact of a {row[0]} {row[3]} ms" for row in part.tables[-1][2])
    )
    return part


def _fill(store: Store, beliefs: int) -> None:
    """Half say where somebody lives, half what somebody likes: written in large transactions, as an
    import would."""
    ledger = Ledger(store, Identity("bench", "operator"))
    for start in range(0, beliefs // 2, _BATCH):
        with ledger.write("fill") as work:
            for number in range(start, min(start + _BATCH, beliefs // 2)):
                for name, predicate, value in (
                    ("lives", "lives in", "Berlin"),
                    ("likes", "likes", "tea"),
                ):
                    fact = Fact(f"person {number}", predicate, value)
                    draft = Draft(
                        f"person {number} {predicate} {value}",
                        project="many",
                        name=f"{name}-{number}",
                        facts=(fact,),
                    )
                    ledger.upsert(work.tx, _kref(draft.name), check_draft(draft))


def _kref(name: str) -> Kref:
    return parse_kref(f"kref://many/{name}.fact")


def _timed(
    part: Part, name: str, call: Callable[[int], object], numbers: Sequence[int]
) -> list[str]:
    times = []
    for number in numbers:
        began = time.perf_counter_ns()
        call(number)
        times.append((time.perf_counter_ns() - began) / 1e6)
    times.sort()
    p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
    part.figures[f"speed.{name.replace(',', '').replace(' ', '_')}.p95_ms"] = p95
    return [name, str(len(times)), f"{p50:.2f}", f"{p95:.2f}", f"{times[-1]:.2f}"]


def _impact(part: Part, memory: doxa.Memory, shape: str) -> list[str]:
    """Beliefs that depend on each other in a chain, or all on one."""
    size = 1_000 if shape == "chain" else 10_000
    ledger = Ledger(memory.store, Identity("bench", "operator"))
    with ledger.write("fill") as work:
        made: list[str] = []
        for number in range(size + 1):
            draft = Draft(f"{shape} {number}", project="many", name=f"{shape}-{number}")
            links = (
                [
                    (
                        "DEPENDS_ON" if number % 2 else "DERIVED_FROM",
                        made[-1 if shape == "chain" else 0],
                    )
                ]
                if made
                else []
            )
            made.append(
                ledger.upsert(work.tx, _kref(draft.name), check_draft(draft), links=links).kref
            )
    times = []
    for _ in range(30):
        began = time.perf_counter_ns()
        walk = memory.impact(made[0])
        times.append((time.perf_counter_ns() - began) / 1e6)
    times.sort()
    fall = sum(step.falls for step in walk.steps)
    if len(walk.steps) != size or fall != size:
        part.wrong.append(
            f"impact of a {shape}: {len(walk.steps):,} steps, {fall:,} fall, instead of {size:,} of"
            " each"
        )
    if times[len(times) // 2] > IMPACT_MS:
        part.wrong.append(
            f"impact of a {shape} of {size:,}: {times[len(times) // 2]:.1f} ms, wanted at most"
            f" {IMPACT_MS:g}"
        )
    part.figures[f"speed.impact_{shape}.p50_ms"] = times[len(times) // 2]
    return [
        shape,
        f"{len(walk.steps):,}",
        f"{fall:,}",
        f"{times[len(times) // 2]:.1f}",
        f"{times[int(len(times) * 0.95)]:.1f}",
    ]
