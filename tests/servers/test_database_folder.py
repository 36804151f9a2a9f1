"""A folder of databases: one that is slow to open keeps nobody from another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.base.errors import ConflictError, NotFoundError, UnreachableError
from doxa.servers.databases.folder import DatabaseFolder
from tests.fixtures_shared import opened

WAIT_S = 60


class SlowOpening:
    """Opens memories; that of `slow` when the test lets it, or with an error."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()
        self.error: Exception | None = None
        self.times = 0

    def __call__(self, path: Path) -> Memory:
        if path.stem == "slow":
            self.times += 1
            self.begun.set()
            assert self.may_end.wait(WAIT_S)
            if self.error is not None:
                raise self.error
        return opened(path)


@pytest.fixture
def opening() -> SlowOpening:
    return SlowOpening()


@pytest.fixture
def folder(tmp_path: Path, opening: SlowOpening) -> Iterator[DatabaseFolder]:
    made = DatabaseFolder(tmp_path / "data", opening)
    made.create("slow")
    opening.begun.clear()
    opening.may_end.clear()
    opening.times = 0
    yield made
    opening.may_end.set()
    made.close()


def in_thread(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def test_who_wants_another_database_does_not_wait(
    folder: DatabaseFolder, opening: SlowOpening
) -> None:
    first, got_first = in_thread(lambda: folder.enter("slow"))
    assert opening.begun.wait(WAIT_S)
    second, got_second = in_thread(lambda: folder.enter("slow"))
    other, got_other = in_thread(lambda: folder.enter("doxa"))
    other.join(WAIT_S)
    assert not other.is_alive() and got_other[0].name == "doxa"
    with pytest.raises(ConflictError, match="in use"):
        folder.drop("slow")
    assert (got_first, got_second) == ([], [])
    opening.may_end.set()
    first.join(WAIT_S)
    second.join(WAIT_S)
    assert got_first == got_second and opening.times == 1
    for name in ("slow", "slow", "doxa"):
        folder.leave(name)
    assert folder.drop("slow", destroys=True)


def test_what_cannot_be_opened_is_told_to_all_and_tried_again(
    folder: DatabaseFolder, opening: SlowOpening
) -> None:
    opening.error = UnreachableError("The engine does not answer.", next_step="Wait.")
    calls = [in_thread(lambda: folder.enter("slow")) for _ in range(3)]
    assert opening.begun.wait(WAIT_S)
    opening.may_end.set()
    for thread, found in calls:
        thread.join(WAIT_S)
        assert isinstance(found[0], UnreachableError)
    opening.error = None
    with folder.using("slow") as database:
        assert database.name == "slow"
    with pytest.raises(NotFoundError):
        folder.enter("nobody")
    assert folder.drop("slow", destroys=True)  # nobody counts as its user
