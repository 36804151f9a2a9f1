"""Apply the retention policies of an open file again and again, by the clock of its store."""

from __future__ import annotations

from collections.abc import Callable

from doxa.base.clock import NS
from doxa.store import Identity, Reader, Store

_ASK_NS = 60 * NS
_WHO = Identity("doxa", "system")


class RegularRetention:
    """Applies the policies every `every_s` seconds, whichever process did so last; never if 0.
    Its runs are noted in `project`."""

    def __init__(self, store: Store, *, every_s: int, project: str) -> None:
        self._store, self._project = store, project
        self._every_ns = every_s * NS
        self._asked_ns = 0

    def set_interval(self, every_s: int) -> None:
        """Apply them every so many seconds from now on; never if 0."""
        self._every_ns, self._asked_ns = every_s * NS, 0

    def has_policies(self, reader: Reader) -> bool:
        """Return whether there is anything to apply."""
        return bool(self._every_ns and reader.catalogue_all("retention:"))

    def apply(self, stopped: Callable[[], bool]) -> None:
        """Apply the policies if it is time, until `stopped`. Looks at most once a minute."""
        now = self._store.clock.now_ns()
        if now - self._asked_ns < _ASK_NS:
            return
        self._asked_ns = now
        with self._store.read() as reader:
            if not self.has_policies(reader):
                return
            # what follows is loaded only where there are policies
            from doxa.store.retention.dropping import last_retained

            ran = last_retained(reader)
        if ran is None or now - ran >= self._every_ns:
            from doxa.maintenance.retaining import retain_as_job

            retain_as_job(self._store, _WHO, project=self._project, stopped=stopped, regular=True)
