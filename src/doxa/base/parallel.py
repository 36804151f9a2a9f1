"""Work on several items at once, in threads.

Worth it only for work that is nearly all numpy, SQLite or a model, which let other threads run
while they compute: Python code of several threads takes turns.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def in_threads(
    work: Callable[[_Given], _Made], items: Sequence[_Given], *, threads: int
) -> list[_Made]:
    """Return `work` of each item, in order, computed by this thread and up to `threads` - 1 others,
    no more than it may use processors. Raises the error of the first item that has one; what nobody
    began yet is then left."""
    made: dict[int, _Made] = {}
    errors: dict[int, BaseException] = {}
    waiting = iter(range(len(items)))  # each number goes to one thread

    def run() -> None:
        while not errors:
            number = next(waiting, None)
            if number is None:
                return
            try:
                made[number] = work(items[number])
            except BaseException as error:  # raised by the thread that asked
                errors[number] = error

    others = []
    for _ in range(min(threads, processors(), len(items)) - 1):
        with suppress(RuntimeError):  # the system, or an interpreter that ends, gives no more
            others.append(threading.Thread(target=run, name="doxa-in-threads"))
            others[-1].start()
    run()
    for other in others:
        if other.ident is not None:
            other.join()
    if errors:
        raise errors[min(errors)]
    return [made[number] for number in range(len(items))]


def processors() -> int:
    """How many processors this thread may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
