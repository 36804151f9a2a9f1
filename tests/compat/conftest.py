"""A server in a process of its own for each module, and where the outside clients are that `scripts/compat.sh` installs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / ".venv" / "compat"
LOGIN = ("ana", "a-good-secret")


class ServerProcess:
    """The server, and what it says about itself."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.compat.server_process", str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port = int(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def resident_bytes(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write("memory\n")
        self.process.stdin.flush()
        return int(self._line())

    def stop(self) -> int:
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    made = ServerProcess(tmp_path_factory.mktemp("compat") / "graph.db")
    yield made
    assert made.stop() == 0
