"""Select the conditions of a WHERE that SQL can test.

A filter keeps the rows for which its condition is true, so false and unknown are equivalent. A
condition may move into SQL if SQL finds it true exactly when Cypher does, and so may AND and OR of
such conditions. NOT stays out: a value that is unknown to Cypher may be false to SQL.

One side of a comparison is a property of the pattern, the other a value that is known before the
statement runs. The SQL depends on the kind of that value and tests the JSON type of the property,
because SQLite treats true as 1. The kinds "other", "others" (a list) and "temporal" (an instant in
an order comparison) are tested in Python on the rows found. id() and elementId() are compared like
properties.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from doxa.cypher import tree as t
from doxa.query.core.pattern import free_variables
from doxa.query.core.row import Layout
from doxa.query.expressions.compiler import Compiler
from doxa.query.sql.pushed_test import PushedTest
from doxa.query.sql.value_kinds import UNDECIDED_KINDS
from doxa.store.sql_values import pushable_name

_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<>": "<>"}
_UNSTABLE = ("rand", "randomuuid")
_NESTED = (t.Subquery, t.PatternTest, t.PatternComprehension, t.PathValue)
_IDS = {"id": "", "elementid": "n:"}


@dataclass(slots=True)
class PushedCondition:
    """One conjunct. `tree`: ("test", n) | ("labels", key, labels) | ("null", key, name, negated) |
    ("and", …) | ("or", …)."""

    tree: tuple[Any, ...]
    expression: t.Expression
    tests: list[int]


class Conditions:
    """The conditions of one pattern, with the tests they consist of."""

    def __init__(
        self,
        nodes: frozenset[str],
        edges: frozenset[str],
        outside: Set[str],
        *,
        compiler: Compiler,
        layout: Layout,
    ) -> None:
        self.tests: list[PushedTest] = []
        self.accepted: list[PushedCondition] = []
        self._nodes, self._edges, self._outside = nodes, edges, outside
        self._compiler, self._layout = compiler, layout

    def push(self, conjunct: t.Expression) -> bool:
        """Accept the conjunct if SQL can test it."""
        before = len(self.tests)
        tree = self._tree(conjunct)
        if tree is None:
            del self.tests[before:]
            return False
        self.accepted.append(PushedCondition(tree, conjunct, list(range(before, len(self.tests)))))
        return True

    def read(self, *, but: frozenset[int] = frozenset()) -> set[str]:
        """Return the nodes and edges whose properties are read, by other tests than these."""
        return {
            test.key
            for number, test in enumerate(self.tests)
            if test.name is not None and number not in but
        } | {key for condition in self.accepted for key in _keys(condition.tree, "null")}

    def named(self) -> set[str]:
        """Return the nodes and edges of conditions that may be tested in Python."""
        compared = [condition.tree for condition in self.accepted if condition.tests]
        return {test.key for test in self.tests} | {
            key for tree in compared for kind in ("null", "labels") for key in _keys(tree, kind)
        }

    def alternatives(self, key: str) -> list[tuple[str | None, list[int]]]:
        """Return comparisons of one property, or of the id (None), of which every row must pass at
        least one."""
        found: list[tuple[str | None, list[int]]] = []
        for condition in self.accepted:
            numbers = _of_one(condition.tree)
            about = {(self.tests[number].key, self.tests[number].name) for number in numbers}
            if len(about) == 1 and (only := about.pop())[0] == key:
                found.append((only[1], numbers))
        return found

    def present(self, key: str) -> list[str]:
        """Return the properties that every row must have."""
        return [
            condition.tree[2]
            for condition in self.accepted
            if condition.tree[0] == "null" and condition.tree[1] == key and condition.tree[3]
        ]

    def indexable(self) -> bool:
        """Return whether an index might answer any of them."""
        return bool(self.tests) or any(condition.tree[0] == "null" for condition in self.accepted)

    def leftover(self, kinds: tuple[str, ...]) -> list[bool]:
        """Return for each condition whether SQL omits it for values of these kinds."""
        return [
            any(kinds[index] in UNDECIDED_KINDS for index in condition.tests)
            for condition in self.accepted
        ]

    def labels(self) -> list[tuple[str, t.LabelExpression]]:
        """Return the label tests that every row must pass."""
        return [
            (condition.tree[1], condition.tree[2])
            for condition in self.accepted
            if condition.tree[0] == "labels"
        ]

    def _tree(self, conjunct: t.Expression) -> tuple[Any, ...] | None:
        match conjunct:
            case t.Logic(op, items) if op in ("AND", "OR"):
                parts = [self._tree(item) for item in items]
                return None if None in parts else (op.lower(), *parts)
            case t.HasLabels(t.Variable(key), labels) if key in self._nodes:
                return "labels", key, labels
            case t.IsNull(t.Property(t.Variable(key), name), negated) if (
                key in self._nodes | self._edges and pushable_name(name)
            ):
                return "null", key, name, negated
            case t.Comparison((left, right), (op,)):
                for one, other, sign in ((left, right, op), (right, left, _FLIPPED[op])):
                    found = self._test(one, other, sign)
                    if found is not None:
                        return found
            case t.In(left, right):
                return self._test(left, right, "IN")
            case t.TextTest(op, left, right) if op != "=~":
                return self._test(left, right, op)
        return None

    def _test(self, one: t.Expression, other: t.Expression, op: str) -> tuple[Any, ...] | None:
        if isinstance(one, t.Call):
            return self._id_test(one, other, op)
        if (
            not isinstance(one, t.Property)
            or not isinstance(one.of, t.Variable)
            or not pushable_name(one.name)
        ):
            return None
        if one.of.name not in self._nodes | self._edges or not self._known(other):
            return None
        self.tests.append(
            PushedTest(one.of.name, one.name, op, self._compiler.compile(other, self._layout))
        )
        return "test", len(self.tests) - 1

    def _id_test(self, call: t.Call, other: t.Expression, op: str) -> tuple[Any, ...] | None:
        """id(n) or elementId(n), = or IN what is known."""
        if (
            call.name.lower() not in _IDS
            or op not in ("=", "IN")
            or len(call.args) != 1
            or not isinstance(call.args[0], t.Variable)
        ):
            return None
        key, prefix = call.args[0].name, _IDS[call.name.lower()]
        if key not in self._nodes | self._edges or not self._known(other):
            return None
        if prefix and key in self._edges:
            prefix = "r:"
        self.tests.append(
            PushedTest(key, None, op, self._compiler.compile(other, self._layout), prefix)
        )
        return "test", len(self.tests) - 1

    def _known(self, expression: t.Expression) -> bool:
        """Whether the value is the same for every row that the pattern finds."""
        parts = t.walk(expression)
        if any(
            isinstance(part, _NESTED)
            or (isinstance(part, t.Call) and part.name.lower() in _UNSTABLE)
            for part in parts
        ):
            return False
        return free_variables(expression) <= self._outside


def _of_one(tree: tuple[Any, ...]) -> list[int]:
    """The comparisons of a condition that is one, or a disjunction of some; none of any other."""
    if tree[0] == "test":
        return [tree[1]]
    parts = [_of_one(part) for part in tree[1:]] if tree[0] == "or" else []
    return [number for part in parts for number in part] if all(parts) else []


def _keys(tree: tuple[Any, ...], kind: str) -> set[str]:
    if tree[0] == kind:
        return {tree[1]}
    return (
        {key for part in tree[1:] for key in _keys(part, kind)}
        if tree[0] in ("and", "or")
        else set()
    )
