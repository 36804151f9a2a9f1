"""Read ChatGPT's data export: conversations.json by itself, in the export's folder, or in its zip.

Each conversation is a tree, because an edited question keeps its first version as another branch.
The conversation that the user last saw is the chain of parents from `current_node`. Other branches
are read only with `branches`, each from its fork on, as the session
"<conversation>/<id of its last node>".

    [ { "conversation_id": "...", "title": "...", "current_node": "n3",
        "mapping": { "n3": { "parent": "n2", "message": {
            "id": "...", "author": {"role": "user"}, "create_time": 1772460000.25,
            "recipient": "all",
            "content": {"content_type": "text", "parts": ["text", {"asset_pointer": ...}]} } } } } ]

The thread is "chatgpt", the session the conversation id, the speaker the role. Tool traffic and
hidden context are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from doxa.base.clock import TIME_MAX
from doxa.ingestion.readers.conversations import conversations
from doxa.ingestion.readers.sources import ReadReport, clean, decode
from doxa.language.turns import Turn, TurnRole


class _ChatGptAuthor(msgspec.Struct):
    role: str = ""


class _ChatGptContent(msgspec.Struct):
    parts: list[object] = msgspec.field(default_factory=list)


class _ChatGptMetadata(msgspec.Struct):
    is_visually_hidden_from_conversation: bool | None = None


class _ChatGptMessage(msgspec.Struct):
    author: _ChatGptAuthor
    id: str = ""
    create_time: float | None = None
    recipient: str | None = None
    content: _ChatGptContent | None = None
    metadata: _ChatGptMetadata | None = None


class _ChatGptNode(msgspec.Struct):
    parent: str | None = None
    message: msgspec.Raw = msgspec.Raw(b"null")


class _ChatGptConversation(msgspec.Struct):
    mapping: dict[str, _ChatGptNode]
    conversation_id: str | None = None
    id: str | None = None
    title: str | None = None
    current_node: str | None = None


_conversation = msgspec.json.Decoder(_ChatGptConversation)
_message = msgspec.json.Decoder(_ChatGptMessage | None)


def read_chatgpt(path: Path, *, report: ReadReport, branches: bool = False) -> Iterator[Turn]:
    """Yield the turns conversation by conversation. A conversation that cannot be parsed is skipped
    and counted."""
    for name, position, raw in conversations(path, report):
        place = f"{name}, conversation {position}"
        try:
            conversation = decode(_conversation, raw)
        except ValueError as error:
            report.skip(f"{place}: {error}")
            continue
        session = clean(
            conversation.conversation_id or conversation.id or f"conversation-{position}"
        )
        if conversation.title:
            report.titles[session] = clean(conversation.title)
        seen = _chain(conversation)
        yield from _turns(conversation, session, seen, place, report)
        if not branches:
            continue
        for leaf, nodes in _branches(conversation, seen):
            yield from _turns(conversation, f"{session}/{clean(leaf)}", nodes, place, report)


def _turns(
    conversation: _ChatGptConversation,
    session: str,
    nodes: list[str],
    place: str,
    report: ReadReport,
) -> Iterator[Turn]:
    for node_id in nodes:
        try:
            message = decode(_message, bytes(conversation.mapping[node_id].message))
        except ValueError as error:
            report.skip(f"{place}, node {node_id[:80]}: {error}")
            continue
        turn = _turn(session, message)
        if turn is not None:
            yield turn


def _branches(
    conversation: _ChatGptConversation, seen: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield (last node, nodes from the fork on) of each branch that was not seen last. A node
    belongs to the first branch that it is on."""
    mapping = conversation.mapping
    taken = set(seen)
    parents = {node.parent for node in mapping.values()}
    for leaf in mapping:
        if leaf in parents or leaf in taken:
            continue
        nodes: list[str] = []
        node: str | None = leaf
        while node is not None and node in mapping and node not in taken:
            taken.add(node)
            nodes.append(node)
            node = mapping[node].parent
        yield leaf, nodes[::-1]


def _chain(conversation: _ChatGptConversation) -> list[str]:
    """Return the node ids from the root to the current node. Parents may form a cycle in a damaged
    file, so each node is taken once."""
    mapping = conversation.mapping
    node = conversation.current_node
    if node not in mapping:
        # Without a usable pointer, the last node of the export is the best approximation.
        node = next(reversed(mapping), None)
    taken: dict[str, None] = {}
    while node is not None and node in mapping and node not in taken:
        taken[node] = None
        node = mapping[node].parent
    return list(reversed(taken))


def _turn(session: str, message: _ChatGptMessage | None) -> Turn | None:
    if (
        message is None
        or message.content is None
        or message.author.role not in ("user", "assistant")
    ):
        return None
    hidden = message.metadata is not None and message.metadata.is_visually_hidden_from_conversation
    if hidden or message.recipient not in (None, "all"):
        return None
    text = "\n".join(part for raw in message.content.parts if (part := _part_text(raw)))
    if not text:
        return None
    role: TurnRole = "user" if message.author.role == "user" else "assistant"
    return Turn(
        thread="chatgpt",
        session=session,
        speaker=role,
        role=role,
        text=text,
        time_ns=_time_ns(message.create_time),
        source_id=clean(message.id),
    )


def _part_text(part: object) -> str:
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        part = part.get("text")
    return clean(part).strip() if isinstance(part, str) else ""


def _time_ns(seconds: float | None) -> int | None:
    # A float of this magnitude is precise to less than a microsecond; further digits would add
    # noise to the turn's id.
    if seconds is None or not abs(seconds) < TIME_MAX / 1e9:
        return None
    return round(seconds * 1_000_000) * 1_000
