"""Mathematical functions: openCypher's, and round() with precision and mode as Neo4j 5 has it."""

from __future__ import annotations

import decimal
import math
import random
from collections.abc import Callable
from typing import Any

from doxa.query.core.errors import fail, shown
from doxa.query.core.operators import whole
from doxa.query.functions.registry import Function

_MODES = {
    "UP": decimal.ROUND_UP,
    "DOWN": decimal.ROUND_DOWN,
    "CEILING": decimal.ROUND_CEILING,
    "FLOOR": decimal.ROUND_FLOOR,
    "HALF_UP": decimal.ROUND_HALF_UP,
    "HALF_DOWN": decimal.ROUND_HALF_DOWN,
    "HALF_EVEN": decimal.ROUND_HALF_EVEN,
}


def _number(value: Any, function: str) -> Any:
    if type(value) is int or type(value) is float:
        return value
    fail(f"{function}() takes a number, not {shown(value)}.")


def _real(name: str, compute: Callable[[float], float]) -> Function:
    """A function of one real number; NaN outside of its domain, as in IEEE 754."""

    def call(value: Any) -> float:
        number = float(_number(value, name))
        try:
            return compute(number)
        except (ValueError, ZeroDivisionError):
            return math.nan
        except OverflowError:
            return math.inf

    return Function(name, call, 1, 1)


def _log(value: float) -> float:
    return -math.inf if value == 0 else math.log(value)


def _log10(value: float) -> float:
    return -math.inf if value == 0 else math.log10(value)


def _abs(value: Any) -> Any:
    number = _number(value, "abs")
    return whole(abs(number)) if type(number) is int else abs(number)


def _sign(value: Any) -> int:
    number = _number(value, "sign")
    return int(number > 0) - int(number < 0)


def _round(value: Any, places: Any = 0, mode: Any = "HALF_UP") -> float:
    number = _number(value, "round")
    if type(places) is not int or places < 0:
        fail(
            f"The precision of round() is a whole number from 0, not {shown(places)}.",
            kind="ArgumentError",
            detail="NumberOutOfRange",
        )
    if not isinstance(number, int) and not math.isfinite(number):
        return number  # type: ignore[no-any-return]
    rounding = _MODES.get(str(mode).upper())
    if rounding is None:
        fail(
            f"{mode!r:.40} is not a rounding mode.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint=f"Use {', '.join(_MODES)}.",
        )
    if places > 300:
        return float(number)
    exact = decimal.Decimal(repr(number))  # the number as it is written: 1.255 rounds to 1.26
    if mode == "HALF_UP" and places == 0:
        return float(math.floor(exact + decimal.Decimal("0.5")))  # ties towards positive infinity
    with decimal.localcontext(prec=800):
        return float(exact.quantize(decimal.Decimal(1).scaleb(-places), rounding=rounding))


def _is_nan(value: Any) -> bool:
    return bool(_number(value, "isNaN") != value)


def _atan2(one: Any, other: Any) -> float:
    return math.atan2(_number(one, "atan2"), _number(other, "atan2"))


FUNCTIONS = (
    Function("abs", _abs, 1, 1),
    Function("sign", _sign, 1, 1),
    Function("round", _round, 1, 3),
    Function("isNaN", _is_nan, 1, 1),
    Function("rand", random.random, 0, 0),  # nosec: a query's dice, not a secret
    Function("e", lambda: math.e, 0, 0),
    Function("pi", lambda: math.pi, 0, 0),
    Function("atan2", _atan2, 2, 2),
    _real("ceil", lambda x: math.copysign(math.ceil(x), x) if math.isfinite(x) else x),
    _real("floor", lambda x: math.copysign(math.floor(x), x) if math.isfinite(x) else x),
    _real("exp", math.exp),
    _real("log", _log),
    _real("log10", _log10),
    _real("sqrt", math.sqrt),
    _real("sin", math.sin),
    _real("cos", math.cos),
    _real("tan", math.tan),
    _real("cot", lambda x: math.inf if x == 0 else 1 / math.tan(x)),
    _real("sinh", math.sinh),
    _real("cosh", math.cosh),
    _real("tanh", math.tanh),
    _real("coth", lambda x: math.nan if x == 0 else 1 / math.tanh(x)),
    _real("asin", math.asin),
    _real("acos", math.acos),
    _real("atan", math.atan),
    _real("degrees", math.degrees),
    _real("radians", math.radians),
    _real("haversin", lambda x: (1 - math.cos(x)) / 2),
)
