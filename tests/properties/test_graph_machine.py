"""Random Cypher writes against a graph of plain dictionaries: after each step the store says what
the model says, through indexes and without, after it was opened again, and as of every time at
which something was committed.
"""

from __future__ import annotations

import copy
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from doxa.base.clock import FakeClock
from doxa.base.errors import DoxaError
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store, check, digest, replayed_digest, verify_log
from tests.properties.graph_model import (
    SCHEMA,
    START,
    VALUES,
    WRITES,
    Refused,
    World,
    Write,
    reads,
    tokens,
)

NODES = "MATCH (n) RETURN n"
EDGES = "MATCH (a)-[r]->(b) RETURN r, a.k, b.k"


def whole(
    session: GraphSession, prefix: str = "", params: dict[str, Any] | None = None
) -> tuple[list[Any], list[Any]]:
    """The graph as the model tells its own."""
    nodes = sorted(
        (node["k"], sorted(node.labels), tokens(node.properties))
        for (node,) in session.run(prefix + NODES, params)
    )
    rows = session.run(prefix + EDGES, params)
    return nodes, sorted(
        (edge["k"], edge.type, a, b, tokens(edge.properties)) for edge, a, b in rows
    )


def assert_reads(
    session: GraphSession, world: World, value: Any, prefix: str = "", **params: Any
) -> None:
    for text, wanted in reads(world, value):
        found = [
            row[0] if len(row) == 1 else row
            for row in session.run(prefix + text, {"v": value, **params})
        ]
        assert sorted(found, key=repr) == sorted(wanted, key=repr), (prefix + text, value)


class GraphMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.world = World()
        self.past: list[tuple[int, World]] = []
        self.next = 0
        self.elsewhere = ThreadPoolExecutor(1)  # another thread: a thread sees its own transaction
        self._open()
        for text in SCHEMA:
            self.session.run(text)
        for write in START:
            self.write(write)

    def _open(self) -> None:
        self.store = Store(Path(self.folder.name) / "graph.db", clock=self.clock)
        self.session = GraphSession(self.store, QueryEngine(), Identity("ana", "operator"))
        self.plain = GraphSession(
            self.store, QueryEngine(optimise=False), Identity("ana", "operator")
        )

    def numbers(self) -> int:
        """The first of four numbers that nothing has."""
        self.next += 4
        return self.next - 4

    def run(self, write: Write, world: World) -> bool:
        """Run a statement and do the same to the world. Whether both took it; a world that refused
        is broken."""
        k = self.numbers()
        try:
            write.apply(world, k)
            refused = False
        except Refused:
            refused = True
        try:
            list(self.session.run(write.text, {**write.params, "k": k}))
        except DoxaError as error:
            assert refused, (write.text, write.params, error)
            return False
        assert not refused, (write.text, write.params)
        return True

    def committed(self, world: World) -> None:
        self.world = world
        with self.store.read() as snapshot:
            last = snapshot.last_receipt()
        assert last is not None
        if not self.past or last.time > self.past[-1][0]:
            self.past.append((last.time, copy.deepcopy(world)))

    @rule(write=WRITES)
    def statement(self, write: Write) -> None:
        self.write(write)

    def write(self, write: Write) -> None:
        world = copy.deepcopy(self.world)
        if self.run(write, world):
            self.committed(world)

    @rule(writes=st.lists(WRITES, min_size=1, max_size=4), keep=st.booleans(), value=VALUES)
    def transaction(self, writes: list[Write], keep: bool, value: Any) -> None:
        """Several statements, seen by their own transaction alone, then kept or not; one that fails
        ends all of them."""
        world = copy.deepcopy(self.world)
        self.session.begin()
        for write in writes:
            if not self.run(write, world):
                assert not self.session.in_transaction
                return
            assert whole(self.session) == world.whole()
            assert_reads(self.session, world, value)
        assert self.elsewhere.submit(whole, self.plain).result() == self.world.whole()
        if keep:
            self.session.commit()
            self.committed(world)
        else:
            self.session.rollback()

    @rule(seconds=st.sampled_from([0, 1, 3_600, -60]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @rule()
    def reopen(self) -> None:
        self.session.close()
        self.plain.close()
        self.store.close()
        self._open()

    @precondition(lambda self: self.past)
    @rule(which=st.integers(0, 40), shift=st.sampled_from([0, 0, 1, -1, -(10**9)]), value=VALUES)
    def as_of(self, which: int, shift: int, value: Any) -> None:
        """At, between and before the times of commits, the graph is what it was."""
        time = self.past[which % len(self.past)][0] + shift
        world = next((world for at, world in reversed(self.past) if at <= time), World())
        for session in (self.session, self.plain):
            assert whole(session, "AS OF SYSTEM TIME $t ", {"t": time}) == world.whole()
            assert_reads(session, world, value, "AS OF SYSTEM TIME $t ", t=time)

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        if hasattr(self, "store"):
            assert whole(self.session) == self.world.whole()

    @rule(value=VALUES)
    def read(self, value: Any) -> None:
        for session in (self.session, self.plain):
            assert_reads(session, self.world, value)

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        try:
            assert check(self.store) == []
            verify_log(self.store)
            assert digest(self.store) == replayed_digest(self.store)
            for time, world in self.past:
                assert whole(self.session, "AS OF SYSTEM TIME $t ", {"t": time}) == world.whole()
        finally:
            self.elsewhere.shutdown()
            self.store.close()
            self.folder.cleanup()


TestGraph = GraphMachine.TestCase
TestGraph.settings = settings(
    max_examples=30, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
