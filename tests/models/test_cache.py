"""The cache returns the vectors of its embedder, calls it once, and stays within its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from doxa.base.errors import ModelError
from doxa.base.limits import EMBED_REQUEST_ITEMS_MAX
from doxa.models import Embedder, HashEmbedder
from doxa.models.cache import _ENTRY_BYTES, CachedEmbedder
from tests.models.test_embedder_contract import EmbedderContract


class Watched(HashEmbedder):
    """Notes what it is asked."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        return super().embed(texts)


class Questioning(Watched):
    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed([f"query {text}" for text in texts])


class TestCached(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CachedEmbedder(HashEmbedder())


def test_each_text_is_asked_for_once_bit_for_bit() -> None:
    inner = Watched(dimensions=16)
    cached = CachedEmbedder(inner)
    first = cached.embed(["a", "b", "a"])
    second = cached.embed(["b", "c", "a"])
    assert inner.asked == [["a", "b"], ["c"]]
    assert np.array_equal(
        first, HashEmbedder(dimensions=16).embed(["a", "b", "a"])
    ) and np.array_equal(second[[0, 2]], first[[1, 0]])


def test_a_caller_cannot_change_what_is_kept() -> None:
    cached = CachedEmbedder(HashEmbedder(dimensions=16))
    cached.embed(["a"])[:] = 5
    cached.embed(["a"])[:] = 7
    assert np.array_equal(cached.embed(["a"]), HashEmbedder(dimensions=16).embed(["a"]))


def test_questions_and_passages_are_kept_apart_only_where_they_differ() -> None:
    inner = Questioning(dimensions=16)
    cached = CachedEmbedder(inner)
    assert not np.array_equal(cached.embed(["a"]), cached.embed_queries(["a"]))
    assert np.array_equal(cached.embed(["a"]), cached.embed(["a"]))
    plain = Watched(dimensions=16)
    alike = CachedEmbedder(plain)
    assert np.array_equal(alike.embed(["a"]), alike.embed_queries(["a"])) and plain.asked == [["a"]]


def test_memory_is_bounded_and_the_least_used_leave() -> None:
    inner = Watched(dimensions=16)
    cached = CachedEmbedder(inner, bytes_max=4_000)
    cached.embed([f"text {number}" for number in range(500)])
    inner.asked.clear()
    kept = 0
    for number in reversed(range(500)):
        cached.embed([f"text {number}"])
        if inner.asked:
            break
        kept += 1
    assert 3_000 < kept * (16 * 4 + _ENTRY_BYTES) <= 4_000
    cached.embed([f"text {number}" for number in range(500)])
    inner.asked.clear()
    cached.embed(["text 499"])
    cached.embed([f"new {number}" for number in range(9)])
    cached.embed(["text 499"])
    assert inner.asked == [[f"new {number}" for number in range(9)]]
    cached.embed(["text 0"])
    assert inner.asked[-1] == ["text 0"]


def test_nothing_is_kept_that_is_larger_than_all() -> None:
    inner = Watched(dimensions=10_000)
    cached = CachedEmbedder(inner, bytes_max=100)
    assert cached.embed(["a"]).shape == cached.embed(["a"]).shape == (1, 10_000)
    assert inner.asked == [["a"], ["a"]]


def test_many_texts_are_asked_for_in_stretches() -> None:
    inner = Watched(dimensions=8)
    CachedEmbedder(inner).embed([str(number) for number in range(1_000)])
    assert (
        max(map(len, inner.asked)) == EMBED_REQUEST_ITEMS_MAX
        and sum(map(len, inner.asked)) == 1_000
    )


def test_an_embedder_that_breaks_its_contract_is_an_error() -> None:
    class Short(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return super().embed(texts)[:, :5]

    with pytest.raises(ModelError, match="shape"):
        CachedEmbedder(Short(dimensions=16)).embed(["a"])


def test_a_failure_leaves_nothing_behind() -> None:
    class Once(Watched):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if not self.asked:
                self.asked.append([])
                raise ModelError("No.", next_step="Again.")
            return super().embed(texts)

    cached = CachedEmbedder(Once(dimensions=16))
    with pytest.raises(ModelError):
        cached.embed(["a"])
    assert np.array_equal(cached.embed(["a"]), HashEmbedder(dimensions=16).embed(["a"]))
