"""Which transactions of several statements take the writer's turn before they read.

A transaction that reads on a snapshot and writes later fails if anything was committed in between,
so next to a steady writer it never succeeds. One that takes the turn before it reads cannot fail
in this way, and is the only writer from its first statement on. Clients declare most transactions
as writes, also those that only read: the drivers of Neo4j do so by default. If all of these took
the turn, reading would wait for writing.

So the declaration is believed until the first statement, by its text, has been seen to begin a
transaction that committed without writing, and from then on until it begins one that writes: then
it is believed for good. A wrong guess costs time and never changes a result: either a transaction
waits that need not, or one fails as out of date and is run again.
"""

from __future__ import annotations

import threading

from doxa.base.limits import FIRST_STATEMENT_ITEMS_MAX


class FirstStatements:
    """What transactions did that began with a text. Safe to share between threads."""

    def __init__(self, items_max: int = FIRST_STATEMENT_ITEMS_MAX) -> None:
        self._items_max = items_max
        self._lock = threading.Lock()
        self._wrote: dict[int, bool] = {}  # by the hash of the text: whether one wrote

    def leads_to_write(self, text: str) -> bool:
        """Return whether to believe that a transaction which begins with this text will write."""
        return self._wrote.get(hash(text), True)

    def ended(self, text: str, *, wrote: bool) -> None:
        """Note how a transaction went that began with this text."""
        key = hash(text)
        if self._wrote.get(key) in (True, wrote):
            return
        with self._lock:
            if key not in self._wrote and len(self._wrote) >= self._items_max:
                del self._wrote[next(iter(self._wrote))]
            self._wrote[key] = wrote
