"""What adapters of frameworks that run conversations share: what is injected, what is stored, and
the tools of agents. The rules are those of hooks (`hosts`)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from doxa.app import Memory, Session
from doxa.base.errors import DoxaError, InputError
from doxa.hosts.brief import brief
from doxa.hosts.capture import store_lines
from doxa.hosts.events import HookEvent, digest_of
from doxa.hosts.pipeline import asked
from doxa.hosts.spool import line_of
from doxa.servers.mcp.tools import call

_LOG = logging.getLogger("doxa.adapters")


def check_session(session: object) -> Session:
    """Return a session that an adapter was given. Raises InputError for anything else."""
    if isinstance(session, Session):
        return session
    raise InputError(
        f"A session is needed; this is {type(session).__name__}.",
        next_step="Give doxa.open(path).session(project=...).",
        field="session",
    )


def confined(session: object) -> Session:
    """Return a session that was given, bound to its project: neither the brief nor a tool's
    arguments, which a model writes, reach another one. Raises InputError."""
    given = check_session(session)
    memory = given.memory
    if not isinstance(memory, Memory):  # bound already
        return given
    return memory.session(
        actor=given.identity.actor,
        role=given.identity.role,
        project=given.project,
        projects=(given.project,),
        context=given.context,
    )


def opening(session: Session) -> tuple[str, list[str]]:
    """Return the brief as a block for the system's instructions, and the digests of the beliefs in
    it; ("", []) where memory cannot be read, which is logged."""
    try:
        made = brief(session)
    except DoxaError as error:
        _LOG.warning("the brief is left out: %s", error)
        return "", []
    return made.block(), [digest_of(line.kref) for line in made.lines if line.kref]


def about(session: Session, prompt: str, *, given: Collection[str] = ()) -> str:
    """Return what a person stands for about a prompt as a block; usually ""."""
    try:
        return asked(session, prompt, given=given)[0]
    except DoxaError as error:
        _LOG.warning("recall is left out: %s", error)
        return ""


def store_turns(
    session: Session, framework: str, conversation: str, said: Iterable[tuple[str, str]]
) -> int:
    """Store what was said, as pairs of prompt or answer and a text; returns how many turns are new.
    A text is stored once in a conversation. What fails is logged: it never ends an agent's run."""
    events = [HookEvent(kind, framework, conversation, text=text) for kind, text in said]
    lines = [line_of(event, session.project) for event in events]
    try:
        added = store_lines(session, session.project, [line for line in lines if line]).added
        session.memory.wake()
    except DoxaError as error:
        _LOG.warning("%d messages are not stored: %s", len(lines), error)
        return 0
    return added


def carry_out(session: Session, name: str, arguments: Mapping[str, Any]) -> str:
    """Carry out a tool of the MCP profile `core`; returns the text for the model, also of an
    error."""
    return call(session, name, arguments)[0]
