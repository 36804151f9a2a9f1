"""The provenance of a computed value: the columns that hold the elements it was computed from."""

from __future__ import annotations

from dataclasses import dataclass

from doxa.cypher import tree as t
from doxa.query.core.access_log import HIDING, ProvenanceValues
from doxa.query.core.names import is_internal
from doxa.query.core.row import Layout
from doxa.query.core.step import Evaluate


@dataclass(frozen=True, slots=True)
class Provenance(t.Expression):
    """The content of a hidden column: the values of these columns. `certain`: they are elements or
    ids fetched for the access log, never a user's values."""

    names: tuple[str, ...]
    certain: bool


def compile_provenance(origin: Provenance, layout: Layout) -> Evaluate | int:
    """Return a function, or the slot to read."""
    slots = [layout[name] for name in origin.names if layout.get(name, -1) >= 0]
    if origin.certain and len(slots) == 1:
        return slots[0]
    bare = frozenset(layout[name] for name in origin.names if is_internal(name) and name in layout)
    if len(slots) == 1 and not bare:
        (only,) = slots
        return lambda row, run: value if type(value := row[only]) in HIDING else None
    return lambda row, run: ProvenanceValues(
        [value for slot in slots if type(value := row[slot]) in HIDING or slot in bare]
    )
