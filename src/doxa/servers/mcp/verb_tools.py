"""The tools of the full profile: a verb each, called with the arguments that were given, and the
few that combine verbs or ask a person first.

A tool that writes does so in the server's project only, whatever verb it is. Verbs of the whole
file are refused to a login with fewer rights than the file was opened with, since they act in the
name of the file itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from doxa.app import Session
from doxa.app.verbs import LOCAL, VERBS, Tool, Verb
from doxa.base.errors import InputError, RoleError
from doxa.base.ids import is_below_operator
from doxa.base.limits import MCP_EVENTS_ITEMS_MAX, MCP_ROWS_ITEMS_MAX, MCP_TEXT_CHARS_MAX
from doxa.base.quoting import bare, one_line, quoted
from doxa.belief import Change, Revision, parse_kref
from doxa.recall import Hit
from doxa.servers.calling import owner_of
from doxa.servers.mcp.calls import CallContext
from doxa.servers.mcp.core import (
    NOT_INSTRUCTIONS,
    Answer,
    by_lane,
    changed,
    forget,
    found_line,
    own,
)
from doxa.servers.mcp.schemas import answer_schema, encoded, output_of, wrapped

Call = Callable[[Session, Any, CallContext], Answer]
_ADDRESSED = ("kref", "belief")
_ELSEWHERE = frozenset((("link", "target"), ("unlink", "target")))  # may be in another project


# One verb


def verb_call(tool: Tool) -> Call:
    """Return what carries out a tool that is one verb: the arguments that were given, and the
    values that the tool fixes."""
    verb = VERBS[tool.verbs[0]]
    names = {one.name: one.of or one.name for one in tool.arguments}

    def call(session: Session, args: Any, context: CallContext) -> Answer:
        given = {
            names[name]: value
            for name, value in msgspec.structs.asdict(args).items()
            if value is not None
        }
        return answered(verb, run_verb(verb, session, dict(tool.fixed) | given, context))

    return call


def run_verb(verb: Verb, session: Session, given: dict[str, Any], context: CallContext) -> Any:
    """Call a verb with arguments by name, in the server's project."""
    owner = owner_of(verb, session)
    if verb.name in LOCAL:
        _check_local(verb, given, context)
    if verb.writes:
        _check_project(verb, session, given)
        given = given | context.keyed(verb.name)
    if any(one.name == "progress" for one in verb.parameters):
        given["progress"] = context.meter.add
    placed = [one.name for one in verb.parameters if one.positional and one.name in given]
    return getattr(owner, verb.name)(*[given.pop(name) for name in placed], **given)


def _check_local(verb: Verb, given: Mapping[str, Any], context: CallContext) -> None:
    """A verb that reads or writes a file of this machine needs a client on it, and a person."""
    place = next(str(given[one.name]) for one in verb.parameters if one.kind == "path")
    if not context.local:
        raise RoleError(
            f"{verb.name} uses a file of the server's machine, and this client may be elsewhere.",
            next_step=f"Run doxa {verb.command} on that machine.",
        )
    question = f"{verb.summary} The file is {one_line(place)[:300]}."
    bound = f"{verb.name} {place}"
    if context.can_ask and not context.confirmed(question, bound=bound):
        raise RoleError("The user declined.", next_step="Do not repeat it unasked.")
    if not context.can_ask:
        raise RoleError(
            f"{verb.name} uses the file {place[:300]!r}, which a person has to confirm, and this"
            " client cannot ask.",
            next_step=f"Let the user run doxa {verb.command}.",
        )


def _check_project(verb: Verb, session: Session, given: Mapping[str, Any]) -> None:
    for one in verb.parameters:
        value = given.get(one.name)
        addressed = one.kind in _ADDRESSED and (verb.name, one.name) not in _ELSEWHERE
        if addressed and isinstance(value, str) and value:
            own(session, value)
        if one.name == "bundles" and isinstance(value, (list, tuple)):
            for bundle in value:
                if bundle.startswith("kref:"):
                    own(session, bundle)


# Results


def answered(verb: Verb, result: Any) -> Answer:
    """Return a verb's result as a short text and as data."""
    if isinstance(result, Change):
        text, _ = changed(result)
        return text, wrapped(result, verb)
    change = getattr(result, "change", None)
    if isinstance(change, Change):
        text, _ = changed(change)
        return text, wrapped(result, verb)
    hits = _hits(result)
    if hits is not None:
        return "\n".join([NOT_INSTRUCTIONS, *by_lane(hits)]), wrapped(result, verb)
    data = wrapped(result, verb)
    return (_data_text(data) if not verb.writes else _short(data)), data


def _hits(result: Any) -> Sequence[Hit] | None:
    found = getattr(result, "hits", result)
    if isinstance(found, (list, tuple)) and found and isinstance(found[0], Hit):
        return found
    return [] if hasattr(result, "hits") else None


def _data_text(data: Mapping[str, Any]) -> str:
    """Data as lines that quote what others said: one for each thing found."""
    found = data.get("found")
    if isinstance(found, dict) and "kref" in found:
        return f"{NOT_INSTRUCTIONS}\n{found_line(found)}"
    for name in ("items", "entries", "steps", "revisions", "messages", "proposals", "rows"):
        rows = data.get(name)
        if isinstance(rows, list):
            rest = {key: value for key, value in data.items() if key != name and value}
            lines = [_row(one) for one in rows]
            return _cut("\n".join([NOT_INSTRUCTIONS, *([_short(rest)] if rest else []), *lines]))
    return f"{NOT_INSTRUCTIONS}\n{_short(data)}"


def _row(one: Any) -> str:
    if isinstance(one, dict) and "kref" in one:
        if "summary" in one or "challenger" in one:
            return found_line(one)
        said = one.get("text") or one.get("says") or ""
        rest = {
            name: value
            for name, value in one.items()
            if name not in ("kref", "text", "says", "data") and value not in ("", None, [], {})
        }
        named = bare(str(one["kref"])) + (f" {_short(rest)}" if rest else "")
        return f"- {quoted(said)} [{named}]" if said else f"- {named}"
    return f"- {_short(one)}"


def _short(data: Any) -> str:
    return _cut(one_line(msgspec.json.encode(data).decode()))


def _cut(text: str) -> str:
    if len(text) <= MCP_TEXT_CHARS_MAX:
        return text
    return text[:MCP_TEXT_CHARS_MAX] + " ... (cut; the structured result is whole)"


# Tools that combine verbs, or prepare a verb's arguments


def _where(args: Any) -> dict[str, Any]:
    """Which session of working memory is meant."""
    return {name: getattr(args, name) or "" for name in ("session", "user", "context")}


def _ingest(session: Session, args: Any, context: CallContext) -> Answer:
    """The user's message into working memory, and what memory holds of it."""
    where = _where(args)
    before = session.chat_get(**where).messages
    added = session.chat_add(args.text, **where, **context.keyed("chat_add"))
    found = session.recall(args.text, limit=args.limit)
    waiting = sum(not one.consolidated for one in before) + 1
    lines = [
        f"Added to the session {bare(added.session)}; {waiting} messages are not consolidated.",
        NOT_INSTRUCTIONS,
        *by_lane(found.hits),
    ]
    return "\n".join(lines), {
        "session": added.session,
        "working_memory": encoded(before),
        "long_term_memory": encoded(found.hits),
        "to_consolidate": waiting,
    }


def _by_tag(session: Session, args: Any, _: CallContext) -> Answer:
    kref = replace(parse_kref(args.kref).item(), tag=args.tag)
    return answered(VERBS["get"], session.get(parse_kref(str(kref))))


def _set_metadata(session: Session, args: Any, context: CallContext) -> Answer:
    """The next revision, with the same text and these values besides those that it has."""
    found = session.get(own(session, args.kref).item())
    if not isinstance(found, Revision):
        raise InputError(
            f"{args.kref} is not a belief.", next_step="Give the address of one.", kref=args.kref
        )
    verb = VERBS["revise"]
    given = {
        "what": args.kref,
        "text": found.summary,
        "metadata": dict(found.metadata) | args.metadata,
        "expect": found.number if args.expect is None else args.expect,
    }
    return answered(verb, run_verb(verb, session, given, context))


def _by_location(session: Session, args: Any, _: CallContext) -> Answer:
    text = (
        "MATCH (a:Artifact {location: $location})"
        " RETURN a.kref AS kref, a.name AS name, a.location AS location ORDER BY kref"
    )
    return _rows(session, text, {"location": args.location}, None)


def _read(session: Session, args: Any, _: CallContext) -> Answer:
    return _rows(session, args.text, args.params, args.timeout_ms)


def _rows(
    session: Session, text: str, params: Mapping[str, Any] | None, timeout_ms: int | None
) -> Answer:
    """The first rows of a statement that reads."""
    from doxa.servers.http.values import plain  # the only part that needs the extra `http`

    found = session.read(text, params, timeout_ms=timeout_ms)
    rows = [
        dict(zip(found.columns, map(plain, row), strict=True))
        for row in itertools.islice(found, MCP_ROWS_ITEMS_MAX + 1)
    ]
    data = {
        "columns": list(found.columns),
        "rows": rows[:MCP_ROWS_ITEMS_MAX],
        "cut": len(rows) > MCP_ROWS_ITEMS_MAX,
    }
    return _data_text({"rows": data["rows"], "cut": data["cut"]}), data


def _events(session: Session, args: Any, _: CallContext) -> Answer:
    """The first events after a position, and the position of the next call."""
    given = {
        name: value for name, value in msgspec.structs.asdict(args).items() if value is not None
    }
    given["limit"] = min(given.get("limit", MCP_EVENTS_ITEMS_MAX), MCP_EVENTS_ITEMS_MAX)
    with session.events(**given) as stream:
        found = [one.as_dict() | {"id": one.id, "kref": one.kref} for one in stream]
    data: dict[str, Any] = {"items": encoded(found)}
    if len(found) == given["limit"] and found:
        data["next"] = str(found[-1]["id"])
    return _data_text(data), data


def _deletion(session: Session, args: Any, context: CallContext) -> Answer:
    return forget(session, args.kref, args.confirm or "", context, erase=bool(args.erase))


def _resolve(session: Session, args: Any, context: CallContext) -> Answer:
    """Decide a conflict. A person who can be asked decides; the argument is a proposal."""
    verb = VERBS["resolve"]
    given = {
        name: value for name, value in msgspec.structs.asdict(args).items() if value is not None
    }
    may_decide = not is_below_operator(session.identity.role)
    if context.can_ask and may_decide and not given.get("dry_run"):
        found: Any = session.get(args.conflict)
        if not hasattr(found, "challenger"):
            raise InputError(
                f"{args.conflict} is not a conflict.",
                next_step="List conflicts with memory_conflicts.",
                kref=args.conflict,
            )
        held = "; ".join(f"{quoted(one.summary)} ({one.trust})" for one in found.held)
        bound = f"{found.kref} {found.challenger.kref} {[one.kref for one in found.held]}"
        decision = context.decided(
            f"{quoted(found.challenger.summary)} ({found.challenger.trust}) contradicts {held}."
            f" Proposed: {given['decision']}.",
            bound=bound,
            choices=verb.parameter("decision").choices,
        )
        if decision is None:
            raise RoleError("The user declined to decide.", next_step="Leave the conflict open.")
        given["decision"] = decision
    return answered(verb, run_verb(verb, session, given, context))


def _confirmed_erasure(name: str) -> Call:
    """A verb that erases: a person says yes to the preview, or the caller gives its token."""
    verb = VERBS[name]

    def call(session: Session, args: Any, context: CallContext) -> Answer:
        given = {
            key: value for key, value in msgspec.structs.asdict(args).items() if value is not None
        }
        if not given.get("confirm"):
            preview = run_verb(verb, session, given | {"preview": True}, context)
            if not context.can_ask:
                text = (
                    f"{preview.count} things would be erased. Call again with"
                    f" confirm={preview.token!r} if that is what the user wants."
                )
                return text, wrapped(preview, verb)
            names = ", ".join(map(bare, preview.krefs[:5]))
            if not context.confirmed(
                f"{preview.count} things would be erased for good: {names}.", bound=preview.token
            ):
                return "Declined by the user: nothing was changed.", wrapped(preview, verb)
            given["confirm"] = preview.token
        done = run_verb(verb, session, given, context)
        return f"erased: {done.count}", wrapped(done, verb)

    return call


_MEMBERS = {"add_bundle_member": "add", "remove_bundle_member": "remove"}


def _bundle(which: str) -> Call:
    verb = VERBS["bundle"]

    def call(session: Session, args: Any, context: CallContext) -> Answer:
        given = {"kref": args.kref, which: args.members}
        return answered(verb, run_verb(verb, session, given, context))

    return call


_COMBINED: Mapping[str, Call] = {
    "memory_ingest": _ingest,
    "get_revision_by_tag": _by_tag,
    "set_metadata": _set_metadata,
    "get_artifacts_by_location": _by_location,
    "memory_read": _read,
    "memory_events": _events,
    "memory_resolve": _resolve,
    "memory_erase": _confirmed_erasure("erase"),
    "memory_purge": _confirmed_erasure("purge"),
    **{
        name: _deletion
        for name in ("delete_item", "delete_space", "delete_revision", "delete_project")
    },
    **{name: _bundle(which) for name, which in _MEMBERS.items()},
}
_LIST, _TEXT = {"type": "array"}, {"type": "string"}
_ROWS = answer_schema({"columns": _LIST, "rows": _LIST, "cut": {"type": "boolean"}}, ("rows",))
_OUTPUTS: Mapping[str, dict[str, Any]] = {
    "memory_ingest": answer_schema(
        {"session": _TEXT, "working_memory": _LIST, "long_term_memory": _LIST}, ("session",)
    ),
    "get_artifacts_by_location": _ROWS,
    "memory_read": _ROWS,
    "memory_events": answer_schema({"items": _LIST, "next": _TEXT}, ("items",)),
    **{
        name: answer_schema({"done": {"type": "boolean"}, "krefs": _LIST}, ("done",))
        for name in ("delete_item", "delete_space", "delete_revision", "delete_project")
    },
}


def call_of(tool: Tool) -> Call:
    """Return what carries out a tool of the full profile."""
    return _COMBINED.get(tool.name) or verb_call(tool)


def output_schema(tool: Tool) -> dict[str, Any]:
    """Return the schema of what a tool of the full profile returns."""
    return _OUTPUTS.get(tool.name) or output_of(VERBS[tool.verbs[0]])
