"""Transactions whose only statement so far waits for the commit to run.

    RUN      what the statement would do is found on a snapshot, and answered
    COMMIT   the writer's turn; the statement runs; if it did what was answered, it is committed

A client takes its time between the answer to a statement and its COMMIT. A transaction that has
the writer's turn meanwhile keeps all others waiting, for longer than its statement took. So where
others wait for the turn, a first statement that can be foreseen (`plan/deferrable.py`) does not
take it, and holds nothing until the commit. If there is a second one, it runs the first before,
and from then on the transaction has the turn.

The transaction is what it would be if all of it had run at the commit: the client knows no more of
the graph than the counts that are compared. If they differ, another transaction has changed what
it found; it fails as out of date, and drivers run it again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from doxa.base.errors import InputError
from doxa.base.limits import BRIEF_WRITE_MS, FIRST_STATEMENT_ITEMS_MAX
from doxa.base.values import check_properties
from doxa.cypher import tree as t
from doxa.query.core.deadline import Deadline
from doxa.store.intake.secrets import cleaned

_ASIDE = 1_000  # how often a statement takes the turn after it failed at a commit
_PLAIN = frozenset((bool, int, float, str))


class DeferredWrite(NamedTuple):
    """A statement that was answered and has not run yet."""

    text: str
    params: Mapping[str, Any]
    counters: Mapping[str, int]  # as answered
    key: Hashable
    deadline: Deadline  # of the statement, which is that of its transaction


def storable(
    values: Sequence[tuple[str, t.Literal | t.ParameterRef]], params: Mapping[str, Any]
) -> bool:
    """Return whether properties with these values are certainly set: none of them is null, a list
    or something that the store refuses."""
    given = [
        (name, value.value if isinstance(value, t.Literal) else params.get(value.name))
        for name, value in values
    ]
    if not _PLAIN.issuperset([type(value) for _, value in given]):
        return False
    try:
        for name, value in given:
            cleaned(check_properties({name: value}, owner=""), [])
    except InputError:
        return False
    return True


class DeferrableWrites:
    """How statements went that may be deferred, by text and role. Safe to share between threads.

    One is deferred if it went well in the writer's turn the last time, and briefly; so most errors
    of a statement, and those of a role that may not write, come where they always do. One that
    failed when it was deferred, or did something else than was answered, might fail so again: it
    takes the turn the next thousand times.
    """

    def __init__(self, items_max: int = FIRST_STATEMENT_ITEMS_MAX) -> None:
        self._items_max = items_max
        self._lock = threading.Lock()
        # how often it has to go well before it is deferred
        self._left: OrderedDict[Hashable, int] = OrderedDict()

    def may_wait(self, key: Hashable) -> bool:
        """Return whether a statement may be deferred."""
        return self._left.get(key) == 0

    def took(self, key: Hashable, seconds: float) -> None:
        """Note how long a statement took that went well in the writer's turn."""
        left = self._left.get(key, 1)
        if seconds * 1000 > BRIEF_WRITE_MS:
            self._note(key, max(left, 1))
        elif left:
            self._note(key, left - 1)

    def failed(self, key: Hashable) -> None:
        """Note that a statement failed when it was deferred."""
        self._note(key, _ASIDE)

    def _note(self, key: Hashable, left: int) -> None:
        with self._lock:
            if key not in self._left and len(self._left) >= self._items_max:
                self._left.popitem(last=False)
            self._left[key] = left
