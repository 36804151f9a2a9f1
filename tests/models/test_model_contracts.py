"""One set of expectations for every completer and one for every reranker, so that a fake can
replace an endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from doxa.base.errors import LimitError
from doxa.models import (
    Completer,
    Message,
    OverlapReranker,
    RecordedCompleter,
    Reranker,
    ScriptedCompleter,
)
from doxa.models.address import parse_url
from doxa.models.anthropic import AnthropicCompleter
from doxa.models.http import HttpEndpoint
from doxa.models.listwise import ListwiseReranker
from doxa.models.meter import Meter
from doxa.models.ollama import OllamaCompleter
from doxa.models.openai import EndpointReranker, OpenAiCompleter
from tests.models.model_server import ModelServer

HOSTILE = [
    "",
    " \n",
    "\0",
    "a\0b",
    "\ud83d",
    "\ud83d\ude00 \udc00",
    "x" * 100_000,
    "中文" * 5_000,
    "[CLS] [SEP]",
    "\u202e\ufeff\ufffd",
    '"}]}\n',
]
TALK = [Message("system", "Be \ud800 brief."), Message("user", "Is it so?")]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(says="It is.") as made:
        yield made


@pytest.fixture
def to(server: ModelServer) -> HttpEndpoint:
    return HttpEndpoint(parse_url(server.url, field="url"))


class CompleterContract:
    @pytest.fixture
    def completer(self) -> Completer:
        raise NotImplementedError

    def test_it_says_the_next_message_and_what_that_took(self, completer: Completer) -> None:
        found = completer.complete(TALK, tokens_max=50)
        assert (found.text, found.finish) == ("It is.", "stop")
        assert found.usage.tokens_in > 0 and found.usage.tokens_out > 0
        assert completer.name == completer.name.strip() != ""


class TestOpenAi(CompleterContract):
    @pytest.fixture
    def completer(self, to: HttpEndpoint) -> Completer:
        return OpenAiCompleter(to, "m", Meter())


class TestOllama(CompleterContract):
    @pytest.fixture
    def completer(self, to: HttpEndpoint) -> Completer:
        return OllamaCompleter(to, "m", Meter())


class TestAnthropic(CompleterContract):
    @pytest.fixture
    def completer(self, to: HttpEndpoint) -> Completer:
        return AnthropicCompleter(to, "m", Meter())


class TestScripted(CompleterContract):
    @pytest.fixture
    def completer(self) -> Completer:
        return ScriptedCompleter(["It is."])


class TestRecorded(CompleterContract):
    @pytest.fixture
    def completer(self) -> Completer:
        return RecordedCompleter({RecordedCompleter.key(TALK): "It is."})


class RerankerContract:
    @pytest.fixture
    def reranker(self) -> Reranker:
        raise NotImplementedError

    def test_a_finite_number_for_each_text_whatever_it_is(self, reranker: Reranker) -> None:
        for query in ("when do cats", *HOSTILE):
            scores = reranker.score(query, HOSTILE)
            assert (
                scores.shape == (len(HOSTILE),)
                and scores.dtype == np.float32
                and np.isfinite(scores).all()
            )

    def test_none_and_too_many(self, reranker: Reranker) -> None:
        assert reranker.score("x", []).shape == (0,)
        assert reranker.score("x", ["y"] * reranker.texts_max).shape == (reranker.texts_max,)
        with pytest.raises(LimitError):
            reranker.score("x", ["y"] * (reranker.texts_max + 1))
        assert reranker.name


class TestEndpointReranker(RerankerContract):
    @pytest.fixture
    def reranker(self, to: HttpEndpoint) -> Reranker:
        return EndpointReranker(to, "m", Meter())


class TestListwiseReranker(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        def answer(messages: Sequence[Message]) -> str:
            return '{"order": [1]}'

        return ListwiseReranker(ScriptedCompleter(answer))


class TestOnnxReranker(RerankerContract):
    @pytest.fixture
    def reranker(self, tmp_path: Path) -> Reranker:
        pytest.importorskip("onnxruntime")
        pytest.importorskip("tokenizers")
        from doxa.models.onnx_folder import load_onnx_reranker
        from tests.models.test_onnx_folder import write_reranker

        return load_onnx_reranker(write_reranker(tmp_path))


class TestOverlapReranker(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return OverlapReranker()
