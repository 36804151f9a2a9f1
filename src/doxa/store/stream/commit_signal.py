"""Tells who follows the log in this process that something was committed.

Commits of other processes are not announced: a follower looks for them now and then.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from doxa.base.committed import committed


class CommitSignal:
    """Thread-safe. Costs a commit next to nothing while nobody listens."""

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._lock = threading.Lock()  # of changes; `notify` takes the tuple as it is

    def listen(self, call: Callable[[], None]) -> Callable[[], None]:
        """Call `call` after each commit, on the thread that committed; return a function that ends
        this."""
        entry = _Listener(call)
        with self._lock:
            self._listeners = (*self._listeners, entry)

        def end() -> None:
            with self._lock:
                self._listeners = tuple(one for one in self._listeners if one is not entry)

        return end

    def notify(self, number: int) -> None:
        """Call everybody who listens, after a change was committed."""
        committed(number)
        for listener in self._listeners:
            listener()


class _Listener:
    """Of its own identity, so that one function may listen twice."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call

    def __call__(self) -> None:
        self._call()
