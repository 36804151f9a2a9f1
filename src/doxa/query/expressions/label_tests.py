"""Label expressions as tests of a set of labels."""

from __future__ import annotations

from collections.abc import Callable

from doxa.cypher import tree as t


def label_test(labels: t.LabelExpression) -> Callable[[frozenset[str]], bool]:
    """Return a test whether a set of labels, or the one type of an edge, satisfies an
    expression."""
    match labels:
        case t.LabelName(name):
            return lambda held: name in held
        case t.LabelAny():
            return lambda held: bool(held)
        case t.LabelNot(of):
            inner = label_test(of)
            return lambda held: not inner(held)
        case t.LabelAnd(items):
            tests = [label_test(item) for item in items]
            return lambda held: all(test(held) for test in tests)
        case t.LabelOr(items):
            tests = [label_test(item) for item in items]
            return lambda held: any(test(held) for test in tests)
    raise AssertionError(labels)
