"""`doxa users` and `doxa serve` as a person types them; a real client's work against the server is
in tests/compat."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doxa.cli import app
from doxa.servers.credentials import Credentials, Principal
from tests.servers.bolt_fixtures import FAILURE, Peer

PASSWORD = "a long password"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def doxa(db: Path, *arguments: str, said: str = "") -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [*arguments, "--db", str(db)], input=said)
    return result.exit_code, result.stdout, result.stderr


def test_a_login_is_bound_to_projects_and_databases(db: Path) -> None:
    given = ("users", "add", "ana", "--project", "mine", "-p", "shared", "--database", "sales")
    assert doxa(db, *given, said=f"{PASSWORD}\n") == (
        0,
        "ana may log in as agent  (projects mine, shared; databases sales)\n",
        "",
    )
    assert json.loads(doxa(db, "users", "list", "--json")[1]) == [
        {
            "name": "ana",
            "role": "agent",
            "with": "password",
            "projects": ["mine", "shared"],
            "databases": ["sales"],
        }
    ]
    assert doxa(db, "users", "add", "bob", "--database", "../x", said=f"{PASSWORD}\n")[0] == 2
    assert doxa(db, "serve", "--http", "--data", "folder")[0] == 2


def test_users_come_and_go(db: Path) -> None:
    assert doxa(db, "users", "list") == (0, "nobody\n", "")
    assert doxa(db, "users", "add", "ana", "--role", "operator", said=f"{PASSWORD}\n") == (
        0,
        "ana may log in as operator\n",
        "",
    )
    code, token, _ = doxa(db, "users", "token", "bot", "--label", "ci")
    known = Credentials(f"{db}.users.json")
    assert code == 0 and known.verify_token(token.strip()) == Principal("bot", "agent")
    assert (
        known.verify("ana", PASSWORD) == Principal("ana", "operator")
        and known.verify("ana", "another") is None
    )
    assert doxa(db, "users", "list")[1].splitlines() == [
        "ana  operator  password",
        "bot  agent  token ci",
    ]
    assert json.loads(doxa(db, "users", "list", "--json")[1])[1] == {
        "name": "bot",
        "role": "agent",
        "with": "token ci",
    }
    assert doxa(db, "users", "remove", "bot", "--label", "other")[0] == 3
    assert doxa(db, "users", "remove", "bot", "--label", "ci") == (0, "removed: 1\n", "")
    assert known.verify_token(token.strip()) is None
    assert not db.exists()  # who may log in is not part of the memory


def test_secrets_are_neither_arguments_nor_kept(db: Path) -> None:
    doxa(db, "users", "add", "ana", said=f"{PASSWORD}\n")
    token = doxa(db, "users", "token", "ana")[1].strip()
    file = Path(f"{db}.users.json")
    assert PASSWORD not in file.read_text() and token not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert doxa(db, "users", "add", "eve", PASSWORD)[0] == 2


@pytest.mark.parametrize(
    "arguments, said, code",
    [
        (["add", "ana"], "short\n", 2),
        (["add", "ana"], "", 2),
        (["add", " ana"], f"{PASSWORD}\n", 2),
        (["add", "ana", "--role", "root"], f"{PASSWORD}\n", 2),
        (["token", "ana", "--role", "root"], "", 2),
        (["remove", "ana"], "", 3),
    ],
)
def test_what_cannot_be_is_refused(db: Path, arguments: list[str], said: str, code: int) -> None:
    found, out, err = doxa(db, "users", *arguments, said=said)
    assert (found, out) == (code, "") and err.startswith("doxa: ")


def test_a_name_is_taken_once(db: Path) -> None:
    doxa(db, "users", "add", "ana", said=f"{PASSWORD}\n")
    assert doxa(db, "users", "add", "ana", said=f"{PASSWORD}\n")[0] == 4


@pytest.mark.parametrize(
    "arguments, named",
    [
        ([], "--bolt"),
        (["--bolt", "--host", "0.0.0.0"], "clear text"),
        (["--bolt", "--host", "0.0.0.0", "--no-login", "--plaintext"], "no login"),
        (["--bolt", "--certificate", "absent.pem"], "certificate and its key"),
        (["--bolt", "--certificate", "absent.pem", "--key", "absent.key"], "absent.pem"),
        (["--bolt", "--csv", "absent"], "absent"),
        (["--bolt", "--timeout", "-1"], "imeout"),
    ],
)
def test_a_door_that_would_be_unsafe_or_cannot_be_does_not_open(
    db: Path, arguments: list[str], named: str
) -> None:
    code, out, err = doxa(db, "serve", *arguments)
    assert (code, out) == (2, "") and named in err


def test_a_damaged_file_of_users_stops_the_start(db: Path) -> None:
    Path(f"{db}.users.json").write_text("{}")
    Path(f"{db}.users.json").chmod(0o600)
    assert doxa(db, "serve", "--bolt")[0] == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_interrupted(db: Path, number: signal.Signals) -> None:
    doxa(db, "users", "add", "ana", said=f"{PASSWORD}\n")
    command = [
        sys.executable,
        "-m",
        "doxa.cli",
        "serve",
        "--bolt",
        "--port",
        "0",
        "--json",
        "--db",
        str(db),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    assert told["db"] == str(db) and told["users"] == f"{db}.users.json"
    port = int(told["bolt"].removeprefix("bolt://127.0.0.1:"))
    login = {"scheme": "basic", "principal": "ana", "credentials": PASSWORD}
    with Peer(port) as peer:
        assert peer.login(login).rows("RETURN 1 + 1 AS n") == [[2]]
    with Peer(port) as peer:
        peer.ask("HELLO", {"user_agent": "test"})
        assert peer.ask("LOGON", login | {"credentials": "wrong"})[0] == FAILURE
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "")
    assert err.count("\n") == 1 and "'ana'" in err and "refused" in err


def test_a_server_without_users_says_so(db: Path) -> None:
    command = [sys.executable, "-m", "doxa.cli", "serve", "--bolt", "--port", "0", "--db", str(db)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "0 logins" in process.stdout.readline()
    process.terminate()
    assert "nobody can log in yet" in process.communicate(timeout=30)[1]
