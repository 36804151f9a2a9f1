"""Choosing an index: which declared index can find the elements that must pass certain comparisons, and between which keys.

An index is a way in, never a verdict: every condition is still tested on what it finds.

    n:A AND n.x = 5              exact: the key of [5]
    n:A AND n.x > 5 AND n.x < 9  range: between the keys of [5] and [9], numbers only
    n:A AND n.x STARTS WITH 'a'  range: the keys that begin with that of 'a', less its end
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from doxa.query.conditions import Test
from doxa.store import Indexes, IndexRule, after_key, key_of, rank_of


@dataclass(slots=True)
class Access:
    """An index and the comparisons that bound it. `equal`: test numbers in the order of its properties; else `bounds`."""

    rule: IndexRule
    label: str
    equal: tuple[int, ...] = ()
    bounds: tuple[tuple[str, int], ...] = ()

    @property
    def worth(self) -> int:
        """How selective it looks: more properties, and equality before range."""
        return 10 + len(self.equal) if self.equal else 5 + len(self.bounds)

    def limits(self, values: list[Any]) -> tuple[bytes, bytes] | None:
        """The least key and the first beyond, for the values of all tests; None if nothing can be between."""
        if self.equal:
            key = _key([values[number] for number in self.equal])
            return None if key is None else (key, key + b"\x00")
        low = high = b""
        for op, number in self.bounds:
            first, last = _range(op, values[number])
            low, high = max(low, first), last if not high else min(high, last)
        return (low, high) if low < high else None


def _key(values: list[Any]) -> bytes | None:
    try:
        return key_of(values)
    except KeyError:  # a map or another value that no property can have
        return None


def _range(op: str, value: Any) -> tuple[bytes, bytes]:
    rank = rank_of(value)
    if op == "STARTS WITH":
        prefix = key_of([value])
        assert prefix is not None
        return prefix[:-2], after_key(prefix[:-2])
    key = key_of([value])
    assert key is not None
    if op in ("<", "<="):
        return rank, key + b"\x00"
    return key, after_key(rank)


def choose(labels: list[str], tests: list[tuple[int, Test, str]], indexes: Indexes, *, edge: bool = False) -> Access | None:
    """The best index for elements of these labels (or this type) that pass these comparisons, given the kinds of their values."""
    best: Access | None = None
    equal = {test.name: number for number, test, kind in tests if test.op == "=" and kind != "null"}
    for label in labels:
        for rule in indexes.of_type(label) if edge else indexes.of_labels([label]):
            found = _access(rule, label, equal, tests)
            if found is not None and (best is None or found.worth > best.worth):
                best = found
    return best


_ORDERED = frozenset({"range", "text", "point"})


def _access(rule: IndexRule, label: str, equal: dict[str, int], tests: list[tuple[int, Test, str]]) -> Access | None:
    if rule.kind not in _ORDERED:
        return None
    if all(name in equal for name in rule.properties):
        return Access(rule, label, equal=tuple(equal[name] for name in rule.properties))
    if len(rule.properties) > 1:
        return None
    bounds = [
        (test.op, number)
        for number, test, kind in tests
        if test.name == rule.properties[0] and test.op in ("<", "<=", ">", ">=", "STARTS WITH") and kind in ("number", "text")
    ]
    return Access(rule, label, bounds=tuple(bounds)) if bounds else None
