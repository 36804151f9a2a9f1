"""Lookups by single values, for many rows: `UNWIND $rows AS r MATCH (n:Person {id: r.id})`.

How SQL compares a value depends on its type alone where the value is a whole number, a truth value
or a text without a zero byte. So the statement, and where each value stands in it, are found once
for the types of a row, and a row costs the evaluation of its values and the key of the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.sql.index_selection import IndexScan
from doxa.query.sql.pattern_sql import Prepared
from doxa.query.sql.pushed_test import PushedTest
from doxa.query.sql.value_kinds import classify_arguments
from doxa.store.indexing.keys import key_of

_PLAIN = frozenset((int, bool, str))
_LOW, _HIGH = -1, -2
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
    if len(tests) == 1:
        yield from _single(tests, run, source, prepare)
        return
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


def _single(
    tests: list[PushedTest], run: Run, source: Iterator[Row], prepare: Prepare
) -> Iterator[tuple[Row, Prepared, list[Any]]]:
    """The same for one test: a row's type is that of its value."""
    evaluate = tests[0].value
    known: dict[type, tuple[Prepared, Arguments]] = {}
    last: tuple[Any, Prepared] | None = None  # learnt from if there is another row
    for row in source:
        if last is not None:
            before, prepared = last
            last, kind = None, type(before)
            if kind in _PLAIN and kind not in known and not _has_zero([before]):
                made = _arguments_of(prepared)
                if made is not None:
                    known[kind] = prepared, made
        value = evaluate(row, run)
        kind = type(value)
        held = known.get(kind)
        if held is not None and (kind is not str or "\x00" not in value):
            prepared, arguments = held
            yield row, prepared, arguments([value])
            continue
        found = prepare(row, *classify_arguments(tests, [value]))
        if found is None:
            continue
        prepared, given = found
        last = value, prepared
        yield row, prepared, given


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
        if column == ("low",):
            places.append(_LOW)
        elif column == ("high",):
            places.append(_HIGH)
        elif column[0] == "test":
            places.append(column[1])
        else:
            return None
    if scan is None:
        return lambda values: [values[place] for place in places]
    return _keyed(scan, places)


def _keyed(scan: IndexScan, places: list[int]) -> Arguments:
    in_key = [condition.bounds[0].test for condition in scan.points]
    if in_key == [0]:
        return lambda values: _placed(values, key_of(values[:1]), places)

    def arguments(values: list[Any]) -> list[Any]:
        return _placed(values, key_of([values[place] for place in in_key]), places)

    return arguments


def _placed(values: list[Any], low: bytes | None, places: list[int]) -> list[Any]:
    assert low is not None  # no value is null
    high = low + b"\x00"
    return [values[place] if place >= 0 else low if place == _LOW else high for place in places]
