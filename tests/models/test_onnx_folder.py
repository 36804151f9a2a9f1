"""Folders with small real graphs, written here and run by the real runtime; the expected results
are computed by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from doxa.base.errors import LimitError, ModelError
from doxa.base.limits import ONNX_TOKENIZER_BYTES_MAX, RERANK_ITEMS_MAX
from doxa.models import Embedder
from doxa.models.onnx_folder import load_onnx_embedder, load_onnx_reranker
from minilm_builder.onnx_writer import GraphWriter, model_bytes, value_info
from tests.models.test_embedder_contract import EmbedderContract

pytest.importorskip("onnxruntime")
tokenizers = pytest.importorskip("tokenizers")

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "one",
    "text",
    "another",
    "memory",
    "about",
    "cats",
    "ships",
    "query",
    "passage",
    ":",
    "a",
]
ID = {word: number for number, word in enumerate(WORDS)}
DIMENSIONS = 8
TABLE = np.random.default_rng(3).normal(size=(len(WORDS), DIMENSIONS)).astype(np.float32)


def write_tokenizer(folder: Path, *, tokens_max: int | None = 16, marks: bool = True) -> None:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(ID, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    if marks:
        tokenizer.post_processor = tokenizers.processors.BertProcessing(
            ("[SEP]", ID["[SEP]"]), ("[CLS]", ID["[CLS]"])
        )
    if tokens_max:
        tokenizer.enable_truncation(tokens_max)
    tokenizer.enable_padding(length=12)  # as published files have it; it must not count
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))


def inputs(*names: str, element: str = "int64") -> list[bytes]:
    return [value_info(name, element=element, shape=["batch", "tokens"]) for name in names]


def write_embedder(
    folder: Path,
    *,
    pooled: bool = False,
    names: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids"),
    element: str = "int64",
    table: NDArray[Any] = TABLE,
    **settings: object,
) -> Path:
    """Looks each token up in a table; the mask is added as (mask - 1) and the types as they are, so
    that wrong ones would show."""
    write_tokenizer(folder)
    graph = GraphWriter()
    rows = graph.node("Gather", [graph.constant("table", table), "input_ids"], axis=0)
    for name in names[1:]:
        value = graph.node(
            "Unsqueeze",
            [
                graph.node("Cast", [name], to=1),
                graph.constant("axis", np.array([2], dtype=np.int64)),
            ],
        )
        if name == "attention_mask":
            value = graph.node("Sub", [value, graph.constant("one", np.ones(1, dtype=np.float32))])
        rows = graph.node("Add", [rows, value])
    shape: list[int | str] = ["batch", "tokens", DIMENSIONS]
    if pooled:
        rows = graph.node(
            "ReduceMax",
            [rows, graph.constant("tokens_axis", np.array([1], dtype=np.int64))],
            keepdims=0,
        )
        shape = ["batch", DIMENSIONS]
    body = graph.graph_bytes(
        "g",
        inputs=inputs(*names, element=element),
        outputs=[value_info(rows, element="float32", shape=shape)],
    )
    (folder / "model.onnx").write_bytes(model_bytes(body, producer="test"))
    if settings:
        (folder / "doxa.json").write_text(json.dumps(settings))
    return folder


def write_reranker(folder: Path, *, logits: int = 1, element: str = "int64") -> Path:
    """One number: how many tokens there are of the second text, plus a tenth of their sum."""
    write_tokenizer(folder)
    graph = GraphWriter()
    types, ids = (graph.node("Cast", [name], to=1) for name in ("token_type_ids", "input_ids"))
    weighed = graph.node("Mul", [ids, graph.constant("tenth", np.array([0.1], dtype=np.float32))])
    axis = graph.constant("axis", np.array([1], dtype=np.int64))
    total = graph.node(
        "ReduceSum",
        [graph.node("Add", [types, graph.node("Mul", [types, weighed])]), axis],
        keepdims=1,
    )
    out = graph.node("Concat", [total] * logits, axis=1)
    names = ("input_ids", "attention_mask", "token_type_ids")
    body = graph.graph_bytes(
        "g",
        inputs=inputs(*names, element=element),
        outputs=[value_info(out, element="float32", shape=["batch", logits])],
    )
    (folder / "model.onnx").write_bytes(model_bytes(body, producer="test"))
    return folder


def unit(vector: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(vector / np.linalg.norm(vector))


def ids(text: str) -> list[int]:
    return [ID["[CLS]"], *(ID.get(word, ID["[UNK]"]) for word in text.split()), ID["[SEP]"]]


class TestOnnxEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Embedder:
        return load_onnx_embedder(write_embedder(tmp_path))


@pytest.mark.parametrize("element", ["int64", "int32"])
@pytest.mark.parametrize(
    "names",
    [
        ("input_ids",),
        ("input_ids", "attention_mask"),
        ("input_ids", "attention_mask", "token_type_ids"),
    ],
)
def test_the_mean_of_the_tokens_with_the_inputs_that_the_graph_asks_for(
    tmp_path: Path, names: tuple[str, ...], element: str
) -> None:
    embedder = load_onnx_embedder(write_embedder(tmp_path, names=names, element=element))
    assert embedder.embed(["one text"])[0] == pytest.approx(
        unit(TABLE[ids("one text")].mean(axis=0)), abs=1e-6
    )
    assert (embedder.dimensions, embedder.tokens_max) == (DIMENSIONS, 16)


def test_the_first_token(tmp_path: Path) -> None:
    embedder = load_onnx_embedder(write_embedder(tmp_path, pooling="cls"))
    assert embedder.local is True
    (vector,) = embedder.embed(["one text"])
    assert vector == pytest.approx(unit(TABLE[ID["[CLS]"]]), abs=1e-6)


def test_an_output_that_is_pooled_already(tmp_path: Path) -> None:
    (vector,) = load_onnx_embedder(write_embedder(tmp_path, pooled=True)).embed(["one text"])
    assert vector == pytest.approx(unit(TABLE[ids("one text")].max(axis=0)), abs=1e-6)


def test_prefixes_of_questions_and_passages(tmp_path: Path) -> None:
    embedder = load_onnx_embedder(
        write_embedder(tmp_path, query_prefix="query : ", passage_prefix="passage : ")
    )
    plain = load_onnx_embedder(write_embedder(tmp_path / "plain"))
    assert np.array_equal(embedder.embed_queries(["one"]), plain.embed(["query : one"]))
    assert np.array_equal(embedder.embed(["one"]), plain.embed(["passage : one"]))
    assert embedder.name != plain.name


def test_texts_are_cut_at_the_settings_or_the_tokenizers_limit(tmp_path: Path) -> None:
    write_embedder(tmp_path, tokens_max=4)
    cut = load_onnx_embedder(tmp_path)
    assert cut.tokens_max == 4 and np.array_equal(
        cut.embed(["one text another"]), cut.embed(["one text cats"])
    )
    (tmp_path / "doxa.json").unlink()
    write_tokenizer(tmp_path, tokens_max=None)
    assert load_onnx_embedder(tmp_path).tokens_max == 512


def test_the_name_follows_from_the_files_and_not_from_their_place(tmp_path: Path) -> None:
    names = [load_onnx_embedder(write_embedder(tmp_path / place)).name for place in ("a", "b")]
    other = load_onnx_embedder(write_embedder(tmp_path / "c", table=TABLE * 2)).name
    assert names[0] == names[1] != other and names[0].endswith(f"-{DIMENSIONS}")


def test_a_tokenizer_without_marks_and_a_blank_text(tmp_path: Path) -> None:
    write_embedder(tmp_path)
    write_tokenizer(tmp_path, marks=False)
    assert load_onnx_embedder(tmp_path).embed([" "])[0].tolist() == [1.0] + [0.0] * 7
    write_reranker(tmp_path / "r")
    write_tokenizer(tmp_path / "r", marks=False)
    assert load_onnx_reranker(tmp_path / "r").score("", [""]).tolist() == [0.0]


@pytest.mark.parametrize("element", ["int64", "int32"])
def test_a_cross_encoder_reads_both_texts_together(tmp_path: Path, element: str) -> None:
    reranker = load_onnx_reranker(write_reranker(tmp_path, element=element))
    texts = ["cats", "cats ships", "", "nothing known"]
    wanted = [sum(1 + 0.1 * number for number in ids(text)[1:]) for text in texts]
    scores = reranker.score("about cats", texts)
    assert scores.dtype == np.float32 and scores == pytest.approx(wanted, abs=1e-4)
    assert np.array_equal(reranker.score("about cats", texts[::-1]), scores[::-1])


def test_a_cross_encoder_takes_any_text_and_no_more_than_its_number(tmp_path: Path) -> None:
    reranker = load_onnx_reranker(write_reranker(tmp_path))
    hostile = ["", "\0", "\ud800", "word " * 100_000, "中文" * 5_000]
    assert np.isfinite(reranker.score("memory " * 50_000, hostile)).all()
    assert reranker.score("x", []).shape == (0,)
    with pytest.raises(LimitError):
        reranker.score("x", ["y"] * (RERANK_ITEMS_MAX + 1))


def damaged(folder: Path, kind: str) -> None:
    if kind == "no model":
        (folder / "model.onnx").unlink()
    elif kind == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    elif kind == "a torn model":
        (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:100])
    elif kind == "no tokenizer's file":
        (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    elif kind == "a tokenizer that is no text":
        (folder / "tokenizer.json").write_bytes(b"\xff")
    elif kind == "a huge tokenizer":
        with (folder / "tokenizer.json").open("wb") as file:
            file.truncate(ONNX_TOKENIZER_BYTES_MAX + 1)
    elif kind == "a table too short for its tokens":
        write_embedder(folder, table=TABLE[:2])
    elif kind == "zeros":
        write_embedder(folder, table=TABLE * 0)
    elif kind == "not a number":
        write_embedder(folder, table=np.full_like(TABLE, np.nan))
    elif kind == "an input that is no text model's":
        write_embedder(folder, names=("input_ids", "pixel_values"))
    else:
        (folder / "doxa.json").write_text(kind)


@pytest.mark.parametrize(
    "kind",
    [
        "no model",
        "no tokenizer",
        "a torn model",
        "no tokenizer's file",
        "a tokenizer that is no text",
        "a huge tokenizer",
        "a table too short for its tokens",
        "zeros",
        "not a number",
        "an input that is no text model's",
        '{"pooling": "max"}',
        '{"poling": "cls"}',
        '{"output": "none"}',
        '{"pooling": "pooled"}',
        '{"tokens_max": 1}',
        '{"tokens_max": 1000000}',
        "[]",
        "not json",
        "{" * 100_000,
    ],
)
def test_a_folder_that_cannot_be_used_says_so(tmp_path: Path, kind: str) -> None:
    write_embedder(tmp_path)
    damaged(tmp_path, kind)
    with pytest.raises(ModelError) as caught:
        load_onnx_embedder(tmp_path)
    assert str(tmp_path) in caught.value.message and caught.value.next_step


def test_a_graph_of_several_logits_is_no_cross_encoder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cross-encoder must be one number"):
        load_onnx_reranker(write_reranker(tmp_path, logits=2))
    with pytest.raises(ModelError, match="cross-encoder must be one number"):
        load_onnx_reranker(write_embedder(tmp_path / "e"))
    with pytest.raises(ModelError, match=r"has no file model\.onnx"):
        load_onnx_reranker(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="its files cannot be read"):
        load_onnx_reranker(tmp_path / ("x" * 3_000))
