"""A new file gets its write-ahead log while others have it open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from doxa.base.files.write_ahead import use_write_ahead_log


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
