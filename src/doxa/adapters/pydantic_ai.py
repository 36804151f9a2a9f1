"""Pydantic AI: a capability that gives an agent the brief, recall, tools and capture.

    agent = Agent("openai:gpt-5", capabilities=[DoxaMemory(memory.session(project="shop"))])

    instructions         the brief
    before a request     what a person stands for about the prompt, after the prompt, in this
                         request alone: the message history stays as it is
    tools                those of the MCP profile `core`
    after the run        the prompt and the answer are stored, once, in the thread of the
                         conversation

Instructions have the authority of the system, so that only what a person stands for is in them;
everything else is a result of tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from doxa.adapters.conversation import about, carry_out, confined, opening, store_turns
from doxa.adapters.framework import require
from doxa.adapters.threads import reading, writing
from doxa.app import Session
from doxa.servers.mcp.tools import TOOLS

require("pydantic-ai-slim", extra="pydantic-ai", oldest="2.68", below="3")

from pydantic_ai import FunctionToolset, RunContext, Tool  # noqa: E402
from pydantic_ai.capabilities import AbstractCapability  # noqa: E402
from pydantic_ai.messages import (  # noqa: E402
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

_FRAMEWORK = "pydantic-ai"


class DoxaMemory(AbstractCapability[Any]):
    """The memory of an agent. `session` is the whole scope. Without `recall` nothing is injected,
    without `capture` nothing is stored; without `tools` the model has none of doxa."""

    def __init__(
        self,
        session: Session,
        *,
        recall: bool = True,
        capture: bool = True,
        tools: bool = True,
        id: str | None = None,
    ) -> None:
        self._session = confined(session)
        self._recall, self._capture, self._tools = recall, capture, tools
        self.id = id
        self._brief: str | None = None  # of this run, made at its first request
        self._given: list[str] = []
        self._block: str | None = None

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a session is not written in a specification."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> DoxaMemory:
        """Return the same for one run, with state of its own."""
        own = copy(self)
        own._brief, own._given, own._block = None, [], None
        return own

    def get_instructions(self) -> Any:
        """Return what makes the brief of a run."""
        return self._opening if self._recall else None

    async def _opening(self, ctx: RunContext[Any]) -> str:
        if self._brief is not None:
            return self._brief
        block, self._given = await reading(opening, self._session)
        self._brief = block
        return block

    def get_toolset(self) -> Any:
        """Return the tools of the MCP profile `core`."""
        if not self._tools:
            return None
        made = [
            Tool.from_schema(
                partial(self._call, str(tool["name"])),
                name=str(tool["name"]),
                description=str(tool["description"]),
                json_schema=dict(tool["inputSchema"]),
            )
            for tool in TOOLS
        ]
        return FunctionToolset(made, id=f"{self.id or 'doxa'}-tools")

    async def _call(self, name: str, /, **arguments: Any) -> str:
        return await writing(carry_out, self._session, name, arguments)

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        """Add what is recalled after the prompt of this run, in the request and not in the
        history."""
        at = _prompt_at(request_context.messages, ctx.run_id) if self._recall else None
        if at is None:
            return request_context
        message = request_context.messages[at]
        if self._block is None:
            prompt = "\n".join(_said_in(message))
            self._block = await reading(about, self._session, prompt, given=self._given)
        if not self._block:
            return request_context
        parts = list(message.parts)
        last = max(n for n, part in enumerate(parts) if isinstance(part, UserPromptPart))
        parts.insert(last + 1, UserPromptPart(self._block))
        messages = list(request_context.messages)
        messages[at] = replace(message, parts=parts)
        return replace(request_context, messages=messages)

    async def after_run(self, ctx: RunContext[Any], *, result: Any) -> Any:
        """Store the prompt and the answers of the run."""
        if self._capture:
            said = [
                (kind, text)
                for message in result.new_messages()
                for kind, text in _turns_of(message)
            ]
            conversation = ctx.conversation_id or ctx.run_id or "run"
            await writing(store_turns, self._session, _FRAMEWORK, conversation, said)
        return result


def _prompt_at(messages: Sequence[ModelMessage], run_id: str | None) -> int | None:
    """Where the prompt of a run is in a request; None if it has none."""
    for at in reversed(range(len(messages))):
        message = messages[at]
        if isinstance(message, ModelRequest) and any(
            isinstance(part, UserPromptPart) for part in message.parts
        ):
            own = message.run_id is None or run_id is None or message.run_id == run_id
            return at if own else None
    return None


def _said_in(message: ModelRequest) -> list[str]:
    texts: list[str] = []
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            content = [part.content] if isinstance(part.content, str) else part.content
            for one in content:
                text = one if isinstance(one, str) else getattr(one, "content", None)
                if isinstance(text, str):
                    texts.append(text)
    return texts


def _turns_of(message: ModelMessage) -> list[tuple[str, str]]:
    if isinstance(message, ModelRequest):
        text = "\n".join(_said_in(message))
        return [("prompt", text)] if text else []
    assert isinstance(message, ModelResponse)
    text = "\n".join(part.content for part in message.parts if isinstance(part, TextPart))
    return [("answer", text)] if text else []
