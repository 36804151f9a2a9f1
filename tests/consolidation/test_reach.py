"""Whatever sessions a thread has, and however often it is consolidated while they come, every turn
is reached from the top of the summaries of days, weeks and months, each month from one node, and
nothing leads in a circle."""

from __future__ import annotations

import tempfile
from datetime import date
from pathlib import Path
from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from doxa import Config, Memory
from doxa.base.clock import FakeClock, format_time
from doxa.base.ids import NodeId
from doxa.belief.graph import current_of
from doxa.consolidation.units import SUMMARIZES
from doxa.language.turns import Turn
from doxa.store import Node
from tests.consolidation.conversations import MINUTE, STARTED

DAY = 86_400 * 10**9
TEXTS = (
    "I moved the server to the cellar of Ben.",
    "I finished the report about taxes.",
    "Did anybody feed the cat?",
    "I'll call the bank by Friday.",
    "ok",
    "We decided to postpone the launch to May.",
)


class Said(NamedTuple):
    """One session: on which day it begins, over how many days it goes, its texts, and whether the
    thread is consolidated after it."""

    day: int
    gap: int
    texts: list[str]
    consolidated: bool


_MOVED = TEXTS[0]
_INTO_APRIL = Said(11, 9, [_MOVED, _MOVED], False)
_APRIL = Said(29, 0, [_MOVED], False)

SAID = st.builds(
    Said,
    st.integers(0, 70),
    st.sampled_from((0, 0, 1, 9)),
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4),
    st.booleans(),
)


@settings(max_examples=25, deadline=None)
@example([Said(0, 0, [_MOVED], False), Said(11, 9, [_MOVED], False), _INTO_APRIL, _APRIL])
@example([_INTO_APRIL, _APRIL._replace(consolidated=True), _APRIL, Said(11, 9, [_MOVED], False)])
@given(st.lists(SAID, min_size=1, max_size=7))
def test_every_turn_is_reached_from_the_top(sessions: list[Said]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Config(
            path=Path(folder) / "m.doxa", clock=FakeClock(), embedder=None, project="shop"
        )
        with Memory(config) as memory:
            for number, one in enumerate(sessions):
                turns = [
                    Turn(
                        "ops",
                        f"s{number}",
                        "Ana",
                        "person",
                        text,
                        STARTED + (one.day + place * one.gap) * DAY + place * MINUTE,
                        "",
                    )
                    for place, text in enumerate((TEXTS[number % 2], *one.texts))
                ]
                thread = memory.ingest(turns, extract=False).threads[0]
                if one.consolidated:
                    memory.consolidate(thread)
            memory.consolidate(thread)
            assert_reached(memory, {format_time(STARTED + one.day * DAY)[:7] for one in sessions})


def assert_reached(memory: Memory, started: set[str]) -> None:
    """`started` are months in which a session began with a statement."""
    with memory.store.read() as reader:
        every = [current_of(reader, item.id) for item in reader.labelled("Item")]
        held = {node.id: node for node in every if node is not None and node.props.get("level")}
        below = {
            node: [edge.dst for edge in reader.edges_out(node, SUMMARIZES) if edge.dst in held]
            for node in held
        }
        tops = held.keys() - {lower for found in below.values() for lower in found}
        order = ("session", "day", "week", "month")
        for node, found in below.items():
            for lower in found:  # each leads down a level: no circle
                levels = [str(held[one].props["level"]) for one in (node, lower)]
                assert order.index(levels[0]) > order.index(levels[1])
        reached = set(tops)
        waiting = list(tops)
        while waiting:
            for lower in below[waiting.pop()]:
                if lower not in reached:
                    reached.add(lower)
                    waiting.append(lower)
        assert reached == held.keys()
        sessions = [node for node in reached if held[node].props["level"] == "session"]
        turns = {node.id: _month(node) for node in reader.labelled("Exchange")}
        said = {edge.dst for one in sessions for edge in reader.edges_out(one, "DERIVED_FROM")}
        assert turns.keys() <= said

        def months_of(node: NodeId) -> set[str]:
            found = {turns[e.dst] for e in reader.edges_out(node, "DERIVED_FROM") if e.dst in turns}
            return found.union(*(months_of(lower) for lower in below[node]))

        for month in started:
            over = [top for top in tops if month in months_of(top) and _is_of(held[top], month)]
            assert len(over) <= 1, month


def _month(node: Node) -> str:
    return format_time(int(str(node.props["time"])))[:7]


def _is_of(node: Node, month: str) -> bool:
    """Whether a summary is of a month, rather than above a session that also went on in it."""
    level, period = str(node.props["level"]), str(node.props.get("period"))
    if level == "week":
        year, week = map(int, period.split("-w"))
        days = (date.fromisocalendar(year, week, day).isoformat() for day in range(1, 8))
        return any(day.startswith(month) for day in days)
    return level == "session" or period.startswith(month)
