"""A folder of databases: one that is slow to open keeps nobody from another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.base.errors import ClosedError, ConflictError, NotFoundError, UnreachableError
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


def test_a_folder_that_is_closed_leaves_nothing_open(
    folder: DatabaseFolder, opening: SlowOpening, tmp_path: Path
) -> None:
    first, got_first = in_thread(lambda: folder.enter("slow"))
    assert opening.begun.wait(WAIT_S)
    closing, _ = in_thread(folder.close)
    while not folder._closed:
        closing.join(0.01)
    opening.may_end.set()
    for thread in (first, closing):
        thread.join(WAIT_S)
        assert not thread.is_alive()
    assert isinstance(got_first[0], ClosedError) and folder.memories() == []
    assert not list((tmp_path / "data").glob("*.db-wal"))


def test_who_wants_another_database_does_not_wait_for_one_that_is_made(
    folder: DatabaseFolder, opening: SlowOpening
) -> None:
    opening.may_end.set()
    assert folder.drop("slow", destroys=True)
    opening.may_end.clear()
    opening.begun.clear()
    making, got_made = in_thread(lambda: folder.create("slow"))
    assert opening.begun.wait(WAIT_S)
    other, got_other = in_thread(lambda: folder.database("doxa").name)
    again, got_again = in_thread(lambda: folder.create("slow", lenient=True))
    other.join(WAIT_S)
    assert got_other == ["doxa"] and got_again == []
    opening.may_end.set()
    for thread in (making, again):
        thread.join(WAIT_S)
    assert (got_made, got_again) == ([True], [False])


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
