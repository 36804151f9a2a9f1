"""Random values, and calls of functions and operators on them, as literals or as parameters."""

from __future__ import annotations

from random import Random
from typing import Any

from doxa.cypher.semantics.signatures import FUNCTIONS, Argument

POOL: dict[str, tuple[str, ...]] = {
    "integer": ("0", "1", "2", "-1", "-3", "7", "100", "9223372036854775807"),
    "float": ("0.0", "1.0", "0.5", "-2.5", "1.5", "1e10", "0.0001", "123456.789", "-0.25"),
    "string": (
        "''", "'a'", "'abc'", "'B'", "' x '", "'1'", "'2.5'", "' 5 '", "'true'", "'aXbXc'",
        "'2020-02-29'", "'PT36H'", "'é'", "','", "'a,b,c'",
    ),
    "boolean": ("true", "false"),
    "list": ("[]", "[1, 2, 3]", "[null]", "['a', 'b']", "[1, null, 'a']", "[[1], [2]]", "[3.5, 1]"),
    "map": ("{}", "{a: 1}", "{a: 2, b: 'x'}", "{a: null}", "{b: [1]}"),
    "date": (
        "date('2020-02-29')", "date('1999-12-31')", "date({year: 2021, month: 3})",
        "date({year: 2020, week: 53, dayOfWeek: 7})",
    ),
    "localtime": ("localtime('12:30')", "localtime('23:59:59.123456789')", "localtime('00:00')"),
    "time": ("time('12:30+02:00')", "time('23:59:59.5Z')", "time('00:00-11:30')"),
    "localdatetime": (
        "localdatetime('2020-02-29T12:30')", "localdatetime('1969-12-31T23:59:59.5')",
    ),
    "datetime": (
        "datetime('2020-02-29T12:30+02:00')", "datetime('2019-10-27T02:30[Europe/Berlin]')",
        "datetime('1900-01-01T00:00:00.000000001Z')",
    ),
    "duration": (
        "duration('P1Y2M3DT4H5M6.7S')", "duration('PT-0.5S')", "duration({days: 1, hours: -25})",
        "duration('P0D')", "duration({months: 14})", "duration('P1W')",
    ),
    "point": (
        "point({x: 1, y: 2})", "point({longitude: 12.5, latitude: 55.7})",
        "point({x: 1, y: 2, z: 3})",
    ),
}  # fmt: skip
PLAIN = ("integer", "float", "string", "boolean", "list", "map")
TEMPORALS = ("date", "localtime", "time", "localdatetime", "datetime", "duration")
ELEMENTS = frozenset(("node", "edge", "path"))
# what depends on a clock, chance, the file or doxa alone
LEFT_OUT = frozenset(
    """rand randomuuid timestamp file linenumber decayscore decay policy reveal date.transaction
    date.statement date.realtime time.transaction time.statement time.realtime localtime.transaction
    localtime.statement localtime.realtime datetime.transaction datetime.statement datetime.realtime
    localdatetime.transaction localdatetime.statement localdatetime.realtime elementid id exists
    distance rels lower upper""".split()
)
CALLABLE = tuple(
    signature
    for name, signature in FUNCTIONS.items()
    if name not in LEFT_OUT
    and not signature.aggregate
    and not any(one.accepts & ELEMENTS and not one.accepts - ELEMENTS for one in signature.args)
)
TEMPORAL_CALLS = tuple(
    one for one in CALLABLE if one.name.lower().partition(".")[0] in {*TEMPORALS, "duration"}
)
OPERATORS = (
    "+", "-", "*", "/", "%", "^", "=", "<>", "<", "<=", ">", ">=", "IN", "STARTS WITH", "CONTAINS",
    "ENDS WITH", "AND", "OR", "XOR", "||", "=~",
)  # fmt: skip
UNITS = (
    "millennium", "century", "decade", "year", "weekYear", "quarter", "month", "week", "day",
    "hour", "minute", "second", "millisecond", "microsecond",
)  # fmt: skip
PARTS = (
    "year", "quarter", "month", "week", "weekYear", "dayOfQuarter", "ordinalDay", "day",
    "dayOfWeek", "hour", "minute", "second", "millisecond", "microsecond", "nanosecond", "offset",
    "offsetMinutes", "offsetSeconds", "epochMillis", "epochSeconds", "timezone", "years", "months",
    "days", "hours", "seconds", "minutesOfHour", "monthsOfYear", "secondsOfMinute",
)  # fmt: skip
MAPS = (
    "{year: 1984, month: 10, day: 11}", "{year: 1984, week: 10, dayOfWeek: 3}",
    "{year: 1984, quarter: 3, dayOfQuarter: 45}", "{year: 1984, ordinalDay: 202}",
    "{hour: 12, minute: 31, second: 14, nanosecond: 789, millisecond: 123}",
    "{hour: 12, timezone: '+01:00'}", "{year: 1984, timezone: 'Europe/Stockholm'}",
    "{year: 1984, month: 10, day: 11, hour: 12, minute: 31, second: 14}", "{month: 3}", "{}",
    "{days: 5, seconds: 1.5}", "{years: 1.5, weeks: -2}", "{hour: 25}", "{year: 2021, month: 13}",
)  # fmt: skip
TYPES = ("INTEGER", "FLOAT", "STRING", "BOOLEAN", "LIST<ANY>", "MAP", "DATE", "DURATION", "NULL")


def literal(kind: str, rng: Random) -> str:
    return rng.choice(POOL[kind])


def anything(rng: Random) -> Any:
    """A value to pass as a parameter."""
    return rng.choice((0, 1, 2, -1, 7, 0.5, 2.0, -2.5, "a", "ab", "B", "", True, False, None, [1],
                       [1, 2], [], ["a"]))  # fmt: skip


def items(rng: Random) -> Any:
    return rng.choice(([], [1, 2], ["a", None], [None], [True, 0.5], [[1]], None))


def expression(kind: str, rng: Random) -> tuple[str, dict[str, Any]]:
    """A RETURN of one call or operator; as a parameter a value has no type before it runs."""
    made = {"call": _call, "operator": _operator, "temporal": _temporal, "aggregate": _aggregate}
    text = made[kind](rng)
    return (f"RETURN {text} AS x" if kind != "aggregate" else text), {}


def _argument(wanted: Argument, rng: Random) -> str:
    draw = rng.random()
    if draw < 0.06:
        return "null"
    accepted = [name for name in wanted.accepts if name in POOL]
    if "map" in wanted.accepts and draw < 0.3:
        return rng.choice(MAPS)
    kinds = accepted if accepted and draw < 0.85 else list(POOL)
    text = literal(rng.choice(kinds), rng)
    return f"head([{text}])" if rng.random() < 0.25 else text


def _call(rng: Random) -> str:
    signature = rng.choice(CALLABLE)
    most = signature.most if signature.most is not None else 3
    count = rng.randint(signature.least, most)
    clocks = signature.name.partition(".")[0].lower() in TEMPORALS  # without arguments: the clock
    count = max(count, 2 if signature.name.endswith("truncate") else 1) if clocks else count
    given = [_argument(signature.argument(i), rng) for i in range(count)]
    return f"{signature.name}({', '.join(given)})"


def _operand(rng: Random, kinds: tuple[str, ...] = tuple(POOL)) -> str:
    if rng.random() < 0.07:
        return "null"
    text = literal(rng.choice(kinds), rng)
    return f"head([{text}])" if rng.random() < 0.4 else text  # of no type known before it runs


def _operator(rng: Random) -> str:
    draw = rng.random()
    if draw < 0.04:
        return f"{_operand(rng)}[{_operand(rng)}]"
    if draw < 0.08:
        return f"{_operand(rng)}[{_operand(rng, ('integer',))}..{_operand(rng, ('integer',))}]"
    if draw < 0.12:
        return f"{rng.choice(('NOT', '-', '+'))} {_operand(rng)}"
    if draw < 0.17:
        tested = rng.choice(("NULL", f":: {rng.choice(TYPES)}"))
        return f"{_operand(rng)} IS {rng.choice(('', 'NOT '))}{tested}"
    if draw < 0.22:
        whens = f"WHEN {_operand(rng)} THEN 1 WHEN {_operand(rng)} THEN 2"
        return f"CASE {_operand(rng)} {whens} ELSE 3 END"
    if draw < 0.27:
        source, word = _operand(rng, ("list",)), rng.choice(("all", "any", "none", "single"))
        return rng.choice(
            (
                f"[x IN {source} WHERE x = {_operand(rng)}]",
                f"[x IN {source} | x + {_operand(rng)}]",
                f"{word}(x IN {source} WHERE x > {_operand(rng)})",
                f"reduce(t = {_operand(rng)}, x IN {source} | t + x)",
            )
        )
    kinds = PLAIN if draw < 0.8 else tuple(POOL)
    one, other = _operand(rng, kinds), _operand(rng, kinds)
    if rng.random() < 0.4:
        kind = rng.choice(list(POOL))
        one, other = _operand(rng, (kind,)), _operand(rng, (kind,))
    return f"{one} {rng.choice(OPERATORS)} {other}"


def _temporal(rng: Random) -> str:
    kind, other = rng.choice(TEMPORALS), rng.choice(TEMPORALS)
    pick = rng.randrange(7)
    if pick == 0:
        return f"{literal(kind, rng)}.{rng.choice(PARTS)}"
    if pick == 1:
        name = rng.choice(TEMPORALS[:5])
        extra = f", {rng.choice(MAPS)}" if rng.random() < 0.3 else ""
        return f"{name}.truncate('{rng.choice(UNITS)}', {literal(kind, rng)}{extra})"
    if pick == 2:
        name = rng.choice(("between", "inMonths", "inDays", "inSeconds"))
        return f"duration.{name}({literal(kind, rng)}, {literal(other, rng)})"
    if pick == 3:
        return f"{literal(kind, rng)} {rng.choice('+-')} {literal('duration', rng)}"
    if pick == 4:
        same = other if rng.random() < 0.3 else kind
        return f"{literal(kind, rng)} {rng.choice(('<', '=', '>='))} {literal(same, rng)}"
    if pick == 5:
        return f"toString({rng.choice(TEMPORALS)}({rng.choice((*MAPS, literal(kind, rng)))}))"
    return f"duration({rng.choice(MAPS)}) {rng.choice('*/')} {rng.choice(('2', '0.5', '-3', '7'))}"


def _aggregate(rng: Random) -> str:
    kinds = rng.choice((("integer", "float"), ("integer",), PLAIN, tuple(POOL), ("duration",)))
    rows = ", ".join(_operand(rng, kinds) for _ in range(rng.randint(0, 4)))
    made = rng.choice(
        ("min(x)", "max(x)", "count(x)", "count(DISTINCT x)", "sum(x)", "avg(x)", "stDev(x)",
         "stDevP(x)", "percentileCont(x, 0.5)", "percentileDisc(x, 0.3)", "collect(x)",
         "sum(DISTINCT x)", "collect(DISTINCT x)")
    )  # fmt: skip
    if rng.random() < 0.3:
        return f"UNWIND [{rows}] AS x RETURN x ORDER BY x{rng.choice(('', ' DESC'))}"
    return f"UNWIND [{rows}] AS x RETURN {made} AS r"
