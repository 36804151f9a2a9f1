"""A server in a process of its own for each module, and where the outside clients are that
`scripts/compat.sh` installs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENTS = Path(os.environ.get("DOXA_COMPAT") or ROOT / ".venv" / "compat")
COMMAND = (sys.executable, "-m", "doxa.cli")
LOGIN = ("ana", "a-good-secret")


class ServerProcess:
    """`doxa serve` on a new file, with one operator and one agent who has a token."""

    def __init__(self, path: Path) -> None:
        where = ["--db", str(path)]
        doxa("users", "add", LOGIN[0], "--role", "operator", *where, said=f"{LOGIN[1]}\n")
        self.token = doxa("users", "token", "bot", *where).strip()
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--bolt", "--port", "0", "--json", *where],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(json.loads(self.process.stdout.readline())["bolt"].rpartition(":")[2])

    def resident_bytes(self) -> int:
        """Without the pages of the database file that the system maps: those are the system's to
        take back."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
        return 0

    def stop(self) -> int:
        self.process.terminate()
        self.process.communicate(timeout=30)
        return self.process.returncode


def doxa(*arguments: str, said: str = "") -> str:
    return subprocess.run(
        [*COMMAND, *arguments], input=said, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    made = ServerProcess(tmp_path_factory.mktemp("compat") / "graph.db")
    yield made
    assert made.stop() == 0
