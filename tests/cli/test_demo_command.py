"""The commands that the demonstration prints at its end can be typed as they stand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doxa.demo import command


def test_the_command_to_go_on_with_runs(tmp_path: Path) -> None:
    words = command().split()
    assert not any(word.endswith(".py") for word in words)
    if words[0] != "doxa":
        words[0] = str(Path(words[0]).absolute())
    done = subprocess.run(
        [*words, "--help"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "recall" in done.stdout


def test_another_doxa_on_the_path_is_not_taken_for_this_one(tmp_path: Path) -> None:
    other = tmp_path / "doxa"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    before = os.environ["PATH"]
    os.environ["PATH"] = str(tmp_path)
    try:
        assert shutil.which("doxa") == str(other)
        assert command().endswith("-m doxa.cli")
        assert os.path.relpath(sys.executable) in command()
    finally:
        os.environ["PATH"] = before


def installation(folder: Path) -> Path:
    """An environment as tools make them: its interpreter is a link to another."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    script = folder / "bin" / "doxa"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return folder / "bin"


def test_the_installed_command_is_called_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`uv tool install` and pipx link the command of an environment into a folder of the path."""
    own, linked = installation(tmp_path / "tools" / "doxa-memory"), tmp_path / "linked"
    linked.mkdir()
    (linked / "doxa").symlink_to(own / "doxa")
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    for path in (own, linked):
        monkeypatch.setenv("PATH", str(path))
        assert command() == "doxa"


def test_in_an_environment_of_uvx_it_is_uvx_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = installation(tmp_path / "archive-v0" / "abc")
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command() == "uvx doxa-memory"
