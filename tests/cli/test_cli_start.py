"""Commands start at once: what they import is checked, since a time depends on the machine.

`doxa --version`, `doxa --help` and the help of a command need neither the store nor numbers nor a
model. On two cores they take 0.03, 0.12 and 0.18 s; with all of doxa imported each took 0.37 s.
What opens a memory needs neither typer nor numpy, and compiles no expression that it does not use.
"""

from __future__ import annotations

import os
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


def test_what_only_counts_imports_no_numbers(tmp_path: Path) -> None:
    found = imported("--db", str(tmp_path / "memory.db"), "stats", cwd=tmp_path)
    assert not found & {"numpy", "doxa.recall.engine"}


def test_what_opens_a_memory_does_import_the_store(tmp_path: Path) -> None:
    """The lists above hold names that exist: a command which needs them imports them."""
    words = ("recall", "Bonn", "--words-only")
    found = imported("--db", str(tmp_path / "memory.db"), *words, cwd=tmp_path)
    assert found >= {"apsw", "numpy", "Stemmer", "doxa.store", "doxa.belief", "doxa.app.memory"}


def imported_by(program: str) -> set[str]:
    """Return the modules that a program has imported."""
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines())


def test_importing_doxa_imports_nothing_else() -> None:
    bare = imported_by("pass")
    found = imported_by("import doxa")
    assert {name for name in found if name.startswith("doxa")} == {"doxa"}
    others = {name.partition(".")[0] for name in found - bare} - sys.stdlib_module_names
    assert others == {"doxa"}


def test_opening_a_memory_needs_no_numbers_and_no_grammar(tmp_path: Path) -> None:
    found = imported_by(f"import doxa; doxa.open({str(tmp_path / 'm.db')!r}).close()")
    assert not found & {"numpy", "typer", "pydantic", "onnxruntime", "doxa.agent.laws"}
    assert not found & {"doxa.recall.engine", "doxa.language.sentences", "doxa.query.engine"}


def test_a_recall_needs_no_command_line_library(tmp_path: Path) -> None:
    memory = str(tmp_path / "memory.db")
    imported("--db", memory, "remember", "The tea is at four.", cwd=tmp_path)
    found = imported("--db", memory, "recall", "tea", "--words-only", cwd=tmp_path)
    assert not found & {"typer", "rich", "pydantic", "onnxruntime", "tokenizers"}
    assert not found & {"doxa.language.sentences", "doxa.agent.laws", "doxa.query.engine"}
    assert found >= {"numpy", "doxa.recall.engine"}


def test_the_servers_and_the_hooks_handle_hits_without_numpy() -> None:
    found = imported_by("import doxa.servers.mcp.tools, doxa.hosts.tool")
    assert not found & {"numpy", "doxa.recall.engine", "doxa.hosts.pipeline"}


def test_opening_a_memory_compiles_few_expressions(tmp_path: Path) -> None:
    """350 were compiled when each module compiled its own; a tenth of a second."""
    program = (
        "import re._compiler as compiler\n"
        "compile, count = compiler.compile, []\n"
        "compiler.compile = lambda *given: (count.append(given), compile(*given))[1]\n"
        "import doxa\n"
        f"doxa.open({str(tmp_path / 'm.db')!r}).close()\n"
        "print(len(count))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) <= 80


def ended(before: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that has something of its own to do at the end."""
    program = f"{before}\nimport sys\nsys.argv[1:] = {list(words)!r}\nfrom doxa.cli import main\n"
    return subprocess.run(
        [sys.executable, "-c", f"{program}main()"], capture_output=True, text=True, cwd=cwd
    )


def test_a_short_command_ends_without_being_taken_apart(tmp_path: Path) -> None:
    before = (
        "import atexit, sys\n"
        "class Held:\n"
        "    def __del__(self): sys.stderr.write('taken apart')\n"
        "held = Held()\n"
        "atexit.register(lambda: sys.stderr.write('handlers ran'))\n"
    )
    done = ended(
        before, "--db", str(tmp_path / "m.db"), "remember", "Ana lives in Bonn", cwd=tmp_path
    )
    assert done.returncode == 0 and "Bonn" in done.stdout
    assert "handlers ran" in done.stderr and "taken apart" not in done.stderr
    again = ended(
        "", "--db", str(tmp_path / "m.db"), "recall", "Bonn", "--words-only", cwd=tmp_path
    )
    assert again.returncode == 0 and "Bonn" in again.stdout


def test_a_thread_that_works_is_waited_for(tmp_path: Path) -> None:
    before = (
        "import sys, threading, time\n"
        "def work():\n"
        "    while 'doxa.cli.commands' not in sys.modules: time.sleep(0.01)\n"
        "    time.sleep(1.5)\n"
        "    sys.stderr.write('worked')\n"
        "threading.Thread(target=work).start()\n"
    )
    done = ended(before, "--db", str(tmp_path / "m.db"), "stats", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr.endswith("worked")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_output_that_is_left_and_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """What a handler writes at the end finds no space: then the interpreter ends and says so."""
    program = (
        "import atexit, sys\n"
        "sys.argv[1:] = ['stats']\n"
        "atexit.register(lambda: sys.stdout.write('left'))\n"
        "from doxa.cli import main\nmain()\n"
    )
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
        )
    assert done.returncode == 120 and b"No space left" in done.stderr
