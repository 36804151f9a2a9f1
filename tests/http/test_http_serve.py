"""`doxa serve --http` on the command line: alone, together with Bolt, with missing requirements,
and until a signal."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import doxa
from doxa.cli import app
from tests.http.http_fixtures import Client, basic, until
from tests.servers.bolt_fixtures import FAILURE, Peer

PASSWORD = "a long password"
ANA = basic("ana", PASSWORD)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def run(db: Path, *arguments: str, said: str = "") -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*arguments, "--db", str(db)], input=said)
    return result.exit_code, result.stdout, result.stderr


def started(db: Path, *arguments: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    command = [sys.executable, "-m", "doxa.cli", "serve", *arguments, "--json", "--db", str(db)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def port_of(uri: str) -> int:
    return int(uri.rpartition(":")[2])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_interrupted(db: Path, number: signal.Signals) -> None:
    run(db, "users", "add", "ana", "--role", "operator", said=f"{PASSWORD}\n")
    process, told = started(db, "--http", "--http-port", "0")
    assert told == {"http": told["http"], "db": str(db), "users": f"{db}.users.json"} and told[
        "http"
    ].startswith("http://127.0.0.1:")
    with Client(port_of(told["http"]), **ANA) as client:
        assert client.ask("GET", "/").json["doxa"] == doxa.__version__
        assert client.query("CREATE (:A {x: 1})").status == 202
        assert client.query("RETURN 1", headers=basic("ana", "wrong")).status == 401
        process.send_signal(number)  # the client is still connected
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert err.count("\n") == 1 and "'ana'" in err and "refused" in err
    with doxa.open(db, embedder=None) as memory:
        assert memory.run("MATCH (n:A) RETURN n.x AS x").records() == [{"x": 1}]


def test_both_doors_in_one_process(db: Path) -> None:
    run(db, "users", "add", "ana", "--role", "operator", said=f"{PASSWORD}\n")
    process, told = started(db, "--bolt", "--port", "0", "--http", "--http-port", "0")
    login = {"scheme": "basic", "principal": "ana", "credentials": PASSWORD}
    with Client(port_of(told["http"]), **ANA) as client, Peer(port_of(told["bolt"])) as peer:
        assert client.query("CREATE (:A {x: 1})").status == 202
        assert peer.login(login).rows("MATCH (a:A) RETURN a.x") == [[1]]
        assert peer.rows("CREATE (:B)") == []
        assert client.rows("MATCH (b:B) RETURN count(b)") == [[1]]
    with Client(port_of(told["http"])) as client:  # wrong passwords count for both servers together
        assert [client.query("RETURN 1", headers=basic("eve", "no")).status for _ in range(6)] == [
            401
        ] * 5 + [429]
    with Peer(port_of(told["bolt"])) as peer:
        peer.ask("HELLO", {"user_agent": "test"})
        tag, about = peer.ask("LOGON", {"scheme": "basic", "principal": "eve", "credentials": "no"})
        assert tag == FAILURE and about["neo4j_code"].endswith("AuthenticationRateLimit")
    process.terminate()
    assert process.communicate(timeout=60)[0] == "" and process.returncode == 0


def test_it_says_where_it_listens(db: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "doxa.cli",
        "serve",
        "--bolt",
        "--port",
        "0",
        "--http",
        "--http-port",
        "0",
        "--no-login",
        "--db",
        str(db),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    process.terminate()
    assert process.communicate(timeout=60)[1] == ""
    assert (
        line.startswith("bolt://127.0.0.1:")
        and " and http://127.0.0.1:" in line
        and line.endswith("(no login); interrupt to stop\n")
    )


def test_a_taken_port_closes_the_door_that_was_open(db: Path) -> None:
    process, told = started(db, "--http", "--http-port", "0", "--no-login")
    code, out, err = run(
        db,
        "serve",
        "--bolt",
        "--port",
        "0",
        "--http",
        "--http-port",
        str(port_of(told["http"])),
        "--no-login",
    )
    process.terminate()
    process.communicate(timeout=60)
    assert (code, out) == (5, "") and "HTTP server cannot listen" in err


@pytest.mark.parametrize(
    "arguments, named",
    [
        ([], "--http"),
        (["--http", "--port", "8080"], "--bolt"),
        (["--http", "--advertise", "a:1"], "--bolt"),
        (["--bolt", "--http-port", "8080"], "--http"),
        (["--http", "--http-port", "65536"], "65535"),
        (["--http", "--host", "0.0.0.0"], "clear text"),
        (["--http", "--host", "0.0.0.0", "--no-login", "--plaintext"], "no login"),
        (["--http", "--certificate", "absent.pem"], "certificate and its key"),
    ],
)
def test_a_door_that_would_be_unsafe_or_cannot_be_does_not_open(
    db: Path, arguments: list[str], named: str
) -> None:
    code, out, err = run(db, "serve", *arguments)
    assert (code, out) == (2, "") and named in err


def test_a_server_that_cannot_listen_leaves_no_deadline_behind(db: Path) -> None:
    """It would end the process of its caller, ten seconds later."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, _, err = run(db, "serve", "--http", "--http-port", port, "--no-login")
    assert code and port in err
    for one in threading.enumerate():
        if isinstance(one, threading.Timer):
            one.join(5)
            assert not one.is_alive()


@pytest.mark.parametrize("module", ["starlette", "uvicorn"])
def test_without_the_extra_it_says_what_to_install(db: Path, module: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from doxa.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", "--http", "--json", "--db", str(db)],
        capture_output=True,
        text=True,
    )
    error = json.loads(done.stderr)["error"]
    assert (
        done.returncode == 2
        and error["fields"] == {"extra": "http"}
        and "pip install" in error["next_step"]
    )
    assert not db.exists()


def test_bolt_needs_no_extra(db: Path) -> None:
    code = (
        "import sys; sys.modules['starlette'] = sys.modules['uvicorn'] = None; import"
        " doxa.servers.bolt, doxa.cli.servers, doxa.servers.listening"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def listens(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_under_its_output_is_no_reason_not_to_serve(db: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "doxa.cli", "serve", "--http", "--no-login"]
    command += ["--http-port", str(port), "--log", "json", "--db", str(db)]
    with Path("/dev/full").open("w") as full:
        process = subprocess.Popen(command, stdout=full, stderr=full)
        try:
            until(lambda: listens(port), 30)
            with Client(port) as client:
                assert client.rows("RETURN 1") == [[1]]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        told = subprocess.run(
            [sys.executable, "-m", "doxa.cli", "remember", "Ana likes tea.", "--db", str(db)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert told.returncode == 5
    assert b"no space left for the output of the command" in told.stderr
    with doxa.open(db, read_only=True, embedder=None) as memory:
        assert memory.stats()["items"] == 1
