"""Read Gemini CLI's sessions: what the person and the model said.

One file per session below the temporary folder of the project, lines in newer versions and one
object in older ones:

    tmp/<project>/chats/session-2026-03-02T14-00-<id>.jsonl
    {"sessionId": …, "projectHash": …, "startTime": …, "kind": "main", "directories": [...]}
    {"id": …, "timestamp": …, "type": "user" | "gemini" | "info", "content": "…" | [{"text": …}],
     "toolCalls": [{"name": …, "args": {…}, "result": …}], "thoughts": [{"description": …}]}
    {"$set": {"summary": …}}    changes the first line
    {"$rewindTo": <id>}         takes back this message and those after it
    tmp/<project>/.project_root                                     the folder of the project

    tmp/<project>/chats/session-….json    the first line, with "messages": [...]

A message is written again under its id while it grows, and may be taken back later. So a file is
read twice, first for which line of each message counts, and again as a whole whenever it has grown.
From the sources of Gemini CLI (packages/core/src/services/chatRecordingService.ts).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from doxa.base import limits
from doxa.base.errors import InputError
from doxa.imports.contract import START, ImportedMessage, ImportLog, ImportSource, Position, Read
from doxa.imports.lines import lines_after
from doxa.ingestion.readers.sources import clean, decode, whole_file
from doxa.redaction.messages import tool_text

_ROOT_BYTES_MAX = 4_096


class _GeminiPart(msgspec.Struct):
    text: str = ""
    thought: object = None


class _GeminiThought(msgspec.Struct):
    subject: str = ""
    description: str = ""


class _GeminiCall(msgspec.Struct):
    name: str = ""
    args: object = None
    result: object = None


class _GeminiMessage(msgspec.Struct):
    id: str = ""
    type: str = ""
    timestamp: object = None
    content: str | list[str | _GeminiPart] | _GeminiPart | None = None
    toolCalls: list[_GeminiCall] | None = None
    thoughts: list[_GeminiThought] | None = None


class _GeminiHead(msgspec.Struct):
    sessionId: str = ""
    kind: object = None
    directories: list[str] | None = None


class _GeminiKey(msgspec.Struct):
    id: str | None = None
    sessionId: str | None = None
    rewind: str | None = msgspec.field(default=None, name="$rewindTo")


class _GeminiFile(_GeminiHead):
    messages: list[msgspec.Raw] = msgspec.field(default_factory=list)


_key = msgspec.json.Decoder(_GeminiKey)
_head = msgspec.json.Decoder(_GeminiHead)
_message = msgspec.json.Decoder(_GeminiMessage)
_file = msgspec.json.Decoder(_GeminiFile)
_keys = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Gemini:
    """Sessions of Gemini CLI."""

    name = "gemini"
    title = "Gemini CLI sessions (a session file, or a folder of them)"
    own = True
    documents = False
    suffixes = (".jsonl", ".json")

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether a session and the hash of its project are at the beginning."""
        return b'"sessionId"' in start[:_ROOT_BYTES_MAX] and (
            b'"projectHash"' in start[:_ROOT_BYTES_MAX]
        )

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the messages that count, in their order."""
        if source.path.suffix == ".json":
            yield from _read_object(source, log, include)
            return
        counts, head = _which(source, log)
        head.sessionId = head.sessionId or source.path.stem
        folder = _folder(source, head)
        if not _is_wanted(head, log, include):
            return
        for line in lines_after(source.path, START):
            if line.number in counts and line.data is not None:
                yield from _messages(source, line.data, line.number, head, folder, log, include)


def _which(source: ImportSource, log: ImportLog) -> tuple[set[int], _GeminiHead]:
    """Return the numbers of the lines that count, and what is known of the session."""
    last: dict[str, int] = {}
    head = _GeminiHead()
    for line in lines_after(source.path, START):
        try:
            if line.data is None:
                raise ValueError("it is longer than the limit")
            key = decode(_key, line.data)
            if key.rewind is not None:
                ids = list(last)
                gone = ids[ids.index(key.rewind) :] if key.rewind in last else ids
                for one in gone:
                    del last[one]
            elif key.id is not None:
                last[key.id] = line.number  # a later version keeps the place of the first
            elif key.sessionId is not None:
                head = decode(_head, line.data)
        except ValueError as error:
            if line.ended:
                log.skip(f"{source.name}, line {line.number}: {error}")
            else:
                log.left_out["unfinished lines"] += 1
    return set(last.values()), head


def _read_object(source: ImportSource, log: ImportLog, include: Collection[str]) -> Iterator[Read]:
    data = whole_file(source.path, limits.IMPORT_LINE_BYTES_MAX)
    try:
        head = decode(_file, data)
    except ValueError as error:
        raise InputError(
            f"{source.name} is not a session of Gemini CLI: {error}.",
            next_step="Give the file as the program wrote it.",
            path=source.name,
        ) from None
    head.sessionId = head.sessionId or source.path.stem
    folder = _folder(source, head)
    if _is_wanted(head, log, include):
        for number, raw in enumerate(head.messages, 1):
            yield from _messages(source, bytes(raw), number, head, folder, log, include)


def _is_wanted(head: _GeminiHead, log: ImportLog, include: Collection[str]) -> bool:
    if head.kind == "subagent" and "sidechains" not in include:
        log.left_out["sessions of sub-agents"] += 1
        return False
    return True


def _folder(source: ImportSource, head: _GeminiHead) -> str:
    """The folder of the project: the program notes it next to the sessions; the hash says none."""
    for above in list(source.path.parents)[:3]:
        mark = above / ".project_root"
        try:
            if mark.is_file() and mark.resolve().is_relative_to(above.resolve()):
                with mark.open("rb") as file:
                    said = file.read(_ROOT_BYTES_MAX).decode("utf-8", "replace").strip()
                return clean(said)
        except OSError:
            continue
    return clean(head.directories[0]) if head.directories else ""


def _messages(
    source: ImportSource,
    data: bytes,
    number: int,
    head: _GeminiHead,
    folder: str,
    log: ImportLog,
    include: Collection[str],
) -> Iterator[Read]:
    try:
        found = decode(_message, data)
    except ValueError as error:
        log.skip(f"{source.name}, line {number}: {error}")
        return
    if found.type not in ("user", "gemini"):
        log.left_out["lines without conversation"] += 1
        return
    when, session, own = log.time(found.timestamp), clean(head.sessionId), clean(found.id)
    if found.type == "user":
        text = _text(found)
        if text:
            yield Read(ImportedMessage(session, "user", text, when, "", folder, own))
        return
    thoughts = [clean(f"{one.subject}\n{one.description}").strip() for one in found.thoughts or ()]
    said = [*(thoughts if "thinking" in include else ()), _text(found)]
    text = "\n\n".join(filter(None, said))
    for call in found.toolCalls or ():
        log.left_out["results of tools"] += "tools" not in include
        used = tool_text(clean(call.name), call.args, call.result) if "tools" in include else ""
        if used:
            yield Read(
                ImportedMessage(session, "tool", clean(used), when, clean(call.name), folder, own)
            )
    if text:
        yield Read(ImportedMessage(session, "assistant", text, when, "", folder, own))


def _text(message: _GeminiMessage) -> str:
    content = message.content
    parts = content if isinstance(content, list) else [content]
    texts = [
        part if isinstance(part, str) else "" if part is None or part.thought else part.text
        for part in parts
    ]
    return clean("".join(texts)).strip()
