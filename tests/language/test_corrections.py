"""Corrections: a later statement removes the earlier candidate from recall, whatever the order of
ingestion, and nothing else does."""

from __future__ import annotations

import itertools
from importlib.resources import as_file, files
from pathlib import Path

import pytest

import doxa
from doxa.belief import Revision
from tests.fixtures_shared import opened

CORRECTED = [
    ("We decided to use SQLite.", "We switched from SQLite to PostgreSQL."),
    (
        "We decided to use MySQL 8 because it is offered.",
        "Actually, we switched from MySQL to PostgreSQL 16 yesterday.",
    ),
    ("I live in Berlin.", "I moved to Munich."),
    ("I live in Berlin.", "I've just moved from Berlin to Munich."),
    ("I live in Berlin.", "I live in Munich now."),
    ("I work at Acme.", "I work for Globex now."),
    ("We use uv instead of pip.", "We no longer use uv."),
    ("The API port is 8080.", "Actually, the port is 9090, not 8080."),
    ("Our database is MySQL.", "Actually, our database is PostgreSQL, not MySQL."),
    ("Clara works at Acme.", "Clara no longer works at Acme."),
    ("The database is MySQL.", "The database is not MySQL."),
    ("We no longer use Redis.", "We use Redis again."),
    ("We're going with Svelte.", "We use React instead of Svelte."),
]
BESIDE = [
    ("We decided to use SQLite.", "We switched from MySQL to PostgreSQL."),
    ("We decided to use MySQL Workbench.", "We switched from MySQL to PostgreSQL."),
    ("I live in Berlin.", "I moved to Linux."),
    ("I live in Berlin.", "I moved to PostgreSQL."),
    ("I live in Berlin.", "We moved to Munich."),
    ("I love Berlin.", "I've moved from Berlin to Munich."),
    ("The API port is 8080.", "Actually, the host is 9090, not 8080."),
    ("I love coffee.", "We drink tea instead of coffee."),
    ("We decided to use SQLite.", "Maybe we switched from SQLite to PostgreSQL."),
]


def said(text: str, day: int, speaker: str = "Ana") -> dict[str, object]:
    return {"speaker": speaker, "text": text, "time": f"2026-03-{day:02}"}


def believed(memory: doxa.Memory) -> list[str]:
    return sorted(hit.text for hit in memory.recent(limit=50) if hit.space == "candidates")


@pytest.mark.parametrize(("earlier", "later"), CORRECTED)
def test_the_corrected_statement_leaves_recall_in_any_order(
    tmp_path: Path, earlier: str, later: str
) -> None:
    talk = [said(earlier, 1), said(later, 2)]
    for number, order in enumerate(itertools.permutations(talk)):
        with opened(tmp_path / f"{number}.db") as memory:
            for turn in order:
                memory.ingest([turn])
            assert believed(memory) == [later]
            before = memory.stats()["changes"]
            memory.ingest(talk)
            assert memory.stats()["changes"] == before
            assert memory.check() == []
            memory.verify()
    with opened(tmp_path / "at-once.db") as memory:
        memory.ingest(talk)
        assert believed(memory) == [later]


@pytest.mark.parametrize(("earlier", "later"), BESIDE)
def test_what_is_not_corrected_stays(tmp_path: Path, earlier: str, later: str) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([said(earlier, 1), said(later, 2)])
        assert earlier in believed(memory)


def test_a_correction_says_what_it_corrected_and_can_be_undone(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([said(CORRECTED[0][0], 1)])
        first = next(hit.kref for hit in memory.recent(kinds=("decision",)))
        made = memory.ingest([said(CORRECTED[0][1], 2)])
        assert made.candidates == 1 and len(made.changes) == 1
        new = next(hit.kref for hit in memory.recent(kinds=("decision",)))
        assert (new, "SUPERSEDES", first) in {
            (new, step.edge, step.kref) for step in memory.traverse(new).steps
        }
        assert any(
            step.edge == "DERIVED_FROM" and step.kref.endswith(".exchange")
            for step in memory.provenance(new).steps
        )
        old = memory.get(first)
        assert isinstance(old, Revision) and old.status == "deprecated"
        memory.undo(made.changes[0])
        assert believed(memory) == [CORRECTED[0][0]]


def test_saying_it_again_later_brings_it_back_but_not_what_a_person_retired(tmp_path: Path) -> None:
    talk = [
        said("We decided to use SQLite.", 1),
        said("We switched from SQLite to PostgreSQL.", 2),
        said("We decided to use SQLite.", 3),
    ]
    for number, order in enumerate(itertools.permutations(talk)):
        with opened(tmp_path / f"{number}.db") as memory:
            for turn in order:
                memory.ingest([turn])
            assert believed(memory) == ["We decided to use SQLite."]
    with opened(tmp_path / "retired.db") as memory:
        memory.ingest(talk[:1])
        memory.forget(
            next(hit.kref for hit in memory.recent(kinds=("decision",))).partition("?")[0]
        )
        memory.ingest(talk[2:])
        assert believed(memory) == []


def test_only_candidates_of_rules_about_the_same_subject_are_retired(tmp_path: Path) -> None:
    first, second = (
        said("We decided to use SQLite.", 1),
        said("We switched from SQLite to PostgreSQL.", 2),
    )
    with opened(tmp_path / "m.db") as memory:
        memory.ingest([first])
        kref = next(hit.kref for hit in memory.recent(kinds=("decision",)))
        memory.remember(
            "We decided to use SQLite here", facts=[("Ana", "decided to", "use SQLite")]
        )
        memory.tag(kref, "approved")
        memory.ingest([second])
        assert len(memory.recall("SQLite", kinds=("decision", "fact")).hits) == 3
    with opened(tmp_path / "revised.db") as memory:
        memory.ingest([first])
        memory.revise(
            next(hit.kref for hit in memory.recent(kinds=("decision",))),
            "We decided to use SQLite.",
            confidence=1.0,
        )
        memory.ingest([second])
        assert len(believed(memory)) == 2
    with opened(tmp_path / "others.db") as memory:
        memory.ingest([first, said("We switched from SQLite to PostgreSQL.", 2, speaker="Bo")])
        memory.ingest([second], project="other")
        assert len(believed(memory)) == 2


def test_the_sample_corrects_itself(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "m.db") as memory,
        as_file(files("doxa") / "sample" / "tea-shop.jsonl") as path,
    ):
        memory.ingest(path, project="tea-shop", trust="stated")
        texts = {
            hit.text: hit.status
            for hit in memory.recall(
                "MySQL PostgreSQL", project="tea-shop", space="candidates", history=True
            ).hits
        }
        assert (
            texts["We decided to use MySQL 8 because the hosting company offers it."]
            == "deprecated"
        )
        assert (
            texts["It is done: we moved from MySQL to PostgreSQL 16 yesterday evening."]
            == "current"
        )
