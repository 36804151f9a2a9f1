"""Keep importing: look at files again and again, and import what was appended or changed.

    lease -> round: every place -> importing.py, from its cursors -> pause -> renewed lease -> round

There is no notification of changes behind it, so that it works on every file system: a round looks
at the size, time and number of each file and opens those that changed. One process for each memory
file does it, by a lease that ends by itself if the process is killed; the next one goes on from the
cursors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

from doxa.base.errors import BusyError, InputError, LimitError
from doxa.base.limits import IMPORT_WATCH_LEASE_MS
from doxa.imports.cursors import Cursors
from doxa.imports.importing import ImportedFiles, Importer, ImportOptions
from doxa.jobs.lease import Lease, lease
from doxa.store import Identity, Store

JOB = "watch"


class ImportWatch:
    """Imports places in rounds, until `stop` is set. `report` is given the result of each round
    that stored or skipped something, `failed` what kept a place from being read."""

    def __init__(
        self,
        store: Store,
        identity: Identity,
        options: ImportOptions,
        *,
        cursors: Cursors,
        places: Sequence[Path],
        stop: Event,
        every_s: float,
        report: Callable[[ImportedFiles], None],
        failed: Callable[[str], None],
    ) -> None:
        self._store, self._identity, self._options = store, identity, options
        self._cursors, self._places, self._stop = cursors, places, stop
        self._every_s = every_s
        self._report, self._failed = report, failed
        self._said: dict[Path, str] = {}

    def run(self) -> None:
        """Wait for the lease, and import until `stop` is set."""
        while not self._stop.is_set():
            try:
                with lease(self._store, JOB, ttl_ms=IMPORT_WATCH_LEASE_MS) as held:
                    while not self._stop.is_set():
                        self.round(held)
                        self._stop.wait(self._every_s)
            except BusyError as error:  # another process watches, or has just been killed
                self._failed(error.message)
                self._stop.wait(self._every_s)

    def once(self) -> None:
        """Import every place once. Raises BusyError if another process watches."""
        with lease(self._store, JOB, ttl_ms=IMPORT_WATCH_LEASE_MS) as held:
            self.round(held)

    def round(self, held: Lease) -> None:
        """Import what has changed since the last round."""
        for place in self._places:
            if self._stop.is_set():
                return
            renewed = time.monotonic()
            held.renew()

            def go_on(_: int) -> None:
                nonlocal renewed
                if self._stop.is_set():
                    raise _Stopped
                if (time.monotonic() - renewed) * 1_000 > IMPORT_WATCH_LEASE_MS / 4:
                    held.renew()
                    renewed = time.monotonic()

            importer = Importer(
                self._store,
                self._identity,
                self._options,
                cursors=self._cursors,
                progress=go_on,
                following=True,
            )
            try:
                done = importer.run(place)
            except _Stopped:
                return
            except (InputError, LimitError) as error:
                if self._said.get(place) != error.message:  # once, and not in every round
                    self._failed(error.message)
                self._said[place] = error.message
                continue
            self._said.pop(place, None)
            if done.changes or done.skipped:
                self._report(done)


class _Stopped(Exception):
    """Ends an import after a batch, whose cursors are saved."""
