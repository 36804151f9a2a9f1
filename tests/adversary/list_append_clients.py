"""Clients that read and append to lists, over Bolt and in Python, and the processes that they use.

    python -m tests.adversary.list_append_clients serve FILE         a Bolt server, prints its port
    python -m tests.adversary.list_append_clients python FILE …     a client in its own process
    python -m tests.adversary.list_append_clients write FILE         a writer without a pause

A client writes one line of JSON when a transaction begins to commit and one when it has its end, so
that of a killed client it is known what may have become of its last transaction.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from doxa.app import open_memory
from doxa.base.errors import DoxaError
from tests.adversary.list_append import Done
from tests.fixtures_shared import this_tree
from tests.servers.bolt_fixtures import ALL, FAILURE, NEWEST, RECORD, SUCCESS, Peer

ROOT = Path(__file__).parents[2]
KEYS = 4
READ = "MATCH (l:List {k: $k}) RETURN l.v AS v"
APPEND = "MATCH (l:List {k: $k}) SET l.v = l.v + $x"
POLICIES = (
    "CREATE DECAY PROFILE slow OPTIONS {halfLifeSeconds: 1000000, function: 'exponential',"
    " visibilityThreshold: 0.01, scoreFrom: 'CREATED'}",
    "CREATE DECAY PROFILE lists FOR (n:List) APPLY { DECAY PROFILE 'slow' }",
    "CREATE PROMOTION POLICY used FOR (n:List) APPLY { ON ACCESS { SET n.reads = n.reads + 1 } }",
)


class Refused(Exception):
    """The transaction was rolled back, and the client knows it."""


class Gone(Exception):
    """The other side went away: what became of the transaction is unknown."""


class Client(Protocol):
    def begin(self, *, read_only: bool) -> None: ...
    def read(self, key: int) -> list[int]: ...
    def append(self, key: int, value: int) -> None: ...
    def commit(self) -> None: ...


def prepare(path: Path) -> None:
    """A file with the lists, an index, and policies that note every access."""
    with open_memory(path, role="operator", embedder=None, background=False) as memory:
        memory.run("CREATE INDEX lists FOR (l:List) ON (l.k)")
        for policy in POLICIES:
            memory.run(policy)
        memory.run(f"UNWIND range(0, {KEYS - 1}) AS k CREATE (:List {{k: k, v: []}})")


class BoltClient:
    def __init__(self, port: int) -> None:
        try:
            self._peer = Peer(port, version=None)
        except OSError as error:
            raise Gone from error
        try:
            self._peer.agree(NEWEST)
            self._peer.login({"scheme": "none"})
        except (OSError, AssertionError) as error:
            self.close()
            raise Gone from error

    def close(self) -> None:
        self._peer.socket.close()

    def _ask(self, name: str, *fields: Any) -> list[Any]:
        rows = []
        try:
            tag, field = self._peer.ask(name, *fields)
            while tag == RECORD:
                rows.append(field)
                tag, field = self._peer.answer()
            if tag == FAILURE:
                self._peer.ask("RESET")
                raise Refused(field.get("neo4j_code") or field.get("code") or str(field))
        except OSError as error:
            raise Gone from error
        if tag != SUCCESS:
            raise Gone
        return rows

    def begin(self, *, read_only: bool) -> None:
        self._ask("BEGIN", {"mode": "r"} if read_only else {})

    def read(self, key: int) -> list[int]:
        self._ask("RUN", READ, {"k": key}, {})
        return list(self._ask("PULL", ALL)[0][0])

    def append(self, key: int, value: int) -> None:
        self._ask("RUN", APPEND, {"k": key, "x": value}, {})
        self._ask("PULL", ALL)

    def commit(self) -> None:
        self._ask("COMMIT")


class PythonClient:
    def __init__(self, memory: Any) -> None:
        self._graph = memory.graph()

    def _run(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except DoxaError as error:
            self._graph.close()
            raise Refused(str(error.fields.get("detail", error.code))) from error

    def begin(self, *, read_only: bool) -> None:
        self._graph.begin(read_only=read_only)

    def read(self, key: int) -> list[int]:
        return list(self._run(lambda: self._graph.run(READ, {"k": key}).single()))

    def append(self, key: int, value: int) -> None:
        self._run(lambda: self._graph.run(APPEND, {"k": key, "x": value}).buffer())

    def commit(self) -> None:
        self._run(self._graph.commit)


class Workload:
    """Transactions of one client at random, each with a line of its history."""

    def __init__(self, name: str, number: int, rng: random.Random, out: Any) -> None:
        self.name, self._rng, self._out = name, rng, out
        self._next = number * 10_000_000
        self.refused: dict[str, int] = {}

    def transaction(self, client: Client) -> None:
        """Run one. Raises Gone if the other side went away."""
        rng = self._rng
        read_only = rng.random() < 0.15
        steps: list[tuple[str, int, int | list[int]]] = []
        began, state = time.monotonic_ns(), "unknown"
        try:
            client.begin(read_only=read_only)
            for _ in range(rng.randrange(1, 4)):
                key = rng.randrange(KEYS)
                if read_only or rng.random() < 0.5:
                    steps.append(("read", key, client.read(key)))
                else:
                    self._next += 1
                    steps.append(("append", key, self._next))
                    client.append(key, self._next)
            self._tell(began, None, "unknown", steps)
            client.commit()
            state = "committed"
        except Refused as error:
            state = "aborted"
            self.refused[str(error)] = self.refused.get(str(error), 0) + 1
        finally:
            self._tell(began, time.monotonic_ns(), state, steps)

    def _tell(self, began: int, ended: int | None, state: str, steps: Any) -> None:
        line = {"client": self.name, "began": began, "ended": ended, "state": state, "steps": steps}
        self._out.write(json.dumps(line) + "\n")
        self._out.flush()


def history_of(paths: list[Path]) -> list[Done]:
    """Read what clients wrote; the last line about a transaction holds. A line that was cut by a
    kill tells nothing."""
    found: dict[tuple[str, int], Done] = {}
    for path in paths:
        for line in path.read_text().splitlines():
            try:
                told = json.loads(line)
            except ValueError:
                continue
            key = told["client"], told["began"]
            ended = told["ended"] if told["ended"] is not None else 2**62
            found[key] = Done(
                told["client"],
                told["began"],
                ended,
                told["state"],
                [(kind, at, value) for kind, at, value in told["steps"]],
            )
    return list(found.values())


class Process:
    """One of the processes above."""

    def __init__(self, *arguments: str) -> None:
        self.arguments = arguments
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.adversary.list_append_clients", *self.arguments],
            cwd=ROOT,
            env=this_tree() | {"PATH": ""},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> None:
        """End it as it ends by itself: when its input is closed."""
        self.process.communicate(timeout=60)


def serve(path: str) -> None:
    from doxa.servers.bolt import running_server
    from doxa.servers.memory import MemoryDatabase

    with (
        open_memory(path, role="operator", embedder=None, access_flush_ms=50) as memory,
        running_server(MemoryDatabase(memory), None, port=0) as server,
    ):
        print(server.port, flush=True)
        sys.stdin.read()


def _until_closed() -> threading.Event:
    """Set when the parent closes the input, or is gone."""
    closed = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), closed.set()), daemon=True).start()
    return closed


def run_python(path: str, name: str, number: int, *, seed: int, out: str) -> None:
    closed = _until_closed()
    with (
        open_memory(path, role="operator", embedder=None, access_flush_ms=50) as memory,
        Path(out).open("a") as file,
    ):
        client = PythonClient(memory)
        workload = Workload(name, number, random.Random(seed), file)
        print("ready", flush=True)
        while not closed.is_set():
            workload.transaction(client)


def write(path: str) -> None:
    closed = _until_closed()
    with open_memory(path, role="operator", embedder=None) as memory:
        print("ready", flush=True)
        count = 0
        while not closed.is_set():
            count += 1
            memory.run("MERGE (n:Beside {k: $k}) SET n.v = $v", {"k": count % 50, "v": count})


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", path]:
            serve(path)
        case ["python", path, name, number, seed, out]:
            run_python(path, name, int(number), seed=int(seed), out=out)
        case ["write", path]:
            write(path)
