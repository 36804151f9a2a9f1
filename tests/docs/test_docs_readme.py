"""The commands of the README, run in order in an empty folder that looks like a checkout after
`make`, without a network and without a key. Only lines that install are left out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_docs_examples import ROOT, blocks

README = ROOT / "README.md"
INSTALLS = re.compile(r"make (?:demo|test)\b")  # they make the environment that this runs in
NO_NETWORK = """
import socket

def refuse(*args, **kwargs):
    raise OSError("there is no network here")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The environment under the names that the README uses, a home with a history in it, no model
    and no network."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    doxa = tmp_path / ".venv" / "bin" / "doxa"
    doxa.write_text(f'#!/bin/sh\nexec {sys.executable} -m doxa.cli "$@"\n')
    python.chmod(0o755)
    doxa.chmod(0o755)
    shutil.copytree(
        ROOT / "tests" / "ingestion" / "fixtures" / "claude_code",
        tmp_path / "home" / ".claude" / "projects",
    )
    (tmp_path / "off" / "onnxruntime").mkdir(parents=True)
    (tmp_path / "off" / "onnxruntime" / "__init__.py").write_text(
        "raise ImportError('switched off')\n"
    )
    (tmp_path / "off" / "sitecustomize.py").write_text(NO_NETWORK)
    return tmp_path


def run(checkout: Path, *command: str) -> subprocess.CompletedProcess[str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("DOXA_", "XDG_"))
    }
    paths = {
        "PYTHONPATH": f"{checkout / 'off'}{os.pathsep}{ROOT / 'src'}",
        "HOME": str(checkout / "home"),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        command,
        cwd=checkout,
        env=kept | paths,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def test_there_is_no_network(checkout: Path) -> None:
    program = "import socket\nsocket.create_connection(('127.0.0.1', 9))\n"
    with pytest.raises(AssertionError, match="there is no network here"):
        run(checkout, ".venv/bin/python", "-c", program)


def commands() -> list[str]:
    return [
        line for block in blocks(README, "console") for line in block.splitlines() if line.strip()
    ]


def test_every_command_runs(checkout: Path) -> None:
    left = [line for line in commands() if not INSTALLS.match(line)]
    assert [line for line in commands() if line not in left] == [
        line for line in commands() if line.startswith("make ")
    ]
    assert len(left) >= 3
    outputs = [run(checkout, "bash", "-ec", line).stdout for line in left]
    assert "added: 4" in outputs[0]
    assert "memories" in outputs[1]


def test_every_python_block_runs(checkout: Path) -> None:
    found = blocks(README, "python")
    assert found
    for block in found:
        printed = run(checkout, ".venv/bin/python", "-c", block).stdout
        assert "kref://shop/deploy-day.decision?r=2" in printed


def test_the_entry_for_a_host_is_what_the_command_prints_and_starts(checkout: Path) -> None:
    (block,) = blocks(README, "json")
    (command,) = (line for line in commands() if line.endswith("--config"))
    shown, printed = json.loads(block), json.loads(run(checkout, "bash", "-ec", command).stdout)
    for page in (README, ROOT / "docs" / "guides" / "mcp.md"):
        assert blocks(page, "json")[0] == block
    entry, real = shown["mcpServers"]["memory"], printed["mcpServers"]["memory"]
    assert (entry["args"], real["command"]) == (real["args"], sys.executable)
    run(checkout, real["command"], *real["args"])  # its standard input ends at once, and so does it


def test_no_page_names_a_distribution_that_is_not_published() -> None:
    for page in (README, *(ROOT / "docs").rglob("*.md")):
        assert "pip install 'doxa-memory" not in page.read_text(), page
