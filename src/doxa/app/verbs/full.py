"""The MCP tools of the full profile: those of the default profile, the names of the published
taxonomy (`taxonomy.py`), and a tool for every verb that none of them calls.

    memory_recall, ...                  the default profile, as it is
    get_item, create_edge, ...          a name of the taxonomy: a verb, some values fixed
    memory_conflicts, memory_undo, ...  any other verb, under its name

What a tool takes, and what it is called for, comes from the verb. A verb that is added to the table
is a tool here without further ado, unless its `absent` names a reason of its own for MCP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Parameter, Tool, ToolArgument, Verb
from doxa.app.verbs.taxonomy import named_tools

_DEFAULT_PROFILE = (why.OPERATOR, why.FEW)  # reasons that concern the default profile alone
_UNSERVED = ("function", "object", "path")
_RUNS_ANYWHERE = "a statement that writes may write in any project"
NO_TOOL: Mapping[str, str] = {
    "run": _RUNS_ANYWHERE,
    "write": _RUNS_ANYWHERE,
    "graph": "a result that streams belongs to a connection",
    "export": "`memory_export_to` writes it to a file",
    "set_cursor": "a cursor is a program's, not an agent's",
    "cursors": "a cursor is a program's, not an agent's",
    "attachment_add": "it reads a file of the machine that serves",
    "artifact_file": "it opens a file of the machine that serves",
    "chat_snapshot": "`memory_consolidate` reads them",
    "chat_consolidated": "`memory_consolidate` calls it",
}
_NAMES: Mapping[str, str] = {  # the taxonomy gives memory_ingest another meaning
    "ingest": "memory_ingest_messages",
    "export_to": "memory_export",
}
_FILES = ("artifacts", "folder")  # of the server's machine; create_artifact takes a location
_LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "store_unit": _FILES,
    "store_execution": _FILES,
    "events": ("cursor", "follow", "ack"),  # the position is the caller's: `after`
    "ingest": ("format",),  # no file is read
    "purge": ("preview",),  # the first call is the preview, or a person is asked
    "erase": ("preview",),
}
# Writing verbs that take nothing away. Every other one that writes is called destructive.
_ADDITIVE = frozenset(
    "remember tell revise expand supersede restore rollback tag link attach bundle chat_add"
    " chat_consolidated ingest extract embed resolve constrain hold quota spend_cap import_"
    " store_unit store_execution add_response discover_edges mention record_mentions"
    " consolidate dream attachment_note".split()
)
_OPEN_WORLD = frozenset(("import_",))  # what it reads comes from elsewhere
# Verbs whose path arguments are files of the machine that serves.
LOCAL = frozenset(("backup", "export_to", "export_subject", "import_"))


def full_tools(core: Sequence[Tool], verbs: Sequence[Verb]) -> tuple[Tool, ...]:
    """Return the tools of the full profile, in the order in which they are listed."""
    by_name = {verb.name: verb for verb in verbs}
    listed = {tool.name for tool in core}
    named = tuple(_completed(tool, by_name, listed) for tool in named_tools())
    covered = {name for tool in core for name in tool.verbs}
    covered |= {tool.verbs[0] for tool in named_tools() if is_whole(tool)}
    return (*core, *named, *(_of_verb(verb) for verb in verbs if _offered(verb, covered)))


def _offered(verb: Verb, covered: set[str]) -> bool:
    reason = verb.absent.get("mcp")
    return verb.name not in covered | NO_TOOL.keys() and reason in (None, *_DEFAULT_PROFILE)


def _of_verb(verb: Verb) -> Tool:
    return Tool(
        tool_name(verb),
        (verb.name,),
        verb.summary,
        tuple(ToolArgument(one.name) for one in taken(verb)),
        reason="it is the verb",
        destructive=is_destructive(verb),
        idempotent=verb.writes and verb.idempotent,
        open_world=verb.name in _OPEN_WORLD,
    )


def _completed(tool: Tool, verbs: Mapping[str, Verb], listed: set[str]) -> Tool:
    """Return a tool of the taxonomy with the arguments of its verb, where it names none itself,
    and the name of the verb as an alias, where it is the whole verb."""
    first = verbs[tool.verbs[0]]
    arguments = tool.arguments or tuple(
        ToolArgument(one.name) for one in taken(first) if one.name not in tool.fixed
    )
    alias = tool_name(first) if is_whole(tool) else tool.name
    return Tool(
        tool.name,
        tool.verbs,
        tool.description or first.summary,
        arguments,
        tool.reason,
        tool.destructive or (len(tool.verbs) == 1 and is_destructive(first)),
        tool.idempotent or (first.writes and first.idempotent),
        fixed=tool.fixed,
        aliases=() if alias in listed | {tool.name} else (alias,),
    )


def is_whole(tool: Tool) -> bool:
    """Return whether a tool of the taxonomy is one verb with all that it takes."""
    return len(tool.verbs) == 1 and not tool.fixed and not tool.arguments


def tool_name(verb: Verb) -> str:
    """Return the name of a verb as a tool: hosts show the tools of all servers in one list."""
    name = _NAMES.get(verb.name, verb.name.strip("_"))
    return name if name.startswith(("chat_", "memory_")) else f"memory_{name}"


def taken(verb: Verb) -> Iterator[Parameter]:
    """Iterate over the parameters that a tool of this verb takes. The project is the server's, and
    idempotency keys are the host's, in the `_meta` of the request."""
    left_out = ("project", "idempotency_key", *_LEFT_OUT.get(verb.name, ()))
    for one in verb.parameters:
        served = (
            one.kind not in _UNSERVED
            or (one.kind == "path" and verb.name in LOCAL)
            or (verb.name, one.name) == ("events", "after")  # the id of an event
        )
        reason = one.absent.get("mcp")
        if served and one.name not in left_out and reason in (None, *_DEFAULT_PROFILE):
            yield one


def is_destructive(verb: Verb) -> bool:
    """Return whether a tool of this verb may take something away."""
    return verb.writes and verb.name not in _ADDITIVE
