"""What `bench scale` measures with: a PostgreSQL of its own, a line with a longer way, and worker
processes (`python -m bench.scale_engine KIND URL FIRST LAST THREADS SECONDS`).

    doxa     durable writes through replicas: a file for each tenant
    append   the same without files: hold and append transactions made beforehand
    plain    one row inserted and committed by psycopg, of the size that a transaction has
    file     the same write to memory files of their own, without an engine
"""

from __future__ import annotations

import asyncio
import json
import os
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
from doxa.replication.protocol import SharedLog
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

    async def end() -> None:
        mine = asyncio.all_tasks() - {asyncio.current_task()}
        for task in mine:
            task.cancel()
        await asyncio.gather(*mine, return_exceptions=True)

    loop.create_task(listen())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield found[0]
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def engine_used_s(server: PostgresServer) -> float:
    """The processor time of the server's processes so far, of those that ended too."""
    first, ticks = server.process, 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            told = place.read_text().rsplit(")", 1)[1].split()
            if place.parent.name == str(first):
                ticks += sum(map(int, told[11:15]))
            elif told[1] == str(first):
                ticks += int(told[11]) + int(told[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def rate(
    kind: str, url: str, *, tenants: int, processes: int = 2, threads: int = 8, seconds: float
) -> tuple[float, float]:
    """What workers of this kind do a second, together, and their processor time for one, in ms."""
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
    found = [json.loads(one) for one in told]
    done = sum(one["done"] for one in found)
    return sum(one["per_s"] for one in found), 1_000 * sum(one["used_s"] for one in found) / done


def _work(kind: str, url: str, first: int, last: int, threads: int, seconds: float) -> None:
    folder = Path(tempfile.mkdtemp(prefix="doxa-scale-"))
    try:
        calls = _CALLS[kind](url, folder, [f"t{n}" for n in range(first, last)], threads)
        print("ready", flush=True)
        sys.stdin.readline()
        counts = [0] * len(calls)
        began, used = time.monotonic(), time.process_time()

        def run(place: int) -> None:
            while time.monotonic() - began < seconds:
                calls[place](counts[place])
                counts[place] += 1

        started = [threading.Thread(target=run, args=(n,)) for n in range(len(calls))]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        told = {
            "done": sum(counts),
            "per_s": sum(counts) / (time.monotonic() - began),
            "used_s": time.process_time() - used,
        }
        print(json.dumps(told), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _doxa(url: str, folder: Path, tenants: Sequence[str], threads: int) -> list[Any]:
    return _written(open_log(url), folder, tenants, threads)


def _file(url: str, folder: Path, tenants: Sequence[str], threads: int) -> list[Any]:
    return _written(None, folder, tenants, threads)


def _written(
    log: SharedLog | None, folder: Path, tenants: Sequence[str], threads: int
) -> list[Any]:
    template = folder / "template.db"
    Store(template).close()
    stores = []
    for tenant in tenants:
        path = folder / f"{tenant}.db"
        shutil.copyfile(template, path)
        stores.append(Store(path))
        if log is not None:
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
    "file": _file,
}

if __name__ == "__main__":
    programs()
    kind_of, place, *numbers, time_s = sys.argv[1:]
    begin, end, count = map(int, numbers)
    _work(kind_of, place, begin, end, count, float(time_s))
