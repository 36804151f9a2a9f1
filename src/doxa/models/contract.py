"""What the other rooms may ask of a model, so that none of them learns which model is installed.

Only embedding has a contract so far. One for completing or reranking is added with its first caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their likeness in meaning.

    An implementation is deterministic, may be called from several threads at once, and accepts any `str`: blank, of any length, with NULs or
    lone surrogates. Text beyond `tokens_max` does not count.
    """

    @property
    def name(self) -> str:
        """Stable id of model, weights and quantisation, as "minilm-l6-v2-int8-1". Vectors are comparable only under the same name."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    @property
    def tokens_max(self) -> int:
        """How many tokens of a text are read, the model's own marks included."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts`: shape (len(texts), dimensions), float32, every row of length 1; (0, dimensions) for no texts.

        Raises ModelError when the model fails; no partial result is returned.
        """
        ...
