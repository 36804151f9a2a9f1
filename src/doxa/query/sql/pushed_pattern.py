"""A connected piece of a pattern that one SQL statement finds."""

from __future__ import annotations

from dataclasses import dataclass, field

from doxa.query.core.pattern import EdgeVar
from doxa.query.sql.conditions import Conditions


@dataclass(slots=True)
class PushedDownPattern:
    """What one statement finds: the new nodes and edges, given the nodes known before."""

    nodes: list[str]
    edges: list[EdgeVar]
    known: dict[str, int]  # nodes bound before: their slots
    conditions: Conditions
    outputs: list[tuple[str, str, bool]] = field(
        default_factory=list
    )  # (key, "node" or "edge", loaded with its properties)
    columns: list[tuple[str, str]] = field(
        default_factory=list
    )  # single properties (key, name), after the outputs
    traversed: list[tuple[str, bool]] = field(
        default_factory=list
    )  # (key, whether an edge): only ids, all in one value after the outputs
    revealed: frozenset[str] = (
        frozenset()
    )  # keys that `reveal` asks to see whatever the policies say
