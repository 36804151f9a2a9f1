"""The MCP tools, each made of verbs. The default profile has seven, short: what an agent needs in a
conversation, in less than 1,500 tokens. The profile `full` has those besides whose agent does the
work of a background job too.
"""

from __future__ import annotations

from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Tool, ToolArgument

_ISO = {"description": "ISO 8601"}
_BUDGET = "an agent's context is small"
_PREFIX = "a host shows the tools of all servers in one list"
_ENRICHMENTS = "the enrichments as one object: fewer tokens"
CERTAINTY = {"minimum": 0, "maximum": 1}

TOOLS = (
    Tool(
        "memory_recall",
        ("recall",),
        "Find what is currently believed or was said. Each hit has a kref, status, source and why."
        " Retired ones only with history or as_of.",
        (
            ToolArgument("query", of="text", reason="models call it a query"),
            ToolArgument("limit", default=8, schema={"minimum": 1, "maximum": 50}, reason=_BUDGET),
            ToolArgument("tokens_max", default=2_000, reason=_BUDGET),
            ToolArgument("kinds", schema={"description": "decision, fact, exchange, ..."}),
            ToolArgument(
                "trust",
                schema={"enum": ["candidate", "stated", "verified"]},
            ),
            ToolArgument("history"),
            ToolArgument("as_of", schema={"description": "ISO 8601: what memory believed then"}),
            ToolArgument("valid_at", schema={"description": "what holds then"}),
            ToolArgument(
                "strict",
                default=True,
                schema={"description": "false: the nearest too"},
                reason="what does not bear on the question misleads a model",
            ),
            ToolArgument("order", schema={"enum": ["score", "time"]}),
            ToolArgument(
                "rerank",
                schema={
                    "enum": ["none", "client", "auto"],
                    "description": "client: more, to choose from",
                },
            ),
        ),
        reason=f"{_PREFIX}; {why.FIXED}; {why.FEW}",
    ),
    Tool(
        "memory_remember",
        ("remember",),
        "Store one belief: a self-contained sentence. It replaces what it surely corrects; a"
        " warning names what it may contradict.",
        (
            ToolArgument("text"),
            ToolArgument("name"),
            ToolArgument("space"),
            ToolArgument(
                "kind", schema={"description": "fact (default), decision, preference, ..."}
            ),
            ToolArgument("facts"),
            ToolArgument(
                "enrichments",
                of="events implications questions decisions entities claims actions",
                schema={
                    "type": "object",
                    "description": "lists of texts, each found by itself: events, implications (3-5"
                    " futures in other words), questions, decisions, entities, claims, actions",
                },
                reason=_ENRICHMENTS,
            ),
            ToolArgument("derived_from", schema={"description": "krefs"}),
            ToolArgument("depends_on"),
            ToolArgument("valid_from", schema=_ISO),
            ToolArgument("valid_until"),
            ToolArgument("confidence", schema=CERTAINTY),
        ),
        reason=f"{_PREFIX}; {why.FIXED}; what an agent says is `stated`; {why.FEW}",
        idempotent=True,
    ),
    Tool(
        "memory_update",
        ("revise",),
        "Replace a belief with a new revision; the old one stays in history. What is not given is"
        " carried over, facts and enrichments only with an unchanged text. expect guards against a"
        " concurrent change.",
        (
            ToolArgument("kref", of="what", reason="an agent revises by address; `revise` too"),
            ToolArgument("text", schema={"required": True}, reason="an address needs new words"),
            ToolArgument("facts"),
            ToolArgument(
                "enrichments",
                of="events implications questions decisions entities claims actions",
                schema={"type": "object"},
                reason=_ENRICHMENTS,
            ),
            ToolArgument("expect", schema={"description": "the revision number you saw"}),
            ToolArgument("valid_from", schema={"description": "ISO 8601; empty: no bound"}),
            ToolArgument("valid_until"),
            ToolArgument("confidence", schema=CERTAINTY),
        ),
        reason=f"{_PREFIX}, where models look for update; {why.FIXED}; {why.FEW}",
    ),
    Tool(
        "memory_forget",
        ("forget",),
        "Retire a belief, turn, thread or space; an operator can undo it. More than one thing is"
        " previewed first and needs confirm.",
        (
            ToolArgument("kref"),
            ToolArgument("confirm", schema={"description": "token of the preview"}),
        ),
        reason=f"{_PREFIX}; an agent retires and never erases",
        destructive=True,
    ),
    Tool(
        "memory_get",
        ("get", "history", "as_of", "explain"),
        "Fetch what a kref addresses, with its history, as of a time, or explained: grounds, what"
        " it replaced and why, conflicts.",
        (
            ToolArgument("kref"),
            ToolArgument(
                "history", default=False, schema={"type": "boolean"}, reason="calls `history`"
            ),
            ToolArgument(
                "explain", default=False, schema={"type": "boolean"}, reason="calls `explain`"
            ),
            ToolArgument(
                "as_of", of="time", default=None, schema=_ISO, reason="calls `as_of` at this time"
            ),
        ),
        reason=f"{_PREFIX}; one tool for four verbs: fewer tokens",
    ),
    Tool(
        "memory_context",
        ("recent",),
        "A brief to begin with: the newest beliefs and turns within a budget.",
        (
            ToolArgument(
                "tokens_max",
                default=800,
                schema={"type": "integer"},
                reason="a budget instead of a number of hits: an agent's context is small",
            ),
        ),
        reason=f"{_PREFIX}; it chooses kinds and limit itself, for the beginning of a conversation",
    ),
    Tool(
        "memory_consolidate",
        ("consolidate",),
        "Make a conversation into a summary, events, facts, decisions and tasks. Without structure"
        " it answers with turns, schema and digest: read them, and call again with your structure.",
        (
            ToolArgument(
                "target", schema={"description": "a session or thread; empty: what waits"}
            ),
            ToolArgument("structure"),
            ToolArgument("digest"),
        ),
        reason=f"{_PREFIX}; {why.FIXED}; {why.FEW}; the host is the producer, and no client may"
        " name a program",
        idempotent=True,
        profile="full",
    ),
    Tool(
        "memory_status",
        ("stats", "pending"),
        "What memory holds, where, and whether all works.",
        reason=f"{_PREFIX}; one tool for both verbs",
    ),
)
