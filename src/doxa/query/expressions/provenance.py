"""Where a value came from: the columns that hold the elements it was computed from."""

from __future__ import annotations

from dataclasses import dataclass

from doxa.cypher import tree as t
from doxa.query.core.access_log import HIDING, ProvenanceValues
from doxa.query.core.names import is_internal
from doxa.query.core.row import Layout
from doxa.query.core.step import Evaluate


@dataclass(frozen=True, slots=True)
class Provenance(t.Expression):
    """A value for hidden columns only: what these columns hold. `sure`: that are elements, or ids
    fetched to be noted, and no value of a user."""

    names: tuple[str, ...]
    certain: bool


def compile_provenance(origin: Provenance, layout: Layout) -> Evaluate | int:
    """A function, or the slot that is to be read."""
    slots = [layout[name] for name in origin.names if layout.get(name, -1) >= 0]
    if origin.certain and len(slots) == 1:
        return slots[0]
    bare = frozenset(layout[name] for name in origin.names if is_internal(name) and name in layout)
    return lambda row, run: ProvenanceValues(
        [value for slot in slots if type(value := row[slot]) in HIDING or slot in bare]
    )
