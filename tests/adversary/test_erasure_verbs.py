"""The verbs of erasure and retention, through Python and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doxa.app import open_memory
from doxa.base.errors import ConflictError, InputError, RoleError, StoreError
from doxa.cli.application import app


def cli(path: Path, *words: str) -> str:
    """Run a command; fail if it fails."""
    done = CliRunner().invoke(app, [*words, "--db", str(path)])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_line_erases_proves_and_names_the_backup(tmp_path: Path) -> None:
    path, copy = tmp_path / "m.db", tmp_path / "copy.db"
    with open_memory(path, role="operator", embedder=None) as memory:
        memory.run("CREATE (:Person {name: 'Zqxcanary'}), (:Person {name: 'Ben'})")
    cli(path, "backup", str(copy))
    shown = json.loads(cli(path, "erase", "--text", "zqxcanary", "--json"))
    assert not shown["done"] and shown["krefs"] == ["n:1.name"]
    cli(path, "erase", "--text", "zqxcanary", "--confirm", shown["token"])
    proof = json.loads(cli(path, "verify-erased", "Zqxcanary", "--json"))
    assert proof["erased"] and not proof["complete"]
    assert {"place": f"backup {copy}", "state": "holds"}.items() <= proof["traces"][-1].items()
    assert b"zqxcanary" not in path.read_bytes().lower()
    text = cli(path, "verify-erased", "Zqxcanary")
    assert "not from every copy" in text and str(copy) in text


def test_holds_are_placed_listed_released_and_logged(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with open_memory(path, role="operator", embedder=None) as memory:
        kref = memory.remember("Ana likes tea", project="p", kind="note").change.kref
        memory.hold("case 7", "project", "p", reason="a suit")
        with pytest.raises(ConflictError, match="already"):
            memory.hold("case 7", "text", "tea")
        with pytest.raises(InputError):
            memory.hold("x", "colour", "red")
        with pytest.raises(ConflictError, match="case 7"):
            memory.forget(kref, erase=True)
    assert "case 7: project p" in cli(path, "holds")
    cli(path, "release", "case 7", "--reason", "settled")
    assert "no legal hold" in cli(path, "holds")
    with open_memory(path, role="operator", embedder=None) as memory:
        assert [receipt.op for receipt in memory.log(limit=2)] == ["release", "hold"]
        memory.forget(kref, erase=True)
    with open_memory(path, role="operator", embedder=None) as memory:
        memory.hold("y", "text", "tea")
    with open_memory(path, embedder=None) as agent:
        for call in (
            lambda: agent.hold("z", "text", "tea"),
            agent.retain,
            lambda: agent.release("y"),
        ):
            with pytest.raises(RoleError, match="operator"):
                call()


def test_one_subject_is_exported_whole_and_alone(tmp_path: Path) -> None:
    target = tmp_path / "ana.jsonl"
    with open_memory(tmp_path / "m.db", role="operator", embedder=None) as memory:
        memory.ingest(
            [
                {"role": "user", "speaker": "Ana", "text": "The train was late", "thread": "t"},
                {"role": "user", "speaker": "Ben", "text": "The bus was on time", "thread": "t"},
            ],
            project="p",
        )
        memory.remember("Ana lives in Graz", project="p", kind="note")
        memory.remember("Anatol lives in Linz", project="p", kind="note")
        memory.run("CREATE (:Card {of: 'x'})")
        memory.run("MATCH (c:Card) SET c.of = 'ANA'")
        memory.run("MATCH (c:Card) SET c.of = 'y'")
        count = memory.export_subject("Ana", target)
        with pytest.raises(StoreError):
            memory.export_subject("Ana", target)
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert len(lines) == count and lines[0]["type"] == "subject"
    text = target.read_text()
    assert "train was late" in text and "Graz" in text and "ANA" in text
    assert "bus was on time" not in text and "Anatol" not in text
    assert target.stat().st_mode & 0o077 == 0
    assert any(line.get("name") == "HAS_REVISION" for line in lines)
