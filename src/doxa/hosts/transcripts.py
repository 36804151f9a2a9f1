"""What a host did not send with an event, from the file in which it keeps the conversation.

Codex says that it has summarised a conversation, and Copilot that its agent has answered, without
the text; both name the file, whose lines are JSON. Only the end of a file is read, and only of one
that has the conversation's id in its path. Standard library alone, for `doxa hook`.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TAIL_BYTES_MAX = 4_194_304
_WAIT_S, _PAUSE_S = 1.0, 0.05


@dataclass(frozen=True, slots=True)
class TranscriptText:
    """Where a text stands: the latest line of the type `line`, in the member `text`, whose parts
    dots separate. No line before one of the type `since` counts, and none with a value in `unless`:
    the one that is wanted follows it, and is waited for. What comes before `after` in the text is
    the host's own."""

    line: str
    text: str
    since: str = ""
    after: str = ""
    unless: str = ""


def transcript_text(path: str, session: str, wanted: TranscriptText) -> str:
    """Return the text, or "" if there is none or the file is not of this conversation."""
    if not session or session not in path or not path.endswith(".jsonl"):
        return ""
    end = time.monotonic() + _WAIT_S
    while (text := _latest(Path(path), wanted)) is None and time.monotonic() < end:
        time.sleep(_PAUSE_S)
    return (text or "").rpartition(wanted.after)[2].strip() if wanted.after else text or ""


def _latest(path: Path, wanted: TranscriptText) -> str | None:
    """The text; None if the host is still to write it."""
    for line in _lines_backwards(path):
        if line.get("type") == wanted.line:
            text = _member(line, wanted.text)
            if wanted.unless and _member(line, wanted.unless):
                return None
            if isinstance(text, str) and text.strip():
                return text
        elif line.get("type") == wanted.since:
            break
    return None if wanted.unless else ""


def _lines_backwards(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of the end of a file, the last first."""
    with suppress(OSError):
        with path.open("rb") as file:
            held = os.fstat(file.fileno())
            if not stat.S_ISREG(held.st_mode):
                return
            file.seek(max(0, held.st_size - _TAIL_BYTES_MAX))
            lines = file.read(_TAIL_BYTES_MAX).split(b"\n")
        for line in reversed(lines):
            with suppress(
                ValueError, RecursionError
            ):  # one that is cut at the start, or unfinished
                found = json.loads(line)
                if isinstance(found, dict):
                    yield found


def _member(value: Any, name: str) -> Any:
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
