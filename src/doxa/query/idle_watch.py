"""Undo transactions that hold the writer's turn while their client does nothing.

One thread watches all of them, and ends when there are none.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from doxa.base.limits import WRITER_IDLE_MS
from doxa.query.core.errors import fail

_LOG = logging.getLogger("doxa.query")
_LINGER_S = 5.0  # how long the thread stays when nothing is watched
_Row = TypeVar("_Row")


class Activity:
    """What the client of one transaction does, and how to undo the transaction."""

    def __init__(self, expire: Callable[[], None], idle_ms: int = WRITER_IDLE_MS) -> None:
        self.expired = False
        self.idle_ms = idle_ms
        self.retried = False  # whether a driver runs it again by itself, if it is undone
        self._expire = expire
        self._lock = threading.RLock()
        self._last = time.monotonic()

    def __enter__(self) -> Activity:
        """Run the block as work of the client. Raises QueryError if it was idle for too long."""
        self._lock.acquire()
        if self.expired:
            self._lock.release()
            self.raise_if_expired()
        return self

    def __exit__(self, *_: object) -> None:
        self._last = time.monotonic()
        self._lock.release()

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Run the block, which ends the transaction, while nobody undoes it."""
        with self._lock:
            yield

    def rows(self, rows: Iterator[_Row]) -> Iterator[_Row]:
        """Yield rows, the taking of each as work of the client."""
        while True:
            with self._lock:
                self.raise_if_expired()
                try:
                    row = next(rows)
                except StopIteration:
                    return
                finally:
                    self._last = time.monotonic()
            yield row

    def raise_if_expired(self) -> None:
        """Raise QueryError if the transaction was undone."""
        if self.expired:
            fail(
                f"The transaction kept other writers waiting, without a statement for"
                f" {self.idle_ms / 1000:g} s, and was rolled back.",
                kind="TransientError" if self.retried else "TransactionError",
                detail="Outdated" if self.retried else "TimedOut",
                hint="Run it again with less time between its statements, or as one that reads.",
            )

    def expire_if_idle(self) -> float:
        """Undo the transaction if its client has been idle for too long. Returns the seconds after
        which to look again."""
        if not self._lock.acquire(blocking=False):
            return self.idle_ms / 1000
        try:
            left = self._last + self.idle_ms / 1000 - time.monotonic()
            if left <= 0 and not self.expired:
                self.expired = True
                self._expire()
            return left if left > 0 else self.idle_ms / 1000
        finally:
            self._lock.release()


class IdleWatch:
    """Looks at each activity when it may have been idle for too long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._watched: dict[Activity, None] = {}
        self._thread: threading.Thread | None = None
        self._pause_s = 0.0

    def add(self, activity: Activity) -> None:
        with self._lock:
            self._watched[activity] = None
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="doxa-idle", daemon=True)
                self._thread.start()
            elif activity.idle_ms / 1000 < self._pause_s:
                self._changed.notify()

    def remove(self, activity: Activity) -> None:
        if activity in self._watched:
            with self._lock:
                self._watched.pop(activity, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                watched = list(self._watched)
            waits = list(map(_looked_at, watched))
            with self._changed:
                if any(one not in watched for one in self._watched):
                    continue  # it came meanwhile
                self._pause_s = min(waits, default=_LINGER_S)
                notified = self._changed.wait(self._pause_s)
                if not notified and not waits and not self._watched:
                    self._thread = None
                    return


def _looked_at(one: Activity) -> float:
    """Undo a transaction that has been idle for too long. What is wrong with one leaves the others
    watched. Returns the seconds after which to look again."""
    try:
        return one.expire_if_idle()
    except Exception:
        _LOG.exception("a transaction that was idle for too long could not be undone")
        return one.idle_ms / 1000


WATCH = IdleWatch()
