"""Commands start at once: what they import is checked, since a time depends on the machine.

`doxa --version`, `doxa --help` and the help of a command need neither the store nor numbers nor a
model. On two cores they take 0.03, 0.12 and 0.18 s; with all of doxa imported each took 0.37 s.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "apsw",
    "numpy",
    "Stemmer",
    "re2",
    "onnxruntime",
    "tokenizers",
    "httpx2",
    "mcp",
    "starlette",
}
OWN = {
    "doxa.store",
    "doxa.belief",
    "doxa.query",
    "doxa.recall",
    "doxa.models",
    "doxa.app.memory",
    "doxa.app.session",
    "doxa.app.models",
    "doxa.servers",
}


def imported(*words: str, cwd: Path) -> set[str]:
    """Return the modules that a command has imported when it ends."""
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: sys.stderr.write('\\n'.join(sys.modules)))\n"
        f"sys.argv[1:] = {list(words)!r}\n"
        "from doxa.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=cwd
    )
    assert done.stdout.strip(), done.stderr
    return set(done.stderr.splitlines())


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["recall", "--help"]])
def test_a_command_that_opens_no_memory_imports_neither_store_nor_model(
    words: list[str], tmp_path: Path
) -> None:
    found = imported(*words, cwd=tmp_path)
    assert found & (HEAVY | OWN) == set()


def test_the_version_needs_no_command_line_library(tmp_path: Path) -> None:
    found = imported("--version", cwd=tmp_path)
    assert not found & {"typer", "rich", "msgspec", "doxa.app"}


def test_what_opens_a_memory_does_import_the_store(tmp_path: Path) -> None:
    """The lists above hold names that exist: a command which needs them imports them."""
    found = imported("--db", str(tmp_path / "memory.db"), "stats", cwd=tmp_path)
    assert found >= {"apsw", "numpy", "Stemmer", "doxa.store", "doxa.belief", "doxa.app.memory"}
