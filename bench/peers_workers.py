"""How many reads a second few and many clients get through Bolt, from one worker process and two.

The client is one thread over all sockets that sends bytes made before, so that it needs little of
the machine that it measures; an official driver in Python would take as much as the server.
"""

from __future__ import annotations

import selectors
import socket
import time
from pathlib import Path
from statistics import median

import numpy as np

from bench.peers_data import Data
from bench.peers_rows import TEXTS
from bench.peers_serving import served
from bench.report import Report
from doxa.servers.bolt.framing import MAGIC, Dechunker
from doxa.servers.bolt.packstream import Packer, chunked

CLIENTS, WORKERS = (8, 32), 2
_SUCCESS = 0x70
_SECONDS = 2.0


def measure_workers(report: Report, path: Path, data: Data, *, share: float) -> None:
    """Add a table of reads a second by the number of workers and of clients, and ratios: of workers
    to one, and of many clients to few, which threads that disturb each other make small."""
    rates: dict[tuple[int, int], float] = {}
    for workers in (1, WORKERS):
        with served(path, "--workers", str(workers)) as uri:
            for clients in CLIENTS:
                rate = _rate(int(uri.rpartition(":")[2]), data, report.seed, share, clients)
                rates[workers, clients] = rate
                report.put(f"bolt.reads_per_s.workers_{workers}.clients_{clients}", rate)
    few, many = CLIENTS
    ratio, crowd = rates[WORKERS, few] / rates[1, few], rates[1, many] / rates[1, few]
    report.put("bolt.workers_ratio", ratio)
    report.put("bolt.clients_ratio", crowd)
    rows = [
        [f"{workers} workers, {clients} clients, reads a second", f"{rate:,.0f}", ""]
        for (workers, clients), rate in rates.items()
    ]
    report.table(
        "Reads through Bolt by clients at once: a lookup by an indexed property each",
        ["what", "figure", "wanted"],
        [
            *rows,
            [f"{WORKERS} workers to one, the client included", f"{ratio:.2f}", "≥ 1.3"],
            [f"{many} clients to {few}, one worker", f"{crowd:.2f}", "≥ 0.9"],
        ],
    )


class _Line:
    """One client's socket."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(MAGIC + bytes((0, 0, 8, 5)) + bytes(12))
        assert self.socket.recv(4) == bytes((0, 0, 8, 5))
        self._dechunker = Dechunker(2**24)
        self.socket.sendall(_message(0x01, {"user_agent": "bench/1"}))
        self.socket.sendall(_message(0x6A, {"scheme": "none"}))
        came = 0
        while came < 2:
            came += self.read()

    def read(self) -> int:
        """Return how many answers of success came. Raises RuntimeError for one of failure."""
        data = self.socket.recv(65_536)
        tags = [message[1] for message in self._dechunker.feed(data)]
        if not data or 0x7F in tags:
            raise RuntimeError("the server failed")
        return tags.count(_SUCCESS)


def _message(tag: int, *fields: object) -> bytes:
    return chunked(Packer({}).structure(tag, *fields))


def _rate(port: int, data: Data, seed: int, share: float, clients: int) -> float:
    """Return reads a second: the median of three runs."""
    keys = np.random.default_rng(seed).choice(data.key, size=1_000).tolist()
    asked = [
        _message(0x10, TEXTS["lookup"], {"key": key}, {"mode": "r"}) + _message(0x3F, {"n": 1_000})
        for key in keys
    ]
    lines = [_Line(port) for _ in range(clients)]
    try:
        _asked_for(lines, asked, 0.5)  # plans and caches
        return median(_asked_for(lines, asked, max(0.5, _SECONDS * share)) for _ in range(3))
    finally:
        for line in lines:
            line.socket.close()


def _asked_for(lines: list[_Line], asked: list[bytes], seconds: float) -> float:
    """Keep every line busy for so many seconds; return the answers a second."""
    count, end = 0, time.perf_counter() + seconds
    with selectors.DefaultSelector() as waiting:
        left = dict.fromkeys(lines, 2)  # a RUN and a PULL each
        for line in lines:
            waiting.register(line.socket, selectors.EVENT_READ, line)
            line.socket.sendall(asked[0])
        start = time.perf_counter()
        while left:
            for key, _ in waiting.select():
                line = key.data
                left[line] -= line.read()
                if left[line]:
                    continue
                count += 1
                if time.perf_counter() < end:
                    left[line] = 2
                    line.socket.sendall(asked[count % len(asked)])
                else:
                    del left[line]
                    waiting.unregister(line.socket)
        return count / (time.perf_counter() - start)
