"""LlamaIndex: a block of its `Memory`.

    block = DoxaBlock(session=memory.session(project="shop"))
    chat = Memory.from_defaults(session_id="s1", memory_blocks=[block])

LlamaIndex puts blocks into the system message, so that a block holds only what a person stands for:
the brief, and what memory holds about the newest message of the user. Messages that leave
LlamaIndex's own queue are stored, once, in the thread of its session. Where all is over its limit,
the block is shortened line by line and stays a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from doxa.adapters.conversation import about, confined, opening, store_turns
from doxa.adapters.framework import require
from doxa.adapters.threads import reading, writing
from doxa.app import Session
from doxa.redaction.stripping import BLOCK

require("llama-index-core", extra="llamaindex", oldest="0.14", below="0.15")

from llama_index.core.base.llms.types import ChatMessage  # noqa: E402
from llama_index.core.bridge.pydantic import Field, PrivateAttr  # noqa: E402
from llama_index.core.memory import BaseMemoryBlock  # noqa: E402
from llama_index.core.utils import get_tokenizer  # noqa: E402

_FRAMEWORK = "llamaindex"
_KINDS = {"user": "prompt", "assistant": "answer"}
_DEFAULT_SESSION = "default"


class DoxaBlock(BaseMemoryBlock[str]):
    """What memory holds, as a block. `session` is the whole scope; without `capture` nothing is
    stored. `priority` is LlamaIndex's: 0 is never shortened."""

    name: str = Field(default="doxa")
    priority: int = Field(default=1)
    capture: bool = Field(default=True)
    tokenizer_fn: Callable[[str], list[Any]] = Field(default_factory=get_tokenizer, exclude=True)
    _session: Session = PrivateAttr()

    def __init__(self, session: Session, **options: Any) -> None:
        super().__init__(**options)
        self._session = confined(session)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await reading(self._content, list(messages or ()))

    def _content(self, messages: Sequence[ChatMessage]) -> str:
        block, given = opening(self._session)
        newest = next((one for one in reversed(messages) if one.role.value == "user"), None)
        recalled = about(self._session, newest.content or "", given=given) if newest else ""
        return "\n".join(part for part in (block, recalled) if part)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if not self.capture:
            return
        by_session: dict[str, list[tuple[str, str]]] = {}
        for message in messages:
            kind, text = _KINDS.get(message.role.value), message.content
            if kind and text:
                own = str(message.additional_kwargs.get("session_id") or _DEFAULT_SESSION)
                by_session.setdefault(own, []).append((kind, text))
        for conversation, said in by_session.items():
            await writing(store_turns, self._session, _FRAMEWORK, conversation, said)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the last lines of a block until it is shorter by so many tokens; None if
        nothing would be left of it."""
        if not isinstance(content, str) or tokens_to_truncate <= 0:
            return content or None
        most = len(self.tokenizer_fn(content)) - tokens_to_truncate
        lines = content.split("\n")
        facts = [at for at, line in enumerate(lines) if line.startswith("- ")]
        while facts:
            del lines[facts.pop()]
            text = "\n".join(_without_empty(lines))
            if facts and len(self.tokenizer_fn(text)) <= most:
                return text
        return None


def _without_empty(lines: Sequence[str]) -> list[str]:
    """Leave out headings and blocks in which no line is left."""
    kept: list[str] = []
    for line in lines:
        if line == f"</{BLOCK}>":
            while kept and kept[-1].endswith(":"):
                kept.pop()
            if kept and kept[-1].startswith(f"<{BLOCK}"):
                kept.pop()
                continue
        elif line.endswith(":") and not line.startswith("- "):
            while kept and kept[-1].endswith(":") and not kept[-1].startswith("- "):
                kept.pop()
        kept.append(line)
    return kept
