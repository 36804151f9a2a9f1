"""Remembers recent vectors in memory, because the same text is embedded again and again and each
time costs time or money.

One wrapper for every embedder. The key is a hash of the embedder's name, the way the text is read
(as a question or as a passage) and the text: no text is held. Least recently used entries leave
when EMBED_CACHE_BYTES_MAX is reached.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from doxa.base.errors import ModelError
from doxa.base.limits import EMBED_CACHE_BYTES_MAX, EMBED_REQUEST_ITEMS_MAX
from doxa.models.contract import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What an entry takes beside its numbers: the key, the array and the links of the dictionary,
# measured on CPython.
_ENTRY_BYTES = 320


class CachedEmbedder:
    """An embedder with its latest answers at hand. Answers are bit for bit those of `inner`; safe
    to share between threads."""

    def __init__(self, inner: Embedder, *, bytes_max: int = EMBED_CACHE_BYTES_MAX) -> None:
        assert bytes_max > 0
        self.inner = inner
        self._bytes_max = bytes_max
        self._held: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    @property
    def tokens_max(self) -> int:
        return self.inner.tokens_max

    @property
    def held_bytes(self) -> int:
        """How much memory the kept vectors take."""
        return self._bytes

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `Embedder.embed`."""
        return self._embed(texts, asking=False)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `QuestionEmbedder.embed_queries`; where `inner` reads both alike, the same as `embed`."""
        return self._embed(texts, asking=hasattr(self.inner, "embed_queries"))

    def _embed(self, texts: Sequence[str], *, asking: bool) -> NDArray[np.float32]:
        import numpy as np

        assert not isinstance(texts, str), "a single text is passed as [text]"
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        # In stretches, so that however many texts are given, no more than this is held beside the
        # result.
        for start in range(0, len(texts), EMBED_REQUEST_ITEMS_MAX):
            stretch = texts[start : start + EMBED_REQUEST_ITEMS_MAX]
            self._fill(vectors[start : start + len(stretch)], stretch, asking=asking)
        return vectors

    def _fill(self, vectors: NDArray[np.float32], texts: Sequence[str], *, asking: bool) -> None:
        keys = [self._key(text, asking=asking) for text in texts]
        missing: dict[bytes, list[int]] = {}
        with self._lock:
            for row, key in enumerate(keys):
                known = self._held.get(key)
                if known is None:
                    missing.setdefault(key, []).append(row)
                else:
                    self._held.move_to_end(key)
                    vectors[row] = known
        if not missing:
            return
        made = self._made([texts[rows[0]] for rows in missing.values()], asking=asking)
        for (key, rows), vector in zip(missing.items(), made, strict=True):
            vectors[rows] = vector
            self._keep(key, vector.copy())

    def _made(self, texts: list[str], *, asking: bool) -> NDArray[np.float32]:
        import numpy as np

        embed = getattr(self.inner, "embed_queries") if asking else self.inner.embed  # noqa: B009  # optional: no member of Embedder
        made = np.asarray(embed(texts))
        if made.shape != (len(texts), self.dimensions):
            raise ModelError(
                f"The embedder {self.name} gave an array of the shape {made.shape} for {len(texts)}"
                f" texts of {self.dimensions} dimensions.",
                next_step=(
                    "Mend the embedder: it returns one row of `dimensions` numbers for each text."
                ),
                model=self.name,
            )
        return made.astype(np.float32, copy=False)

    def _key(self, text: str, *, asking: bool) -> bytes:
        digest = blake2b(digest_size=20)
        digest.update(
            f"{self.name}\0{'query' if asking else 'passage'}\0".encode("utf-8", "surrogatepass")
        )
        digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.digest()

    def _keep(self, key: bytes, vector: NDArray[np.float32]) -> None:
        size = vector.nbytes + _ENTRY_BYTES
        with self._lock:
            if key in self._held or size > self._bytes_max:
                return
            self._held[key] = vector
            self._bytes += size
            while self._bytes > self._bytes_max:
                _, gone = self._held.popitem(last=False)
                self._bytes -= gone.nbytes + _ENTRY_BYTES
