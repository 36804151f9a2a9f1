"""The local model, where it is installed: vectors close to those of a float32 forward pass, and
every damaged, foreign or missing file reported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doxa.base.errors import ModelError
from doxa.base.limits import MODEL_TEXT_CHARS_MAX
from doxa.models import Embedder, find_weights, load_minilm, minilm
from doxa.models.texts import readable

WEIGHTS = find_weights()
needs_weights = pytest.mark.skipif(
    WEIGHTS is None, reason="doxa-memory-minilm is not installed (make weights)"
)
# Vectors of TEXTS in float32; test_minilm_builder.py computes them from the published weights.
REFERENCE = Path(__file__).with_name("minilm_float32.npy")

TEXTS = [
    "The cat sat on the mat.",
    "A kitten was resting on a rug.",
    "Quarterly revenue rose by four percent in the third quarter of 2023.",
    "How do I reset my password?",
    "Steps to recover a forgotten login credential",
    "She moved from Berlin to Lisbon in March and now works for a shipping company.",
    "def add(a, b): return a + b",
    "PostgreSQL uses multi-version concurrency control so that readers never block writers.",
    "naïve café — straße",
    "ok",
    "The ferry leaves at seven, and if the fog holds it may not leave at all. " * 8,
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_minilm()


@needs_weights
def test_close_to_float32(embedder: Embedder) -> None:
    cosines = (embedder.embed(TEXTS) * np.load(REFERENCE)).sum(axis=1)
    assert cosines.min() >= 0.98


@needs_weights
def test_paraphrases_are_closer_than_strangers(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    cat, kitten, revenue, password, login = vectors[:5]
    assert cat @ kitten > 0.5 > cat @ revenue
    assert password @ login > 0.5 > password @ kitten


@needs_weights
def test_a_megabyte_costs_no_more_than_its_start(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    tokenizer = embedder._tokenizer  # type: ignore[attr-defined]

    class Counting:
        def encode(self, text: str) -> Any:
            read.append(len(text))
            return tokenizer.encode(text)

    monkeypatch.setattr(embedder, "_tokenizer", Counting())
    long = "remember the milk " * 60_000
    assert np.array_equal(embedder.embed([long]), embedder.embed([long[:MODEL_TEXT_CHARS_MAX]]))
    assert read == [MODEL_TEXT_CHARS_MAX] * 2


def copied(folder: Path) -> Path:
    """The installed files in a folder of their own; returns its model.onnx."""
    assert WEIGHTS is not None
    folder.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).write_bytes(WEIGHTS.with_name(name).read_bytes())
    return folder / "model.onnx"


def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules is how Python itself marks a module that must not be found.
    monkeypatch.setitem(sys.modules, minilm.PACKAGE, None)


@needs_weights
def test_the_model_folder_replaces_the_package(
    embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = copied(tmp_path / minilm.NAME)
    assert find_weights(tmp_path) == WEIGHTS
    without_package(monkeypatch)
    assert find_weights() is None and find_weights(tmp_path) == model
    found = load_minilm(tmp_path).embed(["x"])
    assert np.array_equal(found, embedder.embed(["x"]))
    with pytest.warns(DeprecationWarning, match="use model_folder"):
        assert np.array_equal(load_minilm(cache_folder=tmp_path).embed(["x"]), found)


@needs_weights
def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    model = copied(tmp_path / "own")
    whole = model.read_bytes()
    flipped = whole[:5_000_000] + bytes([whole[5_000_000] ^ 1]) + whole[5_000_001:]
    for damaged in (b"", whole[:1_000_000], whole[:-1], flipped, whole + b"\0"):
        model.write_bytes(damaged)
        with pytest.raises(ModelError, match=r"model\.onnx is not the released file") as caught:
            load_minilm(weights=model)
        assert "--force-reinstall" in caught.value.next_step
    model.write_bytes(whole)
    model.with_name("tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json is not the released file"):
        load_minilm(weights=model)


def test_missing_files_say_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    with pytest.raises(ModelError, match=r"Meaning search is off: .* cannot be read") as caught:
        load_minilm(weights=tmp_path / "model.onnx")
    assert "doxa-memory[minilm]" in caught.value.next_step


def test_a_missing_runtime_and_a_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelError, match="the package onnxruntime cannot be imported") as caught:
        load_minilm(tmp_path)
    assert "doxa-memory[minilm]" in caught.value.next_step
    monkeypatch.delitem(sys.modules, "onnxruntime")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    without_package(monkeypatch)
    assert find_weights() is None
    with pytest.raises(ModelError, match="the local embedding model is not installed"):
        load_minilm(tmp_path)


def test_a_load_that_was_begun_is_taken_once() -> None:
    pytest.importorskip("onnxruntime")
    folder = Path("no such folder")
    minilm.load_ahead(folder)
    begun = minilm._begun[folder].result()
    assert begun is not None
    assert load_minilm(folder) is begun
    assert load_minilm(folder) is not begun


def test_a_load_that_was_begun_and_failed_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    without_package(monkeypatch)
    minilm.load_ahead(tmp_path)
    with pytest.raises(ModelError, match="the local embedding model is not installed"):
        load_minilm(tmp_path)


def test_readable() -> None:
    assert readable("  plain ") == "plain "
    assert readable("\ud83d\ude00 \ud83d") == "\U0001f600 \ufffd"
    assert len(readable("é" * 1_000_000)) == MODEL_TEXT_CHARS_MAX
