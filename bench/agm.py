"""Belief revision in figures: scenarios through every interface, every postulate enumerated,
the graph against the model, and how long it takes.

python -m bench agm --data ../data/agm      exit status 1 where something that is claimed does not
hold
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.agm_enumeration import ATOMS, EXPECTED, LINEAR, WHOLE, enumerate_all
from bench.agm_postulates import Finding, Findings
from bench.agm_refinement import RandomSequence
from bench.agm_scenarios import find, scenarios
from bench.agm_speed import speed
from bench.agm_universe import UNIVERSES
from bench.persistence_parts import Part
from bench.report import Report, begin
from doxa.base.clock import FakeClock
from doxa.belief import declare
from doxa.store import Store, check, digest, replayed_digest, verify_log

STEPS = 8
_PER_FILE = 250  # sequences, each in a project of its own
PARTS = ("scenarios", "postulates", "refinement", "speed")
_TITLES = {
    "scenarios": "1. scenarios, by Python, recall and Cypher",
    "postulates": "2. postulates, enumerated",
    "refinement": "3. the graph against the model",
    "speed": "4. speed",
}
_INTRODUCTION = (
    "Belief revision, taken by `python -m bench agm`. Enumeration is over every base, order and"
    " input of small universes, with the product's own operator; what fails is shown with its"
    " smallest case. A part fails where something that is claimed does not hold, or takes longer"
    " than it may."
)


def run(
    data: Path | None, *, seed: int, quick: bool, parts: Sequence[str] = PARTS
) -> tuple[Report, bool]:
    """The parts one after the other; whether all of them passed."""
    report = begin("agm", seed=seed, embedder=None)
    measures: dict[str, Callable[[], Part]] = {
        "scenarios": lambda: scenarios(find(data)),
        "postulates": lambda: postulates(quick=quick),
        "refinement": lambda: refinement(500 if quick else 10_000, seed),
        "speed": lambda: speed(10_000 if quick else 100_000, 200 if quick else 500, seed),
    }
    found = {name: measures[name]() for name in parts}
    for name, part in found.items():
        for key, value in {f"{name}.passed": float(part.passed), **part.figures}.items():
            report.put(key, value)
    report.tables.append(_INTRODUCTION)
    rows = [
        [_TITLES[name], "yes" if part.passed else "**no**", part.summary]
        for name, part in found.items()
    ]
    report.table("Belief revision", ["part", "passed", "what was found"], rows)
    failures = [
        [_TITLES[name], reason.replace("|", "\\|")]
        for name, part in found.items()
        for reason in part.shown_wrong()
    ]
    if failures:
        report.table("What did not pass", ["part", "found"], failures)
    for part in found.values():
        for title, head, rows in part.tables:
            report.table(title, head, rows)
        report.tables += part.notes
    return report.end(), all(part.passed for part in found.values())


def postulates(*, quick: bool) -> Part:
    """Which hold for which operator, and the smallest case where one does not."""
    findings, counts = enumerate_all(quick=quick)
    part = Part()
    names = list(dict.fromkeys(name for _, name in findings.found))
    operators = (ATOMS, LINEAR, WHOLE)
    part.tables.append(
        (
            (
                f"Postulates over {'some' if quick else len(UNIVERSES)} universes of up to four"
                " atoms, with functional pairs, exclusions and rules"
            ),
            ["postulate", *(f"{operator}, {counts[operator]:,} bases" for operator in operators)],
            [
                [name, *(_cell(findings.found.get((operator, name))) for operator in operators)]
                for name in sorted(names, key=_order)
            ],
        )
    )
    examples = [
        [name, operator, finding.counterexample]
        for (operator, name), finding in sorted(findings.found.items())
        if finding.failed
    ]
    part.tables.append(
        ("The smallest case in which one fails", ["postulate", "operator", "case"], examples)
    )
    part.notes.append(
        "K*1, that a result is closed, holds by what is compared: sets of worlds. K*6 is checked on"
        " two wordings of each input."
    )
    for operator, expected in EXPECTED.items():
        part.wrong += [
            f"{operator}: {name}: {_problem(findings, operator, name)}"
            for name in expected
            if _problem(findings, operator, name)
        ]
    checked = sum(finding.checked for finding in findings.found.values())
    held = sum(
        findings.holds(operator, name)
        for operator in (ATOMS, LINEAR)
        for name in EXPECTED[operator]
    )
    asked = len(EXPECTED[ATOMS]) + len(EXPECTED[LINEAR])
    part.summary = (
        f"{held} of {asked} claims hold for atom-level and linear operators; {checked:,} checks"
    )
    part.figures |= {"postulates.checks": checked, "postulates.claims_held": held}
    return part


def _problem(findings: Findings, operator: str, name: str) -> str:
    finding = findings.found.get((operator, name))
    if finding is None or not finding.checked:
        return "it was not checked"
    return f"it fails: {finding.counterexample}" if finding.failed else ""


def _cell(finding: Finding | None) -> str:
    if finding is None:
        return "–"
    return (
        f"fails ({finding.failed:,} of {finding.checked:,})"
        if finding.failed
        else f"holds ({finding.checked:,})"
    )


def _order(name: str) -> tuple[int, str]:
    groups = ("K*", "base revision", "contraction", "Levi", "Harper", "Darwiche")
    return next(
        (number for number, group in enumerate(groups) if name.startswith(group)), len(groups)
    ), name


def refinement(sequences: int, seed: int) -> Part:
    """Random sequences, half of them with windows of validity: what is current is what the model
    believes, also as of each moment and undone."""
    part, changes = Part(), 0
    for first in range(0, sequences, _PER_FILE):
        numbers = range(first, min(first + _PER_FILE, sequences))
        with tempfile.TemporaryDirectory(dir=_in_memory()) as folder:
            clock = FakeClock()
            with Store(Path(folder) / "m.db", clock=clock) as store:
                declare(store)
                for number in numbers:
                    part.wrong += RandomSequence(
                        store, clock, seed * 1_000_003 + number, windows=number % 2 == 1
                    ).run(STEPS)
                part.wrong += check(store)
                verify_log(store)
                if digest(store) != replayed_digest(store):
                    part.wrong.append("the replay of the log is not what the file holds")
                with store.read() as reader:
                    last = reader.last_receipt()
                changes += last.tx if last else 0
    part.figures |= {
        "refinement.sequences": sequences,
        "refinement.changes": changes,
        "refinement.wrong": len(part.wrong),
    }
    right = sequences - len(part.wrong)
    part.summary = (
        f"{right:,} of {sequences:,} sequences of {STEPS} steps right, {changes:,} changes with"
        " their undoing; replay is exact"
    )
    return part


def _in_memory() -> str | None:
    """A folder in memory, if there is one: durability is not tested here."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
