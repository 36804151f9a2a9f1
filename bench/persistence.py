"""The evaluation plan of the paper "Persistence Semantics" (NornicDB, 2026, section 7), in its
seven parts, each with its figures and its verdict.

Correctness is counted against models that know the operations and the formulas only, so that 100 %
means what it says; overheads are ratios of medians taken in turn. Only public names are used, and a
clock that stands still where a time is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from bench.persistence_evidence import evidence
from bench.persistence_facts import supersession
from bench.persistence_parts import Part, Scale
from bench.persistence_replay import replay
from bench.persistence_schema import schema
from bench.persistence_sight import sight
from bench.persistence_speed import overhead
from bench.persistence_windows import no_overlap
from bench.report import Report, begin

Measure = Callable[[Scale, int], Part]
PARTS: dict[str, tuple[str, Measure]] = {
    "supersession": ("1. correctness of supersession queries", supersession),
    "no_overlap": ("2. temporal no-overlap constraint", no_overlap),
    "replay": ("3. replay and audit reconstruction", replay),
    "sight": ("4. suppression and reveal", sight),
    "overhead": ("5. latency overhead of scoring before visibility", overhead),
    "evidence": ("6. robustness of Kalman smoothing", evidence),
    "schema": ("7. validation of the policy schema", schema),
}
_INTRODUCTION = (
    "The evaluation plan of the paper *Persistence Semantics*, section 7, taken by `python -m bench"
    " persistence`. A part passes if every answer is right; of overheads, if no median is more than"
    " 1.2 times that without policies. Times of writing and asking are reported, not judged."
)


def run(scale: Scale, *, seed: int, parts: Sequence[str] = tuple(PARTS)) -> tuple[Report, bool]:
    """The parts one after the other; whether all of them passed."""
    report = begin("persistence", seed=seed, embedder=None)
    verdicts, failures, found = [], [], []
    for name in parts:
        title, measure = PARTS[name]
        began = time.perf_counter()
        part = measure(scale, seed)
        took = time.perf_counter() - began
        verdicts.append([title, "yes" if part.passed else "**no**", part.summary, f"{took:,.0f}"])
        failures += [[title, reason.replace("|", "\\|")] for reason in part.shown_wrong()]
        for key, value in {"passed": float(part.passed), "wall_s": took, **part.figures}.items():
            report.put(f"{name}.{key}", value)
        found.append(part)
    report.tables.append(_INTRODUCTION)
    report.table("The seven parts", ["part", "passed", "what was found", "s"], verdicts)
    if failures:
        report.table("What did not pass", ["part", "found"], failures)
    for part in found:
        for title, head, rows in part.tables:
            report.table(title, head, rows)
        report.tables += part.notes
    return report.end(), all(part.passed for part in found)
