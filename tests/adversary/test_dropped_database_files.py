"""The files next to a database that is dropped: none of them is left, and no database of the same
name finds them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.files.places import hooks_folder, imports_folder, signals_folder
from doxa.hosts.events import HookEvent
from doxa.hosts.spool import Spool
from doxa.servers.databases.folder import DatabaseFolder

_CANARY = b"zanzibar"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DatabaseFolder]:
    def opened(path: Path) -> doxa.Memory:
        return doxa.open(path, role="operator", background=False, embedder=None)

    made = DatabaseFolder(tmp_path / "data", opened)
    made.create("sales")
    file = made.path / "sales.db"
    Spool(hooks_folder(file)).append(HookEvent("prompt", "codex", "s", text="zanzibar"), "default")
    imports_folder(file).mkdir(exist_ok=True)
    (imports_folder(file) / "at.json").write_bytes(_CANARY)
    signals_folder(file).mkdir(exist_ok=True)
    (signals_folder(file) / "ana.jsonl").write_bytes(_CANARY)
    for end in (".spend", ".working", ".working-wal"):
        file.with_name(file.name + end).write_bytes(_CANARY)
    yield made
    made.close()


def holding(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and _CANARY in path.read_bytes())
    return sorted(str(path.relative_to(folder)) for path in found)


def test_nothing_is_left_of_a_database_that_is_destroyed(folder: DatabaseFolder) -> None:
    assert len(holding(folder.path)) == 6
    folder.drop("sales", destroys=True)
    assert [path.name for path in folder.path.iterdir() if path.name.startswith("sales")] == []


def test_a_database_of_the_same_name_finds_nothing_of_one_that_was_kept(
    folder: DatabaseFolder,
) -> None:
    folder.drop("sales")
    assert len(holding(folder.path)) == 6
    folder.create("sales")
    assert not any(
        name.startswith(("sales.db.s", "sales.db.w", "sales.db-")) for name in holding(folder.path)
    )
    assert not hooks_folder(folder.path / "sales.db").exists()
    assert not signals_folder(folder.path / "sales.db").exists()
