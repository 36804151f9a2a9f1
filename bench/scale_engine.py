"""What `bench scale` measures with: a PostgreSQL of its own, a line with a longer way, and worker
processes (`python -m bench.scale_engine KIND URL FIRST LAST THREADS SECONDS`).

    doxa     durable writes through replicas: a file for each tenant
    append   the same without files: hold and append transactions made beforehand
    plain    one row inserted and committed by psycopg, of the size that a transaction has
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from doxa.replication.opening import open_log
from doxa.replication.replica import Replica, read_transactions
from doxa.store import Identity, Store
from tests.replication.postgres import PostgresServer, programs

ME = Identity("bench", "agent")
TEXT = "Deploys of the shop are on Thursdays after the review, and never before a holiday {}"
PLAIN = "CREATE TABLE IF NOT EXISTS plain(id bigserial PRIMARY KEY, body bytea NOT NULL)"
BODY_BYTES = 300  # of a transaction with one node and its text


@contextmanager
def engine() -> Iterator[tuple[PostgresServer, str]]:
    """A server with its own settings, durable as installed, and the URL of an empty database."""
    server = PostgresServer()
    try:
        yield server, server.create("scale")
    finally:
        server.close()


def pgbench(server: PostgresServer, url: str, *, clients: int, seconds: float) -> float:
    """Rows inserted and committed a second by pgbench, which costs the client next to nothing."""
    places = programs()
    assert places is not None
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(
            f"INSERT INTO plain(body) VALUES(decode(repeat('ab', {BODY_BYTES}), 'hex'));\n"
        )
        script.flush()
        done = subprocess.run(
            [
                *(str(places / "pgbench"), "-n", "-M", "prepared", "-j", "2"),
                *("-c", str(clients), "-T", str(max(1, round(seconds))), "-f", script.name, url),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
    line = next(one for one in done.stdout.splitlines() if one.startswith("tps"))
    return float(line.split("=")[1].split()[0])


@contextmanager
def longer_way(port: int, one_way_s: float) -> Iterator[int]:
    """The port of a line to the server on which each byte is late by this time, in both
    directions."""
    loop, started = asyncio.new_event_loop(), threading.Event()
    found: list[int] = []

    async def pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(1 << 16):
                loop.call_later(one_way_s, sink.write, data)
        loop.call_later(one_way_s, sink.close)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, on = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pipe(reader, on), pipe(back, writer))

    async def listen() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        found.append(server.sockets[0].getsockname()[1])
        started.set()

    loop.create_task(listen())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def rate(
    kind: str, url: str, *, tenants: int, processes: int = 2, threads: int = 8, seconds: float
) -> float:
    """What workers of this kind do a second, together."""
    share = tenants // processes
    workers = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "bench.scale_engine", kind, url),
                *map(str, (n * share, (n + 1) * share, threads, seconds)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    told = [worker.communicate(timeout=seconds + 120)[0] for worker in workers]
    return float(sum(json.loads(one)["per_s"] for one in told))


def _work(kind: str, url: str, first: int, last: int, threads: int, seconds: float) -> None:
    folder = Path(tempfile.mkdtemp(prefix="doxa-scale-"))
    try:
        calls = _CALLS[kind](url, folder, [f"t{n}" for n in range(first, last)], threads)
        print("ready", flush=True)
        sys.stdin.readline()
        counts = [0] * len(calls)
        began = time.monotonic()

        def run(place: int) -> None:
            while time.monotonic() - began < seconds:
                calls[place](counts[place])
                counts[place] += 1

        started = [threading.Thread(target=run, args=(n,)) for n in range(len(calls))]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        print(json.dumps({"per_s": sum(counts) / (time.monotonic() - began)}), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _doxa(url: str, folder: Path, tenants: Sequence[str], threads: int) -> list[Any]:
    log, template = open_log(url), folder / "template.db"
    Store(template).close()
    stores = []
    for tenant in tenants:
        path = folder / f"{tenant}.db"
        shutil.copyfile(template, path)
        stores.append(Store(path))
        Replica(stores[-1], log, tenant).catch_up()

    def call(own: list[Store]) -> Callable[[int], None]:
        return lambda n: write_one(own[n % len(own)], n)

    return [call(stores[place::threads]) for place in range(min(threads, len(stores)))]


def write_some(store: Store, count: int) -> None:
    for n in range(count):
        write_one(store, n)


def write_one(store: Store, n: int) -> None:
    with store.write(ME, op="bench") as tx:
        tx.create_node(["Thing"], {"text": TEXT.format(n)})


def _append(url: str, folder: Path, tenants: Sequence[str], threads: int) -> list[Any]:
    log = open_log(url)
    with Store(folder / "made.db") as store:
        for n in range(2_000):
            write_one(store, n)
        made = list(read_transactions(store.connection(), 1, 2_000))

    def call(own: Sequence[str]) -> Callable[[int], None]:
        def append(n: int) -> None:
            with log.hold(own[n % len(own)], wait_ms=60_000) as hold:
                hold.append([made[n // len(own)]])

        return append

    return [call(tenants[place::threads]) for place in range(min(threads, len(tenants)))]


def _plain(url: str, folder: Path, tenants: Sequence[str], threads: int) -> list[Any]:
    import psycopg

    def call() -> Callable[[int], None]:
        connection = psycopg.connect(url, autocommit=True)
        body = b"x" * BODY_BYTES
        return lambda n: connection.execute("INSERT INTO plain(body) VALUES(%s)", (body,)) and None

    return [call() for _ in range(threads)]


_CALLS: dict[str, Callable[[str, Path, Sequence[str], int], list[Any]]] = {
    "doxa": _doxa,
    "append": _append,
    "plain": _plain,
}

if __name__ == "__main__":
    programs()
    kind_of, place, *numbers, time_s = sys.argv[1:]
    begin, end, count = map(int, numbers)
    _work(kind_of, place, begin, end, count, float(time_s))
