"""Calling a verb for a client: on which object, with which rights, and how a long one is followed.

A verb of the whole file runs on a copy of the opened file with the identity of the session, so that
the store checks that role and the log has that name, though a server opened the file as operator.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

from doxa.app import Memory, Session
from doxa.app.verbs import LOCAL, Verb
from doxa.base.errors import RoleError
from doxa.base.ids import ROLES

_SHARED = frozenset(("stats", "pending", "log"))  # of the file, or of bound projects alone


class CallCancelled(Exception):
    """The client is no longer interested: a long verb stops after its current batch."""


class CallMeter:
    """The progress of a call, and whether it was cancelled. Thread-safe."""

    def __init__(self, report: Callable[[int], None] | None = None) -> None:
        self._report, self._cancelled, self.done = report, threading.Event(), 0

    def add(self, count: int) -> None:
        """Note that so many more are done. Raises CallCancelled where nobody waits any more."""
        if self._cancelled.is_set():
            raise CallCancelled
        self.done += count
        if self._report is not None:
            self._report(self.done)

    def cancel(self) -> None:
        self._cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()


def owner_of(verb: Verb, session: Session) -> Any:
    """Return the object whose method a verb is. Raises RoleError where the verb would act with
    more rights than the session has."""
    if verb.owner == "Session":
        return session
    memory = session.memory
    if verb.name in _SHARED:
        return memory
    if not isinstance(memory, Memory):
        raise RoleError(
            f"This session is bound to projects; {verb.name} concerns the whole file.",
            next_step="Ask the operator, whose session is not bound.",
        )
    rank = ROLES.index(session.identity.role)
    if (verb.writes or verb.name in LOCAL) and rank < ROLES.index(memory.config.role):
        raise RoleError(
            f"{verb.name} concerns the whole file; this login has the role"
            f" {session.identity.role}.",
            next_step="Ask the operator to do it.",
            role=session.identity.role,
        )
    return _in_the_name_of(session, memory)


def _in_the_name_of(session: Session, memory: Memory) -> Memory:
    """Return the same opened file with the identity of a session: the store checks its role, and
    the log has its name."""
    found = copy.copy(memory)
    found.identity = session.identity
    return found
