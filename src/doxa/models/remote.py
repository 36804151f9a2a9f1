"""What every embedding endpoint has in common: requests of bounded size, texts cut where the
model's reach ends, answers checked, a name that says what the vectors may be compared with.
`openai.py` and `ollama.py` say how one request is written and read."""

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
from doxa.models.texts import BYTES_PER_TOKEN, sendable, tokens_estimate
from doxa.models.vectors import first_axis, unit_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# One request: vectors in the order of the texts, and the tokens that the endpoint reports, if it
# does.
Ask = Callable[[Sequence[str], Watch], tuple[Sequence[Sequence[float]], int | None]]

_PROBE = "How many dimensions does this model have?"


def place_mark(address_id: str, usual_id: str) -> str:
    """Empty for the usual place of a provider, else a short mark of the place: two endpoints may
    mean different weights by one name."""
    return "" if address_id == usual_id else blake2b(address_id.encode(), digest_size=3).hexdigest()


class RemoteEmbedder:
    """An embedding model behind an endpoint. Safe to share between threads.

    Questions and passages get the model's prefixes. A text that the endpoint refuses as too long is
    cut to its first half until it is taken, so the vector of a text does not depend on what was
    embedded before. A blank text is not sent: it has the first axis as its vector.
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
        """`label` is provider and model, as "ollama:all-minilm"; `place` a mark from `place_mark`.
        Where `dimensions` is not given, one text is embedded to see how many there are. Raises
        ModelError or LimitError where that fails."""
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
        """An estimate: the endpoint does not tell, and more than this is never sent."""
        return MODEL_TEXT_CHARS_MAX // BYTES_PER_TOKEN

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `Embedder.embed`."""
        return self._embed(texts, self._prefixes.passage)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `QuestionEmbedder.embed_queries`."""
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
            if len(texts) > 1:  # one of them is what is wrong
                return np.concatenate([self._vectors([text]) for text in texts])
            if len(texts[0]) // 2 < EMBED_CUT_CHARS_MIN:
                raise
            return self._vectors([texts[0][: len(texts[0]) // 2]])

    def _request(self, texts: list[str], *, dimensions: int | None) -> NDArray[np.float32]:
        with self._meter.call(self._label, tokens_in=tokens_estimate(*texts)) as call:
            values, tokens = self._ask(texts, call)
            call.used(tokens, 0)
        return unit_rows(values, count=len(texts), dimensions=dimensions, model=self._label)


def _batches(texts: Sequence[str], prefix: str) -> Iterator[tuple[list[int], list[str]]]:
    """The rows and texts of each request; what is blank is in none."""
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
