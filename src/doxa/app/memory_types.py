"""The six types of memory after the taxonomy of cognitive science, as one table: what holds each in
the graph, which verbs write and read it, how recall is asked for it, and which standard policy it
is under. The guide memory-types.md prints this table.

    memory.recall("what did Ana say?", **MEMORY_TYPES["episodic"].recall)

A kind that the table does not name is semantic: what is stated and believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from doxa.belief import EXCHANGE_KIND
from doxa.belief.reading.bundles import BUNDLE_KIND


@dataclass(frozen=True, slots=True)
class MemoryType:
    """One type. `labels`, `kinds` and `edges` are what it consists of in the graph; `writes` and
    `reads` are verbs; `recall` the options of a recall of it, where recall reads it; `policies`
    bindings of the standard policies (empty: nothing fades)."""

    name: str
    holds: str
    labels: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    recall: Mapping[str, Any] = field(default_factory=dict)
    policies: tuple[str, ...] = ()


MEMORY_TYPES: dict[str, MemoryType] = {
    one.name: one
    for one in (
        MemoryType(
            "working",
            "messages of running conversations, outside of the graph, for an hour",
            writes=("chat_add", "chat_clear"),
            reads=("chat_get", "chat_list"),
        ),
        MemoryType(
            "episodic",
            "what was said, verbatim, in order and with its time",
            labels=("Exchange", "Thread"),
            kinds=(EXCHANGE_KIND, "thread"),
            edges=("NEXT", "HAS_EXCHANGE"),
            writes=("ingest", "add_response"),
            reads=("recall", "recent"),
            recall={"kinds": (EXCHANGE_KIND,)},
            policies=("exchange", "imported_exchange"),
        ),
        MemoryType(
            "semantic",
            "what is believed: facts, decisions, preferences, with all their revisions",
            labels=("Item", "Revision", "Artifact", "Conflict"),
            kinds=("fact", "decision", "preference", "correction", "directive"),
            edges=("CURRENT", "HAS_REVISION", "SUPERSEDES", "CONTRADICTS"),
            writes=("remember", "tell", "revise", "store_unit"),
            reads=("recall", "get", "history"),
            recall={"kinds": ("fact", "decision", "preference", "correction", "directive")},
            policies=("belief", "directive_stability"),
        ),
        MemoryType(
            "procedural",
            "how tasks were done: outcome, steps, tools, cost",
            labels=("Item", "Revision"),
            kinds=("execution",),
            edges=("CREATED_FROM",),
            writes=("store_execution",),
            reads=("executions",),
            recall={"kinds": ("execution",)},
            policies=("belief",),
        ),
        MemoryType(
            "associative",
            "how memories are connected: typed edges, each with its reason, and groups",
            labels=("Bundle",),
            kinds=(BUNDLE_KIND,),
            edges=("REFERENCED", "DEPENDS_ON", "DERIVED_FROM", "CONTAINS", "MEMBER", "EVIDENCES"),
            writes=("link", "bundle", "discover_edges"),
            reads=("traverse", "shortest_path", "impact"),
            policies=("derived_from", "evidence"),
        ),
        MemoryType(
            "meta",
            "what memory knows about itself: coverage, age, conflicts, and who changed what",
            edges=("TAG",),
            writes=("tag", "resolve"),
            reads=("survey", "log", "explain", "conflicts"),
        ),
    )
}


def type_of_kind(kind: str) -> str:
    """Return the memory type of a kind of item or turn."""
    return next((one.name for one in MEMORY_TYPES.values() if kind in one.kinds), "semantic")
