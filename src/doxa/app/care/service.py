"""What a server does with its opened memories besides serving them: follow changed settings, and
leave each file flushed and checkpointed when it stops."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from doxa.app.config import retain_every_s
from doxa.app.models import reload_caps
from doxa.base.errors import BusyError, DoxaError
from doxa.settings import Configuration, configuration
from doxa.store.file.checkpoint import checkpoint

if TYPE_CHECKING:
    from doxa.app.file import MemoryFile

FOLLOWED = ("models.tokens_max", "models.calls_max", "policies.retain_every_s")
_LOG = logging.getLogger("doxa.serve")


class ReloadedSettings(NamedTuple):
    """Names of settings that changed: `applied` hold now, `waiting` after a restart."""

    applied: tuple[str, ...]
    waiting: tuple[str, ...]

    def __str__(self) -> str:
        said = [f"{', '.join(self.applied)} applied"] if self.applied else []
        said += [f"{', '.join(self.waiting)} after a restart"] if self.waiting else []
        return "; ".join(said)


class SettingsFollower:
    """The settings that a server began with, and the changes since."""

    def __init__(self) -> None:
        self._before = configuration()

    def reload(self, memories: Iterable[MemoryFile]) -> ReloadedSettings:
        """Read the settings again, and apply what can change while a memory is open. Raises
        InputError, and changes nothing, for a file that cannot be read."""
        after = configuration()
        changed = _changed(self._before, after)
        if "policies.retain_every_s" in changed:
            for memory in memories:
                memory.maintenance.retain_every(retain_every_s(memory.config))
        if not {"models.tokens_max", "models.calls_max"}.isdisjoint(changed):
            reload_caps(after)
        self._before = after
        return ReloadedSettings(
            tuple(name for name in changed if name in FOLLOWED),
            tuple(name for name in changed if name not in FOLLOWED),
        )


def _changed(before: Configuration, after: Configuration) -> list[str]:
    held = {setting.name: found and found.text for setting, found in before.items()}
    return [
        setting.name
        for setting, found in after.items()
        if held[setting.name] != (found and found.text)
    ]


def close_within(memory: MemoryFile, wait_ms: int) -> None:
    """Write what was accessed, empty the write-ahead log as far as readers allow, and close.

    Another process that writes longer than `wait_ms` keeps the accesses from being written: they
    are counts of use, and dropped then.
    """
    store = memory.store
    until = time.monotonic() + wait_ms / 1000
    if not store.read_only:
        try:
            store.flush_accesses(stopped=lambda: time.monotonic() >= until)
        except BusyError:
            _LOG.warning("stop: %s accesses were not counted", store.accesses.size)
            store.accesses.take()
        with suppress(DoxaError):  # a damaged file can be closed all the same
            checkpoint(store)
    memory.close()
