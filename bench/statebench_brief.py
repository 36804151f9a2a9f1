"""StateBench without a search: whether what holds is in what an agent begins with, and whether what
does not hold is absent from it.

Three tracks: commitments, interruption, authority. A timeline is played up to its query, in a
memory of its own, in three feeds:

    writes      the structured state, stated by a person; a supersession is the next revision
    talk        the conversation alone, ingested with the rules that extract candidates
    both        one and the other

Three surfaces are read at the moment of the query. None of the first two sees the question:

    brief       the block at the beginning of a conversation, of 1,500 characters
    handoff     the warm start that the ended session hands to the next one; needs the talk
    context     what is assembled for the question, in another session than that of the talk

`holds` is the share of the required expressions that are in it, `absent` the share of the forbidden
ones that are not. Expressions that no text of the feed has ("escalate") are left out of `holds`:
they are an answer's words, not a memory's; `stated` says how many remain. An empty surface has all
that does not hold absent, so read the two together. `state` and `replaced` are the same for whole
values: those of writes that hold, and those that were superseded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.metrics import mean
from bench.persistence_parts import fresh
from bench.report import Report, begin, percent
from bench.statebench import load
from doxa.app.session import Session
from doxa.base.clock import FakeClock, parse_time
from doxa.hosts.brief import brief
from doxa.models import Embedder

TRACKS = {
    "commitment_durability": "commitments",
    "interruption_resumption": "interruption",
    "authority_hierarchy": "authority",
}
SURFACES = {
    "writes": ("brief", "context"),
    "talk": ("brief", "handoff", "context"),
    "both": ("brief", "handoff", "context"),
}
FEEDS = tuple(SURFACES)
WANTED_HOLDS, WANTED_ABSENT = 0.90, 0.95
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """What one surface shows at one query, and what is to be in it and not in it."""

    track: str
    feed: str
    surface: str
    text: str
    stated: tuple[str, ...]
    required: int
    forbidden: tuple[str, ...]
    holds: tuple[str, ...]
    replaced: tuple[str, ...]


def run(path: Path, embedder: Embedder | None, *, seed: int, limit: int | None = None) -> Report:
    report = begin("statebench-brief", seed=seed, embedder=embedder)
    timelines = [one for one in load(path) if one["track"] in TRACKS][:limit]
    shown = [one for timeline in timelines for one in play(timeline, embedder)]
    rows = []
    for track in TRACKS.values():
        for feed in FEEDS:
            for surface in SURFACES[feed]:
                own = [
                    one
                    for one in shown
                    if (one.track, one.feed, one.surface) == (track, feed, surface)
                ]
                rows.append([track, feed, surface, *_figures(report, own)])
    report.table(
        f"StateBench, what an agent begins with (n = {len(timelines)})",
        ["track", "feed", "surface", "holds", "absent", "stated", "state", "replaced absent",
         "characters"],
        rows,
    )  # fmt: skip
    return report.end()


def _figures(report: Report, own: Sequence[Shown]) -> list[str]:
    if not own:
        return ["-"] * 6
    prefix = f"{own[0].track}.{own[0].feed}.{own[0].surface}"
    figures = {
        "holds": _share([(one.text, one.stated) for one in own]),
        "absent": 1.0 - _share([(one.text, one.forbidden) for one in own]),
        "stated": sum(len(one.stated) for one in own) / max(1, sum(one.required for one in own)),
        "state": _share([(one.text, one.holds) for one in own]),
        "replaced": 1.0 - _share([(one.text, one.replaced) for one in own]),
        "characters": mean([float(len(one.text)) for one in own]),
    }
    for name, value in figures.items():
        if value == value:
            report.put(f"{prefix}.{name}", value)
    *shares, characters = figures.values()
    return [*map(percent, shares), f"{characters:.0f}"]


def _share(pairs: Sequence[tuple[str, tuple[str, ...]]]) -> float:
    """Return the share of all expressions that occur in their texts; not a number without any."""
    found = [part.lower() in text.lower() for text, parts in pairs for part in parts]
    return mean([float(one) for one in found]) if found else float("nan")


def play(timeline: Event, embedder: Embedder | None) -> Iterator[Shown]:
    """Play a timeline in each feed, and yield what each surface shows at each query."""
    for feed in FEEDS:
        clock = FakeClock()
        with fresh(clock=clock, embedder=embedder) as memory:
            person = memory.session(project="p", actor="person", role="operator")
            agent = memory.session(project="p", actor="assistant", role="agent")
            yield from _Player(person, agent, clock, feed).play(timeline)


class _Player:
    """One timeline in one feed."""

    def __init__(self, person: Session, agent: Session, clock: FakeClock, feed: str) -> None:
        self._person, self._agent, self._clock, self._feed = person, agent, clock, feed
        self._names: dict[str, str] = {}  # key or id of a write -> the name of its belief
        self._holds: dict[str, str] = {}  # name -> the value that holds
        self._replaced: list[str] = []
        self._said: list[str] = []  # every text that the memory was given

    def play(self, timeline: Event) -> Iterator[Shown]:
        self._clock.set(parse_time(timeline["initial_state"]["environment"]["now"]))
        for fact in timeline["initial_state"]["persistent_facts"]:
            self._write(fact)
        for event in timeline["events"]:
            self._clock.set(parse_time(event["ts"]))
            if event["type"] == "query":
                yield from self._ask(TRACKS[timeline["track"]], event)
            elif event["type"] == "conversation_turn":
                self._say(event)
            else:
                for write in event["writes"]:
                    self._write(write)

    def _say(self, event: Event) -> None:
        if self._feed == "writes":
            return
        self._said.append(event["text"])
        role = "user" if event["speaker"] == "user" else "assistant"
        turn = {"role": role, "speaker": role, "text": event["text"], "time": event["ts"]}
        self._agent.ingest([turn], thread="monday", session="monday")

    def _write(self, write: Event) -> None:
        value = str(write["value"])
        words = str(write["key"]).replace("_", " ")
        name = self._names.get(write.get("supersedes") or "", "") or f"w{len(self._names)}"
        if name in self._holds:
            self._replaced.append(self._holds[name])
        self._holds[name] = value
        self._names[write["key"]] = self._names[write["id"]] = name
        if self._feed != "talk":
            self._said.append(value)
            self._person.remember(f"{words}: {value}", name=name)

    def _ask(self, track: str, event: Event) -> Iterator[Shown]:
        truth = event["ground_truth"]
        source = "\n".join(self._said).lower()
        must = tuple(truth["must_mention"])
        for surface, text in self._surfaces(event["prompt"]):
            yield Shown(
                track,
                self._feed,
                surface,
                text,
                tuple(part for part in must if part.lower() in source),
                len(must),
                tuple(truth["must_not_mention"]),
                tuple(self._holds.values()),
                tuple(one for one in self._replaced if one not in self._holds.values()),
            )

    def _surfaces(self, question: str) -> Iterator[tuple[str, str]]:
        yield "brief", brief(self._agent).block()
        if self._feed != "writes":
            self._agent.handoff_write("monday", thread="monday", reason="end")
            opened = self._agent.session_open("tuesday", thread="tuesday")
            yield "handoff", opened.handoff.prose if opened.handoff is not None else ""
        made = self._agent.context_assemble(question, session="tuesday", thread="tuesday")
        yield "context", f"{made.instructions}\n{made.quotations}"
