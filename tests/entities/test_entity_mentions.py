"""Recording mentions, what is decided about them, what waits, and what a person answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.base.errors import ConflictError, InputError, NotFoundError
from doxa.entities import record
from doxa.store import check, digest, replayed_digest
from tests.fixtures_shared import opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", project="p") as held:
        yield held
        assert check(held.store) == []
        assert digest(held.store) == replayed_digest(held.store)


def say(memory: Memory, *texts: str, thread: str = "talk", **more: Any) -> list[str]:
    """Ingest turns and return their addresses."""
    before = {one.kref for one in _turns(memory)}
    memory.ingest([{"text": text, "speaker": "Zoe"} | more for text in texts], thread=thread)
    return [one.kref for one in _turns(memory) if one.kref not in before]


def _turns(memory: Memory) -> list[Any]:
    rows = memory.run("MATCH (n:Exchange) RETURN n.kref AS kref ORDER BY id(n)")
    return [memory.get(row[0]) for row in rows]


def names(memory: Memory) -> dict[str, int]:
    return {one.name: one.mentions for one in memory.entities()}


def test_names_of_turns_become_entities_with_counts_times_and_what_stands_related(
    memory: Memory,
) -> None:
    say(memory, "I met Ana Ferreira in Lisbon.", "We saw Ana Ferreira with Bob Lee in Lisbon.")
    done = memory.record_mentions()
    assert (done.sources, done.mentions, done.entities, done.pending) == (2, 5, 3, 0)
    assert names(memory) == {"Ana Ferreira": 2, "Lisbon": 2, "Bob Lee": 1}
    page = memory.entity("ana ferreira")
    assert page.count == 2 and page.first is not None and page.last is not None
    assert [(one.name, one.count) for one in page.related] == [("Lisbon", 2), ("Bob Lee", 1)]
    assert {(one.rule, one.why) for one in page.mentions} == {
        ("rule:names", "a new name"),
        ("rule:names", "the same name"),
    }
    assert {one.kref for one in page.mentions} == {one.kref for one in _turns(memory)}


def test_recording_again_writes_nothing_and_goes_on_where_it_was(memory: Memory) -> None:
    say(memory, "I met Ana Ferreira in Lisbon.", "Then Ana and Bob Lee came.")
    assert memory.record_mentions().sources == 2
    assert memory.record_mentions().sources == 0
    again = memory.record_mentions(again=True)
    assert (again.sources, again.entities, again.changes) == (2, 0, ())
    say(memory, "Later Carla Ruiz arrived.")
    assert memory.record_mentions().sources == 1


def test_facts_of_beliefs_are_triples_with_confidence_and_source(memory: Memory) -> None:
    (turn,) = say(memory, "I met Ana Ferreira in Lisbon.")
    memory.record_mentions()
    belief = memory.remember(
        "Ana Ferreira lives in Lisbon",
        facts=[["Ana Ferreira", "lives in", "Lisbon"], ["Ana Ferreira", "likes", "tea"]],
        confidence=0.8,
    )
    memory.link(belief.kref, turn, kind="DERIVED_FROM")
    memory.record_mentions()
    triples = memory.entity("Lisbon").facts
    assert [(one.subject, one.predicate, one.value) for one in triples] == [
        ("Ana Ferreira", "lives in", "Lisbon")
    ]
    assert (triples[0].confidence, triples[0].source) == (0.8, turn)
    assert len(memory.entity("Ana Ferreira").facts) == 2
    memory.deprecate(belief.kref.partition("?")[0])
    assert memory.entity("Lisbon").facts == ()


def test_a_short_form_waits_and_is_assumed_where_it_was_said_with_the_same_people(
    memory: Memory,
) -> None:
    for number in range(8):
        say(
            memory, f"Hello from Town{number} and Person{number} Name{number}.", thread=f"x{number}"
        )
    say(memory, "I met Ana Ferreira with Bob Lee.", "And Ana Ferreira left with Bob Lee.")
    memory.record_mentions()
    (near,) = say(memory, "Later we heard that Ana thanked Bob Lee.")
    (far,) = say(memory, "In the end Ana won.", thread="elsewhere")
    memory.record_mentions()
    page = memory.entity("Ana Ferreira")
    found = {one.kref: one for one in page.mentions}
    assert found[near].name == "Ana" and "short form" in found[near].why
    assert found[near].confidence >= 0.95
    assert far not in found
    (pending,) = memory.pending_entities()
    assert (pending.name, pending.state, pending.sources) == ("Ana", "defer", (far,))
    assert [one.name for one in pending.candidates] == ["Ana Ferreira"]
    assert "Ana" in [one.name for one in page.aliases]


def _waiting(memory: Memory) -> Any:
    say(memory, "I met Ana Ferreira today.", thread="a")
    say(memory, "I met Ana Costa today.", thread="b")
    for number in range(3):
        say(memory, f"It was {number} times that Ana won.", thread=f"c{number}")
    memory.record_mentions()
    (pending,) = memory.pending_entities()
    return pending


def test_a_name_that_stays_uncertain_is_asked_about(memory: Memory) -> None:
    pending = _waiting(memory)
    assert pending.state == "ask" and len(pending.sources) == 3
    assert {one.name for one in pending.candidates} == {"Ana Ferreira", "Ana Costa"}
    assert "Ana" not in names(memory)


def test_an_answer_holds_for_later_mentions_and_is_undone(memory: Memory) -> None:
    pending = _waiting(memory)
    change = memory.resolve_entity(pending.kref, "Ana Costa")
    assert names(memory) == {"Ana Costa": 4, "Ana Ferreira": 1}
    assert memory.pending_entities() == []
    assert memory.pending_entities(answered=True)[0].answer.endswith("ana.entity")
    assert memory.entity("Ana").name == "Ana Costa"
    (turn,) = say(memory, "Again Ana was there.", thread="d")
    memory.record_mentions()
    assert turn in {one.kref for one in memory.entity("Ana Costa").mentions}
    with pytest.raises(ConflictError):
        memory.resolve_entity(pending.kref, "new")
    with pytest.raises(ConflictError, match=r"cannot be undone: kref://p/entities/ana\.entity"):
        memory.undo(change)  # a later mention depends on it


def test_an_answer_is_undone_as_a_whole(memory: Memory) -> None:
    pending = _waiting(memory)
    change = memory.resolve_entity(pending.kref, "Ana Costa")
    memory.undo(change)
    assert memory.pending_entities() == [pending]
    assert names(memory) == {"Ana Costa": 1, "Ana Ferreira": 1}


def test_an_answer_for_some_sources_leaves_the_rest(memory: Memory) -> None:
    pending = _waiting(memory)
    memory.resolve_entity(pending.kref, "Ana Costa", sources=pending.sources[:1])
    assert names(memory)["Ana Costa"] == 2
    assert memory.pending_entities()[0].state == "ask"
    with pytest.raises(InputError):
        memory.resolve_entity(pending.kref, "Ana Costa", sources=["kref://p"])


def test_new_and_none_are_answers(memory: Memory) -> None:
    pending = _waiting(memory)
    memory.resolve_entity(pending.kref, "new")
    assert names(memory)["Ana"] == 3
    second = memory.session(project="q", role="operator")
    second.ingest([{"text": "I met Ana Ferreira today.", "speaker": "Z"}], thread="a")
    second.ingest([{"text": "I saw that Ana won.", "speaker": "Z"}], thread="b")
    second.record_mentions()
    (waiting,) = second.pending_entities()
    second.resolve_entity(waiting.kref, "none")
    second.ingest([{"text": "I saw that Ana lost.", "speaker": "Z"}], thread="b")
    second.record_mentions()
    assert [one.name for one in second.entities()] == ["Ana Ferreira"]
    assert second.pending_entities() == []


def test_a_host_states_entities_with_kinds_and_aliases(memory: Memory) -> None:
    (turn,) = say(memory, "we talked")
    found = memory.mention("Katharina Wolf", kind="person", aliases=["Kit"], source=turn)
    assert (found.decision, found.kref) == ("new", "kref://p/entities/katharina-wolf.entity")
    page = memory.entity("Kit")
    assert (page.name, page.kind) == ("Katharina Wolf", "person")
    (alias,) = page.aliases
    assert (alias.name, alias.source, alias.why) == ("Kit", turn, "given as another name")
    assert memory.mention("kit").kref == found.kref
    # an alias that is an entity of its own is not merged, but asked about
    memory.mention("Lena", kind="person")
    memory.mention("Katharina Wolf", aliases=["Lena"], source=turn)
    assert memory.entity("Lena").name == "Lena"
    assert [one.name for one in memory.pending_entities()] == ["Lena"]


@pytest.mark.parametrize("name", ["", "  ", "!?", "x" * 300, 7])
def test_what_is_no_name_is_refused(memory: Memory, name: Any) -> None:
    with pytest.raises(InputError):
        memory.mention(name)
    assert memory.entities() == []


def test_a_source_is_a_turn_or_belief_of_the_project(memory: Memory) -> None:
    (turn,) = say(memory, "we talked")
    memory.mention("Ada", source=turn)
    for source in ("kref://p", "kref://p/entities/ada.entity"):
        with pytest.raises(InputError):
            memory.mention("Ada", source=source)
    with pytest.raises(NotFoundError):
        memory.mention("Ada", source="kref://p/no.exchange")
    with pytest.raises(InputError, match="another project"):
        memory.mention("Ada", source=turn, project="q")


def test_entities_of_one_name_are_told_apart_by_what_stands_related(memory: Memory) -> None:
    left = say(memory, *[f"At {n} Ana met Carl Hahn in Bonn." for n in range(4)], thread="left")
    right = say(memory, *[f"At {n} Ana met Rosa Vidal in Porto." for n in range(4)], thread="right")
    memory.record_mentions()
    change = memory.split_entity("Ana", sources=right, why="two people")
    assert change.kref == "kref://p/entities/ana~2.entity"
    assert memory.entity(change.kref).count == 4
    with pytest.raises(InputError, match="2 entities"):
        memory.entity("Ana")
    (turn,) = say(memory, "Then Ana met Rosa Vidal in Porto.", thread="right")
    memory.record_mentions()
    assert turn in {one.kref for one in memory.entity(change.kref).mentions}
    (bare,) = say(memory, "It is said that Ana won.", thread="third")
    memory.record_mentions()
    assert memory.pending_entities()[0].sources == (bare,)
    assert len(left) == 4


def test_every_edge_says_why_it_exists(memory: Memory) -> None:
    _waiting(memory)
    memory.mention("Katharina Wolf", aliases=["Kit"])
    memory.merge_entities("Ana Costa", "Ana Ferreira")
    rows = memory.run(
        "MATCH ()-[r:MENTIONS|SAME_AS|CANDIDATE]->() RETURN r.why AS why, r.rule AS rule"
    )
    found = [tuple(row) for row in rows]
    assert len(found) >= 8
    assert all(why and rule for why, rule in found)


def test_dry_runs_write_nothing(memory: Memory) -> None:
    _waiting(memory)
    before = digest(memory.store)
    assert memory.merge_entities("Ana Costa", "Ana Ferreira", dry_run=True).change is None
    with pytest.raises(ConflictError):
        memory.split_entity("Ana Costa", dry_run=True)
    assert digest(memory.store) == before


def test_a_run_of_a_background_job_records_within_its_limits(memory: Memory) -> None:
    from doxa.jobs import runs

    say(memory, "I met Ana Ferreira in Lisbon.")
    with runs.begin(memory.store, "entities", project="p") as run:
        done = record(memory.store, memory.identity, "p", write=run.write)
        run.finish({"mentions": done.mentions})
    assert names(memory) == {"Ana Ferreira": 1, "Lisbon": 1}
    roles = {one.role for one in memory.log() if one.op == "entities"}
    assert roles and "operator" not in roles
