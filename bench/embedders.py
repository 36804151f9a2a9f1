"""The embedder that is measured, and one that fills a large store without a model: both keep the
contract of doxa's, so that what is measured is the ordinary path.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import doxa
from doxa.models import Embedder

Floats = NDArray[np.float32]
_DIMENSIONS = 384
_WORD = re.compile(r"\w+")
_TOPIC_WORDS = 2


def local_embedder() -> Embedder | None:
    """The model that `doxa.open` would use here, without the cache that hides its time, or None."""
    with (
        tempfile.TemporaryDirectory() as folder,
        doxa.open(Path(folder) / "probe.db", background=False) as memory,
    ):
        return getattr(memory.embedder, "inner", memory.embedder)


class CloudEmbedder:
    """Vectors in clouds: texts that begin with the same two words lie around one centre, near or
    far as their hash says.

    With a `model`, every text asked of `embed` while `asking` is set also goes through it and the
    result is thrown away: the time of a question is then the real one, while loading a hundred
    thousand texts needs no model.
    """

    dimensions = _DIMENSIONS
    tokens_max = 256

    def __init__(self, model: Embedder | None = None) -> None:
        self._model = model
        self.local = getattr(model, "local", False)
        self.asking = False
        self._known: dict[str, Floats] = {}
        self.name = "bench-clouds-384"

    def embed(self, texts: Sequence[str]) -> Floats:
        """As Embedder.embed."""
        if self.asking and self._model is not None:
            self._model.embed(texts)
        rows = (
            np.stack([self._known_vector(text) for text in texts])
            if texts
            else np.zeros((0, _DIMENSIONS), dtype=np.float32)
        )
        return rows.astype(np.float32)

    def prepare(self, texts: Sequence[str]) -> None:
        """Make the vectors of these before they are asked for: to draw them takes a fifth of the
        model's own time."""
        self._known = {text: self._vector(text).astype(np.float32) for text in texts}

    def _known_vector(self, text: str) -> Floats:
        known = self._known.get(text)
        return self._vector(text).astype(np.float32) if known is None else known

    @property
    def has_model(self) -> bool:
        return self._model is not None

    def ask_model(self, text: str) -> None:
        """Only the real model's work."""
        assert self._model is not None
        self._model.embed([text])

    @staticmethod
    def _vector(text: str) -> NDArray[np.float64]:
        topic = " ".join(_WORD.findall(text.casefold())[:_TOPIC_WORDS])
        own = np.random.default_rng(
            int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        )
        centre = np.random.default_rng(
            int.from_bytes(blake2b(topic.encode(), digest_size=8).digest())
        ).standard_normal(_DIMENSIONS)
        noise = own.standard_normal(_DIMENSIONS)
        vector = centre / np.linalg.norm(centre) + own.uniform(0.5, 1.5) * noise / np.linalg.norm(
            noise
        )
        return np.asarray(vector / np.linalg.norm(vector))
