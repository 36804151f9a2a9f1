"""Few and many clients of a Bolt server: reads, durable updates, and both, by one worker process of
doxa and by two, next to other servers that run already (`--server neo4j=bolt://…`).

Every server holds the same graph, filled through Bolt, and is asked by the same light client in
turn, round after round. Next to them stand a process that answers messages and does nothing, and
single updates of a bare SQLite row. What was acknowledged is counted in the graph at the end.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from bench.bolt_echo import echoing
from bench.bolt_lines import Driven, Line, Operation, alone, drive, in_transaction
from bench.peers_serving import served
from bench.report import Report, begin
from bench.speed_transactions import plain_updates

WORKERS = (1, 2)
_PEOPLE, _KNOWS = 20_000, 10  # nodes, and edges of each
_BATCH = 5_000
_SECONDS, _ROUNDS, _WARM_S = 3.0, 3, 1.0
_KINDS = 1_000  # operations with other values
_ONE_HOP = "MATCH (p:BenchReader {id: $id})-[:KNOWS]->(q) RETURN count(q) AS n"
_CLEAR = "MATCH (p:BenchReader) WITH p LIMIT 2000 DETACH DELETE p RETURN count(*)"
_UPDATE = "MATCH (p:BenchReader {id: $id}) SET p.seen = p.seen + 1"


class Work(NamedTuple):
    """What some clients do."""

    key: str
    title: str
    clients: int


FEW_READ = Work("one_hop", "one hop counted, 8 clients", 8)
MANY_READ = Work("one_hop", "one hop counted, 32 clients", 32)
WORKS = (
    Work("one_hop", "one hop counted, 1 client", 1),
    FEW_READ,
    MANY_READ,
    Work("updates", "durable updates, each in a transaction, 1 client", 1),
    Work("updates", "durable updates, each in a transaction, 32 clients", 32),
    Work("updates_alone", "durable updates that commit by themselves, 1 client", 1),
    Work("updates_alone", "durable updates that commit by themselves, 32 clients", 32),
    Work("mixed", "nine reads to one update in a transaction, 32 clients", 32),
)


@dataclass
class Server:
    """One that is measured. `updates` counts those that it acknowledged."""

    name: str
    title: str
    address: str
    updates: int = 0
    rounds: dict[Work, list[Driven]] = field(default_factory=dict)

    def rate(self, work: Work) -> float:
        return median(one.per_s for one in self.rounds[work])

    def percentile(self, work: Work, share: float) -> float:
        """Of all rounds together, in milliseconds."""
        return float(np.percentile([t for one in self.rounds[work] for t in one.times_ms], share))


def options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--quick", action="store_true", help="one short round on a small graph")
    command.add_argument(
        "--server",
        action="append",
        type=_named,
        default=[],
        help="another Bolt server, as NAME=bolt://[USER:PASSWORD@]HOST:PORT: its nodes BenchReader"
        " are replaced",
    )


def _named(text: str) -> tuple[str, str]:
    name, _, address = text.partition("=")
    place = urlsplit(address)
    if not name.isidentifier() or place.scheme != "bolt" or not place.hostname or not place.port:
        raise argparse.ArgumentTypeError(f"{name!r} is not followed by =bolt://HOST:PORT")
    return name, address


def run(servers: Sequence[tuple[str, str]], *, seed: int, quick: bool) -> Report:
    """Measure doxa and these servers, by name and address."""
    report = begin("clients", seed=seed, embedder=None)
    people = _PEOPLE // 10 if quick else _PEOPLE
    rounds, seconds = (1, _SECONDS / 6) if quick else (_ROUNDS, _SECONDS)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        measured = [
            Server(
                f"doxa_{workers}",
                f"doxa, {workers} worker{'s' * (workers > 1)}",
                stack.enter_context(served(folder / f"{workers}.db", "--workers", str(workers))),
            )
            for workers in WORKERS
        ]
        measured += [Server(name, name, address) for name, address in servers]
        for server in measured:
            _fill(server.address, people, seed)
        echo = Server("echo", "answers and nothing else", stack.enter_context(echoing()))
        plain: list[tuple[float, float]] = []
        for number in range(rounds):
            for work in WORKS:
                for server in (*measured, echo):
                    _measure(server, work, people, seed + number, seconds)
            plain.append(plain_updates(folder / "plain.db", seconds=seconds))
        lost = {server.name: server.updates - _counted(server.address) for server in measured}
    report.put("people", people)
    _report(report, [*measured, echo], sorted(plain)[len(plain) // 2], lost)
    return report.end()


def _fill(address: str, people: int, seed: int) -> None:
    """Put the graph into a server, in place of one that it has."""
    line = Line(address)
    try:
        while line.rows(_CLEAR) != [[0]]:
            pass
        line.rows("CREATE INDEX readers IF NOT EXISTS FOR (p:BenchReader) ON (p.id)")
        rng = np.random.default_rng(seed)
        edges = np.stack(
            [np.repeat(np.arange(people), _KNOWS), rng.integers(people, size=people * _KNOWS)]
        )
        for first in range(0, people, _BATCH):
            ids = list(range(first, min(people, first + _BATCH)))
            line.rows("UNWIND $ids AS id CREATE (:BenchReader {id: id, seen: 0})", {"ids": ids})
        for first in range(0, people * _KNOWS, _BATCH):
            rows = edges[:, first : first + _BATCH].T.tolist()
            line.rows(
                "UNWIND $rows AS r MATCH (a:BenchReader {id: r[0]}), (b:BenchReader {id: r[1]})"
                " CREATE (a)-[:KNOWS]->(b)",
                {"rows": rows},
            )
    finally:
        line.close()


def _counted(address: str) -> int:
    line = Line(address)
    try:
        return int(line.rows("MATCH (p:BenchReader) RETURN sum(p.seen)")[0][0])
    finally:
        line.close()


def _measure(server: Server, work: Work, people: int, seed: int, seconds: float) -> None:
    """Let the clients of a server work, at first for some time that is not counted."""
    operations = _operations(work.key, people, seed)
    updates = [len(operation) > 1 or work.key == "updates_alone" for operation in operations]
    lines = [Line(server.address) for _ in range(work.clients)]
    try:
        for part, counted in ((_WARM_S, False), (seconds, True)):
            driven = drive(lines, itertools.cycle(operations), part)
            made = len(driven.times_ms)
            whole, rest = divmod(made, len(updates))
            server.updates += whole * sum(updates) + sum(updates[:rest])
            if counted:
                server.rounds.setdefault(work, []).append(driven)
    finally:
        for line in lines:
            line.close()


def _operations(key: str, people: int, seed: int) -> list[Operation]:
    ids = np.random.default_rng(seed).integers(people, size=_KINDS).tolist()
    reads = [alone(_ONE_HOP, {"id": one}, reads=True) for one in ids]
    if key == "one_hop":
        return reads
    if key == "updates_alone":
        return [alone(_UPDATE, {"id": one}) for one in ids]
    updates = [in_transaction(_UPDATE, {"id": one}) for one in ids]
    if key == "updates":
        return updates
    return [updates[n] if n % 10 == 0 else reads[n] for n in range(_KINDS)]


def _report(
    report: Report,
    servers: Sequence[Server],
    plain: tuple[float, float],
    lost: Mapping[str, int],
) -> None:
    for server in servers:
        for work in WORKS:
            key = f"{server.name}.{work.key}.clients_{work.clients}"
            report.put(f"{key}.per_s", server.rate(work))
            report.put(f"{key}.p50_ms", server.percentile(work, 50))
            report.put(f"{key}.p99_ms", server.percentile(work, 99))
    for name, count in lost.items():
        report.put(f"{name}.lost", count)
    report.put("sqlite.updates.per_s", plain[0])
    report.put("sqlite.updates.p99_ms", plain[1])
    report.table(
        "Operations a second by clients at once (99th percentile in ms)",
        ["what", *[server.title for server in servers]],
        [[work.title, *[_cell(server, work) for server in servers]] for work in WORKS],
    )
    workers = servers[1].rate(MANY_READ) / servers[0].rate(MANY_READ)
    crowd = servers[0].rate(MANY_READ) / servers[0].rate(FEW_READ)
    report.table(
        "Next to these",
        ["what", "value"],
        [
            ["one hop, 32 clients: two workers to one, the client included", f"{workers:.2f}"],
            ["one hop, one worker: 32 clients to 8", f"{crowd:.2f}"],
            [
                "plain: one SQLite row updated, WAL, synchronous=FULL, one thread, a second",
                f"{plain[0]:,.0f} ({plain[1]:,.1f})",
            ],
            *[
                [f"{name}: updates acknowledged that are not in the graph", f"{count:,}"]
                for name, count in lost.items()
            ],
        ],
    )


def _cell(server: Server, work: Work) -> str:
    return f"{server.rate(work):,.0f} ({server.percentile(work, 99):,.1f})"
