"""AS OF VALID TIME: the test that an element's window contains a point in time.

(Persistence policies hide elements too; `store/visibility/visible_now.py` implements that.)

Temporal constraints name the window's properties, (key…, from, to). Without a constraint they are
those of revisions (valid_from, valid_until) and of the graph ledger's FactVersion (validFrom,
validUntil), unless a constraint on FactVersion names others. Windows are half-open. A start or end
that is missing, or is not a point in time, is open; `base.temporal_instant` defines points in time.
The test is SQL and part of every scan and expansion, before any limit. It compares seconds and
nanoseconds separately, so that distant years lose no precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from doxa.base.temporal_instant import INSTANT_FORMS, instant_key, instant_of
from doxa.base.values import canonical
from doxa.query.core.errors import fail, shown
from doxa.store import Constraints
from doxa.store.sql_values import json_path, pushable_name

_NS = 1_000_000_000
_PARTS = (
    '"$date"',
    '"$datetime"[0]',
    '"$datetime"[1]',
    '"$localdatetime"[0]',
    '"$localdatetime"[1]',
)


def instant_ns(value: Any) -> int:
    """Convert a point in time to integer nanoseconds since the epoch. Raises QueryError for other
    values."""
    found = instant_of(value)
    if found is None:
        fail(
            f"{shown(value)} is not a point in time.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint=f"Give {INSTANT_FORMS}.",
        )
    return found


class WindowProperties(NamedTuple):
    """A label or type and the properties of its window."""

    about: str
    start: str
    end: str


_REVISION, _FACT = (
    WindowProperties("Revision", "valid_from", "valid_until"),
    WindowProperties("FactVersion", "validFrom", "validUntil"),
)


class ValidTime:
    """The test for one point in time, in integer nanoseconds since the epoch.

    `present` reports whether any node has a label. If no node can have a window, none is tested.
    """

    def __init__(
        self,
        time: int,
        constraints: Constraints,
        present: Callable[[str], bool] = lambda label: True,
    ) -> None:
        self.time = int(time)
        rules = [rule for rule in constraints.rules if rule.kind == "temporal"]
        named = [
            (rule.edge, WindowProperties(rule.about, rule.properties[-2], rule.properties[-1]))
            for rule in rules
        ]
        given = [window for edge, window in named if not edge]
        nodes = [
            _REVISION,
            *([] if any(window.about == _FACT.about for window in given) else [_FACT]),
            *given,
        ]
        self._nodes = [window for window in nodes if present(window.about)]
        self._edges = [window for edge, window in named if edge]
        self.key = (self.time, tuple(self._nodes), tuple(self._edges))  # equal where the tests are

    @property
    def tests_nodes(self) -> bool:
        return bool(self._nodes)

    def node(self, alias: str) -> str:
        """Return the test of a row of the node table; empty if no label has windows."""
        return " AND ".join(
            f"(instr({alias}.labels, {_quoted(canonical(window.about).decode())}) = 0 OR"
            f" {self._holds(window, alias)})"
            for window in self._nodes
        )

    def edge(self, alias: str) -> str:
        """Return the test of a row of the edge table; empty if no type has windows."""
        return " AND ".join(
            f"({alias}.type <> {_quoted(window.about)} OR {self._holds(window, alias)})"
            for window in self._edges
        )

    def _holds(self, window: WindowProperties, alias: str) -> str:
        start, end = (
            self._compared(f"{alias}.props", name, op)
            for name, op in ((window.start, "<="), (window.end, ">"))
        )
        return f"(coalesce({start}, 1) AND coalesce({end}, 1))"

    def _compared(self, props: str, name: str, op: str) -> str:
        """Compare a property with the time; null if it is missing or not a point in time."""
        if pushable_name(name):
            path = json_path(name)
            return self._judged(
                f"json_type({props}, {_quoted(path)})",
                f"{props} ->> {_quoted(path)}",
                props,
                path=path,
                op=op,
            )
        judged = self._judged("j.type", "j.value", "j.value", path="$", op=op)
        return f"(SELECT {judged} FROM json_each({props}) j WHERE j.key = {_quoted(name)})"

    def _judged(self, shape: str, plain: str, source: str, *, path: str, op: str) -> str:
        """Compare a value by its JSON type; its parts lie below the path in the source."""
        seconds, nanos = divmod(self.time, _NS)
        date, *moments = (f"({source} ->> {_quoted(path + '.' + part)})" for part in _PARTS)
        pairs = [(f"{date} * 86400", "0"), (moments[0], moments[1]), (moments[2], moments[3])]
        tests = ", ".join(f"({one}, {other}) {op} ({seconds}, {nanos})" for one, other in pairs)
        return (
            f"CASE {shape} WHEN 'integer' THEN {plain} {op} {self.time} WHEN 'object' THEN"
            f" coalesce({tests}) WHEN 'text' THEN doxa_instant({plain}) {op}"
            f" x'{instant_key(self.time).hex()}' END"
        )


def _quoted(text: str) -> str:
    """Quote SQL text. Names come from the catalogue, which only operators write; they are quoted
    nonetheless."""
    return "'" + text.replace("'", "''") + "'"
