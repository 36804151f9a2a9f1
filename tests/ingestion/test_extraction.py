"""Reading stored turns again: what extraction at ingestion would state, once, in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.base.clock import parse_time
from doxa.base.errors import InputError
from doxa.belief import Exchange
from doxa.ingestion import extraction
from tests.fixtures_shared import opened

BATCH_TURNS = 40
TALK: list[dict[str, Any]] = [
    {"role": "user", "speaker": "Ana", "text": "I live in Berlin.", "time": "2026-01-01"},
    {"role": "user", "speaker": "Ana", "text": "The API port is 8080.", "time": "2026-01-02"},
    {"role": "tool", "speaker": "fetch", "text": "The API port is 6666.", "time": "2026-01-03"},
    {"role": "user", "speaker": "Ana", "text": "I live in Berlin.", "time": "2026-01-04"},
    {"role": "person", "speaker": "Bo", "text": "The API port is 7070.", "time": "2026-01-05"},
    {"role": "user", "speaker": "Ana", "text": "I moved to Munich.", "time": "2026-01-06"},
    {"role": "user", "speaker": "Ana", "text": "The API port is 9090.", "time": "2026-01-07"},
]
_STATE = (
    "SELECT r.props ->> '$.summary', r.props ->> '$.speaker_name', EXISTS (SELECT 1 FROM edge c"
    " WHERE c.dst = r.id AND c.type = 'CURRENT') FROM node_label l JOIN node r ON r.id = l.node"
    " WHERE l.label = 'Revision' ORDER BY 1, 2, 3"
)
_MARKS = (
    "SELECT s.props ->> '$.text', d.props ->> '$.text', d.props ->> '$.time' FROM edge e JOIN node"
    " s ON s.id = e.src JOIN node d ON d.id = e.dst WHERE e.type = 'SUPERSEDES' AND d.kref LIKE"
    " '%.exchange' ORDER BY 1, 2, 3"
)


def state(memory: Memory) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    with memory.store.read() as snapshot:
        return snapshot.rows(_STATE), snapshot.rows(_MARKS)


def test_reading_again_gives_what_ingestion_gives(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as at_once, opened(tmp_path / "b.db") as later:
        first = at_once.ingest(TALK)
        assert later.ingest(TALK, extract=False).candidates == 0
        made = later.extract()
        assert (made.turns, made.candidates, len(made.changes)) == (len(TALK), first.candidates, 1)
        assert state(later) == state(at_once)
        assert ("I moved to Munich.", "I live in Berlin.", parse_time("2026-01-04")) in state(
            later
        )[1]
        assert sum(text == "I live in Berlin." for _, text, _ in state(later)[1]) == 2
        turn = later.get(later.recent(kinds=("exchange",))[1].kref)
        assert isinstance(turn, Exchange) and turn.entities == ("Munich",)
        for memory in (at_once, later):
            before = memory.log()
            assert (memory.extract().candidates, memory.extract(again=True).changes) == (0, ())
            assert memory.log() == before
            assert memory.check() == []
            memory.verify()


def test_an_undo_of_an_extraction_is_made_good_on_demand(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(TALK, extract=False)
        made = memory.extract()
        before = state(memory)
        memory.undo(made.changes[0])
        assert memory.recall("API port", space="candidates").hits == ()
        assert memory.extract().candidates == 0
        assert memory.extract(again=True).candidates
        current = [row for row in before[0] if row[2]]
        assert [row for row in state(memory)[0] if row[2]] == current
        assert memory.extract(again=True).changes == ()


def test_an_import_that_was_undone_is_imported_again(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        first = memory.ingest(TALK[:2])
        memory.undo(first.changes[0])
        assert memory.recall("API port").hits == ()
        assert memory.extract(again=True).turns == 0
        again = memory.ingest(TALK[:2])
        assert (again.added, again.known, again.candidates) == (2, 0, 2)
        assert "The API port is 8080." in {hit.text for hit in memory.recall("API port").hits}


def test_what_a_person_retired_stays_retired(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(TALK[:2])
        for hit in memory.recall("API port Berlin", space="candidates").hits:
            memory.forget(hit.kref.partition("?")[0])
        assert memory.extract(again=True).candidates == 0
        assert memory.recall("API port", space="candidates").hits == ()
        memory.forget("kref://default/conversations", confirm=_token(memory))
        assert memory.ingest(TALK[:2]).known == 2
        assert memory.recall("API port").hits == ()


def _token(memory: Memory) -> str:
    return memory.forget("kref://default/conversations", preview=True).token


def test_it_runs_in_batches_and_reports_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "INGEST_BATCH_TURNS", BATCH_TURNS)
    many = [
        {
            "role": "user",
            "text": f"My lucky number in game {n} is {n}.",
            "time": f"20{n // 28 % 90 + 10:02}-01-{n % 28 + 1:02}",
        }
        for n in range(BATCH_TURNS + 2)
    ]
    seen: list[int] = []
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(many, extract=False, project="games")
        made = memory.extract(project="games", progress=seen.append)
        assert (made.turns, seen) == (len(many), [BATCH_TURNS, 2])
        assert memory.extract().turns == 0
        with pytest.raises(InputError):
            memory.extract(progress=5)  # type: ignore[arg-type]


def test_marks_of_turns_are_exported_and_imported(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as memory, opened(tmp_path / "b.db") as other:
        memory.ingest(TALK)
        memory.export_to(tmp_path / "all.jsonl")
        other.import_(tmp_path / "all.jsonl")
        assert state(other) == state(memory)
