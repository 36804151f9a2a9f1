"""The write-ahead log does not grow without end while somebody always reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

import doxa
from doxa.store import Identity, Store, check
from doxa.store.file import write_ahead_log
from doxa.store.file.write_ahead_log import KEPT_BYTES, LARGE_BYTES, WAIT_S, WriteAheadLog
from doxa.store.locking.writer_queue import queue_of
from doxa.store.stream.cursors import save_cursor

ANA = Identity("ana", "operator")
LARGE, KEPT = 400_000, 100_000
TEXT = "x" * 20_000
WRITES = 150  # of some 30 kB of log each


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead_log, "LARGE_BYTES", LARGE)
    monkeypatch.setattr(write_ahead_log, "AGAIN_S", 0.0)


def log_bytes(store: Store) -> int:
    return Path(store.connection().filename_wal).stat().st_size


def write(store: Store, number: int) -> None:
    store.connection().pragma("journal_size_limit", KEPT)
    with store.write(ANA, op="test", shares=True) as tx:
        tx.create_node(["Thing"], {"number": number, "text": TEXT})


def count(store: Store) -> int:
    with store.read() as reader:
        return reader.count("Thing")


@contextmanager
def always_read(path: str | Path) -> Iterator[list[BaseException]]:
    """Readers of whom one has a snapshot at each moment: the next begins before one ends."""
    errors: list[BaseException] = []
    stop, begun = threading.Event(), threading.Event()

    def read() -> None:
        try:
            with Store(path) as one, Store(path) as other:
                held = one.read()
                held.__enter__().last_receipt()
                begun.set()
                while not stop.is_set():
                    one, other = other, one
                    after = one.read()
                    after.__enter__().last_receipt()
                    held.__exit__(None, None, None)
                    held = after
                held.__exit__(None, None, None)
        except BaseException as error:
            errors.append(error)
            begun.set()

    thread = threading.Thread(target=read)
    thread.start()
    begun.wait()
    try:
        yield errors
    finally:
        stop.set()
        thread.join()


def written_while_read(store: Store) -> int:
    """Write under readers that never pause. Returns the bytes of the log at its largest."""
    largest, before = 0, count(store)
    with always_read(store.path) as errors:
        for number in range(WRITES):
            write(store, number)
            largest = max(largest, log_bytes(store))
    assert errors == []
    assert count(store) == before + WRITES
    return largest


def test_the_log_begins_again_while_somebody_always_reads(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        assert written_while_read(store) < 5 * LARGE  # room for attempts in vain
        assert list(check(store)) == []


def test_a_log_that_begins_again_is_not_large_any_more(tmp_path: Path) -> None:
    """Or each commit would find it so."""
    with Store(tmp_path / "a.db") as store:
        assert store.connection().pragma("journal_size_limit") == KEPT_BYTES < LARGE_BYTES


def test_without_that_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself finds no gap between the readers of these tests."""
    monkeypatch.setattr(WriteAheadLog, "committed", lambda *_: None)
    with Store(tmp_path / "a.db") as store:
        assert written_while_read(store) > 8 * LARGE


def test_the_log_of_a_file_that_is_opened_by_a_link_begins_again(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "a.db")
    with Store(tmp_path / "link.db") as store:
        assert written_while_read(store) < 5 * LARGE


def test_the_status_of_a_file_that_is_opened_by_a_link_counts_its_log(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
    with doxa.open(tmp_path / "link.db") as memory:
        memory.remember("The office is in Bern.")
        log = Path(f"{tmp_path / 'a.db'}-wal").stat().st_size
        assert log > 0
        assert memory.stats()["bytes"] == log + (tmp_path / "a.db").stat().st_size


def test_what_commits_by_itself_sees_to_the_log_too(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store, always_read(store.path):
        largest = 0
        for number in range(400):
            save_cursor(store._engine, f"test {number}", number, back=True)
            largest = max(largest, log_bytes(store))
        assert LARGE < largest < 5 * LARGE


def test_one_who_reads_for_long_keeps_the_snapshot_and_delays_few_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_ahead_log, "AGAIN_S", 600.0)
    attempts: list[object] = []
    begin_again = WriteAheadLog._begin_again
    monkeypatch.setattr(
        WriteAheadLog, "_begin_again", lambda *given: (attempts.append(given), begin_again(*given))
    )
    with Store(tmp_path / "a.db") as store, Store(tmp_path / "a.db") as other:
        write(store, -1)
        with other.read() as reader:
            assert reader.count("Thing") == 1
            for number in range(WRITES):
                write(store, number)
            assert reader.count("Thing") == 1
            assert log_bytes(store) > 8 * LARGE
            assert len(attempts) == 1
        monkeypatch.setattr(store._engine._write_ahead_log, "_next", 0.0)
        write(store, 0)
        write(store, 1)
        assert log_bytes(store) <= LARGE
        assert len(attempts) == 2


def test_the_log_is_seen_to_in_the_turn_of_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "a.db") as store:
        queue, taken = queue_of(store.path), list[tuple[bool, bool]]()
        monkeypatch.setattr(
            WriteAheadLog,
            "committed",
            lambda _self, db, _busy: taken.append((queue._taken, db.in_transaction)),
        )
        write(store, 1)
        save_cursor(store._engine, "test", 1, back=True)
        assert taken == [(True, False)] * 2
        assert not queue._taken


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


def test_a_wait_ends_by_the_time_slept_and_when_the_memory_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    fake = SimpleNamespace(monotonic=lambda: now, sleep=sleep)
    monkeypatch.setattr(write_ahead_log, "time", fake)
    closed: list[bool] = []
    log = WriteAheadLog(lambda: bool(closed))
    wait, slept = log._waiter(), 0.0
    while wait(0):
        now += 60.0  # the disk, between two calls
        slept += write_ahead_log._PAUSE_S
    assert slept == pytest.approx(WAIT_S, abs=2 * write_ahead_log._PAUSE_S)
    wait = log._waiter()
    assert wait(0)
    closed.append(True)
    assert not wait(1)


def test_what_goes_wrong_after_the_commit_is_left_to_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_ahead_log, "LARGE_BYTES", 0)
    path = tmp_path / "a.db"
    with Store(path) as store:
        write(store, 1)
        db, handled = store.connection(), list[int]()
        log = WriteAheadLog()
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM node").fetchall()
        log.committed(db, lambda attempt: handled.append(attempt) or False)  # locked: refused
        db.execute("ROLLBACK")
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(apsw.BusyError):
            db.execute("BEGIN IMMEDIATE")
        other.close()
        assert handled == [0]  # the handler is the one before
    closed = apsw.Connection(str(path))
    closed.close()
    WriteAheadLog().committed(closed, lambda _attempt: False)
