"""Summaries by day, week and month of a thread: a directed acyclic graph above its sessions.

    (month) -SUMMARIZES-> (week) -SUMMARIZES-> (day) -SUMMARIZES-> (session) -DERIVED_FROM-> turns

Each holds the sentences that together say most of what those below it say, within its time, and the
turns of these sentences as its sources: nothing is concluded from a conclusion. Those below keep
their addresses, so that every turn is reached from above. A time in which there is one node below
needs none of its own, unless it has one already: what is above leads to that one. A week that
begins in one month and ends in the next is below both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b

from doxa.base.errors import DoxaError
from doxa.base.ids import NodeId
from doxa.base.words import terms
from doxa.belief import Draft, Kref, Ledger, check_draft, parse_kref
from doxa.belief.background.sources import Sources
from doxa.belief.graph import current_of
from doxa.consolidation.drafts import STRUCTURE, TRUST
from doxa.consolidation.structure import Structure, read_structure
from doxa.consolidation.units import SPACE, SUMMARIZES, base_of
from doxa.jobs import JobRun
from doxa.store import Node, Reader, Transaction

LOWER = "lower_digest"
LEVELS = ("day", "week", "month")
_SENTENCES_MAX = {"day": 8, "week": 10, "month": 12}
_TOPICS_MAX = 8


@dataclass(frozen=True, slots=True)
class ToldLine:
    """A sentence of a lower summary, with the turns that it is drawn from and their time."""

    text: str
    sources: tuple[NodeId, ...]
    time_ns: int


@dataclass(frozen=True, slots=True)
class Below:
    """A node below another: its current revision, its lines, topics, and the days it speaks of."""

    kref: str
    lines: tuple[ToldLine, ...]
    topics: tuple[str, ...]
    days: frozenset[str]


def sum_up(reader: Reader, thread: str, *, write: JobRun | None) -> int:
    """Bring the days, weeks and months of a thread up to date; without a run to write in, only
    count those that are not."""
    changed = 0
    below = list(_sessions(reader, thread))
    for level in LEVELS:
        above: list[Below] = []
        for period, held in _grouped(below, level):
            kref = _kref(thread, level, period)
            if len(held) == 1 and reader.node_by_kref(str(kref)) is None:
                above.append(held[0])
                continue
            lines = _chosen(reader, held, level, period)
            if not lines:
                above += held
                continue
            topics = Counter(topic for one in held for topic in one.topics)
            made = Below(
                str(kref),
                lines,
                tuple(topic for topic, _ in topics.most_common(_TOPICS_MAX)),
                frozenset(day for one in held for day in one.days if _period(day, level) == period),
            )
            if _is_current(reader, kref, held):
                above.append(_pinned(reader, kref, made))
                continue
            changed += 1
            if write is not None:
                assert isinstance(reader, Transaction)
                _write(reader, write, kref, made, held, level=level, period=period, thread=thread)
                above.append(_pinned(reader, kref, made))
            else:
                above.append(made)
        below = list(dict.fromkeys(above))
    return changed


def _sessions(reader: Reader, thread: str) -> Iterator[Below]:
    """Yield the summaries of the sessions of a thread."""
    prefix = f"kref://{parse_kref(thread).project}/{SPACE}/{base_of(thread)}-session-"
    rows = reader.rows(
        "SELECT n.id FROM node n WHERE n.kref >= ? AND n.kref < ? AND n.labels LIKE '%\"Item\"%'"
        " ORDER BY n.kref",
        (prefix, prefix[:-1] + "."),
    )
    for item in reader.nodes([row[0] for row in rows]):
        held = None if item.props.get("deprecated") else current_of(reader, item.id)
        if held is None or item.props.get("kind") != "summary":
            continue
        turns = {
            parse_kref(str(node.props["kref"])).name: node
            for node in reader.nodes([e.dst for e in reader.edges_out(held.id, "DERIVED_FROM")])
            if "Exchange" in node.labels
        }
        topics = held.props.get("topics")
        yield Below(
            str(held.props["kref"]),
            tuple(_lines(held, turns)),
            tuple(map(str, topics)) if isinstance(topics, list) else (),
            frozenset(_day(_time(node)) for node in turns.values()),
        )


def _lines(held: Node, turns: dict[str, Node]) -> Iterator[ToldLine]:
    structure = _structure(held)
    for line in structure.summary if structure is not None else ():
        sources = [turns[name] for name in line.sources if name in turns]
        if sources:
            yield ToldLine(line.text, tuple(node.id for node in sources), max(map(_time, sources)))


def _structure(node: Node) -> Structure | None:
    stored = node.props.get(STRUCTURE)
    if not isinstance(stored, str) or not stored:
        return None
    try:
        return read_structure(stored)[0]
    except DoxaError:
        return None


def _time(node: Node) -> int:
    time = node.props.get("time")
    return time if isinstance(time, int) else 0


def _day(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // 10**9, UTC).date().isoformat()


def _period(day: str, level: str) -> str:
    """Return the period of a level that a day is in: 2026-03-02, 2026-w10 or 2026-03."""
    if level == "day":
        return day
    if level == "month":
        return day[:7]
    year, week, _ = datetime.fromisoformat(day).isocalendar()
    return f"{year}-w{week:02}"


def _grouped(below: Sequence[Below], level: str) -> Iterator[tuple[str, list[Below]]]:
    """Yield the periods of a level in order, each with the nodes that speak of it."""
    held: dict[str, list[Below]] = {}
    for one in below:
        for period in sorted({_period(day, level) for day in one.days}):
            held.setdefault(period, []).append(one)
    yield from sorted(held.items())


def _chosen(reader: Reader, held: Sequence[Below], level: str, period: str) -> tuple[ToldLine, ...]:
    """Choose sentences of the period whose turns are all sources now, as the summary of a session
    is chosen: those that add most to what is held already."""
    sources = Sources(reader)
    lines = list(
        dict.fromkeys(
            line
            for one in held
            for line in one.lines
            if _period(_day(line.time_ns), level) == period
            and len(list(sources.eligible(line.sources))) == len(line.sources)
        )
    )
    words = {line: frozenset(terms(line.text)) for line in lines}
    weight = Counter(term for found in words.values() for term in found)
    taken: Counter[str] = Counter()
    chosen: list[ToldLine] = []

    def gain(line: ToldLine) -> float:
        added = (
            math.log1p(weight[term]) * (math.sqrt(taken[term] + 1) - math.sqrt(taken[term]))
            for term in words[line]
        )
        return sum(added) / math.sqrt(len(words[line]) + 4)

    while lines and len(chosen) < _SENTENCES_MAX[level]:
        best = max(lines, key=gain)  # of equals the earliest
        lines.remove(best)
        chosen.append(best)
        taken.update(words[best])
    return tuple(sorted(chosen, key=lambda line: line.time_ns))


def _kref(thread: str, level: str, period: str) -> Kref:
    name = f"{base_of(thread)}-{level}-{period}"
    return Kref(parse_kref(thread).project, (SPACE,), name, "summary")


def _digest(held: Sequence[Below]) -> str:
    return blake2b("|".join(one.kref for one in held).encode(), digest_size=8).hexdigest()


def _is_current(reader: Reader, kref: Kref, held: Sequence[Below]) -> bool:
    item = reader.node_by_kref(str(kref))
    if item is None:
        return False
    if item.props.get("deprecated"):
        return True  # a person retired it
    current = current_of(reader, item.id)
    return current is not None and current.props.get(LOWER) == _digest(held)


def _pinned(reader: Reader, kref: Kref, made: Below) -> Below:
    item = reader.node_by_kref(str(kref))
    current = current_of(reader, item.id) if item is not None else None
    pinned = str(current.props["kref"]) if current is not None else made.kref
    return replace(made, kref=pinned)


def _write(
    tx: Transaction,
    run: JobRun,
    kref: Kref,
    made: Below,
    held: Sequence[Below],
    *,
    level: str,
    period: str,
    thread: str,
) -> None:
    sources = dict.fromkeys(source for line in made.lines for source in line.sources)
    turns = {node.id: str(node.props["kref"]) for node in tx.nodes(list(sources))}
    draft = Draft(
        " ".join(line.text for line in made.lines),
        project=kref.project,
        space=SPACE,
        name=kref.name,
        kind="summary",
        title=period,
        topics=made.topics,
        trust=TRUST,
        time=max(line.time_ns for line in made.lines),
        metadata={
            "thread": thread,
            "level": level,
            "period": period,
            LOWER: _digest(held),
            "producer": "rules",
            "model": "rules",
        },
    )
    links = [("DERIVED_FROM", turns[source]) for source in sources]
    change = Ledger(run.store, run.identity).upsert(
        tx, kref, check_draft(draft), links=links, again=True
    )
    node = tx.node_by_kref(change.kref)
    assert node is not None
    for one in held:
        lower = tx.node_by_kref(one.kref)
        if lower is not None:
            tx.create_edge(
                SUMMARIZES, node.id, dst=lower.id, props={"why": f"it is of {level} {period}"}
            )
