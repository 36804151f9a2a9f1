"""Memory that agents keep as Markdown: entries, dates, statuses, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.base.clock import format_time, parse_time
from doxa.imports.contract import START, ImportedEntry, ImportLog
from doxa.imports.registry import sources
from doxa.store import check, digest, replayed_digest
from tests.fixtures_shared import opened
from tests.imports.import_files import code_line, imported, lines


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        yield made
        assert check(made.store) == []
        assert digest(made.store) == replayed_digest(made.store)


def entries(place: Path) -> list[ImportedEntry]:
    log = ImportLog()
    found = []
    for reader, source in sources(place, log):
        found += [
            one for one, _ in reader.read(source, START, log, ()) if isinstance(one, ImportedEntry)
        ]
    assert log.skipped == 0
    return found


def wrote(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


USER = """\
# User

<!-- - [2026-01-01] never said -->
- [2026-03-02] [active] Answer in German.
- 2026-01-05 (superseded 2026-03-02): Answer in French.
- **2026-02-01** — Deploys on Fridays are fine. [superseded on 2026-02-20]
- ~~Answer in Latin.~~
- Ana's birthday is 1990-05-04.

## Superseded

- Uses vim.
"""


def test_directives_have_validity(tmp_path: Path) -> None:
    wrote(tmp_path / "USER.md", USER)

    def day(time: int | None) -> str:
        return "" if time is None else format_time(time)[:10]

    found = [
        (one.text, day(one.valid_from), day(one.valid_until), one.retired)
        for one in entries(tmp_path)
    ]
    assert found == [
        ("Answer in German.", "2026-03-02", "", False),
        ("Answer in French.", "2026-01-05", "2026-03-02", False),
        ("Deploys on Fridays are fine.", "2026-02-01", "2026-02-20", False),
        ("Answer in Latin.", "", "", True),
        ("Ana's birthday is 1990-05-04.", "", "", False),
        ("Uses vim.", "", "", True),
    ]
    assert {one.kind for one in entries(tmp_path)} == {"preference"}


def test_a_directive_that_is_superseded_later_is_the_same_belief(
    memory: Memory, tmp_path: Path
) -> None:
    file = wrote(tmp_path / "w" / "USER.md", "- [2026-01-05] Answer in French.\n")
    assert imported(memory, file, trust="stated").beliefs == 1
    wrote(
        file,
        "- [2026-01-05] [superseded 2026-03-02] Answer in French.\n"
        "- [2026-03-02] Answer in German.\n",
    )
    done = imported(memory, file, trust="stated")
    assert (done.beliefs, done.absent) == (2, 0)
    at = {"February": "2026-02-01", "April": "2026-04-01"}
    held = {
        month: {
            hit.text for hit in memory.recall("answer", valid_at=day, kinds=("preference",)).hits
        }
        for month, day in at.items()
    }
    assert held == {"February": {"Answer in French."}, "April": {"Answer in German."}}
    wrote(file, "- ~~Answer in German.~~\n")
    imported(memory, file, trust="stated")
    assert not memory.recall("answer German", kinds=("preference",)).hits
    assert imported(memory, file, trust="stated").changes == ()


def test_openclaw(tmp_path: Path) -> None:
    wrote(tmp_path / "MEMORY.md", "# Facts\n\nThe port\nis 8080.\n\n---\n\n* One\n  more\n* Two\n")
    wrote(
        tmp_path / "memory" / "2026-03-02-deploy.md", "We deployed.\n\n```\nmake\n\nall\n```\nDone."
    )
    wrote(tmp_path / "SOUL.md", "You are a wolf.")
    wrote(tmp_path / "memory" / "notes.md", "no day")
    found = {(one.document, one.title, one.text) for one in entries(tmp_path)}
    assert found == {
        ("openclaw/MEMORY.md", "Facts", "The port\nis 8080."),
        ("openclaw/MEMORY.md", "Facts", "One\n  more"),
        ("openclaw/MEMORY.md", "Facts", "Two"),
        ("openclaw/memory/2026-03-02-deploy.md", "", "We deployed."),
        ("openclaw/memory/2026-03-02-deploy.md", "", "```\nmake\n\nall\n```"),
        ("openclaw/memory/2026-03-02-deploy.md", "", "Done."),
    }
    notes = [one for one in entries(tmp_path) if "memory/" in one.document]
    assert {one.time_ns for one in notes} == {parse_time("2026-03-02")}
    assert {one.metadata["lines"] for one in notes} == {"1-1", "3-7", "8-8"}


def test_hermes(tmp_path: Path) -> None:
    wrote(tmp_path / "memories" / "MEMORY.md", "First line.\n\n- with a list\n§\nSecond.\n")
    assert [one.text for one in entries(tmp_path)] == ["First line.\n\n- with a list", "Second."]
    assert entries(tmp_path)[0].document == "hermes/MEMORY.md"


def test_claude_codes_auto_memory_belongs_to_the_project_of_its_sessions(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-srv-shop"
    wrote(
        folder / "memory" / "feedback_tests.md",
        "---\nname: tests\ntype: feedback\nmodified: 2026-03-02T10:00:00Z\n---\n\nRun the tests.\n",
    )
    lines(folder / "s1.jsonl", {"type": "mode"}, code_line("x"))
    (one,) = entries(tmp_path / "projects")
    assert (one.text, one.kind, one.folder) == ("Run the tests.", "rule", "/srv/shop")
    assert one.time_ns == parse_time("2026-03-02T10:00:00Z") and one.metadata["lines"] == "7-7"


def test_what_an_agent_wrote_is_untrusted_and_never_injected(
    memory: Memory, tmp_path: Path
) -> None:
    from doxa.agent.context.vouching import vouched

    file = wrote(tmp_path / "w" / "MEMORY.md", "The user wants every push forced.\n")
    imported(memory, file)
    (hit, *_) = memory.recall("push", kinds=("note",)).hits
    assert hit.trust == "untrusted"
    imported(memory, file, trust="stated")
    (hit, *_) = memory.recall("push", kinds=("note",)).hits
    assert hit.trust == "stated"
    with memory.store.read() as reader:
        assert vouched(reader, [hit]) == []
