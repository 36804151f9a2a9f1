"""ORDER BY. Rows are sorted with their keys; what does not fit in memory goes to a temporary file.

    rows -> keys and kept columns -> sorted runs, all but the last in a file -> merged

Only the columns that a later clause reads are kept. A run is as many rows as fit in
QUERY_SORTED_BYTES_MAX; the runs are merged while rows are read, so that as many blocks of rows are
in memory as there are runs.
"""

from __future__ import annotations

import heapq
import io
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from operator import itemgetter
from typing import IO, Any

from doxa.base.limits import QUERY_SORTED_BYTES_MAX, QUERY_SPILLED_BYTES_MAX
from doxa.query.core.comparison import order_key
from doxa.query.core.errors import fail
from doxa.query.core.graph import Graph
from doxa.query.core.memory_budget import MemoryBudget, estimated_bytes
from doxa.query.core.row import Row
from doxa.query.core.row_count import row_count
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate

_MORE_ROWS = 1_024  # rows that may accumulate before the next sort
_BLOCK_ROWS = 256
_by_key = itemgetter(0)
Keyed = tuple[Any, Row]


class SortStep:
    """ORDER BY; with a limit, only the best rows are kept. `columns` are the slots that later
    clauses read, in their order; None keeps the rows as they are."""

    def __init__(
        self,
        keys: list[tuple[Evaluate, bool]],
        *,
        limit: tuple[Evaluate | None, Evaluate | None] = (None, None),
        columns: Callable[[Row], Row] | None = None,
    ) -> None:
        self.keys = keys
        self.limit = limit
        self.columns = columns

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        keys, columns = self.keys, self.columns

        def key(row: Row) -> Any:
            run.tick()
            return [
                Descending(order_key(value(row, run))) if down else order_key(value(row, run))
                for value, down in keys
            ]

        keyed = (
            ((key(row), row) for row in source)
            if columns is None
            else ((key(row), columns(row)) for row in source)
        )
        skip, limit = self.limit
        if limit is not None:
            most = row_count(limit, run, "LIMIT") + (
                row_count(skip, run, "SKIP") if skip is not None else 0
            )
            return iter(_best(keyed, most))
        return _sorted(keyed, run.graph)


def _sorted(keyed: Iterator[Keyed], graph: Graph) -> Iterator[Row]:
    held: list[Keyed] = []
    budget = MemoryBudget("rows to sort")
    with ExitStack() as files:
        spilled: _Runs | None = None
        for one in keyed:
            held.append(one)
            budget.add_row(one[1], extra=estimated_bytes(one[0]))
            if budget.bytes > QUERY_SORTED_BYTES_MAX:
                held.sort(key=_by_key)
                spilled = spilled or _Runs(graph, files.enter_context(tempfile.TemporaryFile()))
                spilled.add(held)
                held, budget = [], MemoryBudget(budget.what)
        held.sort(key=_by_key)
        if spilled is None:
            yield from (row for _, row in held)
        else:
            yield from (row for _, row in heapq.merge(*spilled.all(), held, key=_by_key))


class _Runs:
    """Sorted runs of rows in a temporary file, in blocks. The graph, which nodes and edges refer
    to, stays outside of it."""

    def __init__(self, graph: Graph, file: IO[bytes]) -> None:
        self._graph = graph
        self._file = file
        self._runs: list[
            list[tuple[int, int]]
        ] = []  # for each run the place and size of its blocks
        self._end = 0

    def add(self, keyed: list[Keyed]) -> None:
        blocks = []
        for start in range(0, len(keyed), _BLOCK_ROWS):
            data = io.BytesIO()
            _Pickler(data, self._graph).dump(keyed[start : start + _BLOCK_ROWS])
            blocks.append((self._end, data.tell()))
            self._end += data.tell()
            if self._end > QUERY_SPILLED_BYTES_MAX:
                fail(
                    f"The rows to sort take more than {QUERY_SPILLED_BYTES_MAX:,} bytes of a"
                    " temporary file.",
                    kind="MemoryLimit",
                    detail="TooManyRows",
                    hint="Sort fewer columns, or narrow the query.",
                    limit=QUERY_SPILLED_BYTES_MAX,
                )
            self._file.write(data.getbuffer())
        self._runs.append(blocks)

    def all(self) -> list[Iterator[Keyed]]:
        return [self._read(blocks) for blocks in self._runs]

    def _read(self, blocks: list[tuple[int, int]]) -> Iterator[Keyed]:
        for place, size in blocks:
            self._file.seek(place)
            yield from _Unpickler(io.BytesIO(self._file.read(size)), self._graph).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: IO[bytes], graph: Graph) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._graph = graph

    def persistent_id(self, value: Any) -> bool | None:
        return True if value is self._graph else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], graph: Graph) -> None:
        super().__init__(file)
        self._graph = graph

    def persistent_load(self, _: Any) -> Graph:
        return self._graph


def _best(keyed: Iterator[Keyed], most: int) -> list[Row]:
    """Return the first rows of an order, keeping few more than requested."""
    if not most:
        return []
    kept: list[Keyed] = []
    budget = MemoryBudget("rows to sort")
    worst: Any = None
    for name, row in keyed:
        if worst is not None and not name < worst:
            continue
        budget.add_row(row)
        kept.append((name, row))
        if len(kept) >= 2 * most + _MORE_ROWS:
            kept.sort(key=_by_key)
            del kept[most:]
            worst = kept[-1][0]
            budget = MemoryBudget(budget.what)
            budget.collect(row for _, row in kept)
    kept.sort(key=_by_key)
    return [row for _, row in kept[:most]]


class Descending:
    """Reverses an order."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key

    def __lt__(self, other: Descending) -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and other.key == self.key

    __hash__ = None  # type: ignore[assignment]
