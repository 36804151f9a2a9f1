"""StateBench held open: the writes of each timeline as named beliefs, in a project for each query,
which holds what came before it.

    statebench         beliefs: the required expressions among the texts of the first three hits
    statebench_linked  the same over turns and beliefs, each derived from the turn that states it
    statebench_clean   of these, queries without a forbidden expression among the first three

Every belief has fields that a rule makes: as a question what its key asks for, as a claim its value
alone. A timeline holds some six texts, so that nearly all of them are among the first ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import doxa
from bench.persistence_parts import fresh
from bench.sets_asked import Asked
from bench.statebench import has_any, load, share
from doxa.base.clock import FakeClock, parse_time
from doxa.models import Embedder
from doxa.recall import Hit

FIRST = 3
TITLES = {
    "statebench": "StateBench writes, required@3",
    "statebench_linked": "StateBench turns and writes, required@3",
    "statebench_clean": "StateBench turns and writes, nothing forbidden@3",
}
_OF = {False: "statebench", True: "statebench_linked"}
Event = dict[str, Any]
_TIMELINES = 400  # in one store: recording mentions keeps a cursor for each project
Step = tuple[int, Callable[[], None]]


def opened(
    stack: ExitStack, path: Path, embedder: Embedder | None, *, fields: bool
) -> dict[str, list[Asked]]:
    """Fill a store of writes and one of turns and writes, which stay open with `stack`; return the
    queries by set."""
    asked: dict[str, list[Asked]] = {name: [] for name in TITLES}
    timelines = load(path)
    for linked in (False, True):
        for first in range(0, len(timelines), _TIMELINES):
            clock = FakeClock()
            memory = stack.enter_context(fresh(clock=clock, embedder=embedder))
            some = timelines[first : first + _TIMELINES]
            for name, one in _filled(memory, clock, some, linked=linked, fields=fields):
                asked[name].append(one)
    return asked


def _filled(
    memory: doxa.Memory,
    clock: FakeClock,
    timelines: Sequence[Event],
    *,
    linked: bool,
    fields: bool,
) -> list[tuple[str, Asked]]:
    """Fill a store, and return its queries with the sets that they are of."""
    asked: list[tuple[str, Asked]] = []
    steps: list[Step] = []
    projects = []
    for timeline in timelines:
        for number, query in enumerate(_queries(timeline)):
            project = f"{timeline['id'].lower()}-{number}"
            projects.append(project)
            told = _Told(memory.session(project=project), linked=linked, fields=fields)
            steps += told.steps(timeline, query)
            asked_now = partial(
                Asked, memory, project, query["prompt"], timeline["id"], clock=clock
            )
            at_ns = parse_time(query["ts"])
            asked += [
                (name, asked_now(value=value, options={"limit": FIRST}, now_ns=at_ns))
                for name, value in _values(query, linked=linked)
            ]
    for at_ns, do in sorted(steps, key=lambda step: step[0]):
        clock.set(at_ns)
        do()
    for project in projects:
        memory.record_mentions(project=project)
    memory.embed()
    return asked


def _queries(timeline: Event) -> Iterator[Event]:
    return (event for event in timeline["events"] if event["type"] == "query")


def _values(query: Event, *, linked: bool) -> Iterator[tuple[str, Any]]:
    truth = query["ground_truth"]
    must, never = tuple(truth["must_mention"]), tuple(truth["must_not_mention"])
    if must:
        yield _OF[linked], partial(_required, must)
    if never and linked:
        yield "statebench_clean", partial(_clean, never)


def _required(wanted: tuple[str, ...], hits: Sequence[Hit]) -> float:
    return share([hit.text for hit in hits], wanted)


def _clean(never: tuple[str, ...], hits: Sequence[Hit]) -> float:
    return 1.0 - has_any([hit.text for hit in hits], never)


class _Told:
    """One timeline up to a query, in a project of its own. All projects are filled in the order of
    time: what a store records is never earlier than what it recorded before."""

    def __init__(self, session: doxa.Session, *, linked: bool, fields: bool) -> None:
        self._session, self._linked, self._fields = session, linked, fields
        self._names: dict[str, str] = {}  # key or id of a write -> the name of its belief
        self._turns: list[Event] = []

    def steps(self, timeline: Event, query: Event) -> Iterator[Step]:
        """Yield what is to be done, with its time."""
        start = timeline["initial_state"]["environment"]["now"]
        for fact in timeline["initial_state"]["persistent_facts"]:
            yield parse_time(start), partial(self._write, fact, start)
        for event in timeline["events"]:
            at_ns = parse_time(event["ts"])
            if event is query:
                return
            if event["type"] == "conversation_turn" and self._linked:
                yield at_ns, partial(self._say, event)
            elif event["type"] in ("state_write", "supersession"):
                for write in event["writes"]:
                    yield at_ns, partial(self._write, write, event["ts"])

    def _say(self, event: Event) -> None:
        role = "user" if event["speaker"] == "user" else "assistant"
        turn = {"role": role, "text": event["text"], "time": event["ts"]}
        turn["id"] = f"turn-{len(self._turns)}"
        self._session.ingest([turn], thread="talk", extract=False)
        self._turns.append(event)

    def _write(self, write: Event, ts: str) -> None:
        words = str(write["key"]).replace("_", " ")
        name = self._names.get(write.get("supersedes") or "", "") or f"w{len(self._names)}"
        given: Event = {"name": name, "derived_from": self._sources(write, ts)}
        if self._fields:
            given |= {"questions": (f"What is the {words}?",), "claims": (str(write["value"]),)}
        self._session.remember(f"{words}: {write['value']}", **given)
        self._names[write["key"]] = name
        if write["id"] != "W-AUTO":
            self._names[write["id"]] = name

    def _sources(self, write: Event, ts: str) -> tuple[str, ...]:
        """The address of the turn of the same moment that states the value."""
        for number, turn in reversed(list(enumerate(self._turns))):
            if turn["ts"] == ts and str(write["value"]) in turn["text"]:
                found = self._session.run(
                    "MATCH (n:Exchange {source_id: $id, project: $project}) RETURN n.kref AS kref",
                    {"id": f"turn-{number}", "project": self._session.project},
                ).records()
                return tuple(str(row["kref"]) for row in found)
        return ()
