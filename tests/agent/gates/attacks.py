"""Random sequences of attacks on what an operator protects, each step through a random interface by
an agent, another agent or a job. After each sequence nothing that is protected has changed.

    python -m tests.agent.gates.attacks --sequences 10000 --seed 1

A step is an action of the cases of the suite that is refused to its principal, or one with its
values exchanged for those of other cases; in a fifth of the steps the agent does something that it
may. What is protected is read by what it says and not by its digest: agents may write elsewhere.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import doxa
from tests.agent.gates.driver import (
    FOLDER,
    INTERFACES,
    Given,
    Refused,
    World,
    load,
    state_of,
    steps_of,
)

STEPS_MAX = 6
_RENEWED = 50  # sequences until the world is built again
# What the attacked memory holds: the richest worlds of every file of cases.
_WORLDS = (
    ("gate", "claims"),
    ("spine", "spine"),
    ("growth", "others"),
    ("growth", "exported"),
    ("continuity", "ready"),
    ("continuity", "files"),
    ("context", "machine"),
    ("gate", "running"),
)
_COMMANDS = 0.03  # of all steps; a command takes a hundred times as long as a call
_PROTECTED = (
    "MATCH (i:Item)-[:CURRENT]->(r {trust: 'verified'}) RETURN i.kref, r.kref, r.summary ORDER BY"
    " r.kref",
    "MATCH (r {trust: 'verified'})-[e:DEPENDS_ON|DERIVED_FROM]->(x) RETURN r.kref, type(e),"
    " properties(e), x.kref ORDER BY r.kref, x.kref",
    "MATCH (i)-[t:TAG]->(r) WHERE t.name IN ['approved', 'verified', 'published', 'crystallised']"
    " RETURN i.kref, r.kref, t.name ORDER BY r.kref, t.name",
    # What an operator made or moved, and every state that only an operator gives.
    "MATCH (r:Record) WHERE (r.made_by = 'olga' OR r.moved_by = 'olga' OR r.state IN ['accepted',"
    " 'active', 'crystallised', 'declared', 'denied', 'exported', 'issued', 'rejected', 'reversed',"
    " 'used', 'written']) AND NOT r.type IN ['governor_decision', 'responsibility_lease',"
    " 'standing_consent'] AND NOT (r.type = 'growth_candidate' AND"
    " r.state IN ['candidate', 'expired', 'withdrawn'] AND coalesce(r.moved_by, 'ana') <> 'olga')"
    " RETURN r.kref, properties(r) ORDER BY r.kref",
    # An agent uses up what was approved, gives a lease back, withdraws what is proposed for it,
    # and opts out of standing; it never does the contrary.
    "MATCH (r:Record {type: 'responsibility_lease'}) WHERE r.made_by = 'olga' OR (r.state ="
    " 'active' AND coalesce(r.moved_by, r.made_by) <> 'olga') RETURN r.kref, r.content_hash,"
    " r.data ORDER BY r.kref",
    "MATCH (r:Record {type: 'governor_decision'}) WHERE (r.state = 'approved' AND r.moved_by <>"
    " 'olga') RETURN r.kref",
    "MATCH (r:Record {type: 'governor_decision'}) WHERE r.moved_by IS NOT NULL RETURN r.kref,"
    " r.content_hash, r.data, r.text ORDER BY r.kref",
    "MATCH (r:Record {type: 'standing_consent', state: 'in'}) WHERE r.made_by <> 'olga' RETURN"
    " r.kref",
    # An agent begins a continuation of its own, and no other one before an operator closes it.
    "MATCH (r:Record {type: 'restart'}) WHERE r.agent <> r.made_by OR r.agent <> r.moved_by OR"
    " r.state = 'closed' RETURN r.kref, properties(r) ORDER BY r.kref",
    "MATCH (r:Record {type: 'restart'}) WHERE r.state <> 'done' WITH r.project AS p, r.agent"
    " AS agent, count(*) AS open WHERE open > 1 RETURN p, agent, open ORDER BY p, agent",
    "MATCH (r:Record {agent: 'ana', type: 'claim'}) WHERE r.made_by <> 'ana' RETURN r.kref",
    "MATCH (n:Entity {name: 'Ada'}) RETURN properties(n)",
    "MATCH (r:Revision) WHERE r.kref ENDS WITH 'hidden.fact?r=1' RETURN r.summary",
    "file:doxa.toml",
    "file:docs/notes.md",
)


def protected(memory: doxa.Memory) -> list[str]:
    """Return what only an operator changes."""
    found = [state_of(memory, one) for one in _PROTECTED]
    with memory.store.read() as snapshot:
        found.append(repr(snapshot.catalogue_all("")))
    return found


class Attacks:
    """A seeded source of attacks on one world."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._given = list(_whole())
        self.steps: Counter[str] = Counter()
        self.parts: Counter[str] = Counter()  # of what was refused
        cases = [case for path in sorted(FOLDER.glob("*.json")) for case in load(path)]
        self._hostile: defaultdict[str, list[Given]] = defaultdict(list)
        for case in cases:
            if case["principal"] != "operator" and case["expect"]["refused"]:
                self._hostile[case["interface"]].append(case)
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
                    before = protected(memory)
                    for _ in range(min(_RENEWED, sequences - done)):
                        trace = self._sequence(world, memory)
                        done += 1
                        if protected(memory) != before:
                            passed.append(json.dumps(trace))
                            break
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
                self.parts[step["part"]] += 1
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
            return {"principal": "agent", "interface": "python", "action": action, "part": ""}
        fast = [one for one in INTERFACES if one != "cli"]
        command = self._random.random() < _COMMANDS
        interface = "cli" if command else self._random.choice(fast)
        case = self._random.choice(self._hostile[interface])
        action = case["action"]
        if self._random.random() < 0.5:
            action = self._exchanged(action)
        principals = (
            ("background",) if case["principal"] == "background" else ("agent", "other-agent")
        )
        return {
            "principal": self._random.choice(principals),
            "interface": interface,
            "action": action,
            "part": case["part"],
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


def _whole() -> Iterator[Given]:
    """Yield the steps of the worlds, each once."""
    seen = set()
    for name, world in _WORLDS:
        worlds = json.loads((FOLDER / f"{name}.json").read_text())["worlds"]
        for step in steps_of(worlds[world], worlds):
            if repr(step) not in seen:
                seen.add(repr(step))
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
    told = {"sequences": given.sequences, **attacks.steps, "parts": attacks.parts}
    print(json.dumps(told | {"passed": len(passed)}))
    for trace in passed:
        print(trace)
    raise SystemExit(bool(passed))


if __name__ == "__main__":
    main()
