"""One leader for each file: a job runs in one process at a time.

The lease has a time to live. While the job works, a thread renews it three times in that time, so
that a stage that takes longer (a call of a model, a large page) does not lose it; when the process
dies, the thread does too, and another process takes the lease once its time is over
(store/stream/leases.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from doxa.base.errors import BusyError, DoxaError
from doxa.base.limits import JOB_LEASE_MS
from doxa.store import Reader, Store

NIGHTSHIFT = "nightshift"  # its lease, under which it does other jobs


class Lease:
    """A lease that is held."""

    def __init__(self, store: Store, job: str, token: int, ttl_ns: int) -> None:
        self._store, self._job, self._token, self._ttl_ns = store, job, token, ttl_ns
        self._turn = threading.Lock()  # the token changes with each renewal

    @property
    def until(self) -> int:
        """The time until which it holds, in ns UTC."""
        return self._token

    def renew(self) -> None:
        """Hold it for its time to live from now. Raises BusyError if it was lost."""
        with self._turn:
            token = self._store.take_lease(self._job, held=self._token, ttl_ns=self._ttl_ns)
            if not token:
                raise _taken(self._job)
            self._token = token

    def release(self) -> None:
        """Give it back. Does nothing if it was lost."""
        with self._turn:
            self._store.take_lease(self._job, held=self._token, ttl_ns=0)

    def keep(self, ended: threading.Event) -> None:
        """Renew it until `ended` is set, or it is lost: who works learns that at the next renewal
        of their own."""
        while not ended.wait(self._ttl_ns / 3e9):
            try:
                self.renew()
            except BusyError:
                return
            except DoxaError:  # the file is busy or gone: there is time for two more attempts
                continue


@contextmanager
def lease(
    store: Store, job: str, *, ttl_ms: int = JOB_LEASE_MS, kept: bool = True
) -> Iterator[Lease]:
    """Hold the lease of a job in the block. `kept`: renew it in the background. Raises BusyError if
    another process has it."""
    ttl_ns = ttl_ms * 1_000_000
    token = store.take_lease(job, held=0, ttl_ns=ttl_ns)
    if not token:
        raise _taken(job)
    held = Lease(store, job, token, ttl_ns)
    ended = threading.Event()
    keeper = threading.Thread(target=held.keep, args=(ended,), name=f"lease-{job}", daemon=True)
    if kept:
        keeper.start()
    try:
        yield held
    finally:
        ended.set()
        if kept:
            keeper.join()
        with suppress(DoxaError):  # it ends by itself
            held.release()


def is_held(reader: Reader, job: str, *, now: int) -> bool:
    """Return whether a process holds the lease of a job."""
    return reader.lease_until(job) > now


def _taken(job: str) -> BusyError:
    return BusyError(
        f"Another process runs {job} on this file.",
        next_step="Wait for it; its lease ends soon after it stops.",
        job=job,
    )
