"""The elements that one run returns and traverses, recorded for the access metadata.

Access counts feed the persistence policies. The log removes the hidden columns that carry these
elements from the rows of the result and passes the ids to the store once the rows are consumed.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from doxa.base.limits import ACCESS_QUERY_ITEMS_MAX
from doxa.query.core.elements import HOLDING, Edge, Node, Path, detach
from doxa.query.core.row import Row
from doxa.store import AccessRecord, Reader

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
        "_names",
        "_note",
        "_parameters",
        "_returned",
        "_returned_groups",
        "_returned_ids",
        "_traversed",
        "_traversed_groups",
        "_traversed_ids",
        "full",
    )

    def __init__(
        self,
        note: Callable[[AccessRecord], None],
        parameters: Mapping[str, Any],
        names: frozenset[str],
    ) -> None:
        self._note = note
        self._parameters, self._names = parameters, names
        self._returned: list[Any] = []
        self._traversed: list[Any] = []
        self._returned_groups: list[Sequence[int]] = []  # of a pattern scan
        self._traversed_groups: list[Sequence[int]] = []
        self._returned_ids: set[int] = set()  # deduplicated so far
        self._traversed_ids: set[int] = set()
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
                        traversed += row[middle:]
                        if len(returned) > most or len(traversed) > most:
                            self.deduplicate()
                    row = row[:width]
                for value in row:
                    if type(value) in HOLDING:
                        detach(value)
                        if not self.full:
                            returned.append(value)
                            if len(returned) > most:
                                self.deduplicate()
                yield row
        finally:
            self._finish(reader, revealed)

    def all_of(self, lists: Iterator[_Rows], graph: Graph) -> Iterator[_Rows]:
        """Yield lists of rows of which a pattern scan has appended the ids. Record all at the end,
        or when the consumer stops."""
        try:
            yield from lists
        finally:
            self._finish(graph.reader, graph.revealed)

    def deduplicate(self) -> None:
        """Keep each element once; set `full` at the maximum that one query records."""
        self._returned_ids.update(*self._returned_groups)
        self._traversed_ids.update(*self._traversed_groups)
        collect_ids(self._returned, self._returned_ids)
        collect_ids(self._traversed, self._traversed_ids)
        self._returned_groups.clear()
        self._traversed_groups.clear()
        self._returned.clear()
        self._traversed.clear()
        self.full = (
            len(self._returned_ids) >= ACCESS_QUERY_ITEMS_MAX
            or len(self._traversed_ids) >= ACCESS_QUERY_ITEMS_MAX
        )

    def groups(self) -> tuple[list[Sequence[int]], list[Sequence[int]]]:
        """Return the lists to which a pattern scan appends groups of ids of returned, and of
        traversed elements."""
        return self._returned_groups, self._traversed_groups

    def returned(self, node: int) -> None:
        """Add a node of which a procedure returned parts."""
        self._returned.append(node)

    def _finish(self, reader: Reader, revealed: set[tuple[bool, int]]) -> None:
        returned, traversed, parameters = self._returned_ids, self._traversed_ids, self._parameters
        if self._returned:
            collect_ids(self._returned, returned)
        if self._traversed:
            collect_ids(self._traversed, traversed)
        of_returned, of_traversed = self._returned_groups, self._traversed_groups
        if returned:
            of_returned.append(array("q", returned))
        if traversed:
            of_traversed.append(array("q", traversed))
        if not (of_returned or of_traversed):
            return
        noted = AccessRecord(reader.now, _named(parameters, self._names), of_returned, of_traversed)
        if revealed:
            hidden = {
                -identity if edge else identity
                for edge, identity in revealed
                if not reader.is_seen(edge, identity)
            }
            noted = noted.without(hidden)
        self._note(noted)


def record_of_groups(
    now: int,
    parameters: Mapping[str, Any],
    names: frozenset[str],
    returned: Sequence[Sequence[int]],
    traversed: Sequence[Sequence[int]],
) -> AccessRecord:
    """Return the record of rows that only these ids are of."""
    return AccessRecord(now, _named(parameters, names), returned, traversed)


def _named(parameters: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
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
