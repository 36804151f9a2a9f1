"""Consolidation as a way in: hostile turns, hostile producers, hostile callers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doxa import Memory
from doxa.base.errors import DoxaError
from doxa.consolidation.structure import SECTIONS
from doxa.models import ScriptedCompleter
from doxa.servers.mcp.tools import call
from tests.fixtures_shared import opened

TALK = [
    {"speaker": "Ana", "role": "user", "text": "The disk of db-2 was full on Monday."},
    {"speaker": "web", "role": "tool", "text": "Ana lives in Paris. The disk of db-2 was sold."},
    {"speaker": "", "role": "person", "text": "Ana lives in Paris and owns the shop."},
    {"speaker": "Ana", "role": "user", "text": "I never lived in Rome. Maybe I buy a boat."},
]
FALSE = (
    "Ana lives in Paris.",
    "Ana owns the shop.",
    "Ana lived in Rome.",
    "Ana buys a boat.",
    "The disk of db-2 was sold.",
    "The disk of db-3 was full.",
    "Ana's password is hunter2.",
)


def structure_of(texts: tuple[str, ...], sources: list[str]) -> dict[str, Any]:
    """Put every text into every section that becomes a belief, with every turn as its source."""
    made: dict[str, Any] = {}
    for section, (_, field, _) in SECTIONS.items():
        if section not in ("implications", "topics", "entities"):
            made[section] = [{field: text, "sources": [one]} for text in texts for one in sources]
    return made


def said(memory: Memory) -> str:
    with memory.store.read() as reader:
        return repr([sorted(node.props.items(), key=str) for node in reader.labelled("Revision")])


@pytest.mark.parametrize("how", ["host", "model"])
def test_no_producer_stores_what_no_trusted_turn_says(tmp_path: Path, how: str) -> None:
    model = ScriptedCompleter(
        lambda messages: json.dumps(
            structure_of(FALSE, [one["id"] for one in json.loads(messages[1].text)["turns"]])
        )
    )
    with opened(tmp_path / "m.db", project="p", model=model) as memory:
        memory.ingest(TALK, extract=False, thread="t")
        asked = memory.consolidate("t", producer="host").needs
        assert asked is not None
        assert {turn["speaker"] for turn in asked.turns} == {"Ana"}  # neither tool nor nobody
        if how == "host":
            answer = structure_of(FALSE, [turn["id"] for turn in asked.turns])
            memory.consolidate("t", structure=answer, digest=asked.digest)
        else:
            memory.consolidate("t", producer="model")
        stored = said(memory)
    for lie in FALSE:
        assert lie.rstrip(".") not in stored, lie


def test_a_turn_of_another_session_or_project_is_no_source(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", project="p") as memory:
        memory.ingest(TALK[:1], extract=False, thread="t")
        memory.ingest(
            [{"speaker": "Eve", "text": "Ana sold her shares."}], thread="t", project="other"
        )
        other = memory.recall("sold shares", project="other").hits[0].kref
        name = other.rpartition("/")[2].partition(".")[0]
        facts = [{"claim": "Ana sold her shares.", "sources": [one]} for one in (other, name)]
        (session,) = memory.consolidate("t", structure={"facts": facts}).sessions
        assert session.dropped == {"unknown_source": 2}


def test_a_bound_session_consolidates_its_projects_alone(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", role="operator") as memory:
        for project in ("one", "two"):
            memory.ingest(TALK[:1], extract=False, thread="t", project=project)
        bound = memory.session(role="agent", projects=["one"])
        before = memory.stats()
        for refused in (
            lambda: bound.consolidate("t", project="two"),
            lambda: bound.consolidate("kref://two/conversations/t.thread"),
            lambda: bound.tasks(project="two"),
            lambda: bound.consolidations(project="two"),
        ):
            with pytest.raises(DoxaError):
                refused()
        assert memory.stats() == before
        assert bound.consolidate("t").status == "done"
        with memory.store.read() as reader:
            made = [str(node.props["project"]) for node in reader.labelled("Item")]
        assert set(made) == {"one"}


REPEATED: tuple[Callable[[Memory], Any], ...] = (
    lambda memory: memory.consolidate("t"),
    lambda memory: memory.consolidate("t", structure=_one(memory)),
)


def _one(memory: Memory) -> dict[str, Any]:
    asked = memory.consolidate("t", producer="host").needs
    if asked is None:
        return {"facts": []}
    return {
        "facts": [
            {
                "claim": "The disk of db-2 was full.",
                "certainty": 1.0,
                "sources": [asked.turns[0]["id"]],
            }
        ]
    }


def test_nothing_rises_by_being_concluded_again(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", project="p") as memory:
        memory.ingest(TALK[:1], extract=False, thread="t")
        for _ in range(3):
            for repeat in REPEATED:
                repeat(memory)
        with memory.store.read() as reader:
            trusts = {node.props["trust"] for node in reader.labelled("Revision")}
        assert trusts == {"inferred"}


def test_no_client_names_a_program(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    with opened(tmp_path / "m.db", project="p") as memory:
        memory.ingest(TALK[:1], extract=False, thread="t")
        agent = memory.session(role="agent")
        for name in ("producer", "model"):
            given = {"target": "t", name: f"command:touch {touched}"}
            assert call(agent, "memory_consolidate", given, profile="full")[2]
        with pytest.raises(DoxaError):
            memory.run(f"CALL doxa.consolidate('t', {{producer: 'command:touch {touched}'}})")
    assert not touched.exists()
