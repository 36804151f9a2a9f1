"""Small memories that nobody fitted a rule to (bench/worlds/dream.txt), and how to build one.

The beliefs are added as separate ones, as writers do who do not look for what is there already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from doxa import Memory
from doxa.base.clock import FakeClock, parse_time
from doxa.base.errors import ConflictError
from doxa.language.turns import Turn

WORLDS = Path(__file__).parent / "worlds" / "dream.txt"
START, NOW = "2026-03-01T09:00:00Z", "2026-04-05T09:00:00Z"
_TURN = re.compile(r"(?:#(?P<id>\d+) )?@(?P<thread>\w+) (?P<who>[^:]+): (?P<text>.+)")
_BELIEF = re.compile(r"= (?P<name>\w+)(?: \[(?P<options>[^\]]+)\])?: (?P<text>.+)")
_MINUTE = 60 * 10**9


class World(NamedTuple):
    """A memory to build: turns, beliefs with their options, and what is retired."""

    title: str
    turns: list[Turn]
    beliefs: list[tuple[str, str, list[str]]]
    retired: list[str]


def read_worlds(path: Path = WORLDS) -> Iterator[World]:
    """Yield the memories of a file. Raises ValueError for a line that is none of the kinds."""
    world: World | None = None
    for line in path.read_text().splitlines():
        if not line or line.startswith("# ") or line == "#":
            continue
        if line.startswith("== "):
            if world is not None:
                yield world
            world = World(line[3:], [], [], [])
            continue
        assert world is not None
        _take(world, line)
    if world is not None:
        yield world


def _take(world: World, line: str) -> None:
    if line.startswith("- "):
        world.retired.append(line[2:])
    elif found := _TURN.fullmatch(line):
        number = len(world.turns)
        source = f"#{found['id']}" if found["id"] else f"t{number}"
        time = parse_time(START) + number * _MINUTE
        thread = found["thread"]
        world.turns.append(
            Turn(thread, thread, found["who"], "person", found["text"], time, source)
        )
    elif found := _BELIEF.fullmatch(line):
        options = [one.strip() for one in (found["options"] or "").split(";") if one.strip()]
        world.beliefs.append((found["name"], found["text"], options))
    else:
        raise ValueError(f"{world.title}: {line}")


def build(memory: Memory, clock: FakeClock, world: World) -> int:
    """Fill a memory with a world, and go to the day of the dream. Return how many beliefs were
    refused because they contradict another one by their facts."""
    clock.set(parse_time(START))
    if world.turns:
        memory.ingest(world.turns)
    rows = memory.run("MATCH (n:Exchange) RETURN n.source_id AS id, n.kref AS kref").records()
    krefs = {str(row["id"]): str(row["kref"]) for row in rows}
    refused = 0
    for name, text, options in world.beliefs:
        clock.advance(seconds=60)
        try:
            change = memory.expand(text, name=name, **_options(options, krefs))
        except ConflictError:
            refused += 1
            continue
        krefs[name] = change.kref
    for name in world.retired:
        clock.advance(seconds=60)
        memory.deprecate(krefs[name].partition("?")[0])
    clock.set(parse_time(NOW))
    return refused


def _options(options: list[str], krefs: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in options:
        name, _, value = one.partition("=")
        if "|" in one:
            found.setdefault("facts", []).append([part.strip() for part in one.split("|")])
        elif one == "candidate":
            found["trust"] = "candidate"
        elif name == "from":
            found["derived_from"] = [krefs[value]]
        elif name == "on":
            found["depends_on"] = [krefs[value]]
        elif name in ("until", "from_"):
            found["valid_until" if name == "until" else "valid_from"] = f"{value}T00:00:00Z"
        else:
            raise ValueError(f"unknown option {one}")
    return found
