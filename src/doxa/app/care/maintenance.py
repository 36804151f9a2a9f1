"""Background maintenance while a memory is open: pending accesses are written, windows of
visibility follow a change of policies, and retention policies are applied once a day.

One thread, started when there is first something to do. Reads are correct without it: what it has
not reached yet is evaluated when it is read, and what is pending is written at the close.
"""

from __future__ import annotations

from contextlib import suppress

from doxa.app.care.background import BackgroundThread
from doxa.base.errors import BusyError, ClosedError, DoxaError, StoreError
from doxa.maintenance.regular import RegularRetention
from doxa.store import Store


class MaintenanceThread(BackgroundThread):
    """The thread of one open store. An access waits at most `interval_ms` before it is written.
    Retention policies are applied every `retain_every_s` seconds by the clock of the store, also by
    other processes together; never if it is 0."""

    name = "doxa-maintenance"

    def __init__(
        self,
        store: Store,
        *,
        interval_ms: int,
        background: bool,
        retain_every_s: int = 0,
        project: str = "default",
    ) -> None:
        super().__init__()
        self._store = store
        self._interval_s = interval_ms / 1_000
        self._background = background
        self._retention = RegularRetention(store, every_s=retain_every_s, project=project)
        self.error: DoxaError | None = None  # why the last run failed; it is tried again
        if background and not store.read_only:
            store.on_due = self.due
            with store.read() as reader:
                if reader.rows("SELECT 1 FROM meta WHERE key = 'sweep'") or (
                    retain_every_s and reader.catalogue_all("retention:")
                ):  # left by an earlier opening
                    self.due(True)

    def due(self, urgent: bool) -> None:
        """Note that there is work: soon, or at once if it is `urgent`."""
        if urgent:
            self._due.set()
        if self._thread is not None and self._thread.is_alive():  # in a forked child it is not
            return
        with self._lock:
            if (
                self._thread is None or not self._thread.is_alive()
            ) and not self._stopping.is_set():
                self._start()

    def retain_every(self, seconds: int) -> None:
        """Apply retention policies every so many seconds from now on; never if 0."""
        self._retention.set_interval(seconds)
        if seconds and self._background and not self._store.read_only:
            self.due(True)

    def flush(self) -> int:
        """Do all pending work in the calling thread; return how many elements had accesses to
        write."""
        written = self._store.flush_accesses()
        while self._store.sweep():
            pass
        if self._background:
            self._retention.apply(self._stopping.is_set)
        return written

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._due.wait(self._interval_s)
            self._due.clear()
            try:
                self._store.flush_accesses()
                while not self._stopping.is_set() and self._store.sweep():
                    pass
                self._retention.apply(self._stopping.is_set)
                self.error = None
            except ClosedError:
                return
            except (
                Exception
            ) as error:  # the thread must not die: what it could not write stays pending
                refused = StoreError(
                    f"Accesses could not be written: {error}.",
                    next_step="Check the policy that it names.",
                )
                self.error = error if isinstance(error, DoxaError) else refused
                if not isinstance(error, BusyError):
                    with suppress(RuntimeError):  # not to try again without a pause
                        self._stopping.wait(self._interval_s)
