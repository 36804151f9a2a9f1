"""Continuity of the conversations of hosts: sessions that are opened, handed off and archived.

A handoff goes into a context without a word of a message: a message may hold what somebody pasted.
It says when, how much, and about what; `doxa handoff-show` shows the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from doxa.agent.context.quoting import shown
from doxa.app import Session
from doxa.base.errors import DoxaError
from doxa.hosts.events import EMPTIED, HookEvent
from doxa.hosts.spool import Spooled
from doxa.redaction.stripping import BLOCK
from doxa.store import Identity

_TOPIC_CHARS, _TOPIC_WORDS = 40, 3
_BATCHES = 5  # of the log at a time: the archive of a large memory catches up over several turns


def begun(session: Session, event: HookEvent, project: str) -> str:
    """Open the conversation of an event, and return what it is handed as a block; "" if nothing.
    After a compaction that is where the conversation itself stood."""
    from doxa.agent.continuity.modes import mode_of_host
    from doxa.agent.continuity.view import prose

    own, mode = _as_host(session, event.host, project), mode_of_host(event.host)
    try:
        if event.source in EMPTIED:
            found = own.handoff_show(event.session, mode=mode)
        else:
            found = own.session_open(event.session, mode=mode).handoff
    except DoxaError:  # continuity never keeps a host from its brief
        return ""
    if found is None:
        return ""
    topics = tuple(
        one
        for one in found.topics
        if len(one.topic) <= _TOPIC_CHARS and len(one.topic.split()) <= _TOPIC_WORDS
    )
    said = replace(found, points=(), open=(), topics=topics)
    text = prose(said, language="en", now=found.taken or found.made, roles=())
    return f"<{BLOCK}>\n{shown(text, len(text))}\n</{BLOCK}>" if text else ""


def stored(session: Session, project: str, lines: Iterable[Spooled]) -> None:
    """Hand off the conversations that lines of the spool were stored for, where it is due."""
    from doxa.agent.continuity.modes import mode_of_host

    reasons: dict[tuple[str, str], str] = {}
    for line in lines:
        key = (line.host, line.session)
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
