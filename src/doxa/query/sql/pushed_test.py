"""A comparison that SQL makes: a property, or an id, with a value from outside of the pattern."""

from __future__ import annotations

from dataclasses import dataclass

from doxa.query.core.step import Evaluate


@dataclass(slots=True)
class PushedTest:
    """Property `name` of `key` compared with a value from outside. `op`: a comparison, IN, STARTS
    WITH, ENDS WITH or CONTAINS.

    Without a name it compares the id, written after `prefix`: nothing for id(), "n:" or "r:" for
    elementId().
    """

    key: str
    name: str | None
    op: str
    value: Evaluate
    prefix: str = ""
