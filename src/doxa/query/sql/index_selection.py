"""Select an index for the comparisons that elements must pass, and the range of its keys.

An index narrows the search: conditions are still tested on the rows it finds, unless the whole key
decides them (`StatementBuilder.decided`). It has no entry for an element that lacks one of its
properties, so the conditions must exclude those.

    index on x       x = 5                         the key of [5]
                     x IN [5, 7], x = 5 OR x = 7   each key
                     x > 5 AND x < 9               between the keys of [5] and [9], numbers only
                     x STARTS WITH 'a'             the keys with the prefix of 'a'
                     x CONTAINS 'a'                all texts, filtered by keys with these bytes
                     x IS NOT NULL                 the whole index
    index on x, y    x = 5 AND y > 7               within the keys that begin with that of 5
                     x = 5 AND y IS NOT NULL       all of those"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from doxa.base.values import canonical
from doxa.cypher.printer import name as quoted
from doxa.store import Indexes, IndexRule, after_key, key_of, rank_of

KEY = ("key",)  # stands for the argument that is a whole key
RANGES_MAX = 100_000  # beyond this, ranges are merged into fewer, wider ones
_ORDERED = frozenset({"range", "text", "point"})
_LISTS = frozenset({"texts", "numbers", "others"})
_WITHIN = frozenset({"CONTAINS", "ENDS WITH"})
Range = tuple[bytes, bytes]  # the least key and the first beyond the range


class Bound(NamedTuple):
    """A comparison with the value of a test."""

    op: str
    test: int


class KeyCondition(NamedTuple):
    """Comparisons of a property of which one must hold; none if the property need only exist.
    `exact`: each with single values."""

    name: str
    bounds: tuple[Bound, ...]
    exact: bool

    @property
    def single(self) -> bool:
        return len(self.bounds) <= 1 and all(bound.op != "IN" for bound in self.bounds)


@dataclass(frozen=True)
class IndexScan:
    """An index and its bounds: single values of its first properties, then comparisons of the next,
    all of which must hold."""

    rule: IndexRule
    label: str
    points: tuple[KeyCondition, ...] = ()
    ranges: tuple[KeyCondition, ...] = ()

    @cached_property
    def exact(self) -> bool:
        """Whether whole keys are looked up."""
        return len(self.points) == len(self.rule.properties)

    @property
    def narrow(self) -> bool:
        """Whether it reads only a part of the index."""
        return bool(self.points) or any(
            bound.op not in _WITHIN for condition in self.ranges for bound in condition.bounds
        )

    @property
    def selectivity(self) -> tuple[int, ...]:
        """Estimate the selectivity: whole keys, then more properties, then single values."""
        singles = sum(condition.single for condition in (*self.points, *self.ranges))
        return (
            int(self.exact),
            len(self.points),
            int(self.narrow),
            singles,
            len(self.ranges),
            -len(self.rule.properties),
        )

    @cached_property
    def multi_range(self) -> bool:
        """Whether there may be several ranges of keys."""
        return not all(condition.single for condition in (*self.points, *self.ranges))

    @cached_property
    def within(self) -> Bound | None:
        """A text that the keys must contain."""
        return next(
            (
                condition.bounds[0]
                for condition in self.ranges
                if len(condition.bounds) == 1 and condition.bounds[0].op in _WITHIN
            ),
            None,
        )

    @cached_property
    def is_single(self) -> bool:
        """Whether one whole key is looked up."""
        return self.exact and not self.multi_range and self.within is None

    def describe(self) -> str:
        """Describe the scan for EXPLAIN: index person_name RANGE (:Person {name})"""
        about = f":{quoted(self.label)} {{{', '.join(map(quoted, self.rule.properties))}}}"
        return (
            f"index {quoted(self.rule.name)} {self.rule.kind.upper()}"
            f" {f'()-[{about}]-()' if self.rule.edge else f'({about})'}"
        )

    # SQL: what stands before the table of entries, and the test of an entry x. Arguments that are
    # tuples are keys of `limits`

    def source(self) -> tuple[str, list[Any]]:
        return ("json_each(?) r CROSS JOIN ", [("ranges",)]) if self.multi_range else ("", [])

    def test(self) -> tuple[str, list[Any]]:
        if self.is_single:
            return "x.idx = ? AND x.key = ?", [self.rule.id, KEY]
        sql, args = "x.idx = ? AND x.key >= ? AND x.key < ?", [self.rule.id, ("low",), ("high",)]
        if self.multi_range:
            sql, args = (
                "x.idx = ? AND x.key >= unhex(r.value ->> 0) AND x.key < unhex(r.value ->> 1)",
                [self.rule.id],
            )
        if self.within is not None:
            sql, args = f"{sql} AND instr(x.key, ?) > 0", [*args, ("within",)]
        return sql, args

    def limits(self, values: list[Any]) -> Mapping[str, Any] | None:
        """Return the key, or the bounds of the keys, for the values of all tests; None if no key
        can match."""
        if self.is_single:
            key = _key([values[condition.bounds[0].test] for condition in self.points])
            return None if key is None else {"key": key}
        found = self._key_ranges(values)
        if not found:
            return None
        limits: dict[str, Any] = {}
        if self.multi_range:
            limits["ranges"] = canonical([[low.hex(), high.hex()] for low, high in found]).decode()
        else:
            ((limits["low"], limits["high"]),) = found
        within = self.within
        if within is not None:
            limits["within"] = values[within.test].encode() + (
                b"\x00\x00" if within.op == "ENDS WITH" else b""
            )
        return limits

    def _key_ranges(self, values: list[Any]) -> list[Range]:
        starts = {b""}
        for condition in self.points:
            keys = {key for bound in condition.bounds for key in _keys(bound, values)}
            if len(starts) * len(keys) > RANGES_MAX:
                return _merged((start, after_key(start)) if start else _ALL for start in starts)
            starts = {start + key for start in starts for key in keys}
        bounding = [condition for condition in self.ranges if condition.bounds]
        if not bounding:
            return _merged((start, after_key(start)) if start else _ALL for start in starts)
        found = [_ALL]
        for condition in bounding:
            found = _intersection(
                found, _merged(_range(bound.op, values[bound.test]) for bound in condition.bounds)
            )
        if len(starts) * len(found) > RANGES_MAX:
            found = [(found[0][0], found[-1][1])] if found else []
        return _merged((start + low, start + high) for start in starts for low, high in found)


_ALL: Range = (b"", b"\xff")


def _key(values: list[Any]) -> bytes | None:
    try:
        return key_of(values)
    except KeyError:  # a map or another value that no property can have
        return None


def _keys(bound: Bound, values: list[Any]) -> list[bytes]:
    value = values[bound.test]
    return [
        key for one in (value if bound.op == "IN" else [value]) if (key := _key([one])) is not None
    ]


def _range(op: str, value: Any) -> Range:
    rank = rank_of(value)
    if op in _WITHIN:
        return rank, after_key(rank)
    key = key_of([value])
    assert key is not None
    if op == "STARTS WITH":
        return key[:-2], after_key(key[:-2])
    if op == "=":
        return key, after_key(key)
    return (rank, after_key(key)) if op in ("<", "<=") else (key, after_key(rank))


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """Merge ranges so that they do not overlap, in order."""
    found: list[Range] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def _intersection(ones: list[Range], others: list[Range]) -> list[Range]:
    """Intersect two lists of ranges."""
    found, i, j = [], 0, 0
    while i < len(ones) and j < len(others):
        low, high = max(ones[i][0], others[j][0]), min(ones[i][1], others[j][1])
        if low < high:
            found.append((low, high))
        if ones[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return found


# Choosing


def key_condition(name: str, comparisons: Iterable[tuple[int, str, str]]) -> KeyCondition | None:
    """Return the use an index can make of comparisons of which one must hold, given as (test, op,
    kind)."""
    bounds, exact = [], True
    for test, op, kind in comparisons:
        if kind == "null":
            continue  # never true
        if op == "=" or (op == "IN" and kind in _LISTS):
            bounds.append(Bound(op, test))
        elif _orders(op, kind):
            bounds.append(Bound(op, test))
            exact = False
        else:
            return None
    mixed = not exact and any(bound.op in ("=", "IN") for bound in bounds)
    return KeyCondition(name, tuple(bounds), exact) if bounds and not mixed else None


def _orders(op: str, kind: str) -> bool:
    if op in _WITHIN or op == "STARTS WITH":
        return kind == "text"
    return op in ("<", "<=", ">", ">=") and kind in ("number", "text", "temporal")


def choose_index(
    labels: list[str],
    conditions: list[KeyCondition],
    present: frozenset[str],
    indexes: Indexes,
    *,
    edge: bool = False,
) -> IndexScan | None:
    """Return the best index for elements of these labels (or this type) that must satisfy
    `conditions` and have the properties `present`."""
    best: IndexScan | None = None
    for label in labels:
        for rule in indexes.of_type(label) if edge else indexes.of_labels([label]):
            found = _index_scan(rule, label, conditions, present)
            if found is not None and (best is None or found.selectivity > best.selectivity):
                best = found
    return best


def _index_scan(
    rule: IndexRule, label: str, conditions: list[KeyCondition], present: frozenset[str]
) -> IndexScan | None:
    if rule.kind not in _ORDERED or not present.issuperset(rule.properties):
        return None
    points: list[KeyCondition] = []
    for name in rule.properties:
        exact = [
            condition for condition in conditions if condition.name == name and condition.exact
        ]
        if not exact:
            ranges = tuple(condition for condition in conditions if condition.name == name)
            return IndexScan(rule, label, tuple(points), ranges) if points or ranges else None
        points.append(next((condition for condition in exact if condition.single), exact[0]))
    return IndexScan(rule, label, tuple(points))
