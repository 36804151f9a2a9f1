"""A new file gets its write-ahead log while others have it open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from doxa.base.clock import FakeClock
from doxa.base.files.write_ahead import use_write_ahead_log
from doxa.models.spending import SpendLedger
from doxa.store import Store
from doxa.working import open_working


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[apsw.Connection, apsw.Connection]]:
    """Two connections of a file that keeps no log yet; the first reads."""
    one, two = (apsw.Connection(str(tmp_path / "m.db")) for _ in range(2))
    one.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    one.execute("BEGIN")
    assert one.execute("SELECT a FROM t").get == 1
    two.set_busy_timeout(10_000)
    yield one, two
    one.close()
    two.close()


def test_who_turns_it_on_while_another_reads_waits(
    opened: tuple[apsw.Connection, apsw.Connection],
) -> None:
    reading, db = opened
    with pytest.raises(apsw.BusyError):  # SQLite alone refuses at once, whatever the timeout
        db.execute("PRAGMA journal_mode = WAL")
    ends = threading.Timer(0.2, reading.execute, ("COMMIT",))
    ends.start()
    use_write_ahead_log(db, 10_000)
    ends.join()
    assert db.pragma("journal_mode") == "wal"
    db.execute("INSERT INTO t VALUES(2)")
    assert reading.execute("SELECT count(*) FROM t").get == 2


def test_it_gives_up_when_its_time_has_passed(
    opened: tuple[apsw.Connection, apsw.Connection],
) -> None:
    reading, db = opened
    with pytest.raises(apsw.BusyError):
        use_write_ahead_log(db, 50)
    reading.execute("COMMIT")
    assert db.pragma("journal_mode") == "delete"
    use_write_ahead_log(db, 0)
    assert db.pragma("journal_mode") == "wal"


def _ledger(path: Path) -> None:
    ledger = SpendLedger(path, clock=FakeClock(), caps=dict)
    ledger.spending(1)
    ledger.close()


def _messages(path: Path) -> None:
    messages = open_working(None, path, clock=FakeClock(), ttl_s=60, read_only=False)
    messages.add("hello", project="shop", user="ana")
    messages.close()


def _memory(path: Path) -> None:
    Store(path).close()


@pytest.mark.parametrize(
    ("make", "module"),
    [
        (_ledger, "doxa.models.spending"),
        (_messages, "doxa.working.sqlite_backend"),
        (_memory, "doxa.store.file.engine"),
    ],
)
def test_files_that_several_may_make_at_once_get_it_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], module: str
) -> None:
    path, asked = tmp_path / "new.db", list[int]()

    def counted(db: apsw.Connection, limit_ms: int) -> None:
        assert db.pragma("journal_mode") == "delete"
        asked.append(limit_ms)
        use_write_ahead_log(db, limit_ms)

    monkeypatch.setattr(f"{module}.use_write_ahead_log", counted)
    path.touch()
    make(path)
    assert len(asked) == 1 and asked[0] >= 1_000
