"""A plain remember and tell: what they revise, keep, name and leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from doxa.base.errors import InputError
from doxa.belief import Exchange, Fact, Revision
from doxa.servers.mcp.tools import call
from tests.fixtures_shared import opened


def test_a_correction_revises_and_says_what_it_replaced(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        first = memory.remember("Ana lives in Berlin.")
        made = memory.remember("Ana moved to Munich.", topics=["home"])
        assert (made.action, made.stored, made.change.previous) == ("revised", True, first.kref)
        assert [(loss.kref, loss.says) for loss in made.change.losses] == [
            (first.kref, "Ana lives in Berlin.")
        ]
        assert [hit.text for hit in memory.recall("Where does Ana live?").hits] == [
            "Ana moved to Munich."
        ]
        held = memory.get(made.kref)
        assert isinstance(held, Revision) and held.topics == ("home",)
        memory.undo(made.change)
        assert [hit.text for hit in memory.recall("Where does Ana live?").hits] == [
            "Ana lives in Berlin."
        ]


def test_every_belief_that_it_replaces_is_retired(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The API port is 8080.", name="first")
        memory.remember("The port of the API is 8080", name="second")
        made = memory.remember("The API port is 9090 now.")
        assert (made.action, len(made.change.losses)) == ("revised", 2)
        assert [hit.text for hit in memory.recall("API port").hits] == ["The API port is 9090 now."]


@pytest.mark.parametrize(
    "given", [{"name": "home"}, {"facts": [("Ana", "has seen", "Munich")]}, {"expect": 0}]
)
def test_a_name_or_facts_keep_their_meaning(tmp_path: Path, given: dict[str, object]) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("Ana lives in Berlin.")
        made = memory.remember("Ana moved to Munich.", **given)  # type: ignore[arg-type]
        assert (made.action, made.change.losses, made.may_contradict) == ("created", (), ())
        assert len(memory.recall("Where does Ana live?").hits) == 2


def test_what_may_contradict_is_named_for_each_interface(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        held = memory.remember("The API port is 8080.")
        made = memory.remember("The port is 9090 now.")
        assert (made.action, [one.kref for one in made.may_contradict]) == ("created", [held.kref])
        (warning,) = made.warnings
        assert warning == (
            f'May contradict {held.kref}: "The API port is 8080."; to replace it, call revise.'
        )
        assert made.warned("memory_update") == (warning.replace("revise", "memory_update"),)
        session = memory.session(project="other")
        call(session, "memory_remember", {"text": "The API port is 8080."})
        text, result, _ = call(session, "memory_remember", {"text": "The port is 9090 now."})
        assert "to replace it, call memory_update." in text and "revise" not in text
        assert [one["text"] for one in result["may_contradict"]] == ["The API port is 8080."]
        memory.remember("The API port is 8080.", project="third")
        ((action, reason),) = memory.run(
            "CALL doxa.remember('The port is 9090 now.', {project: 'third'}) YIELD action, reason"
            " RETURN action, reason"
        )
        assert action == "created" and "call doxa.revise" in reason


@pytest.mark.parametrize(
    "text",
    [
        "Ana might move to Munich.",
        "Tom says that Ana lives in Munich.",
        "If Ana gets the job, she lives in Munich.",
        "> Ana lives in Munich.",
    ],
)
def test_what_asserts_nothing_is_kept_and_replaces_nothing(tmp_path: Path, text: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        held = memory.remember("Ana lives in Berlin.")
        told = memory.tell(text)
        assert (told.action, told.kref, told.change) == ("unchanged", "", None)
        assert "nothing was stored" in told.reason
        made = memory.remember(text)
        kept = memory.get(made.kref)
        assert isinstance(kept, Revision)
        assert (made.action, kept.summary, kept.facts) == ("created", text, ())
        assert kept.confidence < 0.5 and kept.metadata["unasserted"]
        assert "not as a fact" in made.warnings[0]
        old = memory.get(held.kref)
        assert isinstance(old, Revision) and old.status == "current"
        assert memory.remember("Ana lives in Munich now.").change.previous == held.kref
        assert memory.remember(text).action == "unchanged"


def test_what_holds_at_another_time_replaces_nothing_now(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("Ana lives in Berlin.")
        memory.remember("The API port is 8080.")
        made = memory.remember("Ana lives in Munich.", valid_from="2199-01-01")
        assert made.action == "created"
        assert [hit.text for hit in memory.recall("Ana lives").hits] == ["Ana lives in Berlin."]
        assert [hit.text for hit in memory.recall("Ana lives", valid_at="2199-02-01").hits] == [
            "Ana lives in Munich."
        ]
        made = memory.remember("The API port is 9090 now.", valid_from="2199-01-01")
        assert [one.text for one in made.may_contradict] == ["The API port is 8080."]


def test_what_is_verified_is_challenged(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        held = memory.remember("Ana lives in Berlin.", name="home", trust="verified")
        made = memory.session(actor="bot").remember("Ana moved to Munich.")
        assert made.action == "challenged" and made.change.conflict
        (conflict,) = memory.conflicts()
        assert [one.kref for one in conflict.held] == [held.kref]


def test_the_same_in_other_words_is_not_stored_twice(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        first = memory.remember("Priya lives in Leeds.")
        again = memory.remember("Priya is living in Leeds.")
        assert (again.stored, again.duplicate_of) == (False, first.kref)
        assert memory.remember("Priya lives in Leeds near the station where Bo works.").stored
        assert memory.remember("Priya is living in Leeds.", kind="decision").stored


@pytest.mark.parametrize("verb", ["remember", "tell"])
def test_facts_are_read_and_a_later_fact_meets_them(tmp_path: Path, verb: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.constrain({"functional": ["lives in"]})
        getattr(memory, verb)("Ana lives in Berlin.")
        (hit,) = memory.recall("Ana Berlin").hits
        held = memory.get(hit.kref)
        assert isinstance(held, Revision)
        assert held.facts == (Fact("Ana", "lives in", "Berlin"),)
        change = memory.revise(["Ana", "lives in", "Munich"])
        assert [loss.kref for loss in change.losses] == [held.kref]
        told = getattr(memory, verb)("Ana moved to Porto.")
        assert "Porto" in memory.recall("Ana").hits[0].text
        assert getattr(told, "change", told) is not None


@pytest.mark.parametrize(
    "text",
    ["Ana lives in Berlin and works at Acme.", "She lives in Berlin.", "Ana lived in Berlin."],
)
def test_no_facts_are_read_where_they_may_be_wrong(tmp_path: Path, text: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        held = memory.get(memory.remember(text).kref)
        assert isinstance(held, Revision) and held.facts == ()


def test_a_user_corrects_what_a_chat_said(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([{"role": "user", "text": "I live in Berlin.", "time": "2026-01-01"}])
        memory.ingest([{"speaker": "Bo", "text": "I live in Rome.", "time": "2026-01-02"}])
        made = memory.remember("I moved to Munich.")
        assert [loss.says for loss in made.change.losses] == ["I live in Berlin."]
        held = memory.get(made.kref)
        assert isinstance(held, Revision) and held.trust == "stated"
        with memory.store.read() as snapshot:
            marked = snapshot.rows(
                "SELECT s.kref, d.props ->> '$.text' FROM edge e JOIN node s ON s.id = e.src JOIN"
                " node d ON d.id = e.dst WHERE e.type = 'SUPERSEDES' AND d.kref LIKE '%.exchange'"
            )
        assert marked == [(made.kref, "I live in Berlin.")]
        assert memory.check() == []


def test_a_revision_by_address_marks_the_turn(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([{"role": "user", "text": "The API port is 8080.", "time": "2026-01-01"}])
        (hit,) = memory.recall("API port", space="candidates").hits
        revised = memory.revise(hit.kref.partition("?")[0], "The API port is 9090.")
        turn = memory.get(hit.source)
        assert isinstance(turn, Exchange)
        steps = memory.traverse(turn.kref, direction="in", types=["SUPERSEDES"]).steps
        assert [step.kref for step in steps] == [revised.kref]


def test_a_place_that_no_belief_can_have_is_refused_first(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory, pytest.raises(InputError):
        memory.remember("Ana lives in Berlin.", space="\0")
