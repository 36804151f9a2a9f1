"""Check rules that come from elsewhere before they are in force: a catalogue that cannot be read
makes a file that cannot be opened."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from doxa.base.errors import DoxaError, InputError
from doxa.store.declared import SUPPRESSING, Declared, declared
from doxa.store.visibility.access import Access
from doxa.store.visibility.evaluator import Expressions, PolicyEvaluator, Subject

_TROUBLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class _Index(msgspec.Struct):
    id: int
    kind: Literal["range", "text", "fulltext", "vector", "point", "window"]
    edge: bool
    names: list[str]
    properties: list[str]
    options: dict[str, Any]
    owner: str | None


class _Constraint(msgspec.Struct):
    kind: str
    edge: bool
    name: str
    properties: list[str]
    detail: list[Any]
    index: int | None


_SHAPES: dict[str, Any] = {
    "index:": _Index,
    "constraint:": _Constraint,
    "policy:": dict[str, Any],
    SUPPRESSING: dict[Literal["node", "edge"], bool],
}


def check_rules(catalogue: dict[str, Any], expressions: Expressions | None) -> Declared:
    """Return what a catalogue declares. Raises InputError for a rule that cannot be applied."""
    owned: dict[int, str] = {}
    for name, value in catalogue.items():
        shape = next((held for start, held in _SHAPES.items() if name.startswith(start)), None)
        if shape is None:
            continue
        try:
            made = msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            raise _unusable(name, error) from None
        if isinstance(made, _Index):
            if not made.names or not made.properties or made.id in owned or made.id < 1:
                raise _unusable(name, "its id is taken, or it is about nothing")
            owned[made.id] = name
    for name, value in catalogue.items():
        if name.startswith("constraint:") and value["index"] not in (None, *owned):
            raise _unusable(name, "it names an index that is not there")
    try:
        known = declared(catalogue, expressions)
        _try_policies(known.evaluator)
    except InputError:
        raise
    except (*_TROUBLE, DoxaError) as error:
        raise _unusable("", error) from None
    return known


def _try_policies(evaluator: PolicyEvaluator) -> None:
    """Judge an element of each target once, and compile every expression."""
    rules = evaluator.rules
    if rules.any and not evaluator.can_judge:
        return
    for policy in rules.policies:
        for number in range(len(policy.setters)):
            evaluator.value(policy, number)
    targets = [one.target for one in rules.bindings] + [one.target for one in rules.policies]
    for target in targets:
        subject = Subject(target.edge, 1, tuple(sorted(target.names)), {}, 1, 1, 1, 1)
        evaluator.decide(subject, Access(), evaluator.rule(subject))
        evaluator.standing(subject, Access(), 2)


def _unusable(name: str, reason: object) -> InputError:
    what = f"The rule {name[:200]}" if name else "A rule of this export"
    return InputError(
        f"{what} cannot be used: {str(reason)[:300]}.",
        next_step="Export again, or correct that line.",
        name=name[:200],
    )
