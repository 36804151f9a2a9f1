"""The six memory types: the table and its page, what recall and policies make of it, the survey."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.app.memory_types import MEMORY_TYPES, type_of_kind
from doxa.app.policies import STANDARD_POLICIES
from doxa.app.verbs import VERBS
from doxa.base.clock import FakeClock
from doxa.consolidation.drafts import _KINDS
from doxa.store.statements import counted_statements

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "memory-types.md"
every_type = pytest.mark.parametrize("name", MEMORY_TYPES)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[doxa.Memory]:
    with doxa.open(
        tmp_path / "m.db", embedder=None, background=False, project="shop", clock=clock
    ) as opened:
        opened.remember("The oven is hot at noon", name="oven", topics=["kitchen"])
        opened.remember("We chose the gas oven", name="gas", kind="decision", topics=["kitchen"])
        opened.ingest([{"text": "The oven is hot, said Ana", "speaker": "ana", "role": "user"}])
        opened.store_execution("Clean the hot oven", steps=["cool", "wipe"])
        opened.bundle("kref://shop/kitchen.bundle", add=["kref://shop/oven.fact"])
        yield opened


def test_there_are_six_and_no_kind_is_of_two() -> None:
    assert list(MEMORY_TYPES) == [
        *("working", "episodic", "semantic", "procedural", "associative", "meta")
    ]
    kinds = [kind for one in MEMORY_TYPES.values() for kind in one.kinds]
    assert len(kinds) == len(set(kinds))
    assert type_of_kind("execution") == "procedural" and type_of_kind("image") == "semantic"


@every_type
def test_verbs_and_policies_exist(name: str) -> None:
    one = MEMORY_TYPES[name]
    assert one.writes and one.reads
    assert all(VERBS[verb].writes for verb in one.writes)
    assert not any(VERBS[verb].writes for verb in one.reads)
    for policy in one.policies:
        assert re.search(rf"(?:PROFILE|POLICY) {policy} FOR", STANDARD_POLICIES), policy


@every_type
def test_the_page_prints_the_table(name: str) -> None:
    one, text = MEMORY_TYPES[name], PAGE.read_text()
    cells = [
        [one.name],
        [one.holds],
        *([f"`{word}`" for word in words] or ["-"] for words in (one.labels, one.writes)),
        [f"`{word}`" for word in one.reads],
        [f"`{word}`" for word in one.policies] or ["-"],
        [one.kept],
    ]
    assert "| " + " | ".join(", ".join(cell) for cell in cells) + " |" in text
    assert re.search(rf"^## {name.capitalize()}$", text, re.MULTILINE)


@every_type
def test_labels_and_edges_are_those_of_the_graph(memory: doxa.Memory, name: str) -> None:
    memory.link("kref://shop/oven.fact", "kref://shop/gas.decision", kind="REFERENCED")
    held = {row["l"] for row in memory.run("MATCH (n) UNWIND labels(n) AS l RETURN l").records()}
    assert set(MEMORY_TYPES[name].labels) - {"Artifact", "Conflict"} <= held


def test_a_recall_by_type_returns_that_type_alone(memory: doxa.Memory) -> None:
    whole = {type_of_kind(hit.kind) for hit in memory.recall("the hot oven").hits}
    assert whole == {"episodic", "semantic", "procedural"}
    for name in sorted(whole):
        hits = memory.recall("the hot oven", **MEMORY_TYPES[name].recall).hits
        assert hits and {type_of_kind(hit.kind) for hit in hits} == {name}


@every_type
def test_every_type_has_a_default_of_reading_and_of_keeping(name: str) -> None:
    one = MEMORY_TYPES[name]
    known = {parameter.name for parameter in VERBS[one.reads[0]].parameters}
    assert one.options and set(one.options) <= known
    assert one.kept and (one.policies or name == "working")
    assert bool(one.recall) == (one.reads[0] == "recall")


def test_every_kind_that_doxa_gives_is_named_and_recalled(memory: doxa.Memory) -> None:
    """What consolidation concludes is semantic, and a recall of the type finds it."""
    assert set(_KINDS.values()) <= set(MEMORY_TYPES["semantic"].kinds)
    for kind in MEMORY_TYPES["semantic"].kinds:
        memory.remember(f"The mixer has a {kind}", name=f"mixer-{kind}", kind=kind)
    found = memory.recall("the mixer", limit=20, **MEMORY_TYPES["semantic"].recall).hits
    assert {hit.kind for hit in found} >= set(MEMORY_TYPES["semantic"].kinds)
    memory.ingest(
        [{"text": "We decided to sell the mixer because it is loud.", "speaker": "ana"}],
        thread="talk",
        extract=False,
    )
    memory.consolidate()
    rows = memory.run("MATCH (n:Item) WHERE n.kind IS NOT NULL RETURN DISTINCT n.kind AS kind")
    named = {kind for one in MEMORY_TYPES.values() for kind in one.kinds}
    assert {str(row["kind"]) for row in rows.records()} <= named


def test_the_defaults_of_the_other_types_read_what_they_say(memory: doxa.Memory) -> None:
    memory.chat_add("is the oven on?", session="s")
    working = MEMORY_TYPES["working"]
    assert working.recall == {}
    chat = memory.chat_get("s", **working.options)
    assert [one.text for one in chat.messages] == ["is the oven on?"]
    memory.remember("The fuse box hums", name="fuse", depends_on=["kref://shop/oven.fact"])
    memory.remember("The oven is cold at noon", name="oven")
    linked = memory.recall("oven noon", **MEMORY_TYPES["associative"].recall).hits
    assert "The fuse box hums" in [hit.text for hit in linked]
    unlinked = memory.recall("oven noon", lanes=("words",)).hits
    assert "The fuse box hums" not in [hit.text for hit in unlinked]
    past = memory.recall("oven at noon", **MEMORY_TYPES["meta"].recall).hits
    assert "superseded" in {hit.status for hit in past}


def test_the_standard_policies_let_episodes_fade_and_keep_the_rest(
    tmp_path: Path, clock: FakeClock
) -> None:
    with doxa.open(
        tmp_path / "decay.db",
        embedder=None,
        background=False,
        project="shop",
        clock=clock,
        decay_enabled=True,
    ) as memory:
        memory.remember("The oven is hot", name="oven")
        memory.ingest([{"text": "The oven is hot, said Ana", "role": "user"}])
        memory.store_execution("Clean the hot oven", steps=["cool"])
        clock.advance(days=200)
        left = {type_of_kind(hit.kind) for hit in memory.recall("the hot oven").hits}
    assert left == {"semantic", "procedural"}


# The survey


def test_a_survey_counts_what_there_is_and_what_is_open(
    memory: doxa.Memory, clock: FakeClock
) -> None:
    found = memory.survey()
    assert (found.beliefs, found.turns, found.executions) == (3, 1, 1)
    assert [(one.name, one.beliefs) for one in found.topics] == [("kitchen", 2)]
    assert ("shop decision", 1) in [(one.name, one.beliefs) for one in found.kinds]
    assert (found.stale, found.conflicts, found.unsupported, found.expired) == (0, 0, 0, 0)
    assert found.pending == memory.pending()
    clock.advance(days=200, seconds=60)
    memory.remember("The door is red", name="door", confidence=0.4)
    memory.remember("The sale is on", valid_until="2000-01-01")
    memory.remember("The lid follows", name="lid", depends_on=["kref://shop/door.fact"])
    memory.deprecate("kref://shop/door.fact")
    with doxa.open(memory.store.path, role="operator", embedder=None, project="shop") as operator:
        operator.constrain({"functional": ["colour"]})
    memory.remember("The gate is green", facts=[("gate", "colour", "green")])
    made = memory.remember(
        "The gate is blue", facts=[("gate", "colour", "blue")], trust="candidate"
    )
    found = memory.survey()
    assert found.stale >= 2 and found.oldest[0].days == 200
    assert found.oldest[0].kref.startswith("kref://shop/")
    assert (found.conflicts, found.open_conflicts) == (1, (made.change.conflict,))
    assert (found.unsupported, found.expired, found.doubtful) == (1, 1, 0)
    memory.resolve(made.change.conflict, "reject")
    assert memory.survey().conflicts == 0


def test_a_survey_is_of_one_project_or_of_all(memory: doxa.Memory) -> None:
    memory.remember("The bar is open", project="bar")
    assert memory.survey(project="bar").beliefs == 1
    assert memory.survey(project="*").beliefs == memory.survey().beliefs + 1
    assert memory.session(project="empty").survey().beliefs == 0
    bound = memory.session(projects=["bar"])
    assert bound.survey(project="*").beliefs == 1


def test_a_survey_costs_the_same_for_any_number_of_beliefs(memory: doxa.Memory) -> None:
    with counted_statements(memory.store) as few:
        memory.survey()
    for number in range(40):
        memory.remember(f"Pan {number} is clean", name=f"pan-{number}", topics=[f"t{number}"])
    with counted_statements(memory.store) as many:
        memory.survey()
    assert len(many) == len(few) <= 10


def test_a_survey_in_a_query(memory: doxa.Memory) -> None:
    (row,) = memory.run("CALL doxa.survey() YIELD survey RETURN survey").records()
    assert row["survey"]["beliefs"] == memory.survey().beliefs
    assert isinstance(row["survey"]["kinds"], list)
