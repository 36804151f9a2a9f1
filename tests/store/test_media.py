"""Real disks: mounted read-only, full, or somebody else's. What can be read is read, what cannot be
written leaves nothing half-made."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.base.errors import DiskFullError, DoxaError, ReadOnlyError, StoreError
from doxa.store import Identity, Store, check, digest, verify_log
from tests.fixtures_shared import largest_file

ME = Identity("ana", "operator")
NOBODY = 65_534
Mount = Callable[[int], Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Small disks of their own, where the system lets us mount any."""
    made: list[Path] = []

    def small_disk(kilobytes: int) -> Path:
        place = tmp_path / f"disk-{len(made)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=755", "tmpfs", str(place)]
        if (
            not shutil.which("mount")
            or subprocess.run(command, capture_output=True, check=False).returncode
        ):
            pytest.skip("mounting a small disk takes a privilege that this run does not have")
        made.append(place)
        return place

    yield small_disk
    for place in made:
        subprocess.run(["umount", str(place)], check=True)


def read_only(place: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)


def filled(path: Path, *, nodes: int = 3) -> str:
    with Store(path) as store:
        with store.write(ME, op="add") as tx:
            for n in range(nodes):
                tx.create_node(("A",), {"n": n, "text": os.urandom(500).hex()})
        return digest(store)


def fill(place: Path, *, leave: int = 0) -> None:
    """Fill a disk except for some bytes."""
    with (place / "filler").open("wb", buffering=0) as out:
        for size in (4_096, 1):
            try:
                while shutil.disk_usage(place).free > leave and out.write(b"x" * size):
                    pass
            except OSError:
                pass


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


# Read-only media


def test_a_read_only_disk_is_read_checked_and_backed_up(mount: Mount, tmp_path: Path) -> None:
    place = mount(4_096)
    before = filled(place / "a ?#é.db")
    read_only(place)
    with Store(place / "a ?#é.db", read_only=True) as store:
        assert digest(store) == before
        assert check(store) == []
        assert verify_log(store).receipts == 1
        copy = store.backup(tmp_path / "copy.db")
        with pytest.raises(ReadOnlyError), store.write(ME, op="add") as tx:
            tx.create_node(("A",), {})
        with pytest.raises(ReadOnlyError):
            store.backup(place / "copy.db")
    with Store(copy) as store:
        assert digest(store) == before
    assert names(place) == ["a ?#é.db"]
    with pytest.raises(ReadOnlyError, match="read_only=True"):
        Store(place / "a ?#é.db")


def test_a_log_that_was_left_on_a_read_only_disk_is_told(mount: Mount, tmp_path: Path) -> None:
    place = mount(8_192)
    with Store(place / "a.db") as store:
        with store.write(ME, op="add") as tx:
            tx.create_node(("A",), {})
        held = {
            name: (place / name).read_bytes() for name in ("a.db", "a.db-wal")
        }  # as a killed process leaves them
    (place / "a.db-shm").unlink(missing_ok=True)
    for name, data in held.items():
        (place / name).write_bytes(data)
    read_only(place)
    with pytest.raises(StoreError, match=r"changes are still in .*a\.db-wal") as caught:
        Store(place / "a.db", read_only=True)
    assert "Copy both files" in caught.value.next_step
    (tmp_path / "link.db").symlink_to(place / "a.db")  # the log has the name of the file itself
    with pytest.raises(StoreError, match=r"changes are still in .*a\.db-wal"):
        Store(tmp_path / "link.db", read_only=True)


def test_a_read_only_store_in_a_writable_folder_sees_what_others_write(tmp_path: Path) -> None:
    filled(tmp_path / "a.db")
    with Store(tmp_path / "a.db", read_only=True) as reader, Store(tmp_path / "a.db") as writer:
        with writer.write(ME, op="add") as tx:
            tx.create_node(("A",), {})
        with reader.read() as snapshot:
            assert snapshot.count("A") == 4


# Somebody else's files


def as_nobody(call: Callable[[], Any]) -> str:
    """What a call says in a process without rights."""
    inlet, outlet = os.pipe()
    child = os.fork()
    if not child:
        said = "the child failed"
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = str(call())
        except DoxaError as error:
            said = f"{type(error).__name__}: {error}"
        except BaseException as error:
            said = f"raw {type(error).__name__}: {error}"
        finally:
            os.write(outlet, said.encode())
            os._exit(0)
    os.close(outlet)
    with os.fdopen(inlet) as out:
        said = out.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody may look into."""
    if not hasattr(os, "fork") or os.geteuid() != 0:
        pytest.skip("becoming somebody else takes a privilege that this run does not have")
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_somebody_elses_file_is_read_where_it_may_be(shared: Path) -> None:
    before = filled(shared / "a.db")

    def opened(**options: Any) -> str:
        with Store(shared / "a.db", **options) as store:
            return digest(store)

    assert "ReadOnlyError" in as_nobody(opened) or "cannot be read" in as_nobody(opened)
    assert "cannot be read" in as_nobody(lambda: opened(read_only=True))
    (shared / "a.db").chmod(0o644)
    assert as_nobody(lambda: opened(read_only=True)) == before
    assert "ReadOnlyError" in as_nobody(opened)
    assert "ReadOnlyError" in as_nobody(lambda: Store(shared / "new.db"))
    assert "ReadOnlyError" in as_nobody(
        lambda: Store(shared / "a.db", read_only=True).backup(shared / "b.db")
    )
    assert names(shared) == ["a.db"]


# Full disks


def test_a_backup_to_a_full_disk_leaves_nothing(mount: Mount, tmp_path: Path) -> None:
    filled(tmp_path / "a.db", nodes=300)
    for room in (0, 4_096, 200_000):
        place = mount(512)
        fill(place, leave=room)
        with (
            Store(tmp_path / "a.db") as store,
            pytest.raises(DiskFullError, match=r"no space left for .*b\.db"),
        ):
            store.backup(place / "b.db")
        assert names(place) == ["filler"]


def test_a_new_file_on_a_full_disk_is_not_left_behind(mount: Mount) -> None:
    for room in (0, 4_096, 65_536):
        place = mount(512)
        fill(place, leave=room)
        with pytest.raises(DiskFullError):
            Store(place / "a.db")
        assert names(place) == ["filler"]
        (place / "filler").unlink()
        Store(place / "a.db").close()


def test_a_full_disk_writes_nothing_and_goes_on_when_there_is_room(mount: Mount) -> None:
    place = mount(2_048)
    before = filled(place / "a.db")
    with Store(place / "a.db") as store:
        fill(place)
        with pytest.raises(DiskFullError), store.write(ME, op="add") as tx:
            for n in range(500):
                tx.create_node(("A",), {"n": n, "text": os.urandom(500).hex()})
        assert digest(store) == before
        (place / "filler").unlink()
        with store.write(ME, op="add") as tx:
            tx.create_node(("A",), {})
        assert (check(store), verify_log(store).receipts) == ([], 2)


def test_the_largest_file_is_as_a_full_disk(tmp_path: Path) -> None:
    before = filled(tmp_path / "a.db", nodes=300)
    with Store(tmp_path / "a.db") as store:
        with (
            largest_file(200_000),
            pytest.raises(DiskFullError, match="no space left"),
            store.write(ME, op="add") as tx,
        ):
            for n in range(500):
                tx.create_node(("A",), {"n": n, "text": os.urandom(500).hex()})
        assert digest(store) == before
        with (
            largest_file(200_000),
            pytest.raises(DiskFullError, match=r"no space left for .*b\.db"),
        ):
            store.backup(tmp_path / "b.db")
        with store.write(ME, op="add") as tx:
            tx.create_node(("A",), {})
        assert (check(store), verify_log(store).receipts) == ([], 2)
    assert names(tmp_path) == ["a.db"]


@pytest.mark.parametrize("size", [1_000, 40_000])
def test_a_file_that_is_not_made_for_want_of_space_is_told_so(tmp_path: Path, size: int) -> None:
    with largest_file(size), pytest.raises(DiskFullError, match=r"no space left for .*new\.db"):
        Store(tmp_path / "new.db")


def test_an_erasure_is_done_where_freed_pages_find_no_space(tmp_path: Path) -> None:
    filled(tmp_path / "a.db", nodes=300)
    with Store(tmp_path / "a.db") as store:
        store.connection().execute("INSERT INTO meta VALUES('scrub', 1)")  # an erasure was at 1
        with largest_file(100_000):
            assert "not overwritten yet" in store.scrub()
        assert store.scrub() == ""


def test_a_file_that_a_full_disk_keeps_from_being_opened_is_told(mount: Mount) -> None:
    place = mount(2_048)
    before = filled(place / "a.db")
    fill(place)
    for read_only in (False, True):
        with pytest.raises(DiskFullError, match=r"no space left for .*a\.db"):
            Store(place / "a.db", read_only=read_only)
    (place / "filler").unlink()
    with Store(place / "a.db") as store:
        assert digest(store) == before


def test_what_a_killed_backup_left_is_in_nobodys_way(tmp_path: Path) -> None:
    filled(tmp_path / "a.db")
    for end in ("", "-wal", "-shm"):
        (tmp_path / f"b.db.part{end}").write_bytes(b"old")
    with Store(tmp_path / "a.db") as store:
        made = store.backup(tmp_path / "b.db")
    assert names(tmp_path) == ["a.db", "b.db"]
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_a_file_that_was_there_stays_when_it_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "mine.db").touch()
    with pytest.raises(StoreError):
        Store(tmp_path / "mine.db", migrations=(("0001-broken", "SELECT nonsense"),))
    assert names(tmp_path) == ["mine.db"]
    with pytest.raises(StoreError):
        Store(tmp_path / "new.db", migrations=(("0001-broken", "SELECT nonsense"),))
    assert names(tmp_path) == ["mine.db"]
