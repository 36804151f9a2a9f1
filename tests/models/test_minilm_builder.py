"""The builder of doxa-memory-minilm: its graph against a plain float32 forward pass, its files
against the pinned digests, and what it accepts as a source.

The published float32 weights (91 MB) are needed for two of the tests, and only where they are
installed do these run; `minilm_float32.npy` holds the vectors that the forward pass gives.
"""

from __future__ import annotations

import hashlib
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from doxa.models import minilm
from minilm_builder import backend, source
from minilm_builder.graph import build_model, quantise_columns
from minilm_builder.safetensors import read_safetensors
from tests.models.test_minilm import REFERENCE, TEXTS

PUBLISHED = source.find_installed()
needs_published = pytest.mark.skipif(
    PUBLISHED is None, reason="the float32 weights are not installed (requirements/models.txt)"
)


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


@needs_published
def test_the_reference_vectors_are_those_of_the_forward_pass() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    published = source.read_source(PUBLISHED)
    tokenizer = tokenizers.Tokenizer.from_str(published.tokenizer.decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    weights = read_safetensors(published.weights)
    found = np.stack([reference(weights, tokenizer.encode(text).ids) for text in TEXTS])
    assert np.allclose(found, np.load(REFERENCE), atol=1e-3)


@needs_published
def test_the_build_is_the_pinned_file(tmp_path: Path) -> None:
    """When this fails the builder changed: raise the number in NAME and pin the new digest, so that
    old and new vectors are not compared."""
    model = build_model(read_safetensors(source.read_source(PUBLISHED).weights))
    assert hashlib.sha256(model).hexdigest() == backend.MODEL_SHA256
    assert len(model) < 24_000_000
    backend.write_files(tmp_path, source=PUBLISHED)
    assert (tmp_path / "model.onnx").read_bytes() == model
    # Files that are already built need no source.
    backend.write_files(tmp_path, source=tmp_path / "nowhere")


def test_builder_and_package_pin_the_same_files() -> None:
    assert backend.MODEL_SHA256 == minilm.MODEL_SHA256
    assert source.TOKENIZER_SHA256 == minilm.TOKENIZER_SHA256
    assert backend.FOLDER.name == minilm.PACKAGE


def test_quantised_columns_are_within_half_a_step() -> None:
    matrix = np.random.default_rng(1).normal(size=(50, 20)).astype(np.float32)
    matrix[:, 3] = 0
    integers, scales = quantise_columns(matrix, integer_max=64)
    assert np.abs(integers).max() == 64
    assert (np.abs(integers * scales - matrix) <= scales * 0.5001).all()


def test_the_source_is_named_by_hash() -> None:
    lines = source.REQUIREMENTS.read_text().splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    assert pinned and all("==" in line and "--hash=sha256:" in line for line in pinned)


def wheel(folder: Path, *files: str) -> Path:
    path = folder / f"{len(files)}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            archive.writestr(file, "not the model")
    return path


def test_other_files_than_the_published_ones_are_refused(tmp_path: Path) -> None:
    for place, reason in (
        (tmp_path, "cannot be read"),
        (wheel(tmp_path), "does not contain one file"),
        (wheel(tmp_path, "a/model.safetensors", "b/model.safetensors"), "does not contain one"),
        (wheel(tmp_path, "a/model.safetensors"), "is not the published file"),
    ):
        with pytest.raises(source.SourceError, match=reason):
            backend.write_files(tmp_path / "built", source=place)
    assert not (tmp_path / "built").exists()


def test_reads_tensors() -> None:
    first, second = np.arange(6, dtype="<f4").reshape(2, 3), np.array([7], dtype="<i8")
    header = (
        b'{"__metadata__": {"format": "pt"},'
        b' "b": {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]},'
        b' "a": {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}}'
    )
    body = second.tobytes() + first.tobytes()
    tensors = read_safetensors(len(header).to_bytes(8, "little") + header + body)
    assert tensors.keys() == {"a", "b"}
    assert np.array_equal(tensors["b"], first) and np.array_equal(tensors["a"], second)
