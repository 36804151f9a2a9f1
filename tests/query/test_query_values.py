"""The laws of values: equality is symmetric, order is total and agrees with comparison, grouping
agrees with equality."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from doxa.base.temporal import Date, LocalTime
from doxa.query.core.comparison import compare, equals, group_key, less, order_key
from doxa.query.core.elements import Edge, Node

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, -1.0, 1.0, math.nan, math.inf]),
    st.sampled_from(["", "a", "b", "ä"]),
    st.builds(Date, st.integers(-2, 2)),
    st.builds(LocalTime, st.integers(0, 2)),
    st.builds(Node, st.integers(1, 2)),
    st.builds(lambda i: Edge(i, kind="R", start=1, end=2), st.integers(1, 2)),
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["k", "l"]), inner, max_size=2
    )


VALUES = st.recursive(SCALARS, _nested, max_leaves=6)


@given(VALUES, VALUES)
def test_equality_is_symmetric_and_unknown_only_for_nulls(one: Any, other: Any) -> None:
    assert equals(one, other) is equals(other, one)
    if equals(one, other) is None:
        assert "None" in repr((one, other))


@given(VALUES, VALUES, VALUES)
def test_order_is_total_and_transitive(one: Any, two: Any, three: Any) -> None:
    keys = [order_key(value) for value in (one, two, three)]
    for a in keys:
        assert not a < a
        for b in keys:
            assert (a < b) + (b < a) + (a == b) == 1
    ordered = sorted(keys)
    assert ordered[0] <= ordered[1] <= ordered[2]


@given(VALUES, VALUES)
def test_comparison_agrees_with_order(one: Any, other: Any) -> None:
    found = less(one, other)
    if found and "nan" not in repr((one, other)):
        assert order_key(one) < order_key(other)
    if compare(one, other) == 0 and compare(one, other) is not False:
        assert equals(one, other)


@given(VALUES, VALUES)
def test_what_is_equal_is_one_group(one: Any, other: Any) -> None:
    if equals(one, other):
        assert group_key(one) == group_key(other)
        assert hash(group_key(one)) == hash(group_key(other))
    if group_key(one) == group_key(other):
        assert equals(one, other) is not False or "nan" in repr(one)


def test_examples() -> None:
    assert equals(1, 1.0) is True
    assert equals(1, True) is False
    assert equals([1, None], [1, 2]) is None
    assert equals([1, None], [2, 2]) is False
    assert equals(math.nan, math.nan) is False
    assert less(1, "a") is None
    assert less(math.nan, 1) is False
    assert group_key(None) == group_key(None)
    assert group_key(True) != group_key(1)
    assert (
        order_key(None)
        > order_key(math.nan)
        > order_key(math.inf)
        > order_key(True)
        > order_key("z")
    )
