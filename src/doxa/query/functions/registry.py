"""The record of a Cypher function: its name, its Python implementation and its number of arguments.

The module of each family ends in `FUNCTIONS`, a tuple of `Function`. `function_table` combines them
into the dictionary in which expressions look up names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from doxa.base.errors import InputError


class ArgumentError(InputError):
    """A function was called with an argument of an unsupported type."""

    code = "argument"


class FunctionContext(Protocol):
    """The part of a statement that its functions may use. Times are integer nanoseconds since the
    epoch, UTC."""

    @property
    def statement_ns(self) -> int: ...

    @property
    def transaction_ns(self) -> int: ...

    @property
    def timezone(self) -> str:
        """The default zone: Z, UTC, an offset or an IANA name."""

    def realtime_ns(self) -> int: ...


class Function(NamedTuple):
    """One function. `least` and `most` count the arguments of a call, without the context; `most`
    None is unbounded."""

    name: str
    call: Callable[..., Any]
    least: int
    most: int | None
    nulls: bool = False  # False: any null argument gives null without the call
    context: bool = False  # True: the first argument is the FunctionContext


def function_table(*families: Iterable[Function]) -> dict[str, Function]:
    """Combine families into a dictionary by name in lower case: Cypher's function names are
    case-insensitive."""
    result: dict[str, Function] = {}
    for family in families:
        for function in family:
            key = function.name.lower()
            assert key not in result, f"{key} is defined twice"
            result[key] = function
    return result


def wrong(function: str, value: object, *, wanted: str) -> ArgumentError:
    """Return the error for an argument of the wrong type."""
    return ArgumentError(
        f"{function}() cannot take {_TYPES.get(type(value), type(value).__name__)}"
        f" {str(value)[:40]!r}.",
        next_step=f"Give it {wanted}.",
        field=function,
        type=type(value).__name__,
    )


_TYPES: dict[type, str] = {
    bool: "the boolean",
    int: "the integer",
    float: "the float",
    str: "the text",
    list: "the list",
    dict: "the map",
}
