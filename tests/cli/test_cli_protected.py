"""A memory file that this user may not write: what only reads it is answered, and nothing next to
it changes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doxa.cli import app
from tests.fixtures_shared import opened
from tests.store.test_media import as_nobody, shared  # noqa: F401  # a fixture

PORT = "kref://default/port.fact"
READING = (
    ("recall", "port", "--words-only"),
    ("get", PORT),
    ("list",),
    ("history", PORT),
    ("log",),
    ("stats",),
    ("export",),
    ("verify",),
    ("events",),
)


def said(*words: object) -> str:
    """The exit code of a command and what it prints."""
    result = CliRunner().invoke(app, [*map(str, words)])
    return f"{result.exit_code} {result.output}"


@pytest.fixture(params=["the file", "the folder"])
def protected(
    request: pytest.FixtureRequest,
    shared: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Path]:
    """The file of a memory; it, or its folder too, cannot be written by anybody else."""
    folder = shared / "held"
    folder.mkdir()
    with opened(folder / "m.db") as memory:
        memory.remember("The service has port 8080", name="port")
    (folder / "m.db").chmod(0o444)
    folder.chmod(0o777 if request.param == "the file" else 0o555)
    (shared / "mine").mkdir()
    (shared / "mine").chmod(0o777)
    monkeypatch.setenv("HOME", str(shared / "mine"))
    monkeypatch.setenv("DOXA_DB", str(folder / "m.db"))
    monkeypatch.setenv("DOXA_EMBEDDER", "none")
    for number, words in enumerate((*READING, ("export", shared / "e.jsonl"))):
        # nobody may not be able to read the modules that a command imports
        assert said("--db", shared / f"{number}.db", "remember", "port", "--name", "port")
        assert said("--db", shared / f"{number}.db", *words).startswith("0 "), words
    yield folder / "m.db"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_what_only_reads_is_answered(protected: Path) -> None:
    before = protected.read_bytes()
    for words in READING:
        answer = as_nobody(lambda words=words: said(*words))  # type: ignore[misc]
        assert answer.startswith("0 "), (words, answer)
    assert "8080" in as_nobody(lambda: said("recall", "port", "--words-only"))
    target = protected.parent.parent / "mine" / "e.jsonl"
    assert as_nobody(lambda: said("export", target)).startswith("0 ")
    assert json.loads(target.read_text().splitlines()[0])["type"] == "doxa-export"
    refused = as_nobody(lambda: said("remember", "more"))
    assert refused.startswith("5 ") and "doxa cypher --read" in refused
    assert protected.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_what_only_reads_still_counts_where_the_file_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    monkeypatch.setenv("DOXA_DECAY", "on")
    monkeypatch.setenv("DOXA_EMBEDDER", "none")
    said("remember", "The service has port 8080", "--name", "port")
    assert said("recall", "port").startswith("0 ")
    assert "access" in said("log", "-n", "1")
