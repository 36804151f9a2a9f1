"""The engines that the contract is tested on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doxa.replication.engines.folder import FolderLog
from doxa.replication.protocol import SharedLog

OpenLog = Callable[[], SharedLog]
ENGINES = ["folder"]


@pytest.fixture(params=ENGINES)
def open_log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenLog]:
    """A function that opens the engine once more, as another server would."""
    opened: list[SharedLog] = []

    def again() -> SharedLog:
        opened.append(FolderLog(tmp_path / "shared"))
        return opened[-1]

    yield again
    for log in opened:
        log.close()


@pytest.fixture(params=ENGINES)
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an engine without a tenant."""
    return f"folder:{tmp_path}/shared"
