"""Whether two answers are the same, and what kind of difference they have."""

from __future__ import annotations

from typing import Any

from tests.oracle.sides import Answer
from tests.oracle.statements import Statement

SKIPPED = ("UNREADABLE", "Terminated", "TransactionTimedOut", "MemoryPool", "Timeout", "timeout")


def difference(asked: Statement, ours: Answer, theirs: Answer) -> str | None:
    """The kind of the difference; None if there is none, or if one side had no time."""
    if any(word in one.error for one in (ours, theirs) for word in SKIPPED):
        return None
    if ours.error.startswith("INTERNAL"):
        return f"internal error {ours.error}"
    if ours.rows is None and theirs.rows is None:
        return None
    if ours.rows is None:
        return f"doxa refuses: {ours.error}"
    if theirs.rows is None:
        return f"Neo4j refuses: {theirs.error}"
    if _rows(asked, ours.rows) != _rows(asked, theirs.rows):
        return "rows differ"
    if asked.writes and _graph(ours.graph) != _graph(theirs.graph):
        return "graphs differ"
    return None


def _rows(asked: Statement, rows: list[Any]) -> list[str]:
    found = [
        repr([_bag(value) if bag else value for value, bag in zip(row, bags, strict=True)])
        for row in rows
        for bags in [(*asked.bags, *[False] * (len(row) - len(asked.bags)))]
        if len(bags) == len(row)
    ]
    return found if asked.ordered else sorted(found)


def _bag(value: Any) -> Any:
    return ("bag", *sorted(value[1:], key=repr)) if value[0] == "list" else value


def _graph(graph: Any) -> Any:
    return [sorted(map(repr, part)) for part in graph]
