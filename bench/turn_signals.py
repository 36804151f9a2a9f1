"""What the end of a turn costs: signals, dynamics and metabolism; and whether the percentile of the
surprise is calibrated, on the second half of each person's conversations.

Without data the turns are synthetic. The identity of the agent is as large as one may be. The
metabolism is the verb, with its log line and with the moment that it keeps where one stands out.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import doxa
from bench.report import Report
from bench.texts import turns_of
from bench.timing import seconds_of, spread
from doxa.agent.signals.dynamics import Dynamics
from doxa.agent.signals.log import TurnLog
from doxa.agent.signals.observation import FEATURES
from doxa.base.clock import NS, FakeClock
from doxa.base.limits import METABOLISM_PAUSE_S

_LINES, _TURNS = 130, 600
_SIGNIFICANT = 0.01


def run(data: Path | None, *, seed: int) -> Report:
    report = Report("turn-signals", seed, "none")
    with tempfile.TemporaryDirectory() as folder:
        _cost(report, Path(folder))
        people = _people(data) if data is not None else [("synthetic", [*_synthetic(seed)])]
        rows = [_calibration(Path(folder) / f"{name}.jsonl", name, held) for name, held in people]
    for name, held_out, probability, better in rows:
        report.put(f"calibration.{name}.held_out", held_out)
        report.put(f"calibration.{name}.ks_p", probability)
        report.put(f"calibration.{name}.better_than_persistence", better)
    uniform = sum(one[2] > _SIGNIFICANT for one in rows)
    report.put("calibration.uniform", uniform)
    report.put("calibration.people", len(rows))
    report.table(
        f"Percentiles on held-out turns: uniform for {uniform} of {len(rows)}"
        f" (Kolmogorov-Smirnov, p > {_SIGNIFICANT})",
        ["person", "turns", "p", "less error than persistence"],
        [[name, f"{n:,}", f"{p:.3f}", f"{better:.0%}"] for name, n, p, better in rows],
    )
    return report.end()


def _cost(report: Report, folder: Path) -> None:
    random, learner = np.random.default_rng(report.seed), Dynamics(report.seed)
    given = random.standard_normal((_TURNS, len(FEATURES))).tolist()
    turns = [*_synthetic(report.seed)][:_TURNS]
    log = TurnLog(folder / "log.jsonl")
    rows = [
        ("dynamics", [_both(partial(learner.observe, one)) for one in given]),
        (
            "log line",
            [_both(partial(log.observe, *one, now=n * 60 * NS)) for n, one in enumerate(turns)],
        ),
    ]
    clock = FakeClock()
    with doxa.open(
        folder / "m.doxa",
        role="operator",
        actor="olga",
        clock=clock,
        embedder=None,
        background=False,
    ) as memory:
        for number in range(_LINES):
            line = memory.growth_propose(f"I water garden {number} well.", file="SOUL", agent="ana")
            nonce = memory.crystallise_approve(line.kref, line.content_hash).nonce
            memory.crystallise_apply(line.kref, nonce)
        session = memory.session(actor="ana")
        report.put("identity.chars", session.identity_show().chars)
        rows.append(("metabolism", [_both(partial(session.metabolise, *one)) for one in turns]))
        kept = []
        for user, reply in turns[:100]:
            clock.advance(seconds=METABOLISM_PAUSE_S + 1)
            said = f"Remember this: {user}"
            kept.append(_both(partial(session.metabolise, said, reply)))
        rows.append(("metabolism that keeps a moment", kept))
        rows.append(("identity", [_both(session.identity_show) for _ in range(50)]))
    cells = []
    for name, seconds in rows:
        key = name.replace(" ", "_")
        found, used = (spread(one) for one in zip(*seconds, strict=True))
        report.put(f"{key}.p50_ms", found.p50_ms)
        report.put(f"{key}.p95_ms", found.p95_ms)
        report.put(f"{key}.processor.p50_ms", used.p50_ms)
        report.put(f"{key}.processor.p95_ms", used.p95_ms)
        values = (found.p50_ms, found.p95_ms, used.p50_ms, used.p95_ms)
        cells.append([name, *(f"{value:.2f}" for value in values)])
    report.table(
        "A turn's end, and the identity before a turn: of the clock, and of the processor",
        ["part", "p50 ms", "p95 ms", "processor, p50 ms", "processor, p95 ms"],
        cells,
    )


def _both(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    used = time.process_time()
    took = seconds_of(call)
    return took, time.process_time() - used


def _calibration(
    path: Path, name: str, turns: Sequence[tuple[str, str]]
) -> tuple[str, int, float, float]:
    log, found, errors, still = TurnLog(path), [], [], []
    before = None
    for number, (user, reply) in enumerate(turns):
        shown = log.observe(user, reply, now=number * 60 * NS, session=str(number // 20))
        learner = log._learner
        assert learner._held is not None
        latent = learner._held[0]
        if before is not None and shown.surprise is not None:
            errors.append(shown.surprise)
            still.append(float(np.mean((latent - before) ** 2)))
        before = latent
        found.append(shown.percentile)
    half = len(found) // 2
    held_out = [one for one in found[half:] if one is not None]
    better = 1 - float(np.mean(errors[half:])) / max(float(np.mean(still[half:])), 1e-12)
    return name, len(held_out), _ks_probability(held_out), better


def _ks_probability(values: Sequence[float]) -> float:
    """Kolmogorov and Smirnov's test against the uniform distribution, with Stephens' correction."""
    held = np.sort(values)
    rank = np.arange(1, len(held) + 1) / len(held)
    most = max(float((rank - held).max()), float((held - rank + 1 / len(held)).max()))
    root = math.sqrt(len(held))
    scaled = (root + 0.12 + 0.11 / root) * most
    total: float = sum((-1) ** (k - 1) * math.exp(-2 * k * k * scaled**2) for k in range(1, 100))
    return min(1.0, max(0.0, 2 * total))


def _people(folder: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each person of RealMem with the pairs of turns, in their order."""
    for path in sorted(folder.glob("*_dialogues_256k.json")):
        pairs, user = [], None
        for dialogue in json.loads(path.read_text())["dialogues"]:
            for turn in dialogue["dialogue_turns"]:
                if turn["speaker"] == "User":
                    user = turn["content"]
                elif user is not None:
                    pairs.append((user, turn["content"]))
                    user = None
        yield path.name.removesuffix("_dialogues_256k.json"), pairs


def _synthetic(seed: int) -> Iterator[tuple[str, str]]:
    texts = [turn.text for turn in turns_of(3_000, seed=seed)]
    yield from zip(texts[::2], texts[1::2], strict=False)
