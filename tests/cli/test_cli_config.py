"""`doxa config`, `--config`, and the settings of commands: what holds, where it was set, and that
commands go by it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config" / "doxa").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    return tmp_path


def doxa(
    home: Path, *words: str, code: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("DOXA_", "XDG_"))
    }
    kept = {name: value for name, value in kept.items() if not name.endswith("_API_KEY")}
    own = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "doxa.cli", *words],
        capture_output=True,
        text=True,
        cwd=home / "work",
        env=kept | own | variables,
    )
    assert done.returncode == code, done.stderr
    return done


def rows(home: Path, *words: str, **variables: str) -> dict[str, dict[str, Any]]:
    found = json.loads(doxa(home, *words, "config", "--json", **variables).stdout)
    return {one["setting"]: one for one in found["settings"]}


def users(home: Path, text: str) -> Path:
    path = home / "config" / "doxa" / "doxa.toml"
    path.write_text(text)
    return path


def test_it_shows_what_holds_and_where_it_was_set(home: Path) -> None:
    path = users(home, 'database = "m.db"\nproject = "shop"\n[policies]\ndecay = "on"\n')
    found = rows(home, "--project", "once", DOXA_DECAY="off", OPENAI_API_KEY="sk-123456")
    assert (found["project"]["value"], found["project"]["source"]) == ("once", "command line")
    assert (found["policies.decay"]["value"], found["policies.decay"]["source"]) == (
        "off",
        "environment",
    )
    assert (found["database"]["value"], found["database"]["source"]) == (
        str(path.with_name("m.db")),
        "file",
    )
    assert (found["models.model"]["value"], found["models.model"]["source"]) == ("none", "default")
    assert found["OPENAI_API_KEY"]["value"] == "***"
    text = doxa(home, "config", DOXA_DECAY="off").stdout
    assert f"configuration file: {path}" in text
    assert "(environment: DOXA_DECAY)" in text and f"(file: {path})" in text


def test_without_a_setting_the_memory_file_that_would_be_used_is_shown(home: Path) -> None:
    assert rows(home)["database"]["value"] == str(home / "data" / "doxa" / "memory.db")


def test_commands_go_by_the_file(home: Path) -> None:
    path = users(home, 'database = "m.db"\nproject = "shop"\n[models]\nembedder = "none"\n')
    doxa(home, "remember", "We deploy on Thursdays", "--name", "deploy-day")
    assert path.with_name("m.db").exists() and not (home / "data").exists()
    said = doxa(home, "recall", "when do we deploy?").stdout
    assert "kref://shop/deploy-day" in said
    assert "other" in doxa(home, "-p", "other", "recall", "when do we deploy?", code=3).stderr
    said = doxa(home, "recall", "when do we deploy?", DOXA_PROJECT="other").stdout
    assert "project other holds no memory" in said and "deploy-day" not in said
    entry = json.loads(doxa(home, "mcp", "--config").stdout)["mcpServers"]["memory"]["args"]
    assert entry[entry.index("--project") + 1] == "shop"


def test_a_named_file_holds_in_place_of_the_users(home: Path) -> None:
    users(home, 'project = "shop"\n')
    (home / "work" / "own.toml").write_text('project = "own"\n')
    assert rows(home, "--config", "own.toml")["project"]["value"] == "own"
    gone = doxa(home, "--config", "gone.toml", "stats", code=2)
    assert "gone.toml is not there" in gone.stderr


def test_python_and_the_command_line_open_the_same_file(home: Path) -> None:
    path = users(home, 'database = "m.db"\n[models]\nembedder = "none"\n')
    program = "import doxa\nwith doxa.open() as memory: print(memory.config.path, memory.embedder)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"XDG_CONFIG_HOME": str(home / "config"), "DOXA_CONFIG": ""},
        check=True,
    )
    assert done.stdout.split() == [str(path.with_name("m.db")), "None"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[models]\nmodel = "gpt"\n', "models.model in"),
        ('[models]\nollama_url = "http://10.0.0.5:11434"\n', "models.ollama_url in"),
        ("[policies]\nretain_every_s = 9999999999\n", "policies.retain_every_s in"),
    ],
)
def test_what_only_its_use_shows_to_be_wrong_names_key_and_file(
    home: Path, text: str, what: str
) -> None:
    path = users(home, text)
    error = json.loads(doxa(home, "stats", "--json", code=2).stderr)["error"]
    assert error["fields"]["field"] == f"{what} {path}"


def test_the_template_is_a_configuration(home: Path) -> None:
    text = doxa(home, "config", "--template").stdout
    users(home, text)
    assert {
        row["source"] for row in rows(home).values() if row["variable"].startswith("DOXA_")
    } == {"default"}
