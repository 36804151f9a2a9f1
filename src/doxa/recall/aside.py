"""What is computed beside something else: a large index of vectors is scanned while the words of the question are looked up.

The scan leaves the interpreter's lock for most of its time, and takes longer than its thread costs to make, a tenth of a millisecond. Smaller
things do not: embedding a question aside saved nothing, as its many short steps wait for the lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Aside(Generic[T]):
    """A call that has begun on a thread of its own; calling this waits for what it returns, or raises what it raised."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._found: list[T] = []
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="doxa-aside", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._found.append(self._call())
        except BaseException as error:  # raised again where the result is wanted
            self._failed = error

    def __call__(self) -> T:
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._found[0]
