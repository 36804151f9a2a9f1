"""The engines that the contract is tested on: a folder, and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from doxa.replication.opening import open_log as opened_log
from doxa.replication.protocol import SharedLog
from tests.replication.postgres import MISSING, PostgresServer, programs

OpenLog = Callable[[], SharedLog]
ENGINES = ["folder", "postgresql"]
_NUMBERS = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    if programs() is None:
        pytest.skip(MISSING)
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(params=ENGINES)
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an engine without a tenant."""
    if request.param == "folder":
        return f"folder:{tmp_path}/shared"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create(f"test{next(_NUMBERS)}")


@pytest.fixture
def open_log(shared_url: str) -> Iterator[OpenLog]:
    """A function that opens the engine once more, as another server would."""
    opened: list[SharedLog] = []

    def again() -> SharedLog:
        opened.append(opened_log(shared_url))
        return opened[-1]

    yield again
    for log in opened:
        log.close()
