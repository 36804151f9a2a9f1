"""Holds that a server keeps between writes of one tenant that follow each other quickly, so that
each but the first takes one round trip.

An append may ask the engine to keep the tenant for this server under a new token. The next write of
this process then begins without asking, and its append names the token. Others wait while the
engine keeps it: until the server gives it back, which it does after half a second without a write,
or until a time that the server moves on while a write runs. What is safe is decided by the append,
which compares head and token; the time only saves others from conflicts.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from doxa.base.errors import BusyError, DoxaError
from doxa.replication.protocol import TenantInfo

USED_S = 0.5  # after an append, in which the next write may begin without asking
KEPT_S = 3.0  # after which the engine takes a server that says nothing for dead
WANTED_S = 10.0  # in which nothing is kept after another server had to wait
_RENEWED_S = 1.0
_LOOK_S = 0.1
_KNOWN_MAX = 1_000


class Kept(NamedTuple):
    """What the engine keeps: `info` is the tenant after the append, `until` when use ends."""

    token: int
    info: TenantInfo
    until: float


class KeptHolds:
    """The tenants that are kept for one process. Who takes one has it alone."""

    def __init__(self, now: Callable[[], float] | None = None) -> None:
        self._now = now or time.monotonic
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = {}
        self._used: dict[str, tuple[int, float]] = {}  # token, and when it was renewed
        self._appended: dict[str, float] = {}  # when each tenant was last appended to

    def take(self, tenant: str) -> Kept | None:
        """Take what is kept out, usable or not: its token lets this server pass at the engine."""
        with self._lock:
            kept = self._kept.pop(tenant, None)
            if kept is not None:
                self._used[tenant] = kept.token, kept.until - USED_S
            return kept

    def is_usable(self, kept: Kept) -> bool:
        return self._now() < kept.until

    def end(self, tenant: str, token: int) -> None:
        """Forget what was taken: it is used up."""
        with self._lock:
            if tenant in self._used and self._used[tenant][0] == token:
                del self._used[tenant]

    def begin_append(self, tenant: str) -> tuple[int, float]:
        """Return the token to ask for, 0 for a tenant that is written to now and then, and until
        when it may be used if the engine keeps it."""
        now = self._now()
        with self._lock:
            if len(self._appended) >= _KNOWN_MAX:
                self._appended = {
                    name: at for name, at in self._appended.items() if now - at < USED_S
                }
            often = now - self._appended.get(tenant, -USED_S) < USED_S
            self._appended[tenant] = now
        return (1 + secrets.randbits(62) if often else 0), now + USED_S

    def keep(self, tenant: str, kept: Kept) -> None:
        with self._lock:
            self._used.pop(tenant, None)
            self._kept[tenant] = kept

    def left(self, *, all_of_them: bool = False) -> list[tuple[str, int]]:
        """Take out what nobody used in time, or everything, to give it back."""
        now = self._now()
        with self._lock:
            found = [
                (tenant, one.token)
                for tenant, one in self._kept.items()
                if all_of_them or now >= one.until
            ]
            for tenant, _ in found:
                del self._kept[tenant]
            return found

    def to_renew(self) -> list[tuple[str, int]]:
        """Return what writes that run have used for a while."""
        now = self._now()
        with self._lock:
            due = [name for name, (_, at) in self._used.items() if now - at >= _RENEWED_S]
            for name in due:
                self._used[name] = self._used[name][0], now
            return [(name, self._used[name][0]) for name in due]

    @property
    def is_empty(self) -> bool:
        return not self._kept and not self._used


class Keeper:
    """A thread that gives back what is not used, and renews what is. It runs while there is some.
    `say(tenant, token, seconds)` sets the time at the engine; 0 gives it back."""

    def __init__(self, holds: KeptHolds, say: Callable[[str, int, float], None]) -> None:
        self._holds, self._say = holds, say
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def watch(self) -> None:
        """Begin, unless it runs."""
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="doxa-log-keeper", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Give all of it back."""
        self._closing.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(KEPT_S)
        self._tell(self._holds.left(all_of_them=True), 0.0)

    def _run(self) -> None:
        while not self._closing.wait(_LOOK_S):
            self._tell(self._holds.left(), 0.0)
            self._tell(self._holds.to_renew(), KEPT_S)
            with self._lock:
                if self._holds.is_empty:
                    self._thread = None
                    return

    def _tell(self, found: list[tuple[str, int]], seconds: float) -> None:
        for tenant, token in found:
            try:
                self._say(tenant, token, seconds)
            except BusyError:  # another server has it
                continue
            except DoxaError:  # the engine is away: the time passes
                return
