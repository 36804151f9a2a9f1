"""One leader for each file: a job runs in one process at a time.

The lease has a time to live and is renewed while the job works; when its holder dies, another
process takes it after that time (store/stream/leases.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from doxa.base.errors import BusyError, DoxaError
from doxa.base.limits import JOB_LEASE_MS
from doxa.store import Store


class Lease:
    """A lease that is held."""

    def __init__(self, store: Store, job: str, token: int, ttl_ns: int) -> None:
        self._store, self._job, self._token, self._ttl_ns = store, job, token, ttl_ns

    @property
    def until(self) -> int:
        """The time until which it holds, in ns UTC."""
        return self._token

    def renew(self) -> None:
        """Hold it for its time to live from now. Raises BusyError if it was lost."""
        token = self._store.take_lease(self._job, held=self._token, ttl_ns=self._ttl_ns)
        if not token:
            raise _taken(self._job)
        self._token = token

    def release(self) -> None:
        """Give it back. Does nothing if it was lost."""
        self._store.take_lease(self._job, held=self._token, ttl_ns=0)


@contextmanager
def lease(store: Store, job: str, *, ttl_ms: int = JOB_LEASE_MS) -> Iterator[Lease]:
    """Hold the lease of a job in the block. Raises BusyError if another process has it."""
    ttl_ns = ttl_ms * 1_000_000
    token = store.take_lease(job, held=0, ttl_ns=ttl_ns)
    if not token:
        raise _taken(job)
    held = Lease(store, job, token, ttl_ns)
    try:
        yield held
    finally:
        with suppress(DoxaError):  # it ends by itself
            held.release()


def _taken(job: str) -> BusyError:
    return BusyError(
        f"Another process runs {job} on this file.",
        next_step="Wait for it; its lease ends soon after it stops.",
        job=job,
    )
