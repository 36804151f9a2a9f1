"""Values that another thread makes while a question goes on with something else.

Of a recall in a large project most time goes to libraries that let other threads run: the model,
the scan of the vector index, SQLite. A process has one other thread for that, and nobody waits for
it to begin: what it has not begun when the value is needed is made by the thread that needs it. So
a process that is busy does the same work as if there were no other thread. It ends with the
process, and what it is at then is waited for.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from doxa.models.runtime import processors

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_Made = TypeVar("_Made")


class Meanwhile(Generic[_Made]):
    """A value that is made once: by the other thread if `begin` was called and it came to it first,
    otherwise when it is needed. `get` raises the error of `make`, each time."""

    def __init__(self, make: Callable[[], _Made]) -> None:
        self._make: Callable[[], _Made] | None = make
        self._made: _Made
        self._error: BaseException | None = None
        self._lock = threading.Lock()

    def begin(self) -> bool:
        """Let the other thread make it, in the context of this one. Returns False if there is none:
        this thread may use one processor only, or no thread can be started."""
        if processors() < 2:
            return False
        try:
            _other(os.getpid()).submit(contextvars.copy_context().run, self._run)
        except RuntimeError:  # the interpreter ends, or the system gives no thread
            _other.cache_clear()
            return False
        return True

    def get(self) -> _Made:
        """Return the value; waits for the other thread if it is at it."""
        if self._make is not None:
            self._run()
        if self._error is not None:
            raise self._error
        return self._made

    def drop(self) -> None:
        """Make sure that the other thread is not at it any more, nor begins it. What was made
        stays."""
        with self._lock:
            if self._make is not None:
                self._make, self._error = None, RuntimeError("a value that was dropped is needed")

    def _run(self) -> None:
        with self._lock:
            if self._make is None:
                return
            try:
                self._made = self._make()
            except BaseException as error:  # raised by the thread that needs the value
                self._error = error
            self._make = None


@cache
def _other(process: int) -> ThreadPoolExecutor:
    """The other thread of this process; a fork of it has none until it needs one."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, thread_name_prefix="doxa-recall")
