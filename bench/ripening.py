"""What consolidation gains and costs: the same questions over turns alone, and over turns with what
a producer made of their sessions.

    turns            nothing but the turns
    + summary        and title, summary, topics and entities of each session
    + events         and events, facts, decisions, actions, commitments and open questions
    + implications   the summary, and implications: what it may matter for, in other words
    all              everything, and the summaries of days, weeks and months

Producers: `rules` for all sessions; `host` for the sessions of which people wrote structures by
hand (bench/structures), asked only what these sessions answer.

A hit counts as the turns that it is derived from where these are at most three, and takes one place
whatever it is; a summary counts as no turn. `sessions` counts any hit as its session, `first` asks
whether the first hit is evidence. These three are of recall's default, which leaves a conclusion
out while what grounds it is eligible. The measures named `mixed` are of one list of both, as with
`trust="untrusted"`; there what a producer made takes places that turns had. `resolved` is what a
reader of that list gets who follows each conclusion to its turns and passes over summaries: the
first ten turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import doxa
from bench.metrics import Interval, mean, paired_bootstrap, tokens_of
from bench.report import Report, begin, percent, points
from bench.ripening_sets import (
    STRUCTURES,
    Group,
    Wanted,
    exchanges,
    groups,
    of_sessions,
    recorded,
    renamed,
)
from doxa.consolidation.consolidate import Consolidation
from doxa.consolidation.producers.contract import Produced, Producer
from doxa.consolidation.producers.host import HostProducer
from doxa.consolidation.producers.rules import RulesProducer
from doxa.consolidation.structure import SECTIONS, Structure, read_structure
from doxa.consolidation.transcript import Transcript
from doxa.consolidation.units import threads_of, units_of
from doxa.language.turns import Turn
from doxa.models import Embedder
from doxa.recall import Recall

SETS = ("locomo", "locomo-plus", "beam", "realmem")
FIRST = 10
PROJECT = "set"
SOURCES_MAX = 3  # of a hit that counts as its turns
_SUMMARY = frozenset(("title", "summary", "topics", "entities"))
_EVENTS = frozenset(("events", "facts", "decisions", "actions", "commitments", "open_questions"))
CONFIGURATIONS: Mapping[str, frozenset[str] | None] = {
    "turns": None,
    "+ summary": _SUMMARY,
    "+ events": _SUMMARY | _EVENTS,
    "+ implications": _SUMMARY | {"implications"},
    "all": frozenset(("title", *SECTIONS)),
}
# A part that a producer never gives makes two configurations the same.
_SKIPPED = {"rules": ("+ implications", "all"), "host": ()}
DEFAULT = ("turns", "sessions", "first")
MIXED = ("mixed", "resolved", "mixed_sessions", "mixed_first")
MEASURES = (*DEFAULT, *MIXED)
_DEEP = 30  # hits, of which the first ten turns are taken


@dataclass(slots=True)
class Cost:
    """What consolidation took: sessions, seconds of the processor, tokens read and written, and
    what became of entries."""

    sessions: int = 0
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    stored: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)


class Narrowed:
    """A producer of some sections only. For a host, the structure of each session as it was
    recorded."""

    model = ""

    def __init__(
        self,
        name: str,
        sections: frozenset[str],
        structures: Mapping[str, Mapping[str, Any]],
        names: Mapping[str, str],
    ) -> None:
        self.name = name
        self._sections = sections
        self._structures = structures
        self._names = names
        self.written = 0

    def covers(self, session: str) -> bool:
        return self.name == "rules" or session in self._structures

    def produce(self, transcript: Transcript) -> Produced:
        inner: Producer = RulesProducer()
        if self.name == "host":
            named = renamed(self._structures[transcript.session], self._names)
            inner = HostProducer(named, model="by hand")
        whole, _ = read_structure(inner.produce(transcript).structure)
        kept = {name: value for name in self._sections if (value := getattr(whole, name))}
        made = Structure(**kept)
        self.written += tokens_of(msgspec.json.encode(made).decode())
        return Produced(made)


def consolidate(
    memory: doxa.Memory,
    project: str,
    name: str,
    sections: frozenset[str],
    structures: Mapping[str, Mapping[str, Any]],
) -> Cost:
    """Consolidate every session of a project that the producer covers."""
    cost = Cost()
    names = {
        source: kref.rpartition("/")[2].partition(".")[0] for kref, source in exchanges(memory)
    }
    producer = Narrowed(name, sections, structures, names)
    job = Consolidation(memory.store, producer)
    with memory.store.read() as reader:
        units = [
            unit
            for thread in threads_of(reader, project)
            for unit in units_of(reader, thread)
            if producer.covers(unit.session)
        ]
    for unit in units:
        started = time.process_time()
        (done,) = job.run([unit])
        cost.seconds += time.process_time() - started
        cost.sessions += 1
        cost.stored.update(done.stored)
        cost.dropped.update(done.dropped)
        if done.error:
            cost.failed.append(f"{unit.session}: {done.error}")
    cost.tokens_out = producer.written
    return cost


def _sources(memory: doxa.Memory) -> dict[str, tuple[str, ...]]:
    """Return the turns that each revision of a run is derived from."""
    found: dict[str, list[str]] = {}
    rows = memory.run(
        "MATCH (r:Revision)-[:DERIVED_FROM]->(n:Exchange) WHERE r.job_run IS NOT NULL RETURN r.kref"
        " AS kref, n.source_id AS id"
    ).records()
    for row in rows:
        found.setdefault(str(row["kref"]), []).append(str(row["id"]))
    return {kref: tuple(ids) for kref, ids in found.items()}


@dataclass(frozen=True, slots=True)
class Places:
    """The first hits of one question: of each the turns it counts as, and its sessions."""

    turns: tuple[frozenset[str], ...]
    sessions: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers to one question: recall's default, and one list of turns and conclusions."""

    default: Places
    mixed: Places


def ask(memory: doxa.Memory, group: Group) -> list[Asked]:
    """Ask every question of a group twice, and return what the first hits were."""
    session_of = {turn.source_id: turn.session for turn in group.turns}
    sources = _sources(memory)
    return [
        Asked(*(_places(found, one, session_of, sources) for found in _recalled(memory, one)))
        for one in group.asked
    ]


def _recalled(memory: doxa.Memory, one: Wanted) -> Iterator[Recall]:
    """Yield what recall finds by default, and in one list of turns and conclusions."""
    for trust in ("", "untrusted"):
        yield memory.recall(
            one.question.text,
            project=PROJECT,
            limit=FIRST * 20 if one.own else _DEEP,
            until=one.until_ns,
            trust=trust,
        )


def _places(
    answer: Recall,
    one: Wanted,
    session_of: Mapping[str, str],
    sources: Mapping[str, tuple[str, ...]],
) -> Places:
    turns, sessions = [], []
    for hit in answer.hits:
        derived = sources.get(hit.kref, ())
        said = frozenset((hit.source_id,)) if hit.type == "exchange" else frozenset[str]()
        named = frozenset(session_of[name] for name in (*said, *derived)) - {one.own}
        if one.own and not named:
            continue
        turns.append(said or (frozenset(derived) if len(derived) <= SOURCES_MAX else said))
        sessions.append(named)
    return Places(tuple(turns), tuple(sessions))


def values(group: Group, answers: Sequence[Asked]) -> dict[str, list[float]]:
    """Return the measures of each question."""
    session_of = {turn.source_id: turn.session for turn in group.turns}
    found: dict[str, list[float]] = {name: [] for name in MEASURES}
    for one, answer in zip(group.asked, answers, strict=True):
        gold = one.question.gold
        wanted = gold if group.of_sessions else frozenset(session_of[name] for name in gold)
        for at, prefix in ((answer.default, ""), (answer.mixed, "mixed_")):
            found[f"{prefix}sessions"].append(_share(_first(at.sessions), wanted))
            found[f"{prefix}first"].append(
                float(bool(at.sessions) and not wanted.isdisjoint(at.sessions[0]))
                if group.of_sessions
                else float(bool(at.turns) and not gold.isdisjoint(at.turns[0]))
            )
        if not group.of_sessions:
            found["turns"].append(_share(answer.default.turns[:FIRST], gold))
            found["mixed"].append(_share(answer.mixed.turns[:FIRST], gold))
            found["resolved"].append(_share([frozenset(_resolved(answer.mixed.turns))], gold))
    return {name: listed for name, listed in found.items() if listed}


def _resolved(turns: Sequence[frozenset[str]]) -> list[str]:
    """Return the first ten turns, each conclusion replaced by those that it is derived from."""
    return list(dict.fromkeys(name for hit in turns for name in sorted(hit)))[:FIRST]


def _first(sessions: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return the sessions of the first hits until ten different ones are named. One hit names one
    session, apart from summaries of days and longer."""
    found: list[frozenset[str]] = []
    seen: set[str] = set()
    for named in sessions:
        if named <= seen:
            continue
        found.append(named)
        seen |= named
        if len(found) >= FIRST:
            break
    return found


def _share(found: Sequence[frozenset[str]], gold: frozenset[str]) -> float:
    return len(gold & frozenset().union(*found)) / len(gold)


def measure(
    group: Group,
    producer: str,
    embedder: Embedder | None,
    structures: Mapping[str, Mapping[str, Any]],
    configurations: Sequence[str],
) -> tuple[dict[str, dict[str, list[float]]], dict[str, Cost]]:
    """Return the measures of each configuration by question, and what it cost."""
    measured, costs = {}, {}
    for name in configurations:
        sections = CONFIGURATIONS[name]
        with (
            tempfile.TemporaryDirectory() as folder,
            doxa.open(Path(folder) / "memory.db", embedder=embedder, background=False) as memory,
        ):
            memory.ingest(group.turns, project=PROJECT, extract=False)
            if sections is not None:
                costs[name] = consolidate(memory, PROJECT, producer, sections, structures)
                costs[name].tokens_in = sum(
                    tokens_of(turn.text) for turn in _read(group, structures)
                )
            memory.embed()
            measured[name] = values(group, ask(memory, group))
    return measured, costs


def _read(group: Group, structures: Mapping[str, Any]) -> Iterator[Turn]:
    return (turn for turn in group.turns if not structures or turn.session in structures)


def run(
    data: Path,
    embedder: Embedder | None,
    *,
    seed: int,
    sets: Sequence[str] = SETS,
    producers: Sequence[str] = ("rules", "host"),
    structures: Sequence[Path] = (STRUCTURES,),
) -> Report:
    report = begin("ripening", seed=seed, embedder=embedder)
    for producer in producers:
        for name in sets:
            found = [one for one in groups(data, (name,))]
            _measure_set(report, producer, name, found, embedder, structures)
    return report.end()


def _measure_set(
    report: Report,
    producer: str,
    name: str,
    found: Sequence[Group],
    embedder: Embedder | None,
    folders: Sequence[Path],
) -> None:
    names = [one for one in CONFIGURATIONS if one not in _SKIPPED[producer]]
    gathered: dict[str, dict[str, list[float]]] = {one: {} for one in names}
    costs = {one: Cost() for one in names}
    for group in found:
        held = recorded(folders, group.name) if producer == "host" else {}
        asked = of_sessions(group, held) if producer == "host" else group
        if not asked.asked:
            continue
        measured, spent = measure(asked, producer, embedder, held, names)
        for configuration, rows in measured.items():
            for key, listed in rows.items():
                gathered[configuration].setdefault(key, []).extend(listed)
        for configuration, cost in spent.items():
            _add(costs[configuration], cost)
    if gathered[names[0]]:
        _tables(report, f"{producer}.{name}", names, gathered)
        _costs(report, f"{producer}.{name}", names[-1], costs[names[-1]])


def _add(held: Cost, cost: Cost) -> None:
    held.sessions += cost.sessions
    held.seconds += cost.seconds
    held.tokens_in += cost.tokens_in
    held.tokens_out += cost.tokens_out
    held.stored += cost.stored
    held.dropped += cost.dropped
    held.failed += cost.failed


_TITLES = {
    "turns": f"turns @{FIRST}",
    "sessions": f"sessions @{FIRST}",
    "first": "first hit",
    "mixed": f"turns @{FIRST}",
    "resolved": f"resolved to turns @{FIRST}",
    "mixed_sessions": f"sessions @{FIRST}",
    "mixed_first": "first hit",
}


def _tables(
    report: Report,
    place: str,
    names: Sequence[str],
    gathered: Mapping[str, Mapping[str, list[float]]],
) -> None:
    report.put(f"{place}.n", len(gathered[names[0]]["first"]))
    for title, listed in (("by default", DEFAULT), ("in one list of turns and conclusions", MIXED)):
        keys = [key for key in listed if key in gathered[names[0]]]
        _table(report, place, title, names, keys, gathered)


def _table(
    report: Report,
    place: str,
    title: str,
    names: Sequence[str],
    keys: Sequence[str],
    gathered: Mapping[str, Mapping[str, list[float]]],
) -> None:
    count = len(gathered[names[0]][keys[0]])
    rows = []
    for name in names:
        row = [name]
        for key in keys:
            listed, base = gathered[name][key], gathered[names[0]][key]
            report.put(f"{place}.{_key(name)}.{key}", mean(listed))
            row.append(percent(mean(listed)))
            if name == names[0]:
                row.append("")
                continue
            gaps = [one - other for one, other in zip(listed, base, strict=True)]
            interval = paired_bootstrap(
                gaps, [str(number) for number in range(len(gaps))], seed=report.seed
            )
            report.put_interval(f"{place}.{_key(name)}.{key}.gain", interval)
            row.append(points(interval) + _verdict(interval))
        rows.append(row)
    heads = [head for key in keys for head in (_TITLES[key], "less turns alone, 95 %")]
    producer, _, of = place.partition(".")
    report.table(
        f"{of}, by {producer}, {title}: evidence found, %, and the difference in points, drawn by"
        f" question (n = {count}). A star marks a loss beyond its interval",
        ["configuration", *heads],
        rows,
    )


def _verdict(interval: Interval) -> str:
    return " *" if interval.high < 0 else ""


def _key(name: str) -> str:
    return name.replace("+ ", "with_")


def _costs(report: Report, place: str, name: str, cost: Cost) -> None:
    if not cost.sessions:
        return
    for line in cost.failed:
        print(f"{place} failed: {line}", file=sys.stderr)
    stored, dropped = sum(cost.stored.values()), sum(cost.dropped.values())
    figures = {
        "sessions": float(cost.sessions),
        "ms": 1_000 * cost.seconds / cost.sessions,
        "tokens_in": cost.tokens_in / cost.sessions,
        "tokens_out": cost.tokens_out / cost.sessions,
        "stored": stored / cost.sessions,
        "dropped": dropped / cost.sessions,
        "failed": float(len(cost.failed)),
    }
    for key, value in figures.items():
        report.put(f"{place}.cost.{key}", value)
    producer, _, of = place.partition(".")
    report.table(
        f"{of}, by {producer}: what consolidating a session took, and what became of entries",
        [
            "sessions",
            "ms",
            "tokens read",
            "tokens of structure",
            "entries stored",
            "dropped",
            "failed",
        ],
        [
            [
                f"{cost.sessions}",
                f"{figures['ms']:.0f}",
                f"{figures['tokens_in']:.0f}",
                f"{figures['tokens_out']:.0f}",
                f"{figures['stored']:.1f}",
                f"{figures['dropped']:.1f} ("
                + ", ".join(f"{reason} {count}" for reason, count in cost.dropped.most_common(4))
                + ")",
                f"{len(cost.failed)}",
            ]
        ],
    )


def options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--sets", type=lambda text: tuple(text.split(",")), default=SETS, help="some sets only"
    )
    command.add_argument(
        "--producers",
        type=lambda text: tuple(text.split(",")),
        default=("rules", "host"),
        help="rules, host",
    )
    command.add_argument(
        "--structures", type=Path, action="append", help="a folder of structures written by hand"
    )
