"""Whatever an endpoint answers, an adapter returns a valid result or raises a ModelError."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.base.errors import ModelError
from doxa.models import Message, ollama, openai
from doxa.models.anthropic import AnthropicCompleter
from doxa.models.listwise import ListwiseReranker
from doxa.models.meter import Meter, Watch
from doxa.models.ollama import OllamaCompleter
from doxa.models.openai import EndpointReranker, OpenAiCompleter

NAMES = [
    "data",
    "embedding",
    "embeddings",
    "index",
    "usage",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "choices",
    "message",
    "content",
    "finish_reason",
    "results",
    "relevance_score",
    "text",
    "type",
    "prompt_eval_count",
    "eval_count",
    "input_tokens",
    "output_tokens",
    "order",
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.sampled_from(["text", "", "stop", '{"order": [1]}', '{"order": [9]}'])
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=25,
)
ROW = st.fixed_dictionaries(
    {
        "index": st.integers(-1, 2) | st.none() | JSON,
        "embedding": st.lists(st.floats(width=32), max_size=3) | JSON,
    }
)
RESULT = st.fixed_dictionaries(
    {"index": st.integers(-1, 2) | JSON, "relevance_score": st.floats() | JSON}
)
SHAPED = st.fixed_dictionaries(
    {},
    optional={
        "data": st.lists(ROW, max_size=3),
        "embeddings": st.lists(st.lists(st.floats(), max_size=3), max_size=3),
        "results": st.lists(RESULT, max_size=3),
        "choices": st.lists(
            st.fixed_dictionaries({"message": st.fixed_dictionaries({"content": LEAVES})}),
            max_size=2,
        ),
        "usage": JSON,
        "message": st.fixed_dictionaries({"content": LEAVES}),
        "content": st.lists(st.fixed_dictionaries({"type": LEAVES, "text": LEAVES}), max_size=2),
        "prompt_eval_count": LEAVES,
        "eval_count": LEAVES,
    },
)


class Says:
    """Fake: an endpoint with one answer."""

    url = "fake:"

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def post(self, path: str, body: Mapping[str, object], *, time_ms: int, watch: Watch) -> bytes:
        watch.attempt()
        return self._answer


def calls(endpoint: Says, meter: Meter) -> list[Any]:
    said = [Message("user", "x")]
    return [
        lambda: openai.open_embedder(endpoint, "m", meter, dimensions=2).embed(["a", "b"]),
        lambda: ollama.open_embedder(endpoint, "m", meter).embed(["a", "b"]),
        lambda: EndpointReranker(endpoint, "m", meter).score("q", ["a", "b"]),
        lambda: ListwiseReranker(OllamaCompleter(endpoint, "m", meter)).score("q", ["a", "b"]),
        *(
            lambda kind=kind: kind(endpoint, "m", meter).complete(said)
            for kind in (OpenAiCompleter, OllamaCompleter, AnthropicCompleter)
        ),
    ]


def check(answer: bytes) -> None:
    meter = Meter()
    for call in calls(Says(answer), meter):
        try:
            found = call()
        except ModelError as error:
            assert error.next_step and str(error).encode()
            continue
        if isinstance(found, np.ndarray):
            assert found.dtype == np.float32 and len(found) == 2 and np.isfinite(found).all()
            assert found.ndim == 1 or np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
        else:
            assert found.text and found.usage.tokens_in >= 0 and found.usage.tokens_out >= 0
    spend = meter.spend()
    assert (
        spend.calls > 0
        and spend.tokens_in >= 0
        and 0 <= spend.tokens_estimated <= spend.tokens_in + spend.tokens_out
    )
    assert meter._totals.reserved == 0


@settings(max_examples=300, deadline=None)
@given(SHAPED | JSON)
def test_json_of_any_shape(value: Any) -> None:
    check(msgspec.json.encode(value))


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_bytes_of_any_kind(content: bytes) -> None:
    check(content)
