"""The sets of the ablation of consolidation, as conversations with questions, and structures that
people wrote by hand.

A group is one memory: a conversation, or the conversations of LoCoMo-Plus with all cues in them.
Requests of RealMem are asked as of their moment, and their own session does not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import doxa
from bench.corpora import (
    ADVERSARIAL,
    Question,
    gold_of,
    load_beam,
    load_cues,
    load_locomo,
    numbered,
    prefixed,
    with_cues,
)
from bench.realmem import read_dialogues
from doxa.language.turns import Turn

STRUCTURES = Path(__file__).parent / "structures"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question: its gold are turns, or sessions; `until_ns` is its moment, `own` the session it
    is asked in."""

    question: Question
    until_ns: int | None = None
    own: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """One memory and what is asked of it. `of_sessions`: the evidence is sessions."""

    set: str
    name: str
    turns: tuple[Turn, ...]
    asked: tuple[Wanted, ...]
    of_sessions: bool = False


def groups(data: Path, names: Sequence[str]) -> Iterator[Group]:
    """Yield the groups of the named sets that are below a folder."""
    talks = load_locomo(data / "locomo") if (data / "locomo").exists() else []
    if "locomo" in names:
        for talk in talks:
            asked = (one for one in talk.questions if one.category != ADVERSARIAL)
            yield Group("locomo", talk.name, talk.turns, tuple(map(Wanted, asked)))
    if "locomo-plus" in names and talks and (data / "locomo-plus").exists():
        yield _plus(data / "locomo-plus", talks)
    if "beam" in names and (data / "beam").exists():
        for chat in load_beam(data / "beam"):
            asked = (one for one in chat.questions if one.gold)
            yield Group("beam", chat.name, chat.turns, tuple(map(Wanted, asked)))
    if "realmem" in names:
        for file in sorted((data / "realmem").glob("*_dialogues_*.json")):
            yield _realmem(file)


def _plus(path: Path, talks: Any) -> Group:
    """All conversations and all cues in one memory, as in P2."""
    bases = numbered(talks)
    cues = [cue for cue in load_cues(path) if cue.base in bases]
    turns: list[Turn] = []
    asked: list[Wanted] = []
    for number, base in bases.items():
        own = [cue for cue in cues if cue.base == number]
        turns += prefixed(with_cues(base, own))
        for cue in own:
            gold = gold_of(cue, f"{base.name}/")
            asked.append(Wanted(Question(cue.question, gold, cue.relation)))
    return Group("locomo-plus", "all", tuple(turns), tuple(asked))


def _realmem(file: Path) -> Group:
    turns, asked = read_dialogues(json.loads(file.read_text())["dialogues"])
    wanted = tuple(Wanted(question, time, own) for question, time, own in asked)
    return Group("realmem", file.stem, tuple(turns), wanted, of_sessions=True)


def recorded(folders: Iterable[Path], name: str) -> dict[str, dict[str, Any]]:
    """Return the structures that people wrote of the sessions of a conversation, by session; the
    sources of their entries are the ids of the data set."""
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.json")):
            held = json.loads(path.read_text())
            if name == held["conversation"] or name.startswith(f"{held['conversation']}_"):
                found |= held["sessions"]
    return found


def of_sessions(group: Group, sessions: Iterable[str]) -> Group:
    """Return the group with the questions alone whose evidence is in these sessions."""
    kept = frozenset(sessions)
    session_of = {turn.source_id: turn.session for turn in group.turns}

    def is_inside(one: Wanted) -> bool:
        gold = one.question.gold
        return bool(gold) and {g if group.of_sessions else session_of[g] for g in gold} <= kept

    return replace(group, asked=tuple(filter(is_inside, group.asked)))


def renamed(structure: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a structure whose sources are names of exchanges."""
    text: dict[str, Any] = json.loads(json.dumps(structure))

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("sources"), list):
                value["sources"] = [names.get(one, one) for one in value["sources"]]
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(text)
    return text


def exchanges(memory: doxa.Memory) -> Iterator[tuple[str, str]]:
    """Yield the address and the id in the data set of each turn."""
    found = memory.run("MATCH (n:Exchange) RETURN n.kref AS kref, n.source_id AS id").records()
    return ((str(row["kref"]), str(row["id"])) for row in found)
