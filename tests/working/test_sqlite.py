"""Working memory in its own SQLite file: private, erasable, safe after a fork and next to other
processes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw
import pytest

from doxa.base.clock import FakeClock
from doxa.base.errors import CorruptError, InputError, NewerFileError, StoreError
from doxa.working import WorkingMemory, open_working
from doxa.working.redis_backend import checked_url

SAID = "the canary sings at noon"


def opened(path: Path, clock: FakeClock, *, read_only: bool = False) -> WorkingMemory:
    return open_working(None, path, clock=clock, ttl_s=3_600, read_only=read_only)


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_the_file_is_private_and_made_when_it_is_needed(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "m.db.working"
    working = opened(path, clock)
    assert working.get(project="shop", session="s").messages == ()
    assert working.sessions(project="shop") == [] and not path.exists()
    working.add(SAID, project="shop", user="ana@example.com")
    for one in tmp_path.iterdir():
        assert stat.S_IMODE(one.stat().st_mode) == 0o600, one
    assert b"ana@example" not in bytes_of(tmp_path)
    working.close()


@pytest.mark.parametrize("how", ["clear", "expiry and a write", "expiry and closing"])
def test_what_is_cleared_or_expired_is_overwritten(
    tmp_path: Path, clock: FakeClock, how: str
) -> None:
    working = opened(tmp_path / "m.db.working", clock)
    working.add(SAID, project="shop", session="s")
    assert SAID.encode() in bytes_of(tmp_path)
    if how == "clear":
        assert working.clear(project="shop", session="s") == 1
    else:
        clock.advance(seconds=3_600)
        if how == "expiry and a write":
            working.add("x", project="shop", session="t")
        else:
            working.close()
    assert SAID.encode() not in bytes_of(tmp_path)
    working.close()


def test_a_child_process_has_a_connection_of_its_own(tmp_path: Path, clock: FakeClock) -> None:
    working = opened(tmp_path / "m.db.working", clock)
    working.add("parent", project="shop", session="s")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            working.add("child", project="shop", session="s")
            working.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    found = working.get(project="shop", session="s").messages
    assert [one.text for one in found] == ["parent", "child"]
    working.close()


def test_a_file_that_is_something_else_is_left_as_it_is(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "m.db.working"
    path.write_bytes(b"not a database" * 1_000)
    working = opened(path, clock)
    with pytest.raises(CorruptError):
        working.add("x", project="shop", session="s")
    assert path.read_bytes().startswith(b"not a database")
    other = tmp_path / "new.working"
    db = apsw.Connection(str(other))
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(NewerFileError):
        opened(other, clock).add("x", project="shop", session="s")
    with pytest.raises(StoreError):
        opened(tmp_path / "none" / "m.working", clock).add("x", project="shop", session="s")


@pytest.mark.parametrize(
    "url",
    [
        "http://:hunter2@host/0?prefix=p",
        "redis://:hunter2@host:99999999/0?prefix=p",
        "redis://:hunter2@host/0",
        "redis://:hunter2@host/0?prefix=",
        "redis://:hunter2@host/0?prefix=a{b}",
        "redis://:hunter2@[host/0?prefix=p",
        "",
        "hunter2",
    ],
)
def test_a_url_that_is_not_one_of_redis_is_refused_without_showing_a_password(url: str) -> None:
    with pytest.raises(InputError) as caught:
        checked_url(url)
    assert "hunter2" not in f"{caught.value} {caught.value.fields}"
