"""The part that all embedding endpoints share: requests of bounded size, truncation of texts that
are too long, checked answers, and a name that states which vectors are comparable. `openai.py` and
`ollama.py` encode and decode the requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from doxa.base.errors import ModelError
from doxa.base.limits import (
    EMBED_CUT_CHARS_MIN,
    EMBED_REQUEST_BYTES_MAX,
    EMBED_REQUEST_ITEMS_MAX,
    MODEL_TEXT_CHARS_MAX,
)
from doxa.models.meter import Meter, Watch
from doxa.models.prefixes import Prefixes
from doxa.models.texts import BYTES_PER_TOKEN, sendable, tokens_at_most, tokens_estimate
from doxa.models.vectors import first_axis, unit_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# One request: vectors in the order of the texts, and the tokens if the endpoint reports them.
Ask = Callable[[Sequence[str], Watch], tuple[Sequence[Sequence[float]], int | None]]

_PROBE = "How many dimensions does this model have?"


def place_mark(address_id: str, usual_id: str) -> str:
    """Return a short id of the place, empty for the provider's default: two endpoints may use one
    name for different weights."""
    return "" if address_id == usual_id else blake2b(address_id.encode(), digest_size=3).hexdigest()


class RemoteEmbedder:
    """An embedding model behind an endpoint. Safe to share between threads.

    Questions and passages get the model's prefixes. A text that the endpoint refuses as too long is
    halved until the endpoint accepts it, so the vector of a text does not depend on what was
    embedded before. A blank text is not sent: its vector is the first axis.
    """

    def __init__(
        self,
        label: str,
        ask: Ask,
        meter: Meter,
        *,
        place: str = "",
        prefixes: Prefixes | None = None,
        dimensions: int | None = None,
    ) -> None:
        """`label` is provider and model, as "ollama:all-minilm"; `place` comes from `place_mark`.
        Without `dimensions`, one text is embedded to find out. Raises ModelError or LimitError if
        that fails."""
        self._label = label
        self._ask = ask
        self._meter = meter
        self._prefixes = prefixes or Prefixes()
        self._dimensions = (
            dimensions or self._request([self._prefixes.query + _PROBE], dimensions=None).shape[1]
        )
        plain = re.sub(r"[^a-z0-9._/:-]+", "_", label.lower())
        marks = [
            mark
            for mark in (place and f"at-{place}", self._prefixes.id and f"by-{self._prefixes.id}")
            if mark
        ]
        self._name = "-".join([plain, str(self._dimensions), *marks])

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def tokens_max(self) -> int:
        """An estimate: endpoints do not report it, and longer texts are never sent."""
        return MODEL_TEXT_CHARS_MAX // BYTES_PER_TOKEN

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `Embedder.embed`."""
        return self._embed(texts, self._prefixes.passage)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `QuestionEmbedder.embed_queries`."""
        return self._embed(texts, self._prefixes.query)

    def _embed(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        import numpy as np

        assert not isinstance(texts, str), "a single text is passed as [text]"
        vectors = np.empty((len(texts), self._dimensions), dtype=np.float32)
        vectors[:] = first_axis(self._dimensions)
        for rows, batch in _batches(texts, prefix):
            vectors[rows] = self._vectors(batch)
        return vectors

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        try:
            return self._request(texts, dimensions=self._dimensions)
        except ModelError as error:
            if "refused" not in error.fields:
                raise
            if len(texts) > 1:  # one of them is at fault
                return np.concatenate([self._vectors([text]) for text in texts])
            if len(texts[0]) // 2 < EMBED_CUT_CHARS_MIN:
                raise
            return self._vectors([texts[0][: len(texts[0]) // 2]])

    def _request(self, texts: list[str], *, dimensions: int | None) -> NDArray[np.float32]:
        tokens_in = tokens_estimate(*texts)
        with self._meter.call(
            self._label, tokens_in=tokens_in, tokens_in_max=tokens_at_most(tokens_in)
        ) as call:
            values, tokens = self._ask(texts, call)
            call.used(tokens, 0)
        return unit_rows(values, count=len(texts), dimensions=dimensions, model=self._label)


def _batches(texts: Sequence[str], prefix: str) -> Iterator[tuple[list[int], list[str]]]:
    """Yield the rows and texts of each request; blank texts are omitted."""
    rows: list[int] = []
    batch: list[str] = []
    size = 0
    for row, text in enumerate(texts):
        shown = sendable(text)
        if not shown:
            continue
        shown = prefix + shown
        added = len(shown.encode("utf-8"))
        if batch and (
            len(batch) >= EMBED_REQUEST_ITEMS_MAX or size + added > EMBED_REQUEST_BYTES_MAX
        ):
            yield rows, batch
            rows, batch, size = [], [], 0
        rows.append(row)
        batch.append(shown)
        size += added
    if batch:
        yield rows, batch
