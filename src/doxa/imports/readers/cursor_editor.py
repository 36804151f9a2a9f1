"""Read the conversations of Cursor, as far as they are readable: a key-value table in SQLite.

    globalStorage/state.vscdb    table cursorDiskKV(key, value)
    composerData:<conversation>  {"composerId": …, "createdAt": ms, "lastUpdatedAt": ms,
                                  "fullConversationHeadersOnly": [{"bubbleId": …, "type": 1}],
                                  "conversation": [bubble, ...]}          in older versions
    bubbleId:<conversation>:<id> {"type": 1 | 2, "text": …, "createdAt": "…", "thinking":
                                  {"text": …}, "workspaceUris": ["file:///srv/shop"],
                                  "toolFormerData": {"name": …, "rawArgs": …, "result": …}}

Type 1 is the user, 2 the assistant. Many messages have no time; they get that of their
conversation. The file is opened for reading alone. A conversation that was not updated since the
last import is not read again. The format is not documented by its makers: it was found out by
others, and older and newer ones exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import apsw
import msgspec

from doxa.base.errors import InputError
from doxa.base.limits import IMPORT_LINE_BYTES_MAX
from doxa.imports.contract import ImportedMessage, ImportLog, ImportSource, Position, Read
from doxa.ingestion.readers.sources import clean, decode
from doxa.redaction.messages import tool_text

_MAGIC = b"SQLite format 3\0"
_TABLE = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'cursorDiskKV'"
_CONVERSATIONS = (
    # as bytes: what is declared as text need not be UTF-8
    "SELECT CAST(key AS BLOB), CAST(value AS BLOB) FROM cursorDiskKV WHERE key >= 'composerData:'"
    " AND key < 'composerData;' ORDER BY key"
)
_BUBBLE = "SELECT CAST(value AS BLOB) FROM cursorDiskKV WHERE key = ?"


class _CursorHeader(msgspec.Struct):
    bubbleId: str = ""


class _CursorText(msgspec.Struct):
    text: str = ""


class _CursorTool(msgspec.Struct):
    name: str = ""
    rawArgs: object = None
    result: object = None


class _CursorBubble(msgspec.Struct):
    type: object = None
    bubbleId: str = ""
    text: str = ""
    createdAt: object = None
    thinking: _CursorText | None = None
    workspaceUris: list[str] | None = None
    toolFormerData: _CursorTool | None = None


class _CursorConversation(msgspec.Struct):
    composerId: str = ""
    createdAt: object = None
    lastUpdatedAt: float | None = None
    fullConversationHeadersOnly: list[_CursorHeader] | None = None
    conversation: list[msgspec.Raw] | None = None


_conversation = msgspec.json.Decoder(_CursorConversation)
_bubble = msgspec.json.Decoder(_CursorBubble)


class CursorEditor:
    """Conversations of Cursor."""

    name = "cursor"
    title = "Cursor conversations (globalStorage/state.vscdb, or a folder with it)"
    own = True
    documents = False
    suffixes = (".vscdb",)

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether it is SQLite, with the name that Cursor gives to it."""
        return path.name == "state.vscdb" and start.startswith(_MAGIC)

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the messages of each conversation that was updated since `start`."""
        since = start.carry.get("updated", 0)
        since = newest = since if isinstance(since, (int, float)) else 0
        before = Position(0, 0, {"updated": since})
        db = _opened(source.path)
        try:
            if db.execute(_TABLE).get is None:
                return
            for raw_key, value in db.execute(_CONVERSATIONS):
                key = (raw_key or b"").decode("utf-8", "replace")
                place = f"{source.name}, {key[:80]}"
                try:
                    found = decode(_conversation, value or b"")
                except ValueError as error:
                    log.skip(f"{place}: {error}")
                    continue
                updated = found.lastUpdatedAt or 0
                if updated and updated <= since:
                    continue
                newest = max(newest, updated)
                session = clean(found.composerId) or clean(key.partition(":")[2])
                for message in _messages(db, found, session, place, log, include):
                    yield Read(message, before)
        except apsw.Error as error:
            raise _unreadable(source, error) from None
        finally:
            db.close()
        yield Read(None, Position(0, 0, {"updated": newest}))


def _opened(path: Path) -> apsw.Connection:
    """Open a file that is not trusted: nothing is written, and no view or trigger of it runs."""
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        db.execute("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0")
        db.limit(apsw.SQLITE_LIMIT_LENGTH, IMPORT_LINE_BYTES_MAX)
        return db
    except apsw.Error as error:
        raise _unreadable(ImportSource(path, path), error) from None


def _unreadable(source: ImportSource, error: apsw.Error) -> InputError:
    return InputError(
        f"{source.name} cannot be read as SQLite: {error}.",
        next_step="Close Cursor, or give a copy of the file.",
        path=source.name,
    )


def _messages(
    db: apsw.Connection,
    found: _CursorConversation,
    session: str,
    place: str,
    log: ImportLog,
    include: Collection[str],
) -> Iterator[ImportedMessage]:
    began, folder = log.time(found.createdAt), ""
    for position, raw in enumerate(_bubbles(db, found, session), 1):
        try:
            bubble = decode(_bubble, raw)
        except ValueError as error:
            log.skip(f"{place}, message {position}: {error}")
            continue
        folder = folder or _folder(bubble)
        when = log.time(bubble.createdAt)
        when = began if when is None else when
        own = clean(bubble.bubbleId)
        tool = bubble.toolFormerData
        if tool is not None and tool.name:
            log.left_out["results of tools"] += "tools" not in include
            used = tool_text(clean(tool.name), tool.rawArgs, tool.result)
            if used and "tools" in include:
                yield ImportedMessage(
                    session, "tool", clean(used), when, clean(tool.name), folder, own
                )
        text = clean(bubble.text).strip()
        if bubble.type == 2 and bubble.thinking is not None and "thinking" in include:
            text = "\n\n".join(filter(None, (clean(bubble.thinking.text).strip(), text)))
        if text and bubble.type in (1, 2):
            role = "user" if bubble.type == 1 else "assistant"
            yield ImportedMessage(
                session,
                role,  # type: ignore[arg-type]
                text,
                when,
                "",
                folder,
                own,
            )


def _bubbles(db: apsw.Connection, found: _CursorConversation, session: str) -> Iterator[bytes]:
    if found.conversation:
        yield from (bytes(raw) for raw in found.conversation)
        return
    for header in found.fullConversationHeadersOnly or ():
        value = db.execute(_BUBBLE, (f"bubbleId:{session}:{header.bubbleId}",)).get
        if value is not None:
            yield value


def _folder(bubble: _CursorBubble) -> str:
    for uri in bubble.workspaceUris or ():
        try:
            found = urlsplit(uri)
        except ValueError:
            continue
        if found.scheme == "file":
            return clean(unquote(found.path))
    return ""
