"""Opening a file: made, reopened, migrated after a snapshot, or refused with the reason."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import pytest

from doxa.base.clock import FakeClock
from doxa.base.errors import (
    ClosedError,
    CorruptError,
    DiskFullError,
    DoxaError,
    NewerFileError,
    ReadOnlyError,
    StoreError,
)
from doxa.store import Identity, Store, check, digest, replayed_digest, verify_log
from doxa.store.file import file_copy
from doxa.store.migration.schema import APPLICATION_ID, FORMAT, MIGRATIONS

ME = Identity("ana", "operator")
WIDER = (*MIGRATIONS, ("0002-wider", "CREATE TABLE wider(x); INSERT INTO wider VALUES(7)"))


def add(store: Store, n: int) -> int:
    with store.write(ME, op="add") as tx:
        return tx.create_node(("A",), {"n": n})


def numbers(store: Store) -> list[object]:
    with store.read() as snapshot:
        return [node.props["n"] for node in snapshot.labelled("A")]


def test_a_new_file_is_private_marked_and_sound(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with Store(path) as store:
        assert check(store) == []
        assert verify_log(store)[:3] == (0, 0, 0)
        assert digest(store) == replayed_digest(store)
    raw = apsw.Connection(str(path))
    assert (raw.pragma("application_id"), raw.pragma("user_version")) == (APPLICATION_ID, FORMAT)
    raw.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="no modes here")
def test_the_log_beside_a_file_is_as_private_as_the_file(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Store(tmp_path / "a.db") as store:
            add(store, 1)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"a.db": 0o600, "a.db-wal": 0o600, "a.db-shm": 0o600}


@pytest.mark.parametrize("name", ["a\0b.db", "\ud800.db"])
def test_a_path_that_no_system_can_name_is_refused(tmp_path: Path, name: str) -> None:
    for read_only in (False, True):
        with pytest.raises(StoreError, match="not a usable path"):
            Store(tmp_path / name, read_only=read_only)
    with Store(tmp_path / "a.db") as store, pytest.raises(StoreError, match="not a usable path"):
        store.backup(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        add(store, 1)
        before = digest(store)
    with Store(tmp_path / "a.db") as store:
        assert numbers(store) == [1]
        assert digest(store) == before


def test_another_programs_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    raw = apsw.Connection(str(path))
    raw.execute("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(1)")
    raw.close()
    with pytest.raises(CorruptError, match="another program"):
        Store(path)
    raw = apsw.Connection(str(path))
    assert [row[0] for row in raw.execute("SELECT name FROM sqlite_schema")] == ["theirs"]
    raw.close()


def test_a_newer_file_is_refused_with_both_formats(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Store(path).close()
    raw = apsw.Connection(str(path))
    raw.execute(f"PRAGMA user_version = {FORMAT + 3}")
    raw.close()
    with pytest.raises(NewerFileError) as caught:
        Store(path)
    assert (caught.value.fields["found_format"], caught.value.fields["known_format"]) == (
        FORMAT + 3,
        FORMAT,
    )
    assert "Upgrade" in caught.value.next_step


def test_a_text_file_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("tea " * 5_000)
    with pytest.raises(CorruptError) as caught:
        Store(path)
    assert caught.value.fields["path"] == str(path)
    assert path.read_text() == "tea " * 5_000


def test_a_damaged_page_is_told_not_crashed_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Store(path) as store, store.write(ME, op="add") as tx:
        for n in range(400):
            tx.create_node(("A",), {"n": n, "text": "x" * 200})
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(CorruptError), Store(path) as store:
        numbers(store)
    assert path.read_bytes()[4096:] == b"\xa5" * (len(data) - 4096)


@pytest.mark.parametrize("name", ["", "missing/a.db"])
def test_a_folder_or_a_missing_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        StoreError, match="it is a folder" if not name else "its folder does not exist"
    ):
        Store(tmp_path / name)


def test_read_only_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        Store(tmp_path / "none.db", read_only=True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match="needs a migration"):
        Store(tmp_path / "empty.db", read_only=True)


def test_a_read_only_store_reads_and_refuses_to_write(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        add(store, 1)
    with Store(tmp_path / "a.db", read_only=True) as store:
        assert numbers(store) == [1]
        with pytest.raises(ReadOnlyError):
            add(store, 2)
        assert numbers(store) == [1]


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_folder_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(ReadOnlyError):
        Store(folder / "a.db")


def test_a_closed_store_says_so_everywhere(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db")
    store.close()
    store.close()
    for use in (
        lambda: numbers(store),
        lambda: add(store, 1),
        store.compact,
        store.scrub,
        lambda: store.backup(tmp_path / "b.db"),
        lambda: check(store),
    ):
        with pytest.raises(ClosedError, match="closed"):
            use()
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_a_full_disk_writes_nothing_of_the_change(store: Store) -> None:
    add(store, 1)
    before = digest(store)
    db = store._engine.connection()
    db.execute(f"PRAGMA max_page_count = {db.pragma('page_count') + 2}")
    with pytest.raises(DiskFullError, match="no space left"), store.write(ME, op="big") as tx:
        for n in range(2, 500):
            tx.create_node(("A",), {"n": n, "text": "x" * 1_000})
    assert digest(store) == before
    db.execute("PRAGMA max_page_count = 1000000")
    add(store, 2)
    assert numbers(store) == [1, 2]
    assert verify_log(store).receipts == 2
    assert check(store) == []
    assert replayed_digest(store) == digest(store)


# Migrations


def test_a_migration_keeps_a_snapshot_of_what_was(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "a.db"
    with Store(path, clock=clock) as store:
        add(store, 1)
        before = digest(store)
    with Store(path, clock=clock, migrations=WIDER) as store:
        add(store, 2)
        with store.read() as snapshot:
            assert snapshot.rows("SELECT x FROM wider") == [(7,)]
            known = sorted([*(name for name, _ in MIGRATIONS), "0002-wider"])
            assert [
                row[0] for row in snapshot.rows("SELECT name FROM migration ORDER BY name")
            ] == known
    (kept,) = tmp_path.glob("a.db.before-0002-wider-*")
    with Store(kept, read_only=True) as old:
        assert numbers(old) == [1]
        assert digest(old) == before
        assert verify_log(old).receipts == 1
    with Store(path, clock=clock, migrations=WIDER) as store:  # a second opening has nothing to do
        assert numbers(store) == [1, 2]
    assert len(list(tmp_path.glob("a.db.before-*"))) == 1


def test_a_failing_migration_leaves_the_file_as_it_was(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "a.db"
    with Store(path, clock=clock) as store:
        add(store, 1)
        before = digest(store)
    broken = (
        *MIGRATIONS,
        ("0002-half", "CREATE TABLE half(x)"),
        ("0003-broken", "UPDATE node SET since = 0; CREATE TABLE half(x)"),
    )
    with pytest.raises(
        StoreError, match=r"0003-broken .* failed: .*table half already exists.* as it was"
    ) as caught:
        Store(path, clock=clock, migrations=broken)
    (named,) = tmp_path.glob("a.db.before-0002-half-*")
    assert str(named) in caught.value.next_step
    assert caught.value.fields["snapshot"] == str(named)
    with Store(path, clock=clock) as store:
        assert digest(store) == before
        with store.read() as snapshot:
            assert snapshot.rows("SELECT name FROM sqlite_schema WHERE name = 'half'") == []
            assert snapshot.rows("SELECT name FROM migration") == [
                (name,) for name, _ in MIGRATIONS
            ]
        assert check(store) == []
    (kept,) = tmp_path.glob("a.db.before-0002-half-*")
    with Store(kept, read_only=True) as old:
        assert numbers(old) == [1]


def test_a_failing_migration_of_a_new_file_is_told_too(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="0001-broken") as caught:
        Store(tmp_path / "a.db", migrations=(("0001-broken", "SELECT nonsense"),))
    assert caught.value.fields["snapshot"] == ""
    Store(tmp_path / "a.db").close()  # nothing half-written stands in the way


def test_a_new_file_needs_no_snapshot(tmp_path: Path) -> None:
    Store(tmp_path / "a.db", migrations=WIDER).close()
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


@pytest.mark.parametrize("how", ["removed", "replaced", "moved", "linked elsewhere"])
def test_nothing_is_written_to_a_file_that_lost_its_place(tmp_path: Path, how: str) -> None:
    path, away, other = tmp_path / "a.db", tmp_path / "away.db", tmp_path / "other.db"

    def write(store: Store, label: str) -> None:
        with store.write(ME, op="fill") as tx:
            tx.create_node((label,), {})

    def in_a_thread(call: Callable[[], object]) -> object:
        found: list[object] = []

        def run() -> None:
            try:
                found.append(call())
            except StoreError as error:
                found.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return found[0]

    for one, label in ((away, "A"), (other, "Other")):
        with Store(one) as store:
            write(store, label)
    if how == "linked elsewhere":
        path.symlink_to(away)
    else:
        os.replace(away, path)
    with Store(path) as store:
        write(store, "A")
        with (  # a transaction that is open meanwhile
            pytest.raises(StoreError, match="moved, removed or replaced"),
            store.write(ME, op="open") as tx,
        ):
            tx.create_node(("Late",), {})
            if how == "linked elsewhere":
                path.unlink()
                path.symlink_to(other)
            else:
                os.link(path, away)
                os.replace(path, tmp_path / "b.db") if how == "moved" else path.unlink()
                if how == "replaced":
                    os.replace(other, path)
        before = sorted(one.name for one in tmp_path.iterdir())
        calls: list[Callable[[], object]] = [
            partial(write, store, "Late"),
            store.require_in_place,
            partial(store.save_cursor, "consumer", 1),
            partial(store.take_lease, "job", held=0, ttl_ns=10**9),
            store.compact,
        ]
        for call in calls:
            with pytest.raises(StoreError, match="moved, removed or replaced"):
                call()
        assert isinstance(in_a_thread(lambda: write(store, "Late")), StoreError)
        assert isinstance(in_a_thread(lambda: store.read().__enter__()), StoreError)
        # no thread makes an empty file in the place of the one that is gone
        assert sorted(one.name for one in tmp_path.iterdir()) == before
        path.unlink(missing_ok=True)
        if how == "linked elsewhere":
            path.symlink_to(away)
        else:
            os.link(away, path)  # back in its place
        write(store, "Back")
    with Store(path) as again, again.read() as reader:
        assert [reader.count(label) for label in ("A", "Late", "Other", "Back")] == [2, 0, 0, 1]


def test_a_relative_path_stays_the_place_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    with Store(tmp_path / "below/a.db"):
        pass
    monkeypatch.chdir(tmp_path)
    with Store("a.db") as store:
        monkeypatch.chdir(tmp_path / "below")

        def write() -> None:
            with store.write(ME, op="fill") as tx:
                tx.create_node(("A",), {})

        write()
        thread = threading.Thread(target=write)  # it opens a connection of its own
        thread.start()
        thread.join()
    with Store(tmp_path / "a.db") as again, again.read() as reader:
        assert reader.count("A") == 2


# Backup


def test_a_backup_is_one_moment_while_a_writer_writes(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store:
        stop = threading.Event()

        def write() -> None:
            n = 0
            while not stop.is_set():
                with store.write(ME, op="pair") as tx:
                    tx.create_edge(
                        "PAIR",
                        tx.create_node(("A",), {"n": n}),
                        dst=tx.create_node(("B",), {"n": n}),
                    )
                n += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            copies = [store.backup(tmp_path / f"copy-{i}.db") for i in range(5)]
        finally:
            stop.set()
            writer.join()
        sizes = []
        for copy in copies:
            with Store(copy) as opened:
                assert check(opened) == []
                assert digest(opened) == replayed_digest(opened)
                proof = verify_log(opened)
                assert proof.entries == 3 * proof.receipts
                sizes.append(proof.receipts)
        assert sizes == sorted(sizes)
    assert not list(tmp_path.glob("*.part"))


def test_a_backup_ends_although_another_process_commits_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_copy, "_PAGES_PER_STEP", 10)
    steps = 0
    with Store(tmp_path / "a.db") as store, Store(tmp_path / "a.db") as other:
        with store.write(ME, op="fill") as tx:
            for n in range(2_000):
                tx.create_node(("A",), {"n": n})
        pages = int(store.connection().pragma("page_count"))

        def commits(_: int) -> None:
            nonlocal steps
            steps += 1
            assert steps <= pages, "the copy begins again and again"
            with other.write(ME, op="more") as tx:
                tx.create_node(("B",), {"n": steps})

        copy = store.backup(tmp_path / "copy.db", progress=commits)
        assert not store.connection().in_transaction
    assert pages // 10 <= steps <= pages // 10 + 2
    with Store(copy) as opened:
        assert check(opened) == [] and verify_log(opened).receipts == 1
        with opened.read() as reader:
            assert reader.count("A") == 2_000 and reader.count("B") == 0


def test_a_backup_refuses_what_exists_and_leaves_no_part_when_it_fails(
    tmp_path: Path, store: Store
) -> None:
    target = tmp_path / "copy.db"
    target.write_text("precious")
    with pytest.raises(StoreError, match="exists already"):
        store.backup(target)
    assert target.read_text() == "precious"
    with pytest.raises(DoxaError):
        store.backup(tmp_path / "missing" / "copy.db")
    with store.write(ME, op="add") as tx:
        for n in range(50):
            tx.create_node(("A",), {"n": n})
    made = store.backup(str(tmp_path / "fine.db"))
    assert made == tmp_path / "fine.db"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert not list(tmp_path.glob("*.part"))


def test_every_connection_has_the_settings_that_safety_rests_on(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db") as store, store.read() as snapshot:
        found = {
            name: snapshot.rows(f"PRAGMA {name}")[0][0]
            for name in ("journal_mode", "synchronous", "trusted_schema", "temp_store")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "trusted_schema": 0, "temp_store": 2}
