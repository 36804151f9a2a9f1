"""Who writes next: the order within a process, waits that end, and the turnstile between
processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from doxa.base.errors import BusyError
from doxa.store import Identity, Store
from doxa.store.locking.turnstile import Turnstile, Waiting
from doxa.store.locking.writer_queue import SUFFIX, WriterQueue, queue_of

ANA = Identity("ana", "operator")
DB = apsw.Connection(":memory:")


def always() -> bool:
    return True


def waiting(queue: WriterQueue, length: int) -> None:
    """Wait until so many writers wait."""
    while queue.length < length:
        threading.Event().wait(0.001)


def test_writers_go_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    queue, went = WriterQueue(str(tmp_path / "a.db")), list[int]()
    first = queue.begin(always, Waiting(60_000), DB)
    assert first is not None

    def write(number: int) -> None:
        turn = queue.begin(always, Waiting(60_000), DB)
        assert turn is not None
        went.append(number)
        turn.end()

    threads = []
    for number in range(20):
        threads.append(threading.Thread(target=write, args=(number,)))
        threads[-1].start()
        waiting(queue, number + 1)
    first.end()
    for thread in threads:
        thread.join()
    assert went == list(range(20))


def test_a_stopped_wait_leaves_the_queue(tmp_path: Path) -> None:
    queue = WriterQueue(str(tmp_path / "a.db"))
    first = queue.begin(always, Waiting(60_000), DB)
    assert first is not None
    assert queue.begin(always, Waiting(60_000, lambda: True), DB) is None
    assert queue.begin(always, Waiting(0), DB) is None
    assert queue.length == 0
    first.end()
    assert queue.begin(always, Waiting(0), DB) is not None


def test_a_turn_ends_once(tmp_path: Path) -> None:
    queue = WriterQueue(str(tmp_path / "a.db"))
    first = queue.begin(always, Waiting(0), DB)
    assert first is not None
    first.end()
    second = queue.begin(always, Waiting(0), DB)
    assert second is not None
    first.end()  # again, by a thread that came late: the second keeps its turn
    assert queue.begin(always, Waiting(0), DB) is None


def test_an_attempt_that_fails_gives_the_turn_back(tmp_path: Path) -> None:
    queue = WriterQueue(str(tmp_path / "a.db"))

    def broken() -> bool:
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        queue.begin(broken, Waiting(60_000), DB)
    assert queue.begin(lambda: False, Waiting(5), DB) is None
    assert queue.begin(always, Waiting(0), DB) is not None


@pytest.mark.skipif(sys.platform == "win32", reason="no advisory locks here")
def test_the_turnstile_comes_with_competition_and_goes(tmp_path: Path) -> None:
    name = str(tmp_path / "a.db")
    one, other = WriterQueue(name), WriterQueue(name)  # as in two processes
    turn = one.begin(always, Waiting(0), DB)
    assert turn is not None
    turn.end()
    assert not Path(name + SUFFIX).exists()
    tries = iter((False, False, True))
    turn = other.begin(lambda: next(tries), Waiting(60_000), DB)
    assert turn is not None
    turn.end()
    assert Path(name + SUFFIX).stat().st_size == 0
    turn = one.begin(always, Waiting(60_000), DB)
    assert turn is not None
    turn.end()
    other.close()
    assert not Path(name + SUFFIX).exists()
    turn = one.begin(always, Waiting(60_000), DB)  # the file that it had open is gone
    assert turn is not None
    turn.end()
    one.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no advisory locks here")
def test_one_who_has_just_written_comes_after_one_that_waits(tmp_path: Path) -> None:
    name = str(tmp_path / "a.db")
    one, other = WriterQueue(name), WriterQueue(name)
    engine = threading.Lock()
    engine.acquire()
    went: list[str] = []

    def wait() -> None:
        turn = other.begin(lambda: engine.acquire(blocking=False), Waiting(60_000), DB)
        assert turn is not None
        went.append("the one that waited")
        engine.release()
        turn.end()

    thread = threading.Thread(target=wait)
    thread.start()
    while not Path(name + SUFFIX).exists():
        threading.Event().wait(0.001)
    while one._turnstile.take(Waiting(0), make=False):  # until the other has it
        one._turnstile.give_back()
    again = threading.Thread(target=lambda: went.append("the writer") if _written(one) else None)
    again.start()
    assert went == []
    engine.release()
    thread.join()
    again.join()
    assert went == ["the one that waited", "the writer"]
    for queue in (one, other):
        queue.close()


LINE = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="no locks that belong to an open file"
)


class Place(threading.Thread):
    """One process in the line, as a thread with a file of its own."""

    def __init__(self, path: Path, went: list[int], number: int) -> None:
        super().__init__()
        self.line = Turnstile(str(path))
        self.stop = threading.Event()
        self.first: bool | None = None
        self._went, self._number = went, number
        self.start()
        while self.line._place is None:  # until it stands in line
            threading.Event().wait(0.001)

    def run(self) -> None:
        self.first = self.line.take(Waiting(60_000, self.stop.is_set), make=True)
        if self.first:
            self._went.append(self._number)
            self.line.give_back()


@LINE
def test_processes_go_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    path, went = tmp_path / "line", list[int]()
    holder = Turnstile(str(path))
    assert holder.take(Waiting(0), make=True)
    places = [Place(path, went, number) for number in range(8)]
    for number in (0, 3, 7):  # the first of those who wait, one in the middle, the last
        places[number].stop.set()
        places[number].join()
        assert places[number].first is False
    places.append(Place(path, went, 8))
    assert went == []
    holder.give_back()
    for place in places:
        place.join()
    assert went == [1, 2, 4, 5, 6, 8]
    assert path.stat().st_size == 0


@LINE
def test_a_killed_process_blocks_nobody(tmp_path: Path) -> None:
    path, went = tmp_path / "line", list[int]()
    code = (
        "import sys, time; from doxa.store.locking.turnstile import Turnstile, Waiting\n"
        "line = Turnstile(sys.argv[1])\n"
        "line._is_open(True); line._is_first(); print(line._place, flush=True); time.sleep(600)"
    )
    processes = []
    for number in range(2):  # one that has its turn, and one that waits
        processes.append(
            subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
        )
        out = processes[-1].stdout
        assert out is not None and int(out.readline()) == number
    place = Place(path, went, 2)
    for process in reversed(processes):
        assert went == []
        process.kill()
        process.communicate()
    place.join()
    assert went == [2]


def _written(queue: WriterQueue) -> bool:
    turn = queue.begin(always, Waiting(60_000), DB)
    assert turn is not None
    turn.end()
    return True


def test_all_stores_of_a_process_share_the_queue_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    (tmp_path / "link.db").symlink_to(path)
    assert queue_of(str(path)) is queue_of(str(tmp_path / "link.db"))
    with (
        Store(path) as one,
        Store(path) as other,
        one.write(ANA, op="test"),
        pytest.raises(BusyError),
        other.write(ANA, op="test", stopped=always),
    ):
        pass
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.db", "link.db"]
