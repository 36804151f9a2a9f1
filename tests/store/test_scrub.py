"""Erased bytes are gone, or it is said that they are not yet: with readers in other threads and
processes, after a crash, and at close."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from doxa.base.errors import StoreError
from doxa.store import Identity, Store, check, verify_log

ANA = Identity("ana", "operator")
CANARY = b"zqxcanary"

READER = """
import sys, apsw
db = apsw.Connection(sys.argv[1])
db.execute("BEGIN")
db.execute("SELECT count(*) FROM node").fetchall()
print("reading", flush=True)
sys.stdin.readline()
db.execute("COMMIT")
db.close()
print("done", flush=True)
"""


def everything(path: Path) -> bytes:
    return b"".join(
        found.read_bytes()
        for found in sorted(path.parent.glob(path.name + "*"))
        if not found.name.endswith("-shm")
    )


def erased(store: Store) -> None:
    with store.write(ANA, op="a") as tx:
        node = tx.create_node(("A",), {"text": CANARY.decode() * 50})
        tx.create_node(("A",), {"text": "stays"})
    with store.write(ANA, op="erase") as tx:
        tx.erase([node])


def reader(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", READER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    return process


def leave(process: subprocess.Popen[str]) -> None:
    assert process.communicate("\n")[0] == "done\n"


def test_a_reader_in_another_process_is_told_of_and_the_next_scrub_finishes(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        with store.write(ANA, op="first") as tx:
            tx.create_node(("A",), {})
        process = reader(path)
        erased(store)
        assert "write-ahead log" in store.scrub()
        assert CANARY in everything(path)
        assert "write-ahead log" in store.left_to_scrub()
        leave(process)
        assert store.scrub() == ""
        assert store.left_to_scrub() == ""
        assert CANARY not in everything(path)
        assert b"stays" in everything(path)
        assert check(store) == []
        verify_log(store)


def test_closing_finishes_what_a_reader_prevented_while_others_keep_the_file_open(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    store, other = Store(path), Store(path)
    process = reader(path)
    erased(store)
    assert store.scrub()
    leave(process)
    store.close()
    assert CANARY not in everything(path)  # though `other` keeps the log from being removed
    assert other.left_to_scrub() == ""
    other.close()


def test_a_crash_between_the_erasure_and_the_scrub_is_made_good_at_the_next_close(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    crashed = Store(path)
    erased(crashed)
    assert "freed pages" in crashed.left_to_scrub()
    crashed._engine.close()  # as a kill would: nothing more is done
    assert CANARY in everything(path)
    with Store(path) as store:
        assert "freed pages" in store.left_to_scrub()
    assert CANARY not in everything(path)
    with Store(path) as store:
        assert store.left_to_scrub() == ""


def test_a_writer_in_the_way_does_not_hide_that_the_erasure_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = Store(path)
    erased(store)
    raw = apsw.Connection(str(path))
    raw.execute("BEGIN IMMEDIATE")
    store.close()  # does not wait
    raw.execute("COMMIT")
    raw.close()
    with Store(path) as again:
        assert "freed pages" in again.left_to_scrub()
        assert again.scrub() == ""
    assert CANARY not in everything(path)


def test_a_later_erasure_is_not_forgotten_with_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store:
        process = reader(path)
        erased(store)
        assert store.scrub()
        erased(store)
        assert "freed pages" in store.left_to_scrub()
        leave(process)
        assert store.scrub() == ""
        assert CANARY not in everything(path)


def test_a_scrub_inside_a_read_is_refused(store: Store) -> None:
    with store.read(), pytest.raises(StoreError, match="transaction is open"):
        store.scrub()
