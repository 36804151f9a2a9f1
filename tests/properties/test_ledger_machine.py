"""Random belief operations against a model of plain dictionaries: after each step the graph says what the model says, now and then."""

from __future__ import annotations

import copy
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError, NotFoundError
from doxa.belief import CURRENT, TAG, Change, Draft, Fact, Ledger, declare, parse_fact, parse_kref, require, revisions_of
from doxa.store import Identity, Node, Reader, Store, check, digest, replayed_digest, verify_log

NAMES = st.sampled_from(["tea", "milk", "cup"])
TAGS = st.sampled_from(["approved", "draft"])
FACTS = st.lists(st.sampled_from([Fact("s", "is", v) for v in (1, "a", 2.5)]), max_size=3, unique=True).map(tuple)
SUMMARIES = st.sampled_from(["one", "two", "three"])
NUMBERS = st.integers(1, 4)

Said = tuple[str, tuple[Fact, ...]]
Base = dict[str, tuple[int, bool, tuple[tuple[str, int], ...], Said | None]]


@dataclass
class Item:
    """What the model knows of one item. `current` 0 means none; revision n is revisions[n - 1]."""

    revisions: list[Said] = field(default_factory=list)
    current: int = 0
    deprecated: bool = False
    tags: dict[str, int] = field(default_factory=dict)

    def said(self) -> Said | None:
        return self.revisions[self.current - 1] if self.current else None


def base_of(items: dict[str, Item]) -> Base:
    return {name: (item.current, item.deprecated, tuple(sorted(item.tags.items())), item.said()) for name, item in items.items()}


def base_in(reader: Reader, time: int | None = None) -> Base:
    """The same, read from the graph, now or as of a system time."""
    found: Base = {}
    for item in list(reader.labelled("Item")):
        node = item if time is None else reader.node_as_of(item.id, time)
        if node is None:
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
                tags.append((str(edge.props["name"]), number))
            else:
                facts = revision.props.get("facts") or []
                assert isinstance(facts, list)
                current, said = number, (str(revision.props["summary"]), tuple(parse_fact(fact) for fact in facts))
        found[str(node.props["name"])] = (current, bool(node.props.get("deprecated")), tuple(sorted(tags)), said)
    return found


class LedgerMachine(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.store = Store(Path(self.folder.name) / "m.db", clock=self.clock)
        declare(self.store)
        self.ledger = Ledger(self.store, Identity("ana", "operator"))
        self.items: dict[str, Item] = {}
        self.before: dict[int, dict[str, Item]] = {}
        self.past: list[tuple[int, Base]] = []
        self.last: int | None = None

    def kref(self, name: str, number: int = 0) -> str:
        return f"kref://p/s/{name}.fact" + (f"?r={number}" if number else "")

    def has(self, name: str, number: int) -> bool:
        item = self.items.get(name)
        return item is not None and number <= len(item.revisions)

    def done(self, change: Change, before: dict[str, Item]) -> None:
        """Keep the model's base under the time of the change, and what was before for undo."""
        changed = base_of(before) != base_of(self.items) or [i.revisions for i in before.values()] != [i.revisions for i in self.items.values()]
        assert (change.change is not None) == changed, (change, before, self.items)
        if change.change is not None:
            self.past.append((change.time, base_of(self.items)))
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
        before = copy.deepcopy(self.items)
        item = self.items.setdefault(name, Item())
        if item.said() != (summary, facts) or item.deprecated:
            item.revisions.append((summary, facts))
            item.current, item.deprecated = len(item.revisions), False
        self.done(self.ledger.put(draft, expect=expect), before)

    @precondition(lambda self: self.items)
    @rule(name=NAMES, value=st.booleans())
    def deprecate_or_restore(self, name: str, value: bool) -> None:
        if name not in self.items:
            return
        before = copy.deepcopy(self.items)
        self.items[name].deprecated = value
        self.done((self.ledger.deprecate if value else self.ledger.restore)(self.kref(name)), before)

    @precondition(lambda self: self.items)
    @rule(name=NAMES, number=NUMBERS, tag=TAGS)
    def tag(self, name: str, number: int, tag: str) -> None:
        if not self.has(name, number):
            return
        before = copy.deepcopy(self.items)
        self.items[name].tags[tag] = number
        self.done(self.ledger.tag(self.kref(name, number), tag), before)

    @precondition(lambda self: self.items)
    @rule(name=NAMES, tag=TAGS)
    def untag(self, name: str, tag: str) -> None:
        if name not in self.items:
            return
        before = copy.deepcopy(self.items)
        self.items[name].tags.pop(tag, None)
        self.done(self.ledger.untag(self.kref(name), tag), before)

    @precondition(lambda self: self.items)
    @rule(name=NAMES, number=NUMBERS)
    def rollback(self, name: str, number: int) -> None:
        if not self.has(name, number):
            return
        before = copy.deepcopy(self.items)
        self.items[name].current, self.items[name].deprecated = number, False
        self.done(self.ledger.rollback(self.kref(name, number)), before)

    @precondition(lambda self: self.items)
    @rule(name=NAMES, number=NUMBERS)
    def contract_revision(self, name: str, number: int) -> None:
        if not self.has(name, number):
            return
        before = copy.deepcopy(self.items)
        item = self.items[name]
        item.current = 0 if item.current == number else item.current
        item.tags = {tag: at for tag, at in item.tags.items() if at != number}
        self.done(self.ledger.contract(self.kref(name, number)), before)

    @precondition(lambda self: any(item.said() and item.said()[1] for item in self.items.values()))
    @rule(name=NAMES, which=st.integers(0, 2))
    def contract_fact(self, name: str, which: int) -> None:
        said = self.items[name].said() if name in self.items else None
        if not said or not said[1] or (len(said[1]) == 1 and self.items[name].deprecated):
            return
        before = copy.deepcopy(self.items)
        item, fact = self.items[name], said[1][which % len(said[1])]
        kept = tuple(f for f in said[1] if f != fact)
        if kept:
            item.revisions.append(("; ".join(f"{f.subject} {f.predicate} {f.value}" for f in kept), kept))
            item.current = len(item.revisions)
        else:
            item.deprecated = True
        change = self.ledger.contract(self.kref(name), fact=fact)
        assert change.lost == (fact,)
        self.done(change, before)

    @precondition(lambda self: self.last is not None)
    @rule()
    def undo_the_last(self) -> None:
        """Everything goes back, but revisions stay in history and an item that the change made is deprecated, not gone."""
        assert self.last is not None
        undone, wanted = self.last, copy.deepcopy(self.before[self.last])
        before = copy.deepcopy(self.items)
        for name, item in self.items.items():
            if name not in wanted:
                wanted[name] = Item(deprecated=True)
            wanted[name].revisions = item.revisions
        self.items = wanted
        change = self.ledger.undo(undone)
        self.past.append((change.time, base_of(self.items)))
        if change.change is not None:
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
                assert base_in(snapshot) == base_of(self.items)

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        try:
            assert check(self.store) == []
            verify_log(self.store)
            assert digest(self.store) == replayed_digest(self.store)
            with self.store.read() as snapshot:
                for time, base in self.past:
                    assert base_in(snapshot, time) == base
                for name, item in self.items.items():
                    kept = [node.props["summary"] for node in revisions(snapshot, self.kref(name))]
                    assert kept == [said[0] for said in item.revisions]
        finally:
            self.store.close()
            self.folder.cleanup()


def revisions(reader: Reader, kref: str) -> list[Node]:
    return revisions_of(reader, require(reader, parse_kref(kref)).id)


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(max_examples=150, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
