"""Anthropic's Messages API, for language models; Anthropic offers no embeddings.

POST {url}/v1/messages    {model, max_tokens, system, messages}
                          -> {content: [{type: "text", text}], stop_reason, usage}
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doxa.base.limits import COMPLETE_MS, COMPLETE_TOKENS_DEFAULT
from doxa.models.chat import Finish, check_messages, completion, metered
from doxa.models.contract import Completion, Message
from doxa.models.http import Endpoint, decoded
from doxa.models.meter import Meter

URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
_FINISHES: dict[str, Finish] = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


class _Part(msgspec.Struct):
    type: str
    text: str | None = None


class _AnthropicUsage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    @property
    def tokens_in(self) -> int | None:
        """All tokens read, including cached ones, which `input_tokens` omits."""
        if self.input_tokens is None:
            return None
        return (
            self.input_tokens
            + (self.cache_creation_input_tokens or 0)
            + (self.cache_read_input_tokens or 0)
        )


class _AnthropicAnswer(msgspec.Struct):
    content: list[_Part]
    stop_reason: str | None = None
    usage: _AnthropicUsage | None = None


class AnthropicCompleter:
    """A completer over /v1/messages."""

    def __init__(self, endpoint: Endpoint, model: str, meter: Meter) -> None:
        """`endpoint` must send the header anthropic-version."""
        self.name = f"anthropic:{model}"
        self._endpoint = endpoint
        self._model = model
        self._meter = meter

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tokens_max: int = COMPLETE_TOKENS_DEFAULT,
        temperature: float | None = None,
    ) -> Completion:
        """Implement `Completer.complete`. System messages are sent ahead of the conversation, in
        order."""
        valid = check_messages(messages, tokens_max=tokens_max, temperature=temperature)
        body: dict[str, object] = {
            "model": self._model,
            "max_tokens": tokens_max,
            "messages": [
                {"role": message.role, "content": message.text}
                for message in valid
                if message.role != "system"
            ],
        }
        system = "\n\n".join(message.text for message in valid if message.role == "system")
        if system:
            body["system"] = system
        if temperature is not None:
            body["temperature"] = temperature
        with metered(self._meter, self.name, valid, tokens_max=tokens_max) as call:
            content = self._endpoint.post("/v1/messages", body, time_ms=COMPLETE_MS, watch=call)
            answer = decoded(content, _AnthropicAnswer, url=self._endpoint.url, model=self.name)
            usage = answer.usage or _AnthropicUsage()
            text = "".join(part.text or "" for part in answer.content if part.type == "text")
            finish = _FINISHES.get(answer.stop_reason or "", "other")
            return completion(
                call,
                text,
                tokens_in=usage.tokens_in,
                tokens_out=usage.output_tokens,
                finish=finish,
                model=self.name,
            )
