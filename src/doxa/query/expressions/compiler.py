"""Compile expressions to Python functions of (row, run): once per plan, called for every row.

A layout assigns each variable a slot in the row, and a row is exactly as wide as its layout.
Comprehensions append their own variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from doxa.base.errors import InputError
from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.cypher.tokens import Tick, no_tick
from doxa.query.core import operators as op
from doxa.query.core.comparison import equals, less, less_equal, truth
from doxa.query.core.elements import Edge, Node
from doxa.query.core.errors import fail, shown
from doxa.query.core.memory_budget import check_size, collect_values
from doxa.query.core.names import InternalName, Kind, property_column, without_property_columns
from doxa.query.core.row import Layout, Row, width
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate
from doxa.query.core.type_names import conforms
from doxa.query.expressions.calls import compile_call
from doxa.query.expressions.label_tests import label_test
from doxa.query.expressions.provenance import Provenance, compile_provenance
from doxa.query.expressions.quantifiers import QUANTIFIERS
from doxa.query.expressions.regex import matches_regex
from doxa.query.functions.tables import FUNCTIONS


class SlotReference:
    """Reads a slot of the row."""

    __slots__ = ("slot",)

    def __init__(self, slot: int) -> None:
        self.slot = slot

    def __call__(self, row: Row, run: Run) -> Any:
        return row[self.slot]


class LiteralValue:
    """A literal."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, row: Row, run: Run) -> Any:
        return self.value


class ParameterReference:
    """Reads a parameter. Raises QueryError, with its position, if it is missing."""

    __slots__ = ("_at", "name")

    def __init__(self, name: str, at: int) -> None:
        self.name, self._at = name, at

    def __call__(self, row: Row, run: Run) -> Any:
        try:
            return run.parameter(self.name)
        except QueryError as error:
            if error.at is None:
                error.at = self._at
            raise


def slot_of(evaluate: Evaluate) -> int | None:
    """Return the slot if the expression only reads one, else None."""
    return evaluate.slot if type(evaluate) is SlotReference else None


class Compiler:
    """Compiles the expressions of one query. `nested` plans subqueries and patterns inside
    expressions."""

    def __init__(self, nested: Nested, tick: Tick = no_tick) -> None:
        self.nested = nested
        self.tick = tick

    def compile(self, expression: t.Expression, layout: Layout) -> Evaluate:
        self.tick()
        made = _METHODS[type(expression)](self, expression, layout)
        return _placed(made, expression.at) if type(expression) in _FAILING else made

    def condition(self, expression: t.Expression, layout: Layout) -> Evaluate:
        """Compile a filter: only true passes."""
        inner = self.compile(expression, layout)
        if isinstance(
            expression, (t.Comparison, t.IsNull, t.TextTest, t.In, t.Negation, t.Logic, t.HasLabels)
        ):
            return inner
        return lambda row, run: truth(inner(row, run))

    # Leaves

    def _literal(self, e: t.Literal, layout: Layout) -> Evaluate:
        return LiteralValue(e.value)

    def _parameter(self, e: t.ParameterRef, layout: Layout) -> Evaluate:
        return ParameterReference(e.name, e.at)

    def _origin(self, e: Provenance, layout: Layout) -> Evaluate:
        found = compile_provenance(e, layout)
        return SlotReference(found) if isinstance(found, int) else found

    def _variable(self, e: t.Variable, layout: Layout) -> Evaluate:
        return SlotReference(layout[e.name])

    def _property(self, e: t.Property, layout: Layout) -> Evaluate:
        name = e.name
        access = op.property_of
        if isinstance(e.of, t.Variable):
            column = layout.get(property_column(e.of.name, name))
            if column is not None:
                return SlotReference(column)
            slot = layout[e.of.name]

            def of_variable(row: Row, run: Run) -> Any:
                value = row[slot]
                return value.properties.get(name) if type(value) is Node else access(value, name)

            return of_variable
        of = self.compile(e.of, layout)
        return lambda row, run: access(of(row, run), name)

    def _index(self, e: t.Index, layout: Layout) -> Evaluate:
        of, index = self.compile(e.of, layout), self.compile(e.index, layout)
        return lambda row, run: op.item_of(of(row, run), index(row, run))

    def _slice(self, e: t.Slice, layout: Layout) -> Evaluate:
        of = self.compile(e.of, layout)
        start = self.compile(e.start, layout) if e.start is not None else lambda row, run: op.OPEN
        end = self.compile(e.end, layout) if e.end is not None else lambda row, run: op.OPEN
        return lambda row, run: op.slice_of(of(row, run), start(row, run), end(row, run))

    def _list(self, e: t.ListOf, layout: Layout) -> Evaluate:
        items = [self.compile(item, layout) for item in e.items]
        return lambda row, run: collect_values(item(row, run) for item in items)

    def _map(self, e: t.MapOf, layout: Layout) -> Evaluate:
        items = [(key, self.compile(item, layout)) for key, item in e.items]
        names = tuple(key for key, _ in items)
        values = [item for _, item in items]
        return lambda row, run: dict(
            zip(names, collect_values([item(row, run) for item in values]), strict=True)
        )

    def _map_projection(self, e: t.MapProjection, layout: Layout) -> Evaluate:
        of = self.compile(e.of, layout)
        items = [
            (key, self.compile(item, layout) if item is not None else None) for key, item in e.items
        ]

        def project(row: Row, run: Run) -> Any:
            value = of(row, run)
            if value is None:
                return None
            found: dict[str, Any] = {}
            for key, item in items:
                if item is None:
                    found.update(value.properties if isinstance(value, (Node, Edge)) else value)
                else:
                    found[key] = item(row, run)
            return check_size(found)

        return project

    # Logic

    def _not(self, e: t.Negation, layout: Layout) -> Evaluate:
        of = self.compile(e.of, layout)

        def negate(row: Row, run: Run) -> Any:
            value = truth(of(row, run))
            return None if value is None else not value

        return negate

    def _logic(self, e: t.Logic, layout: Layout) -> Evaluate:
        items = [self.compile(item, layout) for item in e.items]
        if e.op == "XOR":
            return lambda row, run: _xor([truth(item(row, run)) for item in items])
        decisive = e.op == "OR"

        def decide(row: Row, run: Run) -> Any:
            unknown = False
            for item in items:
                value = truth(item(row, run))
                if value is decisive:
                    return decisive
                unknown = unknown or value is None
            return None if unknown else not decisive

        return decide

    def _comparison(self, e: t.Comparison, layout: Layout) -> Evaluate:
        operands = [self.compile(item, layout) for item in e.operands]
        if len(operands) == 2:
            compare, left, right = _COMPARE[e.ops[0]], operands[0], operands[1]
            return lambda row, run: compare(left(row, run), right(row, run))
        compares = [_COMPARE[name] for name in e.ops]

        def chain(row: Row, run: Run) -> Any:
            values = [operand(row, run) for operand in operands]
            unknown = False
            for index, compare in enumerate(compares):
                found = compare(values[index], values[index + 1])
                if found is False:
                    return False
                unknown = unknown or found is None
            return None if unknown else True

        return chain

    def _is_null(self, e: t.IsNull, layout: Layout) -> Evaluate:
        of, negated = self.compile(e.of, layout), e.negated
        return lambda row, run: (of(row, run) is None) is not negated

    def _is_type(self, e: t.IsType, layout: Layout) -> Evaluate:
        of, name, negated = self.compile(e.of, layout), e.type, e.negated
        return lambda row, run: conforms(of(row, run), name) is not negated

    def _has_labels(self, e: t.HasLabels, layout: Layout) -> Evaluate:
        of = self.compile(e.of, layout)
        test = label_test(e.labels)

        def has(row: Row, run: Run) -> Any:
            value = of(row, run)
            if value is None:
                return None
            if isinstance(value, Node):
                return test(frozenset(value.labels))
            if isinstance(value, Edge):
                return test(frozenset((value.type,)))
            fail(f"{shown(value)} has no labels.")

        return has

    # Operators

    def _arithmetic(self, e: t.Arithmetic, layout: Layout) -> Evaluate:
        compute, left, right = (
            op.ARITHMETIC[e.op],
            self.compile(e.left, layout),
            self.compile(e.right, layout),
        )
        return lambda row, run: compute(left(row, run), right(row, run))

    def _sign(self, e: t.Sign, layout: Layout) -> Evaluate:
        of, compute = self.compile(e.of, layout), op.negate if e.op == "-" else op.plus
        return lambda row, run: compute(of(row, run))

    def _text_test(self, e: t.TextTest, layout: Layout) -> Evaluate:
        left, right, test = self.compile(e.left, layout), self.compile(e.right, layout), _TEXT[e.op]

        def check(row: Row, run: Run) -> Any:
            one, other = left(row, run), right(row, run)
            return test(one, other) if type(one) is str and type(other) is str else None

        return check

    def _in(self, e: t.In, layout: Layout) -> Evaluate:
        left, right = self.compile(e.left, layout), self.compile(e.right, layout)
        return lambda row, run: op.contained(left(row, run), right(row, run))

    def _case(self, e: t.Case, layout: Layout) -> Evaluate:
        whens = [
            (self.compile(test, layout), self.compile(result, layout)) for test, result in e.whens
        ]
        default = (
            self.compile(e.default, layout) if e.default is not None else lambda row, run: None
        )
        if e.subject is None:

            def search(row: Row, run: Run) -> Any:
                for test, result in whens:
                    if truth(test(row, run)):
                        return result(row, run)
                return default(row, run)

            return search
        subject = self.compile(e.subject, layout)

        def simple(row: Row, run: Run) -> Any:
            value = subject(row, run)
            for test, result in whens:
                if equals(value, test(row, run)):
                    return result(row, run)
            return default(row, run)

        return simple

    # Calls

    def _call(self, e: t.Call, layout: Layout) -> Evaluate:
        name = e.name.lower()
        if name == "exists":
            if isinstance(e.args[0], t.PatternTest):
                return self.compile(e.args[0], layout)
            of = self.compile(e.args[0], layout)
            return lambda row, run: of(row, run) is not None
        if name == "coalesce":
            return self._coalesce(e, layout)
        return compile_call(FUNCTIONS[name], [self.compile(arg, layout) for arg in e.args])

    def _coalesce(self, e: t.Call, layout: Layout) -> Evaluate:
        items = [self.compile(arg, layout) for arg in e.args]

        def first(row: Row, run: Run) -> Any:
            for item in items:
                value = item(row, run)
                if value is not None:
                    return value
            return None

        return first

    # Comprehensions, quantifiers and reduce

    def _list_comprehension(self, e: t.ListComprehension, layout: Layout) -> Evaluate:
        source = self.compile(e.source, layout)
        inner = _wider(layout, e.variable)
        where = self.condition(e.where, inner) if e.where is not None else None
        projection = self.compile(e.projection, inner) if e.projection is not None else None

        def comprehend(row: Row, run: Run) -> Any:
            items = _iterated(source(row, run))
            if items is None:
                return None
            rows = ((*row, item) for item in items)
            if where is not None:
                rows = (one for one in rows if where(one, run) is True)
            return collect_values(
                projection(one, run) if projection is not None else one[-1]
                for one in run.ticking(rows)
            )

        return comprehend

    def _quantifier(self, e: t.Quantifier, layout: Layout) -> Evaluate:
        source = self.compile(e.source, layout)
        where = self.condition(e.where, _wider(layout, e.variable))
        decide = QUANTIFIERS[e.kind]

        def quantify(row: Row, run: Run) -> Any:
            items = _iterated(source(row, run))
            return (
                None
                if items is None
                else decide([where((*row, item), run) for item in run.ticking(items)])
            )

        return quantify

    def _reduce(self, e: t.Reduce, layout: Layout) -> Evaluate:
        initial, source = self.compile(e.initial, layout), self.compile(e.source, layout)
        body = self.compile(e.body, _wider(layout, e.accumulator, e.variable))

        def fold(row: Row, run: Run) -> Any:
            items = _iterated(source(row, run))
            if items is None:
                return None
            value = initial(row, run)
            for item in run.ticking(items):
                value = body((*row, value, item), run)
            return value

        return fold

    # Patterns and subqueries

    def _pattern_comprehension(self, e: t.PatternComprehension, layout: Layout) -> Evaluate:
        query, variables = self.nested.pattern(e.pattern, e.where, layout)
        projection = self.compile(e.projection, variables)
        return lambda row, run: collect_values(projection(found, run) for found in query(row, run))

    def _pattern_test(self, e: t.PatternTest, layout: Layout) -> Evaluate:
        query, _ = self.nested.pattern(e.pattern, None, layout)
        return lambda row, run: any(True for _ in query(row, run))

    def _path_value(self, e: t.PathValue, layout: Layout) -> Evaluate:
        name = InternalName(Kind.PATH)
        pattern = t.PathPattern(e.pattern.elements, name, e.pattern.shortest, at=e.at)
        query, variables = self.nested.pattern(pattern, None, layout)
        slot = variables[name]
        if e.pattern.shortest == "all":
            return lambda row, run: [found[slot] for found in query(row, run)]
        return lambda row, run: next((found[slot] for found in query(row, run)), None)

    def _subquery(self, e: t.Subquery, layout: Layout) -> Evaluate:
        query = self.nested.query(e.query, layout)
        if e.kind == "EXISTS":
            return lambda row, run: any(True for _ in query(row, run))
        if e.kind == "COUNT":
            counted = self.nested.degree(e.query, layout, query)
            if counted is not None:
                return counted
            return lambda row, run: sum(1 for _ in query(row, run))
        return lambda row, run: collect_values(found[0] for found in query(row, run))


def _placed(evaluate: Evaluate, at: int) -> Evaluate:
    """Wrap an expression so that its errors carry their position; the innermost one wins."""

    def tried(row: Row, run: Run) -> Any:
        try:
            return evaluate(row, run)
        except QueryError as error:
            if error.at is None:
                error.at = at
            raise
        except InputError as error:
            translated = QueryError(
                error.message,
                kind="ArgumentError",
                detail="InvalidArgumentValue",
                next_step=error.next_step,
                phase="runtime",
            )
            translated.at = at
            raise translated from error

    return tried


class Nested:
    """Plans queries and patterns inside expressions; the planner implements it."""

    def pattern(
        self, pattern: t.PathPattern, where: t.Expression | None, layout: Layout
    ) -> tuple[Callable[[Row, Run], Any], Layout]:
        """Return a function from a row to the rows of its matches, and their layout."""
        raise NotImplementedError

    def query(self, query: t.Query, layout: Layout) -> Callable[[Row, Run], Any]:
        """Return a function from a row to the result rows of the query, which sees the variables of
        the row."""
        raise NotImplementedError

    def degree(
        self, query: t.Query, layout: Layout, search: Callable[[Row, Run], Any]
    ) -> Evaluate | None:
        """Return a function from a row to the number of results of the query, if it asks for the
        degree of a node; `search` finds them."""
        raise NotImplementedError


def _wider(layout: Layout, *names: str) -> Layout:
    """Return the layout with variables appended after the last slot."""
    size = width(layout)
    return {
        **without_property_columns(layout, names),
        **{name: size + index for index, name in enumerate(names)},
    }


def _iterated(value: Any) -> list[Any] | None:
    if value is None or type(value) is list:
        return value
    fail(f"A list is needed here, not {shown(value)}.")


def _xor(values: list[bool | None]) -> bool | None:
    return None if None in values else functools.reduce(lambda one, other: one is not other, values)


def _not_equal(one: Any, other: Any) -> bool | None:
    found = equals(one, other)
    return None if found is None else not found


_COMPARE: dict[str, Callable[[Any, Any], bool | None]] = {
    "=": equals,
    "<>": _not_equal,
    "<": less,
    "<=": less_equal,
    ">": lambda one, other: less(other, one),
    ">=": lambda one, other: less_equal(other, one),
}
_TEXT: dict[str, Callable[[str, str], bool]] = {
    "STARTS WITH": str.startswith,
    "ENDS WITH": str.endswith,
    "CONTAINS": str.__contains__,
    "=~": matches_regex,
}
_FAILING = frozenset((t.Arithmetic, t.Sign, t.Call, t.Index, t.Slice, t.TextTest))
_METHODS: dict[type[t.Expression], Callable[..., Evaluate]] = {
    t.Literal: Compiler._literal,
    t.ParameterRef: Compiler._parameter,
    Provenance: Compiler._origin,
    t.Variable: Compiler._variable,
    t.Property: Compiler._property,
    t.Index: Compiler._index,
    t.Slice: Compiler._slice,
    t.ListOf: Compiler._list,
    t.MapOf: Compiler._map,
    t.MapProjection: Compiler._map_projection,
    t.Negation: Compiler._not,
    t.Logic: Compiler._logic,
    t.Comparison: Compiler._comparison,
    t.IsNull: Compiler._is_null,
    t.IsType: Compiler._is_type,
    t.HasLabels: Compiler._has_labels,
    t.Arithmetic: Compiler._arithmetic,
    t.Sign: Compiler._sign,
    t.TextTest: Compiler._text_test,
    t.In: Compiler._in,
    t.Case: Compiler._case,
    t.Call: Compiler._call,
    t.ListComprehension: Compiler._list_comprehension,
    t.Quantifier: Compiler._quantifier,
    t.Reduce: Compiler._reduce,
    t.PatternComprehension: Compiler._pattern_comprehension,
    t.PatternTest: Compiler._pattern_test,
    t.PathValue: Compiler._path_value,
    t.Subquery: Compiler._subquery,
}
