"""A real PostgreSQL for tests: found where it is installed, started in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(os.environ.get("DOXA_CACHE") or Path.home() / ".cache" / "doxa-tests") / "postgres"
MISSING = "PostgreSQL or psycopg is absent: run scripts/postgres.sh to install both"


@cache
def programs() -> Path | None:
    """The folder of initdb and postgres; None if they or the driver are absent."""
    if find_spec("psycopg") is None:
        if not (FOLDER / "site" / "psycopg").is_dir():
            return None
        sys.path.append(str(FOLDER / "site"))
    places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    places += sorted((FOLDER / "usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    if found:
        places.insert(0, Path(found).resolve().parent)
    return next((one for one in places if (one / "postgres").is_file()), None)


class PostgresServer:
    """One cluster. It listens on a port of this machine, and ends with the tests."""

    def __init__(self) -> None:
        self._bin = programs()
        assert self._bin is not None
        self._folder = tempfile.mkdtemp(prefix="doxa-postgres-")
        self._as: dict[str, object] = {}
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(self._folder, "postgres")
            self._as = {"user": "postgres"}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run("initdb", "-D", self._data, "-U", "doxa", "-A", "trust", "-E", "UTF8")
        self.start()

    @property
    def _data(self) -> str:
        return str(Path(self._folder, "data"))

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://doxa@127.0.0.1:{self.port}/{database}"

    def create(self, database: str) -> str:
        """Make an empty database; its URL."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}"')
        return self.url(database)

    def start(self) -> None:
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1"
        options += " -c max_connections=200"
        self._run(
            "pg_ctl", "-D", self._data, "-w", "-l", f"{self._folder}/log", "-o", options, "start"
        )

    def kill(self) -> None:
        """As if the power went: no connection is closed, nothing is flushed."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "stop")

    def pause(self) -> None:
        """Stop every process where it is: connections stay open, and nobody answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    @property
    def process(self) -> int:
        """The number of the first process."""
        return int(Path(self._data, "postmaster.pid").read_text().split()[0])

    def _signal(self, number: signal.Signals) -> None:
        first = self.process
        for status in Path("/proc").glob("[0-9]*/status"):
            with suppress(OSError):  # it ended meanwhile
                told = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
                if int(told["PPid"]) == first:
                    os.kill(int(told["Pid"]), number)
        os.kill(first, number)

    def is_running(self) -> bool:
        return Path(self._data, "postmaster.pid").exists()

    def close(self) -> None:
        if self.is_running():
            self.resume()
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *given: str) -> None:
        assert self._bin is not None
        done = subprocess.run(
            [str(self._bin / program), *given],
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
            **self._as,  # type: ignore[call-overload]
        )
        assert done.returncode == 0, done.stderr.decode()
