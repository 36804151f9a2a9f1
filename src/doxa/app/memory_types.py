"""The six types of memory after the taxonomy of cognitive science, as one table: what holds each in
the graph, which verbs write and read it, how it is read by default, which standard policy it is
under, and how long it is kept. The guide memory-types.md prints this table.

    memory.recall("what did Ana say?", **MEMORY_TYPES["episodic"].recall)

A kind that the table does not name is semantic: what is stated and believed. The table names every
kind that doxa itself gives to what it stores; a kind of a caller's own is asked for by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from doxa.base.limits import WORKING_MESSAGES_ITEMS_MAX
from doxa.belief import EXCHANGE_KIND
from doxa.belief.reading.bundles import BUNDLE_KIND


@dataclass(frozen=True, slots=True)
class MemoryType:
    """One type. `labels`, `kinds` and `edges` are what it consists of in the graph; `writes` and
    `reads` are verbs, the first of `reads` with `options` is how it is read by default; `policies`
    are bindings of the standard policies (empty: it is not in the graph), and `kept` is how long it
    is kept by default."""

    name: str
    holds: str
    labels: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    policies: tuple[str, ...] = ()
    kept: str = ""

    @property
    def recall(self) -> Mapping[str, Any]:
        """The options of a recall of this type; empty for working memory, which recall does not
        read."""
        return self.options if self.reads[0] == "recall" else {}


# what is stated, and what consolidation concludes
_STATED = ("fact", "decision", "preference", "correction", "directive")
_CONCLUDED = ("summary", "event", "action", "commitment", "question")

MEMORY_TYPES: dict[str, MemoryType] = {
    one.name: one
    for one in (
        MemoryType(
            "working",
            "messages of running conversations, outside of the graph, for an hour",
            writes=("chat_add", "chat_clear"),
            reads=("chat_get", "chat_list"),
            options={"limit": WORKING_MESSAGES_ITEMS_MAX},
            kept="an hour after the last message, the newest 50",
        ),
        MemoryType(
            "episodic",
            "what was said, verbatim, in order and with its time",
            labels=("Exchange", "Thread"),
            kinds=(EXCHANGE_KIND, "thread"),
            edges=("NEXT", "HAS_EXCHANGE"),
            writes=("ingest", "add_response"),
            reads=("recall", "recent"),
            options={"kinds": (EXCHANGE_KIND,)},
            policies=("exchange", "imported_exchange"),
            kept="for weeks after its last use; imported, without end",
        ),
        MemoryType(
            "semantic",
            "what is believed: facts, decisions, preferences, with all their revisions",
            labels=("Item", "Revision", "Artifact", "Conflict"),
            kinds=(*_STATED, *_CONCLUDED),
            edges=("CURRENT", "HAS_REVISION", "CONTRADICTS"),
            writes=("remember", "tell", "revise", "store_unit"),
            reads=("recall", "get", "history"),
            options={"kinds": (*_STATED, *_CONCLUDED)},
            policies=("belief", "directive_stability"),
            kept="until it is retired, and its history beyond",
        ),
        MemoryType(
            "procedural",
            "how tasks were done: outcome, steps, tools, cost",
            labels=("Item", "Revision"),
            kinds=("execution",),
            edges=("CREATED_FROM",),
            writes=("store_execution",),
            reads=("recall", "executions"),
            options={"kinds": ("execution",)},
            policies=("belief",),
            kept="until it is retired",
        ),
        MemoryType(
            "associative",
            "how memories are connected: typed edges, each with its reason, and groups",
            labels=("Bundle",),
            kinds=(BUNDLE_KIND,),
            edges=("REFERENCED", "DEPENDS_ON", "DERIVED_FROM", "CONTAINS", "MEMBER", "EVIDENCES"),
            writes=("link", "bundle", "discover_edges"),
            reads=("recall", "traverse", "shortest_path", "impact"),
            options={"lanes": ("words", "meaning", "graph", "mentions")},
            policies=("derived_from", "evidence"),
            kept="as long as what it connects; evidence weakens over months",
        ),
        MemoryType(
            "meta",
            "what memory knows about itself: coverage, age, conflicts, and who changed what",
            edges=("TAG", "SUPERSEDES"),
            writes=("tag", "resolve"),
            reads=("recall", "survey", "log", "explain", "conflicts"),
            options={"history": True},
            policies=("supersedes",),
            kept="as long as the log",
        ),
    )
}


def type_of_kind(kind: str) -> str:
    """Return the memory type of a kind of item or turn."""
    return next((one.name for one in MEMORY_TYPES.values() if kind in one.kinds), "semantic")
