"""`doxa serve --workers`: several processes are one server. Real processes, real drivers, kills."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from neo4j import GraphDatabase
from neo4j.exceptions import Neo4jError, ServiceUnavailable, SessionExpired

from doxa.app.models import PROCESS, reload_caps, share_caps
from doxa.base.limits import (
    BOLT_THREADS_MAX,
    LOGIN_ATTEMPTS_MAX,
    SERVE_STOP_MS,
    WORKER_RESTARTS_ITEMS_MAX,
)
from doxa.servers.credentials import Credentials
from doxa.servers.prefork.channel import CallFailed, Channel
from doxa.servers.prefork.counters import CounterTable, counter_file
from doxa.servers.prefork.supervisor import Supervisor
from doxa.settings import configuration
from tests.fixtures_shared import opened
from tests.http.http_fixtures import Client, basic
from tests.servers.bolt_fixtures import FAILURE, NEWEST, SUCCESS, Peer

WAIT_S = 60
BOTH = ("--http", "--http-port", "0", "--bolt", "--port", "0")


class Fleet:
    """`doxa serve --workers` in processes of its own."""

    def __init__(self, db: Path, *arguments: str, workers: int = 2, **environ: str) -> None:
        command = [sys.executable, "-m", "doxa.cli", "serve", "--json", "--workers", str(workers)]
        self.errors = db.with_name("stderr")
        with self.errors.open("w") as err:
            self.process = subprocess.Popen(
                [*command, *arguments, "--db", str(db)],
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                env=os.environ | {"DOXA_EMBEDDER": "none"} | environ,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.errors.read_text()
        self.told: dict[str, Any] = json.loads(line)

    def port(self, interface: str) -> int:
        return int(str(self.told[interface]).rpartition(":")[2].partition("/")[0])

    def pids(self) -> list[int]:
        """The processes of the workers that run."""
        found = subprocess.run(
            ["ps", "-o", "pid=,stat=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
        )
        rows = [line.split() for line in found.stdout.splitlines()]
        return [int(pid) for pid, state in rows if not state.startswith("Z")]

    def has_two_without(self, gone: int) -> bool:
        """Return whether two workers run, of which none is this process."""
        pids = self.pids()
        return len(pids) == 2 and gone not in pids

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=SERVE_STOP_MS / 1000 + 20)

    def driver(self) -> Any:
        return GraphDatabase.driver(str(self.told["bolt"]), auth=None)


@contextmanager
def serving(db: Path, *arguments: str, workers: int = 2, **environ: str) -> Iterator[Fleet]:
    found = Fleet(db, *arguments, workers=workers, **environ)
    try:
        yield found
    finally:
        pids = found.pids() if found.process.poll() is None else []
        for pid in [found.process.pid, *pids]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        found.process.communicate()


def until(reached: Callable[[], object]) -> None:
    end = time.monotonic() + WAIT_S
    while not reached():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def log_in(peer: Peer, auth: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """Say HELLO and LOGON; return the last tag, and what both were answered."""
    tag, hello = peer.ask("HELLO", {"user_agent": "test/1"})
    if tag != SUCCESS:
        return tag, hello or {}
    tag, about = peer.ask("LOGON", auth)
    return tag, {**hello, **(about or {})}


@contextmanager
def peers_of_each(fleet: Fleet, count: int) -> Iterator[dict[str, Peer]]:
    """Bolt clients, one for each of so many workers, by the number of the worker."""
    found: dict[str, Peer] = {}
    end = time.monotonic() + WAIT_S
    held = []
    while len(found) < count:
        assert time.monotonic() < end, f"clients reached only {sorted(found)}"
        peer = Peer(fleet.port("bolt"))
        held.append(peer)
        tag, about = log_in(peer, {"scheme": "none"})
        assert tag == SUCCESS
        found.setdefault(str(about["connection_id"]).split("-")[1], peer)
    try:
        yield found
    finally:
        for one in held:
            one.socket.close()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A server that no test harms."""
    with serving(tmp_path_factory.mktemp("fleet") / "memory.db", *BOTH, "--no-login") as found:
        yield found


def test_connections_are_spread_and_each_sees_what_another_wrote(fleet: Fleet) -> None:
    with peers_of_each(fleet, 2) as peers:
        first, second = peers.values()
        for at in range(50):
            first.rows("CREATE (:Seen {at: $at})", {"at": at})
            rows = second.rows("MATCH (n:Seen) RETURN max(n.at) AS at, count(n) AS n")
            assert rows == [[at, at + 1]]
            second.rows("MATCH (n:Seen {at: $at}) SET n.also = $at", {"at": at})
            assert first.rows("MATCH (n:Seen {at: $at}) RETURN n.also", {"at": at}) == [[at]]


def test_those_that_come_before_all_workers_are_there_are_spread(tmp_path: Path) -> None:
    """They connect as soon as the address is bound, seconds before the last worker has started."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    early: list[Peer] = []
    ended = threading.Event()

    def connect() -> None:
        while len(early) < 8 and not ended.wait(0.005):
            with suppress(OSError):
                early.append(Peer(port, version=None))

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    numbers = []
    try:
        with serving(tmp_path / "m.db", "--bolt", "--port", str(port), "--no-login", workers=3):
            thread.join(WAIT_S)
            for peer in early:
                peer.agree(NEWEST)
                tag, about = log_in(peer, {"scheme": "none"})
                assert tag == SUCCESS
                numbers.append(str(about["connection_id"]).split("-")[1])
                peer.socket.close()
    finally:
        ended.set()
    assert len(numbers) == 8
    assert max(map(numbers.count, numbers)) <= 4


def test_a_driver_reads_its_writes_over_any_connection(fleet: Fleet) -> None:
    wrong: list[object] = []

    def client(number: int) -> None:
        for at in range(15):  # sessions end, so that the pool mixes connections
            with driver.session() as session:
                session.execute_write(
                    lambda tx, at=at: tx.run(
                        "CREATE (:Own {client: $client, at: $at})", client=number, at=at
                    ).consume()
                )
                marks = session.last_bookmarks()
            with driver.session(bookmarks=marks) as session:
                found = session.execute_read(
                    lambda tx: tx.run(
                        "MATCH (n:Own {client: $client}) RETURN count(n) AS n", client=number
                    ).single()["n"]
                )
                if found != at + 1:
                    wrong.append((number, at, found))

    with fleet.driver() as driver:
        clients = [threading.Thread(target=client, args=(number,)) for number in range(6)]
        for one in clients:
            one.start()
        for one in clients:
            one.join(WAIT_S)
        with driver.session() as session:
            assert session.run("MATCH (n:Own) RETURN count(n) AS n").single()["n"] == 90
    assert not wrong


def test_transactions_are_shown_and_ended_whichever_worker_has_them(fleet: Fleet) -> None:
    with peers_of_each(fleet, 2) as peers:
        one, other = peers.values()
        assert one.ask("BEGIN", {"mode": "r"})[0] == SUCCESS
        assert one.ask("RUN", "RETURN 'only here' AS text", {}, {})[0] == SUCCESS
        rows = other.rows(
            "SHOW TRANSACTIONS YIELD transactionId, currentQuery"
            " WHERE currentQuery CONTAINS 'only here' AND NOT currentQuery CONTAINS 'SHOW'"
            " RETURN transactionId"
        )
        assert len(rows) == 1
        found = other.rows(f"TERMINATE TRANSACTIONS '{rows[0][0]}'")
        assert found[0][2] == "Transaction terminated."
        assert one.ask("RUN", "RETURN 1 AS n", {}, {})[0] == FAILURE


def test_requests_of_one_client_reach_several_workers(fleet: Fleet) -> None:
    """A link, its cookie, a key and a job, each used over many connections."""
    port, none = fleet.port("http"), {"Authorization": None}

    def ask(method: str, path: str, body: Any = None, **headers: str | None) -> Any:
        with Client(port) as client:  # a connection each
            return client.ask(method, path, body, {**none, **headers})

    link = ask("POST", "/v1/session/links").json["path"]
    opened_page = ask("GET", link)
    assert opened_page.status == 303
    cookie = opened_page.headers["set-cookie"].partition(";")[0]
    codes = {ask("GET", link).status for _ in range(6)}
    assert codes == {401}  # it opens a session once, at no worker twice
    told = [ask("GET", "/v1/session", Cookie=cookie).json["how"] for _ in range(12)]
    assert told == ["cookie"] * 12
    own = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{port}"}
    assert ask("DELETE", "/v1/session", **own).status == 204
    assert {ask("GET", "/v1/session", Cookie=cookie).status for _ in range(6)} == {401}

    key = {"Idempotency-Key": "once-and-no-more"}
    answers = [ask("POST", "/v1/remember", {"text": "Ana likes tea."}, **key) for _ in range(6)]
    assert {one.status for one in answers} == {200}
    assert len({one.json["kref"] for one in answers}) == 1

    jobs = [
        ask("POST", "/v1/recall", {"text": "tea"}, Prefer="respond-async").headers["location"]
        for _ in range(6)
    ]
    assert len({job.rpartition("-")[2] for job in jobs}) == 2  # of both workers
    for job in jobs:
        until(lambda job=job: ask("GET", job).json["state"] == "done")
        assert ask("GET", job).json["answer"]
    listed = {one["id"] for one in ask("GET", "/v1/jobs").json["items"]}
    assert {job.rpartition("/")[2] for job in jobs} <= listed
    assert ask("DELETE", jobs[0]).status == 202
    assert ask("GET", "/v1/jobs/0123456789abcdef-1").status == 404
    assert ask("GET", "/v1/jobs/0123456789abcdef-7").status == 503  # worker 7 does not exist


def test_metrics_are_those_of_all_workers(fleet: Fleet) -> None:
    with peers_of_each(fleet, 2) as peers:
        for peer in peers.values():
            peer.rows("RETURN 1 AS n")
    with Client(fleet.port("http")) as client:
        text = str(client.ask("GET", "/metrics", None, {"Authorization": None}).json)
    for number in (1, 2):
        assert f'interface="bolt",verb="query",outcome="ok",worker="{number}"' in text
    assert "doxa_workers 2" in text and "doxa_worker_restarts_total 0" in text
    assert text.count("doxa_log_changes{") == 1  # the file is one


def test_events_of_one_worker_are_followed_at_another(fleet: Fleet) -> None:
    with ExitStack() as held:
        replies = []
        for _ in range(4):  # of both workers
            line = http.client.HTTPConnection("127.0.0.1", fleet.port("http"), timeout=WAIT_S)
            held.callback(line.close)
            line.request("GET", "/db/doxa/events?name=revision.created")
            replies.append(line.getresponse())
            held.callback(replies[-1].close)
        client = held.enter_context(Client(fleet.port("http")))
        body = {"text": "Every follower hears of this."}
        assert client.ask("POST", "/v1/remember", body, {"Authorization": None}).status == 200
        for reply in replies:
            assert any(b"revision.created" in reply.readline() for _ in range(20))


def test_wrong_passwords_count_together(tmp_path: Path) -> None:
    users = Credentials(tmp_path / "users.json")
    users.add("ana", "a-good-secret", role="operator")
    with serving(tmp_path / "memory.db", *BOTH, "--users", str(users.path)) as fleet:
        for number in range(LOGIN_ATTEMPTS_MAX):  # by turns at one worker and the other
            with Client(fleet.port("http")) as client:
                wrong = basic("ana", f"wrong-secret-{number}")
                assert client.ask("GET", "/", None, wrong).status == 401
        statuses = set()
        for _ in range(6):
            with Client(fleet.port("http")) as client:
                statuses.add(client.ask("GET", "/", None, basic("ana", "a-good-secret")).status)
            with Peer(fleet.port("bolt")) as peer:
                given = {"scheme": "basic", "principal": "ana", "credentials": "a-good-secret"}
                tag, about = log_in(peer, given)
                assert tag == FAILURE and "too many attempts" in about["message"]
        assert statuses == {429}
        assert fleet.stop() == 0


def test_the_limit_of_connections_is_one_of_all_workers(fleet: Fleet) -> None:
    held: list[Peer] = []
    try:
        for _ in range(BOLT_THREADS_MAX):
            assert _admitted(fleet, held)
        assert not _admitted(fleet, held)
        held.pop().socket.close()
        until(lambda: _admitted(fleet, held))
    finally:
        for one in held:
            one.socket.close()


def _admitted(fleet: Fleet, held: list[Peer]) -> bool:
    peer = Peer(fleet.port("bolt"), version=None)
    try:
        peer.agree(NEWEST)
        admitted = log_in(peer, {"scheme": "none"})[0] == SUCCESS
    except (OSError, AssertionError):  # it was refused
        admitted = False
    if admitted:
        held.append(peer)
    else:
        peer.socket.close()
    return admitted


def more_of_each(acknowledged: list[set[int]]) -> None:
    """Wait until every client was answered ten times more."""
    wanted = [len(one) + 10 for one in acknowledged]
    until(lambda: all(len(one) >= most for one, most in zip(acknowledged, wanted, strict=True)))


def test_a_killed_worker_loses_nothing_and_comes_back(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    acknowledged: list[set[int]] = [set() for _ in range(6)]
    over = threading.Event()

    def client(number: int) -> None:
        at = number
        while not over.is_set():
            with suppress(Neo4jError, ServiceUnavailable, SessionExpired, OSError):
                driver.execute_query("CREATE (:Kept {at: $at})", at=at)
                acknowledged[number].add(at)
            at += len(acknowledged)

    with serving(db, *BOTH, "--no-login") as fleet:
        with fleet.driver() as driver:
            clients = [threading.Thread(target=client, args=(number,)) for number in range(6)]
            for one in clients:
                one.start()
            for round_ in range(3):
                more_of_each(acknowledged)
                victim = fleet.pids()[round_ % 2]
                os.kill(victim, signal.SIGKILL)
                until(lambda gone=victim: fleet.has_two_without(gone))
            more_of_each(acknowledged)
            over.set()
            for one in clients:
                one.join(WAIT_S)
        with Client(fleet.port("http")) as http_client:
            text = str(http_client.ask("GET", "/metrics", None, {"Authorization": None}).json)
        assert "doxa_worker_restarts_total 3" in text
        assert fleet.stop() == 0
        assert "is started again" in fleet.errors.read_text()
    with opened(db) as memory:
        rows = memory.run("MATCH (n:Kept) RETURN n.at AS at").records()
        memory.verify()
    assert set().union(*acknowledged) <= {row["at"] for row in rows}
    assert not [one for one in tmp_path.iterdir() if one.name.startswith("memory.db-")]


def test_a_stop_under_load_drains_all_workers(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    acknowledged: list[list[int]] = [[] for _ in range(6)]

    def client(number: int) -> None:
        with suppress(OSError, AssertionError, IndexError), Peer(fleet.port("bolt")) as peer:
            peer.login({"scheme": "none"})
            for at in range(10**6):
                peer.rows("CREATE (:Last {client: $client, at: $at})", {"client": number, "at": at})
                acknowledged[number].append(at)

    every = (*BOTH, "--mcp", "--mcp-port", "0", "--no-login", "--log", "json")
    with serving(db, *every, workers=3) as fleet:
        clients = [threading.Thread(target=client, args=(number,)) for number in range(6)]
        for one in clients:
            one.start()
        for _ in range(6):  # one worker has the sessions of MCP, and gets every connection
            with Client(fleet.port("mcp")) as mcp:
                assert mcp.ask("GET", "/health", None, {"Authorization": None}).status == 200
        until(lambda: all(len(one) >= 10 for one in acknowledged))
        assert fleet.stop() == 0
        for one in clients:
            one.join(WAIT_S)
        lines = [json.loads(one) for one in fleet.errors.read_text().splitlines()]
    served = {one["worker"] for one in lines if one["logger"] == "doxa.calls"}
    assert served <= {1, 2, 3}
    assert len(served) > 1  # which of them took a connection is the system's choice
    assert not [one for one in lines if "traceback" in one]
    with opened(db) as memory:
        rows = memory.run("MATCH (n:Last) RETURN n.client AS client, n.at AS at").records()
        memory.verify()
    found = {(row["client"], row["at"]) for row in rows}
    assert {(n, at) for n, one in enumerate(acknowledged) for at in one} <= found
    assert not [one for one in tmp_path.iterdir() if one.name.startswith("memory.db-")]


def test_workers_stop_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    with serving(tmp_path / "memory.db", *BOTH, "--no-login") as fleet:
        pids = fleet.pids()
        fleet.process.kill()
        fleet.process.wait()
        until(lambda: not any(_runs(pid) for pid in pids))
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", fleet.port("bolt")), timeout=5).close()


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


_ENDS_AT_ONCE = """
import json, os, sys
data = json.dumps({"call": 1, "name": "ready", "args": [{}, "m.db"], "to": 0}).encode()
os.write(int(sys.argv[1]), len(data).to_bytes(4, "big") + data)
os.read(int(sys.argv[1]), 1)
sys.exit(3)
"""


def test_a_server_whose_workers_keep_ending_gives_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = tmp_path / "worker.py"
    script.write_text(_ENDS_AT_ONCE)
    supervisor = Supervisor(
        [sys.executable, "-S", str(script)],
        {},
        workers=2,
        listeners={},
        ready=lambda addresses, path: None,
        delay_s=0.001,
    )
    assert asyncio.run(asyncio.wait_for(supervisor.run(), WAIT_S)) == 1
    restarts = [one for one in caplog.messages if "with code 3; it is started again" in one]
    assert len(restarts) == WORKER_RESTARTS_ITEMS_MAX
    assert "too many have, so the server ends" in caplog.text


_ENDS_THE_FIRST_TIME = """
import json, os, sys, time
command, away, handle = sys.argv[1], sys.argv[2], int(sys.argv[3])
again = os.path.exists(away + ".seen")
if not again:
    os.rename(command, away)
data = json.dumps({"call": 1, "name": "ready", "args": [{}, "m.db"], "to": 0}).encode()
os.write(handle, len(data).to_bytes(4, "big") + data)
if not again:
    time.sleep(0.2)
    sys.exit(3)
while os.read(handle, 1000):
    pass
"""


def test_a_worker_that_cannot_be_started_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its program is gone for a while, as if there were no memory for a process."""
    script, command, away = tmp_path / "worker.py", tmp_path / "command", tmp_path / "away"
    script.write_text(_ENDS_THE_FIRST_TIME)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -S {script} {command} {away} "$@"\n')
    command.chmod(0o700)
    supervisor = Supervisor(
        [str(command)],
        {},
        workers=1,
        listeners={},
        ready=lambda addresses, path: None,
        delay_s=0.1,
    )

    async def lose_the_command_for_a_while() -> None:
        serving = asyncio.create_task(supervisor.run())
        while caplog.text.count("could not be started") < 2:
            await asyncio.sleep(0.01)
        away.with_name("away.seen").touch()
        away.rename(command)
        while await supervisor._answer(1, "workers", [], 0) != [1, 1]:
            await asyncio.sleep(0.01)
        supervisor._ask_to_stop()
        await serving

    asyncio.run(asyncio.wait_for(lose_the_command_for_a_while(), WAIT_S))
    assert "with code 3; it is started again" in caplog.text


def test_the_service_manager_hears_one_server(tmp_path: Path) -> None:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.bind(str(tmp_path / "notify"))
    line.settimeout(WAIT_S)
    settings = tmp_path / "doxa.toml"
    settings.write_text('project = "p"\n')

    def hear(text: str) -> str:
        while text not in (said := line.recv(2_000).decode()):
            pass
        return said

    environ = {
        "NOTIFY_SOCKET": str(tmp_path / "notify"),
        "WATCHDOG_USEC": "400000",
        "DOXA_CONFIG": str(settings),
    }
    with serving(tmp_path / "memory.db", *BOTH, "--no-login", **environ) as fleet:
        assert line.recv(2_000).decode() == "READY=1\nSTATUS=listening, 2 workers"
        hear("WATCHDOG=1")
        settings.write_text('project = "q"\n')
        fleet.process.send_signal(signal.SIGHUP)
        hear("RELOADING=1")
        assert "project after a restart" in hear("READY=1")
        assert fleet.errors.read_text().count(": reload: project after a restart") == 2
        fleet.process.send_signal(signal.SIGTERM)
        hear("STOPPING=1")
        assert fleet.process.wait(timeout=WAIT_S) == 0
    line.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--workers", "0"), "1 to 64 workers"),
        (("--workers", "2", "--data", "folder"), "not a folder of databases"),
        (("--workers", "2", "--db", "no/such/folder/m.db"), "no/such/folder"),
    ],
)
def test_what_cannot_be_served_is_refused_once(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    command = [sys.executable, "-m", "doxa.cli", "serve", "--bolt", "--port", "0", "--no-login"]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=WAIT_S
    )
    assert done.returncode not in (0, None) and "Traceback" not in done.stderr
    assert done.stderr.count(said) == 1, done.stderr


# The parts


def test_what_a_dead_worker_counted_is_gone() -> None:
    here = CounterTable(counter_file())
    there = CounterTable(os.dup(here.handle))
    for table, worker in ((here, 1), (there, 2)):
        table.of(worker, "serving").add(1)
    one, other = here.of(1, "bolt"), there.of(2, "bolt")
    assert (one.add(3), other.add(4)) == (3, 7)
    assert (one.mine, other.mine, one.least(), other.least()) == (3, 4, 3, 3)
    here.clear(2)
    assert (one.add(0), one.least()) == (3, 3)
    assert other.add(1) == 4


def test_model_caps_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOXA_MODEL_TOKENS_MAX", "1001")
    monkeypatch.delenv("DOXA_MODEL_CALLS_MAX", raising=False)
    found = []
    try:
        for number in (1, 2, 3):
            share_caps(number, 3)
            reload_caps(configuration())
            found.append(PROCESS.tokens_max)
            assert PROCESS.calls_max is None
    finally:
        share_caps(1, 1)
        monkeypatch.delenv("DOXA_MODEL_TOKENS_MAX")
        reload_caps(configuration())
    assert found == [335, 333, 333]


def test_a_call_whose_process_ends_fails_at_once() -> None:
    asyncio.run(_a_call_whose_process_ends())


async def _a_call_whose_process_ends() -> None:
    async def never(name: str, args: list[Any], to: int) -> Any:
        if name == "wrong":
            raise CallFailed("It is refused.", next_step="Do not.")
        return await asyncio.get_running_loop().create_future()

    ours, theirs = socket.socketpair()
    one, other = Channel(never), Channel(never)
    await one.open(ours)
    await other.open(theirs)
    runs = [asyncio.create_task(side.run()) for side in (one, other)]
    with pytest.raises(CallFailed, match="refused"):
        await one.call("wrong")
    waiting = asyncio.create_task(one.call("any"))
    await asyncio.sleep(0.05)
    other.close()
    with pytest.raises(CallFailed, match="has ended"):
        await waiting
    with pytest.raises(CallFailed, match="has ended"):
        await one.call("any")
    for run in runs:
        await asyncio.wait_for(run, WAIT_S)
