"""Compile the expressions of promotion policies for the store's policy evaluation.

They are ordinary Cypher over one element; its access metadata shadows its own properties. Two
constructs differ from a query, where a user would see a null:

    n.p <> x
    also true if n.p was never set and x is a value: a first session differs from none

    WITH KALMAN SET n.p = CASE … ELSE n.p END
    a branch that returns the property itself is not an observation

A null value is not stored, so that an access without a parameter changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from doxa.cypher import tree as t
from doxa.cypher.parser import parse_expression
from doxa.query.core.elements import Edge, Element, Node
from doxa.query.core.step import Evaluate
from doxa.query.expressions.compiler import Compiler, Nested
from doxa.store import Access, Subject

_INSTANTS = frozenset(("date", "time", "localtime", "datetime", "localdatetime"))
_OF_NOW = frozenset((".transaction", ".statement", ".realtime"))


class PolicyExpressions:
    """Implements the store's `Expressions`."""

    def condition(self, variable: str, text: str) -> PolicyCondition:
        expression = _compared(parse_expression(text), variable)
        return PolicyCondition(_compiled(expression, variable), reads_clock(expression))

    def value(self, variable: str, text: str, *, target: str, smoothed: bool) -> PolicyValue:
        expression = _compared(parse_expression(text), variable)
        if smoothed:
            expression = _without_own(expression, t.Property(t.Variable(variable), target))
        named = frozenset(
            part.name for part in t.walk(expression) if isinstance(part, t.ParameterRef)
        )
        return PolicyValue(_compiled(expression, variable), named)


class PolicyCondition:
    """A WHEN: whether it is true of an element at a time."""

    def __init__(self, evaluate: Evaluate, dynamic: bool) -> None:
        self._evaluate = evaluate
        self.dynamic = dynamic

    def __call__(self, subject: Subject, access: Access, now: int) -> bool:
        return self._evaluate((_element(subject, access),), _PolicyRun(now, {})) is True  # type: ignore[arg-type]  # what an expression asks of a run


class PolicyValue:
    """The value of a SET in ON ACCESS."""

    def __init__(self, evaluate: Evaluate, parameters: frozenset[str]) -> None:
        self._evaluate = evaluate
        self.parameters = parameters

    def __call__(
        self, subject: Subject, access: Access, now: int, parameters: Mapping[str, Any]
    ) -> Any:
        return self._evaluate((_element(subject, access),), _PolicyRun(now, parameters))  # type: ignore[arg-type]  # as above


class _PolicyRun:
    """The part of a run that an expression over one element can use. A missing parameter is
    null."""

    timezone = "Z"

    def __init__(self, now: int, parameters: Mapping[str, Any]) -> None:
        self.statement_ns = self.transaction_ns = now
        self._parameters = parameters

    def parameter(self, name: str) -> Any:
        return self._parameters.get(name)

    def realtime_ns(self) -> int:
        return time.time_ns()

    def tick(self) -> None:
        """Do nothing: the size of one element bounds the work, and lists have a limit of their
        own."""

    raise_if_cancelled = tick

    def ticking(self, items: Iterable[Any]) -> Iterable[Any]:
        return items


def _element(subject: Subject, access: Access) -> Element:
    props = {**subject.props, **access.values()}
    if subject.edge:
        return Edge(
            subject.id, kind=subject.names[0], start=subject.src, end=subject.dst, props=props
        )
    return Node(subject.id, labels=subject.names, props=props)


def _compiled(expression: t.Expression, variable: str) -> Evaluate:
    return Compiler(Nested()).compile(expression, {variable: 0} if variable else {})


def reads_clock(expression: t.Expression) -> bool:
    """Return whether the value may change while the element does not."""
    return any(isinstance(part, t.Call) and _is_of_now(part) for part in t.walk(expression))


def _is_of_now(call: t.Call) -> bool:
    name = call.name.lower()
    if name == "timestamp" or any(name.endswith(end) for end in _OF_NOW):
        return True
    if name.endswith(".truncate"):
        return len(call.args) < 2
    if name not in _INSTANTS:
        return False
    first = call.args[0] if call.args else None
    return first is None or (
        isinstance(first, t.MapOf) and all(key.lower() == "timezone" for key, _ in first.items)
    )


def _compared(expression: t.Expression, variable: str) -> t.Expression:
    def change(part: Any) -> Any:
        if not (isinstance(part, t.Comparison) and part.ops == ("<>",)):
            return part
        tests: list[t.Expression] = [part]
        for own, other in (part.operands, part.operands[::-1]):
            if isinstance(own, t.Property) and own.of == t.Variable(variable):
                tests.append(t.Logic("AND", (t.IsNull(own), t.IsNull(other, negated=True))))
        return t.Logic("OR", tuple(tests), at=part.at) if len(tests) > 1 else part

    changed: t.Expression = _mapped(expression, change)
    return changed


def _without_own(expression: t.Expression, own: t.Property) -> t.Expression:
    """Replace branches of a CASE that return the property itself by null."""
    if expression == own:
        return t.Literal(None)
    if not isinstance(expression, t.Case):
        return expression
    whens = tuple((when, _without_own(then, own)) for when, then in expression.whens)
    return replace(
        expression,
        whens=whens,
        default=None if expression.default is None else _without_own(expression.default, own),
    )


def _mapped(part: Any, change: Callable[[Any], Any]) -> Any:
    """Map every part of a tree, inner parts first."""
    if isinstance(part, t.Tree):
        held = {item.name: getattr(part, item.name) for item in fields(part)}
        inner = {
            name: _mapped(value, change)
            for name, value in held.items()
            if isinstance(value, (t.Tree, tuple))
        }
        return change(replace(part, **inner) if inner else part)
    return tuple(_mapped(item, change) for item in part) if isinstance(part, tuple) else part
