"""What a Cypher function is to the engine: a name, a Python function and how many arguments, so
that families of them stay plain code.

A family's module ends in `FUNCTIONS`, a tuple of `Function`; `collected` makes the one dictionary
that expressions look names up in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from doxa.base.errors import InputError


class ArgumentError(InputError):
    """A function was called with an argument of a type that it does not take."""

    code = "argument"


class FunctionContext(Protocol):
    """What a function may know of the statement that calls it. Times are integer nanoseconds since
    the epoch, UTC."""

    @property
    def statement_ns(self) -> int: ...

    @property
    def transaction_ns(self) -> int: ...

    @property
    def timezone(self) -> str:
        """The default zone: Z, UTC, an offset or an IANA name."""

    def realtime_ns(self) -> int: ...


class Function(NamedTuple):
    """One function. `least` and `most` count the arguments a query gives, without the context;
    `most` None is any number."""

    name: str
    call: Callable[..., Any]
    least: int
    most: int | None
    nulls: bool = False  # False: any null argument gives null without the call
    context: bool = False  # True: the first argument is the FunctionContext


def function_table(*families: Iterable[Function]) -> dict[str, Function]:
    """Every function by its name in lower case: Cypher's function names have no case."""
    result: dict[str, Function] = {}
    for family in families:
        for function in family:
            key = function.name.lower()
            assert key not in result, f"{key} is defined twice"
            result[key] = function
    return result


def wrong(function: str, value: object, *, wanted: str) -> ArgumentError:
    """The error for an argument of the wrong type."""
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
