"""Fake models that need no weights, shipped so that tests of this and other projects run offline, fast and the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NoReturn

from doxa.base.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Fake: hashes the words and word pairs of a text into a vector. Texts that share words are alike; meaning plays no part.

    A text without words gets the first unit vector.
    """

    def __init__(self, *, dimensions: int = 256, tokens_max: int = 256) -> None:
        assert dimensions > 0
        assert tokens_max > 0
        self._dimensions = dimensions
        self._tokens_max = tokens_max

    @property
    def name(self) -> str:
        return f"fake-hash-{self._dimensions}-{self._tokens_max}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def tokens_max(self) -> int:
        return self._tokens_max

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `Embedder.embed`; never raises."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature in self._features(text):
                digest = int.from_bytes(blake2b(feature, digest_size=8).digest(), "little")
                # One bit of the hash is a sign, so that collisions cancel out instead of making unrelated texts alike.
                row[(digest >> 1) % self._dimensions] += 1.0 if digest & 1 else -1.0
            length = float(np.linalg.norm(row))
            if length > 0.0:
                row /= length
            else:
                row[0] = 1.0
        return vectors

    def _features(self, text: str) -> Iterator[bytes]:
        previous = b""
        for index, match in enumerate(_WORD.finditer(text)):
            if index >= self._tokens_max:
                return
            word = match.group().casefold().encode("utf-8", "surrogatepass")
            yield word
            if previous:
                yield previous + b" " + word
            previous = word


class FailingEmbedder:
    """Fake: raises ModelError on every `embed`, for tests of what happens when the model is gone."""

    name = "fake-failing"
    dimensions = 256
    tokens_max = 256

    def embed(self, texts: Sequence[str]) -> NoReturn:
        """Always raises ModelError."""
        raise ModelError(
            f"The fake model refused to embed {len(texts)} texts.",
            next_step="Nothing: this embedder fails on purpose.",
            model=self.name,
        )
