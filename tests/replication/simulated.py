"""A simulated engine of shared logs, and a scheduler that lets one thread go on at a time. All that
is left to chance is drawn from one seed, so a schedule that fails is repeated by its number.

The engine is a primary with a synchronous standby. What it appends is visible and acknowledged once
the standby has it; a fail-over loses what the standby has not. Between the servers and the engine,
calls are late, their requests or answers are lost, answers come short, twice or old, holds end
while a transaction runs, and servers die at any call. Servers keep holds between writes (kept.py);
an append under a token may arrive after its server has asked for its outcome.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import NamedTuple, TypeVar

from doxa.base.errors import BusyError, ClosedError, ConflictError, UnreachableError
from doxa.replication.codec import (
    decode_transaction,
    encode_answers,
    encode_body,
    without_payloads,
)
from doxa.replication.engines.folder import next_token, stale_snapshot
from doxa.replication.engines.kept import USED_S, WANTED_S, Kept, KeptHolds
from doxa.replication.protocol import (
    START,
    Head,
    SharedTransaction,
    Snapshot,
    TenantInfo,
    check_tenant,
    continues,
)

T = TypeVar("T")
_HOLD_POINTS = 4_000  # of one schedule: a wait that passes them all never ends by itself


class Killed(BaseException):
    """The process of a server ended here."""


class Faults(NamedTuple):
    """How probable each fault is at each call, and what the engine does wrong (for the tests of
    the tests)."""

    late: float = 0.5
    request_lost: float = 0.0
    answer_lost: float = 0.0
    repeated: float = 0.0
    short: float = 0.0
    stale: float = 0.0
    hold_lost: float = 0.0
    killed: float = 0.0
    failed_over: float = 0.0
    held_up: float = 0.0
    pace: float = 0.0  # by how much the times of kept holds are longer than in kept.py; 0: no holds
    wrong: str = ""

    @classmethod
    def drawn(cls, rng: random.Random, wrong: str = "") -> Faults:
        """Some faults, each with a probability of its own: schedules differ in kind."""
        some = {
            name: rng.choice((0.0, 0.0, 0.02, 0.05, 0.2))
            for name in ("request_lost", "answer_lost", "repeated", "short", "stale", "hold_lost")
        }
        some["held_up"] = rng.choice((0.0, 0.3, 0.9))
        some["pace"] = rng.choice((0.0, 40.0, 100.0, 200.0))
        rare = {name: rng.choice((0.0, 0.005, 0.02)) for name in ("killed", "failed_over")}
        return cls(late=rng.choice((0.1, 0.5, 0.9)), wrong=wrong, **some, **rare)


class Scheduler:
    """Threads of which one runs. At a point, the seed chooses which goes on; time passes there."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0
        self.step = 0
        self._turns: dict[str, threading.Semaphore] = {}
        self._own = threading.local()
        self._done = threading.Event()
        self.failed: list[BaseException] = []

    def run(self, threads: dict[str, Callable[[], None]]) -> None:
        """Run them all to their ends. Raises what one of them raised."""
        self._turns = {name: threading.Semaphore(0) for name in threads}
        started = [
            threading.Thread(target=self._run_one, args=(name, work), name=name, daemon=True)
            for name, work in threads.items()
        ]
        for thread in started:
            thread.start()
        self._next()
        assert self._done.wait(120), "a schedule does not end"
        for thread in started:
            thread.join(10)
        if self.failed:
            raise self.failed[0]

    def _run_one(self, name: str, work: Callable[[], None]) -> None:
        self._own.name = name
        self._turns[name].acquire()
        try:
            work()
        except BaseException as error:
            self.failed.append(error)
        del self._turns[name]
        self._next()

    def _next(self) -> None:
        if self._turns:
            self._turns[self.rng.choice(sorted(self._turns))].release()
        else:
            self._done.set()

    def point(self) -> None:
        """Let the seed choose who goes on."""
        self.step += 1
        self.now += self.rng.expovariate(20)
        name: str | None = getattr(self._own, "name", None)
        if name is None:  # before and after a schedule there is one thread
            return
        chosen = self.rng.choice(sorted(self._turns))
        if chosen != name:
            self._turns[chosen].release()
            self._turns[name].acquire()

    def monotonic(self) -> float:
        """What `time.monotonic` is in a schedule."""
        if hasattr(self._own, "name"):
            self.now += 1e-4  # who asks again and again comes to an end
        return self.now

    def sleep(self, seconds: float) -> None:
        """What `time.sleep` is in a schedule."""
        self.now += seconds
        self.point()


class _Row(NamedTuple):
    head: Head
    first_seq: int
    last_seq: int
    body: bytes
    answers: bytes | None


class _Tenant:
    def __init__(self) -> None:
        self.rows: list[_Row] = []
        self.erased_tx = 0
        self.snapshot: Snapshot | None = None
        self.leases: dict[str, int] = {}
        self.holder: SimulatedHold | None = None
        self.kept_by, self.kept_until, self.wanted_until = 0, 0.0, 0.0

    @property
    def head(self) -> Head:
        return self.rows[-1].head if self.rows else START


class SimulatedEngine:
    """The other end of the wire. `wrong` names a law that it breaks, for the tests of the tests:

    compare    appends without comparing the head
    standby    acknowledges before the standby has it
    twice      runs a request again whose answer was lost
    erase      keeps the payloads that it was to destroy
    fence      takes an append under a token that is void
    """

    def __init__(self, scheduler: Scheduler, faults: Faults | None = None) -> None:
        self.scheduler = scheduler
        self.faults = faults or Faults(late=0.0)
        self.tenants: dict[str, _Tenant] = {}
        self._unsafe: list[tuple[_Tenant, int]] = []  # rows that no standby has yet
        self.fail_overs = 0
        self.on_the_way: list[Callable[[], None]] = []  # appends whose servers have given up

    def tenant(self, name: str) -> _Tenant:
        return self.tenants.setdefault(check_tenant(name), _Tenant())

    def maybe(self, probability: float) -> bool:
        return bool(probability) and self.scheduler.rng.random() < probability

    def fail_over(self) -> None:
        """The standby is the primary now: transactions that run have ended, and what it has not
        is lost."""
        self.fail_overs += 1
        for tenant, length in reversed(self._unsafe):
            del tenant.rows[length:]
        self._unsafe.clear()
        for tenant in self.tenants.values():
            tenant.holder = None

    def append(
        self, hold: SimulatedHold, transactions: Sequence[SharedTransaction], keep: int = 0
    ) -> int:
        """As one. The rows count once the standby has them, and then at once. Returns the token
        under which the tenant is kept, 0 for none."""
        tenant = self.tenant(hold.tenant)
        if hold.token:
            while tenant.holder is not None:  # of whom took the lock since
                if tenant.holder.is_dead:
                    tenant.holder = None
                self.scheduler.point()
            if tenant.kept_by != hold.token and self.faults.wrong != "fence":
                raise _refused()
            tenant.holder = hold
        try:
            self._append(tenant, hold, transactions)
        finally:
            if tenant.holder is hold:
                tenant.holder = None
        now, pace = self.scheduler.now, self.faults.pace
        tenant.kept_by = keep if now > tenant.wanted_until else 0
        tenant.kept_until = now + 2 * USED_S * pace if tenant.kept_by else 0.0
        return tenant.kept_by

    def arrive(self) -> None:
        """Run the appends that were held up, once no transaction runs. Nobody hears of their
        outcomes."""
        if any(tenant.holder is not None for tenant in self.tenants.values()):
            return
        due, self.on_the_way = self.on_the_way, []
        for append in due:
            with suppress(ConflictError, _Broken):
                append()

    def settle(self) -> None:
        """What is on the way arrives or is refused, and nothing comes after it."""
        for tenant in self.tenants.values():
            tenant.holder = None
        self.arrive()

    def _append(
        self, tenant: _Tenant, hold: SimulatedHold, transactions: Sequence[SharedTransaction]
    ) -> None:
        if self.faults.wrong != "compare":
            if tenant.holder is not hold:
                raise _Broken("the hold has ended")
            continues(tenant.head, transactions, hold.tenant)
        length = len(tenant.rows)
        rows = [
            _Row(one.head, one.first_seq, one.receipt[7], encode_body(one), encode_answers(one))
            for one in transactions
        ]
        if self.faults.wrong == "standby":
            tenant.rows += rows
            self._unsafe = [(tenant, length)]  # those before have arrived
        else:
            before = self.fail_overs
            self.scheduler.point()  # it goes to the standby
            if before != self.fail_overs or (
                tenant.holder is not hold and self.faults.wrong != "compare"
            ):
                raise _Broken("the transaction was rolled back")
            tenant.rows += rows
        for one in transactions:
            if one.erased and self.faults.wrong != "erase":
                _erase(tenant, one)


def _erase(tenant: _Tenant, one: SharedTransaction) -> None:
    gone = frozenset(one.erased)
    tenant.rows = [
        row._replace(body=without_payloads(row.body, gone), answers=None) for row in tenant.rows
    ]
    tenant.erased_tx, tenant.snapshot = one.tx, None


def _refused() -> ConflictError:
    return ConflictError("The log ends elsewhere.", next_step="Repeat the call.", tenant="acme")


class _Broken(Exception):
    """The engine rolled back what a request was part of."""


class SimulatedLog:
    """The engine as one server sees it: implements SharedLog."""

    def __init__(
        self, engine: SimulatedEngine, *, alive: Callable[[], bool] = lambda: True
    ) -> None:
        self._engine, self._alive = engine, alive
        self._closed = False
        self.kept = KeptHolds(lambda: engine.scheduler.now / (engine.faults.pace or 1.0))
        self._reading = False  # the last call was a read, which is continued
        self.cut = False  # the network leads nowhere
        self.began_without_asking = 0

    # The wire

    def call(self, work: Callable[[], T], *, outcome: str = "none", reading: bool = False) -> T:
        """Carry a request to the engine, and its answer back."""
        engine, faults = self._engine, self._engine.faults
        if self._closed:
            raise ClosedError("This log is closed.", next_step="Open it again.")
        self._reading = reading
        self._travel()
        if self.cut or engine.maybe(faults.request_lost):
            raise _unreachable("none")
        found = work()
        self._travel()
        if self.cut or engine.maybe(faults.answer_lost):
            if faults.wrong == "twice" and outcome == "unknown":
                found = work()
            raise _unreachable(outcome)
        return found

    def _travel(self) -> None:
        engine, faults = self._engine, self._engine.faults
        self._die()
        engine.scheduler.point()
        while engine.maybe(faults.late):
            engine.scheduler.point()
        if engine.on_the_way and engine.maybe(0.3):
            engine.arrive()
        if engine.maybe(faults.failed_over):
            engine.fail_over()
        self._die()

    def _die(self) -> None:
        if self._engine.maybe(self._engine.faults.killed) and self._alive():
            raise Killed

    # The contract

    def head(self, tenant: str) -> Head:
        found = self._engine.tenant(tenant)
        return self.call(lambda: found.head)

    def hash_at(self, tenant: str, tx: int) -> bytes | None:
        found = self._engine.tenant(tenant)
        return self.call(lambda: found.rows[tx - 1].head.hash if tx <= len(found.rows) else None)

    def hold(
        self, tenant: str, *, wait_ms: int, stopped: Callable[[], bool] | None = None
    ) -> SimulatedHold:
        scheduler, found = self._engine.scheduler, self._engine.tenant(tenant)
        until, points = scheduler.now + wait_ms / 1000, 0
        kept = self.kept.take(tenant)
        if kept is not None and self.kept.is_usable(kept):
            self._die()
            self.began_without_asking += 1
            return SimulatedHold(self, tenant, kept.info.head, kept)
        mine = kept.token if kept else 0
        while (holder := found.holder) is not None or (
            found.kept_by not in (0, mine) and found.kept_until > scheduler.now
        ):
            if holder is None:
                found.wanted_until = scheduler.now + WANTED_S
            scheduler.point()
            points += 1
            # what nobody gives back ends like an idle transaction
            if holder is not None and (
                holder.is_dead or self._engine.maybe(self._engine.faults.hold_lost)
            ):
                found.holder = None
            elif scheduler.now > until or (stopped and stopped()) or points > _HOLD_POINTS:
                raise BusyError("Other writers kept the log busy.", next_step="Try again.")
        hold = SimulatedHold(self, tenant, found.head)
        found.holder = hold
        try:
            self.call(lambda: None)
        except BaseException:
            hold.release()
            raise
        if found.holder is not hold:  # it failed over meanwhile
            raise _unreachable("none")
        hold.head = found.head
        return hold

    def has(self, tenant: _Tenant, head: Head, token: int) -> bool:
        """Under the lock of the tenant: whether it has a receipt. What names the token is void."""
        while tenant.holder is not None and not tenant.holder.is_dead:
            self._engine.scheduler.point()
        if token and tenant.kept_by == token:
            tenant.kept_by = 0
        return any(row.head == head for row in tenant.rows)

    def read(self, tenant: str, after: int, *, limit_bytes: int) -> list[SharedTransaction]:
        found, engine = self._engine.tenant(tenant), self._engine
        again, self._reading = not self._reading, True

        def run() -> list[SharedTransaction]:
            first = after
            if again and engine.maybe(engine.faults.repeated) and len(found.rows) > after:
                first = max(0, after - engine.scheduler.rng.randrange(1, 4))
            rows, size, answer = found.rows[first:], 0, []
            for row in rows:
                if row.head.tx > after + 1 and (
                    size + len(row.body) > limit_bytes or engine.maybe(engine.faults.short)
                ):
                    break
                size += len(row.body)
                answer.append(decode_transaction(row.body, row.answers))
            return answer

        return self.call(run, reading=True)

    def wait(self, tenant: str, after: int, *, timeout_s: float) -> int:
        """A notification may be of long ago, or come without a reason."""
        engine, found = self._engine, self._engine.tenant(tenant)
        until = engine.scheduler.now + timeout_s
        while self.head(tenant).tx <= after and engine.scheduler.now < until:
            engine.scheduler.point()
            if engine.maybe(engine.faults.stale):
                return engine.scheduler.rng.randint(0, found.head.tx)
        return self.head(tenant).tx

    def put_snapshot(self, tenant: str, snapshot: Snapshot) -> None:
        found = self._engine.tenant(tenant)

        def run() -> None:
            heads = {row.head for row in found.rows}
            if snapshot.head not in heads or found.erased_tx > snapshot.head.tx:
                raise stale_snapshot(tenant, snapshot.head)
            found.snapshot = snapshot

        self.call(run)

    def newest_snapshot(self, tenant: str) -> Snapshot | None:
        found = self._engine.tenant(tenant)
        return self.call(lambda: found.snapshot)

    def take_lease(self, tenant: str, name: str, *, held: int, now: int, ttl_ns: int) -> int:
        leases = self._engine.tenant(tenant).leases

        def run() -> int:
            token = next_token(leases.get(name), held=held, now=now, ttl_ns=ttl_ns)
            if token:
                leases[name] = token
            elif token == 0:
                del leases[name]
            return token or 0

        return self.call(run)

    def lease_until(self, tenant: str, name: str) -> int:
        leases = self._engine.tenant(tenant).leases
        return self.call(lambda: leases.get(name, 0))

    def tenants(self) -> list[TenantInfo]:
        known = sorted(self._engine.tenants.items())
        return self.call(
            lambda: [
                TenantInfo(name, one.head, sum(len(row.body) for row in one.rows))
                for name, one in known
            ]
        )

    def close(self) -> None:
        self._closed = True


class SimulatedHold:
    """The right to append: the engine may take it away at any time."""

    def __init__(
        self, log: SimulatedLog, tenant: str, head: Head, kept: Kept | None = None
    ) -> None:
        self.head, self.tenant, self.kept = head, tenant, kept
        self.token = kept.token if kept else 0
        self._log = log
        self.is_dead = False

    def append(self, transactions: Sequence[SharedTransaction]) -> None:
        log, engine = self._log, self._log._engine
        continues(self.head, transactions, self.tenant)
        after, found = transactions[-1].head, engine.tenant(self.tenant)
        self.kept = None  # used up
        if engine.maybe(engine.faults.hold_lost) and found.holder is self:
            found.holder = None
        _, until = log.kept.begin_append(self.tenant)
        keep = engine.scheduler.rng.getrandbits(62) if engine.faults.pace else 0  # always asked for
        given = 0
        try:
            if self.token and engine.maybe(engine.faults.held_up):
                late = SimulatedHold(log, self.tenant, self.head)
                late.token = self.token
                engine.on_the_way.append(lambda: engine.append(late, transactions, keep) and None)
                raise _unreachable("unknown")
            given = log.call(lambda: engine.append(self, transactions, keep), outcome="unknown")
        except _Broken as error:
            raise _unreachable("none") from error
        except UnreachableError as error:
            if error.fields["outcome"] == "none" or engine.maybe(0.5):
                raise
            # the connection is back: whether the receipt is there says what happened
            if not log.has(found, after, self.token):
                if engine.maybe(0.5):
                    engine.arrive()  # the worst moment
                raise _unreachable("none") from error
        finally:
            self.release()
        if given:
            log.kept.keep(self.tenant, Kept(given, TenantInfo(self.tenant, after, 0), until))

    def release(self) -> None:
        """Without the wire: the engine sees that a connection has ended."""
        self.is_dead = True
        found = self._log._engine.tenant(self.tenant)
        if found.holder is self:
            found.holder = None
        if self.kept is not None:
            self._log.kept.keep(self.tenant, self.kept)

    def __enter__(self) -> SimulatedHold:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _unreachable(outcome: str) -> UnreachableError:
    return UnreachableError(
        "The wire was cut.", next_step="Repeat the call.", outcome=outcome, tenant="acme"
    )


@contextmanager
def without_faults(engine: SimulatedEngine) -> Iterator[None]:
    """The network is whole in the block."""
    before, engine.faults = engine.faults, Faults(late=0.0, wrong=engine.faults.wrong)
    try:
        yield
    finally:
        engine.faults = before
