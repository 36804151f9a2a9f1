"""Revising a belief: unknown fields are rejected, omitted fields are carried over, and trust never
rises by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.base.errors import ConflictError, InputError
from doxa.belief import Draft, Ledger, Revision
from tests.fixtures_shared import opened

DAY = "kref://default/day.fact"
SAID: dict[str, Any] = {
    "title": "Deploy day",
    "topics": ["release"],
    "keywords": ["thursday"],
    "valid_from": "2026-01-01",
    "valid_until": "2260-06-01",
    "confidence": 0.5,
    "trust": "untrusted",
    "metadata": {"ticket": 7},
}


def held(memory: doxa.Memory, kref: str = DAY) -> Revision:
    found = memory.get(kref)
    assert isinstance(found, Revision)
    return found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("author", "operator:bob"),
        ("time", "x"),
        ("name", "other"),
        ("space", "a"),
        ("kind", "decision"),
        ("project", "p"),
        ("colour", "red"),
        ("number", 7),
        ("content_hash", "x"),
        ("tme", 1),
    ],
)
def test_a_field_that_a_revision_has_not_is_refused_by_name(
    tmp_path: Path, field: str, value: Any
) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("We deploy on Thursdays", name="day")
        with pytest.raises(InputError, match=f"(has no option|takes no) {field}") as caught:
            memory.revise(DAY, "We deploy on Tuesdays", **{field: value})
        placed = field in ("name", "space", "kind", "project")
        assert ("supersede" if placed else "title") in str(caught.value)
        if not placed:
            with pytest.raises(InputError, match=field):
                memory.supersede(DAY, "We deploy on Tuesdays", **{field: value})
        assert held(memory).number == 1


def test_the_author_is_the_session(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("We deploy on Thursdays", name="day")
        memory.session(actor="bot").revise(DAY, "We deploy on Tuesdays")
        assert held(memory).author == "bot"


def test_what_is_not_given_is_carried_over(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember(
            "We deploy on Thursdays", name="day", facts=[("we", "deploy on", "Thursday")], **SAID
        )
        before = held(memory)
        change = memory.revise(DAY, "We deploy on Tuesdays")
        after = held(memory)
        for name in SAID:
            assert getattr(after, name) == getattr(before, name), name
        assert (after.facts, change.lost) == ((), before.facts)
        assert "facts belong to the former text" in change.reason
        memory.revise(
            DAY,
            "We deploy on Tuesdays",
            facts=[("we", "deploy on", "Tuesday")],
            valid_until=None,
            topics=[],
            title="",
            confidence=1.0,
        )
        found = held(memory)
        assert (found.valid_until, found.topics, found.title, found.confidence, found.trust) == (
            None,
            (),
            "",
            1.0,
            "untrusted",
        )
        assert (
            memory.revise(DAY, "We deploy on Tuesdays", metadata={"ticket": 8}).lost == ()
        )  # the same words, so the facts hold
        assert held(memory).metadata == {"ticket": 8}
        assert held(memory).facts == (("we", "deploy on", "Tuesday"),)
        assert memory.revise(DAY, "We deploy on Tuesdays").action == "unchanged"


def test_trust_never_rises_by_itself(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        agent = memory.session(actor="bot")
        for trust in ("untrusted", "candidate", "stated"):
            made = memory.remember(f"This was {trust}", name=trust, trust=trust)
            assert agent.revise(made.kref, f"This is {trust}").action == "revised"
            assert (
                held(memory, f"kref://default/{trust}.fact").trust,
                held(memory, f"kref://default/{trust}.fact").number,
            ) == (trust, 2)
        made = memory.remember("This was verified", name="verified", trust="verified")
        change = agent.revise(made.kref, "This is verified")
        assert (change.action, change.kref) == ("challenged", "kref://default/verified.fact?r=2")
        assert held(memory, "kref://default/verified.fact").summary == "This was verified"
        assert held(memory, change.kref).status == "contested"
        assert "This was" not in change.reason and change.conflict in change.reason
        memory.remember("A word from outside", name="outside", trust="untrusted")
        memory.supersede("kref://default/outside.fact", "Another word", name="inside")
        assert held(memory, "kref://default/inside.fact").trust == "untrusted"
        memory.revise("kref://default/inside.fact", "Another word", trust="stated")
        assert held(memory, "kref://default/inside.fact").trust == "stated"


def test_a_replacement_has_an_address_of_its_own_where_one_is_given(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("We deploy on Thursdays", name="day")
        assert memory.supersede(DAY, "We deploy on Tuesdays").kref == f"{DAY}?r=2"
        assert (
            memory.supersede(DAY, "We deploy on Mondays", kind="decision").kref
            == "kref://default/day.decision?r=1"
        )
        assert held(memory, f"{DAY}?r=2").status == "deprecated"
        moved = memory.supersede(
            "kref://default/day.decision",
            "We deploy on Fridays",
            space="a/b",
            project="p",
            name="x",
        )
        assert moved.kref == "kref://p/a/b/x.decision?r=1"


def test_a_revision_is_compared_and_set(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("We deploy on Thursdays", name="day", title="Day")
        memory.revise(DAY, "We deploy on Tuesdays", expect=1)
        with pytest.raises(ConflictError):
            memory.revise(DAY, "We deploy on Mondays", expect=1)
        assert (held(memory).summary, held(memory).title) == ("We deploy on Tuesdays", "Day")


@pytest.mark.parametrize("kind", ["exchange", "thread", "bundle"])
def test_what_is_no_belief_is_not_made_by_stating_one(tmp_path: Path, kind: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("We deploy on Thursdays", name="day")
        for call in (
            lambda: memory.remember("x", kind=kind, name="y", space="conversations"),
            lambda: memory.supersede(DAY, "x", kind=kind),
            lambda: memory.revise(f"kref://default/y.{kind}", "x"),
        ):
            with pytest.raises(InputError, match="cannot be of kind"):
                call()
        assert memory.stats()["items"] == 1


def test_what_was_put_at_the_address_of_a_turn_or_thread_does_not_stand_for_it(
    tmp_path: Path,
) -> None:
    said = [
        {"speaker": "Ana", "text": "hello", "time": "2026-03-02"},
        {"speaker": "Bo", "text": "good morning", "time": "2026-03-02"},
    ]
    with opened(tmp_path / "known.db") as memory:
        memory.ingest(said, thread="walk")
        turns = {hit.kref for hit in memory.recent(kinds=("exchange",))}
    with opened(tmp_path / "m.db") as memory:
        memory.remember("A walk", space="conversations")
        ledger = Ledger(memory.store, memory.identity)
        with memory.store.write(
            memory.identity, op="plant"
        ) as tx:  # as a file may hold that an older version wrote
            space = tx.node_by_kref("kref://default/conversations")
            assert space is not None
            for kref in (*turns, "kref://default/conversations/walk.thread"):
                item = tx.create_node(
                    ("Item",),
                    {"kref": kref, "project": "default", "space": "conversations", "kind": "x"},
                )
                tx.create_edge("HAS_ITEM", space.id, dst=item)
        made = memory.ingest(said, thread="walk")
        assert (made.added, made.known, made.threads) == (
            2,
            0,
            ("kref://default/conversations/walk-2.thread",),
        )
        again = memory.ingest(said, thread="walk")
        assert (again.added, again.known) == (0, 2)
        assert {hit.text for hit in memory.recall("hello good morning").hits} == {
            "hello",
            "good morning",
        }
        with pytest.raises(InputError):
            ledger.expand(Draft("x", kind="exchange", name="y"))


def test_what_came_with_a_known_belief_is_named(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("We deploy on Thursdays", name="day", **SAID | {"trust": "stated"})
        for name, value in {
            "title": "Other",
            "topics": ["x"],
            "keywords": ["x"],
            "valid_from": "2026-02-01",
            "confidence": 0.7,
            "trust": "verified",
            "metadata": {"a": 1},
        }.items():
            again = memory.remember("we deploy on thursdays", **{"confidence": 0.5} | {name: value})
            assert not again.stored
            assert [f": {name}" in warning and DAY in warning for warning in again.warnings] == [
                True
            ], (name, again.warnings)
        assert (
            memory.remember("we deploy on thursdays", **SAID | {"trust": "stated"}).warnings == ()
        )
