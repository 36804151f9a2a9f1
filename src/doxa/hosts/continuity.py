"""Continuity of the conversations of hosts: sessions that are opened, handed off and archived.

A handoff goes into a context without a word of a message: a message may hold what somebody pasted.
It says when, how much, and about what, and has those of its key points and commitments that may be
injected and that the brief does not say; `doxa handoff-show` shows the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from doxa.agent.context.beliefs import LINE_CHARS
from doxa.agent.context.obligations import obligations
from doxa.agent.context.quoting import shown
from doxa.agent.context.stages import ContextLine
from doxa.app import Session
from doxa.app.sessions.agent.context import situation_of
from doxa.base.clock import format_time
from doxa.base.errors import DoxaError
from doxa.base.limits import CONSOLIDATE_COMPACTIONS_ITEMS_MIN
from doxa.base.quoting import bare
from doxa.belief import parse_kref, place_of
from doxa.hosts.events import EMPTIED, HookEvent, digest_of
from doxa.hosts.spool import Spooled
from doxa.ingestion.threads import CONVERSATIONS, thread_kref
from doxa.redaction.redact import redact
from doxa.redaction.stripping import BLOCK
from doxa.store import Identity

if TYPE_CHECKING:
    from doxa.agent.continuity.handoff import SessionKey
    from doxa.agent.continuity.view import HandoffView, KeyPoint, OpenEnd
    from doxa.hosts.brief import Brief

_TOPIC_CHARS, _TOPIC_WORDS = 40, 3
_NOTED = "Noted in it, verified or stated by the user:"
_OPEN = "Left open in it:"
_COMPACTED = (
    "It was compacted {count} times. Say so to the user: a new conversation begins from what memory"
    " keeps, and memory_recall finds what this one has lost."
)
_BATCHES = 5  # of the log at a time: the archive of a large memory catches up over several turns


@dataclass(frozen=True, slots=True)
class Handed:
    """What a conversation is handed, as a block, and the addresses of the beliefs in it."""

    block: str = ""
    krefs: tuple[str, ...] = ()


def begun(session: Session, event: HookEvent, made: Brief) -> Handed:
    """Open the conversation of an event, and return what it is handed in addition to its brief.
    After a compaction that is where the conversation itself stood; so it is after a reset, unless
    the host went on under another id."""
    from doxa.agent.continuity.modes import mode_of_host

    own, mode = _as_host(session, event.host, made.project), mode_of_host(event.host)
    name = conversation_of(event.session)
    try:
        reset = event.source == "clear" and own.handoff_write(name, reason="reset", mode=mode).kref
        if reset or event.source in EMPTIED - {"clear"}:
            found = own.handoff_show(name, mode=mode)
        elif event.source == "resume" and not _took(own, name):
            found = None  # its context holds where it stood
        else:
            _catch_up(own, name, "reset" if event.source == "clear" else "switch")
            found = own.session_open(name, mode=mode).handoff
    except DoxaError:  # continuity never keeps a host from its brief
        return Handed()
    return Handed() if found is None else _handed(own, found, made)


def _handed(own: Session, found: HandoffView, made: Brief) -> Handed:
    from doxa.agent.continuity.view import prose

    topics = tuple(
        one
        for one in found.topics
        if len(one.topic) <= _TOPIC_CHARS and len(one.topic.split()) <= _TOPIC_WORDS
    )
    said = replace(found, points=(), open=(), topics=topics)
    text = prose(said, language="en", now=found.taken or found.made, roles=())
    if not text:
        return Handed()
    new = set(made.known) - {line.kref for line in made.lines}
    noted = [_point_line(one) for one in found.points if one.kref in new]
    left = [_open_line(one) for one in found.open if one.kref in new]
    checked = obligations([*noted, *left], situation_of(own, machine=True))
    parts = [shown(text, len(text))]
    if found.compactions >= CONSOLIDATE_COMPACTIONS_ITEMS_MIN:
        parts.append(_COMPACTED.format(count=found.compactions))
    for title, lines in ((_NOTED, noted), (_OPEN, left)):
        parts += [title, *(checked(line).text for line in lines)] if lines else []
    krefs = tuple(line.kref for line in (*noted, *left))
    return Handed("\n".join((f"<{BLOCK}>", *parts, f"</{BLOCK}>")), krefs)


def _point_line(one: KeyPoint) -> ContextLine:
    how = "verified" if one.trust == "verified" else "stated"
    day = format_time(one.time)[:10]
    text = f"- {shown(one.text, LINE_CHARS)} [{bare(parse_kref(one.kref).kind)}, {how} {day}]"
    return ContextLine("continuity", text, f"{one.kref}: a key point of the handoff", one.kref)


def _open_line(one: OpenEnd) -> ContextLine:
    due = f", due {bare(one.due)}" if one.due else ""
    text = f"- {shown(one.text, LINE_CHARS)} [{bare(one.kind)}{due}]"
    return ContextLine("continuity", text, f"{one.kref}: left open in the handoff", one.kref)


def ended(session: Session, event: HookEvent, project: str) -> None:
    """Hand off a conversation that ends, at once."""
    from doxa.agent.continuity.modes import mode_of_host

    with suppress(DoxaError):
        own = _as_host(session, event.host, project)
        name = conversation_of(event.session)
        own.handoff_write(name, reason="end", mode=mode_of_host(event.host))


def conversation_of(session: str) -> str:
    """Return the name of a conversation and its thread. An id that looks like a credential, such as
    OpenCode's ses_…, would be redacted, and all conversations of the host would be one."""
    for name in (session, session.replace("_", "-")):
        if redact(name).text == name:
            return name
    return f"conversation-{digest_of(session)}"


def _key(own: Session, name: str) -> SessionKey:
    from doxa.agent.continuity.handoff import SessionKey

    thread = str(thread_kref(place_of(own.project, CONVERSATIONS), name))
    return SessionKey(own.project, own.identity.actor, thread, name)


def _took(own: Session, name: str) -> bool:
    from doxa.agent.continuity.handoff import taken_by

    with own.memory.store.read() as reader:
        return taken_by(reader, _key(own, name)) is not None


def _catch_up(own: Session, name: str, reason: str) -> None:
    """Hand off what the last conversation has said since its handoff, before another one takes it:
    few hosts tell when a conversation ends, and those that do wait for nothing."""
    from doxa.agent.continuity.handoff import SessionKey, due, ready_handoffs

    with own.memory.store.read() as reader:
        for one in ready_handoffs(reader, own.project, own.identity.actor, limit=1):
            thread, last = str(one.data["thread"]), str(one.data["session"])
            key = SessionKey(own.project, own.identity.actor, thread, last)
            if last == name or not due(reader, key, "turn")[1]:
                return
            break
        else:
            return
    own.handoff_write(last, thread=thread, reason=reason)


def stored(session: Session, project: str, lines: Iterable[Spooled]) -> None:
    """Hand off the conversations that lines of the spool were stored for, where it is due."""
    from doxa.agent.continuity.modes import mode_of_host

    reasons: dict[tuple[str, str], str] = {}
    for line in lines:
        key = (line.host, conversation_of(line.session))
        compacted = line.kind == "compaction" or reasons.get(key) == "compaction"
        reasons[key] = "compaction" if compacted else "turn"
    for (host, name), reason in reasons.items():
        with suppress(DoxaError):
            own = _as_host(session, host, project)
            own.handoff_write(name, reason=reason, mode=mode_of_host(host))


def archived(session: Session, hosts: Iterable[str]) -> None:
    """Archive what was stored in the name of the session and of hosts."""
    from doxa.agent.continuity.archive import write_archive

    store = session.memory.store
    if store.binding is not None or store.read_only:
        return
    for actor in dict.fromkeys((session.identity.actor, *hosts)):
        with suppress(DoxaError, OSError):
            write_archive(store, actor, batches=_BATCHES)


def _as_host(session: Session, host: str, project: str) -> Session:
    """The same rights in the name of a host: an agent keeps its records under its own name."""
    return Session(session.memory, Identity(host, session.identity.role), project, session.context)
