"""Which events a consumer asks for."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import EVENT_PATTERNS_ITEMS_MAX
from doxa.events.event import NAMES, Event


class EventFilter:
    """Events with one of the names and all else that is given. In a name, * stands for any
    characters: revision.*, *.created. An address is a prefix: it also finds what is below it."""

    def __init__(
        self,
        names: Sequence[str] = (),
        *,
        project: str = "",
        kind: str = "",
        kref: str = "",
        label: str = "",
    ) -> None:
        """Raise InputError for a name that no event has."""
        if len(names) > EVENT_PATTERNS_ITEMS_MAX:
            raise LimitError(
                f"A consumer names at most {EVENT_PATTERNS_ITEMS_MAX} events.",
                next_step="Use a wildcard, such as revision.*.",
                items_max=EVENT_PATTERNS_ITEMS_MAX,
            )
        for pattern in names:
            if not any(fnmatchcase(name, pattern) for name in NAMES):
                raise InputError(
                    f"No event has the name {pattern[:60]!r}.",
                    next_step=f"Use one of {', '.join(NAMES)}, or a wildcard such as revision.*.",
                    field="names",
                )
        self._names = frozenset(
            name
            for name in NAMES
            if not names or any(fnmatchcase(name, pattern) for pattern in names)
        )
        self._project, self._kind, self._kref, self._label = project, kind, kref, label

    def matches(self, event: Event) -> bool:
        return (
            event.name in self._names
            and (not self._project or event.project == self._project)
            and (not self._kind or event.kind == self._kind)
            and (not self._kref or (event.kref is not None and event.kref.startswith(self._kref)))
            and (not self._label or self._label in event.labels)
        )
