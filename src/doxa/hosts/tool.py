"""`memory_hook`: the events of a host through the MCP server that it runs already.

Hosts call the tool from hooks of the type `mcp_tool`. It is in no list of tools, so that no model
sees it; both Claude Code and Codex call a tool that is not listed. It answers with the host's JSON
as text, and with `{}` where anything went wrong, since a host shows an error of a hook to its
user.

What was captured is stored after the answer, by one thread; at the end of a conversation before it,
since a host ends its servers then. That thread begins when the host has its list of tools: until
then it would take the processor from the start of the server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.base.files.places import hooks_folder
from doxa.hosts.command import AUTO, folder_project, is_own_work
from doxa.hosts.events import HookEvent
from doxa.hosts.files import note_error
from doxa.hosts.formats import FORMATS, answer_of, event_of
from doxa.hosts.relay import HookListener, Request
from doxa.hosts.spool import Spool

if TYPE_CHECKING:
    from doxa.app import Session
    from doxa.hosts.pipeline import Pipeline

NAME = "memory_hook"
_SETTLING = frozenset(("open", "answer", "compaction"))
_CLOSING_S, _PAUSE_S = 2.0, 0.02  # how long the end of a conversation waits for another who stores
_STARTING_S = 2.0  # how long the thread waits for the host's first request


class HookTool:
    """The tool on one opened memory. `project` is a name, or `auto` for that of each event's
    folder."""

    def __init__(self, session: Session, *, project: str, db: Path) -> None:
        self._db = db
        self._project = project
        self._is_own_work = is_own_work()
        self._session = session
        self._listener = HookListener(hooks_folder(db), self._relayed)
        self._cold: set[str] = set()  # projects in which a conversation began
        self._due = threading.Event()
        self._ended = threading.Event()
        self._begun = threading.Event()  # the host has what it asks first
        self._thread = threading.Thread(
            target=self._settle_when_due, name="doxa-hooks", daemon=True
        )

    @cached_property
    def _pipeline(self) -> Pipeline:
        from doxa.hosts.pipeline import Pipeline

        return Pipeline(self._session, Spool(hooks_folder(self._db)))

    def start(self) -> None:
        """Start storing in the background, at once what a killed host left in the spool, and load
        the index and the model of the server's project. In a program that doxa runs as a model,
        nothing starts."""
        if self._is_own_work:
            return
        self._cold.add(self._session.project)
        self._due.set()
        self._thread.start()
        self._listener.start()

    def begin(self) -> None:
        """Let the background begin: the host has its list of tools, or calls one."""
        self._begun.set()

    def close(self) -> None:
        """Store what waits, and stop."""
        self._listener.close()
        self._ended.set()
        self._begun.set()
        self._due.set()
        if self._thread.is_alive():
            self._thread.join()

    def call(self, arguments: Mapping[str, Any]) -> str:
        """Carry out one event; returns the host's JSON. Never raises."""
        host = str(arguments.get("host", ""))
        name = str(arguments.get("event", ""))
        if self._is_own_work:
            return "{}"
        try:
            event = event_of(host, name, arguments)
            if event is None:
                raise ValueError(f"{name[:40]!r} of {host[:40]!r} is not an event with a session")
            return self._answer(event, folder_project(event.folder, self._project))
        except Exception as error:
            note_error(hooks_folder(self._db), f"{name}: {type(error).__name__}: {error}")
            return "{}"

    def _relayed(self, request: Request) -> str | None:
        """Answer an event of the command, if the command would do the same."""
        project = str(request.get("project", ""))
        event = event_of(
            str(request.get("host", "")), str(request.get("event", "")), request["document"]
        )
        if event is None or self._project not in (AUTO, project):
            return None
        folder = event.folder or str(request.get("folder", ""))
        return self._answer(event, folder_project(folder, project))

    def _answer(self, event: HookEvent, project: str) -> str:
        self.begin()
        made = self._pipeline.handle(event, project)
        if event.kind == "open":
            self._cold.add(project)
        if event.kind == "close":
            self._store_now()
        elif event.kind in _SETTLING:
            self._due.set()
        return answer_of(event.host, event.kind, made) if event.host in FORMATS else "{}"

    def _store_now(self) -> None:
        end = time.monotonic() + _CLOSING_S
        while self._pipeline.settle().busy and time.monotonic() < end:
            time.sleep(_PAUSE_S)

    def _warm(self, project: str) -> None:
        """Load the index and the model before the first prompt asks for them."""
        from doxa.agent.context.vouching import BELIEF_KINDS
        from doxa.app.session import without_access_notes
        from doxa.hosts.capture import in_project

        own = without_access_notes(in_project(self._session, project))
        own.recall("memory", kinds=BELIEF_KINDS, limit=1, strict=True)

    def _settle_when_due(self) -> None:
        self._begun.wait(_STARTING_S)
        while True:
            self._due.wait()
            self._due.clear()
            try:
                self._pipeline.settle()
                while self._cold and not self._ended.is_set():
                    self._warm(self._cold.pop())
            except Exception as error:
                note_error(hooks_folder(self._db), f"settle: {type(error).__name__}: {error}")
            if self._ended.is_set() and not self._due.is_set():
                return
