"""Run everything that tries doxa at random or attacks it, with one seed, and keep the counts.

    bench/results/campaigns/<date>.json    { date, factor, seed, machine, minutes, paths,
    files: { path: {tests, failed, seconds, figures} }, commands: { command: exit code } }

`docs/reliability.md` shows the newest one between its marks; `python -m bench table` writes it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import results
from bench.report import machine, plain

ROOT = Path(__file__).parent.parent
FOLDER = results.FOLDER / "campaigns"
DOCUMENT = ROOT / "docs" / "reliability.md"
LONG = 200  # from this factor on, whatever has a short form runs in its full one
_SECONDS = 30  # of random texts for the parser, times the factor

# What a row of the table is called, and the beginnings of the paths that it counts.
CAMPAIGNS: dict[str, tuple[str, ...]] = {
    "Kills of writers": ("tests/crash/",),
    "Histories of clients, with kills and policies": ("tests/adversary/test_serialisable",),
    "`verify` and `doctor` next to a writer": ("tests/adversary/test_verify_under",),
    "Damaged files": ("tests/adversary/test_damage", "tests/adversary/test_unheld"),
    "Isolation of projects and databases": (
        "tests/adversary/test_isolation",
        "tests/adversary/test_bound",
    ),
    "Export, import, merge": ("tests/transfer/",),
    "Hostile exports": ("tests/adversary/test_hostile_exports",),
    "What others wrote: histories, notes, settings, frameworks": (
        "tests/adversary/test_hostile",
        "tests/adversary/test_adapter",
    ),
    "Secrets": ("tests/redaction/", "tests/adversary/test_secrets"),
    "Roles and trust at the commit": (
        "tests/adversary/test_gate",
        "tests/adversary/test_apoc",
        "tests/adversary/test_mixed",
    ),
    "Planted text": ("tests/adversary/test_poison",),
    "Erasure and retention": (
        "tests/adversary/test_erasure",
        "tests/adversary/test_retention",
        "tests/adversary/test_dropped",
    ),
    "Limits: quotas and timeouts": (
        "tests/adversary/test_quota",
        "tests/adversary/test_state",
        "tests/adversary/test_expressions",
    ),
    "Background jobs: what they may write": (
        "tests/adversary/test_background",
        "tests/adversary/test_consolidation",
        "tests/adversary/test_entities",
        "tests/adversary/test_repetition",
    ),
    "Calls that are sent again": ("tests/adversary/test_idempotency",),
    "What hooks and handoffs inject": ("tests/adversary/test_hook", "tests/adversary/test_handed"),
    "Servers over a simulated engine that fails": ("tests/replication/test_schedules.py",),
    "The identity of agents": ("tests/adversary/test_identity",),
    "The runtime of agents": ("tests/agent/",),
    "Belief revision against its model": ("tests/properties/test_revision",),
    "Other properties and state machines": ("tests/",),
}


def run(paths: Sequence[str], *, factor: int, seed: int | None, folder: Path | None) -> int:
    """Run the campaign; 0 if nothing was found. Keep its counts in the folder, if one is given.
    Paths choose tests, and leave out what is not a test."""
    seed = random.randrange(2**32) if seed is None else seed
    print(f"seed {seed}: make campaign N={factor} SEED={seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        told = Path(scratch) / "figures.json"
        endings = {}
        for command in _commands(paths, factor, seed, told):
            done = subprocess.run(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env=os.environ | {"DOXA_SEED": str(seed)},
            )
            endings[command[0] if command[0] != "bench" else f"bench {command[1]}"] = (
                done.returncode
            )
        files = json.loads(told.read_text()) if told.exists() else {}
    now = datetime.now(UTC).date().isoformat()
    record = {
        "date": now,
        "factor": factor,
        "seed": seed,
        "machine": machine(),
        "minutes": round((time.monotonic() - began) / 60, 1),
        "paths": list(paths),
        "commands": endings,
        "files": files,
    }
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{now}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(table(record))
    return max(map(abs, endings.values()))


# Speed is left out: what runs at the same time decides it.
_RIGHT = "scenarios,postulates,refinement"


def _commands(paths: Sequence[str], factor: int, seed: int, told: Path) -> list[list[str]]:
    tests = ["pytest", "-q", "-n", "auto", "--dist", "worksteal", f"--hypothesis-seed={seed}"]
    tests += ["--campaign", str(factor), "--record-figures", str(told), *paths]
    if paths:
        return [tests]
    seconds = str(_SECONDS * factor)
    quick = [] if factor >= LONG else ["--quick"]
    return [
        tests,
        ["tests.properties.fuzz_cypher", "--seconds", seconds, "--seed", str(seed)],
        ["bench", "agm", "--seed", str(seed), "--parts", _RIGHT, *quick],
        ["bench", "poison", "--seed", str(seed), "--reorder"],
    ]


def table(record: dict[str, Any]) -> str:
    """A row for each campaign that ran, with what it tried and found."""
    counts: dict[str, Counter[str]] = {title: Counter() for title in CAMPAIGNS}
    for path, found in record["files"].items():
        title = next(title for title, starts in CAMPAIGNS.items() if path.startswith(starts))
        counts[title].update(found["figures"])
        counts[title].update({"#tests": found["tests"], "#failed": found["failed"]})
    lines = [
        f"Run on {record['date']} with `make campaign N={record['factor']} SEED={record['seed']}`"
        + (f" over `{' '.join(record['paths'])}`" if record["paths"] else "")
        + f", in {record['minutes']:.0f} minutes. Machine: {plain(record['machine'])}.",
        "",
        "| campaign | tests | failed | tried |",
        "|---|---|---|---|",
    ]
    for title, counter in counts.items():
        tests, failed = counter.pop("#tests", 0), counter.pop("#failed", 0)
        if tests:
            tried = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in counter.items())
            lines.append(f"| {title} | {tests} | {failed} | {tried} |")
    for command, ending in record["commands"].items():
        if command != "pytest":
            lines.append(f"| `python -m {command}` | | {'no' if ending == 0 else 'yes'} | |")
    return "\n".join(lines)


def newest(folder: Path = FOLDER) -> dict[str, Any] | None:
    """The newest campaign that was kept."""
    path = max(folder.glob("[0-9]*.json"), default=None)
    found: dict[str, Any] | None = json.loads(path.read_text()) if path else None
    return found
