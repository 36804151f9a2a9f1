"""What ripening costs and saves apart from recall: a threshold on relevance over graphs in which
relevance is known, how much shorter summaries are, how fast a consumer of events reads, and how
long working memory takes.

The graphs: topics of beliefs in words of their own and common ones, with edges within a topic and
some across. A question names its topic in words that half of its beliefs share. Hits below a share
of the best score are cut off, for shares of 10 to 90 %.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import doxa
from bench import working
from bench.corpora import load_locomo
from bench.metrics import mean, tokens_of
from bench.report import Report, begin, percent
from bench.ripening import CONFIGURATIONS, consolidate
from bench.ripening_sets import STRUCTURES, recorded
from doxa.base.clock import SystemClock
from doxa.language.turns import Turn
from doxa.models import Embedder
from doxa.working import open_working

SHARES = tuple(number / 10 for number in range(1, 10))
_TOPICS, _EACH, _LIMIT = 12, 20, 60
_EVENTS_READS = 3


def run(
    data: Path, embedder: Embedder | None, *, seed: int, structures: Sequence[Path] = (STRUCTURES,)
) -> Report:
    report = begin("ripening-costs", seed=seed, embedder=embedder)
    _thresholds(report, embedder, seed=seed)
    _compression(report, data / "locomo", structures)
    _events(report, data / "locomo")
    _working(report)
    return report.end()


def _thresholds(report: Report, embedder: Embedder | None, *, seed: int) -> None:
    found: dict[float, tuple[list[float], list[float]]] = {share: ([], []) for share in SHARES}
    with (
        tempfile.TemporaryDirectory() as folder,
        doxa.open(Path(folder) / "m.db", embedder=embedder, background=False) as memory,
    ):
        topics = _graph(memory, seed)
        memory.embed()
        for words, members in topics:
            hits = memory.recall(f"What do we know about {words}?", limit=_LIMIT).hits
            best = hits[0].score if hits else 1.0
            for share, (precision, recall) in found.items():
                kept = {hit.kref.partition("?")[0] for hit in hits if hit.score >= share * best}
                precision.append(len(kept & members) / len(kept) if kept else 1.0)
                recall.append(len(kept & members) / len(members))
    rows = []
    for share, (precision, recall) in found.items():
        p, r = mean(precision), mean(recall)
        f1 = 2 * p * r / (p + r) if p + r else 0.0
        for key, value in (("precision", p), ("recall", r), ("f1", f1)):
            report.put(f"threshold.{round(100 * share)}.{key}", value)
        rows.append([f"{100 * share:.0f}", percent(p), percent(r), percent(f1)])
    report.table(
        f"Hits below a share of the best score cut off: {_TOPICS} topics of {_EACH} beliefs",
        ["share, %", "precision", "recall", "F1"],
        rows,
    )


def _graph(memory: doxa.Memory, seed: int) -> list[tuple[str, set[str]]]:
    """Write the beliefs of all topics; return of each its words and its items."""
    rng = random.Random(seed)
    names = [f"{a}{b}" for a in ("bar", "kel", "mon", "sul") for b in ("dek", "fin", "tor")]
    common = "team plan week price review meeting budget report office client".split()
    topics: list[tuple[str, set[str]]] = []
    every: list[str] = []
    for topic in names[:_TOPICS]:
        own = [f"{topic}{end}" for end in ("a", "e", "i", "o")]
        members: list[str] = []
        for number in range(_EACH):
            subject = topic if number % 2 else rng.choice(own)
            text = (
                f"The {subject} of {rng.choice(own)} has a {rng.choice(common)} and a"
                f" {rng.choice(common)} with number {number}."
            )
            kref = memory.remember(text, name=f"{topic}-{number}").kref
            for other in rng.sample(members, min(2, len(members))):
                memory.link(kref, other, kind="REFERENCED")
            if every and rng.random() < 0.1:
                memory.link(kref, rng.choice(every), kind="REFERENCED")
            members.append(kref.partition("?")[0])
        every += members
        topics.append((f"{topic} and {own[0]}", set(members)))
    return topics


def _compression(report: Report, path: Path, folders: Sequence[Path]) -> None:
    if not path.exists():
        return
    rows = []
    for producer in ("rules", "host"):
        ratios: dict[str, list[float]] = {"session": [], "month": [], "conversation": []}
        for talk in load_locomo(path):
            held = recorded(folders, talk.name) if producer == "host" else {}
            if producer == "rules" or held:
                for level, ratio in _ratios(talk.turns, producer, held):
                    ratios[level].append(ratio)
        if not ratios["session"]:
            continue
        for level, listed in ratios.items():
            if listed:
                report.put(f"compression.{producer}.{level}", mean(listed))
        rows.append([producer, *(f"{mean(listed):.1f}" for listed in ratios.values())])
    report.table(
        "LoCoMo: how many times shorter summaries are than the turns they are of",
        ["producer", "summary of a session", "summary of a month", "all months: the conversation"],
        rows,
    )


def _ratios(
    turns: Sequence[Turn], producer: str, held: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, float]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        doxa.open(Path(folder) / "m.db", embedder=None, background=False) as memory,
    ):
        memory.ingest(turns, project="set", extract=False)
        consolidate(memory, "set", producer, CONFIGURATIONS["all"] or frozenset(), held)
        rows = memory.run(
            "MATCH (i:Item)-[:CURRENT]->(r:Revision {kind: 'summary'}) RETURN r.level AS level,"
            " r.summary AS text, r.chars_in AS chars, r.period AS period"
        ).records()
        said = memory.run("MATCH (n:Exchange) RETURN n.text AS text, n.time AS time").records()
    of_month: dict[str, int] = {}
    for row in said:
        month = time.strftime("%Y-%m", time.gmtime(int(str(row["time"])) // 10**9))
        of_month[month] = of_month.get(month, 0) + tokens_of(str(row["text"]))
    months = 0
    for row in rows:
        taken = tokens_of(str(row["text"]))
        if row["level"] == "session":
            yield "session", int(str(row["chars"])) / 4 / taken
        elif row["level"] == "month":
            months += taken
            yield "month", of_month[str(row["period"])] / taken
    if months:
        yield "conversation", sum(of_month.values()) / months


def _events(report: Report, path: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        doxa.open(Path(folder) / "m.db", embedder=None, background=False) as memory,
    ):
        if path.exists():
            for number in range(4):
                for talk in load_locomo(path):
                    memory.ingest(talk.turns, project=f"{talk.name}-{number}", extract=False)
        else:
            for number in range(200):
                memory.remember(f"Shelf {number} holds books.", name=f"s{number}")
        rates = []
        for _ in range(_EVENTS_READS):
            started = time.process_time()
            count = sum(1 for _ in memory.events())
            rates.append(count / (time.process_time() - started))
    report.put("events.count", count)
    report.put("events.per_s", max(rates))
    report.table(
        "A consumer of events, from the beginning of the log",
        ["events", "a second of the processor, best of three"],
        [[f"{count:,}", f"{max(rates):,.0f}"]],
    )


def _working(report: Report) -> None:
    text = "We deploy on Thursdays after the tests are green. " * 4
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        held = open_working(
            "", Path(folder) / "bench.working", clock=SystemClock(), ttl_s=600, read_only=False
        )
        calls = {
            "add": lambda n: held.add(f"{n} {text}", project="bench", session=f"s{n % 40}"),
            "read": lambda n: held.get(project="bench", session=f"s{n % 40}"),
        }
        for name, call in calls.items():
            middle, p95, _ = working.percentiles(call)
            report.put(f"working.{name}.p50_ms", middle)
            report.put(f"working.{name}.p95_ms", p95)
            rows.append([name, f"{middle:.2f}", f"{p95:.2f}"])
        held.close()
    report.table("Working memory on SQLite", ["call", "p50, ms", "p95, ms"], rows)
