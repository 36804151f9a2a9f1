"""Random belief operations against a model of plain dictionaries: after each step the graph says
what the model says, now and then."""

from __future__ import annotations

import copy
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError, ConstraintError, InputError, NotFoundError
from doxa.base.ids import NodeId
from doxa.belief import (
    CURRENT,
    TAG,
    Change,
    Draft,
    Fact,
    Ledger,
    declare,
    parse_fact,
    parse_kref,
    require,
    revisions_of,
)
from doxa.belief.graph import RESERVED_EDGES, UNSUPPORTED
from doxa.belief.reading.bundles import read_bundle
from doxa.store import Identity, Node, Reader, Store, check, digest, replayed_digest, verify_log

NAMES = st.sampled_from(["tea", "milk", "cup"])
TAGS = st.sampled_from(["approved", "draft"])
FACTS = st.lists(
    st.sampled_from([Fact("s", "is", v) for v in (1, "a", 2.5)]), max_size=3, unique=True
).map(tuple)
SUMMARIES = st.sampled_from(["one", "two", "three"])
NUMBERS = st.integers(1, 4)

Said = tuple[str, tuple[Fact, ...]]
Base = dict[str, tuple[int, bool, tuple[tuple[str, int], ...], Said | None]]
KINDS = st.sampled_from(["DEPENDS_ON", "ABOUT"])
RESERVED = st.sampled_from(sorted(RESERVED_EDGES))
BUNDLE = "kref://p/s/all.bundle"


@dataclass
class Item:
    """What the model knows of one item. `current` 0 means none; revision n is revisions[n - 1];
    `last` comes back with a retired item."""

    revisions: list[Said] = field(default_factory=list)
    current: int = 0
    deprecated: bool = False
    last: int = 0
    tags: dict[str, int] = field(default_factory=dict)

    def believe(self, number: int) -> None:
        self.current, self.deprecated, self.last = number, False, 0

    def retire(self) -> None:
        if not self.deprecated:
            self.current, self.deprecated, self.last = 0, True, self.current

    def said(self) -> Said | None:
        return self.revisions[self.current - 1] if self.current else None


@dataclass
class World:
    """All that the model knows: items, free edges, artifacts of revisions, and the bundle (None
    until it is made)."""

    items: dict[str, Item] = field(default_factory=dict)
    edges: list[tuple[str, str, str]] = field(default_factory=list)
    artifacts: dict[str, str] = field(default_factory=dict)
    bundle: set[str] | None = None
    retired: bool = False


def base_of(items: dict[str, Item]) -> Base:
    return {
        name: (item.current, item.deprecated, tuple(sorted(item.tags.items())), item.said())
        for name, item in items.items()
    }


def base_in(reader: Reader, time: int | None = None) -> Base:
    """The same, read from the graph, now or as of a system time."""
    found: Base = {}
    for item in list(reader.labelled("Item")):
        node = item if time is None else reader.node_as_of(item.id, time)
        if node is None or "Bundle" in node.labels:
            continue
        edges = reader.edges_out(item.id) if time is None else reader.edges_as_of(item.id, time)
        current, said, tags = 0, None, []
        for edge in edges:
            if edge.type not in (CURRENT, TAG):
                continue
            revision = reader.node(edge.dst)
            assert revision is not None
            number = revision.props["number"]
            assert isinstance(number, int)
            if edge.type == TAG:
                if edge.props["name"] != UNSUPPORTED:  # looked at by itself
                    tags.append((str(edge.props["name"]), number))
            else:
                facts = revision.props.get("facts") or []
                assert isinstance(facts, list)
                current, said = (
                    number,
                    (str(revision.props["summary"]), tuple(parse_fact(fact) for fact in facts)),
                )
        found[str(node.props["name"])] = (
            current,
            bool(node.props.get("deprecated")),
            tuple(sorted(tags)),
            said,
        )
    return found


def assert_is(reader: Reader, world: World, time: int | None = None) -> None:
    """The graph, now or as of a time, is what the model says."""
    assert base_in(reader, time) == base_of(world.items)
    edges, artifacts = [], {}
    for node in list(reader.labelled("Revision")):
        for edge in (
            reader.edges_out(node.id) if time is None else reader.edges_as_of(node.id, time)
        ):
            if edge.type not in RESERVED_EDGES:
                edges.append((str(node.props["kref"]), edge.type, address(reader, edge.dst)))
            elif edge.type == "HAS_ARTIFACT":
                versions = reader.node_history(edge.dst)
                artifacts[str(versions[-1].props["kref"])] = versions[-1].props["location"]
    assert sorted(edges) == world.edges
    assert artifacts == world.artifacts
    bundle = next(
        (node for node in reader.labelled("Bundle") if time is None or node.born <= time), None
    )
    if bundle is None:
        assert world.bundle is None
        return
    read = read_bundle(reader, bundle, at=time)
    assert ({parse_kref(member.kref).name for member in read.members}, read.deprecated) == (
        world.bundle,
        world.retired,
    )


def address(reader: Reader, node: NodeId) -> str:
    found = reader.node(node)
    assert found is not None
    return str(found.props["kref"])


def unsupported_of(world: World) -> set[str]:
    """By brute force, the items whose current revision depends on what is not believed: outside of
    the greatest set that supports itself."""
    held = {name for name, item in world.items.items() if item.current}
    while True:
        edges = [(source, target) for source, kind, target in world.edges if kind == "DEPENDS_ON"]
        fallen = {
            name
            for name in held
            for source, target in edges
            if not _is_met(world, held, name, source, target)
        }
        if not fallen:
            return {name for name, item in world.items.items() if item.current} - held
        held -= fallen


def _is_met(world: World, held: set[str], name: str, source: str, target: str) -> bool:
    if source != f"kref://p/s/{name}.fact?r={world.items[name].current}":
        return True
    ground, number = parse_kref(target).name, parse_kref(target).revision
    item = world.items.get(ground)
    if item is None or ground not in held or number is None:
        return False
    said, now = item.revisions[number - 1], item.said()
    return item.current == number or (
        now is not None and bool(said[1]) and set(said[1]) <= set(now[1])
    )


def unsupported_in(reader: Reader) -> set[str]:
    sql = (
        "SELECT n.props ->> '$.name' FROM edge e JOIN node n ON n.id = e.src WHERE e.type = 'TAG'"
        " AND e.props ->> '$.name' = 'unsupported'"
    )
    return {row[0] for row in reader.rows(sql)}


class LedgerMachine(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.store = Store(Path(self.folder.name) / "m.db", clock=self.clock)
        declare(self.store)
        self.ledger = Ledger(self.store, Identity("ana", "operator"))
        self.world = World()
        self.before: dict[int, World] = {}
        self.past: list[tuple[int, World]] = []
        self.last: int | None = None

    @property
    def items(self) -> dict[str, Item]:
        return self.world.items

    def kref(self, name: str, number: int = 0) -> str:
        return f"kref://p/s/{name}.fact" + (f"?r={number}" if number else "")

    def has(self, name: str, number: int) -> bool:
        item = self.items.get(name)
        return item is not None and number <= len(item.revisions)

    def done(self, change: Change, before: World) -> None:
        """Keep what the model knows under the time of the change, and what was before for undo."""
        assert (change.change is not None) == (before != self.world), (change, before, self.world)
        if change.change is not None:
            self.past.append((change.time, copy.deepcopy(self.world)))
            self.before[change.change] = before
            self.last = change.change

    @rule(name=NAMES, summary=SUMMARIES, facts=FACTS, expect=st.none() | st.integers(0, 4))
    def put(self, name: str, summary: str, facts: tuple[Fact, ...], expect: int | None) -> None:
        draft = Draft(summary, project="p", space="s", name=name, facts=facts)
        held = self.items.get(name, Item())
        if expect is not None and expect != held.current:
            try:
                self.ledger.put(draft, expect=expect)
            except ConflictError as error:
                assert (error.fields["expected"], error.fields["found"]) == (expect, held.current)
                return
            raise AssertionError("a stale expectation passed")
        before = copy.deepcopy(self.world)
        item = self.items.setdefault(name, Item())
        if item.said() != (summary, facts) or item.deprecated:
            item.revisions.append((summary, facts))
            item.believe(len(item.revisions))
        self.done(self.ledger.put(draft, expect=expect), before)

    @precondition(lambda self: self.items)
    @rule(name=NAMES, value=st.booleans())
    def retire_or_restore(self, name: str, value: bool) -> None:
        if name in self.items:
            self.deprecate_or_restore(name, value)

    def deprecate_or_restore(self, name: str, value: bool) -> None:
        before = copy.deepcopy(self.world)
        item = self.items[name]
        if value:
            item.retire()
        elif item.deprecated:
            item.believe(item.last)
        self.done(
            (self.ledger.deprecate if value else self.ledger.restore)(self.kref(name)), before
        )

    @precondition(lambda self: self.items)
    @rule(name=NAMES, number=NUMBERS, tag=TAGS)
    def tag(self, name: str, number: int, tag: str) -> None:
        if not self.has(name, number):
            return
        before = copy.deepcopy(self.world)
        self.items[name].tags[tag] = number
        self.done(self.ledger.tag(self.kref(name, number), tag), before)

    @precondition(lambda self: self.items)
    @rule(name=NAMES, tag=TAGS)
    def untag(self, name: str, tag: str) -> None:
        if name not in self.items:
            return
        before = copy.deepcopy(self.world)
        self.items[name].tags.pop(tag, None)
        self.done(self.ledger.untag(self.kref(name), tag), before)

    @precondition(lambda self: self.items)
    @rule(name=NAMES, number=NUMBERS)
    def rollback(self, name: str, number: int) -> None:
        if not self.has(name, number):
            return
        before = copy.deepcopy(self.world)
        self.items[name].believe(number)
        self.done(self.ledger.rollback(self.kref(name, number)), before)

    @precondition(lambda self: self.items)
    @rule(name=NAMES, number=NUMBERS)
    def contract_revision(self, name: str, number: int) -> None:
        if not self.has(name, number):
            return
        before = copy.deepcopy(self.world)
        item = self.items[name]
        item.current = 0 if item.current == number else item.current
        item.last = 0 if item.last == number else item.last
        item.tags = {tag: at for tag, at in item.tags.items() if at != number}
        self.done(self.ledger.contract(self.kref(name, number)), before)

    @precondition(lambda self: any(item.said() and item.said()[1] for item in self.items.values()))
    @rule(name=NAMES, which=st.integers(0, 2))
    def contract_fact(self, name: str, which: int) -> None:
        said = self.items[name].said() if name in self.items else None
        if not said or not said[1] or (len(said[1]) == 1 and self.items[name].deprecated):
            return
        before = copy.deepcopy(self.world)
        fact = said[1][which % len(said[1])]
        for other, item in self.items.items():
            held = item.said()
            if held is None or fact not in held[1]:
                continue
            kept, before_number = tuple(f for f in held[1] if f != fact), item.current
            if not kept:
                item.retire()
                continue
            item.revisions.append(
                ("; ".join(f"{f.subject} {f.predicate} {f.value}" for f in kept), kept)
            )
            item.believe(len(item.revisions))
            grounds = [
                edge for edge in self.world.edges if edge[0] == self.kref(other, before_number)
            ]
            self.world.edges = sorted(
                [
                    *self.world.edges,
                    *((self.kref(other, item.current), *edge[1:]) for edge in grounds),
                ]
            )
        change = self.ledger.contract(self.kref(name), fact=fact)
        assert change.lost == (fact,)
        self.done(change, before)

    @precondition(lambda self: self.last is not None)
    @rule()
    def undo_the_last(self) -> None:
        """Everything goes back, but revisions stay in history and an item that the change made is
        deprecated, not gone."""
        assert self.last is not None
        undone, wanted = self.last, copy.deepcopy(self.before[self.last])
        before = copy.deepcopy(self.world)
        for name, item in self.items.items():
            if name not in wanted.items:
                wanted.items[name] = Item(deprecated=True)
            wanted.items[name].revisions = item.revisions
        if wanted.bundle is None and self.world.bundle is not None:
            wanted.bundle, wanted.retired = set(), True
        self.world = wanted
        change = self.ledger.undo(undone)
        if change.change is not None:
            self.past.append((change.time, copy.deepcopy(self.world)))
            self.before[change.change] = before
            self.last = change.change

    @rule(name=NAMES, other=NAMES, numbers=st.tuples(NUMBERS, NUMBERS), kind=KINDS)
    def link(self, name: str, other: str, numbers: tuple[int, int], kind: str) -> None:
        if not (self.has(name, numbers[0]) and self.has(other, numbers[1])):
            return
        before = copy.deepcopy(self.world)
        source, target = self.kref(name, numbers[0]), self.kref(other, numbers[1])
        self.world.edges = sorted([*self.world.edges, (source, kind, target)])
        self.done(self.ledger.link(source, target, kind=kind), before)

    @precondition(lambda self: sum(bool(item.current) for item in self.items.values()) > 1)
    @rule(which=st.integers(0, 8), other=st.integers(0, 8))
    def rest_on(self, which: int, other: int) -> None:
        """A link between what is believed of two items, so that support is lost and comes back
        often."""
        names = sorted(name for name, item in self.items.items() if item.current)
        ends = names[which % len(names)], names[other % len(names)]
        before = copy.deepcopy(self.world)
        source, target = (self.kref(name, self.items[name].current) for name in ends)
        self.world.edges = sorted([*self.world.edges, (source, "DEPENDS_ON", target)])
        self.done(self.ledger.link(source, target, kind="DEPENDS_ON"), before)

    @precondition(lambda self: self.world.edges)
    @rule(which=st.integers(0, 20), value=st.booleans())
    def retire_or_restore_a_ground(self, which: int, value: bool) -> None:
        self.deprecate_or_restore(
            parse_kref(self.world.edges[which % len(self.world.edges)][2]).name, value
        )

    @precondition(lambda self: self.world.edges)
    @rule(which=st.integers(0, 20))
    def unlink(self, which: int) -> None:
        before = copy.deepcopy(self.world)
        source, kind, target = gone = self.world.edges[which % len(self.world.edges)]
        self.world.edges = [edge for edge in self.world.edges if edge != gone]
        self.done(self.ledger.unlink(source, target, kind=kind), before)
        assert self.ledger.unlink(source, target, kind=kind).action == "unchanged"

    @rule(name=NAMES, other=NAMES, numbers=st.tuples(NUMBERS, NUMBERS), kind=RESERVED)
    def what_makes_a_belief_is_not_linked(
        self, name: str, other: str, numbers: tuple[int, int], kind: str
    ) -> None:
        if not (self.has(name, numbers[0]) and self.has(other, numbers[1])):
            return
        for call in (self.ledger.link, self.ledger.unlink):
            try:
                call(self.kref(name, numbers[0]), self.kref(other, numbers[1]), kind=kind)
            except InputError as error:
                assert error.fields["field"] == "edge_type"
            else:
                raise AssertionError(f"an edge of type {kind} was written")

    @precondition(lambda self: self.items)
    @rule(name=NAMES, other=NAMES, summary=SUMMARIES)
    def supersede(self, name: str, other: str, summary: str) -> None:
        if name not in self.items:
            return
        before = copy.deepcopy(self.world)
        new = self.items.setdefault(other, Item())
        if other != name or new.said() != (summary, ()) or new.deprecated:
            new.revisions.append((summary, ()))
            new.believe(len(new.revisions))
        if other != name:
            self.items[name].retire()
        self.done(
            self.ledger.supersede(
                self.kref(name), Draft(summary, project="p", space="s", name=other)
            ),
            before,
        )

    @precondition(lambda self: self.items)
    @rule(name=NAMES, number=NUMBERS, artifact=st.sampled_from(["a.txt", "b.txt"]))
    def attach(self, name: str, number: int, artifact: str) -> None:
        if not self.has(name, number):
            return
        before, address = copy.deepcopy(self.world), f"{self.kref(name, number)}&a={artifact}"
        if address in self.world.artifacts:
            try:
                self.ledger.attach(self.kref(name, number), artifact, location="/elsewhere")
            except ConstraintError as error:
                assert error.fields["kref"] == address
                return
            raise AssertionError("an artifact was replaced")
        self.world.artifacts[address] = f"/{number}/{artifact}"
        self.done(
            self.ledger.attach(
                self.kref(name, number), artifact, location=self.world.artifacts[address]
            ),
            before,
        )

    @precondition(lambda self: self.items)
    @rule(add=st.sets(NAMES), remove=st.sets(NAMES))
    def bundle(self, add: set[str], remove: set[str]) -> None:
        add, remove = add & self.items.keys(), remove & self.items.keys()
        before = copy.deepcopy(self.world)
        self.world.bundle = ((self.world.bundle or set()) | add) - remove
        change = self.ledger.bundle(
            BUNDLE,
            add=[self.kref(name) for name in sorted(add)],
            remove=[self.kref(name) for name in sorted(remove)],
        )
        if change.change is None or before != self.world:
            self.done(change, before)
        # something came and went within the change: nothing is different, and it has a receipt all
        # the same
        else:
            self.past.append((change.time, copy.deepcopy(self.world)))
            self.before[change.change] = before
            self.last = change.change

    @rule(seconds=st.integers(-5, 5))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @rule(name=NAMES)
    def what_is_not_there_is_refused(self, name: str) -> None:
        try:
            self.ledger.rollback(self.kref(name, 99))
        except NotFoundError as error:
            assert error.fields["kref"]
        else:
            raise AssertionError("revision 99 was found")

    @invariant()
    def the_graph_says_what_the_model_says(self) -> None:
        if hasattr(self, "store"):
            with self.store.read() as snapshot:
                assert_is(snapshot, self.world)
                assert unsupported_in(snapshot) == unsupported_of(self.world)

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        try:
            assert check(self.store) == []
            verify_log(self.store)
            assert digest(self.store) == replayed_digest(self.store)
            with self.store.read() as snapshot:
                for time, world in self.past:
                    assert_is(snapshot, world, time)
                for name, item in self.items.items():
                    kept = [node.props["summary"] for node in revisions(snapshot, self.kref(name))]
                    assert kept == [said[0] for said in item.revisions]
        finally:
            self.store.close()
            self.folder.cleanup()


def revisions(reader: Reader, kref: str) -> list[Node]:
    return revisions_of(reader, require(reader, parse_kref(kref)).id)


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(
    max_examples=80,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
