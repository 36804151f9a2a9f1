"""What is special to Redis: every key expires by itself, prefixes do not mix, and the package is
imported only where a URL asks for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doxa.base.clock import FakeClock
from doxa.base.errors import DiskFullError, InputError, StoreError, UnreachableError
from doxa.working import WorkingMemory, open_working
from tests.working.conftest import free_port, server_arguments, started

Server = Callable[..., None]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def server(tmp_path: Path, port: int) -> Iterator[Server]:
    """A server that keeps nothing: starts it with options, in place of the one before."""
    running: list[subprocess.Popen[bytes]] = []

    def end() -> None:
        while running:
            running[-1].kill()
            running.pop().wait()

    def start(*options: str) -> None:
        end()
        running.append(started(server_arguments(tmp_path, port, *options), port))

    start.end = end  # type: ignore[attr-defined]
    yield start
    end()


def at(port: int, *, login: str = "", more: str = "", number: str = "0") -> WorkingMemory:
    url = f"redis://{login}127.0.0.1:{port}/{number}?prefix=x{more}"
    return open_working(url, Path("unused"), clock=FakeClock(), ttl_s=3_600, read_only=False)


def test_every_key_expires_within_the_hour_but_the_secret_and_the_counter(
    redis_port: int, tmp_path: Path
) -> None:
    import redis

    client = redis.Redis(port=redis_port)
    before = set(client.keys())
    for prefix in (f"{tmp_path.name}-a", f"{tmp_path.name}-b"):
        working = open_working(
            f"redis://127.0.0.1:{redis_port}/0?prefix={prefix}",
            tmp_path / "unused",
            clock=FakeClock(),
            ttl_s=3_600,
            read_only=False,
        )
        assert working.sessions(project="shop") == []  # nothing of the other prefix
        working.add("x", project="shop", user="ana")
        working.get(project="shop", user="ana")
        working.close()
    made = set(client.keys()) - before
    parts = {key: key.split(b"}:")[1].split(b":")[0] for key in made}
    assert sorted(parts.values()) == sorted([b"s", b"m", b"t", b"i", b"u", b"n", b"secret"] * 2)
    for key, part in parts.items():
        left_ms = client.pttl(key)
        if part == b"secret":
            assert left_ms == -1
        else:
            assert 0 < left_ms <= (2 * 86_400_000 if part == b"n" else 3_600_000), key
    assert not any(b"ana" in key or b"shop" in key for key in made)


def test_the_package_is_imported_only_for_a_url(tmp_path: Path) -> None:
    code = (
        "import sys, doxa\n"
        f"with doxa.open({str(tmp_path / 'm.db')!r}, embedder=None) as memory:\n"
        "    memory.chat_add('x', user='ana')\n"
        "assert 'redis' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_server_that_comes_back_empty_keeps_the_handles_of_users(
    server: Server, port: int
) -> None:
    server()
    first, second = at(port), at(port)
    handle = first.add("one", project="shop", user="ana").session
    assert second.add("two", project="shop", user="ana").session == handle
    server.end()  # type: ignore[attr-defined]
    with pytest.raises(UnreachableError, match="Redis at"):
        first.add("lost", project="shop", user="ana")
    server()
    for one in (first, at(port), second):
        assert one.add("again", project="shop", user="ana").session == handle
    assert len(first.get(project="shop", user="ana").messages) == 3


def test_a_server_that_is_full_says_so_and_shows_no_key(server: Server, port: int) -> None:
    server("--maxmemory", "2mb", "--maxmemory-policy", "noeviction")
    working = at(port)
    with pytest.raises(DiskFullError, match="maxmemory") as caught:
        for number in range(1_000):
            working.add("x" * 30_000, project="shop", session=f"s{number}")
    with pytest.raises(DiskFullError, match="maxmemory") as unknown:  # it has no key yet either
        working.add("x", project="shop", user="ana")
    assert all("secret" not in str(one.value) for one in (caught, unknown))
    assert working.clear_all(project="shop") > 0
    assert working.add("x", project="shop", user="ana").added


def test_a_wrong_password_is_told_without_it(server: Server, port: int) -> None:
    server("--requirepass", "the-right-one")
    for login in ("", ":the-wrong-one@", "ana:the-wrong-one@"):
        with pytest.raises(StoreError, match="password of the URL") as caught:
            at(port, login=login).add("x", project="shop", user="ana")
        assert type(caught.value) is StoreError and "the-wrong-one" not in str(caught.value)
    assert at(port, login=":the-right-one@").add("x", project="shop", user="ana").added


@pytest.mark.parametrize(
    "given", [{"more": "&foo=1"}, {"more": "&socket_timeout=abc"}, {"number": "abc"}]
)
def test_a_url_that_the_package_does_not_take_is_told(given: dict[str, str]) -> None:
    pytest.importorskip("redis")
    with pytest.raises(InputError, match="cannot be used"):
        at(1, login=":a-password@", **given)


@pytest.mark.parametrize("rest", ["doxa/0?prefix=x&nosuch=1", "doxa/x?prefix=x", "?prefix=x"])
def test_a_url_of_sentinel_has_no_other_options(rest: str) -> None:
    pytest.importorskip("redis")
    url = f"redis+sentinel://127.0.0.1:1/{rest}"
    with pytest.raises(InputError, match="Sentinel"):
        open_working(url, Path("unused"), clock=FakeClock(), ttl_s=3_600, read_only=False)
