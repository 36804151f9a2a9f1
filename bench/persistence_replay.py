"""Replay: after creating, superseding, suppressing and restoring, the log alone must give the state
again, byte by byte, and with it what is seen.

Between the operations policies change and accesses are written. At each checkpoint the state is
compared with its replay, every stored window with a recomputed one, a copy of the file with the
file, and what is visible with which score with a small model that knows the operations and the
formula 2^(-age/half-life) only.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import doxa
from bench.persistence_parts import SECOND_NS, START_NS, Part, Rows, Scale, Tally, ask, fresh
from doxa.base.clock import FakeClock
from doxa.store import digest, replayed_digest

_CHECKPOINTS = 10
_SPAN_S = (
    60 * 86_400
)  # the operations of a run are spread over so many seconds, so that some memories fade meanwhile
_WEEK_S = 604_800
_THRESHOLD, _LIFTED, _ENOUGH = (
    0.10,
    1.25,
    3,
)  # a memory that was used three times has its score lifted
_READ = 15  # memories that are returned at each checkpoint
_SHARES = (("create", 0.5), ("supersede", 0.3), ("suppress", 0.1), ("restore", 0.1))
_SCHEMA = (
    (
        "CREATE CONSTRAINT fact_windows FOR (v:FactVersion) REQUIRE (v.key, v.validFrom,"
        " v.validUntil) IS TEMPORAL NO OVERLAP"
    ),
    "CREATE INDEX fact_key FOR (k:FactKey) ON (k.id)",
    "CREATE FULLTEXT INDEX memory_text FOR (n:MemoryEpisode) ON EACH [n.text]",
    f"""CREATE DECAY PROFILE episode OPTIONS {{
      halfLifeSeconds: {_WEEK_S}, function: 'exponential', scoreFrom: 'LAST_ACCESSED', \
visibilityThreshold: {_THRESHOLD}
    }}""",
    "CREATE DECAY PROFILE episodes FOR (n:MemoryEpisode) APPLY { DECAY PROFILE 'episode' }",
    "CREATE DECAY PROFILE facts FOR (n:FactVersion) APPLY { NO DECAY }",
    "CREATE DECAY PROFILE links FOR ()-[r:SUPERSEDES]-() APPLY { NO DECAY }",
    f"""CREATE PROMOTION POLICY reinforcement FOR (n:MemoryEpisode) APPLY {{
      ON ACCESS {{
        SET n.accessCount = coalesce(n.accessCount, 0) + 1
        SET n.lastAccessedAt = timestamp()
        WITH KALMAN {{q: 0.05, r: 50.0}} SET n.confidenceScore = $evaluatedConfidence
      }}
      WHEN n.accessCount >= {_ENOUGH} APPLY PROFILE 'reinforced'
    }}""",
)
_SUPERSEDE = """
MATCH (k:FactKey {id: $key})-[c:CURRENT]->(old:FactVersion)
CREATE (new:FactVersion {key: $key, value: $value, validFrom: $at})
SET old.validUntil = $at
DELETE c
CREATE (k)-[:CURRENT]->(new)
CREATE (new)-[:SUPERSEDES]->(old)
RETURN id(old), id(new)
"""
_SEEN = "MATCH (n:MemoryEpisode|FactVersion) RETURN id(n), decayScore(n) ORDER BY id(n)"


@dataclass
class _Memory:
    """What the model knows of a memory."""

    anchor: int
    uses: int = 0


@dataclass
class _Model:
    """The state by the operations alone."""

    half_life: int = _WEEK_S * SECOND_NS
    memories: dict[int, _Memory] = field(default_factory=dict)
    facts: set[int] = field(default_factory=set)
    current: dict[str, int] = field(default_factory=dict)
    suppressed: set[int] = field(default_factory=set)

    def seen(self, now: int) -> list[tuple[int, float]]:
        """The nodes that are visible, with their scores."""
        found = [(one, 1.0) for one in self.facts]
        for one, memory in self.memories.items():
            score = min(
                1.0,
                2.0 ** (-(now - memory.anchor) / self.half_life)
                * (_LIFTED if memory.uses >= _ENOUGH else 1.0),
            )
            if score >= _THRESHOLD:
                found.append((one, score))
        return sorted((one, score) for one, score in found if one not in self.suppressed)


class _Run:
    """Operations on one memory and on the model."""

    def __init__(self, memory: doxa.Memory, clock: FakeClock, *, seed: int, tally: Tally) -> None:
        self.memory, self.clock, self.tally = memory, clock, tally
        self.rng = np.random.default_rng(seed)
        self.model = _Model()
        self.done: dict[str, int] = {name: 0 for name, _ in _SHARES}
        for command in _SCHEMA:
            memory.run(command)

    def operate(self, count: int, *, step_s: float) -> None:
        """Operations one by one, each its own transaction. What has nothing to work on yet creates
        instead."""
        names = self.rng.choice(
            [name for name, _ in _SHARES], size=count, p=[share for _, share in _SHARES]
        )
        for name in names:
            self.clock.advance(seconds=step_s)
            getattr(self, f"_{name}")()

    def _create(self) -> None:
        number, self.done["create"] = self.done["create"], self.done["create"] + 1
        now, given = (
            self.clock.now_ns(),
            {"key": f"k{number}", "value": f"first {number}", "at": self.clock.now_ns()},
        )
        if number % 2:
            made = ask(self.memory, "CREATE (n:MemoryEpisode {text: $value}) RETURN id(n)", given)
            self.model.memories[made[0][0]] = _Memory(now)
        else:
            text = (
                "CREATE (k:FactKey {id: $key}) CREATE (v:FactVersion {key: $key, value: $value,"
                " validFrom: $at}) CREATE (k)-[:CURRENT]->(v)"
            )
            made = ask(self.memory, f"{text} RETURN id(v)", given)
            self.model.facts.add(made[0][0])
            self.model.current[f"k{number}"] = made[0][0]

    def _supersede(self) -> None:
        keys = [
            key for key, node in self.model.current.items() if node not in self.model.suppressed
        ]
        if not keys:
            return self._create()
        key = keys[int(self.rng.integers(len(keys)))]
        self.done["supersede"] += 1
        rows = ask(
            self.memory,
            _SUPERSEDE,
            {"key": key, "value": f"next {self.done['supersede']}", "at": self.clock.now_ns()},
        )
        if self.tally.see(
            "operations", [row[0] for row in rows], [self.model.current[key]], of=f"supersede {key}"
        ):
            self.model.current[key] = rows[0][1]
            self.model.facts.add(rows[0][1])
        return None

    def _suppress(self) -> None:
        nodes = [*self.model.facts, *self.model.memories]
        free = [one for one in nodes if one not in self.model.suppressed]
        self._by_hand("suppress", free)

    def _restore(self) -> None:
        self._by_hand("restore", sorted(self.model.suppressed))

    def _by_hand(self, name: str, nodes: list[int]) -> None:
        if not nodes:
            return self._create()
        node = nodes[int(self.rng.integers(len(nodes)))]
        self.done[name] += 1
        text = (
            f"MATCH (n) WHERE id(n) = $id CALL doxa.policy.{name}(reveal(n)) YIELD changed RETURN"
            " changed"
        )
        self.tally.see(
            "operations", ask(self.memory, text, {"id": node}), [(True,)], of=f"{name} {node}"
        )
        (self.model.suppressed.add if name == "suppress" else self.model.suppressed.discard)(node)
        return None

    def read(self, number: int) -> None:
        """Some memories are returned, in a session of its own each time; the model takes the access
        from the rows."""
        session = self.memory.session(
            role="operator", context={"session": f"s{number}", "agent": f"a{number % 2}"}
        )
        text = (
            "MATCH (n:MemoryEpisode) WITH n ORDER BY n.text SKIP $skip LIMIT $most RETURN id(n),"
            " n.text, $evaluatedConfidence"
        )
        given = {
            "skip": int(self.rng.integers(_READ)),
            "most": _READ,
            "evaluatedConfidence": 0.5 + 0.01 * number,
        }
        for row in ask(session, text, given):
            memory = self.model.memories[row[0]]
            memory.anchor, memory.uses = self.clock.now_ns(), memory.uses + 1
        self.memory.flush()

    def change_policies(self, number: int) -> None:
        """At some checkpoints the half-life changes, at others a binding goes and comes back, which
        the model does not notice."""
        if number % 3 == 1:
            weeks = 1 + number % 2
            self.memory.run(
                f"ALTER DECAY PROFILE episode SET OPTIONS {{halfLifeSeconds: {weeks * _WEEK_S}}}"
            )
            self.model.half_life = weeks * _WEEK_S * SECOND_NS
        elif number % 3 == 2:
            self.memory.run("DROP DECAY PROFILE links")
            self.memory.run(_SCHEMA[-2])
        self.memory.flush()

    # Comparing

    def compare(self, copy: Path) -> None:
        """Everything that the head of this module lists."""
        self.tally.see(
            "byte-identical", replayed_digest(self.memory.store), digest(self.memory.store)
        )
        self.tally.see("invariants", self.memory.check(), [])
        now = self.clock.now_ns()
        seen = ask(self.memory, _SEEN)
        self.tally.see("the same in a copy", _of_copy(self.memory.backup(copy), self.clock), seen)
        wanted = self.model.seen(now)
        self.tally.see("visible", [row[0] for row in seen], [one for one, _ in wanted])
        scores = dict(wanted)
        far = [one for one, score in seen if abs(score - scores.get(one, 2.0)) > 1e-12]
        self.tally.see("scores", far, [])
        hidden = len(self.model.facts) + len(self.model.memories) - len(wanted)
        counts = ask(self.memory, "MATCH (n:MemoryEpisode|FactVersion) RETURN count(n)") + ask(
            self.memory, "MATCH (n:MemoryEpisode|FactVersion) RETURN count(reveal(n))"
        )
        self.tally.see("visible", counts, [(len(wanted),), (len(wanted) + hidden,)])


def _of_copy(path: Path, clock: FakeClock) -> Rows:
    with doxa.open(path, role="operator", embedder=None, background=False, clock=clock) as memory:
        return ask(memory, _SEEN)


def replay(scale: Scale, seed: int) -> Part:
    """Part 3: M operations, ten checkpoints."""
    part, rows = Part(), []
    abouts = (
        "operations",
        "byte-identical",
        "invariants",
        "the same in a copy",
        "visible",
        "scores",
        "proof",
    )
    for operations in scale.operations:
        clock, tally = FakeClock(START_NS), Tally()
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, fresh(clock=clock) as memory:
            run = _Run(memory, clock, seed=seed, tally=tally)
            for number in range(_CHECKPOINTS):
                run.operate(operations // _CHECKPOINTS, step_s=_SPAN_S / operations)
                clock.advance(seconds=1)
                run.read(number)
                run.change_policies(number)
                clock.advance(seconds=1)
                run.compare(Path(folder) / f"copy-{number}.db")
            clock.advance(days=30)
            run.compare(Path(folder) / "copy-later.db")
            hidden = (
                len(run.model.facts) + len(run.model.memories) - len(run.model.seen(clock.now_ns()))
            )
            proof: Any = memory.verify()
            tally.see("proof", proof.erased, 0)
        part.take(tally)
        part.figures[f"{operations}.s"] = time.perf_counter() - began
        done = ", ".join(f"{count:,} {name}" for name, count in run.done.items())
        cells = [tally.cell(about) for about in abouts[1:]]
        rows.append(
            [
                f"{operations:,}",
                done,
                f"{proof.entries:,}",
                *cells,
                f"{hidden:,}",
                f"{part.figures[f'{operations}.s']:.1f}",
            ]
        )
    part.tables.append(
        (
            "Replay of the log, ten checkpoints and one a month later: right answers",
            [
                "operations",
                "of these",
                "log entries",
                "state = replay, bytes",
                "windows recomputed",
                "copy sees the same",
                "visible as in the model",
                "scores to 1e-12",
                "log verified",
                "hidden at the end",
                "s",
            ],
            rows,
        )
    )
    part.summary = (
        f"{len(scale.operations)} runs, {part.figures['right']:,.0f} of"
        f" {part.figures['answers']:,.0f} answers right"
    )
    return part
