"""Random sequences of attacks on what an operator protects, each step through a random interface by
an agent, another agent or a job. After each sequence nothing that is protected has changed.

    python -m tests.agent.gates.attacks --sequences 10000 --seed 1

There is one world with what the cases of every file are given (`WORLDS`): beliefs and claims, lines
of identity and their approvals, handoffs, folders, verifiers, receipts, leases, decisions, states,
standing and proposals. A step is an action of any file's cases that is refused to its principal, or
one with its values exchanged for those of other cases; in a fifth of the steps the agent does
something that it may. What is protected is read by what it says and not by its digest, for agents
may write elsewhere; of records it is what the table of their type gives to operators, and to the
agent whose they are (`breaches`).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import doxa
from doxa.agent.laws import RECORD_TYPES
from tests.agent.gates.driver import FOLDER, PRINCIPALS, Given, Refused, World, state_of

STEPS_MAX = 6
WORLDS = {  # file -> the worlds that the cases of it are given
    "gate": ("claims", "restart"),
    "growth": ("exported",),
    "continuity": ("taken", "files"),
    "context": ("machine",),
    "spine": ("spine",),
}
_RENEWED = 50  # sequences until the world is built again
_COMMANDS = 0.05  # of the command lines that take part: each opens the file again
_REFERENCE = re.compile(r"\$\{(?!folder\b)([a-z_0-9]+)")
_OPERATOR = PRINCIPALS["operator"]
_MOVED = frozenset(("state", "said", "moved_ns", "moved_by", "notes"))
_PROTECTED = (
    "MATCH (i:Item)-[:CURRENT]->(r {trust: 'verified'}) RETURN i.kref, r.kref, r.summary ORDER BY"
    " r.kref",
    "MATCH (r {trust: 'verified'})-[e:DEPENDS_ON|DERIVED_FROM]->(x) RETURN r.kref, type(e),"
    " properties(e), x.kref ORDER BY r.kref, x.kref",
    "MATCH (i)-[t:TAG]->(r) WHERE t.name IN ['approved', 'verified', 'published', 'crystallised']"
    " RETURN i.kref, r.kref, t.name ORDER BY r.kref, t.name",
    "MATCH (n:Entity {name: 'Ada'}) RETURN properties(n)",
    "MATCH (r:Revision) WHERE r.kref ENDS WITH 'hidden.fact?r=1' RETURN r.summary",
    "file:doxa.toml",
    "file:docs/notes.md",
    "file:kept/SOUL.md",
    "file:api.toml",
    "file:bundle/manifest.json",
)


@dataclass(frozen=True)
class Seen:
    """What is protected, and the properties of every record by its address."""

    protected: tuple[str, ...]
    records: dict[str, dict[str, Any]]


def seen(memory: doxa.Memory) -> Seen:
    """Read what is protected."""
    found = [state_of(memory, one) for one in _PROTECTED]
    for agent in ("ana", "bob"):
        lines = memory.identity_show(agent=agent).lines
        found.append(repr([(line.item, line.text, line.approved_by) for line in lines]))
    with memory.store.read() as snapshot:
        found.append(repr(snapshot.catalogue_all("")))
    rows = memory.run("MATCH (r:Record) RETURN r.kref AS kref, properties(r) AS props").records()
    return Seen(tuple(found), {str(row["kref"]): dict(row["props"]) for row in rows})


def breaches(before: Seen, after: Seen) -> list[str]:
    """Return what changed although only an operator may change it."""
    found = [f"{one} became {two}" for one, two in zip(before.protected, after.protected,
             strict=True) if one != two]  # fmt: skip
    found += [f"{kref} is gone" for kref in before.records.keys() - after.records.keys()]
    for kref, now in after.records.items():
        was = before.records.get(kref)
        if was is None:
            found += [f"{kref} {problem}" for problem in _made(now)]
        elif was != now:
            found += [f"{kref} {problem}" for problem in _changed(was, now)]
    return found


def _made(now: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a record that an agent made."""
    if now["made_by"] != now["agent"]:
        yield f"was made by {now['made_by']}"
    if now["type"] not in RECORD_TYPES:
        yield f"is of the unknown type {now['type']}"
        return
    states = RECORD_TYPES[now["type"]].states
    begun = {state for state, role in states.items() if role == "agent"}
    if not begun:
        yield f"was made, and only an operator makes a {now['type']}"
    elif now["state"] not in set().union(*(_reached(now["type"], one) for one in begun)):
        yield f"is {now['state']}"


def _changed(was: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with how a record changed."""
    kind = RECORD_TYPES[now["type"]]
    if {k: v for k, v in was.items() if k not in _MOVED} != {
        k: v for k, v in now.items() if k not in _MOVED
    }:
        yield "says something else"
    if now["state"] not in _reached(now["type"], was["state"]):
        yield f"went from {was['state']} to {now['state']}"
    if now["state"] != was["state"] and now["moved_by"] != now["agent"]:
        yield f"was moved by {now['moved_by']}"
    if now.get("notes") != was.get("notes"):
        if kind.noted_by != "agent":
            yield "has other notes"
        taken = json.loads(was.get("notes") or "{}").get("taken_by")
        if taken and json.loads(now["notes"]).get("taken_by") != taken:
            yield "was handed over twice"
    applied = was["state"] == "candidate" and now["state"] == "applied"
    if applied and json.loads(now["data"])["application"] != "autonomous":
        yield "was applied by the agent"


def _reached(kind: str, state: str) -> set[str]:
    """The states to which agents may move a record, from this one."""
    found, left = {state}, [state]
    while left:
        for after, role in RECORD_TYPES[kind].moves.get(left.pop(), {}).items():
            if role == "agent" and after not in found:
                found.add(after)
                left.append(after)
    return found


def _prefixed(value: Any, file: str) -> Any:
    """Return a value in which names of results begin with that of the file, so that those of
    several files differ."""
    if isinstance(value, dict):
        return {
            k: f"{file}_{one}" if k == "as" else _prefixed(one, file) for k, one in value.items()
        }
    if isinstance(value, list):
        return [_prefixed(one, file) for one in value]
    return _REFERENCE.sub(rf"${{{file}_\1", value) if isinstance(value, str) else value


class Attacks:
    """A seeded source of attacks on one world."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._given: list[Given] = []
        self.steps: Counter[str] = Counter()
        self.files: Counter[str] = Counter()
        cases: list[Given] = []
        for path in sorted(FOLDER.glob("*.json")):
            held = json.loads(path.read_text())
            for world in WORLDS[path.stem]:
                steps = _whole(held["worlds"][world], held["worlds"])
                self._given += [_prefixed(one, path.stem) for one in steps]
            cases += [_prefixed(case, path.stem) | {"file": path.stem} for case in held["cases"]]
        self._hostile: dict[str, list[Given]] = {}  # by file, each of which is as likely
        for case in cases:
            if case["principal"] == "operator" or not case["expect"]["refused"]:
                continue
            if case["interface"] != "cli" or self._random.random() < _COMMANDS:
                self._hostile.setdefault(case["file"], []).append(case)
        self._values = sorted(
            {
                value
                for case in cases
                for value in _texts(case["action"])
                if len(value) < 200 and not value.startswith(("MATCH", "CALL", "CREATE"))
            }
        )

    def run(self, sequences: int) -> list[str]:
        """Carry out sequences; return those after which something that is protected differs."""
        passed: list[str] = []
        done = 0
        while done < sequences:
            folder = Path(tempfile.mkdtemp(prefix="gates-"))
            try:
                world = World(folder)
                with world.open() as memory:
                    world.build(memory, self._given)
                    before = seen(memory)
                    for _ in range(min(_RENEWED, sequences - done)):
                        trace = self._sequence(world, memory)
                        done += 1
                        after = seen(memory)
                        wrong = breaches(before, after)
                        if wrong:
                            passed.append(json.dumps([wrong, trace]))
                            break
                        before = after
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        return passed

    def _sequence(self, world: World, memory: doxa.Memory) -> list[Given]:
        trace = []
        for _ in range(self._random.randint(1, STEPS_MAX)):
            step = self._step()
            trace.append(step)
            try:
                world.act(memory, step["principal"], step["interface"], step["action"])
                self.steps["carried out"] += 1
            except Refused:
                self.steps["refused"] += 1
            except (KeyError, AttributeError, AssertionError, IndexError, StopIteration, TypeError):
                self.steps["unfit"] += (
                    1  # values of another action, which the driver cannot fill in
                )
        return trace

    def _step(self) -> Given:
        if self._random.random() < 0.2:
            text = f"The lamp {self._random.randrange(40)} is {self._random.choice(('on', 'off'))}"
            verb = self._random.choice(("remember", "tell"))
            action: Given = {"verb": verb, "arguments": {"text": text}}
            return {"principal": "agent", "interface": "python", "action": action}
        case = self._random.choice(self._hostile[self._random.choice(sorted(self._hostile))])
        self.files[case["file"]] += 1
        action = case["action"]
        if self._random.random() < 0.5:
            action = self._exchanged(action)
        principals = (
            ("background",) if case["principal"] == "background" else ("agent", "other-agent")
        )
        return {
            "principal": self._random.choice(principals),
            "interface": case["interface"],
            "action": action,
        }

    def _exchanged(self, value: Any) -> Any:
        """Return an action of which some values are those of others."""
        if isinstance(value, dict):
            kept = ("verb", "operation", "statement")
            return {k: one if k in kept else self._exchanged(one) for k, one in value.items()}
        if isinstance(value, list):
            return [self._exchanged(one) for one in value]
        if isinstance(value, str) and self._random.random() < 0.4:
            return self._random.choice(self._values)
        return value


def _whole(steps: list[Given], worlds: dict[str, list[Given]]) -> Iterator[Given]:
    for step in steps:
        if "world" in step:
            yield from _whole(worlds[step["world"]], worlds)
        else:
            yield step


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value


def main() -> None:
    """Print how many sequences there were, and those that passed a gate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    attacks = Attacks(given.seed)
    passed = attacks.run(given.sequences)
    print(
        json.dumps(
            {
                "sequences": given.sequences,
                **attacks.steps,
                "of files": attacks.files,
                "passed": len(passed),
            }
        )
    )
    for trace in passed:
        print(trace)
    raise SystemExit(bool(passed))


if __name__ == "__main__":
    main()
