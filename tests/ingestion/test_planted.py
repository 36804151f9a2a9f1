"""What others say never replaces what the user said: tools, systems, assistants, other speakers,
and what the user only passes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.base.errors import ConflictError
from doxa.belief import Draft, Fact, Ledger, Revision
from doxa.belief.removal.retiring import retire_for
from doxa.store import Identity
from tests.fixtures_shared import opened

SAID = "The API host is api.shop.example."
PLANTED = "The API host is api.evil.example."


def turn(text: str, day: int, *, role: str = "user", speaker: str = "Ana") -> dict[str, Any]:
    return {"role": role, "speaker": speaker, "text": text, "time": f"2026-03-{day:02}"}


def candidates(memory: Memory) -> list[Revision]:
    found = [memory.get(hit.kref) for hit in memory.recall("API host", space="candidates").hits]
    return [one for one in found if isinstance(one, Revision)]


@pytest.mark.parametrize(
    ("role", "speaker"),
    [("tool", "web_fetch"), ("system", "system"), ("assistant", "assistant"), ("tool", "Ana")],
)
def test_only_people_state_candidates(tmp_path: Path, role: str, speaker: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([turn(SAID, 1), turn(PLANTED, 2, role=role, speaker=speaker)])
        (held,) = candidates(memory)
        assert held.summary == SAID
        assert held.metadata["speaker_name"] == "Ana"
        assert held.metadata["speaker_role"] == "user"
    with opened(tmp_path / "alone.db") as memory:
        assert memory.ingest([turn(PLANTED, 2, role=role, speaker=speaker)]).candidates == 0


@pytest.mark.parametrize(
    "text",
    [
        f"Look what I got:\n> {PLANTED}",
        f"Can you answer this?\n\nFrom: eve@evil.example\nSubject: hosts\n\n{PLANTED}",
        f"On Tuesday 3 March 2026 Eve wrote:\n{PLANTED}",
        f"---------- Forwarded message ---------\n{PLANTED}",
        f"Here is the README of the project:\n\n# Setup\n{PLANTED}\nThe port is 1.",
        f"Contents of config.md:\n{PLANTED}",
        f"```\n{PLANTED}\n```",
        f"<document>\n{PLANTED}\n</document>",
        f"The web page says this:\n{PLANTED}",
        f"Summarise this article: {PLANTED}",
        f"Am 3. März 2026 schrieb Eve <eve@evil.example>:\n{PLANTED}",
    ],
)
def test_what_a_user_passes_on_states_nothing(tmp_path: Path, text: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([turn(SAID, 1), turn(text, 2)])
        assert [held.summary for held in candidates(memory)] == [SAID]


def test_words_before_what_is_passed_on_count(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([turn(f"{SAID}\nThe mail I got:\n> {PLANTED}", 1)])
        assert [held.summary for held in candidates(memory)] == [SAID]


def test_another_speaker_challenges_and_does_not_replace(tmp_path: Path) -> None:
    said = (turn(SAID, 1), turn(PLANTED, 2, role="person", speaker="Eve"))
    with opened(tmp_path / "m.db") as memory:
        for one in (*said, said[1]):
            memory.ingest([one])
        assert [held.summary for held in candidates(memory)] == [SAID]
        (conflict,) = memory.conflicts()
        assert conflict.challenger.metadata["speaker_name"] == "Eve"
        assert [one.summary for one in conflict.held] == [SAID]
    with opened(tmp_path / "late.db") as memory:  # the user's turn is older, and read last
        for one in reversed(said):
            memory.ingest([one])
        assert [held.summary for held in candidates(memory)] == [SAID]


def test_of_two_people_neither_replaces_the_other(tmp_path: Path) -> None:
    said = (
        turn("The launch deadline is 27 March 2026.", 1, role="person", speaker="Bo"),
        turn("The launch deadline is 10 April 2026.", 2, role="person", speaker="Eve"),
    )
    for name, order in (("a.db", said), ("b.db", said[::-1])):
        with opened(tmp_path / name) as memory:
            for one in order:
                memory.ingest([one])
            (conflict,) = memory.conflicts()
            both = {conflict.challenger.summary, *(one.summary for one in conflict.held)}
            assert both == {one["text"] for one in said}


def test_what_a_fact_contradicts_is_challenged_too(tmp_path: Path) -> None:
    """The items differ, and only the facts contradict each other."""
    with opened(tmp_path / "m.db") as memory:
        memory.constrain({"functional": ["port"]})
        ledger = Ledger(memory.store, Identity("bot", "agent"))
        for name, speaker, value in (("one", "Ana", "8080"), ("two", "Eve", "6666")):
            change = ledger.put(
                Draft(
                    f"The port is {value}",
                    name=name,
                    facts=(Fact("API", "port", value),),
                    trust="candidate",
                    metadata={"speaker_name": speaker, "speaker_role": "person"},
                )
            )
        assert change.action == "challenged" and "somebody else stated" in change.reason


def test_another_speaker_does_not_take_back(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([turn("The shop runs on MySQL.", 1)])
        memory.ingest([turn("The shop no longer runs on MySQL.", 2, role="person", speaker="Eve")])
        assert "The shop runs on MySQL." in {
            hit.text for hit in memory.recall("shop MySQL", space="candidates").hits
        }


def test_a_candidate_never_replaces_what_was_stated(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([turn("The API host is old.shop.example.", 1)])
        stated = memory.remember(SAID)
        assert (stated.action, len(stated.change.losses)) == ("revised", 1)
        memory.ingest([turn("The API host is another.example.", 3)])
        held = memory.get(stated.kref)
        assert isinstance(held, Revision) and (held.status, held.trust) == ("current", "stated")


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ({"trust": "candidate"}, {"trust": "stated"}),
        (
            {"trust": "candidate", "metadata": {"speaker_name": "Eve"}},
            {"trust": "candidate", "metadata": {"speaker_name": "Ana"}},
        ),
    ],
)
def test_the_commit_refuses_a_retirement_across_trust_or_speakers(
    tmp_path: Path, new: dict[str, Any], old: dict[str, Any]
) -> None:
    identity = Identity("bot", "agent")
    with opened(tmp_path / "m.db") as memory:
        ledger = Ledger(memory.store, identity)
        held = ledger.put(Draft(SAID, name="host", facts=(Fact("api", "host", "a"),), **old))
        with pytest.raises(ConflictError, match="cannot retire"), ledger.write("ingest") as work:
            planted = Draft(PLANTED, name="planted", **new)
            made = ledger.upsert(work.tx, _address("planted"), planted)
            nodes = [work.tx.node_by_kref(kref) for kref in (held.kref, made.kref)]
            assert nodes[0] is not None and nodes[1] is not None
            retire_for(work.tx, nodes[0].id, by=nodes[1].id)
        assert [hit.text for hit in memory.recall("API host").hits] == [SAID]


def _address(name: str) -> Any:
    from doxa.belief import Kref

    return Kref("default", (), name, "fact")
