"""`doxa serve` as a service: stopping under the load of real clients, reloading, and what it says
to a service manager."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from typer.testing import CliRunner

import doxa
from doxa.app.care.service import SettingsFollower, close_within
from doxa.base.limits import SERVE_STOP_MS
from doxa.cli import app
from doxa.servers.service.deadline import StopDeadline
from doxa.servers.service.notify import ServiceManager
from doxa.store import Store, verify_log
from tests.fixtures_shared import opened
from tests.http.http_fixtures import SLOW_WRITE, Client
from tests.servers.bolt_fixtures import SUCCESS, Peer
from tests.servers.test_bolt_server import certificate  # noqa: F401 - a fixture

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging" / "service"


class Running:
    """`doxa serve` in a process of its own."""

    def __init__(self, db: Path, *arguments: str, **environ: str) -> None:
        command = [sys.executable, "-m", "doxa.cli", "serve", "--json", "--no-login"]
        self.process = subprocess.Popen(
            [*command, *arguments, "--db", str(db)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"DOXA_EMBEDDER": "none"} | environ,
        )
        assert self.process.stdout is not None
        self.told: dict[str, Any] = json.loads(self.process.stdout.readline())

    def port(self, interface: str) -> int:
        return int(str(self.told[interface]).rpartition(":")[2])

    def stop(self) -> tuple[int, str]:
        """Ask it to stop. It must end in the time that it promises."""
        self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=SERVE_STOP_MS / 1000 + 2)
        return self.process.returncode, err


@contextmanager
def running(db: Path, *arguments: str, **environ: str) -> Iterator[Running]:
    found = Running(db, *arguments, **environ)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.process.kill()
        found.process.communicate()


BOTH = ("--http", "--http-port", "0", "--bolt", "--port", "0")


class Writer(threading.Thread):
    """A client that writes until its server is gone. `acknowledged` holds what was answered."""

    def __init__(self, server: Running, number: int, *, bolt: bool) -> None:
        super().__init__(daemon=True)
        self.number, self.acknowledged, self.bolt = number, list[int](), bolt
        self.answers: set[object] = set()
        self._port = server.port("bolt" if bolt else "http")

    def text_of(self, at: int) -> str:
        return f"w{self.number}-{at} is what client {self.number} said as number {at}."

    def run(self) -> None:
        try:
            self._over_bolt() if self.bolt else self._over_http()
        except (OSError, http.client.HTTPException, AssertionError) as error:
            self.answers.add(type(error).__name__)

    def _over_http(self) -> None:
        with Client(self._port) as client:
            for at in range(10**6):
                told = client.ask(
                    "POST", "/v1/remember", {"text": self.text_of(at)}, {"Authorization": None}
                )
                if told.status != 200:
                    self.answers.add(told.status)
                    return
                self.acknowledged.append(at)

    def _over_bolt(self) -> None:
        with Peer(self._port) as peer:
            peer.login({"scheme": "none"})
            for at in range(10**6):
                given = {"text": self.text_of(at)}
                tag, _ = peer.ask("RUN", "CREATE (:W {text: $text})", given, {})
                if tag == SUCCESS:
                    tag, _ = peer.ask("PULL", {"n": -1})
                if tag != SUCCESS:
                    self.answers.add("failure")
                    return
                self.acknowledged.append(at)


def test_a_stop_under_load_loses_nothing_and_leaves_one_file(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with running(db, *BOTH) as server:
        clients = [Writer(server, number, bolt=number % 2 == 0) for number in range(8)]
        slow = Client(server.port("http"))
        for one in clients:
            one.start()
        while any(len(one.acknowledged) < 5 for one in clients):
            assert server.process.poll() is None
            time.sleep(0.01)
        code, err = server.stop()
        for one in clients:
            one.join(timeout=20)
        slow.line.close()
    assert code == 0, err
    assert "Traceback" not in err
    assert not [one for one in tmp_path.iterdir() if one.name.startswith("memory.db-")]
    with opened(db) as memory:
        rows = memory.run(
            "MATCH (w:W|Revision) RETURN coalesce(w.text, w.summary) AS text"
        ).records()
        found = {row["text"] for row in rows}
        memory.verify()
    for one in clients:
        assert {one.text_of(at) for at in one.acknowledged} <= found, one.answers


def test_a_statement_without_end_is_rolled_back_in_time(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with running(db, *BOTH) as server:
        answers: list[int] = []
        with Client(server.port("http")) as client:

            def ask() -> None:
                answers.append(client.query(SLOW_WRITE, headers={"Authorization": None}).status)

            asking = threading.Thread(target=ask)
            asking.start()
            with Peer(server.port("bolt")) as peer:
                peer.login({"scheme": "none"})
                while not peer.rows(
                    "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery CONTAINS 'Slow'"
                    " AND NOT currentQuery CONTAINS 'SHOW' RETURN currentQuery"
                ):
                    time.sleep(0.05)
            code, err = server.stop()
            asking.join(timeout=20)
    assert (code, answers) == (0, [503]), err
    with opened(db) as memory:
        assert memory.run("MATCH (n:Slow) RETURN count(n) AS n").records() == [{"n": 0}]


def test_a_writer_elsewhere_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with opened(db, decay_enabled=True) as memory:
        kref = memory.remember("Ana likes tea.").kref
    with running(db, "--http", "--http-port", "0", DOXA_DECAY="on") as server:
        other = apsw.Connection(str(db))
        other.execute("BEGIN IMMEDIATE")
        with Client(server.port("http")) as client:
            told = client.ask("POST", "/v1/recall", {"text": "tea"}, {"Authorization": None})
            assert told.status == 200 and kref in json.dumps(told.json)
        code, err = server.stop()
        other.execute("ROLLBACK")
        other.close()
    assert code == 0, err
    with Store(db, read_only=True) as store:
        verify_log(store)


def test_a_process_that_does_not_end_is_ended() -> None:
    program = (
        "import time\n"
        "from doxa.servers.service.deadline import StopDeadline\n"
        "deadline = StopDeadline(50)\n"
        "deadline.begin()\n"
        "time.sleep(60)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1 and "nothing that was acknowledged is lost" in done.stderr


def test_a_stop_that_is_in_time_is_not_ended() -> None:
    ended = threading.Event()
    with StopDeadline(20, end=ended.set) as deadline:
        deadline.begin()
    assert not ended.wait(0.1)
    with pytest.raises(OSError), StopDeadline(20, end=ended.set) as deadline:
        deadline.begin()
        raise OSError
    assert not ended.wait(0.1)


def test_accesses_are_written_and_the_log_is_in_the_file(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    memory = opened(db, decay_enabled=True, access_flush_ms=10**6)
    kref = memory.remember("Ana likes tea.").kref
    reader = apsw.Connection(str(db))  # so that the close does not remove the log
    reader.execute("SELECT 1 FROM meta").fetchall()
    memory.recall("tea")
    assert memory.store.accesses.size
    close_within(memory, 1_000)
    assert not memory.store.accesses.size
    alone = tmp_path / "alone.db"
    shutil.copyfile(db, alone)  # without its log
    reader.close()
    with opened(alone, read_only=True) as copy:
        assert copy.get(kref).summary == "Ana likes tea."


# What a service manager hears


class Manager:
    """A socket as systemd has it."""

    def __init__(self, path: Path) -> None:
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.line.bind(str(path))
        self.line.settimeout(20)

    def hear(self) -> str:
        return self.line.recv(1_000).decode()

    def until(self, text: str) -> str:
        while text not in (said := self.hear()):
            pass
        return said


def test_the_service_manager_hears_each_step(tmp_path: Path) -> None:
    manager = Manager(tmp_path / "notify")
    with running(
        tmp_path / "memory.db",
        "--http",
        "--http-port",
        "0",
        NOTIFY_SOCKET=str(tmp_path / "notify"),
        WATCHDOG_USEC="200000",
    ) as server:
        assert manager.hear().startswith("READY=1\nSTATUS=")
        assert manager.until("WATCHDOG=1") == "WATCHDOG=1"
        server.process.send_signal(signal.SIGHUP)
        assert "MONOTONIC_USEC=" in manager.until("RELOADING=1")
        assert "nothing changed" in manager.until("READY=1")
        server.process.send_signal(signal.SIGTERM)
        manager.until("STOPPING=1")
        assert server.process.wait(timeout=20) == 0
    manager.line.close()


def test_nobody_to_hear_is_no_error(tmp_path: Path) -> None:
    for address in ("", "relative", str(tmp_path / "absent"), "@absent"):
        manager = ServiceManager({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "x"})
        manager.ready("listening")
        assert manager.watchdog_s == 0
    other = {"WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}
    assert ServiceManager(other).watchdog_s == 0


# Reloading


def test_a_certificate_is_replaced_without_a_restart(
    tmp_path: Path,
    certificate: tuple[Path, Path],  # noqa: F811 - the fixture
) -> None:
    files = tmp_path / "chain.pem", tmp_path / "key.pem"
    for found, place in zip(certificate, files, strict=True):
        shutil.copyfile(found, place)
    manager = Manager(tmp_path / "notify")
    with running(
        tmp_path / "memory.db",
        *BOTH,
        "--certificate",
        str(files[0]),
        "--key",
        str(files[1]),
        NOTIFY_SOCKET=str(tmp_path / "notify"),
    ) as server:
        manager.until("READY=1")
        ports = server.port("http"), server.port("bolt")
        before = [served_certificate(port) for port in ports]
        made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=new"]
        names = ["-keyout", str(files[1]), "-out", str(files[0])]
        subprocess.run(["openssl", *made, *names], check=True, capture_output=True)
        server.process.send_signal(signal.SIGHUP)
        manager.until("READY=1")
        after = [served_certificate(port) for port in ports]
        assert before[0] == before[1] != after[0] == after[1]
        files[0].write_text("no certificate")
        server.process.send_signal(signal.SIGHUP)
        assert "refused" in manager.until("READY=1")
        assert [served_certificate(port) for port in ports] == after
        code, err = server.stop()
    assert code == 0 and "cannot be used" in err
    manager.line.close()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads masks of signals")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_hangup_while_it_starts_waits_until_it_listens(tmp_path: Path, workers: int) -> None:
    known = tmp_path / "known"
    command = [sys.executable, "-m", "doxa.cli", "serve", "--json", "--no-login", "--http"]
    process = subprocess.Popen(
        [*command, "--http-port", "0", "--workers", str(workers), "--db", str(known)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"DOXA_EMBEDDER": "none"},
    )
    try:
        status = Path(f"/proc/{process.pid}/status")
        while not int(status.read_text().partition("SigBlk:")[2].split()[0], 16) & 1:
            time.sleep(0.001)
        process.send_signal(signal.SIGHUP)
        assert process.stdout is not None
        assert "http" in json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=SERVE_STOP_MS / 1000 + 2)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0 and "reload: nothing changed" in err


def served_certificate(port: int) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as line,
        context.wrap_socket(line) as wrapped,
    ):
        found = wrapped.getpeercert(binary_form=True)
    assert found
    return found


def test_settings_that_can_follow_do_and_the_others_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "doxa.toml"
    file.write_text('[models]\nembedder = "none"\n')
    monkeypatch.setenv("DOXA_CONFIG", str(file))
    from doxa.app.models import PROCESS

    with opened(tmp_path / "memory.db", background=True) as memory:
        follower = SettingsFollower()
        assert str(follower.reload([memory])) == ""
        file.write_text(
            'project = "other"\n[models]\nembedder = "none"\ntokens_max = 7\n'
            "[policies]\nretain_every_s = 60\n"
        )
        found = follower.reload([memory])
        assert found.applied == ("models.tokens_max", "policies.retain_every_s")
        assert found.waiting == ("project",)
        assert PROCESS.tokens_max == 7
        assert memory.maintenance._retention._every_ns == 60 * 10**9
        file.write_text("[models\n")
        with pytest.raises(doxa.InputError):
            follower.reload([memory])
        file.write_text("")
        follower.reload([memory])
    assert PROCESS.tokens_max is None


def test_refused_settings_do_not_end_the_server(tmp_path: Path) -> None:
    file = tmp_path / "doxa.toml"
    file.write_text('project = "p"\n')
    manager = Manager(tmp_path / "notify")
    with running(
        tmp_path / "memory.db",
        "--http",
        "--http-port",
        "0",
        NOTIFY_SOCKET=str(tmp_path / "notify"),
        DOXA_CONFIG=str(file),
    ) as server:
        manager.until("READY=1")
        file.write_text("[models\n")
        server.process.send_signal(signal.SIGHUP)
        assert "the settings were refused" in manager.until("READY=1")
        file.write_text('project = "q"\n')
        server.process.send_signal(signal.SIGHUP)
        assert "project after a restart" in manager.until("READY=1")
        code, err = server.stop()
    assert code == 0 and "reload:" in err
    manager.line.close()


# Files for service managers and builders of images


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is absent")
@pytest.mark.parametrize("name", ["doxa.service", "doxa-backup.service", "doxa-backup.timer"])
def test_the_units_are_valid(tmp_path: Path, name: str) -> None:
    for place in PACKAGING.glob("doxa*"):
        # the program must exist for `verify`; where it is differs from machine to machine
        text = place.read_text().replace("%h/.local/bin/doxa", sys.executable)
        (tmp_path / place.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", str(tmp_path / name)],
        capture_output=True,
        text=True,
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if "doxa" in line]
    assert done.returncode == 0 and said == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is absent")
@pytest.mark.parametrize(("name", "most"), [("doxa.service", 25), ("doxa-backup.service", 25)])
def test_the_units_expose_little(tmp_path: Path, name: str, most: int) -> None:
    """In tenths of systemd's scale from 0 to 10, where up to 2.5 is its best grade but one."""
    shutil.copy(PACKAGING / name, tmp_path)
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager"]
    done = subprocess.run(
        [*command, f"--threshold={most}", str(tmp_path / name)],
        capture_output=True,
        text=True,
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
    )
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze judges running units alone")
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    assert f"exposure level for {name}" in done.stdout


def test_the_unit_lets_a_stop_take_the_time_that_it_may() -> None:
    lines = (PACKAGING / "doxa.service").read_text().splitlines()
    found = dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")
    assert int(found["TimeoutStopSec"]) * 1000 > SERVE_STOP_MS
    assert found["Type"] == "notify" and found["KillSignal"] == "SIGTERM"
    assert int(found["WatchdogSec"]) > 0 and "HUP" in found["ExecReload"]


_PR_SET_MDWE = 65


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a call of Linux")
def test_it_serves_without_memory_that_is_writable_and_executable(tmp_path: Path) -> None:
    """MemoryDenyWriteExecute of the unit: the kernel's own form of it."""
    program = (
        "import ctypes, sys\n"
        f"if ctypes.CDLL(None).prctl({_PR_SET_MDWE}, 1, 0, 0, 0): sys.exit(77)\n"
        "import doxa\n"
        f"with doxa.open({str(tmp_path / 'm.db')!r}, background=False) as memory:\n"
        "    memory.remember('Ana likes tea.')\n"
        "    memory.embed()\n"
        "    assert memory.recall('who drinks tea?').hits\n"
        "    assert memory.run('MATCH (n) RETURN count(n) AS n').records()\n"
        "print('served')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("this kernel has no PR_SET_MDWE")
    assert done.stdout == "served\n", done.stderr


def test_the_image_names_files_extras_and_options_that_there_are() -> None:
    """What a builder would fail on, where there is none."""
    lines = (PACKAGING / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    copied = [
        line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line
    ]
    assert copied and all((ROOT / name).exists() for names in copied for name in names)
    (installed,) = [line for line in lines if "pip install" in line]
    extras = installed.partition("[")[2].partition("]")[0].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras) <= project["optional-dependencies"].keys()
    read = {project["readme"], *project.get("license-files", ())}
    assert read <= {name for names in copied for name in names}
    (given,) = [json.loads(line.removeprefix("CMD ")) for line in lines if line.startswith("CMD ")]
    (begun,) = [
        json.loads(line.removeprefix("ENTRYPOINT ")) for line in lines if line.startswith("ENTRY")
    ]
    told = CliRunner().invoke(app, [*begun[1:], "--help"], env={"COLUMNS": "200"}).stdout
    assert begun[0] in project["scripts"]
    assert all(one in told for one in given if one.startswith("--"))


def test_the_image_runs_as_nobody_special_and_keeps_data_in_a_volume() -> None:
    text = (PACKAGING / "Containerfile").read_text()
    assert "USER doxa" in text and 'VOLUME ["/data"]' in text and "STOPSIGNAL SIGTERM" in text
    assert "readyz" in text and "@sha256:" not in text  # the builder names the digest
