"""Read Claude.ai's data export: conversations.json by itself, in the export's folder, or its zip.

    [ { "uuid": "...", "name": "Trip", "chat_messages": [
          { "uuid": "...", "sender": "human" | "assistant",
            "created_at": "2026-03-02T14:00:00.000000Z", "text": "...",
            "content": [ {"type": "text", "text": "..."}, {"type": "tool_use", ...} ] } ] } ]

The message is the text blocks of `content`; `text` mixes in tool traffic and is used only if there
are no blocks. The thread is "claude-ai", the session the conversation's uuid, the speaker "user" or
"assistant".
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from doxa.base.clock import parse_time
from doxa.base.errors import InputError
from doxa.ingestion.readers.conversations import conversations
from doxa.ingestion.readers.sources import ReadReport, clean, decode
from doxa.language.turns import Turn, TurnRole


class _ClaudeAiBlock(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _ClaudeAiMessage(msgspec.Struct):
    sender: str
    uuid: str = ""
    text: str | None = None
    content: list[_ClaudeAiBlock] | None = None
    created_at: str | None = None


class _ClaudeAiConversation(msgspec.Struct):
    chat_messages: list[msgspec.Raw]
    uuid: str = ""
    name: str | None = None


_conversation = msgspec.json.Decoder(_ClaudeAiConversation)
_message = msgspec.json.Decoder(_ClaudeAiMessage)


def read_claude_ai(path: Path, *, report: ReadReport) -> Iterator[Turn]:
    """Yield the turns conversation by conversation. A conversation or message that cannot be parsed
    is skipped and counted."""
    for name, position, raw in conversations(path, report):
        place = f"{name}, conversation {position}"
        try:
            conversation = decode(_conversation, raw)
        except ValueError as error:
            report.skip(f"{place}: {error}")
            continue
        session = clean(conversation.uuid) or f"conversation-{position}"
        if conversation.name:
            report.titles[session] = clean(conversation.name)
        for number, part in enumerate(conversation.chat_messages, 1):
            try:
                turn = _turn(session, decode(_message, bytes(part)))
            except (ValueError, InputError) as error:
                report.skip(f"{place}, message {number}: {error}")
                continue
            if turn is not None:
                yield turn


def _turn(session: str, message: _ClaudeAiMessage) -> Turn | None:
    if message.sender not in ("human", "assistant"):
        raise ValueError(f"{message.sender[:40]!r} is not a known sender")
    blocks = [
        text
        for block in message.content or ()
        if block.type == "text" and (text := clean(block.text or "").strip())
    ]
    text = "\n\n".join(blocks) or clean(message.text or "").strip()
    if not text:
        return None
    role: TurnRole = "user" if message.sender == "human" else "assistant"
    return Turn(
        thread="claude-ai",
        session=session,
        speaker=role,
        role=role,
        text=text,
        time_ns=None if message.created_at is None else parse_time(message.created_at),
        source_id=clean(message.uuid),
    )
