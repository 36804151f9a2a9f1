"""Many tenants behind one server: each a database of its own, opened when it is used; what was not
used for longest is closed, and its file deleted, when there is too much."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.app.care.shared import TenantDirectory, list_replicas
from doxa.base.errors import ConflictError, InputError, NotFoundError
from doxa.servers.credentials import Principal
from doxa.servers.databases.service import FolderService
from doxa.servers.databases.tenants import TenantFolder
from tests.fixtures_shared import opened

ROOT = Principal("root", "operator")
OpenTenants = Callable[..., TenantFolder]


@pytest.fixture
def open_tenants(shared_url: str, tmp_path: Path) -> Iterator[OpenTenants]:
    made: list[tuple[TenantFolder, TenantDirectory]] = []

    def again(name: str = "one", **options: int) -> TenantFolder:
        directory = TenantDirectory(shared_url, tmp_path / name)

        def open_one(tenant: str) -> Memory:
            return opened(shared_url, tenant=tenant, replica=tmp_path / name)  # type: ignore[arg-type]

        made.append((TenantFolder(directory, open_one, **options), directory))
        return made[-1][0]

    yield again
    for folder, directory in made:
        folder.close()
        directory.close()


def write(folder: TenantFolder, name: str) -> None:
    with FolderService(folder).verb_session(ROOT, name, {}) as session:
        session.remember(f"This is tenant {name}", project="p")


def read(folder: TenantFolder, name: str) -> list[Any]:
    with FolderService(folder).verb_session(ROOT, name, {}) as session:
        return [hit.text for hit in session.recall("this is which tenant", project="p").hits]


def test_each_tenant_is_a_database_of_its_own(open_tenants: OpenTenants) -> None:
    here, there = open_tenants("one"), open_tenants("two")
    names = ["acme", "shop", "zoo"]
    for name in names:
        assert here.create(name)
        write(here, name)
    assert here.names() == ["doxa", *names]
    for name in names:
        assert read(there, name) == [f"This is tenant {name}"]
    with pytest.raises(NotFoundError):
        read(here, "nobody")
    with pytest.raises(ConflictError):
        here.create("acme")
    assert not here.create("acme", lenient=True)
    with pytest.raises(InputError, match="other servers"):
        here.drop("acme", destroys=True)


def test_a_silent_engine_does_not_hold_up_who_asks_for_names(
    open_tenants: OpenTenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = open_tenants(), open_tenants("two")
    assert here.create("acme") and here.names() == ["doxa", "acme"]
    asked, answers, names = threading.Event(), threading.Event(), TenantDirectory.names

    def slow(self: TenantDirectory) -> list[str]:
        asked.set()
        assert answers.wait(60)
        return names(self)

    monkeypatch.setattr(TenantDirectory, "names", slow)
    monkeypatch.setattr("doxa.servers.databases.tenants._NAMES_S", 0.0)
    assert there.create("shop")
    for _ in range(3):
        assert here.names() == ["doxa", "acme"]
    assert asked.is_set()
    fresh: list[list[str]] = []  # of a server that knows no names yet, all wait
    third = open_tenants("three")
    waiting = [threading.Thread(target=lambda: fresh.append(third.names())) for _ in range(3)]
    for one in waiting:
        one.start()
    assert here.create("late") and "late" in here.names()  # whatever the answer lacks
    answers.set()
    for one in waiting:
        one.join()
    assert [set(names) >= {"acme", "shop"} for names in fresh] == [True] * 3
    until = time.monotonic() + 30
    while "shop" not in here.names() and time.monotonic() < until:
        time.sleep(0.01)
    assert set(here.names()) == {"doxa", "acme", "late", "shop"}


def test_memories_of_a_process_share_one_log(open_tenants: OpenTenants) -> None:
    here = open_tenants()
    for name in ("acme", "shop"):
        here.create(name)
    first, second = here.database("acme"), here.database("shop")
    assert first._memory.replica is not None and second._memory.replica is not None
    assert first._memory.replica.log is second._memory.replica.log
    here._opened.pop("acme").memory.close()
    write(here, "shop")


def test_beyond_a_count_the_one_used_longest_ago_is_closed(open_tenants: OpenTenants) -> None:
    here = open_tenants(open_max=2)
    for name in ("acme", "shop", "zoo"):
        here.create(name)
    write(here, "acme")
    write(here, "shop")
    read(here, "acme")
    write(here, "zoo")
    assert set(here._opened) == {"acme", "zoo"}
    with here.using("acme"), here.using("zoo"):
        write(here, "shop")  # what is in use stays open, however many there are
        assert set(here._opened) == {"acme", "zoo", "shop"}
    here.evict()
    assert len(here._opened) == 2
    for name in ("acme", "shop", "zoo"):
        assert read(here, name) == [f"This is tenant {name}"]


def test_beyond_bytes_files_are_deleted_and_come_back(
    open_tenants: OpenTenants, shared_url: str
) -> None:
    here = open_tenants(open_max=1, bytes_max=1)
    for name in ("acme", "shop"):
        here.create(name)
    write(here, "acme")
    file = here._file("acme")
    Path(f"{file}.working").write_text("messages of this server")
    assert file.exists() and list_replicas(shared_url, "acme")
    write(here, "shop")
    assert not file.exists() and not list_replicas(shared_url, "acme")
    assert Path(f"{file}.working").exists(), "working memory is the server's own"
    assert here._file("shop").exists(), "it is open"
    assert read(here, "acme") == ["This is tenant acme"]


def test_a_file_that_another_process_has_open_stays(
    open_tenants: OpenTenants, tmp_path: Path, shared_url: str
) -> None:
    here = open_tenants(open_max=1, bytes_max=1)
    for name in ("acme", "shop"):
        here.create(name)
    write(here, "acme")
    with opened(shared_url, tenant="acme", replica=tmp_path / "one") as other:  # type: ignore[arg-type]
        other.remember("written meanwhile", project="p")
        write(here, "shop")
        assert here._file("acme").exists()
    here.evict()
    assert not here._file("acme").exists()


def test_an_eviction_that_fails_holds_nobody_up(
    open_tenants: OpenTenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other replicas are closed, and every one can be used again."""
    here = open_tenants("one", open_max=3)
    names = ["acme", "shop", "zoo"]
    for name in [*names, "last"]:
        assert here.create(name)
    memories = {name: here.enter(name)._memory for name in names}
    real = Memory.close

    def failing(memory: Memory) -> None:
        real(memory)
        if memory is memories["acme"]:
            raise OSError("no space")

    monkeypatch.setattr(Memory, "close", failing)
    here._open_max = 1
    for name in names:
        here.leave(name)
    assert here.enter("last").name == "last"
    assert [name for name, _ in here.memories()] == ["last"]
    for name in names:
        with here.using(name) as database:
            assert database.name == name
    here.leave("last")
    assert len(here.memories()) == 1


def test_a_tenant_is_made_once_however_many_ask(open_tenants: OpenTenants) -> None:
    here = open_tenants("one")
    made: list[bool] = []
    for number in range(6):
        threads = [
            threading.Thread(
                target=lambda name=f"tenant{number}": made.append(here.create(name, lenient=True))
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(made) == [False] * 18 + [True] * 6


def test_what_another_thread_has_taken_is_not_evicted(open_tenants: OpenTenants) -> None:
    here = open_tenants("one", open_max=1)
    for name in ("acme", "shop"):
        here.create(name)
    here.database("acme")
    # as CREATE DATABASE ... IF NOT EXISTS takes it
    with here._alone("acme"), here.using("shop"):
        assert {name for name, _ in here.memories()} == {"acme", "shop"}
    assert here._taken == {}
    here.evict()
    assert len(here.memories()) == 1
