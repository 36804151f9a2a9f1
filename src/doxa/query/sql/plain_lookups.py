"""Lookups by single values, for many rows: `UNWIND $rows AS r MATCH (n:Person {id: r.id})`.

How SQL compares a value depends on its type alone where the value is a whole number, a truth value
or a text without a zero byte. So the statement, and where each value stands in it, are found once
for the types of a row, and a row costs the evaluation of its values and the key of the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from doxa.cypher.errors import QueryError
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate
from doxa.query.sql.index_selection import KEY, IndexScan
from doxa.query.sql.pattern_sql import Prepared
from doxa.query.sql.pushed_test import PushedTest
from doxa.query.sql.value_kinds import classify_arguments
from doxa.store.indexing.keys import key_of

_PLAIN = frozenset((int, bool, str))
_KEY = -1  # the place of the key
Arguments = Callable[[list[Any]], list[Any]]
# of a row, its values and their kinds: its statement and arguments, or None if it has no result
Prepare = Callable[[Row, list[Any], tuple[str, ...]], "tuple[Prepared, list[Any]] | None"]


def compares_singly(tests: Sequence[PushedTest]) -> bool:
    """Return whether every test is an equality of a property."""
    return all(test.op == "=" and test.name is not None for test in tests)


def plain_lookups(
    tests: list[PushedTest], run: Run, source: Iterator[Row], prepare: Prepare
) -> Iterator[tuple[Row, Prepared, list[Any]]]:
    """Yield the rows that may have a result, with their statements and arguments, as `prepare`
    gives them for each alone."""
    evaluate = [test.value for test in tests]
    known: dict[tuple[type, ...], tuple[Prepared, Arguments]] = {}
    for row in source:
        values = [one(row, run) for one in evaluate]
        types = tuple(map(type, values))
        held = known.get(types)
        if held is not None and (str not in types or not _has_zero(values)):
            prepared, arguments = held
            yield row, prepared, arguments(values)
            continue
        found = prepare(row, *classify_arguments(tests, values))
        if found is None:
            continue
        prepared, given = found
        yield row, prepared, given
        if _PLAIN.issuperset(types) and not _has_zero(values):
            made = _arguments_of(prepared)
            if made is not None:
                known[types] = prepared, made


def values_of_one_type(evaluate: Evaluate, rows: list[Row], run: Run) -> list[Any] | None:
    """Return what the expression gives for each of the rows, if how SQL compares it depends on its
    type alone and this is one for all. None if not, and for an error, which one of them has."""
    try:
        values = [evaluate(row, run) for row in rows]
    except QueryError:
        return None
    kinds = set(map(type, values))
    if len(kinds) > 1 or not _PLAIN.issuperset(kinds) or (str in kinds and _has_zero(values)):
        return None
    return values


def _has_zero(values: list[Any]) -> bool:
    return any("\x00" in value for value in values if type(value) is str)


def _arguments_of(prepared: Prepared) -> Arguments | None:
    """Return the function from values to the arguments of a statement; None if these depend on
    anything but single values and whole keys."""
    scan = prepared.index_scan
    if scan is not None and not scan.is_single:
        return None
    places = []
    for column in prepared.columns:
        if column == KEY:
            places.append(_KEY)
        elif column[0] == "test":
            places.append(column[1])
        else:
            return None
    if scan is None:
        return lambda values: [values[place] for place in places]
    return _keyed(scan, places)


def _keyed(scan: IndexScan, places: list[int]) -> Arguments:
    in_key = [condition.bounds[0].test for condition in scan.points]

    def arguments(values: list[Any]) -> list[Any]:
        key = key_of([values[place] for place in in_key])
        assert key is not None, "no value is null"
        return [values[place] if place >= 0 else key for place in places]

    return arguments
