"""Caches vectors in memory: the same text is embedded again and again, and each time costs time or
money.

One wrapper serves every embedder. The key is a hash of the embedder's name, whether the text is a
question or a passage, and the text; the text itself is not kept. The least recently used entries
are evicted when EMBED_CACHE_BYTES_MAX is reached.
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

# The overhead of an entry, measured on CPython: the key, the array object and the links of the
# dictionary.
_ENTRY_BYTES = 320


class CachedEmbedder:
    """An embedder with a cache. Its vectors are those of `inner`, bit for bit; safe to share
    between threads."""

    def __init__(self, inner: Embedder, *, bytes_max: int = EMBED_CACHE_BYTES_MAX) -> None:
        assert bytes_max > 0
        self.inner = inner
        self._bytes_max = bytes_max
        self._entries: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
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
    def local(self) -> bool:
        return bool(getattr(self.inner, "local", False))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `Embedder.embed`."""
        return self._embed(texts, asking=False)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `QuestionEmbedder.embed_queries`; the same as `embed` if `inner` treats both
        alike."""
        return self._embed(texts, asking=hasattr(self.inner, "embed_queries"))

    def _embed(self, texts: Sequence[str], *, asking: bool) -> NDArray[np.float32]:
        import numpy as np

        assert not isinstance(texts, str), "a single text is passed as [text]"
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        # In batches, so that the memory beyond the result is bounded however many texts are given.
        for start in range(0, len(texts), EMBED_REQUEST_ITEMS_MAX):
            batch = texts[start : start + EMBED_REQUEST_ITEMS_MAX]
            self._fill(vectors[start : start + len(batch)], batch, asking=asking)
        return vectors

    def _fill(self, vectors: NDArray[np.float32], texts: Sequence[str], *, asking: bool) -> None:
        keys = [self._key(text, asking=asking) for text in texts]
        missing: dict[bytes, list[int]] = {}
        with self._lock:
            for row, key in enumerate(keys):
                known = self._entries.get(key)
                if known is None:
                    missing.setdefault(key, []).append(row)
                else:
                    self._entries.move_to_end(key)
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
                f"The embedder {self.name} returned an array of the shape {made.shape} for"
                f" {len(texts)} texts of {self.dimensions} dimensions.",
                next_step=("Fix the embedder: it must return `dimensions` numbers for each text."),
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
            if key in self._entries or size > self._bytes_max:
                return
            self._entries[key] = vector
            self._bytes += size
            while self._bytes > self._bytes_max:
                _, gone = self._entries.popitem(last=False)
                self._bytes -= gone.nbytes + _ENTRY_BYTES
