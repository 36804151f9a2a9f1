"""The three APIs over a real server: the requests, the decoded answers, and invalid answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from doxa.base.errors import InputError, LimitError, ModelError
from doxa.base.limits import (
    EMBED_REQUEST_BYTES_MAX,
    EMBED_REQUEST_ITEMS_MAX,
    MODEL_TEXT_CHARS_MAX,
    RERANK_ITEMS_MAX,
)
from doxa.models import Completer, Embedder, HashEmbedder, Message, ollama, openai
from doxa.models.address import Secret, parse_url
from doxa.models.anthropic import AnthropicCompleter
from doxa.models.http import HttpEndpoint
from doxa.models.meter import Meter
from doxa.models.ollama import OllamaCompleter
from doxa.models.openai import EndpointReranker, OpenAiCompleter
from doxa.models.prefixes import known_prefixes
from doxa.models.remote import place_mark
from tests.models.model_server import (
    KEY,
    ModelServer,
    Reply,
    Request,
    anthropic_message,
    openai_chat,
)
from tests.models.test_embedder_contract import EmbedderContract

ASKED = [
    Message("system", "Be brief."),
    Message("user", "Hello \ud800"),
    Message("assistant", "Hi"),
    Message("user", "Why?"),
]
SENT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello \ufffd"},
    {"role": "assistant", "content": "Hi"},
    {"role": "user", "content": "Why?"},
]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as made:
        yield made


def endpoint(server: ModelServer, **options: Any) -> HttpEndpoint:
    return HttpEndpoint(parse_url(server.url, field="url"), sleep=lambda seconds: None, **options)


OPENERS: dict[str, Callable[..., Embedder]] = {
    "openai": openai.open_embedder,
    "ollama": ollama.open_embedder,
}


@pytest.fixture(params=sorted(OPENERS))
def opener(request: pytest.FixtureRequest) -> Callable[..., Embedder]:
    return OPENERS[request.param]


class TestOpenAiEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, server: ModelServer) -> Embedder:
        return openai.open_embedder(endpoint(server), "e5-small-v2", Meter())


class TestOllamaEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, server: ModelServer) -> Embedder:
        return ollama.open_embedder(endpoint(server), "all-minilm", Meter())


def test_vectors_are_those_of_the_endpoint_in_order_and_of_length_one(
    server: ModelServer, opener: Callable[..., Embedder]
) -> None:
    texts = ["the red car", "nobody ate my lunch", "the red car is here"]
    made = opener(endpoint(server), "plain-model", Meter()).embed(texts)
    assert np.allclose(made, HashEmbedder(dimensions=32).embed(texts), atol=1e-6)


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("nomic-embed-text:latest", "search_query: ", "search_document: "),
        ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
        ("text-embedding-3-small", "", ""),
        ("multilingual-e5-large-instruct", "", ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("BAAI/bge-m3", "", ""),
    ],
)
def test_questions_and_passages_get_the_prefixes_of_the_model(
    server: ModelServer, opener: Callable[..., Any], model: str, query: str, passage: str
) -> None:
    embedder = opener(endpoint(server), model, Meter(), dimensions=32)
    embedder.embed(["a"])
    embedder.embed_queries(["a"])
    assert [request.body["input"] for request in server.requests] == [
        [passage + "a"],
        [query + "a"],
    ]
    assert ("-by-" in embedder.name) == bool(query or passage)
    assert known_prefixes(model).query == query


def test_names_tell_apart_what_must_not_be_compared(
    server: ModelServer, opener: Callable[..., Embedder]
) -> None:
    to = endpoint(server)
    usual = place_mark("http://loopback:11434", "http://loopback:11434")
    moved = place_mark(parse_url(server.url, field="url").id, "http://loopback:11434")
    names = [
        opener(to, "m", Meter(), place=usual).name,
        opener(to, "m", Meter(), place=moved).name,
        opener(to, "n", Meter()).name,
        opener(to, "m", Meter(), dimensions=16).name,
        opener(to, "E5-small", Meter()).name,
    ]
    assert len(set(names)) == len(names) and usual == "" and moved
    assert names[0] == names[0].lower() and names[0].endswith(":m-32")
    assert opener(to, "m", Meter(), place=moved).name == names[1]


def test_dimensions_that_are_given_are_sent_and_save_the_question(
    server: ModelServer, opener: Callable[..., Embedder]
) -> None:
    embedder = opener(endpoint(server), "m", Meter(), dimensions=32)
    assert server.requests == [] and embedder.dimensions == 32
    embedder.embed(["x"])
    assert server.requests[0].body["dimensions"] == 32


def test_requests_are_bounded_whatever_is_given(server: ModelServer) -> None:
    embedder = ollama.open_embedder(endpoint(server), "m", Meter(), dimensions=32)
    assert embedder.embed(["short"] * 200 + ["ж" * 100_000] * 70).shape == (270, 32)
    for request in server.requests:
        assert len(request.body["input"]) <= EMBED_REQUEST_ITEMS_MAX
        assert sum(len(text.encode()) for text in request.body["input"]) <= EMBED_REQUEST_BYTES_MAX
        assert all(len(text) <= MODEL_TEXT_CHARS_MAX for text in request.body["input"])
    assert sum(len(request.body["input"]) for request in server.requests) == 270


def test_a_blank_text_is_not_sent(server: ModelServer, opener: Callable[..., Embedder]) -> None:
    embedder = opener(endpoint(server), "m", Meter(), dimensions=32)
    assert embedder.embed(["", " \n", "\0"])[:, 0].tolist() == [1.0, 1.0, 1.0]
    assert server.requests == []


TOO_LONG = [
    Reply(400, {"error": {"message": "maximum context length is 512 tokens"}}),
    Reply(413),
    Reply(
        500,
        {
            "error": {
                "code": 500,
                "message": "input is too large to process. increase the physical batch size",
                "type": "server_error",
            }
        },
    ),
]


@pytest.mark.parametrize("reply", TOO_LONG)
def test_a_text_beyond_the_models_reach_is_cut_until_it_is_taken(
    server: ModelServer, opener: Callable[..., Embedder], reply: Reply
) -> None:
    server.always = lambda request: (
        reply if any(len(text) > 1_100 for text in request.body["input"]) else None
    )
    embedder = opener(endpoint(server), "m", Meter(), dimensions=32)
    long = "word " * 1_000
    alone = embedder.embed([long])[0]
    assert [len(request.body["input"][0]) for request in server.requests] == [
        4_999,
        2_499,
        1_249,
        624,
    ]
    among = embedder.embed(["short", long, "other"])
    assert np.array_equal(among[1], alone)
    assert np.array_equal(among[0], embedder.embed(["short"])[0])


def test_a_short_text_that_is_refused_is_an_error(
    server: ModelServer, opener: Callable[..., Embedder]
) -> None:
    embedder = opener(endpoint(server), "m", Meter(), dimensions=32)
    server.always = lambda request: Reply(400, {"error": "no"})
    with pytest.raises(ModelError):
        embedder.embed(["short", "other"])
    assert len(server.requests) == 2


def rows(*vectors: Any, index: list[Any] | None = None) -> Callable[[Request], Reply]:
    def reply(request: Request) -> Reply:
        if request.path == "/api/embed":
            return Reply(body=json.dumps({"embeddings": list(vectors)}).encode())
        order = index if index is not None else range(len(vectors))
        return Reply(
            body=json.dumps(
                {
                    "data": [
                        {"index": i, "embedding": v} for i, v in zip(order, vectors, strict=True)
                    ]
                }
            ).encode()
        )

    return reply


BAD = {
    "too few": rows([1.0, 2.0]),
    "too many": rows([1.0, 0.0], [1.0, 0.0], [0.0, 1.0]),
    "none": rows(),
    "ragged": rows([1.0, 2.0], [1.0]),
    "another dimension": rows([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
    "zeros": rows([1.0, 2.0], [0.0, 0.0]),
    "NaN": rows([1.0, 2.0], [float("nan"), 1.0]),
    "infinite": rows([1.0, 2.0], [float("inf"), 1.0]),
    "text": rows(["1", "2"], [1.0, 2.0]),
    "null": rows([None, 1.0], [1.0, 2.0]),
    "nested": rows([[1.0, 2.0]], [[1.0, 2.0]]),
    "empty": rows([], []),
}


@pytest.mark.parametrize("name", BAD)
def test_vectors_that_cannot_be_right_are_an_error(
    server: ModelServer, opener: Callable[..., Embedder], name: str
) -> None:
    embedder = opener(endpoint(server), "m", Meter(), dimensions=2)
    server.always = BAD[name]
    with pytest.raises(ModelError) as caught:
        embedder.embed(["one", "two"])
    assert caught.value.next_step


@pytest.mark.parametrize("index", [[0, 0], [0, 2], [-1, 0], [0, None], [0, 10**30], [True, 0]])
def test_indices_that_are_not_each_once_are_an_error(server: ModelServer, index: list[Any]) -> None:
    embedder = openai.open_embedder(endpoint(server), "m", Meter(), dimensions=2)
    server.always = rows([1.0, 2.0], [2.0, 1.0], index=index)
    with pytest.raises(ModelError):
        embedder.embed(["one", "two"])


def test_an_answer_without_indices_keeps_the_order(server: ModelServer) -> None:
    embedder = openai.open_embedder(endpoint(server), "m", Meter(), dimensions=2)
    server.always = rows([1.0, 0.0], [0.0, 1.0], index=[None, None])
    assert embedder.embed(["one", "two"]).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_extreme_numbers_are_normalised_and_not_lost(
    server: ModelServer, opener: Callable[..., Embedder]
) -> None:
    embedder = opener(endpoint(server), "m", Meter(), dimensions=2)
    server.always = rows([3e300, 4e300], [3e-320, 0.0])
    assert embedder.embed(["one", "two"]) == pytest.approx(
        np.array([[0.6, 0.8], [1.0, 0.0]]), abs=1e-3
    )


def test_a_dimension_that_changes_later_is_an_error(
    server: ModelServer, opener: Callable[..., Embedder]
) -> None:
    embedder = opener(endpoint(server), "m", Meter())
    server.embedder = HashEmbedder(dimensions=16)
    with pytest.raises(ModelError, match="16 numbers, not 32"):
        embedder.embed(["one"])


# Completing


def completers(to: HttpEndpoint, meter: Meter) -> dict[str, Completer]:
    return {
        "openai": OpenAiCompleter(to, "m", meter),
        "ollama": OllamaCompleter(to, "m", meter),
        "anthropic": AnthropicCompleter(to, "m", meter),
    }


KINDS = ["openai", "ollama", "anthropic"]
USED = {"openai": (19, 5), "ollama": (26, 12), "anthropic": (42, 6)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_conversation_is_sent_and_its_answer_counted(server: ModelServer, kind: str) -> None:
    meter = Meter()
    found = completers(endpoint(server), meter)[kind].complete(
        ASKED, tokens_max=77, temperature=0.5
    )
    assert (found.text, found.finish, found.usage.estimated) == ("yes", "stop", False)
    assert (found.usage.tokens_in, found.usage.tokens_out) == USED[kind]
    body = server.requests[0].body
    spend = meter.spend()
    assert (spend.calls, spend.tokens_in, spend.tokens_out, spend.tokens_estimated) == (
        1,
        *USED[kind],
        0,
    )
    if kind == "openai":
        assert body == {"model": "m", "messages": SENT, "max_tokens": 77, "temperature": 0.5}
    elif kind == "ollama":
        assert body == {
            "model": "m",
            "messages": SENT,
            "stream": False,
            "options": {"num_predict": 77, "temperature": 0.5},
        }
    else:
        assert body == {
            "model": "m",
            "system": "Be brief.",
            "messages": SENT[1:],
            "max_tokens": 77,
            "temperature": 0.5,
        }


def test_anthropics_headers(server: ModelServer) -> None:
    to = endpoint(
        server,
        headers={"anthropic-version": "2023-06-01"},
        key=Secret(KEY, source="K"),
        key_header=("x-api-key", ""),
    )
    AnthropicCompleter(to, "m", Meter()).complete(ASKED)
    headers = server.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"], "authorization" in headers) == (
        KEY,
        "2023-06-01",
        False,
    )


def test_anthropics_parts_that_are_no_text_are_left_out(server: ModelServer) -> None:
    answer = anthropic_message("b", "max_tokens")
    answer["content"] = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "a"},
        *answer["content"],
    ]
    server.replies = [Reply(body=answer)]
    found = AnthropicCompleter(endpoint(server), "m", Meter()).complete(ASKED)
    assert (found.text, found.finish) == ("ab", "length")


def test_newer_models_of_openai_take_the_limit_under_another_name(server: ModelServer) -> None:
    said = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
        " 'max_completion_tokens' instead."
    )
    server.always = lambda request: (
        Reply(400, {"error": {"message": said}}) if "max_tokens" in request.body else None
    )
    completer = OpenAiCompleter(endpoint(server), "m", Meter())
    assert [completer.complete(ASKED).text for _ in range(2)] == ["yes", "yes"]
    assert [
        sorted(request.body.keys() & {"max_tokens", "max_completion_tokens"})
        for request in server.requests
    ] == [
        ["max_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


def test_ollama_is_asked_for_a_window_that_holds_question_and_answer(server: ModelServer) -> None:
    completer = OllamaCompleter(endpoint(server), "m", Meter())
    completer.complete([Message("user", "word " * 6_000)], tokens_max=1_000)
    completer.complete([Message("user", "word " * 1_200)], tokens_max=1_000)
    completer.complete([Message("user", "word")], tokens_max=1_000)
    assert [request.body["options"].get("num_ctx") for request in server.requests] == [
        16_384,
        4_096,
        None,
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_reported_is_estimated_and_said_so(server: ModelServer, kind: str) -> None:
    said = {"content": "four"}
    server.replies = [
        Reply(
            body={
                "choices": [{"message": said}],
                "message": said,
                "content": [{"type": "text", "text": "four"}],
            }
        )
    ]
    meter = Meter()
    usage = completers(endpoint(server), meter)[kind].complete([Message("user", "x" * 40)]).usage
    assert (usage.tokens_in, usage.tokens_out, usage.estimated) == (14, 1, True)
    assert meter.spend().tokens_estimated == 15


NO_ANSWER: list[Any] = [
    {},
    [],
    {"choices": []},
    {
        "choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": "length"}],
        "message": {},
        "content": [],
    },
    {
        "choices": [{"message": {"content": 5}}],
        "message": {"content": 5},
        "content": [{"type": "text", "text": 5}],
    },
    {"content": "x", "message": "x"},
    {
        "choices": [{"message": {"content": ""}}],
        "message": {"content": ""},
        "content": [{"type": "tool_use", "input": {}}],
    },
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", NO_ANSWER, ids=range(len(NO_ANSWER)))
def test_an_answer_without_text_is_an_error_and_counted(
    server: ModelServer, kind: str, body: Any
) -> None:
    server.replies = [Reply(body=body)]
    meter = Meter()
    with pytest.raises(ModelError) as caught:
        completers(endpoint(server), meter)[kind].complete(ASKED)
    assert caught.value.next_step and meter.spend().tokens_in > 0


@pytest.mark.parametrize(
    ("messages", "options", "error"),
    [
        ([], {}, InputError),
        ([Message("assistant", "x")], {}, InputError),
        ([Message("king", "x"), ASKED[1]], {}, InputError),  # type: ignore[arg-type]
        (ASKED, {"tokens_max": 0}, LimitError),
        (ASKED, {"tokens_max": 10**9}, LimitError),
        (ASKED, {"tokens_max": True}, LimitError),
        (ASKED, {"temperature": 3}, InputError),
        (ASKED, {"temperature": float("nan")}, InputError),
        ([Message("user", "x" * 5_000_000)], {}, LimitError),
    ],
)
def test_what_is_no_conversation_is_refused_unsent(
    server: ModelServer, messages: Any, options: Any, error: type[Exception]
) -> None:
    for completer in completers(endpoint(server), Meter()).values():
        with pytest.raises(error):
            completer.complete(messages, **options)
    assert server.requests == []


def test_a_cap_refuses_the_next_call_before_it_is_sent(server: ModelServer) -> None:
    meter = Meter(tokens_max=220)
    completer = OpenAiCompleter(endpoint(server), "m", meter)
    completer.complete([Message("user", "x" * 40)], tokens_max=150)
    with pytest.raises(LimitError, match="leaves 196, and this call may take 256"):
        completer.complete([Message("user", "x" * 40)], tokens_max=200)
    assert len(server.requests) == 1 and meter.spend().tokens_in == 19


# Reranking


def test_scores_come_in_the_order_of_the_texts(server: ModelServer) -> None:
    meter = Meter()
    reranker = EndpointReranker(endpoint(server), "m", meter)
    scores = reranker.score("the red car", ["nobody", "", "the red car", "a car"])
    assert scores.dtype == np.float32
    assert scores.tolist() == pytest.approx([0.0, -1.0, 0.3, 0.1])
    assert server.requests[0].body == {
        "model": "m",
        "query": "the red car",
        "documents": ["nobody", "the red car", "a car"],
        "top_n": 3,
    }
    assert (meter.spend().tokens_in, meter.spend().tokens_estimated) == (31, 0)
    assert (
        reranker.score("x", []).shape == (0,)
        and reranker.score("x", ["", " "]).tolist() == [0.0, 0.0]
        and len(server.requests) == 1
    )


@pytest.mark.parametrize(
    "results",
    [
        [],
        [{"index": 0, "relevance_score": 1}],
        [{"index": 0, "relevance_score": 1}] * 2,
        [{"index": i, "relevance_score": 1} for i in (0, 2)],
        [{"index": i, "relevance_score": 1} for i in (-1, 0)],
        [{"index": i, "relevance_score": "1"} for i in (0, 1)],
        [{"index": i, "relevance_score": 1e300} for i in (0, 1)],
        [{"index": i} for i in (0, 1)],
        [{"index": i, "relevance_score": 1} for i in (0, 1, 1)],
        [{"index": i, "relevance_score": float("nan")} for i in (0, 1)],
    ],
)
@pytest.mark.filterwarnings("error")
def test_scores_that_cannot_be_right_are_an_error(server: ModelServer, results: Any) -> None:
    server.replies = [Reply(body={"results": results})]
    with pytest.raises(ModelError):
        EndpointReranker(endpoint(server), "m", Meter()).score("x", ["one", "two"])


@pytest.mark.parametrize("reply", TOO_LONG)
def test_texts_beyond_a_rerankers_reach_are_cut_until_they_are_taken(
    server: ModelServer, reply: Reply
) -> None:
    server.always = lambda request: (
        reply if any(len(text) > 1_100 for text in request.body["documents"]) else None
    )
    scores = EndpointReranker(endpoint(server), "m", Meter()).score(
        "red car", ["a red car " * 300, "a car", "red " * 400]
    )
    assert scores.tolist() == pytest.approx([0.2, 0.1, 0.1])
    assert [max(map(len, request.body["documents"])) for request in server.requests] == [
        2_999,
        1_499,
        749,
    ]
    server.always = lambda request: reply
    with pytest.raises(ModelError):
        EndpointReranker(endpoint(server), "m", Meter()).score("red car", ["a car"])


def test_more_texts_than_a_reranker_takes_are_refused(server: ModelServer) -> None:
    with pytest.raises(LimitError):
        EndpointReranker(endpoint(server), "m", Meter()).score("x", ["y"] * (RERANK_ITEMS_MAX + 1))


def test_an_empty_choice_of_openai_ends_by_length(server: ModelServer) -> None:
    server.replies = [Reply(body=openai_chat(None, "length"))]
    with pytest.raises(ModelError, match="reached the limit of tokens"):
        OpenAiCompleter(endpoint(server), "m", Meter()).complete(ASKED)
