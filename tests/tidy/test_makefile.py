"""Whatever was done before, `make` finds out what is missing: the probe decides, not a stamp. pip
is only noted here, never run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = """#!/bin/sh
case "$1 $2" in
"-m pip") echo "$@" >> pip.log;;
*) exec {python} "$@";;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose environment is the one that runs the tests, except pip."""
    folder = tmp_path / "a checkout"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    (folder / "src").symlink_to(ROOT / "src")
    python = folder / ".venv" / "bin" / "python"
    python.write_text(PYTHON.format(python=sys.executable))
    python.chmod(0o755)
    made(folder)  # writes the stamp
    return folder


def made(folder: Path, **env: str) -> list[str]:
    """What `make` asked of pip."""
    log = folder / "pip.log"
    log.unlink(missing_ok=True)
    paths = os.pathsep.join(filter(None, (env.pop("before", ""), str(ROOT / "src"))))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "ready"],
        cwd=folder,
        env=kept | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return log.read_text().splitlines() if log.exists() else []


def installs(calls: list[str]) -> bool:
    return any(call.endswith("-e .") for call in calls) and any(
        "requirements/test.txt" in call for call in calls
    )


def hidden(folder: Path, module: str) -> str:
    """A folder that stands before the environment and in which a module is broken."""
    place = folder / "broken" / module
    place.mkdir(parents=True)
    (place / "__init__.py").write_text("raise ImportError('broken')\n")
    return str(place.parent)


def test_a_sound_environment_is_left_alone(checkout: Path) -> None:
    assert [call for call in made(checkout) if "./weights" not in call] == []


def test_a_moved_checkout_and_a_changed_lock_install_again(checkout: Path) -> None:
    moved = checkout.rename(checkout.with_name("moved"))
    assert installs(made(moved))
    assert not installs(made(moved))
    with (moved / "requirements" / "test.txt").open("a") as lock:
        lock.write("\n")
    assert installs(made(moved))
    (moved / "src").unlink()
    shutil.copytree(
        ROOT / "src" / "doxa", moved / "src" / "doxa", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert installs(made(moved))  # the environment still runs the code of another folder


@pytest.mark.parametrize("module", ["apsw", "msgspec", "typer"])
def test_a_damaged_environment_is_repaired(checkout: Path, module: str) -> None:
    calls = made(checkout, before=hidden(checkout, module))
    assert installs(calls)
    assert any(
        "--force-reinstall" in call for call in calls
    )  # pip believes what is damaged to be there


def test_missing_weights_are_tried_again(checkout: Path) -> None:
    before = hidden(checkout, "doxa_memory_minilm")
    for _ in range(2):
        calls = made(checkout, before=before)
        assert not installs(calls)
        assert ["./weights" in call for call in calls] == [True]
