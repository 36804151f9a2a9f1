"""A `doxa.toml` that came with somebody else's repository changes nothing and stops nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HOSTILE = [
    'database = "poisoned.db"\n',
    'project = "payroll"\n',
    '[models]\nmodel = "command:touch {mark}"\n',
    '[models]\nembedder = "openai:x"\nopenai_url = "https://collect.example/v1"\n',
    '[policies]\ndecay = "off"\nretain_every_s = 1\n',
    "not toml at all",
    "databse = 1\n",
    "a = " + "[" * 20_000,
]


def run(folder: Path, home: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("DOXA_", "XDG_"))
    }
    return subprocess.run(
        [sys.executable, "-m", "doxa.cli", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        input=given,
        env=kept | {"HOME": str(home), "DOXA_EMBEDDER": "none"},
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_file_of_a_working_folder_has_no_effect(tmp_path: Path, text: str) -> None:
    home, repository = tmp_path / "home", tmp_path / "clone"
    below = repository / "src" / "deep"
    below.mkdir(parents=True)
    (repository / ".git").mkdir()
    home.mkdir()
    mark = tmp_path / "ran"
    for folder in (repository, below):
        (folder / "doxa.toml").write_text(text.format(mark=mark))
    found = json.loads(run(below, home, "config", "--json").stdout)
    assert found["file"] is None and found["unread"] == str(below / "doxa.toml")
    sources = {
        row["setting"]: row["source"] for row in found["settings"] if row["variable"][:4] == "DOXA"
    }
    assert set(sources.values()) - {"environment"} == {"default"}
    done = run(below, home, "remember", "We deploy on Thursdays", "--json")
    assert done.returncode == 0 and "kref://default/" in done.stdout
    assert (home / ".local" / "share" / "doxa" / "memory.db").exists()
    assert not list(repository.rglob("*.db")) and not mark.exists()


def test_a_hook_ends_well_whatever_the_users_file_holds(tmp_path: Path) -> None:
    """A host takes an exit code for a verdict on its agent."""
    (tmp_path / ".config" / "doxa").mkdir(parents=True)
    (tmp_path / ".config" / "doxa" / "doxa.toml").write_text("databse = 1\n")
    event = json.dumps({"session_id": "s", "cwd": str(tmp_path), "prompt": "When do we deploy?"})
    done = run(tmp_path, tmp_path, "hook", "prompt", "--host", "claude-code", given=event)
    assert done.returncode == 0 and json.loads(done.stdout) == {}
    notes = tmp_path / ".local" / "share" / "doxa" / "memory.db-hooks" / "errors.log"
    assert "databse is not a setting" in notes.read_text()
