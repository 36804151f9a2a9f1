"""The commands that the demonstration prints at its end can be typed as they stand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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
