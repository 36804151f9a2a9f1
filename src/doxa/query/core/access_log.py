"""The elements that one run returns and traverses, recorded for the access metadata.

Access counts feed the persistence policies. The log removes the hidden columns that carry these
elements from the rows of the result and passes the ids to the store once the rows are consumed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from doxa.base.limits import ACCESS_QUERY_ITEMS_MAX
from doxa.query.core.elements import HOLDING, Edge, Node, Path, detach
from doxa.query.core.row import Row
from doxa.store import AccessRecord, IdColumns, Reader

if TYPE_CHECKING:
    from doxa.query.core.graph import Graph

_Rows = TypeVar("_Rows")


class ProvenanceValues(list[Any]):
    """Several elements and ids in one hidden column."""


HIDING = HOLDING | {ProvenanceValues}


class AccessLog:
    """Each element that one run returns and traverses, once; recorded when its rows are
    consumed."""

    __slots__ = (
        "_column_ids",
        "_later",
        "_names",
        "_note",
        "_parameters",
        "_returned",
        "_returned_ids",
        "_traversed",
        "_traversed_ids",
        "columns",
        "full",
    )

    def __init__(
        self,
        note: Callable[[AccessRecord], None],
        parameters: Mapping[str, Any],
        names: frozenset[str],
        *,
        later: bool,
    ) -> None:
        """`later`: the nodes that are known by their edges may be looked up when the accesses are
        written, since the rows are those of a snapshot and not of a transaction that may be
        undone."""
        self._note, self._later = note, later
        self._parameters, self._names = parameters, names
        self._returned: list[Any] = []
        self._traversed: list[Any] = []
        self.columns: list[tuple[IdColumns, Sequence[Sequence[int]]]] = []  # of a pattern scan
        self._returned_ids: set[int] = set()  # deduplicated so far
        self._traversed_ids: set[int] = set()
        self._column_ids: dict[IdColumns, list[set[int]]] = {}
        self.full = False

    def rows(
        self,
        rows: Iterable[Row],
        width: int,
        returned_columns: int,
        *,
        reader: Reader,
        revealed: set[tuple[bool, int]],
    ) -> Iterator[Row]:
        """Yield the rows detached and without their hidden columns. The first
        `returned_columns` of these hold
        returned elements, the rest traversed ones. Record all at the end, or when the consumer
        stops."""
        returned, traversed, most, middle = (
            self._returned,
            self._traversed,
            ACCESS_QUERY_ITEMS_MAX,
            width + returned_columns,
        )
        try:
            for row in rows:
                if len(row) > width:
                    if not self.full:
                        returned += row[width:middle]
                        if len(row) > middle:
                            traversed += row[middle:]
                        if len(returned) > most or len(traversed) > most:
                            self.deduplicate()
                    row = row[:width]
                if not HOLDING.isdisjoint(map(type, row)):
                    self._detach(row)
                yield row
        finally:
            self._finish(reader, revealed)

    def _detach(self, row: Row) -> None:
        """Detach the elements of a row, and add them to what is returned."""
        for value in row:
            if type(value) in HOLDING:
                detach(value)
                if not self.full:
                    self._returned.append(value)
                    if len(self._returned) > ACCESS_QUERY_ITEMS_MAX:
                        self.deduplicate()

    def all_of(self, lists: Iterator[_Rows], graph: Graph) -> Iterator[_Rows]:
        """Yield lists of rows of which a pattern scan has appended the ids. Record all at the end,
        or when the consumer stops."""
        try:
            yield from lists
        finally:
            self._finish(graph.reader, graph.revealed)

    def deduplicate(self) -> None:
        """Keep each element once; set `full` at the maximum that one query records."""
        for meant, columns in self.columns:
            for held, ids in zip(
                self._column_ids.setdefault(meant, [set() for _ in columns]), columns, strict=True
            ):
                held.update(ids)
        collect_ids(self._returned, self._returned_ids)
        collect_ids(self._traversed, self._traversed_ids)
        self.columns.clear()
        self._returned.clear()
        self._traversed.clear()
        known = (self._returned_ids, self._traversed_ids, *chain(*self._column_ids.values()))
        self.full = any(len(ids) >= ACCESS_QUERY_ITEMS_MAX for ids in known)

    def returned(self, node: int) -> None:
        """Add a node of which a procedure returned parts."""
        self._returned.append(node)

    def _finish(self, reader: Reader, revealed: set[tuple[bool, int]]) -> None:
        returned, traversed, columns = self._returned_ids, self._traversed_ids, self.columns
        if self._returned:
            collect_ids(self._returned, returned)
        if self._traversed:
            collect_ids(self._traversed, traversed)
        for meant, held in self._column_ids.items():
            columns.append((meant, [array("q", ids) for ids in held]))
        if not (returned or traversed or columns):
            return
        noted = AccessRecord(
            reader.now,
            named_parameters(self._parameters, self._names),
            (array("q", returned),) if returned else (),
            (array("q", traversed),) if traversed else (),
            columns,
        )
        if revealed or not self._later:
            noted = noted.resolved(reader.ends_of)
        if revealed:
            hidden = {
                -identity if edge else identity
                for edge, identity in revealed
                if not reader.is_seen(edge, identity)
            }
            noted = noted.without(hidden)
        self._note(noted)


def named_parameters(parameters: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Return the parameters that policies name."""
    if names.isdisjoint(parameters):
        return {}
    return {name: parameters[name] for name in names if parameters.get(name) is not None}


def collect_ids(values: Iterable[Any], into: set[int]) -> None:
    """Add the ids of the elements in values; ids of edges are negative. Whole numbers, and tuples
    of them, are ids that were fetched for the access log."""
    for value in values:
        kind = type(value)
        if kind is int:
            into.add(value)
        elif kind is tuple:
            into.update(value)
        elif kind is Node:
            into.add(value.id)
        elif kind is Edge:
            into.add(-value.id)
        elif kind is Path:
            collect_ids(value.elements(), into)
        elif kind is list or kind is dict:
            collect_ids(
                [
                    item
                    for item in (value if kind is list else value.values())
                    if type(item) in HIDING
                ],
                into,
            )
        elif kind is ProvenanceValues:
            collect_ids(value, into)
