"""Logins: a private file with hashes, rejection in constant time, and throttling of guesses."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from doxa.base.errors import ConflictError, InputError, LimitError, NotFoundError, StoreError
from doxa.servers import credentials as module
from doxa.servers.credentials import (
    TOKEN_PREFIX,
    Credentials,
    FailedLogins,
    LoginThrottle,
    Principal,
)
from doxa.servers.prefork.state import FailuresElsewhere, ServerState

SECRET = "correct horse"


@pytest.fixture
def users(tmp_path: Path) -> Credentials:
    return Credentials(tmp_path / "users.json")


def test_a_user_logs_in_with_the_right_password_only(users: Credentials) -> None:
    assert users.verify("ana", SECRET) is None
    assert users.add("ana", SECRET, role="operator") == Principal("ana", "operator")
    assert users.verify("ana", SECRET) == Principal("ana", "operator")
    for name, password in (
        ("ana", SECRET + "x"),
        ("ana", ""),
        ("Ana", SECRET),
        ("", SECRET),
        ("ana", "\ud800"),
    ):
        assert users.verify(name, password) is None


def test_a_token_is_shown_once(users: Credentials) -> None:
    token = users.add_token("bot", label="ci")
    assert token.startswith(TOKEN_PREFIX)
    assert len(token) > 40
    assert users.verify_token(token) == Principal("bot", "agent")
    assert users.verify_token(token[:-1]) is None
    assert users.verify_token("") is None
    assert token not in users.path.read_text()


def test_the_file_is_private_and_holds_no_secret(users: Credentials) -> None:
    users.add("ana", SECRET)
    assert users.path.stat().st_mode & 0o777 == 0o600
    text = users.path.read_text()
    assert SECRET not in text
    assert "horse" not in text
    (entry,) = json.loads(text)["users"]
    assert entry["n"] * entry["r"] >= 2**17
    users.add("ben", SECRET)
    one, two = json.loads(users.path.read_text())["users"]
    assert one["hash"] != two["hash"]  # the same password, another salt
    assert sorted(path.name for path in users.path.parent.iterdir()) == [
        "users.json",
        "users.json.lock",
    ]


def test_a_file_that_others_may_read_is_refused(users: Credentials) -> None:
    users.add("ana", SECRET)
    assert users.verify("ana", SECRET)
    users.path.chmod(0o644)  # while it is served: its content is the same
    with pytest.raises(StoreError, match="mode to 600"):
        users.verify("ana", SECRET)
    users.path.chmod(0o600)
    assert users.verify("ana", SECRET)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"format": 4, "users": [], "tokens": []}',
        '{"format": 1, "users": [{}], "tokens": []}',
        '{"format": 1, "users": [], "tokens": [["x"]]}',
        '{"format": 1, "users": [["x"]], "tokens": []}',
        '{"format": 1, "users": [], "tokens": [{"name": "a", "role": "agent", "hash": "%s"}]}'
        % ("0" * 64),
        '{"format": 1, "users": [{"name": "a", "role": "agent", "salt": "no", "hash": "%s",'
        ' "n": 2, "r": 8, "p": 1}], "tokens": []}' % ("0" * 64),
        (
            '{"format": 1, "users": [{"name": "a", "role": "system", "salt": "00", "hash": "00",'
            ' "n": 2, "r": 8, "p": 1}], "tokens": []}'
        ),
    ],
)
def test_a_file_of_another_kind_is_refused(users: Credentials, text: str) -> None:
    users.path.write_text(text)
    users.path.chmod(0o600)
    with pytest.raises(StoreError, match="not a valid users file"):
        users.verify("a", SECRET)


def test_users_come_and_go(users: Credentials) -> None:
    users.add("ana", SECRET)
    token, other = (
        users.add_token("ana", label="one"),
        users.add_token("ana", label="two", role="operator"),
    )
    assert users.users() == [
        ("ana", "agent", "password"),
        ("ana", "agent", "token one"),
        ("ana", "operator", "token two"),
    ]
    with pytest.raises(ConflictError):
        users.add("ana", SECRET)
    assert users.remove("ana", label="one") == 1
    assert users.verify_token(token) is None
    assert users.verify_token(other) == Principal("ana", "operator")
    assert users.remove("ana") == 2
    assert users.verify("ana", SECRET) is None
    with pytest.raises(NotFoundError):
        users.remove("ana")


def test_a_server_sees_what_another_process_changes(users: Credentials) -> None:
    assert users.verify("ana", SECRET) is None
    code = (
        "from doxa.servers.credentials import Credentials;"
        f" Credentials({str(users.path)!r}).add('ana', {SECRET!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert users.verify("ana", SECRET) == Principal("ana", "agent")


def test_changes_at_the_same_time_are_all_kept(users: Credentials) -> None:
    threads = [threading.Thread(target=users.add_token, args=(f"bot{at}",)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(users.users()) == 8


@pytest.mark.parametrize("name", ["", " ana", "a\nb", "x" * 101, "\x00"])
def test_a_name_that_cannot_be(users: Credentials, name: str) -> None:
    with pytest.raises(InputError):
        users.add(name, SECRET)


@pytest.mark.parametrize("password", ["", "short", "x" * 5_000])
def test_a_password_that_cannot_be(users: Credentials, password: str) -> None:
    with pytest.raises(InputError) as caught:
        users.add("ana", password)
    assert not password or password not in str(caught.value)


def test_nobody_logs_in_as_the_system(users: Credentials) -> None:
    with pytest.raises(InputError):
        users.add("ana", SECRET, role="system")


def test_an_unknown_name_costs_as_much_as_a_wrong_password(
    users: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are hashed once, by the same parameters: time does not reveal which names exist."""
    users.add("ana", SECRET)
    hashed: list[dict[str, int]] = []
    scrypt = hashlib.scrypt

    def noted(data: bytes, **given: Any) -> bytes:
        hashed.append({name: value for name, value in given.items() if name != "salt"})
        return scrypt(data, **given)

    monkeypatch.setattr(hashlib, "scrypt", noted)
    for name in ("ana", "nobody"):
        assert users.verify(name, "wrong password") is None
    known, unknown = hashed
    assert known == unknown and known["n"] >= 2**14


def test_guessing_slows_down(users: Credentials, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOGIN_PAUSE_MS", 100)
    monkeypatch.setattr(module, "_SCRYPT", {"n": 2, "r": 8, "p": 1})
    users.add("ana", SECRET)
    guard = LoginThrottle(users)
    for _ in range(5):
        assert guard.verify("ana", "wrong") is None
    with pytest.raises(LimitError):
        guard.verify("ana", SECRET)
    assert guard.verify("ben", SECRET) is None  # others do not wait
    time.sleep(0.12)
    assert guard.verify("ana", SECRET) == Principal("ana", "agent")
    assert guard.verify("ana", "x" * 10_000) is None


class CountedUsers:
    """Logins that note every guess that is verified, which takes a moment."""

    def __init__(self, right: str) -> None:
        self._right = right
        self.guesses: list[str] = []

    def verify(self, name: str, password: str) -> Principal | None:
        self.guesses.append(password)
        time.sleep(0.005)
        return Principal(name, "agent") if password == self._right else None

    def verify_token(self, token: str) -> Principal | None:
        return None


@pytest.mark.parametrize("processes", [1, 8])
def test_guesses_at_the_same_time_are_no_more_than_those_in_a_row(processes: int) -> None:
    """Over threads, and over processes that count in one place."""
    users, state = CountedUsers("guess 77"), ServerState(http=False)
    counts = FailuresElsewhere(lambda name, *args: state.answer(name, list(args)))
    guards = [LoginThrottle(users, counts) for _ in range(processes)]

    def guess(number: int) -> object:
        try:
            return guards[number % processes].verify("ana", f"guess {number}")
        except LimitError:
            return "refused"

    with ThreadPoolExecutor(100) as threads:
        answers = list(threads.map(guess, range(100)))
    assert len(users.guesses) == 5
    assert answers.count(None) == 5 and answers.count("refused") == 95
    with pytest.raises(LimitError):
        guards[0].verify("ana", "guess 77")


def test_many_right_logins_at_the_same_time_are_all_let_in() -> None:
    users, counts = CountedUsers(SECRET), FailedLogins()
    guards = [LoginThrottle(users, counts) for _ in range(8)]
    assert guards[0].verify("ana", "wrong") is None
    with ThreadPoolExecutor(64) as threads:
        found = list(threads.map(lambda n: guards[n % 8].verify("ana", SECRET), range(64)))
    assert found == [Principal("ana", "agent")] * 64


def test_an_attempt_that_was_not_verified_counts_as_none(users: Credentials) -> None:
    users.add("ana", SECRET)
    guard = LoginThrottle(users)
    users.path.chmod(0o644)
    for _ in range(6):
        with pytest.raises(StoreError):
            guard.verify("ana", SECRET)
    users.path.chmod(0o600)
    assert guard.verify("ana", SECRET) == Principal("ana", "agent")


def test_an_attempt_whose_end_was_lost_counts_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("doxa.servers.credentials._LOST_S", 0.05)
    failures = FailedLogins()
    assert failures.admit("ana") == "verify"  # by a process that ends now
    for _ in range(5):
        assert failures.admit("ana") == "verify"
        time.sleep(0.02)
        failures.note("ana", True)
    assert failures.admit("ana") == "verify"
    failures.note("ana", True)
    assert not failures._open
