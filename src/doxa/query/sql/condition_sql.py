"""Generate the SQL of one comparison, with guards for the JSON type."""

from __future__ import annotations

from typing import Any

from doxa.query.sql.pushed_test import PushedTest
from doxa.query.sql.value_kinds import UNDECIDED_KINDS
from doxa.store.sql_values import json_path

# SQL


def test_sql(test: PushedTest, kind: str, *, props: str, argument: Any) -> tuple[str, list[Any]]:
    """Return the SQL of one test on the JSONB column `props`, and its arguments; `argument` stands
    for the value."""
    if kind in ("null", *UNDECIDED_KINDS):
        return ("0" if kind == "null" else "1"), []
    assert test.name is not None
    path = json_path(test.name)
    value, shape = f"{props} ->> ?", f"json_type({props}, ?)"
    if kind == "boolean":
        return f"{shape} = CASE ? WHEN 1 THEN 'true' ELSE 'false' END", [path, argument]
    if kind in ("texts", "numbers"):
        guard = "= 'text'" if kind == "texts" else "IN ('integer', 'real')"
        return f"({value} IN (SELECT value FROM json_each(?)) AND {shape} {guard})", [
            path,
            argument,
            path,
        ]
    if test.op == "<>":
        guard = "= 'text'" if kind == "text" else "IN ('integer', 'real')"
        return f"({shape} IS NOT NULL AND NOT ({shape} {guard} AND {value} = ?))", [
            path,
            path,
            path,
            argument,
        ]
    if kind == "text":
        return _text_sql(test.op, value, shape), [
            path,
            *([argument] * (2 if test.op in ("STARTS WITH", "ENDS WITH") else 1)),
            path,
        ]
    if test.op == "=":
        return f"({value} = ? AND {shape} IN ('integer', 'real'))", [path, argument, path]
    infinite = (
        "-Infinity" if test.op[0] == "<" else "Infinity"
    )  # stored as {"$float": …}, which SQL does not take for a number
    sql = (
        f"CASE {shape} WHEN 'integer' THEN {value} {test.op} ? WHEN 'real' THEN {value} {test.op} ?"
        f" WHEN 'object' THEN {value} = '{infinite}' END"
    )
    return sql, [path, path, argument, path, argument, f'{path}."$float"']


def _text_sql(op: str, value: str, shape: str) -> str:
    if op == "STARTS WITH":
        found = f"substr({value}, 1, length(?)) = ?"
    elif op == "ENDS WITH":
        # of bytes: SQLite counts the characters of a text only up to U+0000
        found = f"substr(CAST({value} AS BLOB), -octet_length(?)) = CAST(? AS BLOB)"
    elif op == "CONTAINS":
        found = f"instr({value}, ?) > 0"
    else:
        found = f"{value} {op} ?"
    return f"({found} AND {shape} = 'text')"
