"""Many clients of `doxa serve --http` at once, readers and writers, for minutes: what they were
answered, how long it took, and whether all that was acknowledged is in the file, once.

    clients 64 = 48 readers + 16 writers, each with a token and a connection of its own, none of
    which pauses; they share CLIENT_PROCESSES processes

A writer sends each write under an idempotency key, and every tenth one twice. A belief of a writer
counts its revisions, which compare and set. Refusals that the guide names as limits (429, 503 with
Retry-After) are counted apart, waited for and sent again; everything else that is not 2xx is an
error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import doxa
from bench.report import Report
from bench.texts import questions_of, turns_of
from doxa.base.limits import SERVE_STOP_MS
from doxa.servers.credentials import Credentials

CLIENTS, MINUTES, TURNS, QUESTIONS = 64, 10.0, 2_000, 50
CLIENT_PROCESSES = 4
_ROOT = Path(__file__).parent.parent


class Load(NamedTuple):
    """What all clients saw. `limits` and `errors` count by status and code; `rewritten` is how many
    writes have another number of revisions than were acknowledged."""

    seconds: dict[str, list[float]]
    limits: Counter[str]
    errors: Counter[str]
    acknowledged: int
    repeated: int
    rewritten: int
    stopped: int
    resident_bytes: float

    @property
    def requests(self) -> int:
        return sum(len(one) for one in self.seconds.values())


def measure_load(
    *, clients: int, seconds: float, requests: int, turns: int, seed: int, folder: Path
) -> Load:
    """Load a server until each client has sent so many requests or the time is over."""
    path = folder / "memory.db"
    users = Credentials(folder / "users.json")
    writers = max(1, clients // 4)
    said = list(turns_of(turns, seed=seed))
    with doxa.open(path, embedder=None, background=False, role="operator") as memory:
        memory.ingest(said, extract=False)
        for at in range(writers):
            memory.remember(f"Shelf {at} holds box 0", name=f"shelf{at}")
    work = {
        "questions": [one for one in questions_of(said, QUESTIONS, seed=seed)],
        "seconds": seconds,
        "requests": requests,
    }
    crew = [
        {"at": at, "writes": at < writers, "token": users.add_token(f"client{at}")}
        for at in range(clients)
    ]
    with _served(path, folder / "users.json") as (port, server):
        found = _run_clients(port, crew, work)
        resident = _resident(server.pid)
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=SERVE_STOP_MS / 1000 + 5)
        stopped = server.returncode
    return _summed(found, path, stopped=stopped, resident=resident)


@contextmanager
def _served(path: Path, users: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "doxa.cli", "serve", "--json", "--http", "--http-port", "0"]
    server = subprocess.Popen(
        [*command, "--users", str(users), "--db", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"DOXA_EMBEDDER": "none", "DOXA_CONFIG": os.devnull},
    )
    try:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        yield int(str(told["http"]).rpartition(":")[2]), server
    finally:
        if server.poll() is None:
            server.kill()
            server.communicate()


def _run_clients(port: int, crew: list[dict[str, Any]], work: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    with ExitStack() as stack:
        running = []
        for number in range(min(CLIENT_PROCESSES, len(crew))):
            command = [sys.executable, "-m", "bench.api_client", str(port)]
            client = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT
            )
            stack.enter_context(client)
            assert client.stdin is not None
            client.stdin.write(json.dumps(work | {"crew": crew[number::CLIENT_PROCESSES]}))
            client.stdin.close()
            running.append(client)
        for client in running:
            assert client.stdout is not None
            found += json.loads(client.stdout.read())
    return found


def _resident(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return float("nan")
    return float(text.partition("VmHWM:")[2].split()[0]) * 1024


def _summed(found: list[Any], path: Path, *, stopped: int, resident: float) -> Load:
    seconds: dict[str, list[float]] = {}
    limits, errors = Counter[str](), Counter[str]()
    acknowledged = repeated = rewritten = 0
    with doxa.open(path, embedder=None, background=False, read_only=True) as memory:
        memory.verify()
        problems = memory.check()
        for one in found:
            for verb, times in one["seconds"].items():
                seconds.setdefault(verb, []).extend(times)
            limits.update(one["limits"])
            errors.update(one["errors"])
            repeated += one["repeated"]
            if not one["writes"]:
                continue
            acknowledged += len(one["remembered"]) + one["revised"]
            held = memory.history(f"kref://default/shelf{one['at']}.fact").revisions
            rewritten += len(held) != 1 + one["revised"]
            rewritten += sum(
                len(memory.history(kref).revisions) != 1 for kref in set(one["remembered"])
            )
            rewritten += len(one["remembered"]) - len(set(one["remembered"]))
    errors.update(f"check: {one}" for one in problems)
    return Load(seconds, limits, errors, acknowledged, repeated, rewritten, stopped, resident)


def run(*, seed: int, clients: int, minutes: float) -> Report:
    """Run clients for minutes."""
    report = Report("api-load", seed, "none")
    with tempfile.TemporaryDirectory() as folder:
        load = measure_load(
            clients=clients,
            seconds=minutes * 60,
            requests=2**31,
            turns=TURNS,
            seed=seed,
            folder=Path(folder),
        )
    rows = []
    for verb, times in sorted(load.seconds.items()):
        p50, p95, p99 = (float(np.percentile(times, share)) * 1000 for share in (50, 95, 99))
        report.put(f"{verb}.p50_ms", p50)
        report.put(f"{verb}.p99_ms", p99)
        rows.append([verb, f"{len(times):,}", *(f"{one:.0f}" for one in (p50, p95, p99))])
    for name, value in (
        ("clients", clients),
        ("seconds", minutes * 60),
        ("requests", load.requests),
        ("requests_per_s", load.requests / (minutes * 60)),
        ("limits", load.limits.total()),
        ("errors", load.errors.total()),
        ("acknowledged", load.acknowledged),
        ("repeated", load.repeated),
        ("rewritten", load.rewritten),
        ("resident_bytes", load.resident_bytes),
    ):
        report.put(name, value)
    title = f"{clients} clients of the HTTP API for {minutes:g} minutes, none of which pauses"
    report.table(title, ["verb", "answered", "p50 ms", "p95 ms", "p99 ms"], rows)
    refused = ", ".join(f"{name} {count:,}" for name, count in load.limits.items()) or "none"
    wrong = ", ".join(f"{name} {count:,}" for name, count in load.errors.items()) or "none"
    report.table(
        "What became of it",
        ["refused by limits", "errors", "acknowledged writes", "sent twice", "lost or doubled"],
        [[refused, wrong, f"{load.acknowledged:,}", f"{load.repeated:,}", str(load.rewritten)]],
    )
    return report.end()
