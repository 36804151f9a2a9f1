"""Measures the shared log in PostgreSQL against plain inserts, in the same run on the same server.

    python -m bench.shared_log [postgresql://host/database]

Without a URL it starts a server of the tests (scripts/postgres.sh). Prints three tables: durable
writes a second by the number of tenants, each with a writer of its own, over two processes; the
time of one write and of one read when nothing else runs; the opening of a new replica by snapshot
and by log. `plain` inserts a row of the same size by the same driver, one transaction each; `file`
is the same write to memory files of their own.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from doxa.replication.opening import open_log, prepare
from doxa.replication.replica import Replica
from doxa.replication.snapshot import put_snapshot
from doxa.store import Identity, Store
from tests.replication.postgres import MISSING, PostgresServer, programs

TENANTS, SECONDS, PROCESSES, CALLS, LOGGED = (1, 20, 100), 5.0, 2, 300, 2_000
_ANA = Identity("ana", "agent")
_BODY = bytes(range(256)) + bytes(144)
_PLAIN = (
    "CREATE TABLE IF NOT EXISTS plain(tenant text, tx bigint, body bytea, PRIMARY KEY(tenant, tx))"
)
Call = Callable[[], object]


@contextmanager
def plain(url: str, name: str, _: Path) -> Iterator[Call]:
    """Insert rows."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        numbers = iter(range(time.time_ns(), 1 << 62))
        yield lambda: connection.execute(
            "INSERT INTO plain VALUES(%s, %s, %s)", (name, next(numbers), _BODY)
        )


@contextmanager
def shared(url: str, name: str, folder: Path) -> Iterator[Call]:
    """Write to a tenant through a replica."""
    with Store(folder / f"{name}.db") as store:
        replica = Replica(store, _log(url), name)
        replica.catch_up()
        try:
            yield _writer(store)
        finally:
            store.shared = None


@contextmanager
def own_file(_: str, name: str, folder: Path) -> Iterator[Call]:
    """Write to a file."""
    with Store(folder / f"{name}-own.db") as store:
        yield _writer(store)


def _writer(store: Store) -> Call:
    def write() -> None:
        with store.write(_ANA, op="bench") as tx:
            tx.create_node(["Thing"], {"text": "We deploy on Thursdays. " * 4})

    return write


_LOGS: dict[str, Any] = {}


def _log(url: str) -> Any:
    """One log for all tenants of a process."""
    if url not in _LOGS:
        _LOGS[url] = open_log(url)
    return _LOGS[url]


def _work(kind: Any, url: str, names: list[str], folder: Path, ready: Any, told: Any) -> None:
    """Write from a thread for each name, for the seconds after all processes are ready."""
    programs()
    with ExitStack() as stack:
        calls = [stack.enter_context(kind(url, name, folder)) for name in names]
        counts, stop = [0] * len(calls), threading.Event()

        def run(place: int) -> None:
            while not stop.is_set():
                calls[place]()
                counts[place] += 1

        for call in calls:
            call()
        threads = [threading.Thread(target=run, args=(place,)) for place in range(len(calls))]
        ready.wait(300)
        start, began = time.monotonic(), time.process_time()
        for thread in threads:
            thread.start()
        time.sleep(SECONDS)
        stop.set()
        for thread in threads:
            thread.join()
        took, used = time.monotonic() - start, time.process_time() - began
        told.put((sum(counts), took, used))


def rate(kind: Any, url: str, tenants: int, folder: Path, tag: str) -> tuple[float, float]:
    """Return writes a second, and the processor time of the client for one, in ms."""
    names = [f"{tag}-{tenants}-{number}" for number in range(tenants)]
    count = min(PROCESSES, tenants)
    context = multiprocessing.get_context("spawn")
    ready, told = context.Barrier(count), context.Queue()
    processes = [
        context.Process(target=_work, args=(kind, url, names[place::count], folder, ready, told))
        for place in range(count)
    ]
    for one in processes:
        one.start()
    found = [told.get(timeout=600) for _ in processes]
    for one in processes:
        one.join()
    written = sum(one[0] for one in found)
    return written / max(one[1] for one in found), 1_000 * sum(one[2] for one in found) / written


def middle(call: Call) -> float:
    """Return the median time of a call, in ms."""
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1_000)
    return statistics.median(times)


def rates(url: str, folder: Path) -> None:
    names = ("plain", "shared", "share", "file", "plain, CPU ms", "shared, CPU ms", "file, CPU ms")
    print(f"\n| tenants | {' | '.join(names)} |")
    print("|---|---|---|---|---|---|---|---|")
    for tenants in TENANTS:
        (one, used), (two, ours), (own, filed) = (
            rate(kind, url, tenants, folder, name)
            for kind, name in ((plain, "plain"), (shared, "shared"), (own_file, "own"))
        )
        print(
            f"| {tenants} | {one:,.0f} | {two:,.0f} | {two / one:.2f} | {own:,.0f} | {used:.2f} |"
            f" {ours:.2f} | {filed:.2f} |"
        )


def latencies(url: str, folder: Path) -> None:
    import psycopg

    with (
        psycopg.connect(url, autocommit=True) as connection,
        plain(url, "alone", folder) as insert,
        shared(url, "alone", folder) as write,
        own_file(url, "alone", folder) as own,
    ):
        trip = middle(lambda: connection.execute("SELECT 1"))
        inserted, written, filed = middle(insert), middle(write), middle(own)
    print(
        "\n| round trip, ms | plain insert, ms | shared write, ms | above plain | file write, ms |"
    )
    print(f"|---|---|---|---|---|\n| {trip:.2f} | {inserted:.2f} | {written:.2f} |", end="")
    print(f" {written - inserted:.2f} | {filed:.2f} |")
    for name in ("alone", "alone-own"):
        with Store(folder / f"{name}.db") as store:
            if name == "alone":
                Replica(store, _log(url), "alone")

            def read(store: Store = store) -> None:
                with store.read() as snapshot:
                    assert snapshot.count("Thing")

            print(f"read, {name}: {middle(read) * 1_000:.0f} us")
            store.shared = None


def openings(url: str, folder: Path) -> None:
    log = _log(url)
    with shared(url, "grown", folder) as write:
        for _ in range(LOGGED):
            write()
    print(f"\nA log of {LOGGED:,} changes:")
    for how in ("log", "snapshot"):
        if how == "snapshot":
            with Store(folder / "grown.db") as store:
                put_snapshot(store, log, "grown")
        path, start = folder / f"cold-{how}.db", time.perf_counter()
        prepare(log, "grown", path)
        with Store(path) as store:
            Replica(store, log, "grown").catch_up()
            store.shared = None
        print(f"opened by {how}: {time.perf_counter() - start:.2f} s")
    info = log.info("grown")
    print(f"bytes at the engine for one change: {info.size_bytes / LOGGED:.0f}")


def main(urls: list[str]) -> None:
    if programs() is None:
        sys.exit(MISSING)
    import psycopg

    server = None if urls else PostgresServer()
    url = urls[0] if urls else server.create("bench")  # type: ignore[union-attr]
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_PLAIN)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            latencies(url, folder)
            openings(url, folder)
            rates(url, folder)
        for log in _LOGS.values():
            log.close()
    finally:
        if server is not None:
            server.close()


if __name__ == "__main__":
    main(sys.argv[1:])
