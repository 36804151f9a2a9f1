"""Which transactions may become durable together with others (`store/locking/group.py`).

Those who have finished wait for the one that goes on, so it has to be brief. Whether it will be is
known from the last time: how long a statement held the writer's turn, or a client whose
transactions have several statements, since between these it is the client that takes its time. A
wrong guess costs time and never changes a result.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from doxa.base.limits import BRIEF_WRITE_MS, FIRST_STATEMENT_ITEMS_MAX


class BriefWrites:
    """How long transactions held the writer's turn. Safe to share between threads."""

    def __init__(self, items_max: int = FIRST_STATEMENT_ITEMS_MAX) -> None:
        self._items_max = items_max
        self._lock = threading.Lock()
        self._brief: OrderedDict[Hashable, bool] = OrderedDict()

    def is_brief(self, key: Hashable, *, unknown: bool) -> bool:
        """Return whether a transaction is believed to be brief; `unknown`: what is believed of the
        first under a key."""
        return self._brief.get(key, unknown)

    def held(self, key: Hashable, seconds: float) -> None:
        """Note how long a transaction held the turn."""
        brief = seconds * 1000 <= BRIEF_WRITE_MS
        if self._brief.get(key) is brief:
            return
        with self._lock:
            if key not in self._brief and len(self._brief) >= self._items_max:
                self._brief.popitem(last=False)
            self._brief[key] = brief
