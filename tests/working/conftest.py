"""Real Redis servers for the tests, and the backends that they run on.

`scripts/redis.sh` provides redis-server where it is not installed; without it, or without the
package redis, the tests of that backend are skipped and say so.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from doxa.base.clock import FakeClock
from doxa.working import WorkingMemory, open_working

ROOT = Path(__file__).parents[2]
_FOLDERS = [Path(os.environ.get("DOXA_REDIS", ROOT / ".venv" / "redis")) / "bin"]
TTL_S = 3_600
Opener = Callable[..., WorkingMemory]


def program(name: str) -> str:
    """The path of a program of Redis; skips the test that needs it if there is none."""
    pytest.importorskip("redis", reason="the package redis is not installed (doxa-memory[redis])")
    for folder in _FOLDERS:
        if (folder / name).exists():
            return str(folder / name)
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}: run scripts/redis.sh")
    return found


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def started(arguments: list[str], port: int) -> subprocess.Popen[bytes]:
    """A server that answers at its port."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(500):
        if process.poll() is not None:
            raise AssertionError(f"{arguments[0]} ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return process
        except OSError:
            time.sleep(0.02)
    process.kill()
    raise AssertionError(f"{arguments[0]} does not answer")


def server_arguments(folder: Path, port: int, *more: str) -> list[str]:
    return [
        *(program("redis-server"), "--port", str(port), "--bind", "127.0.0.1"),
        *("--dir", str(folder), "--save", "", "--appendonly", "no", *more),
    ]


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    process = started(server_arguments(tmp_path_factory.mktemp("redis"), port), port)
    yield port
    process.terminate()
    process.wait()


@pytest.fixture(params=["sqlite", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty working memory; "" is SQLite."""
    if request.param == "sqlite":
        return ""
    port = request.getfixturevalue("redis_port")
    return f"redis://127.0.0.1:{port}/0?prefix={tmp_path.name}"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def opener(place: str, tmp_path: Path, clock: FakeClock) -> Iterator[Opener]:
    """Opens the same working memory any number of times."""
    opened: list[WorkingMemory] = []

    def call(*, read_only: bool = False, ttl_s: int = TTL_S) -> WorkingMemory:
        path = tmp_path / "m.db.working"
        opened.append(open_working(place, path, clock=clock, ttl_s=ttl_s, read_only=read_only))
        return opened[-1]

    yield call
    for one in opened:
        one.close()


@pytest.fixture
def working(opener: Opener) -> WorkingMemory:
    return opener()
