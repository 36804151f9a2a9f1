"""The command `doxa hook` passes an event to a server that runs, or does it by itself."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from doxa.app import Memory, open_memory
from doxa.hosts.relay import HookListener, ask
from doxa.hosts.tool import HookTool

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets here")
TEXT = "We deploy the shop on Thursdays."


@pytest.fixture
def db() -> Iterator[Path]:
    with TemporaryDirectory() as folder:  # the path of a socket is short
        yield Path(folder) / "m.db"


@pytest.fixture
def memory(db: Path) -> Iterator[Memory]:
    with open_memory(
        db, role="operator", project="shop", embedder=None, background=False
    ) as opened:
        yield opened


@pytest.fixture
def server(memory: Memory, db: Path) -> Iterator[HookTool]:
    session = memory.session(actor="host", role="agent", project="shop")
    tool = HookTool(session, project="shop", db=db)
    tool.start()
    yield tool
    tool.close()


def hook(db: Path, event: str, document: dict[str, Any], *, project: str = "shop") -> Any:
    """Run the command; returns its answer and the modules that it imported."""
    words = ["-m", "doxa.cli", "hook", event, "--host", "gemini", "--project", project]
    words += ["--db", str(db)]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *words],
        input=json.dumps(document),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"DOXA_EMBEDDER": "none"},
    )
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    return json.loads(done.stdout or "{}"), modules


def prompt(text: str, session: str = "s1") -> dict[str, Any]:
    return {"session_id": session, "cwd": "/x", "prompt": text, "hook_event_name": "BeforeAgent"}


def sockets(db: Path) -> list[Path]:
    return list(db.with_name("m.db-hooks").glob("servers/*"))


def test_a_running_server_answers_and_the_command_opens_nothing(
    db: Path, memory: Memory, server: HookTool
) -> None:
    memory.remember(TEXT, name="deploys")
    found, modules = hook(db, "prompt", prompt("On which day do we deploy the shop?"))
    assert "Thursdays" in json.dumps(found)
    assert not {"apsw", "numpy", "doxa.app"} & modules
    server.close()
    assert not sockets(db)
    again, modules = hook(db, "prompt", prompt("On which day do we deploy the shop?", "s2"))
    assert again == found and "apsw" in modules


def test_a_server_of_another_project_leaves_the_event_to_the_command(
    db: Path, server: HookTool
) -> None:
    _, modules = hook(db, "prompt", prompt("Where do the ships go in winter?"), project="sea")
    assert "apsw" in modules


def test_a_socket_of_a_killed_server_is_removed(db: Path, memory: Memory) -> None:
    folder = db.with_name("m.db-hooks") / "servers"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(folder / "1.sock"))
    assert ask(folder.parent, {"event": "prompt"}) is None
    assert not (folder / "1.sock").exists()


def test_only_the_owner_may_enter_the_folder(db: Path, server: HookTool) -> None:
    (path,) = sockets(db)
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("line", [b"", b"\n", b"[]\n", b"{}\n", b"\xff\n", b"[" * 9_999 + b"\n"])
def test_what_is_not_an_event_ends_the_connection(db: Path, server: HookTool, line: bytes) -> None:
    (path,) = sockets(db)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""


def test_an_event_that_a_server_could_not_answer_is_left(db: Path) -> None:
    def answer(request: Any) -> str | None:
        raise OSError("the memory is closed")

    listener = HookListener(db.parent, answer)
    listener.start()
    try:
        assert ask(db.parent, {"event": "prompt"}) is None
    finally:
        listener.close()


def test_a_path_too_long_for_a_socket_is_done_without(tmp_path: Path) -> None:
    listener = HookListener(tmp_path / ("x" * 120), lambda request: "{}")
    listener.start()
    assert ask(tmp_path / ("x" * 120), {}) is None
    listener.close()
