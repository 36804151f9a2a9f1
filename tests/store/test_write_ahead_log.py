"""The write-ahead log does not grow without end while somebody always reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from doxa.store import Identity, Store, check
from doxa.store.file import write_ahead_log
from doxa.store.file.write_ahead_log import WriteAheadLog

ANA = Identity("ana", "operator")
LARGE = 400_000
TEXT = "x" * 20_000
WRITES = 150  # of some 30 kB of log each


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead_log, "LARGE_BYTES", LARGE)


def log_bytes(store: Store) -> int:
    return Path(f"{store.path}-wal").stat().st_size


def write(store: Store, number: int) -> None:
    with store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["Thing"], {"number": number, "text": TEXT})


def count(store: Store) -> int:
    with store.read() as reader:
        return reader.count("Thing")


@contextmanager
def always_read(store: Store) -> Iterator[list[BaseException]]:
    """Two threads that read in turn, so that at each moment one of them has a snapshot."""
    errors: list[BaseException] = []
    stop, begun = threading.Event(), [threading.Event(), threading.Event()]

    def read(mine: int) -> None:
        try:
            while not stop.is_set():
                with store.read() as reader:
                    reader.last_receipt()
                    begun[1 - mine].clear()
                    begun[mine].set()
                    begun[1 - mine].wait(1)  # until the other one has a newer snapshot
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(mine,)) for mine in (0, 1)]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def written_while_read(store: Store, writes: int = WRITES) -> int:
    """Write under readers that never all pause. Returns the bytes of the log at its largest."""
    largest, before = 0, count(store)
    with always_read(store) as errors:
        for number in range(writes):
            write(store, number)
            largest = max(largest, log_bytes(store))
    assert errors == []
    assert count(store) == before + writes
    return largest


def test_the_log_begins_again_while_somebody_always_reads(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        assert written_while_read(store) < 3 * LARGE
        assert list(check(store)) == []


def test_without_that_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The readers of these tests are such as SQLite itself finds no gap between."""
    monkeypatch.setattr(WriteAheadLog, "committed", lambda *_: None)
    with Store(tmp_path / "a.db") as store:
        assert written_while_read(store) > 6 * LARGE


def test_one_who_reads_for_long_keeps_the_snapshot_and_delays_few_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[float] = []
    wait_until = write_ahead_log._wait_until
    monkeypatch.setattr(
        write_ahead_log, "_wait_until", lambda end: (attempts.append(end), wait_until(end))[1]
    )
    with Store(tmp_path / "a.db") as store, Store(tmp_path / "a.db") as other:
        write(store, -1)
        with other.read() as reader:
            assert reader.count("Thing") == 1
            for number in range(WRITES):
                write(store, number)
            assert reader.count("Thing") == 1
            assert log_bytes(store) > 6 * LARGE
            assert 3 <= len(attempts) <= 6  # at 1, 2, 4, 8, 16 times the size
        before = log_bytes(store)  # of which the next attempt is made at twice what the last saw
        assert written_while_read(store, 3 * WRITES) < 2 * before + LARGE


def test_transactions_that_share_a_commit_are_whole_when_the_log_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has finished uses its connection while the last one sees to the log."""
    monkeypatch.setattr(write_ahead_log, "LARGE_BYTES", 0)
    errors: list[BaseException] = []

    def work(store: Store, first: int) -> None:
        try:
            for number in range(first, first + 20):
                write(store, number)
                assert count(store) > 0
        except BaseException as error:
            errors.append(error)

    with Store(tmp_path / "a.db") as store, Store(tmp_path / "a.db") as other:
        threads = [
            threading.Thread(target=work, args=(one, 1000 * k))
            for k, one in enumerate([store, other] * 4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert count(store) == 8 * 20
        assert list(check(store)) == []


def test_the_busy_handler_is_the_one_before_even_where_the_engine_refuses(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        for number in range(30):
            write(store, number)
        db = store.connection()
        log, handled = WriteAheadLog(store.path), list[int]()
        log._large = 0
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM node").fetchall()
        log.committed(db, lambda attempt: handled.append(attempt) or False)
        db.execute("ROLLBACK")
        with apsw_writer(path), pytest.raises(apsw.BusyError):
            db.execute("BEGIN IMMEDIATE")
        assert handled == [0]


@contextmanager
def apsw_writer(path: Path) -> Iterator[None]:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()
