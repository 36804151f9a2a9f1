"""A connected part of a pattern that one SQL statement finds."""

from __future__ import annotations

from dataclasses import dataclass, field

from doxa.query.core.pattern import EdgeVar
from doxa.query.sql.conditions import Conditions


@dataclass(slots=True)
class PushedDownPattern:
    """The new nodes and edges that one statement finds, given the nodes bound before."""

    nodes: list[str]
    edges: list[EdgeVar]
    bound: dict[str, int]  # slots of nodes bound before
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
    ends: dict[str, tuple[str, bool]] = field(
        default_factory=dict
    )  # nodes whose ids are not read, since the access log finds them by an edge that it records:
    # the edge's key, and whether it leads to the node
    revealed: frozenset[str] = (
        frozenset()
    )  # keys that reveal() makes visible regardless of policies
