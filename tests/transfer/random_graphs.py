"""Random whole graphs, made through the public interface alone: verbs and Cypher, by operators and
agents, with everything that a file can hold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from doxa.app import Memory, Session
from doxa.base.clock import FakeClock
from doxa.base.errors import DoxaError
from doxa.base.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time

LABELS = ("Note", "Person", "Über mich", "A", "FactKey")
TYPES = ("KNOWS", "about", "CURRENT", "Gehört zu", "NEXT", "SUPERSEDES")
NAMES = ("db", "port", "home", "café", "x y")
WORDS = ("Ana", "runs", "PostgreSQL", "on", "Monday", "ünï", "🙂", "42", "not", "likes", "tea")
CANARY = "canary-7f3a91"


class RandomGraph:
    """Applies `steps` random operations to a memory. What a refusal says does not matter here."""

    def __init__(self, memory: Memory, clock: FakeClock, seed: int) -> None:
        self.memory, self.clock = memory, clock
        self.rng = random.Random(seed)
        self.agent: Session = memory.session(actor="bot", role="agent")
        self.bound = [
            memory.session(actor="eve", role="operator", projects=["default"]),
            memory.session(actor="bot2", role="agent", projects=["other", "default"]),
        ]
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.erased: list[str] = []  # texts that must be nowhere any more
        self._serial = 0

    def run(self, steps: int) -> None:
        operations: list[Callable[[], Any]] = [
            self.remember,
            self.remember,
            self.revise,
            self.revise,
            self.ingest,
            self.tag,
            self.untag,
            self.link,
            self.unlink,
            self.bundle,
            self.unbundle,
            self.attach,
            self.deprecate,
            self.restore,
            self.rollback,
            self.contradict,
            self.resolve,
            self.constrain,
            self.undo,
            self.erase,
            self.create,
            self.create,
            self.create,
            self.connect,
            self.connect,
            self.create_in_project,
            self.connect_in_project,
            self.note_on_items,
            self.set_properties,
            self.set_edge,
            self.relabel,
            self.delete,
            self.delete_edge,
            self.merge,
            self.schema,
            self.drop_schema,
            self.policy,
            self.drop_policy,
            self.suppress,
            self.recall,
            self.pass_time,
        ]
        for _ in range(steps):
            operation = self.rng.choice(operations)
            try:
                operation()
                self.done[operation.__name__] += 1
            except DoxaError:
                self.refused[operation.__name__] += 1
        self.memory.flush()

    # Values

    def text(self) -> str:
        return " ".join(self.rng.choices(WORDS, k=self.rng.randint(1, 6)))

    def value(self, *, depth: int = 0) -> Any:
        rng = self.rng
        kind = rng.randrange(14 if depth else 16)
        if kind > 13:
            first = self.value(depth=1)
            return [first, *([self.text()] if isinstance(first, str) else [])]
        return (
            lambda: rng.choice((0, 1, -1, 2**63 - 1, -(2**63), rng.randrange(10**6))),
            lambda: rng.choice((0.0, -0.0, 1.0, 1e300, 5e-324, float("inf"), rng.random())),
            lambda: rng.choice((True, False)),
            self.text,
            lambda: 'quote " slash \\ line\nend \x00 \x7f'.replace("\x00", ""),
            lambda: float("nan"),
            lambda: bytes(rng.randrange(256) for _ in range(rng.randrange(9))),
            lambda: Date(rng.randrange(-9_999, 99_999)),
            lambda: LocalTime(rng.randrange(86_400 * 10**9)),
            lambda: Time(rng.randrange(86_400 * 10**9), 3_600),
            lambda: LocalDateTime(rng.randrange(10**9), rng.randrange(10**9)),
            lambda: DateTime(rng.randrange(10**9), 5, 0, rng.choice((None, "Europe/Berlin"))),
            lambda: Duration(1, -2, rng.randrange(10**6), 4),
            lambda: "",
        )[kind]()

    def properties(self) -> dict[str, Any]:
        names = self.rng.sample(("a", "b", "c", "id", "name", "from", "to", "$date", "ü b"), k=3)
        return {name: self.value() for name in names[: self.rng.randint(0, 3)]}

    def who(self) -> Session:
        return self.rng.choice((self.memory, self.memory, self.agent))

    def item(self) -> str:
        found = [
            row["k"]
            for row in self.memory.run(
                "MATCH (i:Item) WHERE i.kref IS NOT NULL RETURN i.kref AS k ORDER BY k"
            ).records()
        ]
        return self.rng.choice(found) if found else "kref://default/none.fact"

    # Beliefs

    def remember(self) -> None:
        self._serial += 1
        rng = self.rng
        self.who().remember(
            self.text(),
            name=rng.choice((*NAMES, f"n{self._serial}", "")),
            space=rng.choice(("", "a", "a/b")),
            project=rng.choice(("default", "other")),
            kind=rng.choice(("fact", "decision")),
            facts=[
                (rng.choice(("shop", "Ana")), rng.choice(("port", "city")), rng.choice((1, "x")))
            ]
            if rng.random() < 0.4
            else [],
            metadata=self.properties() if rng.random() < 0.3 else {},
            trust=rng.choice(("stated", "candidate", "verified", "untrusted")),
            depends_on=[self.item()] if rng.random() < 0.2 else [],
            derived_from=[self.item()] if rng.random() < 0.2 else [],
            valid_from="2026-01-01" if rng.random() < 0.2 else None,
        )

    def revise(self) -> None:
        self.who().revise(self.item(), self.text())

    def ingest(self) -> None:
        self._serial += 1
        self.who().ingest(
            [
                {"speaker": self.rng.choice(("Ana", "Bo")), "text": self.text(), "role": "user"}
                for _ in range(self.rng.randint(1, 3))
            ],
            thread=self.rng.choice(("one", "two / three")),
            session=f"s{self._serial % 3}",
        )

    def tag(self) -> None:
        self.who().tag(self.item(), self.rng.choice(("approved", "draft", "v1")))

    def untag(self) -> None:
        self.who().untag(self.item(), self.rng.choice(("approved", "draft", "v1")))

    def link(self) -> None:
        kind = self.rng.choice(("DEPENDS_ON", "REFERENCED", "DERIVED_FROM"))
        self.who().link(self.item(), self.item(), kind=kind, metadata=self.properties())

    def unlink(self) -> None:
        self.who().unlink(self.item(), self.item(), kind="DEPENDS_ON")

    def bundle(self) -> None:
        name = f"kref://default/{self.rng.choice(('all', 'some'))}.bundle"
        self.who().bundle(name, add=[self.item()])

    def unbundle(self) -> None:
        self.who().bundle("kref://default/all.bundle", remove=[self.item()])

    def attach(self) -> None:
        self._serial += 1
        self.who().attach(
            self.item(), f"f{self._serial}.pdf", location="files/x.pdf", sha256="ab" * 32
        )

    def deprecate(self) -> None:
        self.who().deprecate(self.item())

    def restore(self) -> None:
        self.who().restore(self.item())

    def rollback(self) -> None:
        self.who().rollback(f"{self.item()}?r=1")

    def contradict(self) -> None:
        facts = [("Ana", "lives in", self.rng.choice(("Rome", "Oslo", "Bern")))]
        name = self.rng.choice(("home", "home2"))
        self.memory.constrain({"functional": ["lives in"]})
        self.memory.remember("where Ana lives", name=name, facts=facts, trust="verified")
        self.agent.remember(
            "Ana lives elsewhere", name="home3", facts=[("Ana", "lives in", self.text())]
        )

    def resolve(self) -> None:
        for conflict in self.memory.conflicts():
            self.memory.resolve(conflict.kref, self.rng.choice(("accept", "reject", "both")))

    def constrain(self) -> None:
        self.memory.constrain({"functional": [self.rng.choice(("port", "city"))]})

    def undo(self) -> None:
        log = self.memory.log(limit=5)
        self.memory.undo(self.rng.choice(log).tx)

    def erase(self) -> None:
        self._serial += 1
        secret, name = f"{CANARY}-{self._serial}-", f"secret{self._serial}"
        kref = f"kref://default/{name}.fact"
        self.memory.remember(f"{secret} {self.text()}", name=name)
        self.memory.revise(kref, f"{secret} again")
        with suppress(DoxaError):  # a constraint may forbid it
            self.memory.run(f"MATCH (i:Item {{kref: '{kref}'}}) CREATE (:Note)-[:ABOUT]->(i)")
        if self.rng.random() < 0.5:
            self.memory.forget(kref, erase=True)
        else:
            self.memory.forget(f"{kref}?r=2", erase=True)
            self.memory.forget(f"{kref}?r=1", erase=True)
        self.erased.append(secret)
        if self.rng.random() < 0.3:
            self.memory.forget(self.item(), erase=True)

    # The graph

    def create(self) -> None:
        labels = "".join(
            f":`{label}`" for label in self.rng.sample(LABELS, k=self.rng.randint(0, 2))
        )
        self.who().run(f"CREATE (n{labels}) SET n = $props", {"props": self.properties()})

    def connect(self) -> None:
        kind = self.rng.choice(TYPES)
        self.who().run(
            "MATCH (a), (b) WITH a, b ORDER BY id(a) * $x % 97, id(b) * $y % 89, id(a), id(b)"
            f" LIMIT 1 CREATE (a)-[r:`{kind}`]->(b) SET r = $props",
            {
                "props": self.properties(),
                "x": self.rng.randrange(1, 90),
                "y": self.rng.randrange(1, 80),
            },
        )

    def create_in_project(self) -> None:
        """A node without an address lies in the first project of the session that made it."""
        self.rng.choice(self.bound).run("CREATE (n:Note:A) SET n = $p", {"p": self.properties()})

    def connect_in_project(self) -> None:
        self.rng.choice(self.bound).run(
            "MATCH (a:Note), (b) WITH a, b ORDER BY id(a) * $x % 97, id(b) * $x % 89, id(a), id(b)"
            " LIMIT 1 CREATE (a)-[r:KNOWS]->(b) SET r = $props",
            {"props": self.properties(), "x": self.rng.randrange(1, 90)},
        )

    def note_on_items(self) -> None:
        self.who().run(
            "MATCH (i:Item) WITH i LIMIT 3 CREATE (:Note {text: $text})-[:ABOUT {w: 1.5}]->(i)",
            {"text": self.text()},
        )

    def _one(self) -> str:
        return f"WITH n ORDER BY id(n) * {self.rng.randrange(1, 90)} % 97, id(n) LIMIT 1"

    def set_properties(self) -> None:
        self.who().run(f"MATCH (n) {self._one()} SET n += $props", {"props": self.properties()})

    def set_edge(self) -> None:
        self.who().run(
            f"MATCH ()-[n]->() {self._one()} SET n = $props", {"props": self.properties()}
        )

    def relabel(self) -> None:
        change = self.rng.choice(("SET n:Person", "REMOVE n:Person", "SET n:`Über mich`:A"))
        self.who().run(f"MATCH (n) {self._one()} {change}")

    def delete(self) -> None:
        self.who().run(f"MATCH (n) {self._one()} DETACH DELETE n")

    def delete_edge(self) -> None:
        self.who().run(f"MATCH ()-[n]->() {self._one()} DELETE n")

    def merge(self) -> None:
        self.who().run(
            "MERGE (n:Person {name: $name}) ON MATCH SET n.seen = coalesce(n.seen, 0) + 1",
            {"name": self.rng.choice(WORDS)},
        )

    # Rules

    def schema(self) -> None:
        self._serial += 1
        label = self.rng.choice(LABELS)
        name = f"rule{self._serial % 9}"
        self.memory.run(
            self.rng.choice(
                (
                    f"CREATE INDEX {name} FOR (n:`{label}`) ON (n.a, n.b)",
                    f"CREATE TEXT INDEX {name} FOR (n:`{label}`) ON (n.name)",
                    f"CREATE INDEX {name} FOR ()-[r:KNOWS]-() ON (r.a)",
                    f"CREATE FULLTEXT INDEX {name} FOR (n:`{label}`|A) ON EACH [n.name, n.a]",
                    f"CREATE CONSTRAINT {name} FOR (n:`{label}`) REQUIRE n.id IS UNIQUE",
                    f"CREATE CONSTRAINT {name} FOR (n:`{label}`) REQUIRE (n.a, n.b) IS NODE KEY",
                    f"CREATE CONSTRAINT {name} FOR (n:`{label}`) REQUIRE n.c IS NOT NULL",
                    f"CREATE CONSTRAINT {name} FOR ()-[r:KNOWS]->() REQUIRE MAX COUNT 3",
                    f"CREATE CONSTRAINT {name} FOR (n:FactKey) REQUIRE (n.a, n.from, n.to) IS"
                    " TEMPORAL NO OVERLAP",
                )
            )
        )

    def drop_schema(self) -> None:
        name = f"rule{self.rng.randrange(9)}"
        self.memory.run(f"DROP {self.rng.choice(('INDEX', 'CONSTRAINT'))} {name}")

    def policy(self) -> None:
        self._serial += 1
        rng, name = self.rng, f"b{self._serial % 4}"
        label = rng.choice(("Note", "Person", "Exchange", "Revision"))
        profile, promotion = f"p{self._serial % 3}", f"m{self._serial % 3}"
        smoothed = rng.choice(("", "\n WITH KALMAN SET n.level = n.a"))
        self.memory.run(
            f"CREATE DECAY PROFILE {profile} IF NOT EXISTS OPTIONS {{halfLifeSeconds:"
            f" {rng.randrange(1, 10**6)}, function: 'exponential', visibilityThreshold: 0.1}}"
        )
        self.memory.run(
            f"CREATE PROMOTION PROFILE {promotion} IF NOT EXISTS OPTIONS {{multiplier: 1.5}}"
        )
        self.memory.run(
            f"CREATE OR REPLACE DECAY PROFILE {name} FOR (n:{label}) APPLY {{ DECAY PROFILE"
            f" '{profile}'\n n.a DECAY HALF LIFE 60 }}"
        )
        self.memory.run(
            f"CREATE OR REPLACE PROMOTION POLICY q{name} FOR (n:{label}) APPLY {{ ON ACCESS {{ SET"
            f" n.hits = coalesce(n.hits, 0) + 1{smoothed} }}"
            f"\n WHEN n.hits > 1 APPLY PROFILE '{promotion}' }}"
        )

    def drop_policy(self) -> None:
        name = f"{self.rng.randrange(4)}"
        self.memory.run(
            self.rng.choice((f"DROP DECAY PROFILE b{name}", f"DROP PROMOTION POLICY qb{name}"))
        )

    def suppress(self) -> None:
        verb = self.rng.choice(("suppress", "restore"))
        what = self.rng.choice(("MATCH (n)", "MATCH ()-[n]->()"))
        self.memory.run(
            f"{what} {self._one()} CALL doxa.policy.{verb}(n) YIELD changed RETURN changed"
        )

    def recall(self) -> None:
        self.who().recall(self.text(), lanes=("words",))
        self.memory.run(f"MATCH (n) {self._one()} RETURN n")

    def pass_time(self) -> None:
        self.clock.advance(seconds=self.rng.choice((0.001, 10, 86_400, 10**6)))
