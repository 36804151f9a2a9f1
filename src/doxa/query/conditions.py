"""Which conditions of a WHERE move into SQL, and their SQL.

A filter keeps the rows for which its condition is true; false and unknown are the same to it. So a condition may move if SQL finds it true
exactly when Cypher does, and AND and OR of such conditions may too. NOT is not among them: what is unknown to Cypher may be false to SQL.

A comparison has a property of the pattern on one side and, on the other, a value that is known before the statement runs. The SQL depends
on the kind of that value, and guards the JSON type of the property: SQLite would take true for 1. A kind that SQL cannot compare is
"other": its condition is tested in Python on the rows found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from doxa.cypher import tree as t
from doxa.query.evaluate import Compiler, Evaluate, Layout
from doxa.query.pattern import free_variables

_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<>": "<>"}
_UNSTABLE = ("rand", "randomuuid")
_NESTED = (t.Subquery, t.PatternTest, t.PatternComprehension, t.PathValue)


@dataclass(slots=True)
class Test:
    """Property `name` of `key` compared with a value from outside. `op`: a comparison, IN, STARTS WITH, ENDS WITH or CONTAINS."""

    key: str
    name: str
    op: str
    value: Evaluate


@dataclass(slots=True)
class Condition:
    """One conjunct. `tree`: ("test", n) | ("labels", key, labels) | ("null", key, name, negated) | ("and", …) | ("or", …)."""

    tree: tuple[Any, ...]
    expression: t.Expression
    tests: list[int]


class Conditions:
    """The conditions of one region, with the tests that they are made of."""

    def __init__(self, nodes: frozenset[str], edges: frozenset[str], outside: frozenset[str], *, compiler: Compiler, layout: Layout) -> None:
        self.tests: list[Test] = []
        self.held: list[Condition] = []
        self._nodes, self._edges, self._outside = nodes, edges, outside
        self._compiler, self._layout = compiler, layout

    def push(self, conjunct: t.Expression) -> bool:
        """Take the conjunct in, if SQL can test it."""
        before = len(self.tests)
        tree = self._tree(conjunct)
        if tree is None:
            del self.tests[before:]
            return False
        self.held.append(Condition(tree, conjunct, list(range(before, len(self.tests)))))
        return True

    def read(self) -> set[str]:
        """The nodes and edges whose properties are read."""
        return {test.key for test in self.tests} | {key for condition in self.held for key in _keys(condition.tree, "null")}

    def named(self) -> set[str]:
        """The nodes and edges of conditions that may have to be tested in Python."""
        compared = [condition.tree for condition in self.held if condition.tests]
        return {test.key for test in self.tests} | {key for tree in compared for kind in ("null", "labels") for key in _keys(tree, kind)}

    def required(self) -> list[tuple[int, Test]]:
        """The comparisons that every row must pass."""
        return [(condition.tree[1], self.tests[condition.tree[1]]) for condition in self.held if condition.tree[0] == "test"]

    def labels(self) -> list[tuple[str, t.LabelExpression]]:
        """The label tests that every row must pass."""
        return [(condition.tree[1], condition.tree[2]) for condition in self.held if condition.tree[0] == "labels"]

    def _tree(self, conjunct: t.Expression) -> tuple[Any, ...] | None:
        match conjunct:
            case t.Logic(op, items) if op in ("AND", "OR"):
                parts = [self._tree(item) for item in items]
                return None if None in parts else (op.lower(), *parts)
            case t.HasLabels(t.Variable(key), labels) if key in self._nodes:
                return "labels", key, labels
            case t.IsNull(t.Property(t.Variable(key), name), negated) if key in self._nodes | self._edges and pushable_name(name):
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
        if not isinstance(one, t.Property) or not isinstance(one.of, t.Variable) or not pushable_name(one.name):
            return None
        if one.of.name not in self._nodes | self._edges or not self._known(other):
            return None
        self.tests.append(Test(one.of.name, one.name, op, self._compiler.compile(other, self._layout)))
        return "test", len(self.tests) - 1

    def _known(self, expression: t.Expression) -> bool:
        """Whether the value is the same for every row of the region."""
        parts = t.walk(expression)
        if any(isinstance(part, _NESTED) or (isinstance(part, t.Call) and part.name.lower() in _UNSTABLE) for part in parts):
            return False
        return free_variables(expression) <= self._outside


def _keys(tree: tuple[Any, ...], kind: str) -> set[str]:
    if tree[0] == kind:
        return {tree[1]}
    return {key for part in tree[1:] for key in _keys(part, kind)} if tree[0] in ("and", "or") else set()


def json_path(name: str) -> str:
    return f'$."{name}"'


def pushable_name(name: str) -> bool:
    """SQLite's JSON paths have no escape for these."""
    return '"' not in name and "\\" not in name and name.isprintable()


# Kinds of values


def kind_of(value: Any, op: str) -> str:
    """How a value can be compared in SQL: null, boolean, number, text, numbers, texts, or other."""
    if value is None:
        return "null"
    kind = type(value)
    if op == "IN":
        return _list_kind(value) if kind is list else "other"
    if kind is str and "\x00" not in value:
        return "other" if op == "ENDS WITH" and not value else "text"
    if op in ("STARTS WITH", "ENDS WITH", "CONTAINS"):
        return "other" if kind is str else "null"
    if kind is int or (kind is float and value == value and abs(value) != float("inf")):
        return "number"
    return "boolean" if kind is bool and op == "=" else "other"


def _list_kind(values: list[Any]) -> str:
    """Of a list on the right of IN: nulls in it make nothing true."""
    kinds = {kind_of(value, "=") for value in values} - {"null"}
    if not kinds:
        return "null"
    return {"text": "texts", "number": "numbers"}.get(kinds.pop(), "other") if len(kinds) == 1 else "other"


def bound_value(value: Any, kind: str) -> Any:
    """What is bound for a value of a kind: lists as JSON."""
    if kind in ("texts", "numbers"):
        from doxa.base.values import canonical

        return canonical([item for item in value if item is not None]).decode()
    return value


# SQL


def test_sql(test: Test, kind: str, *, props: str, argument: Any) -> tuple[str, list[Any]]:
    """The SQL of one test on the JSONB column `props`, and its arguments; `argument` stands for the value."""
    path = json_path(test.name)
    value, shape = f"{props} ->> ?", f"json_type({props}, ?)"
    if kind in ("null", "other"):
        return ("0" if kind == "null" else "1"), []
    if kind == "boolean":
        return f"{shape} = CASE ? WHEN 1 THEN 'true' ELSE 'false' END", [path, argument]
    if kind in ("texts", "numbers"):
        guard = "= 'text'" if kind == "texts" else "IN ('integer', 'real')"
        return f"({value} IN (SELECT value FROM json_each(?)) AND {shape} {guard})", [path, argument, path]
    if test.op == "<>":
        guard = "= 'text'" if kind == "text" else "IN ('integer', 'real')"
        return f"({shape} IS NOT NULL AND NOT ({shape} {guard} AND {value} = ?))", [path, path, path, argument]
    if kind == "text":
        return _text_sql(test.op, value, shape), [path, *([argument] * (2 if test.op in ("STARTS WITH", "ENDS WITH") else 1)), path]
    if test.op == "=":
        return f"({value} = ? AND {shape} IN ('integer', 'real'))", [path, argument, path]
    infinite = "-Infinity" if test.op[0] == "<" else "Infinity"  # stored as {"$float": …}, which SQL does not take for a number
    sql = f"CASE {shape} WHEN 'integer' THEN {value} {test.op} ? WHEN 'real' THEN {value} {test.op} ? WHEN 'object' THEN {value} = '{infinite}' END"
    return sql, [path, path, argument, path, argument, f'{path}."$float"']


def _text_sql(op: str, value: str, shape: str) -> str:
    if op == "STARTS WITH":
        found = f"substr({value}, 1, length(?)) = ?"
    elif op == "ENDS WITH":
        found = f"substr({value}, -length(?)) = ?"
    elif op == "CONTAINS":
        found = f"instr({value}, ?) > 0"
    else:
        found = f"{value} {op} ?"
    return f"({found} AND {shape} = 'text')"
