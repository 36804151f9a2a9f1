"""Servers that share a log, measured on a real PostgreSQL of this machine: what a durable write
costs, how late replicas are, how long a replica takes to open, and the bytes of a memory. From
these a forecast, which a run of two thousand tenants checks."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import doxa
from bench import scale_engine as engines
from bench.report import Report
from bench.scale_forecast import Coefficients, Profile, forecast
from doxa.replication.following import local_head
from doxa.replication.opening import open_log
from doxa.replication.protocol import SharedLog
from doxa.replication.replica import Replica
from doxa.replication.snapshot import put_snapshot
from doxa.replication.transfer import replicate
from doxa.store import Store

_TENANTS = 2_000
_EACH = 10  # memories of a tenant of the check
_THREADS = 8  # of its server
_WAYS_MS = (0.0, 1.0, 5.0)  # round trips
SIZES = (1_000, 100_000)
_TABLED = (10**3, 10**6, 10**8)
_QUESTION, _READS = "deploys Thursdays", 100
_FORECAST = tuple(10**power for power in range(3, 9))


def run(*, seed: int, quick: bool, sizes: Sequence[int] = SIZES) -> Report:
    report = Report("scale", seed, "none")
    load = os.getloadavg()[0]
    report.put("load_average", load)
    seconds = 2.0 if quick else 10.0
    with engines.engine() as (server, url):
        _plain_table(url)
        one = _one_tenant(report, server, url, writes=200 if quick else 1_000)
        bytes_a_write = _engine_bytes(url) / _transactions(url)
        report.put("one.engine_bytes", bytes_a_write)
        many = _many_tenants(report, server, url, seconds=seconds)
        _lag(report, url, writes=60 if quick else 400)
        chosen = (200, 1_000) if quick else sizes
        opened = {size: _cold(report, url, size) for size in chosen}
        largest = opened[max(chosen)]
        connections = _connections(report, url)
        known = Coefficients(
            engine_writes_per_s=many["append"],
            tenant_writes_per_s=one,
            server_writes_per_s=many["doxa"] / 2,
            engine_bytes=largest["engine_bytes"],
            replica_bytes=largest["replica_bytes"],
            connections=connections,
        )
        _check(report, url, known, bytes_a_write, tenants=100 if quick else _TENANTS)
    _forecasts(report, known)
    report.table(
        "Other work on this machine when the run began and ended",
        ("load average", "at its end", "processors"),
        [[f"{load:.1f}", f"{os.getloadavg()[0]:.1f}", str(os.cpu_count())]],
    )
    return report.end()


def _plain_table(url: str) -> None:
    _asked(url, engines.PLAIN)


def _asked(url: str, statement: str) -> Any:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None


def percentile(times: Sequence[float], share: float) -> float:
    return float(np.percentile(times, 100 * share))


# Writes


def _one_tenant(report: Report, server: Any, url: str, *, writes: int) -> float:
    """Durable writes of one tenant, one after the other, by the length of the way."""
    rows: list[list[str]] = []
    first = 0.0
    folder = Path(tempfile.mkdtemp(prefix="doxa-scale-"))
    try:
        with Store(folder / "file.db") as store:
            _row(report, rows, "a file, without an engine", "file", _times(store, writes))
        for way in _WAYS_MS:
            with engines.longer_way(server.port, way / 2_000) as port:
                at = url.replace(f":{server.port}/", f":{port if way else server.port}/")
                key = f"way_{way:g}ms"
                plain = _plain_times(at, writes)
                _row(
                    report,
                    rows,
                    f"one row in PostgreSQL, round trip {way:g} ms",
                    f"plain.{key}",
                    plain,
                )
                with Store(folder / f"{key}.db") as store:
                    log = open_log(at)
                    Replica(store, log, f"one-{key}").catch_up()
                    per_s = _row(
                        report,
                        rows,
                        f"doxa, round trip {way:g} ms",
                        f"one.{key}",
                        _times(store, writes),
                    )
                    first = first or per_s
                    store.shared = None
                    log.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.table(
        "Durable writes of one tenant, one after the other",
        ("what", "writes a second", "p50, ms", "p99, ms"),
        rows,
    )
    return first


def _times(store: Store, writes: int) -> list[float]:
    found = []
    for n in range(writes):
        began = time.perf_counter()
        engines.write_one(store, n)
        found.append(time.perf_counter() - began)
    return found[writes // 10 :]


def _plain_times(url: str, writes: int) -> list[float]:
    import psycopg

    found, body = [], b"x" * engines.BODY_BYTES
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(writes):
            began = time.perf_counter()
            connection.execute("INSERT INTO plain(body) VALUES(%s)", (body,))
            found.append(time.perf_counter() - began)
    return found[writes // 10 :]


def _row(
    report: Report, rows: list[list[str]], name: str, key: str, times: Sequence[float]
) -> float:
    per_s = len(times) / sum(times)
    p50, p99 = (1_000 * percentile(times, share) for share in (0.5, 0.99))
    report.put(f"{key}.per_s", per_s)
    report.put(f"{key}.p50_ms", p50)
    report.put(f"{key}.p99_ms", p99)
    rows.append([name, f"{per_s:,.0f}", f"{p50:.2f}", f"{p99:.2f}"])
    return per_s


def _many_tenants(report: Report, server: Any, url: str, *, seconds: float) -> dict[str, float]:
    """A hundred tenants at once, from two processes of eight threads."""
    bench = engines.pgbench(server, url, clients=16, seconds=seconds)
    found, client, at_engine = {}, {}, {}
    for kind in ("plain", "append", "doxa", "file"):
        before = engines.engine_used_s(server)
        found[kind], client[kind] = engines.rate(kind, url, tenants=100, seconds=seconds)
        used = engines.engine_used_s(server) - before
        at_engine[kind] = 1_000 * used / (found[kind] * seconds)
    names = {
        "plain": "one row inserted by psycopg",
        "append": "doxa: hold and append at the engine, without files",
        "doxa": "doxa: a durable write through a replica",
        "file": "doxa: a durable write to a file, without an engine",
    }
    rows = [["one row inserted by pgbench, in C", f"{bench:,.0f}", "1.00", "", ""]]
    report.put("many.pgbench_per_s", bench)
    for kind, per_s in found.items():
        report.put(f"many.{kind}_per_s", per_s)
        report.put(f"many.{kind}_client_ms", client[kind])
        report.put(f"many.{kind}_engine_ms", at_engine[kind])
        times = (f"{client[kind]:.2f}", "" if kind == "file" else f"{at_engine[kind]:.2f}")
        rows.append([names[kind], f"{per_s:,.0f}", f"{per_s / bench:.2f}", *times])
    report.table(
        "A hundred tenants at once: the engine and all clients share this machine's processors",
        (
            *("what", "commits a second", "of pgbench"),
            *("processor time of the client, ms", "of the engine, ms"),
        ),
        rows,
    )
    return found


# Replicas


def _lag(report: Report, url: str, *, writes: int) -> None:
    """From the acknowledgement of a write until another server's replica shows it."""
    folder, times = Path(tempfile.mkdtemp(prefix="doxa-scale-")), []
    with Store(folder / "one.db") as one, Store(folder / "two.db") as two:
        logs = [open_log(url), open_log(url)]
        Replica(one, logs[0], "lag").catch_up()
        follower = Replica(two, logs[1], "lag")
        follower.start()
        for n in range(writes):
            engines.write_one(one, n)
            began, wanted = time.perf_counter(), local_head(one).tx
            while local_head(two).tx < wanted and time.perf_counter() - began < 30:
                time.sleep(0.0005)
            times.append(time.perf_counter() - began)
            time.sleep(0.01)
        follower.stop_following()
        one.shared = two.shared = None
        for log in logs:
            log.close()
    shutil.rmtree(folder, ignore_errors=True)
    p50, p99 = (1_000 * percentile(times, share) for share in (0.5, 0.99))
    report.put("lag.p50_ms", p50)
    report.put("lag.p99_ms", p99)
    report.table(
        "How late a replica that follows is",
        ("p50, ms", "p99, ms"),
        [[f"{p50:.1f}", f"{p99:.1f}"]],
    )


def _cold(report: Report, url: str, size: int) -> dict[str, float]:
    """A tenant of so many memories: bytes at both ends, and a replica from nothing."""
    folder, tenant = Path(tempfile.mkdtemp(prefix="doxa-scale-")), f"cold-{size}"
    try:
        with doxa.open(folder / "made.db", embedder=None, background=False) as memory:
            memory.store._engine.synchronous = "OFF"
            memory.store.connection().pragma("synchronous", "OFF")
            for n in range(size):
                memory.remember(engines.TEXT.format(n), name=f"deploys-{n}", project="shop")
        before = _engine_bytes(url)
        log = open_log(url)
        with Store(folder / "made.db") as store:
            replicate(store, log, tenant)
        at_engine = (_engine_bytes(url) - before) / size
        seconds = _opened(url, tenant, folder / "new")
        at_replica = sum(one.stat().st_size for one in (folder / "new").glob("*.db*")) / size
        with Store(folder / "made.db") as store:
            put_snapshot(store, log, tenant)
        log.close()
        by_snapshot = _opened(url, tenant, folder / "from-snapshot")
        read = _read_beside(url, tenant, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = {
        "engine_bytes": at_engine,
        "replica_bytes": at_replica,
        "memories_per_s": size / seconds,
    }
    report.put(f"cold.{size}.s", seconds)
    report.put(f"cold.{size}.by_snapshot_s", by_snapshot)
    report.put(f"cold.{size}.read_file_ms", read[0])
    report.put(f"cold.{size}.read_replica_ms", read[1])
    for key, value in found.items():
        report.put(f"cold.{size}.{key}", value)
    report.table(
        f"A tenant of {size:,} memories (name and sentence, without vectors)",
        (
            *("cold open by the log, s", "by a snapshot, s", "memories a second by the log"),
            *("bytes a memory at the engine", "in the replica"),
            *("recall of the file, ms", "of the replica, ms"),
        ),
        [
            [
                *(f"{seconds:.2f}", f"{by_snapshot:.2f}", f"{size / seconds:,.0f}"),
                *(f"{at_engine:,.0f}", f"{at_replica:,.0f}", f"{read[0]:.2f}", f"{read[1]:.2f}"),
            ]
        ],
    )
    return found


def _opened(url: str, tenant: str, folder: Path) -> float:
    """The time until a replica that was not there answers."""
    began = time.perf_counter()
    with doxa.open(url, tenant=tenant, replica=folder, embedder=None, background=False) as memory:
        seconds = time.perf_counter() - began
        assert len(memory.recall(_QUESTION, project="shop").hits)
    return seconds


def _read_beside(url: str, tenant: str, folder: Path) -> tuple[float, float]:
    """Median times of one recall from the file that was made and from its replica, in turns."""
    given: dict[str, Any] = {"embedder": None, "background": False}
    times: tuple[list[float], list[float]] = ([], [])
    with (
        doxa.open(folder / "made.db", **given) as file,
        doxa.open(url, tenant=tenant, replica=folder / "new", **given) as replica,
    ):
        for turn in range(_READS):
            for memory, found in zip((file, replica), times, strict=True):
                began = time.perf_counter()
                memory.recall(_QUESTION, project="shop")
                if turn >= _READS // 10:
                    found.append(1_000 * (time.perf_counter() - began))
    return percentile(times[0], 0.5), percentile(times[1], 0.5)


def _engine_bytes(url: str) -> int:
    tables = ("transaction", "tenant", "snapshot")
    if _asked(url, "SELECT to_regclass('doxa_log.transaction') IS NULL"):
        return 0
    _asked(url, "VACUUM")
    return int(
        _asked(
            url,
            "SELECT sum(pg_total_relation_size('doxa_log.' || name)) FROM"
            f" unnest(ARRAY{list(tables)}) name",
        )
    )


def _transactions(url: str) -> int:
    return int(_asked(url, "SELECT sum(tx) FROM doxa_log.tenant"))


def _connections(report: Report, url: str) -> float:
    """Of one server with a following replica, eight threads writing."""
    import threading

    folder = Path(tempfile.mkdtemp(prefix="doxa-scale-"))
    log, stores = open_log(url), []
    for n in range(8):
        stores.append(Store(folder / f"{n}.db"))
        Replica(stores[-1], log, f"connections-{n}").start()
    threads = [threading.Thread(target=engines.write_some, args=(store, 30)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = _asked(url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'doxa'")
    for store in stores:
        if store.shared is not None:
            store.shared.stop_following()  # type: ignore[attr-defined]
        store.shared = None
        store.close()
    log.close()
    shutil.rmtree(folder, ignore_errors=True)
    report.put("connections", float(count))
    return float(count)


# The forecast


def _check(
    report: Report, url: str, known: Coefficients, bytes_a_write: float, *, tenants: int
) -> None:
    """Real tenants, and what was foretold of them: each is made and written to by one server, and
    opened from nothing and read by another."""
    names = [f"fleet-{n}" for n in range(tenants)]
    before = _engine_bytes(url)
    writing, wrote_s, _ = _served(url, names, _made)
    bytes_each = (_engine_bytes(url) - before) / (tenants * _EACH)
    reading, read_s, read_used_s = _served(url, names, _read)
    log = open_log(url)
    listed = len([one for one in log.tenants() if one.tenant.startswith("fleet-")])
    log.close()
    assert listed == tenants
    per_s = tenants * _EACH / (sum(writing) / _THREADS)
    said, used_ms = known.server_writes_per_s, 1_000 * read_used_s / tenants
    rows = [
        _ratio("writes a second of one server", said, per_s),
        _ratio("bytes of a write at the engine", bytes_a_write, bytes_each),
        _ratio("tenants at the engine", tenants, listed),
        ["tenants opened from nothing and read, a second", "", f"{tenants / read_s:,.0f}", ""],
        ["processor time of one opening and reading, ms", "", f"{used_ms:.1f}", ""],
    ]
    report.put("check.bytes_ratio", bytes_each / bytes_a_write)
    report.put("check.seconds", wrote_s + read_s)
    report.put("check.tenants", tenants)
    report.put("check.writes_per_s", per_s)
    report.put("check.writes_ratio", per_s / said)
    report.put("check.engine_bytes", bytes_each)
    report.put("check.opened_per_s", tenants / read_s)
    report.put("check.open_used_ms", used_ms)
    report.put("check.open_p50_ms", 1_000 * percentile(reading, 0.5))
    report.put("check.open_p99_ms", 1_000 * percentile(reading, 0.99))
    report.table(
        f"The forecast, checked: {tenants:,} tenants of {_EACH} writes, files opened and closed",
        ("what", "foretold", "measured", "ratio"),
        rows,
    )


def _served(
    url: str, names: Sequence[str], work: Callable[[Store, SharedLog, str], float]
) -> tuple[list[float], float, float]:
    """Let one server of eight threads work on every tenant, each in a new file that is deleted
    afterwards; the seconds that each reports, those of all, and the processor time of all."""
    folder = Path(tempfile.mkdtemp(prefix="doxa-scale-"))
    log, template = open_log(url), folder / "template.db"
    Store(template).close()

    def one(tenant: str) -> float:
        path = folder / f"{tenant}.db"
        shutil.copyfile(template, path)
        with Store(path) as store:
            seconds = work(store, log, tenant)
            store.shared = None
        path.unlink()
        return seconds

    began, used = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(_THREADS) as threads:
        found = list(threads.map(one, names))
    seconds, used = time.perf_counter() - began, time.process_time() - used
    log.close()
    shutil.rmtree(folder, ignore_errors=True)
    return found, seconds, used


def _made(store: Store, log: SharedLog, tenant: str) -> float:
    """The time of the writes."""
    Replica(store, log, tenant).catch_up()
    began = time.perf_counter()
    for n in range(_EACH):
        engines.write_one(store, n)
    return time.perf_counter() - began


def _read(store: Store, log: SharedLog, tenant: str) -> float:
    """The time until all that was written to the tenant is read from a new replica."""
    began = time.perf_counter()
    Replica(store, log, tenant).catch_up()
    with store.read() as snapshot:
        (count,) = snapshot.rows("SELECT count(*) FROM node")[0]
    assert count == _EACH, tenant
    return time.perf_counter() - began


def _ratio(name: str, foretold: float, measured: float) -> list[str]:
    return [name, f"{foretold:,.0f}", f"{measured:,.0f}", f"{measured / foretold:.2f}"]


def _forecasts(report: Report, known: Coefficients) -> None:
    rows = []
    for tenants in _FORECAST:
        one = forecast(tenants, known)
        for name in ("clusters", "engines", "servers"):
            report.put(f"forecast.{tenants}.{name}", getattr(one, name))
        report.put(f"forecast.{tenants}.engine_disk_bytes", one.engine_disk_bytes)
        report.put(f"forecast.{tenants}.cost_a_month", one.cost_a_month)
        if tenants not in _TABLED:
            continue
        rows.append(
            [
                f"{tenants:,}",
                f"{one.writes_per_s:,.0f}",
                f"{one.clusters:,} × 3",
                f"{one.servers:,}",
                _bytes(one.engine_disk_bytes),
                _bytes(one.replica_disk_bytes),
                f"{one.cost_a_month:,.0f}",
                one.limit,
                f"{one.tenants_to_next:,}",
            ]
        )
    like = Profile()
    report.table(
        f"What tenants take, if each has {like.memories:,} memories, writes {like.writes_a_day:g} a"
        f" day with a peak of {like.peak:g}, and {like.open_share:.0%} are open: calculated, at"
        f" assumed prices of {like.engine_price:g} US dollars a month for a machine of an engine,"
        f" {like.disk_price:g} for a terabyte of its disk and {like.server_price:g} for a server",
        (
            *("tenants", "writes/s at the peak", "engines", "servers", "disk of all engines"),
            *("disk of replicas", "US dollars a month", "runs out first", "at tenants"),
        ),
        rows,
    )


def _bytes(value: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1_000:
            return f"{value:,.0f} {unit}"
        value /= 1_000
    return f"{value:,.1f} PB"
