"""The tool names of a published taxonomy, each as a verb of doxa, or why there is no tool.

Source: *Graph-Native Cognitive Memory for AI Agents* (Kumiho, 2026), section 11.2. It counts 51
tools, names 32 of them and says that there are 13 more that create, change and delete; these, and
nine that read or store and are not named there, are the names of the server that it describes.
"""

from __future__ import annotations

from typing import NamedTuple

from doxa.app.verbs.model import Tool, ToolArgument

CATEGORIES = (
    "Cognitive memory lifecycle",
    "Working memory",
    "Graph navigation",
    "Reasoning and provenance",
    "Temporal operations",
    "Graph mutation",
)
_LIFE, _CHAT, _LOOK, _REASON, _TIME, _CHANGE = CATEGORIES
_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}
_TEXTS = {"type": "array", "items": {"type": "string"}}


class Named(NamedTuple):
    """A name of the taxonomy: its category, the tool that serves it (none: `note` says what to do
    instead), and what differs. `published` is False for names that the paper does not spell out."""

    name: str
    category: str
    tool: Tool | None
    note: str = ""
    published: bool = True


def _tool(name: str, *verbs: str, text: str = "", reason: str = "", **more: object) -> Tool:
    return Tool(name, verbs, text, reason=reason or "the taxonomy's name", **more)  # type: ignore[arg-type]


def _argument(name: str, of: str = "", **more: object) -> ToolArgument:
    return ToolArgument(name, of, reason="the taxonomy's tool has it", **more)  # type: ignore[arg-type]


_KREF, _ERASE, _CONFIRM = (
    ToolArgument("kref"),
    ToolArgument("erase"),
    ToolArgument("confirm", schema={"description": "token of the preview"}),
)


def _delete(name: str, what: str) -> Tool:
    return _tool(
        name,
        "forget",
        text=f"Retire {what}; with erase, destroy its content for good, as operator.",
        arguments=(_KREF, _ERASE, _CONFIRM),
        destructive=True,
    )


def _get(name: str, text: str) -> Tool:
    return _tool(name, "get", text=text, arguments=(_KREF,))


_INGEST = _tool(
    "memory_ingest",
    "chat_add",
    "recall",
    text="Add the user's message to working memory, and recall what bears on it.",
    arguments=(
        ToolArgument("text"),
        ToolArgument("session"),
        ToolArgument("user"),
        ToolArgument("context"),
        ToolArgument("limit", default=5, reason="it is read with each message"),
    ),
)
_SEARCH = _tool(
    "search_items",
    "recall",
    text="Search with every filter: space, kinds, tag, trust, speaker, times.",
    reason="one search serves names, texts and meaning",
)
_EDGES = _tool("get_edges", "traverse", text="List the edges of an element.", fixed={"depth": 1})
_DEPENDENTS = _tool(
    "get_dependents",
    "traverse",
    text="Find what depends on a belief, following edges that lead to it.",
    arguments=(_KREF, ToolArgument("depth"), ToolArgument("types")),
    fixed={"direction": "in"},
)
_BY_TAG = _tool(
    "get_revision_by_tag",
    "get",
    text="Return the revision that a tag points to.",
    arguments=(_KREF, _argument("tag", schema=_TEXT | {"required": True})),
)
_BY_LOCATION = _tool(
    "get_artifacts_by_location",
    "read",
    text="Find the artifacts that point to a location.",
    arguments=(_argument("location", schema=_TEXT | {"required": True}),),
)
_METADATA = _tool(
    "set_metadata",
    "revise",
    text="Give a belief metadata, in a new revision with the same text.",
    arguments=(
        ToolArgument("kref", of="what", reason="revisions are immutable; by address"),
        ToolArgument("metadata", schema={"required": True}, reason="it is what is set"),
        ToolArgument("expect"),
    ),
)
_REVISION = _tool(
    "create_revision",
    "revise",
    reason="a revision has a text, and contradictions are resolved",
)
_RETRIEVE = _tool(
    "memory_retrieve",
    "recall",
    text="Find beliefs by newest first or best match, with few filters.",
    arguments=(
        _argument("query", "text"),
        ToolArgument("space"),
        ToolArgument("kinds"),
        ToolArgument("limit"),
        ToolArgument("history"),
        ToolArgument("order"),
    ),
)
_MEMBERS = (
    ToolArgument("kref"),
    _argument("members", schema=_TEXTS | {"required": True}),
)
_MADE = "a project or space begins with the first belief that is stated in it"

TAXONOMY: tuple[Named, ...] = (
    Named("memory_ingest", _LIFE, _INGEST, "beliefs are stated by memory_remember"),
    Named("memory_recall", _LIFE, None, "the tool of the default profile"),
    Named("memory_consolidate", _LIFE, None, "the agent's own model summarises"),
    Named("memory_discover_edges", _LIFE, _tool("memory_discover_edges", "discover_edges")),
    Named("memory_store_execution", _LIFE, _tool("memory_store_execution", "store_execution")),
    Named(
        "memory_dream_state",
        _LIFE,
        _tool("memory_dream_state", "dream"),
    ),
    Named(
        "memory_add_response",
        _LIFE,
        _tool("memory_add_response", "add_response"),
        "a turn with edges to its sources; for working memory alone, chat_add",
    ),
    Named("chat_add", _CHAT, _tool("chat_add", "chat_add")),
    Named("chat_get", _CHAT, _tool("chat_get", "chat_get")),
    Named("chat_clear", _CHAT, _tool("chat_clear", "chat_clear")),
    Named("get_project", _LOOK, _get("get_project", "Return a project with what is in it.")),
    Named("get_spaces", _LOOK, _tool("get_spaces", "contents")),
    Named("get_item", _LOOK, _get("get_item", "Return what an item says now.")),
    Named("get_revision", _LOOK, _get("get_revision", "Return one revision: kref://...?r=N.")),
    Named(
        "get_artifacts",
        _LOOK,
        _tool(
            "get_artifacts",
            "traverse",
            text="List the artifacts of a revision.",
            arguments=(_KREF,),
            fixed={"depth": 1, "types": ("HAS_ARTIFACT",)},
        ),
    ),
    Named("search_items", _LOOK, _SEARCH),
    Named(
        "list_projects",
        _LOOK,
        _tool("list_projects", "contents", text="List the projects.", fixed={"kref": ""}),
        published=False,
    ),
    Named(
        "get_space",
        _LOOK,
        _get("get_space", "Return a space with what is in it."),
        published=False,
    ),
    Named(
        "fulltext_search",
        _LOOK,
        _tool(
            "fulltext_search",
            "recall",
            text="Search by words alone.",
            arguments=tuple(map(ToolArgument, ("text", "space", "kinds", "limit", "history"))),
            fixed={"lanes": ("words",)},
        ),
        published=False,
    ),
    Named(
        "get_artifact",
        _LOOK,
        _get("get_artifact", "Return an artifact: kref://...?r=N&a=NAME."),
        published=False,
    ),
    Named(
        "get_bundle",
        _LOOK,
        _get("get_bundle", "Return a bundle with its members."),
        published=False,
    ),
    Named(
        "get_bundle_members",
        _LOOK,
        _get("get_bundle_members", "Return the members of a bundle."),
        published=False,
    ),
    Named("get_artifacts_by_location", _LOOK, _BY_LOCATION, published=False),
    Named("get_edges", _REASON, _EDGES),
    Named("get_dependencies", _REASON, _tool("get_dependencies", "provenance")),
    Named("get_dependents", _REASON, _DEPENDENTS),
    Named("analyze_impact", _REASON, _tool("analyze_impact", "impact")),
    Named("find_path", _REASON, _tool("find_path", "shortest_path")),
    Named("get_provenance_summary", _REASON, _tool("get_provenance_summary", "explain")),
    Named("get_item_revisions", _TIME, _tool("get_item_revisions", "history")),
    Named("get_revision_by_tag", _TIME, _BY_TAG),
    Named("get_revision_as_of", _TIME, _tool("get_revision_as_of", "as_of")),
    Named("resolve_kref", _TIME, _get("resolve_kref", "Return what an address means now.")),
    Named("create_item", _CHANGE, _tool("create_item", "expand"), "an item has a text"),
    Named("create_revision", _CHANGE, _REVISION, "an address or a statement, and its text"),
    Named("tag_revision", _CHANGE, _tool("tag_revision", "tag")),
    Named("create_edge", _CHANGE, _tool("create_edge", "link")),
    Named("set_metadata", _CHANGE, _METADATA, "a revision is immutable: it writes the next one"),
    Named("deprecate_item", _CHANGE, _tool("deprecate_item", "deprecate")),
    Named("create_project", _CHANGE, None, _MADE, published=False),
    Named("create_space", _CHANGE, None, _MADE, published=False),
    Named("create_artifact", _CHANGE, _tool("create_artifact", "attach"), published=False),
    Named("create_bundle", _CHANGE, _tool("create_bundle", "bundle"), published=False),
    Named("untag_revision", _CHANGE, _tool("untag_revision", "untag"), published=False),
    Named(
        "add_bundle_member",
        _CHANGE,
        _tool("add_bundle_member", "bundle", text="Add items to a bundle.", arguments=_MEMBERS),
        published=False,
    ),
    Named(
        "remove_bundle_member",
        _CHANGE,
        _tool(
            "remove_bundle_member",
            "bundle",
            text="Remove items from a bundle.",
            arguments=_MEMBERS,
            destructive=True,
        ),
        published=False,
    ),
    Named("delete_space", _CHANGE, _delete("delete_space", "what is in a space"), published=False),
    Named("delete_item", _CHANGE, _delete("delete_item", "an item"), published=False),
    Named("delete_revision", _CHANGE, _delete("delete_revision", "a revision"), published=False),
    Named(
        "delete_artifact",
        _CHANGE,
        None,
        "an artifact goes with its revision: delete_revision",
        published=False,
    ),
    Named("delete_edge", _CHANGE, _tool("delete_edge", "unlink"), published=False),
    Named(
        "delete_project",
        _CHANGE,
        _delete("delete_project", "all that is in the project"),
        published=False,
    ),
    Named("memory_store", _LIFE, _tool("memory_store", "store_unit"), published=False),
    Named("memory_retrieve", _LIFE, _RETRIEVE, published=False),
)


def named_tools() -> tuple[Tool, ...]:
    """Return the tools of the taxonomy, in its order."""
    return tuple(one.tool for one in TAXONOMY if one.tool is not None)
