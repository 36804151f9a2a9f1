"""Numbers that every worker process adds to: open connections, event streams, held bytes.

    row: a worker    column: a counter    cell: 64 bits, written by its worker alone

The cells lie in memory that the processes map. Each process writes its own row, so nothing is
locked between processes, and the supervisor empties the row of a worker that has ended: what a
killed worker held is not counted any longer. A limit holds strictly if one adds first, compares the
total, and takes back what is too much.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from typing import Protocol

from doxa.base.limits import WORKERS_ITEMS_MAX

COUNTERS = ("serving", "bolt", "http", "streams", "bytes", "written")
_CELL_BYTES = 8
_ROW_BYTES = len(COUNTERS) * _CELL_BYTES
_SIZE = (WORKERS_ITEMS_MAX + 1) * _ROW_BYTES


class Counter(Protocol):
    """A number to which several processes may add."""

    def add(self, change: int) -> int:
        """Add to the part of this process, and return the total."""

    @property
    def mine(self) -> int:
        """Return the part of this process."""

    def least(self) -> int:
        """Return the smallest part of a process that serves."""


class LocalCounter:
    """A number of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.mine = 0

    def add(self, change: int) -> int:
        with self._lock:
            self.mine += change
            return self.mine

    def least(self) -> int:
        return self.mine


class CounterTable:
    """The table of all workers, in memory that processes share."""

    def __init__(self, handle: int) -> None:
        """`handle` is that of a file that `counter_file` made."""
        self.handle = handle
        self._memory = mmap.mmap(handle, _SIZE)
        self._cells = memoryview(self._memory).cast("q")
        self._lock = threading.Lock()  # among the threads of this process

    def of(self, worker: int, name: str) -> SharedCounter:
        return SharedCounter(self, worker, COUNTERS.index(name))

    def get(self, worker: int, column: int) -> int:
        return int(self._cells[worker * len(COUNTERS) + column])

    def add(self, worker: int, column: int, change: int) -> None:
        with self._lock:
            self._cells[worker * len(COUNTERS) + column] += change

    def clear(self, worker: int) -> None:
        """Empty the row of a worker that has ended."""
        for column in range(len(COUNTERS)):
            self._cells[worker * len(COUNTERS) + column] = 0

    def column(self, column: int, *, serving: bool = False) -> list[int]:
        """Return the parts of all workers, or of those that serve."""
        return [
            self.get(worker, column)
            for worker in range(1, WORKERS_ITEMS_MAX + 1)
            if not serving or self.get(worker, 0)
        ]


class SharedCounter:
    """A number to which all workers add. Thread-safe."""

    def __init__(self, table: CounterTable, worker: int, column: int) -> None:
        self._table, self._worker, self._column = table, worker, column

    def add(self, change: int) -> int:
        self._table.add(self._worker, self._column, change)
        return sum(self._table.column(self._column))

    @property
    def mine(self) -> int:
        return self._table.get(self._worker, self._column)

    def least(self) -> int:
        return min(self._table.column(self._column, serving=True), default=self.mine)


def counter_file() -> int:
    """Return the handle of a new file for a `CounterTable`, which has no name."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("doxa-counters")
    else:
        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    os.ftruncate(handle, _SIZE)
    return handle
