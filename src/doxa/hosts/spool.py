"""What hooks have seen and the memory does not hold yet: lines that are appended and durable before
the hook ends. An event `open`, a server that runs (tool.py) and Hermes' provider store them.

    <memory file>-hooks/
        lock                 held for each change of the folder
        drain                held by who is storing
        spool.jsonl          {"kind", "host", "session", "project", "text", "tool", "time"} per line
        taken-<time>.jsonl   taken out of the spool to be stored; stored again if that was cut short
        refused.jsonl        lines that the memory refuses, each with the reason
        sessions/<id>.json   what was injected into a conversation, as digests, and its state

A line goes in redacted. Storing it twice is harmless, since a message's address is derived from its
conversation and its text; so a file is removed only after what is in it was committed. Standard
library alone, apart from redaction.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from doxa.base.files.places import REFUSED
from doxa.base.limits import HOOK_SESSIONS_S_MAX
from doxa.hosts.events import CHECK_SESSION, HookEvent, digest_of
from doxa.hosts.files import PRIVATE, locked, note_error, sync_folder, write_atomically
from doxa.redaction.messages import message_text, storable

_REFUSED_BYTES_MAX = 4_194_304
_STORED = frozenset(("prompt", "tool", "compaction", "answer"))


@dataclass(frozen=True, slots=True)
class Spooled:
    """One line of the spool. `time` is in nanoseconds, UTC."""

    kind: str
    host: str
    session: str
    project: str
    text: str
    time: int
    tool: str = ""


@dataclass(slots=True)
class SessionState:
    """What is known of a conversation: digests of the lines of its brief in order, of the beliefs
    that prompts brought in, and the times of its first and last event. Of the brief also when it
    was made, from when on it counts changes, and how much more memory held."""

    project: str = ""
    opened: int = 0
    last: int = 0
    brief: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    briefed: int = 0
    since: int | None = None
    beliefs: int = 0


class Spool:
    """The folder of one memory file's hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "spool.jsonl"

    def append(self, event: HookEvent, project: str) -> bool:
        """Add an event, durably; returns whether it holds anything to store. Raises OSError."""
        line = line_of(event, project)
        if line is None:
            return False
        data = json.dumps(asdict(line), ensure_ascii=False).encode() + b"\n"
        with locked(self.folder / "lock"):
            _append(self._file, data)
        return True

    def waiting(self) -> bool:
        """Return whether anything is not stored yet."""
        with suppress(OSError):
            return self._file.stat().st_size > 0 or any(self.folder.glob("taken-*.jsonl"))
        return any(self.folder.glob("taken-*.jsonl"))

    def take(self) -> list[Path]:
        """Take what waits out of the spool: files to read and then to `finish`, oldest first. The
        caller holds `draining`."""
        with locked(self.folder / "lock"):
            if self._file.exists():
                os.replace(self._file, self.folder / f"taken-{time.time_ns()}.jsonl")
                sync_folder(self.folder)
        return sorted(self.folder.glob("taken-*.jsonl"))

    def draining(self) -> Any:
        """Hold the right to store; yields False where another process has it."""
        return locked(self.folder / "drain", wait=False)

    def read(self, path: Path) -> Iterator[Spooled]:
        """Read a file that was taken. A line that a killed writer left unfinished is passed over:
        its hook never returned."""
        with path.open("rb") as file:
            for line in file:
                try:
                    found = json.loads(line)
                    yield Spooled(**found)
                except (ValueError, TypeError):
                    continue

    def finish(self, path: Path) -> None:
        """Remove a file whose content is committed."""
        path.unlink(missing_ok=True)

    def set_aside(self, line: Spooled, reason: str) -> None:
        """Keep a line that the memory refuses, durably, with the reason; beyond the limit only the
        reason."""
        data = json.dumps({**asdict(line), "reason": reason}, ensure_ascii=False).encode() + b"\n"
        with locked(self.folder / "lock"), suppress(OSError):
            refused = self.folder / REFUSED
            if not refused.exists() or refused.stat().st_size < _REFUSED_BYTES_MAX:
                _append(refused, data)
        note_error(self.folder, f"a {line.kind} of {line.host} is not stored: {reason}")

    # Conversations

    def last_conversation(self, project: str, *, without: str = "") -> int | None:
        """Return when the last conversation in a project ended, `without` left aside; None if there
        is none."""
        return max((one.last for one in self.others(without, project)), default=None)

    def session(self, identity: str) -> SessionState:
        """Return the state of a conversation; a new one if none is known."""
        if identity == CHECK_SESSION:
            return SessionState()
        try:
            found = json.loads(self._session_file(identity).read_text())
            return SessionState(**found)
        except (OSError, ValueError, TypeError):
            return SessionState()

    def keep(self, identity: str, state: SessionState) -> None:
        """Write the state of a conversation; a check of a host is none."""
        if identity == CHECK_SESSION:
            return
        write_atomically(self._session_file(identity), json.dumps(asdict(state)).encode())

    def others(self, identity: str, project: str) -> list[SessionState]:
        """Return the states of other conversations in a project; drops those that are old."""
        passed_over = {self._session_file(identity), self._session_file(CHECK_SESSION)}
        found = []
        oldest_s = time.time() - HOOK_SESSIONS_S_MAX
        for path in (self.folder / "sessions").glob("*.json"):
            try:
                if path.stat().st_mtime < oldest_s:
                    path.unlink(missing_ok=True)
                elif path not in passed_over:
                    state = SessionState(**json.loads(path.read_text()))
                    found += [state] if state.project == project else []
            except (OSError, ValueError, TypeError):
                continue
        return found

    def _session_file(self, identity: str) -> Path:
        return self.folder / "sessions" / f"{digest_of(identity)}.json"


def line_of(event: HookEvent, project: str) -> Spooled | None:
    """Return what is stored of an event: its text without what was injected, redacted and at most
    as long as a captured message may be. None if there is nothing."""
    if event.kind not in _STORED:
        return None
    text, _ = message_text(event.text)
    if not text:
        return None
    session, tool = storable(event.session), storable(event.tool)
    return Spooled(event.kind, event.host, session, project, text, time.time_ns(), tool)


def _append(path: Path, data: bytes) -> None:
    """Append whole lines, durably. What a killed writer left without its end gets one first."""
    is_new = not path.exists()
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, PRIVATE)
    try:
        if os.fstat(handle).st_size:
            os.lseek(handle, -1, os.SEEK_END)
            if os.read(handle, 1) != b"\n":
                data = b"\n" + data
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    if is_new:
        sync_folder(path.parent)
