"""A schedule: servers that write, erase, follow, wait for tokens, read, die and come back over a
simulated engine, and what must hold afterwards (docs/internals/replication.md)."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from doxa.app.expressions import LazyExpressions
from doxa.base.clock import FakeClock
from doxa.base.errors import BusyError, ConflictError, UnreachableError
from doxa.base.ids import NodeId
from doxa.base.values import decode
from doxa.replication.codec import decode_transaction
from doxa.replication.following import local_head
from doxa.replication.replica import Replica
from doxa.store import Identity, Store, check, digest, replayed_digest, verify_log
from tests.replication.simulated import (
    Faults,
    Killed,
    Scheduler,
    SimulatedEngine,
    SimulatedLog,
    without_faults,
)

TENANT = "acme"
_ANA, _ROOT = Identity("ana", "agent"), Identity("root", "operator")
_EXPRESSIONS = LazyExpressions()


class Violated(AssertionError):
    """Something that must hold does not."""


class Acknowledged(NamedTuple):
    marker: str
    node: int
    tx: int
    token: str
    began: int
    ended: int


class Seen(NamedTuple):
    """What a read of a replica returned, and the transaction that it stood at."""

    server: str
    tx: int
    markers: frozenset[str]


class Schedule:
    """One schedule, and the account of it."""

    def __init__(self, folder: Path, template: Path, seed: int, *, wrong: str = "") -> None:
        self.folder, self.template = folder, template
        self.scheduler = Scheduler(seed)
        rng = self.scheduler.rng
        self.engine = SimulatedEngine(self.scheduler, Faults.drawn(rng, wrong))
        self.clock = FakeClock()
        self.servers = [Server(self, f"s{n}", rng.randint(4, 10)) for n in range(rng.randint(2, 3))]
        self.acked: list[Acknowledged] = []
        self.refused: set[str] = set()
        self.erasing: set[str] = set()  # somebody tried to
        self.erased: set[str] = set()  # and this was acknowledged
        self.seen: list[Seen] = []
        self.counts: dict[str, int] = {}

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def run(self) -> None:
        """Raises Violated, or what a server raised that it should not."""
        self.scheduler.run({one.name: one.work for one in self.servers})
        with without_faults(self.engine):
            self.engine.settle()
            self._prove()
        for one in self.servers:
            one.close()

    # What must hold

    def _prove(self) -> None:
        fresh = Server(self, "fresh", 0)
        self.servers.append(fresh)
        for one in self.servers:
            one.restart()
            one.replica.catch_up()
        stores = [one.store for one in self.servers]
        _demand(len({verify_log(store) for store in stores}) == 1, "replicas have different logs")
        _demand(len({digest(store) for store in stores}) == 1, "replicas have different states")
        _demand(digest(stores[0]) == replayed_digest(stores[0]), "a state is not that of its log")
        _demand(check(stores[0]) == [], "derived rows are not sound")
        written = self._written()
        self._nothing_lost_or_twice(written)
        self._order(written)
        self._reads(written)
        self._erasures()

    def _written(self) -> dict[str, int]:
        """The transaction of each marker whose content the engine still has. One chain: numbers
        without a gap, and each after the hash of the one before."""
        found: dict[str, int] = {}
        for number, row in enumerate(self.engine.tenant(TENANT).rows, 1):
            one = decode_transaction(row.body, row.answers)
            _demand(one.tx == number, f"transaction {number} is numbered {one.tx}")
            for entry in one.entries:
                if entry.op == "node.create" and entry.payload is not None:
                    marker = decode(entry.payload)["props"]["marker"]
                    _demand(marker not in found, f"{marker} was written twice")
                    found[marker] = one.tx
        return found

    def _nothing_lost_or_twice(self, written: dict[str, int]) -> None:
        for one in self.acked:
            if one.marker in self.erasing:
                continue
            _demand(written.get(one.marker) == one.tx, f"{one.marker} was acknowledged and is lost")
        for marker in self.refused:
            _demand(marker not in written, f"{marker} was refused and is there")
        shown = {marker for store in [self.servers[-1].store] for marker in markers(store)}
        _demand(shown == set(written), "the state shows something else than the log")

    def _order(self, written: dict[str, int]) -> None:
        """Of two calls, of which one ended before the other began, it comes first."""
        by_end = sorted(self.acked, key=lambda one: one.ended)
        for later in self.acked:
            before = [one.tx for one in by_end if one.ended < later.began]
            _demand(
                not before or max(before) < later.tx, "the log has another order than the calls"
            )

    def _reads(self, written: dict[str, int]) -> None:
        last: dict[str, int] = {}
        for one in self.seen:
            _demand(last.get(one.server, 0) <= one.tx, f"replica {one.server} went back")
            last[one.server] = one.tx
            wanted = {marker for marker, tx in written.items() if tx <= one.tx}
            _demand(one.markers - self.erasing == wanted - self.erasing, "a read saw no prefix")

    def _erasures(self) -> None:
        for marker in self.erased:
            word = marker.encode()
            for row in self.engine.tenant(TENANT).rows:
                shown = repr(decode_transaction(row.body, row.answers)).encode()
                _demand(word not in shown, f"the engine keeps {marker}, which was erased")
            for one in self.servers:
                for path in self.folder.glob(f"{one.name}.db*"):
                    _demand(word not in path.read_bytes(), f"{path.name} keeps {marker}")


class Server:
    """One process with a replica. It dies at any call to the engine, and is started again."""

    def __init__(self, schedule: Schedule, name: str, calls: int) -> None:
        self.schedule, self.name, self._calls = schedule, name, calls
        self._number = 0
        self._open()

    def _open(self) -> None:
        schedule, path = self.schedule, self.schedule.folder / f"{self.name}.db"
        if not path.exists():
            shutil.copyfile(schedule.template, path)
        self.store = Store(path, expressions=_EXPRESSIONS, clock=schedule.clock)
        self.replica = Replica(self.store, SimulatedLog(schedule.engine), TENANT)

    def close(self) -> None:
        self.store.shared = None
        self.store.close()

    def restart(self) -> None:
        self.close()
        self._open()

    def work(self) -> None:
        rng = self.schedule.scheduler.rng
        calls: list[Callable[[random.Random], None]] = [
            *[self._write] * 6,
            self._erase,
            self._follow,
            *[self._token] * 2,
            *[self._read] * 2,
            self._latest,
        ]
        for _ in range(self._calls):
            try:
                rng.choice(calls)(rng)
            except (UnreachableError, BusyError, ConflictError):
                self.schedule.count("refused")
            except Killed:
                self.schedule.count("killed")
                self.restart()
        self._latest(rng, always=False)

    # Calls

    def _write(self, rng: random.Random) -> None:
        schedule, self._number = self.schedule, self._number + 1
        marker = f"marker-{self.name}-{self._number}-{rng.randrange(1 << 40):x}"
        log: Any = self.replica.log
        asked, began = log.began_without_asking, schedule.scheduler.step
        try:
            with self.store.write(_ANA, op="test") as tx:
                node = tx.create_node(["Thing"], {"marker": marker})
        except UnreachableError as error:
            if error.fields["outcome"] == "none":
                schedule.refused.add(marker)
            raise
        except (BusyError, ConflictError):
            schedule.refused.add(marker)
            raise
        if log.began_without_asking > asked:
            schedule.count("without asking")
        token = local_head(self.store).token
        ended = schedule.scheduler.step
        schedule.acked.append(Acknowledged(marker, node, tx.tx, token, began, ended))
        schedule.count("acknowledged")
        schedule.scheduler.step += 1

    def _erase(self, rng: random.Random) -> None:
        schedule = self.schedule
        left = [one for one in schedule.acked if one.marker not in schedule.erasing]
        if not left:
            return
        chosen = rng.choice(left)
        schedule.erasing.add(chosen.marker)
        with self.store.write(_ROOT, op="forget") as tx:
            tx.erase([NodeId(chosen.node)])
        self.store.scrub()
        schedule.erased.add(chosen.marker)
        schedule.count("erased")

    def _follow(self, rng: random.Random) -> None:
        self.replica.catch_up()

    def _token(self, rng: random.Random) -> None:
        """What a client was given elsewhere is here, or this server says that it is not."""
        schedule = self.schedule
        if not schedule.acked:
            return
        one = rng.choice(schedule.acked)
        self.replica.wait_for(one.token, timeout_s=2)
        shown = markers(self.store)
        ok = one.marker in shown or one.marker in schedule.erasing
        _demand(ok, f"{self.name} honoured the token of {one.marker} without it")
        schedule.count("tokens")

    def _read(self, rng: random.Random) -> None:
        tx, shown = local_head(self.store).tx, markers(self.store)
        self.schedule.seen.append(Seen(self.name, tx, shown))

    def _latest(self, rng: random.Random, *, always: bool = True) -> None:
        schedule, began = self.schedule, self.schedule.scheduler.step
        wanted = {one.marker for one in schedule.acked if one.ended < began}
        self.replica._local.level = "latest"
        try:
            shown = markers(self.store)
        except (UnreachableError, Killed):
            if always:
                raise
            return
        finally:
            self.replica._local.level = "session"
        missing = wanted - shown - schedule.erasing
        _demand(not missing, f"a read of the latest state misses {sorted(missing)[:1]}")
        schedule.count("latest reads")


def markers(store: Store) -> frozenset[str]:
    with store.read() as snapshot:
        rows = snapshot.rows("SELECT json_extract(props, '$.marker') FROM node")
    return frozenset(marker for (marker,) in rows)


def _demand(holds: Any, said: str) -> None:
    if not holds:
        raise Violated(said)
