"""Ollama by its own API. Ollama runs models on this machine or in the local network.

POST {url}/api/embed    {model, input: [text], truncate}
                        -> {embeddings: [[number]], prompt_eval_count}
POST {url}/api/chat     {model, messages, stream: false, options}
                        -> {message: {content}, done_reason, prompt_eval_count, eval_count}
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doxa.base.limits import COMPLETE_MS, COMPLETE_TOKENS_DEFAULT, EMBED_MS
from doxa.models.chat import Finish, check_messages, completion, estimate_tokens, metered
from doxa.models.contract import Completion, Message
from doxa.models.http import Endpoint, decoded
from doxa.models.meter import Meter, Watch
from doxa.models.prefixes import known_prefixes
from doxa.models.remote import RemoteEmbedder

URL = "http://127.0.0.1:11434"
_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length"}
# Ollama's smallest default context (newer versions have 4,096 or more): a longer conversation
# silently loses its beginning. The next power of two is requested, so that few sizes occur, since
# each new one makes Ollama load the model again.
_WINDOW_TOKENS = 2_048


class _OllamaVectors(msgspec.Struct):
    embeddings: list[list[float]]
    prompt_eval_count: int | None = None


class _OllamaMessage(msgspec.Struct):
    content: str | None = None


class _OllamaAnswer(msgspec.Struct):
    message: _OllamaMessage
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None


def open_embedder(
    endpoint: Endpoint, model: str, meter: Meter, *, place: str = "", dimensions: int | None = None
) -> RemoteEmbedder:
    """Open an embedder over /api/embed. `dimensions` is sent too, for models that can shorten their
    vectors."""
    label = f"ollama:{model}"

    def ask(texts: Sequence[str], watch: Watch) -> tuple[list[list[float]], int | None]:
        body: dict[str, object] = {"model": model, "input": list(texts), "truncate": True}
        if dimensions is not None:
            body["dimensions"] = dimensions
        answer = decoded(
            endpoint.post("/api/embed", body, time_ms=EMBED_MS, watch=watch),
            _OllamaVectors,
            url=endpoint.url,
            model=label,
        )
        return answer.embeddings, answer.prompt_eval_count

    return RemoteEmbedder(
        label, ask, meter, place=place, prefixes=known_prefixes(model), dimensions=dimensions
    )


class OllamaCompleter:
    """A completer over /api/chat."""

    def __init__(self, endpoint: Endpoint, model: str, meter: Meter) -> None:
        self.name = f"ollama:{model}"
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
        """Implement `Completer.complete`. Requests a larger context if question and answer need
        it."""
        valid = check_messages(messages, tokens_max=tokens_max, temperature=temperature)
        tokens_in = estimate_tokens(valid)
        options: dict[str, object] = {"num_predict": tokens_max}
        if temperature is not None:
            options["temperature"] = temperature
        if tokens_in + tokens_max > _WINDOW_TOKENS:
            options["num_ctx"] = 1 << (tokens_in + tokens_max - 1).bit_length()
        body = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.text} for message in valid],
            "stream": False,
            "options": options,
        }
        with metered(self._meter, self.name, valid, tokens_max=tokens_max) as call:
            content = self._endpoint.post("/api/chat", body, time_ms=COMPLETE_MS, watch=call)
            answer = decoded(content, _OllamaAnswer, url=self._endpoint.url, model=self.name)
            finish = _FINISHES.get(answer.done_reason or "", "other")
            return completion(
                call,
                answer.message.content,
                tokens_in=answer.prompt_eval_count,
                tokens_out=answer.eval_count,
                finish=finish,
                model=self.name,
            )
