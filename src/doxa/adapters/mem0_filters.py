"""mem0's filters: the ids that choose a scope, and conditions on what a memory holds.

    {"user_id": "ann", "city": {"in": ["Rome", "Paris"]}, "NOT": [{"draft": True}]}

Ids count only at the top; a condition narrows and never widens, whatever it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from doxa.base.errors import InputError

IDS = ("user_id", "agent_id", "run_id")
_DEPTH_MAX = 20


class Mem0FilterError(InputError, ValueError):
    """A filter that mem0 refuses with a ValueError."""


def trimmed(value: Any, name: str) -> str:
    """Return an id without outer blanks. Raises Mem0FilterError for an empty one, and for blanks
    within."""
    text = str(value).strip() if isinstance(value, str | int) else ""
    if not text or any(char.isspace() for char in text):
        raise Mem0FilterError(
            f"Invalid {name}: it must be a text that is not empty, without blanks.",
            next_step="Give an identifier.",
            field=name,
        )
    return text


def split_filters(filters: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the ids of a filter and its conditions. Raises Mem0FilterError."""
    if not isinstance(filters, Mapping | None):
        raise _wrong(f"filters are a mapping, not {type(filters).__name__}")
    given = dict(filters or {})
    ids = {name: trimmed(given.pop(name), name) for name in IDS if name in given}
    _check(given, 0)
    return ids, given


def fits(memory: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Return whether a memory, as it is shown, meets all conditions."""
    for name, wanted in conditions.items():
        if name == "AND" and not all(fits(memory, one) for one in wanted):
            return False
        if name == "OR" and not any(fits(memory, one) for one in wanted):
            return False
        if name == "NOT" and any(fits(memory, one) for one in wanted):
            return False
        if name not in ("AND", "OR", "NOT") and not _meets(memory, name, wanted):
            return False
    return True


def _meets(memory: Mapping[str, Any], name: str, wanted: Any) -> bool:
    held = memory.get("metadata", {})
    absent = name not in held and name not in memory
    value = held[name] if name in held else memory.get(name)
    if wanted == "*":
        return not absent
    if not isinstance(wanted, Mapping):
        return not absent and bool(value == wanted)
    return all(_TESTS[operator](value, operand) for operator, operand in wanted.items())


def _compared(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def tested(value: Any, operand: Any) -> bool:
        try:
            return value is not None and bool(test(value, operand))
        except TypeError:  # a text and a number
            return False

    return tested


def _among(value: Any, operand: Iterable[Any]) -> bool:
    return any(value == one for one in operand)


def _contains_folded(value: Any, operand: str) -> bool:
    return isinstance(value, str) and operand.casefold() in value.casefold()


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, operand: bool(value == operand),
    "ne": lambda value, operand: bool(value != operand),
    "gt": _compared(lambda value, operand: value > operand),
    "gte": _compared(lambda value, operand: value >= operand),
    "lt": _compared(lambda value, operand: value < operand),
    "lte": _compared(lambda value, operand: value <= operand),
    "in": _compared(_among),
    "nin": lambda value, operand: not _among(value, operand),
    "contains": _compared(lambda value, operand: operand in value),
    "icontains": _contains_folded,
}


def _check(conditions: Mapping[str, Any], depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise _wrong("filters are nested too deeply")
    for name, wanted in conditions.items():
        if name in ("AND", "OR", "NOT"):
            if not isinstance(wanted, list) or not all(isinstance(one, Mapping) for one in wanted):
                raise _wrong(f"{name} takes a list of conditions")
            if not wanted and name != "AND":
                raise _wrong(f"{name} takes a list that is not empty")
            for one in wanted:
                _check(one, depth + 1)
        elif isinstance(wanted, Mapping):
            for operator, operand in wanted.items():
                if operator not in _TESTS:
                    raise _wrong(f"Unsupported metadata filter operator: {str(operator)[:40]}")
                if operator in ("in", "nin") and not isinstance(operand, list | tuple | set):
                    raise _wrong(f"{operator} takes a list")
                if operator == "icontains" and not isinstance(operand, str):
                    raise _wrong("icontains takes a text")


def _wrong(problem: str) -> Mem0FilterError:
    return Mem0FilterError(
        f"{problem}.",
        next_step="Write filters as in {'user_id': 'ann', 'city': {'in': ['Rome']}}.",
        field="filters",
    )
