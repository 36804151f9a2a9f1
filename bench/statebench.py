"""StateBench: what an answer must mention should come back, and what it must not should stay away.

Each timeline is a project of its own and is played in its order, so that a query sees only what
came before it. Three feeds:

    writes      the structured state: initial facts and writes as named beliefs, a supersession as
                the next revision of what it supersedes
    talk        the conversation alone, ingested with the rules that extract candidates
    unmarked    the same without its words of correction ("Actually", "Update:", "instead")

A query is asked by recall's defaults and with `strict`. `must` is the share of the required
expressions found in the texts of the first ten hits, `must_not` the share of queries with a
forbidden one among them, `superseded` the share of queries (of timelines with a supersession) to
which a superseded text comes back. Texts are compared in lower case. The plain baselines rank the
same texts, superseded ones included, since they know no better.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.baselines import Bm25
from bench.metrics import mean
from bench.persistence_parts import fresh
from bench.report import Report, begin, percent
from doxa.app.session import Session
from doxa.base.clock import FakeClock, parse_time
from doxa.models import Embedder

FEEDS = ("writes", "talk", "unmarked")
MODES = ("doxa", "doxa_strict")
_LIMIT = 10
_MARKERS = re.compile(
    r"(?i)(?:^|(?<=[.!?] ))(?:actually|update|correction|no,? wait|wait|scratch that|hold on|sorry"
    r"|change of plans?|never mind|on second thought)\b[\s,:.!–—-]*|\b(?: instead| after all)\b"
    r"|⚠️ ?(?:CORRECTION:)? ?|\b(?:now|actually) "
)
Texts = list[str]


@dataclass(slots=True)
class Asked:
    """One query with what came back, by system."""

    timeline: str
    track: str
    feed: str
    must: tuple[str, ...]
    must_not: tuple[str, ...]
    superseded: tuple[str, ...]
    found: dict[str, Texts] = field(default_factory=dict)


def run(path: Path, embedder: Embedder | None, *, seed: int, limit: int | None = None) -> Report:
    report = begin("statebench", seed=seed, embedder=embedder)
    timelines = load(path)[:limit]
    for feed in FEEDS:
        asked = list(play(timelines, feed, embedder))
        _measure(report, feed, asked)
    return report.end()


def load(path: Path) -> list[dict[str, Any]]:
    """The timelines of a file, or of the training file of a folder."""
    file = path / "train.jsonl" if path.is_dir() else path
    return [json.loads(line) for line in file.read_text().splitlines()]


def play(
    timelines: Sequence[dict[str, Any]], feed: str, embedder: Embedder | None
) -> Iterator[Asked]:
    """Play every timeline in one feed, each in a project of its own."""
    clock = FakeClock()
    with fresh(clock=clock, embedder=embedder) as memory:
        for timeline in timelines:
            session = memory.session(project=timeline["id"].lower())
            yield from _Player(session, memory.embed, clock, embedder, feed).play(timeline)


class _Player:
    """One timeline in one project."""

    def __init__(
        self,
        session: Session,
        embed: Callable[[], object],
        clock: FakeClock,
        embedder: Embedder | None,
        feed: str,
    ) -> None:
        self._session, self._embed, self._clock = session, embed, clock
        self._embedder, self._feed = embedder, feed
        self._names: dict[str, str] = {}  # key or id of a write -> the name of its belief
        self._current: dict[str, str] = {}  # name -> its text
        self._texts: Texts = []
        self._superseded: Texts = []
        self._waiting: list[dict[str, object]] = []

    def play(self, timeline: dict[str, Any]) -> Iterator[Asked]:
        start = timeline["initial_state"]["environment"]["now"]
        self._clock.set(parse_time(start))
        if self._feed == "writes":
            for fact in timeline["initial_state"]["persistent_facts"]:
                self._write(fact)
        for event in timeline["events"]:
            self._clock.set(parse_time(event["ts"]))
            if event["type"] == "query":
                yield self._ask(timeline["id"], timeline["track"], event)
            elif event["type"] == "conversation_turn":
                self._say(event)
            elif self._feed == "writes":
                for write in event["writes"]:
                    self._write(write)

    def _say(self, event: dict[str, Any]) -> None:
        if self._feed == "writes":
            return
        text = event["text"]
        if self._feed == "unmarked":
            text = _MARKERS.sub(" ", text).strip() or text
        role = "user" if event["speaker"] == "user" else "assistant"
        self._waiting.append({"role": role, "text": text, "time": event["ts"]})
        self._texts.append(text)

    def _write(self, write: dict[str, Any]) -> None:
        words = str(write["key"]).replace("_", " ")
        text = f"{words}: {write['value']}"
        name = self._names.get(write.get("supersedes") or "", "")
        if name:
            self._superseded.append(self._current[name])
        else:
            name = f"w{len(self._current)}"
        self._session.remember(text, name=name)
        self._names[write["key"]] = name
        if write["id"] != "W-AUTO":
            self._names[write["id"]] = name
        self._current[name] = text
        self._texts.append(text)

    def _ask(self, timeline: str, track: str, event: dict[str, Any]) -> Asked:
        if self._waiting:
            self._session.ingest(self._waiting, thread="talk")
            self._waiting = []
        self._embed()
        truth = event["ground_truth"]
        asked = Asked(
            timeline,
            track,
            self._feed,
            tuple(truth["must_mention"]),
            tuple(truth["must_not_mention"]),
            tuple(self._superseded),
        )
        question = event["prompt"]
        for name, strict in zip(MODES, (False, True), strict=True):
            hits = self._session.recall(question, limit=_LIMIT, strict=strict).hits
            asked.found[name] = [hit.text for hit in hits]
        asked.found.update(_plain(question, self._texts, self._embedder))
        return asked


def _plain(question: str, texts: Texts, embedder: Embedder | None) -> dict[str, Texts]:
    if not texts:
        return {"bm25": [], **({"minilm": []} if embedder else {})}
    scores = Bm25(texts).scores(question)
    order = np.argsort(-scores, kind="stable")[:_LIMIT]
    found = {"bm25": [texts[row] for row in order if scores[row] > 0]}
    if embedder is not None:
        cosines = embedder.embed(texts) @ embedder.embed([question])[0]
        found["minilm"] = [texts[row] for row in np.argsort(-cosines, kind="stable")[:_LIMIT]]
    return found


def _measure(report: Report, feed: str, asked: list[Asked]) -> None:
    systems = list(asked[0].found)
    with_must = [one for one in asked if one.must]
    with_not = [one for one in asked if one.must_not]
    with_old = [one for one in asked if one.superseded]
    report.put(f"{feed}.n", len(asked))
    rows = []
    for system in systems:
        prefix = f"{feed}." if system.startswith("doxa") else f"baseline.{feed}."
        key = prefix + (system.removeprefix("doxa").strip("_") or "recall")
        figures = {
            "must": mean([share(one.found[system], one.must) for one in with_must]),
            "must_not": mean([has_any(one.found[system], one.must_not) for one in with_not]),
            "superseded": mean([has_any(one.found[system], one.superseded) for one in with_old]),
            "hits": mean([float(len(one.found[system])) for one in asked]),
        }
        for name, value in figures.items():
            if value == value:
                report.put(f"{key}.{name}", value)
        rows.append(
            [
                system,
                *(percent(figures[name]) for name in ("must", "must_not", "superseded")),
                f"{figures['hits']:.1f}",
            ]
        )
    report.table(
        f"StateBench, feed `{feed}` (n = {len(asked)})",
        ["system", "must mention found", "queries with a forbidden one", "superseded back", "hits"],
        rows,
    )
    tracks = sorted({one.track for one in asked})
    report.table(
        f"StateBench, feed `{feed}` by track: required found / queries with a forbidden one",
        ["track", *systems],
        [[track, *(_cell(asked, track, system) for system in systems)] for track in tracks],
    )


def _cell(asked: list[Asked], track: str, system: str) -> str:
    own = [one for one in asked if one.track == track]
    must = mean([share(one.found[system], one.must) for one in own if one.must])
    never = mean([has_any(one.found[system], one.must_not) for one in own if one.must_not])
    return f"{percent(must)} / {percent(never)}"


def share(texts: Texts, wanted: tuple[str, ...]) -> float:
    """The share of expressions that occur in the texts."""
    whole = "\n".join(texts).lower()
    return sum(part.lower() in whole for part in wanted) / len(wanted)


def has_any(texts: Texts, unwanted: tuple[str, ...]) -> float:
    """1 if one of the expressions occurs in the texts."""
    whole = "\n".join(texts).lower()
    return float(any(part.lower() in whole for part in unwanted))
