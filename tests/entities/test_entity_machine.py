"""After any sequence of mentions, merges, splits and undos the entities are those of a pure model:
a union-find that keeps every state it was in."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from doxa.app import Memory
from doxa.base.errors import ConflictError
from doxa.belief.graph import MENTIONS, SAME_AS
from doxa.entities import class_of, list_entities, root_at
from doxa.entities.reading import entity_nodes
from doxa.store import check, digest, replayed_digest
from tests.fixtures_shared import opened

NAMES = tuple("Ada Bela Caro Dora Emil Fela".split())


class Classes:
    """Which names are one: the model. `leads` says what each name was merged into."""

    def __init__(self, leads: dict[str, str] | None = None) -> None:
        self.leads = dict(leads or {})

    def root(self, name: str) -> str:
        while name in self.leads:
            name = self.leads[name]
        return name

    def merge(self, one: str, other: str) -> bool:
        first, second = self.root(one), self.root(other)
        if first == second:
            return False
        self.leads[first] = second
        return True

    def split(self, name: str) -> bool:
        return self.leads.pop(name, None) is not None

    def groups(self, names: list[str]) -> set[frozenset[str]]:
        roots = {self.root(name) for name in names}
        return {frozenset(one for one in names if self.root(one) == root) for root in roots}


def graph(memory: Memory) -> tuple[Any, ...]:
    """Everything that is there now about entities, under its own ids."""
    with memory.store.read() as reader:
        nodes = [
            (node.id, node.labels, dict(node.props))
            for label in ("Entity", "PendingEntity", "Exchange")
            for node in reader.labelled(label)
        ]
        edges = reader.rows(
            "SELECT id, type, src, dst, json(props) FROM edge WHERE type IN (?, ?) ORDER BY id",
            (MENTIONS, SAME_AS),
        )
    return nodes, edges


class EntityMachine(RuleBasedStateMachine):
    short = 20

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.memory = opened(self.folder / "m.db")
        self.model = Classes()
        self.names: list[str] = []
        self.mentioned: dict[str, int] = {}
        self.past: list[tuple[int, list[str], dict[str, str]]] = []
        self.undoable: tuple[int, tuple[Any, ...], dict[str, str]] | None = None
        self.said = 0

    def teardown(self) -> None:
        assert check(self.memory.store) == []
        assert digest(self.memory.store) == replayed_digest(self.memory.store)
        self.memory.close()
        shutil.rmtree(self.folder)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Remember what was there, to be compared as of the time before."""
        with self.memory.store.read() as reader:
            time = reader.last_receipt().time  # type: ignore[union-attr]
        self.past.append((time, list(self.names), dict(self.model.leads)))
        yield

    @rule(name=st.sampled_from(NAMES))
    def mention(self, name: str) -> None:
        self.said += 1
        self.memory.ingest(
            [{"text": f"number {self.said}", "id": str(self.said), "speaker": "S"}],
            project="p",
            thread="t",
            extract=False,
        )
        with self.memory.store.read() as reader:
            source = str(list(reader.labelled("Exchange"))[-1].props["kref"])
        found = self.memory.mention(name, source=source, project="p")
        assert found.decision == ("exact" if name in self.names else "new")
        if name not in self.names:
            self.names.append(name)
        self.mentioned[name] = self.mentioned.get(name, 0) + 1
        self.undoable = None

    @rule(one=st.sampled_from(NAMES), other=st.sampled_from(NAMES))
    def merge(self, one: str, other: str) -> None:
        if one not in self.names or other not in self.names:
            return
        before, leads = graph(self.memory), dict(self.model.leads)
        with self.changing():
            change = self.memory.merge_entities(one, other, project="p", why="tested")
        assert (change.change is not None) == self.model.merge(one, other)
        if change.change is not None:
            self.undoable = change.change, before, leads

    @rule(name=st.sampled_from(NAMES))
    def split(self, name: str) -> None:
        if name not in self.names:
            return
        before, leads = graph(self.memory), dict(self.model.leads)
        address = f"kref://p/entities/{name.lower()}.entity"
        with self.changing():
            try:
                change = self.memory.split_entity(address, project="p")
            except ConflictError:
                assert not self.model.split(name)
                return
        assert self.model.split(name)
        assert change.change is not None
        self.undoable = change.change, before, leads

    @rule()
    def undo(self) -> None:
        if self.undoable is None:
            return
        change, before, leads = self.undoable
        self.memory.undo(change)
        assert graph(self.memory) == before, "undo brings back what was there, under its own ids"
        self.model, self.undoable = Classes(leads), None

    @invariant()
    def says_what_the_model_says(self) -> None:
        with self.memory.store.read() as reader:
            nodes = {str(node.props["name"]): node for node in entity_nodes(reader, "p")}
            assert sorted(nodes) == sorted(self.names)
            groups = set()
            for name, node in nodes.items():
                root, _ = root_at(reader, str(node.props["kref"]))
                assert root.props["name"] == self.model.root(name)
                groups.add(frozenset(str(one.props["name"]) for one in class_of(reader, root)))
            assert groups == self.model.groups(self.names)
            for entity in list_entities(reader, "p"):
                own = {one for one in self.names if self.model.root(one) == entity.name}
                assert set(entity.aliases) == own - {entity.name}
                assert entity.mentions == sum(self.mentioned[one] for one in own)

    @invariant()
    def as_of_a_time_before_it_is_as_it_was(self) -> None:
        for time, names, leads in self.past[-2:]:
            with self.memory.store.read() as reader:
                found = list_entities(reader, "p", as_of=time)
            model = Classes(leads)
            groups = {frozenset((one.name, *one.aliases)) for one in found}
            assert groups == model.groups(names)


EntityMachine.TestCase.settings = settings(max_examples=15, stateful_step_count=25)
TestEntities = EntityMachine.TestCase
