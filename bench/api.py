"""What the HTTP API costs, compared with the Python call: the same operations on the same memory,
called by turns directly, and over a kept connection from another process. Next to the latency is
the processor time of the serving process, which a busy machine does not stretch."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import doxa
from bench.page import measure_page
from bench.report import Report
from bench.texts import questions_of, turns_of
from bench.timing import seconds_of, spread
from doxa.servers.credentials import Credentials
from doxa.servers.http import running_server
from doxa.servers.http.api.app import ApiOptions
from doxa.servers.memory import MemoryDatabase

TURNS = 2_000
CALLS = 400
BLOCK = 25


def measure_api(report: Report, *, quick: bool = False) -> None:
    """Put the latency of each operation, over HTTP and directly, and the difference at p50."""
    calls = CALLS // 4 if quick else CALLS
    with tempfile.TemporaryDirectory() as folder:
        turns = list(turns_of(TURNS, seed=report.seed))
        question = questions_of(turns, 1, seed=report.seed)[0]
        path = Path(folder) / "memory.db"
        with doxa.open(path, embedder=None, background=False, role="operator") as memory:
            memory.ingest(turns, extract=False)
            kref = memory.remember("We deploy on Thursdays", name="deploy").kref
            users = Credentials(Path(folder) / "users.json")
            token = users.add_token("bench", role="operator")
            session = memory.session(actor="bench", role="operator")
            pairs = _pairs(session, kref, question)
            options = ApiOptions(rate=0)
            with running_server(MemoryDatabase(memory), users, api=options) as server:
                client = _Client(server.port, token)
                rows = [_row(report, client, *pair, calls=calls) for pair in pairs]
                client.close()
    report.table(
        f"The HTTP API and the Python call ({calls} calls each, by turns)",
        [
            "operation",
            "Python p50 ms",
            "HTTP p50 ms",
            "more, p50 ms",
            "HTTP p95 ms",
            "Python CPU ms",
            "HTTP CPU ms",
        ],
        rows,
    )


Pair = tuple[str, Callable[[int], Any], str, Callable[[int], Mapping[str, Any] | None]]


def _pairs(session: Any, kref: str, question: str) -> list[Pair]:
    """Name, the call in Python, the path, and the body (None: a GET)."""

    def text(at: int, how: str) -> str:
        return f"Shelf {at} of the {how} store holds box {at}"

    return [
        ("get", lambda at: session.get(kref), f"/v1/get?kref={kref}", lambda at: None),
        (
            "recall",
            lambda at: session.recall(question),
            "/v1/recall",
            lambda at: {"text": question},
        ),
        (
            "remember",
            lambda at: session.remember(text(at, "first")),
            "/v1/remember",
            lambda at: {"text": text(at, "second")},
        ),
    ]


class _Client:
    """A client in a process of its own, so that it and the server do not share an interpreter."""

    def __init__(self, port: int, token: str) -> None:
        command = [sys.executable, "-c", _CLIENT, str(port), token]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def times(self, path: str, bodies: list[Mapping[str, Any] | None]) -> list[float]:
        """Send requests one after the other, and return how long each took, in seconds."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([path, bodies]) + "\n")
        self._process.stdin.flush()
        found: list[float] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        self._process.communicate()


_CLIENT = """
import http.client, json, sys, time
line = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
headers = {"Authorization": f"Bearer {sys.argv[2]}", "Content-Type": "application/json"}
for text in sys.stdin:
    path, bodies = json.loads(text)
    found = []
    for body in bodies:
        data = None if body is None else json.dumps(body).encode()
        begun = time.perf_counter()
        line.request("GET" if data is None else "POST", path, data, headers)
        reply = line.getresponse()
        answer = reply.read()
        found.append(time.perf_counter() - begun)
        assert reply.status == 200, answer
    print(json.dumps(found), flush=True)
"""


def _row(
    report: Report,
    client: _Client,
    name: str,
    direct: Callable[[int], Any],
    path: str,
    body: Callable[[int], Mapping[str, Any] | None],
    *,
    calls: int,
) -> list[str]:
    """Measure in blocks, by turns, so that both meet the same machine. The first block warms up."""
    inside: list[float] = []
    outside: list[float] = []
    cpu = [0.0, 0.0]
    for block in range(calls // BLOCK + 1):
        numbers = range(block * BLOCK, (block + 1) * BLOCK)
        begun = time.process_time()
        within = [seconds_of(partial(direct, at)) for at in numbers]
        turned = time.process_time()
        over = client.times(path, [body(at) for at in numbers])
        if block:
            inside += within
            outside += over
            cpu[0] += turned - begun
            cpu[1] += time.process_time() - turned
    python, served = spread(inside), spread(outside)
    more = served.p50_ms - python.p50_ms
    report.put(f"{name}.python_p50_ms", python.p50_ms)
    report.put(f"{name}.http_p50_ms", served.p50_ms)
    report.put(f"{name}.overhead_p50_ms", more)
    report.put(f"{name}.http_p95_ms", served.p95_ms)
    direct_cpu, served_cpu = (1_000 * one / len(inside) for one in cpu)
    report.put(f"{name}.python_cpu_ms", direct_cpu)
    report.put(f"{name}.http_cpu_ms", served_cpu)
    found = (python.p50_ms, served.p50_ms, more, served.p95_ms, direct_cpu, served_cpu)
    return [name, *(f"{one:.2f}" for one in found)]


def run(*, seed: int, quick: bool = False) -> Report:
    report = Report("api", seed, "none")
    measure_api(report, quick=quick)
    measure_page(report, quick=quick)
    return report.end()
