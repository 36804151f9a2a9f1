"""The one importer: what it stores of messages and documents, once, and how it goes on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.base.errors import InputError, RoleError
from doxa.hosts.capture import capture
from doxa.hosts.events import HookEvent
from doxa.hosts.spool import Spool
from doxa.imports import registry
from doxa.imports.contract import (
    START,
    FormatReader,
    ImportedEntry,
    ImportLog,
    ImportSource,
    Position,
    Read,
)
from doxa.imports.importing import Importer, ImportOptions
from doxa.store import check, digest, replayed_digest
from tests.fixtures_shared import opened
from tests.imports.import_files import code_line, imported, lines, said


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        yield made
        assert check(made.store) == []
        assert digest(made.store) == replayed_digest(made.store)


HISTORY = (
    code_line("I live in Berlin.", at=0),
    code_line([{"type": "text", "text": "Noted."}], "assistant", at=1),
    code_line("Ship it on Friday.", at=2, cwd="/srv/other"),
)


def test_a_history_is_imported_once(memory: Memory, tmp_path: Path) -> None:
    place = lines(tmp_path / "h" / "s1.jsonl", *HISTORY)
    projects = {"/srv/shop": "p", "/srv/other": "q"}
    dry = imported(memory, tmp_path / "h", projects=projects, dry_run=True)
    assert (dry.added, dry.known, dry.projects) == (3, 0, {"p": 2, "q": 1})
    assert said(memory) == []
    done = imported(memory, tmp_path / "h", projects=projects)
    assert (done.added, done.known, done.sessions, done.skipped) == (3, 0, 2, 0)
    assert done.candidates == 1
    assert said(memory) == [("s1", "user", "I live in Berlin."), ("s1", "assistant", "Noted.")]
    assert said(memory, "q") == [("s1", "user", "Ship it on Friday.")]
    for dry_run in (True, False):
        again = imported(memory, place, projects=projects, dry_run=dry_run)
        assert (again.added, again.known, again.changes) == (0, 3, ())


def test_what_hooks_captured_is_known_and_the_other_way_round(
    memory: Memory, tmp_path: Path
) -> None:
    session = memory.session(role="agent", project="p")
    spool = Spool(tmp_path / "hooks")

    def hooked(kind: str, text: str) -> int:
        spool.append(HookEvent(kind, "claude-code", "s1", "/srv/shop", text), "p")
        return capture(session, spool).added

    secret = "The token is ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    reminded = "  Deploy. <system-reminder>x</system-reminder>"
    assert hooked("prompt", "I live in Berlin.") == hooked("prompt", secret) == 1
    assert hooked("prompt", reminded) == 1
    file = lines(
        tmp_path / "s1.jsonl",
        *HISTORY[:2],
        code_line(secret, at=3),
        code_line(reminded, at=4),
    )
    done = imported(memory, file)
    assert (done.added, done.known, done.redacted) == (1, 3, 1)
    assert hooked("answer", "Noted.") == 0
    assert sum("ghp_" in text for _, _, text in said(memory)) == 0


def test_an_import_goes_on_where_it_was(memory: Memory, tmp_path: Path) -> None:
    file = lines(tmp_path / "h" / "s1.jsonl", *HISTORY)
    assert imported(memory, tmp_path / "h", cursors=True).added == 3
    again = imported(memory, tmp_path / "h", cursors=True)
    assert (again.unchanged, again.sources, again.known) == (1, 0, 0)
    with file.open("a") as grown:
        grown.write('{"type": "user", "sessionId": "s1", "mess')
    cut = imported(memory, tmp_path / "h", cursors=True)
    assert (cut.added, cut.known, cut.skipped, cut.left_out) == (0, 0, 0, {"unfinished lines": 1})
    with file.open("a") as grown:
        grown.write('age": {"content": "And on Monday."}}\n')
    more = imported(memory, tmp_path / "h", cursors=True)
    assert (more.added, more.known) == (1, 0)
    # another file of the same name is read from its beginning
    lines(file, code_line("Something else entirely.", at=9), *HISTORY)
    other = imported(memory, tmp_path / "h", cursors=True)
    assert (other.added, other.known) == (1, 3)


def test_an_import_that_was_undone_is_done_again(memory: Memory, tmp_path: Path) -> None:
    file = lines(tmp_path / "s1.jsonl", *HISTORY)
    done = imported(memory, file, cursors=True)
    before = said(memory)
    for change in reversed(done.changes):
        memory.undo(change)
    assert said(memory) == []
    assert imported(memory, file, cursors=True).added == 3
    assert said(memory) == before


class Paragraphs:
    """A format for these tests: paragraphs, `name: text` where the first word ends in a colon."""

    name, title, own, documents, suffixes = "test-notes", "notes", False, True, (".notes",)

    def recognises(self, path: Path, start: bytes) -> bool:
        return path.suffix == ".notes"

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        for part in source.path.read_text().split("\n\n"):
            name, colon, rest = part.partition(": ")
            text, _, to = (rest if colon else part).partition(" -> ")
            links = (("see", to),) if to else ()
            yield Read(
                ImportedEntry(source.path.name, text, name=name if colon else "", links=links)
            )


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> None:
    reader: FormatReader = Paragraphs()
    assert not list(registry.sources(Path("/nowhere"), ImportLog())) if False else reader
    monkeypatch.setattr(registry, "READERS", (*registry.READERS, reader))


@pytest.mark.usefixtures("notes")
def test_a_documents_paragraphs_become_beliefs_that_depend_on_it(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "A.notes"
    file.write_text("We deploy on Thursdays.\n\nport: The port is 8080. -> db\n\ndb: MySQL runs.")
    done = imported(memory, file)
    assert (done.added, done.beliefs, done.untrusted) == (3, 3, 3)
    hits = {hit.text: hit for hit in memory.recall("port deploy runs", kinds=("note",)).hits}
    assert {hit.trust for hit in hits.values()} == {"untrusted"} and len(hits) == 3
    assert len(list(memory.run("MATCH (a)-[:REFERENCED {relation: 'see'}]->(b) RETURN b"))) == 1
    assert imported(memory, file).changes == ()
    # a changed text revises what has a name, and what is deleted loses its support
    file.write_text("port: The port is 9090. -> db\n\ndb: MySQL runs.")
    done = imported(memory, file)
    assert (done.beliefs, done.absent) == (1, 2)
    hits = {hit.text: hit for hit in memory.recall("port deploy runs", kinds=("note",)).hits}
    assert hits["The port is 9090."].unsupported == ""
    assert hits["We deploy on Thursdays."].unsupported and "The port is 8080." not in hits
    # it is back
    file.write_text("We deploy on Thursdays.\n\nport: The port is 9090. -> db\n\ndb: MySQL runs.")
    done = imported(memory, file)
    assert (done.back, done.beliefs) == (1, 0)
    hits = {hit.text: hit for hit in memory.recall("port deploy runs", kinds=("note",)).hits}
    assert not any(hit.unsupported for hit in hits.values())
    # what a person retired stays retired
    memory.deprecate(hits["We deploy on Thursdays."].kref.partition("?")[0])
    file.write_text(file.read_text() + "\n\nMore.")
    assert imported(memory, file).beliefs == 1
    assert len(memory.recall("deploy Thursdays", kinds=("note",)).hits) == 0


@pytest.mark.usefixtures("notes")
def test_an_operator_vouches_for_a_document_before_or_after(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "A.notes"
    file.write_text("We deploy on Thursdays.")
    imported(memory, file)
    done = imported(memory, file, trust="stated")
    assert (done.vouched, done.beliefs) == (1, 1)
    assert memory.recall("deploy", trust="stated").hits[0].text == "We deploy on Thursdays."
    assert imported(memory, file).beliefs == 0


def test_what_is_no_history_is_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("hello\n")
    for place in (tmp_path / "x.jsonl", tmp_path / "nothing", tmp_path):
        with pytest.raises(InputError):
            imported(memory, place)
    with pytest.raises(InputError, match="skipped"):
        imported(memory, tmp_path / "x.jsonl", "claude-code")
    assert Position() == START


def test_an_agent_does_not_vouch_for_a_file(memory: Memory, tmp_path: Path) -> None:
    file = lines(tmp_path / "s1.jsonl", *HISTORY)
    agent = memory.session(role="agent", project="p")
    options = ImportOptions(project_of=lambda _: "p", trust="stated")
    with pytest.raises(RoleError, match="Only an operator vouches"):
        Importer(memory.store, agent.identity, options)
    with pytest.raises(RoleError, match="Only an operator vouches"):
        agent.ingest(file, trust="stated")
    assert said(memory) == []


def test_a_message_that_the_memory_refuses_keeps_no_other_out(
    memory: Memory, tmp_path: Path
) -> None:
    memory.run("CREATE CONSTRAINT FOR (n:Exchange) REQUIRE n.text IS UNIQUE")
    texts = ["Ship it on Friday.", "Then test it.", "Ship it on Friday.", "And rest.", "Go on."]
    place = lines(
        tmp_path / "s1.jsonl",
        *(
            code_line(text, at=at)
            if at != 2
            else code_line([{"type": "text", "text": text}], "assistant", at=at)
            for at, text in enumerate(texts)
        ),
    )
    done = imported(memory, place)
    assert (done.added, done.skipped) == (4, 1)
    assert any("constraint" in place for place in done.places)
    assert [text for _, _, text in said(memory)] == [*texts[:2], *texts[3:]]
    assert imported(memory, place).added == 0
