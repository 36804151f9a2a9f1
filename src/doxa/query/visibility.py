"""Which elements a query may see besides the snapshot's: with AS OF VALID TIME, those whose window holds the time.

The windows are those that temporal constraints name, (key…, from, to), and the valid_from and valid_until of revisions. They are half-open; a
missing start or end is open. A start or end is a date (its first moment, UTC), a datetime, text in ISO 8601, or integer nanoseconds since the
epoch. The test is SQL, so it stands inside every scan and expansion, before any limit.
"""

from __future__ import annotations

from typing import NamedTuple

from doxa.base.values import canonical
from doxa.query.conditions import json_path
from doxa.store import Constraints

_DAY_NS = 86_400_000_000_000


class Window(NamedTuple):
    """Elements of a label or type, and the properties of their window."""

    about: str
    start: str
    end: str


class ValidTime:
    """The test of one point in time, integer nanoseconds since the epoch."""

    def __init__(self, time: int, constraints: Constraints) -> None:
        self.time = int(time)
        rules = [rule for rule in constraints.rules if rule.kind == "temporal"]
        self._nodes = [Window("Revision", "valid_from", "valid_until")]
        self._nodes += [Window(rule.about, rule.properties[-2], rule.properties[-1]) for rule in rules if not rule.edge]
        self._edges = [Window(rule.about, rule.properties[-2], rule.properties[-1]) for rule in rules if rule.edge]
        self.key = (self.time, tuple(self._nodes), tuple(self._edges))  # equal where the tests are

    def node(self, alias: str) -> str:
        """The test of a row of the node table."""
        return " AND ".join(
            f"(instr({alias}.labels, {_quoted(canonical(window.about).decode())}) = 0 OR {self._holds(window, alias)})" for window in self._nodes
        )

    def edge(self, alias: str) -> str:
        """The test of a row of the edge table; empty if no type has windows."""
        return " AND ".join(f"({alias}.type <> {_quoted(window.about)} OR {self._holds(window, alias)})" for window in self._edges)

    def _holds(self, window: Window, alias: str) -> str:
        start, end = (_instant(f"{alias}.props", name) for name in (window.start, window.end))
        return f"(coalesce({start} <= {self.time}, 1) AND coalesce({end} > {self.time}, 1))"


def _instant(props: str, name: str) -> str:
    """A property as nanoseconds; null if it is missing or no time."""
    path = json_path(name)
    parts = [f"({_read(props, path, '$date')}) * {_DAY_NS}"]
    for tag in ("$datetime", "$localdatetime"):
        parts.append(f"({_read(props, path, tag, place=0)}) * 1000000000 + ({_read(props, path, tag, place=1)})")
    plain = _quoted(path)
    return (
        f"CASE json_type({props}, {plain}) WHEN 'integer' THEN {props} ->> {plain} WHEN 'object' THEN coalesce({', '.join(parts)}) "
        f"WHEN 'text' THEN CAST(unixepoch({props} ->> {plain}, 'subsec') * 1000000000 AS INTEGER) END"
    )


def _read(props: str, path: str, tag: str, *, place: int | None = None) -> str:
    """A part of a tagged value."""
    inner = f'{path}."{tag}"' + ("" if place is None else f"[{place}]")
    return f"{props} ->> {_quoted(inner)}"


def _quoted(text: str) -> str:
    """SQL text. Names come from the catalogue, which operators write; they are quoted all the same."""
    return "'" + text.replace("'", "''") + "'"
