"""doxa next to libraries that people build a memory from: the same turns, vectors and questions,
each system in processes of its own.

`scripts/recall_peers.sh` installs the peers; one that is not there is passed over, and the table
says so. Only the one system that says so runs a model while the clock does; none of the
peers' language models is ever called.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.corpora import load_locomo
from bench.embedders import CloudEmbedder
from bench.libraries_adapters import OWN, PACKAGES, SYSTEMS, WITH_MODEL
from bench.libraries_sets import Trial, locomo_trial, recall_of, scale_trial, vectors_per_turn
from bench.libraries_why import DOXA, HAS
from bench.metrics import mean, paired_bootstrap
from bench.peers import shown
from bench.peers_processes import importable
from bench.report import Report, begin, percent, points
from bench.timing import spread
from doxa.models import Embedder

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "recall-peers" / "bin" / "python"
LIMIT_S = 1_800  # for filling, and for asking
Told = dict[str, Any]

# What is measured: key, title, whether more is better, and by what a figure is divided to be shown.
ROWS: tuple[tuple[str, str, bool, float], ...] = (
    ("load.turns_per_s", "turns a second until searchable, vectors given", True, 1),
    ("first_s", "import, opening and first answer, s", False, 1),
    ("query.p50_ms", "a question, its vector given: p50 ms", False, 1),
    ("query.p95_ms", "a question, its vector given: p95 ms", False, 1),
    ("recall_at_10", "recall@10, %", True, 1),
    ("memory.anon_bytes", "memory of the asking process (RssAnon), MB", False, 1e6),
    ("memory.resident_bytes", "the same with mapped files (VmRSS), MB", False, 1e6),
    ("disk.bytes_per_turn", "bytes on disk for each turn", False, 1),
)


def run(
    data: Path | None,
    embedder: Embedder | None,
    *,
    seed: int,
    quick: bool,
    sizes: Sequence[int] = (),
    python: Path | None = None,
    systems: Sequence[str] = tuple(SYSTEMS),
) -> Report:
    """LoCoMo, if its file and an embedding model are there, then each size."""
    report = begin("libraries", seed=seed, embedder=embedder)
    chosen = str(python or PYTHON)
    missing = {system: absent(system, chosen, model=embedder is not None) for system in systems}
    about: dict[str, Told] = {}
    corpora = load_locomo(data) if data else []
    sample = [turn for corpus in corpora for turn in corpus.turns]
    if corpora and embedder is not None:
        _measure(report, locomo_trial(corpora, embedder), embedder, missing, about, python=chosen)
    for size in sizes or ((5_000,) if quick else (25_000,)):
        trial = scale_trial(size, seed=seed, sample=sample, questions=40 if quick else 200)
        _measure(report, trial, CloudEmbedder(), missing, about, python=chosen)
    lines = [
        [_named(system), reason or about[system].get("version", "failed"), SYSTEMS[system].about]
        for system, reason in missing.items()
    ]
    report.table(
        "The systems, and what they search by", ["system", "version", "what it is here"], lines
    )
    return report.end()


def absent(system: str, python: str, *, model: bool) -> str:
    """Why a system cannot run; empty if it can."""
    if system in OWN:
        return "no embedding model is installed" if system == WITH_MODEL and not model else ""
    return "" if importable(PACKAGES[system], python) else "not installed"


def _measure(
    report: Report,
    trial: Trial,
    embedder: Embedder,
    missing: Mapping[str, str],
    about: dict[str, Told],
    *,
    python: str,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trial.save(folder, embedder, own=isinstance(embedder, CloudEmbedder))
        vectors = vectors_per_turn(folder, trial.turns)
        told = {
            system: measured(system, folder, len(trial.given.ids), python=python)
            for system, reason in missing.items()
            if not reason
        }
    report.put(f"{trial.name}.doxa.vectors_per_turn", vectors)
    for system, found in told.items():
        about.setdefault(system, found)
        if "hits" in found:
            found["recall"] = recall_of(trial, found["hits"])
        for key, value in figures_of(found).items():
            report.put(f"{trial.name}.{system}.{key}", value)
    title = (
        f"{trial.title}; doxa keeps {vectors:.1f} vectors for each turn (its sentences have their"
        " own), the others at most one"
    )
    report.table(
        title,
        ["what", *map(_named, told), "where doxa is behind a peer, and why"],
        [
            [
                name,
                *[_cell(found, key, divisor) for found in told.values()],
                behind(told, key, more=more, seed=report.seed),
            ]
            for key, name, more, divisor in ROWS
        ],
    )


def measured(system: str, folder: Path, turns: int, *, python: str) -> Told:
    """What its processes tell: one fills, another asks. Doxa with the model asks the store that
    doxa has filled."""
    store = folder / ("doxa" if system in OWN else system)
    fills = not store.exists()
    store.mkdir(exist_ok=True)
    told: Told = (
        _worker("fill", system, folder, store, python=python) if fills else {"version": "as above"}
    )
    if "failed" in told:
        return told
    if fills:
        told["load"] = turns / told["load_s"]
        told["disk"] = (
            sum(path.stat().st_size for path in store.rglob("*") if path.is_file()) / turns
        )
    return told | _worker("ask", system, folder, store, python=python)


def _worker(phase: str, system: str, folder: Path, store: Path, *, python: str) -> Told:
    command = [
        sys.executable if system in OWN else python,
        "-m",
        "bench.libraries_work",
        phase,
        system,
        str(folder),
        str(store),
    ]
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONPATH" or system in OWN
    }
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"over {LIMIT_S} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return (
        json.loads(lines[-1])
        if lines
        else {"failed": f"its process ended with code {done.returncode}"}
    )


# Telling


def _named(system: str) -> str:
    return system.replace("_", " ")


def figures_of(told: Told) -> dict[str, float]:
    """What is known of a system, by the keys of the rows."""
    found: dict[str, float] = {}
    if "load" in told:
        found |= {"load.turns_per_s": told["load"], "disk.bytes_per_turn": told["disk"]}
    if "ms" in told:
        times = spread(time / 1_000 for time in told["ms"])
        found |= {
            "first_s": told["first_s"],
            "query.p50_ms": times.p50_ms,
            "query.p95_ms": times.p95_ms,
            "recall_at_10": mean(told["recall"]),
        }
        found |= {
            "memory.anon_bytes": told["anon_bytes"],
            "memory.resident_bytes": told["resident_bytes"],
        }
    return found


def _cell(told: Told, key: str, divisor: float) -> str:
    value = figures_of(told).get(key)
    if value is None:
        return str(told.get("failed", "–"))
    return percent(value) if key == "recall_at_10" else shown(value / divisor)


def behind(told: Mapping[str, Told], key: str, *, more: bool, seed: int) -> str:
    """The peers of a row that are better than doxa, how much, and why. For recall the difference to
    the best, with its interval."""
    found = {system: figures_of(one)[key] for system, one in told.items() if key in figures_of(one)}
    peers = {system: value for system, value in found.items() if system not in OWN}
    if not peers or "doxa" not in found:
        return ""
    if key == "recall_at_10":
        best = max(peers, key=lambda system: peers[system])
        differences = [
            ours - theirs
            for ours, theirs in zip(told["doxa"]["recall"], told[best]["recall"], strict=True)
        ]
        interval = paired_bootstrap(
            differences, [str(place) for place in range(len(differences))], seed=seed
        )
        return f"doxa minus {best}, points: {points(interval)}" + (
            f" ({HAS[best]}): {DOXA[key]}" if interval.mean < 0 else ""
        )
    times = {
        system: value / found["doxa"] if more else found["doxa"] / value
        for system, value in peers.items()
    }
    ahead = sorted(
        (system for system in times if times[system] > 1), key=lambda system: -times[system]
    )
    return ", ".join(f"{times[system]:.1f} × {system} ({HAS[system]})" for system in ahead) + (
        f": {DOXA[key]}" if ahead else ""
    )
