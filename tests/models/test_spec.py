"""Parsing of specs, and the errors of invalid ones."""

from __future__ import annotations

import pytest

from doxa.base.errors import InputError
from doxa.models.spec import ModelRole, Spec, parse_spec


@pytest.mark.parametrize(
    ("role", "text", "spec"),
    [
        ("embedder", "auto", Spec("auto")),
        ("embedder", "minilm", Spec("minilm")),
        ("embedder", "ollama:nomic:latest", Spec("ollama", "nomic:latest")),
        ("embedder", "openai:small-3#512", Spec("openai", "small-3", 512)),
        ("embedder", "onnx:models/e5 #1", Spec("onnx", "models/e5 #1")),
        ("model", "anthropic:some-name", Spec("anthropic", "some-name")),
        ("model", " openai:Owner/Name ", Spec("openai", "Owner/Name")),
        ("reranker", "model", Spec("model")),
        ("reranker", "onnx:C:\\models\\r", Spec("onnx", "C:\\models\\r")),
        ("model", "openai:m#5", Spec("openai", "m#5")),
    ],
)
def test_what_is_named(role: ModelRole, text: str, spec: Spec) -> None:
    assert parse_spec(text, role, field=role) == spec
    assert parse_spec(str(spec), role, field=role) == spec


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("embedder", ""),
        ("embedder", "cohere:x"),
        ("embedder", "anthropic:x"),
        ("model", "onnx:x"),
        ("model", "model"),
        ("reranker", "ollama:x"),
        ("embedder", "minilm:x"),
        ("embedder", "openai"),
        ("embedder", "openai:"),
        ("embedder", "openai: "),
        ("embedder", "OpenAI:x"),
        ("embedder", "openai:x#0"),
        ("embedder", "openai:x#x"),
        ("embedder", "openai:x#99999999999"),
        ("embedder", "openai:#5"),
        ("embedder", "openai:a\nb"),
        ("embedder", "openai:" + "x" * 5_000),
        ("embedder", "openai:\ud800"),
        ("embedder", "openai:x#٣"),
    ],
)
def test_what_names_nothing_is_told_what_there_is(role: ModelRole, text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(text, role, field="DOXA_X")
    assert caught.value.fields["field"] == "DOXA_X" and caught.value.next_step
    assert str(caught.value).encode()
    if role == "embedder" and text in ("", "cohere:x"):
        assert (
            caught.value.next_step
            == "Use one of auto, none, minilm, openai:NAME, ollama:NAME, onnx:FOLDER."
        )
