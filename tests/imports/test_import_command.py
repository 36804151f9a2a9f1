"""`doxa import` of histories, and `doxa watch`: projects, dry run, what is read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from doxa.cli.application import app
from tests.imports.import_files import code_line, lines

Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("DOXA_EMBEDDER", "none")

    def call(*words: object, exit: int = 0) -> Any:
        given = [str(word) for word in words]
        done = CliRunner().invoke(app, [*given, "--db", str(tmp_path / "m.db"), "--json"])
        assert done.exit_code == exit, done.output
        found = [json.loads(line) for line in (done.stderr if exit else done.stdout).splitlines()]
        return found[0] if len(found) == 1 else found

    return call


def test_each_conversation_goes_to_the_project_of_its_folder(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "projects"
    used = {"type": "tool_use", "id": "c", "name": "Bash", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "out"}
    lines(
        place / "a" / "s1.jsonl",
        code_line("Deploys are on Fridays."),
        code_line("Noted.", "assistant", at=1),
        code_line("A note.", at=2, cwd="/srv/web"),
        code_line([used], "assistant", at=3),
        code_line([result], at=4),
    )
    dry = run("import", place, "-p", "auto", "--dry-run")
    assert (dry["added"], dry["projects"], dry["left_out"]) == (
        3,
        {"shop": 2, "web": 1},
        {"results of tools": 1},
    )
    assert not (tmp_path / "home" / "doxa" / "projects.toml").exists()
    assert run("import", place, "-p", "auto", "--no-embed")["added"] == 3
    assert run("import", place, "-p", "auto", "--no-embed")["unchanged"] == 1
    assert run("import", place, "-p", "auto", "--no-embed", "--again")["known"] == 3
    assert run("import", place, "-p", "auto", "--no-embed", "--include", "tools")["added"] == 1
    assert run("recall", "Fridays", "-p", "shop")["hits"]
    assert run("import", place, "--include", "dreams", exit=2)["error"]["code"] == "input"


def test_watch_finds_what_the_hosts_keep(run: Run, tmp_path: Path) -> None:
    """Without a place, where the known programs keep theirs; what was imported is known."""
    home = tmp_path / "home" / "projects"  # CLAUDE_CONFIG_DIR is home here
    lines(home / "a" / "s1.jsonl", code_line("Deploys are on Fridays."))
    assert run("import", home, "-p", "auto", "--no-embed")["added"] == 1
    assert run("watch", "--once") == []
    lines(home / "a" / "s2.jsonl", code_line("And on Mondays.", session="s2"))
    found = run("watch", "--once")
    assert (found["added"], found["unchanged"], found["projects"]) == (1, 1, {"shop": 1})
    assert run("watch", tmp_path / "nothing", "--once") == []
