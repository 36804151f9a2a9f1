"""`doxa ui` prints a link that opens the page, of its own server or of one that runs; `doxa demo
--ui` shows a month of a team."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from doxa.app import open_memory
from doxa.app.verbs import VERBS
from doxa.cli.browser.page import _link_of_running
from doxa.demo.team import PROJECT, steps
from doxa.servers.credentials import Credentials
from doxa.servers.http import running_server
from doxa.servers.memory import MemoryDatabase
from tests.fixtures_shared import opened

LINK = re.compile(r"http://127\.0\.0\.1:([0-9]+)(/v1/session/open\?code=\S+)")
WAIT_S = 120


@contextmanager
def command(*words: str) -> Iterator[tuple[int, str]]:
    """Run a command that serves; yields the port and the path of the link that it printed."""
    line = [sys.executable, "-m", "doxa.cli", *words, "--no-open"]
    running = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ}
    )
    assert running.stdout is not None
    try:
        said = ""
        for text in running.stdout:
            said += text
            found = LINK.search(text)
            if found:
                yield int(found.group(1)), found.group(2)
                break
        else:
            raise AssertionError(said)
    finally:
        running.send_signal(signal.SIGINT)
        try:
            running.wait(WAIT_S)
        finally:
            running.kill()
            running.stdout.close()


def opened_session(port: int, path: str) -> dict[str, object]:
    """Open a link as a browser does, and return who the session is."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    line.request("GET", path)
    reply = line.getresponse()
    reply.read()
    assert (reply.status, reply.headers["Location"]) == (303, "/ui/")
    cookie = reply.headers["Set-Cookie"].partition(";")[0]
    line.request("GET", "/v1/session", headers={"Cookie": cookie})
    found: dict[str, object] = json.loads(line.getresponse().read())
    line.request("GET", "/ui/")
    assert b"app.js" in line.getresponse().read()
    line.close()
    return found


def test_ui_starts_a_server_and_prints_a_link(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    opened(db).close()
    words = ("ui", "--db", str(db), "--port", "0", "--role", "agent", "--bound", "p")
    with command(*words) as (port, path):
        who = opened_session(port, path)
    assert who["role"] == "agent" and who["projects"] == ["p"]


def test_ui_uses_a_server_of_the_same_memory(tmp_path: Path) -> None:
    users = Credentials(tmp_path / "users.json")
    other = Credentials(tmp_path / "other.json")
    memory = opened(tmp_path / "memory.db")
    with memory, running_server(MemoryDatabase(memory), users) as server:
        link = _link_of_running(users, server.port, "operator", ())
        assert link is not None
        found = LINK.fullmatch(link)
        assert found is not None
        assert opened_session(server.port, found.group(2))["role"] == "operator"
        assert _link_of_running(users, server.port, "agent", ("p",)) is not None
        assert len(users.logins()) == 1  # the token of the last link, for a day
        assert users.logins()[0].expires is not None
        # another memory's server does not know the token, and none is left behind
        assert _link_of_running(other, server.port, "operator", ()) is None
        assert other.logins() == []
    assert _link_of_running(users, server.port, "operator", ()) is None


@pytest.mark.parametrize("words", (["--role", "system"], ["--port", "70000"]))
def test_ui_refuses_what_it_cannot_do(tmp_path: Path, words: list[str]) -> None:
    line = [sys.executable, "-m", "doxa.cli", "ui", "--db", str(tmp_path / "m.db"), *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert not (tmp_path / "m.db").exists()


def test_demo_ui_shows_a_month_that_is_kept(tmp_path: Path) -> None:
    db = tmp_path / "team.db"
    with command("demo", "--ui", "--keep", str(db)) as (port, path):
        assert opened_session(port, path)["role"] == "operator"
    with open_memory(db, role="operator", project=PROJECT, embedder=None) as memory:
        assert len(memory.conflicts()) == 2
        assert memory.runs() and memory.proposals(state="open")
        assert memory.survey().unsupported > 0
        newest, oldest = memory.log(limit=1)[0], memory.log(limit=1, newest_first=False)[0]
        now = datetime.now(UTC).timestamp()
        assert (newest.time - oldest.time) / 86_400e9 > 28
        assert oldest.time / 1e9 > now - 31 * 86_400
        assert memory.verify().receipts > 80
        used = memory.spending(days=30).days
        assert {one.purpose for one in used} >= {"consolidate", "dream", "enrich", "recall"}
        assert len({one.day for one in used}) > 8


def test_the_steps_of_the_month_are_calls_of_verbs_in_their_order() -> None:
    found = list(steps())
    assert len(found) > 60 and len({one.who for one in found}) > 5
    assert [one.at_s for one in found] == sorted(one.at_s for one in found)
    for step in found:
        known = {one.name for one in VERBS[step.verb].parameters}
        assert step.arguments.keys() <= known, step
