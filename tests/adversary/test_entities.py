"""Attacks on who is who: names that look like others, agents and jobs that join what an operator
verified, queries that forge mentions, and what an erasure, an export or an undo leaves behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.app import Memory, Session
from doxa.base.errors import ConflictError, ConstraintError, DoxaError, RoleError
from doxa.jobs import runs
from doxa.store import check, digest, replayed_digest
from tests.fixtures_shared import opened

CYRILLIC = "\u0410na Ferreira"  # its first letter is not a Latin one
ANA, BOB, CAM = (f"kref://p/entities/{name}.entity" for name in ("ana-ferreira", "bob", "cam"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", project="p") as held:
        for name in ("Ana Ferreira", "Bob", "Cam"):
            held.mention(name, kind="person")
        yield held
        assert check(held.store) == []
        assert digest(held.store) == replayed_digest(held.store)


@pytest.fixture
def agent(memory: Memory) -> Session:
    return memory.session(project="p", actor="mallory")


def shown(memory: Memory) -> list[Any]:
    return memory.entities(limit=100)


@pytest.mark.parametrize(
    "name", [CYRILLIC, "\u0410na", "B\u043eb", "B0b", "\u0412\u043eb", "Ana Ferreir\u0430"]
)
def test_a_name_that_only_looks_like_another_is_never_taken_for_it(
    memory: Memory, agent: Session, name: str
) -> None:
    before = shown(memory)
    turn = said(agent, "hello")
    for _ in range(5):
        found = agent.mention(name, source=turn, kind="person")
        assert found.decision == "ask"
    assert shown(memory) == before
    (pending,) = memory.pending_entities()
    assert pending.reason == "the name only looks like another"
    for answer in ("new", ANA):
        with pytest.raises(RoleError):
            agent.resolve_entity(pending.kref, answer)
    memory.resolve_entity(pending.kref, "new")
    if not name.isascii():
        with pytest.raises(RoleError):
            agent.merge_entities(name, "Cam")


def test_it_cannot_be_brought_in_as_an_alias(memory: Memory, agent: Session) -> None:
    agent.mention("Cam", aliases=[CYRILLIC])
    assert memory.entity("Cam").aliases == ()
    assert [one.state for one in memory.pending_entities()] == ["ask"]


def said(session: Session | Memory, text: str, thread: str = "talk") -> str:
    session.ingest([{"text": text, "speaker": "Zoe"}], thread=thread)
    rows = session.run("MATCH (n:Exchange) RETURN n.kref AS kref ORDER BY id(n) DESC LIMIT 1")
    return str(next(iter(rows))[0])


def test_what_an_operator_verified_no_agent_joins_or_parts(memory: Memory, agent: Session) -> None:
    memory.merge_entities("Cam", "Ana Ferreira")
    change = agent.merge_entities("Bob", "Ana Ferreira").change
    memory.verify_entity("Ana Ferreira")
    before = shown(memory)
    agent.mention("Dan")
    for attempt in (
        lambda: agent.merge_entities("Dan", "Ana Ferreira"),
        lambda: agent.merge_entities("Ana Ferreira", "Dan"),
        lambda: agent.merge_entities("Dan", "Cam"),
        lambda: agent.split_entity(CAM),
        lambda: agent.undo(change),  # its own, from before
        lambda: agent.verify_entity("Ana Ferreira", remove=True),
        lambda: agent.verify_entity("Dan"),
    ):
        with pytest.raises(RoleError):
            attempt()
    agent.mention("Ana Ferreira", aliases=["Dandy"])
    assert [one.name for one in memory.pending_entities()] == ["Dandy"]
    assert [one for one in shown(memory) if one.name != "Dan"] == before


def test_a_verified_entity_stands_for_both(memory: Memory) -> None:
    memory.verify_entity("Bob")
    memory.merge_entities("Bob", "Cam")
    assert memory.entity("Cam").name == "Bob"
    memory.verify_entity("Ana Ferreira")
    memory.merge_entities("Bob", "Ana Ferreira")
    assert memory.entity("Cam").kref == ANA
    memory.mention("Eve")
    with pytest.raises(ConstraintError, match="other way"):
        memory.run(
            "MATCH (a:Entity {name: 'Ana Ferreira'}), (b:Entity {name: 'Eve'})"
            " CREATE (a)-[:SAME_AS {why: 'x', rule: 'x'}]->(b)"
        )


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (a:Entity {name: 'Bob'}), (b:Entity {name: 'Cam'})"
        " CREATE (a)-[:SAME_AS {why: 'x', rule: 'x'}]->(b)",
        "MATCH (a:Exchange), (b:Entity {name: 'Cam'})"
        " CREATE (a)-[:MENTIONS {why: 'x', rule: 'x', as: 'Cam'}]->(b)",
        "MATCH (a:Entity {name: 'Bob'}) SET a.trust = 'verified'",
        "MATCH (a:Entity {name: 'Bob'}) SET a.name = 'Ana Ferreira'",
        "MATCH (a:Entity {name: 'Bob'}) SET a.stated_by = 'operator'",
        "MATCH (a:Entity {name: 'Bob'}) REMOVE a:Entity",
        "MATCH (:Exchange)-[r:MENTIONS]->() DELETE r",
        "CREATE (:Entity {kref: 'kref://p/entities/eve.entity', name: 'Eve'})",
    ],
)
def test_no_query_of_an_agent_forges_who_is_who(
    memory: Memory, agent: Session, statement: str
) -> None:
    memory.mention("Bob", source=said(memory, "Bob was here"))
    before = shown(memory)
    with pytest.raises(DoxaError):
        agent.run(statement)
    assert shown(memory) == before


@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (a:Entity {name: 'Bob'}), (b:Entity {name: 'Cam'}) CREATE (a)-[:SAME_AS]->(b)",
        "MATCH (a:Entity {name: 'Bob'}) CREATE (a)-[:SAME_AS {why: 'x', rule: 'x'}]->(a)",
        "MATCH (a:Entity {name: 'Bob'}), (b:Entity {name: 'Cam'})"
        " CREATE (a)-[:SAME_AS {why: 'x', rule: 'x'}]->(b),"
        " (b)-[:SAME_AS {why: 'x', rule: 'x'}]->(a)",
        "MATCH (a:Entity {name: 'Bob'}), (b:Entity {name: 'Cam'}), (c:Entity)"
        " WHERE c.name STARTS WITH 'Ana' CREATE (a)-[:SAME_AS {why: 'x', rule: 'x'}]->(b),"
        " (a)-[:SAME_AS {why: 'x', rule: 'x'}]->(c)",
        "MATCH (a:Exchange), (b:Entity {name: 'Cam'})"
        " CREATE (a)-[:MENTIONS {why: '', rule: 'x', as: 'Cam'}]->(b)",
        "MATCH (a:Project), (b:Entity {name: 'Cam'})"
        " CREATE (a)-[:MENTIONS {why: 'x', rule: 'x', as: 'Cam'}]->(b)",
    ],
)
def test_not_even_an_operator_breaks_the_shape(memory: Memory, statement: str) -> None:
    said(memory, "hello")
    before = shown(memory)
    with pytest.raises(DoxaError):
        memory.run(statement)
    assert shown(memory) == before


def test_edges_of_the_same_types_elsewhere_stay_anybodys(agent: Session) -> None:
    agent.run("CREATE (:Page {n: 1})-[:MENTIONS]->(:Page {n: 2})-[:SAME_AS]->(:Page {n: 3})")
    one = agent.remember("The page is long", name="one")
    other = agent.remember("The book is short", name="other")
    agent.link(one.kref, other.kref, kind="MENTIONS")


def test_entities_of_two_projects_are_not_joined(memory: Memory) -> None:
    memory.mention("Ana Ferreira", project="q")
    with pytest.raises(ConflictError):
        memory.merge_entities(ANA, "kref://q/entities/ana-ferreira.entity")
    with pytest.raises(ConstraintError):
        memory.run(
            "MATCH (a:Entity {project: 'q'}), (b:Entity {project: 'p', name: 'Bob'})"
            " CREATE (a)-[:SAME_AS {why: 'x', rule: 'x'}]->(b)"
        )


def test_a_job_joins_nothing_that_is_verified(memory: Memory) -> None:
    from doxa.entities import merge

    memory.verify_entity("Ana Ferreira")
    with runs.begin(memory.store, "tidy", project="p") as run:
        with pytest.raises(RoleError), run.write() as tx:
            merge(tx, "Bob", "Ana Ferreira", project="p")
        with run.write() as tx:
            merge(tx, "Bob", "Cam", project="p", why="proposed", rule="model:test")
        run.finish({})
    assert memory.entity("Bob").name == "Cam"


def test_a_belief_may_have_the_kind_of_an_entity(memory: Memory) -> None:
    made = memory.remember("A note on Eve", name="eve", kind="entity", space="entities")
    assert memory.get(made.kref).summary == "A note on Eve"  # type: ignore[union-attr]
    assert memory.mention("Eve").kref == "kref://p/entities/eve~2.entity"
    with pytest.raises(DoxaError):
        memory.remember("A note on Bob", name="bob", kind="entity", space="entities")
    assert memory.entity("Bob").kref == BOB


# Erasure


def _bytes(memory: Memory) -> bytes:
    path = Path(memory.store.path)
    return b"".join(
        one.read_bytes() for one in path.parent.iterdir() if one.name.startswith(path.name)
    )


def erase(memory: Memory, *krefs: str) -> None:
    for kref in krefs:
        token = memory.forget(kref, erase=True, preview=True).token
        memory.forget(kref, erase=True, confirm=token)


def test_an_erasure_of_the_only_source_takes_names_aliases_and_questions_along(
    memory: Memory,
) -> None:
    first = said(memory, "I met Xaverine Quorl in Lisbon.")
    other = said(memory, "We love Lisbon.", thread="other")
    memory.record_mentions()
    memory.mention("Xaverine Quorl", aliases=["Zwickelmops"], source=first)
    memory.mention("Xaverine", source=first)  # waits
    change = memory.mention("Quorlissimo", source=first)
    assert change.decision == "new"
    memory.undo(memory.log(limit=1)[0].tx)  # a name of the past is in the file too
    assert memory.verify_erased("Xaverine").erased is False
    erase(memory, first)
    for word in ("Xaverine", "Zwickelmops", "Quorlissimo"):
        assert memory.verify_erased(word).erased, word
        assert word.lower().encode() not in _bytes(memory).lower()
    kept = {one.kref for one in memory.entity("Lisbon").mentions}
    assert other in kept and first not in kept
    assert memory.pending_entities(answered=True) == []


def test_a_full_name_goes_with_the_source_that_gave_it(memory: Memory) -> None:
    """A short form elsewhere was taken for it; that source never said the full name."""
    full = said(memory, "I met Xaverine Quorl with Bob and Cam.")
    short = said(memory, "Again Xaverine was with Bob and Cam.")
    memory.record_mentions()
    (pending,) = memory.pending_entities() or (None,)
    if pending is not None:
        memory.resolve_entity(pending.kref, "Xaverine Quorl", sources=[short])
    assert memory.entity("Xaverine Quorl").count == 2
    erase(memory, full)
    assert memory.verify_erased("Quorl").erased
    assert "Xaverine Quorl" not in [one.name for one in shown(memory)]
    memory.record_mentions(again=True)
    assert memory.entity("Xaverine").count == 1


def test_a_shared_name_and_a_stated_one_stay(memory: Memory) -> None:
    sources = [said(memory, f"At {n} I saw Xaverine Quorl.") for n in range(2)]
    memory.record_mentions()
    memory.mention("Bob", source=sources[0])
    erase(memory, sources[0])
    assert memory.entity("Xaverine Quorl").count == 1
    assert memory.entity("Bob").name == "Bob", "somebody stated it"
    token = memory.purge("speaker:Zoe", preview=True).token
    memory.purge("speaker:Zoe", confirm=token)
    assert memory.verify_erased("Xaverine").erased


def test_what_joined_two_names_goes_with_its_source(memory: Memory) -> None:
    first = said(memory, "hello")
    memory.mention("Katharina", source=first, aliases=["Kit"])
    later = said(memory, "We saw Katharina and we saw Kit.")
    memory.record_mentions()
    assert memory.entity("Kit").name == "Katharina"
    erase(memory, first)
    assert memory.entity("Kit").name == "Kit", "nothing that is left says that they are one"
    assert [one.kref for one in memory.entity("Katharina").mentions] == [later]


def test_an_entity_is_erased_by_its_address_and_by_its_text(memory: Memory) -> None:
    said(memory, "I met Xaverine Quorl in Lisbon.")
    memory.record_mentions()
    erase(memory, CAM)
    assert "Cam" not in [one.name for one in shown(memory)]
    token = memory.erase(text="Xaverine", preview=True).token
    memory.erase(text="Xaverine", confirm=token)
    assert memory.verify_erased("Xaverine").erased
    assert "Lisbon" not in [one.name for one in shown(memory)], "its only source is gone"


# Export and import


def _filled(memory: Memory) -> None:
    turn = said(memory, "I met Ana Ferreira in Lisbon with Bob.")
    said(memory, "It is said that Ferreira won.", thread="x")
    memory.mention("Ana Ferreira", aliases=["Annie"], source=turn)
    memory.record_mentions()
    memory.merge_entities("Cam", "Bob", why="the same person")
    memory.verify_entity("Lisbon")


def test_an_export_restores_entities_exactly(memory: Memory, tmp_path: Path) -> None:
    _filled(memory)
    memory.export_to(tmp_path / "e.jsonl.gz")
    with opened(tmp_path / "new.db", project="p") as other:
        assert other.import_(tmp_path / "e.jsonl.gz", accept_protected=True).restored
        assert shown(other) == shown(memory)
        assert other.pending_entities() == memory.pending_entities()
        assert other.entity("Cam") == memory.entity("Cam")
        assert digest(other.store) == digest(memory.store)
        assert check(other.store) == []


def test_a_merged_import_overrules_nothing_that_was_decided_here(
    memory: Memory, tmp_path: Path
) -> None:
    _filled(memory)
    memory.export_to(tmp_path / "e.jsonl")
    with opened(tmp_path / "other.db", project="p") as other:
        for name in ("Ana Ferreira", "Bob", "Cam"):
            other.mention(name)
        other.merge_entities("Cam", "Ana Ferreira")
        other.import_(tmp_path / "e.jsonl", accept_protected=True)
        assert other.entity("Cam").name == "Ana Ferreira"
        assert other.entity("Annie").name == "Ana Ferreira"
        assert other.entity("Ana Ferreira").count == memory.entity("Ana Ferreira").count
        before = digest(other.store)
        other.import_(tmp_path / "e.jsonl", accept_protected=True)
        assert digest(other.store) == before, "a second time changes nothing"
        assert check(other.store) == []


def test_an_import_by_an_agent_verifies_nothing(memory: Memory, tmp_path: Path) -> None:
    _filled(memory)
    memory.export_to(tmp_path / "e.jsonl")
    with doxa.open(tmp_path / "o.db", role="agent", embedder=None, background=False) as other:
        other.remember("something else")
        result = other.import_(tmp_path / "e.jsonl")
        assert all(one.trust == "" for one in other.entities(project="p"))
        assert any("lisbon" in place for place in result.places)
