"""Read what chat products export of a person's conversations: ChatGPT's and Claude.ai's
conversations.json, by itself or in the zip. `ingestion/readers` holds the two formats.

A conversation of ChatGPT is a tree, since an edited question keeps its first version as another
branch. What the person last saw is read; the other branches with `branches`, each as a conversation
of its own that begins where it forks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from doxa.base.errors import InputError
from doxa.base.limits import DETECT_BYTES_READ
from doxa.imports.contract import ImportedMessage, ImportLog, ImportSource, Position, Read
from doxa.ingestion.readers.chatgpt import read_chatgpt
from doxa.ingestion.readers.claude_ai import read_claude_ai
from doxa.ingestion.readers.sources import ReadReport, document_heads, is_document
from doxa.language.turns import Turn

BRANCHES = "branches"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_KEY = re.compile(
    rb'(?<!\\)"(?:(?P<chatgpt>mapping)|(?P<claude>chat_messages)|sample_id|conversation|qa)"\s*:'
)


def _chatgpt(path: Path, log: ReadReport, include: Collection[str]) -> Iterator[Turn]:
    return read_chatgpt(path, report=log, branches=BRANCHES in include)


def _claude_ai(path: Path, log: ReadReport, include: Collection[str]) -> Iterator[Turn]:
    return read_claude_ai(path, report=log)


@dataclass(frozen=True, slots=True)
class Chats:
    """The conversations of one product."""

    name: str
    title: str
    turns: Callable[[Path, ReadReport, Collection[str]], Iterator[Turn]]
    own: bool = True
    documents: bool = False
    suffixes: tuple[str, ...] = (".json", ".zip")

    def recognises(self, path: Path, start: bytes) -> bool:
        """Return whether it is one, by the first key of a conversation, also in a zip."""
        if start.startswith(_ZIP):
            try:
                heads = list(document_heads(path, DETECT_BYTES_READ))
            except InputError:
                return False
            return any(_product(one) == self.name for one in heads)
        found = _product(start)
        if not found and is_document(path) and start.lstrip()[:1] == b"[":
            # damaged, or with a first conversation that is longer than what is looked at
            return self.name == "chatgpt"
        return found == self.name

    def read(
        self, source: ImportSource, start: Position, log: ImportLog, include: Collection[str]
    ) -> Iterator[Read]:
        """Yield the messages. An export is written at once, so that there is no position in it."""
        found = False
        skipped = log.skipped
        for turn in self.turns(source.path, log, include):
            found = True
            yield Read(
                ImportedMessage(
                    turn.session,
                    turn.role,
                    turn.text,
                    time_ns=turn.time_ns,
                    source_id=turn.source_id,
                )
            )
        if not found and log.skipped > skipped:
            raise InputError(
                f"{source.name} holds no conversation that can be read.",
                next_step="Export it again.",
                path=source.name,
            )


def _product(start: bytes) -> str:
    if start.lstrip()[:1] not in (b"[", b"{"):
        return ""
    found = _KEY.search(start)
    if found is None:
        return ""
    return "chatgpt" if found["chatgpt"] else "claude-ai" if found["claude"] else ""


CHATGPT = Chats("chatgpt", "ChatGPT's export (conversations.json or its zip)", _chatgpt)
CLAUDE_AI = Chats("claude-ai", "Claude.ai's export (conversations.json or its zip)", _claude_ai)
