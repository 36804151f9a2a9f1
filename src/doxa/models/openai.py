"""Endpoints with OpenAI's API: OpenAI itself, vLLM, llama.cpp, LM Studio and many others.

    POST {url}/embeddings          {model, input: [text]}
                                   -> {data: [{index, embedding}], usage: {prompt_tokens}}
    POST {url}/chat/completions    {model, messages, max_tokens}
                                   -> {choices: [{message: {content}, finish_reason}], usage}
    POST {url}/rerank              {model, query, documents, top_n}
                                   -> {results: [{index, relevance_score}], usage}

OpenAI has no /rerank; its shape is the one that Cohere, Jina, vLLM and llama.cpp share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from doxa.base.errors import ModelError
from doxa.base.limits import (
    COMPLETE_MS,
    COMPLETE_TOKENS_DEFAULT,
    EMBED_CUT_CHARS_MIN,
    EMBED_MS,
    RERANK_ITEMS_MAX,
)
from doxa.models.chat import Finish, check_messages, completion, metered
from doxa.models.contract import Completion, Message
from doxa.models.http import Endpoint, decoded
from doxa.models.meter import Meter, Watch
from doxa.models.prefixes import known_prefixes
from doxa.models.remote import RemoteEmbedder
from doxa.models.texts import check_count, sendable, tokens_at_most, tokens_estimate
from doxa.models.vectors import finite_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

URL = "https://api.openai.com/v1"
_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length"}


class _OpenAiUsage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None


class _Vector(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _OpenAiVectors(msgspec.Struct):
    data: list[_Vector]
    usage: _OpenAiUsage | None = None


class _OpenAiMessage(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _OpenAiMessage
    finish_reason: str | None = None


class _Choices(msgspec.Struct):
    choices: list[_Choice]
    usage: _OpenAiUsage | None = None


class _Result(msgspec.Struct):
    index: int
    relevance_score: float


class _Results(msgspec.Struct):
    results: list[_Result]
    usage: _OpenAiUsage | None = None


def in_order(indices: Sequence[int | None], count: int) -> list[int] | None:
    """Return the position of each of `count` texts in an answer, or None unless the indices are 0
    to count - 1, each once. An answer without indices has the order of the request."""
    if len(indices) == count and all(index is None for index in indices):
        return list(range(count))
    places = {index: place for place, index in enumerate(indices)}
    if (
        len(indices) != count
        or len(places) != count
        or any(index not in places for index in range(count))
    ):
        return None
    return [places[index] for index in range(count)]


def _misplaced(url: str, label: str, count: int) -> ModelError:
    return ModelError(
        f"The answer of {url} for the model {label} does not contain each of {count} texts once.",
        next_step="Check that the URL is that of the provider's API.",
        url=url,
        model=label,
    )


def open_embedder(
    endpoint: Endpoint, model: str, meter: Meter, *, place: str = "", dimensions: int | None = None
) -> RemoteEmbedder:
    """Open an embedder over /embeddings. `dimensions` is sent too, for models that can shorten
    their vectors."""
    label = f"openai:{model}"

    def ask(texts: Sequence[str], watch: Watch) -> tuple[list[list[float]], int | None]:
        body: dict[str, object] = {"model": model, "input": list(texts)}
        if dimensions is not None:
            body["dimensions"] = dimensions
        answer = decoded(
            endpoint.post("/embeddings", body, time_ms=EMBED_MS, watch=watch),
            _OpenAiVectors,
            url=endpoint.url,
            model=label,
        )
        order = in_order([vector.index for vector in answer.data], len(texts))
        if order is None:
            raise _misplaced(endpoint.url, label, len(texts))
        return [
            answer.data[place].embedding for place in order
        ], answer.usage.prompt_tokens if answer.usage else None

    return RemoteEmbedder(
        label, ask, meter, place=place, prefixes=known_prefixes(model), dimensions=dimensions
    )


class OpenAiCompleter:
    """A completer over /chat/completions."""

    def __init__(self, endpoint: Endpoint, model: str, meter: Meter) -> None:
        self.name = f"openai:{model}"
        self._endpoint = endpoint
        self._model = model
        self._meter = meter
        self._limit_field = "max_tokens"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tokens_max: int = COMPLETE_TOKENS_DEFAULT,
        temperature: float | None = None,
    ) -> Completion:
        """Implement `Completer.complete`."""
        valid = check_messages(messages, tokens_max=tokens_max, temperature=temperature)
        body: dict[str, object] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.text} for message in valid],
        }
        if temperature is not None:
            body["temperature"] = temperature
        with metered(self._meter, self.name, valid, tokens_max=tokens_max) as call:
            content = self._post(body, tokens_max, call)
            answer = decoded(content, _Choices, url=self._endpoint.url, model=self.name)
            usage = answer.usage or _OpenAiUsage()
            first = answer.choices[0] if answer.choices else _Choice(_OpenAiMessage())
            finish = _FINISHES.get(first.finish_reason or "", "other")
            return completion(
                call,
                first.message.content,
                tokens_in=usage.prompt_tokens,
                tokens_out=usage.completion_tokens,
                finish=finish,
                model=self.name,
            )

    def _post(self, body: dict[str, object], tokens_max: int, watch: Watch) -> bytes:
        field = self._limit_field
        try:
            return self._endpoint.post(
                "/chat/completions", {**body, field: tokens_max}, time_ms=COMPLETE_MS, watch=watch
            )
        except ModelError as error:
            # Newer models of OpenAI accept the limit under this name only, most other servers only
            # under the older one.
            if (
                field != "max_tokens"
                or "refused" not in error.fields
                or "max_completion_tokens" not in error.message
            ):
                raise
        self._limit_field = "max_completion_tokens"
        return self._endpoint.post(
            "/chat/completions",
            {**body, "max_completion_tokens": tokens_max},
            time_ms=COMPLETE_MS,
            watch=watch,
        )


class EndpointReranker:
    """A reranker over /rerank. A blank text is not sent: it scores below all others."""

    texts_max = RERANK_ITEMS_MAX

    def __init__(self, endpoint: Endpoint, model: str, meter: Meter) -> None:
        self.name = f"openai:{model}"
        self._endpoint = endpoint
        self._model = model
        self._meter = meter

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `Reranker.score`."""
        import numpy as np

        check_count(texts, self.texts_max)
        asked = sendable(query)
        shown = {row: text for row, text in enumerate(map(sendable, texts)) if text}
        scores = np.zeros(len(texts), dtype=np.float32)
        if not shown or not asked:
            return scores
        found = self._fitting(asked, list(shown.values()))
        scores[:] = found.min() - 1
        scores[list(shown)] = found
        return scores

    def _fitting(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        """Score; if the endpoint refuses a text as too long, truncate all to half of the longest
        and score again."""
        try:
            return self._ask(query, texts)
        except ModelError as error:
            chars = max(len(query), *map(len, texts)) // 2
            if "refused" not in error.fields or chars < EMBED_CUT_CHARS_MIN:
                raise
        return self._fitting(query[:chars], [text[:chars] for text in texts])

    def _ask(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        body = {"model": self._model, "query": query, "documents": texts, "top_n": len(texts)}
        tokens = tokens_estimate(*texts) + len(texts) * tokens_estimate(query)
        with self._meter.call(
            self.name, tokens_in=tokens, tokens_in_max=tokens_at_most(tokens)
        ) as call:
            content = self._endpoint.post("/rerank", body, time_ms=EMBED_MS, watch=call)
            answer = decoded(content, _Results, url=self._endpoint.url, model=self.name)
            usage = answer.usage or _OpenAiUsage()
            call.used(
                usage.prompt_tokens if usage.prompt_tokens is not None else usage.total_tokens, 0
            )
        order = in_order([result.index for result in answer.results], len(texts))
        if order is None:
            raise _misplaced(self._endpoint.url, self.name, len(texts))
        return finite_scores(
            [answer.results[place].relevance_score for place in order],
            count=len(texts),
            model=self.name,
        )
