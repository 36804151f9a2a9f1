"""An engine that is stopped, paused or refuses connections: reads go on and say how old they are,
writes are refused, and nothing waits without end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from doxa.app import Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import BusyError, UnreachableError
from doxa.cli.application import app
from doxa.jobs.heartbeat import heartbeats
from doxa.jobs.runs import begin
from doxa.store import digest
from tests.fixtures_shared import opened
from tests.replication.postgres import MISSING, PostgresServer, programs

pytestmark = pytest.mark.skipif(programs() is None, reason=MISSING)
GUARD_S = 120  # of a hang; the limits are far below


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresServer]:
    from doxa.replication.engines import postgres_connection

    monkeypatch.setattr(postgres_connection, "ANSWER_S", 1.0)
    monkeypatch.setitem(postgres_connection.OPTIONS, "connect_timeout", 2)
    server = PostgresServer()
    yield server
    server.close()


def ends(call: Callable[[], Any]) -> Any:
    """What a call returns or raises; a failure if it does neither."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(GUARD_S)
    assert found, f"{call} has not ended after {GUARD_S} s"
    return found[0]


def refuse(server: PostgresServer, database: str, *, allowed: bool) -> None:
    import psycopg

    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS {allowed}')
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (database,)
        )


# The three differ in how soon the client hears of it; a paused engine never says anything.
_WAYS = ("stopped", "paused", "refusing") if "DOXA_ENGINE_AWAY" in os.environ else ("paused",)


@pytest.mark.parametrize("how", _WAYS)
def test_without_the_engine(
    own_server: PostgresServer, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave = {
        "stopped": own_server.kill,
        "paused": own_server.pause,
        "refusing": lambda: refuse(own_server, "shop", allowed=False),
    }[how]
    come_back = {
        "stopped": own_server.start,
        "paused": own_server.resume,
        "refusing": lambda: refuse(own_server, "shop", allowed=True),
    }[how]
    url = own_server.create("shop")
    given: Any = {"tenant": "acme", "replica": tmp_path / "one"}
    with opened(url, **given, background=True) as memory:  # type: ignore[arg-type]
        memory.remember("Deploys are on Thursday", project="p")
        token = memory.token()
        leave()
        try:
            _reads_go_on(memory, token)
            assert isinstance(ends(lambda: _write(memory)), UnreachableError)
            replica = memory.replica
            assert replica is not None
            status = replica.status
            assert not status.reachable and status.problem and status.age_s is not None
            with replica.reading("latest"):
                assert isinstance(ends(replica.before_read), type(None)), "another thread's level"
            assert isinstance(ends(replica.catch_up), UnreachableError)
            assert isinstance(
                ends(lambda: memory.wait(f"99@{'00' * 32}", timeout_s=1)),
                (UnreachableError, BusyError),
            )
            told = {one.name: one for one in ends(memory.doctor)}["replica"]
            assert not told.ok and "last heard of" in told.detail
            with ends(lambda: opened(url, **given)) as alone:  # type: ignore[arg-type]
                _reads_go_on(alone, token)
                assert alone.replica.status.age_s is not None, "another process heard of it"
            assert isinstance(
                ends(lambda: opened(url, tenant="acme", replica=tmp_path / "new")),  # type: ignore[arg-type]
                UnreachableError,
            )
            _the_command_says_so(url, tmp_path, monkeypatch)
        finally:
            come_back()
        memory.remember("Rollbacks are on Friday", project="p")
        assert replica.status.reachable
        with opened(url, tenant="acme", replica=tmp_path / "two") as other:  # type: ignore[arg-type]
            assert digest(other.store) == digest(memory.store)
    with opened(url, **given) as memory:  # type: ignore[arg-type]
        leave()
        try:
            assert ends(memory.close) is None
        finally:
            come_back()


def _write(memory: Memory) -> object:
    return memory.remember("Deploys are on Friday", project="p")


def _reads_go_on(memory: Memory, token: str) -> None:
    assert len(ends(lambda: memory.recall("deploys", project="p")).hits) == 1
    rows = ends(lambda: memory.run("MATCH (n:Revision) RETURN count(n) AS n").records())
    assert rows[0]["n"] == 1
    assert ends(lambda: memory.wait(token, timeout_s=1)) == token


def _the_command_says_so(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    data = folder / "doxa" / "replicas"
    data.mkdir(parents=True, exist_ok=True)
    for path in (folder / "one").glob("*.db*"):
        (data / path.name).write_bytes(path.read_bytes())
    done = ends(lambda: CliRunner().invoke(app, ["stats", "--db", f"{url}?tenant=acme"]))
    assert done.exit_code == 0, done.output
    assert "does not answer" in done.stderr and "writes are refused" in done.stderr


def test_a_running_job_is_not_reported_as_stopped_while_nobody_can_say(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    url, clock = own_server.create("jobs"), FakeClock()
    given = {"tenant": "acme", "replica": tmp_path / "r", "clock": clock}
    with opened(url, **given) as memory:  # type: ignore[arg-type]
        begin(memory.store, "dream", project="default")
        clock.advance(seconds=600)

        def stalled() -> list[bool]:
            with memory.store.read() as reader:
                return [beat.is_stalled for beat in heartbeats(reader, now=clock.now_ns())]

        assert stalled() == [True], "nobody holds its lease"
        own_server.kill()
        assert ends(stalled) == [False]
        begun = time.monotonic()
        assert ends(stalled) == [False]
        assert time.monotonic() - begun < 1, "it is known by now that the engine is away"
