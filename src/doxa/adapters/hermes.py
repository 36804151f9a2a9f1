"""Hermes: a memory provider in Hermes' own process.

    from doxa.adapters.hermes import HermesMemory

    def register(context):
        context.register_memory_provider(HermesMemory(project="auto"))

`doxa setup hermes` writes this file. Hermes puts what `prefetch` returns into the message of the
user as "authoritative reference data", so that the rule of hooks holds here: only what a person
stands for is injected, and everything else comes through tools. A turn is stored when Hermes
reports that it is complete; sub-agents and scheduled runs read and store nothing.

Hermes gives every agent of a process a provider of its own. They share the opened file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from doxa.adapters.framework import require
from doxa.adapters.naming import label, label_of
from doxa.app import Memory, Session, default_path, open_memory
from doxa.base.errors import DoxaError, InputError, NotFoundError
from doxa.base.files.places import hooks_folder
from doxa.belief import Revision
from doxa.hosts.command import folder_project, is_own_work
from doxa.hosts.events import HookEvent
from doxa.hosts.files import note_error
from doxa.hosts.pipeline import Pipeline
from doxa.hosts.spool import Spool
from doxa.redaction.redact import redact
from doxa.servers.mcp.tools import TOOLS, call

require("hermes-agent", extra="hermes", oldest="0.19", below="0.20")

from agent.memory_provider import MemoryProvider  # noqa: E402

_HOST = "hermes"
_NOTES = "hermes"  # the space of what Hermes' own memory tool keeps
_READING = frozenset(("memory_recall", "memory_get", "memory_context", "memory_status"))
_TARGETS = {"user": "preference", "memory": "note"}
_NOTES_ABOUT = """
MATCH (i:Item)-[:CURRENT]->(r:Revision)
WHERE i.kref STARTS WITH $folder AND r.summary CONTAINS $text
RETURN i.kref LIMIT 2
"""


class _OpenFiles:
    """The memory files that providers of this process use, each opened once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[Path, tuple[Memory, int]] = {}

    def open(self, path: Path) -> Memory:
        with self._lock:
            memory, users = self._files.get(path, (None, 0))
            memory = memory or open_memory(path, role="agent", actor=_HOST)
            self._files[path] = memory, users + 1
            return memory

    def close(self, path: Path) -> None:
        with self._lock:
            memory, users = self._files.pop(path)
            if users > 1:
                self._files[path] = memory, users - 1
            else:
                memory.close()


_OPEN = _OpenFiles()


class HermesMemory(MemoryProvider):
    """The memory of one Hermes agent. `project` is a name, or `auto` for that of the folder that
    Hermes works in; `path` a memory file, without one the user's own. A person that a gateway
    serves gets a project of their own, and sees nothing else of the file; with `shared`, all have
    the same."""

    def __init__(self, project: str = "auto", path: str = "", *, shared: bool = False) -> None:
        for name, value in (("project", project), ("path", path)):
            if not isinstance(value, str):
                raise InputError(
                    f"{name} is a text, not {type(value).__name__}.",
                    next_step="Give it as text, or leave it out.",
                    field=name,
                )
        self._project, self._path, self._shared = project, path, shared
        self._file: Path | None = None  # the file while it is open
        self._session: Session | None = None
        self._owner: Session | None = None  # stores what waits, also of other conversations
        self._conversation = ""
        self._primary = True

    @property
    def name(self) -> str:
        return "doxa"

    def is_available(self) -> bool:
        """Return True: doxa needs no key and no network."""
        return True

    # From the beginning to the end

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Open the memory for a conversation. Raises DoxaError; Hermes then runs without it."""
        file = self._db()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        memory = _OPEN.open(file)
        self.shutdown()
        self._file = file
        self._conversation = str(session_id)
        primary = kwargs.get("agent_context", "primary") in ("primary", "", None)
        self._primary = primary and not is_own_work()
        project, bound = self._scope(kwargs)
        self._owner = memory.session(project=project)
        self._session = memory.session(project=project, projects=(project,) if bound else ())

    def shutdown(self) -> None:
        """Store what waits, and let go of the memory. It may be called more than once."""
        if self._file is not None:
            self._settle()
            file, self._file, self._session, self._owner = self._file, None, None, None
            _OPEN.close(file)

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        """Go on in another conversation; its turns go to its own thread."""
        self._settle()
        self._conversation = str(new_session_id)

    def on_session_end(self, messages: Sequence[Any]) -> None:
        """Store what waits. The turns are known already."""
        self._settle()

    def on_pre_compress(self, messages: Sequence[Any]) -> str:
        """Store what waits before Hermes shortens the conversation; adds nothing to that."""
        self._settle()
        return ""

    # What goes into the context

    def system_prompt_block(self) -> str:
        """Return the brief. It is the same as long as what it says holds, so that caches stay."""
        return self._answered("open", "")

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Return what a person stands for about a prompt, once in a conversation; usually ""."""
        return self._answered("prompt", query, session_id)

    def _answered(self, kind: str, text: str, conversation: str = "") -> str:
        if self._session is None or is_own_work():
            return ""
        event = HookEvent(kind, _HOST, conversation or self._conversation, text=str(text))
        pipeline = Pipeline(self._session, self._spool(), capturing=False)
        return pipeline.handle(event, self._session.project).block

    # What is stored

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Any] | None = None,
    ) -> None:
        """Store a complete turn, durably before anything else. The same turn is stored once."""
        if self._session is None or not self._primary:
            return
        conversation = session_id or self._conversation
        for kind, text in (("prompt", user_content), ("answer", assistant_content)):
            if isinstance(text, str):
                event = HookEvent(kind, _HOST, conversation, text=text)
                self._spool().append(event, self._session.project)
        self._settle()

    def on_memory_write(
        self,
        action: str,
        target: str,
        content: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep what Hermes' own memory tool writes, so that both hold the same. An entry that is
        replaced gets a revision, one that is removed is retired."""
        if self._session is None or not self._primary:
            return
        old = str((metadata or {}).get("old_text", "")) if action != "add" else ""
        known = self._note_about(old or (content if action == "remove" else ""))
        if action == "remove":
            if known:
                self._session.deprecate(known)
        elif known and content.strip():
            self._session.revise(known, content)
        elif content.strip():
            kind = _TARGETS.get(target, "note")
            self._session.remember(content, kind=kind, space=_NOTES, name=self._name(content, kind))

    def _name(self, content: str, kind: str) -> str:
        """The name of a note: that of its words, unless a note that began with them says something
        else by now."""
        assert self._session is not None
        base, words = label_of(content), redact(content).text
        for name in chain([base], (f"{base}-{number}" for number in count(2))):
            try:
                found = self._session.get(f"kref://{self._session.project}/{_NOTES}/{name}.{kind}")
            except NotFoundError:
                return name
            if not isinstance(found, Revision) or found.status != "current":
                return name
            if found.summary == words:
                return name
        raise AssertionError("names do not end")

    def _note_about(self, text: str) -> str:
        """The note that contains a text, if it is the only one."""
        assert self._session is not None
        if not text:
            return ""
        folder = f"kref://{self._session.project}/{_NOTES}/"
        rows = list(self._session.read(_NOTES_ABOUT, {"folder": folder, "text": text}))
        return str(rows[0][0]) if len(rows) == 1 else ""

    def _settle(self) -> None:
        if self._owner is None:
            return
        try:
            Pipeline(self._owner, self._spool()).settle()
        except DoxaError as error:  # it stays in the spool
            note_error(hooks_folder(self._db()), f"hermes: {error}")

    # Tools

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools of the MCP profile `core`, which Hermes lists before it initialises."""
        return [
            {
                "name": str(tool["name"]),
                "description": str(tool["description"]),
                "parameters": tool["inputSchema"],
            }
            for tool in TOOLS
        ]

    def handle_tool_call(self, tool_name: str, args: Mapping[str, Any], **kwargs: Any) -> str:
        """Carry out a tool; returns JSON with `result` or `error`, and raises nothing of doxa."""
        if self._session is None:
            return json.dumps({"error": "The memory is not open."})
        if not self._primary and tool_name not in _READING:
            return json.dumps({"error": f"{tool_name}: only the main agent writes to memory."})
        given = args if isinstance(args, Mapping) else {}
        text, _, failed = call(self._session, tool_name, given)
        return json.dumps({"error" if failed else "result": text}, ensure_ascii=False)

    # Where things are

    def backup_paths(self) -> list[str]:
        """Return the memory file and the folder of what waits to be stored."""
        return [str(self._db()), str(hooks_folder(self._db()))]

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return nothing to ask for: `doxa setup hermes` has written what there is to choose."""
        return []

    def _db(self) -> Path:
        return (Path(self._path) if self._path else default_path()).absolute()

    def _spool(self) -> Spool:
        return Spool(hooks_folder(self._db()))

    def _scope(self, given: Mapping[str, Any]) -> tuple[str, bool]:
        """The project, and whether nothing else of the file is visible."""
        base = folder_project("", self._project)
        person = given.get("user_id")
        if not person or self._shared:
            return base, False
        who = f"{given.get('platform', '')}:{person}"
        return f"{base}-{label(who, 'user_id')}", True
