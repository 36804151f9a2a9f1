"""The vector of a question, which a local model makes while words are looked up.

A model takes some milliseconds in which the interpreter can do something else, about as long as the
lane of words needs. So a thread asks it, once a question has been answered in this process that was
embedded fast; a model that is slow is waited for first, since what needs the vector is done under
a lock.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import copy_context
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.errors import ModelError
from doxa.models.contract import Embedder
from doxa.recall.lanes.meaning import with_request
from doxa.recall.lanes.noise import Noise, Noises
from doxa.store import Reader

_CACHED = 256  # vectors of recent questions
_BRIEF_S = 0.05  # what takes longer is not made under a lock

Floats = NDArray[np.float32]


class AskedMeaning(NamedTuple):
    """The vector of a question and the noise of its language, each None where there is none, and
    why there is no vector (empty: nothing is to be said)."""

    vector: Floats | None
    noise: Noise | None
    warning: str


NO_MEANING = AskedMeaning(None, None, "")


class PendingMeaning:
    """What a function returns, made by a thread of its own from now on if `beside`, and at once
    otherwise. What it raises, `get` raises."""

    def __init__(self, make: Callable[[], AskedMeaning], *, beside: bool) -> None:
        self._made: AskedMeaning | None = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        if beside:
            # a daemon: a process that is to end does not wait for the answer to a question
            self._thread = threading.Thread(
                target=copy_context().run,  # who asked, and for what, is known there too
                args=(self._run, make),
                name="doxa-question",
                daemon=True,
            )
            self._thread.start()
        else:
            self._made = make()

    def _run(self, make: Callable[[], AskedMeaning]) -> None:
        try:
            self._made = make()
        except BaseException as error:  # raised by the thread that asked
            self._error = error

    def get(self) -> AskedMeaning:
        """Return what was made, and wait for it if it is not yet."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            raise self._error
        assert self._made is not None
        return self._made


class QuestionVectors:
    """Embeds questions and keeps the vectors of recent ones. Safe to share between threads."""

    def __init__(
        self, embedder: Callable[[str | None, str | None], tuple[Embedder | None, str]]
    ) -> None:
        self._embedder = embedder
        self._noises = Noises()
        self._held: OrderedDict[tuple[str, str], Floats] = OrderedDict()
        self._took_s = float("inf")  # the last question that a model embedded

    def begin(
        self, reader: Reader, text: str, request: str, *, beside: bool, warnings: list[str]
    ) -> PendingMeaning:
        """Begin to embed a question, and the request that it quotes (empty: none). `beside`: while
        the caller does something else, if the model is fast."""
        embedder, warning = self._embedder(reader.embedder_name(), reader.embedder_next())
        if warning:
            warnings.append(warning)
        if embedder is None:
            return PendingMeaning(lambda: NO_MEANING, beside=False)
        known = all((embedder.name, one) in self._held for one in (text, request) if one)
        return PendingMeaning(
            lambda: self._made(embedder, text, request),
            beside=beside and not known and self._took_s < _BRIEF_S,
        )

    def _made(self, embedder: Embedder, text: str, request: str) -> AskedMeaning:
        try:
            vector = self._vector(embedder, text)
            noise = self._noises.of(embedder, text, vector)
        except ModelError as error:
            return AskedMeaning(None, None, _failed(error))
        if not request:
            return AskedMeaning(vector, noise, "")
        try:
            asked = self._vector(embedder, request)
        except ModelError as error:
            return AskedMeaning(vector, noise, _failed(error))
        return AskedMeaning(with_request(vector, asked), noise, "")

    def _vector(self, embedder: Embedder, text: str) -> Floats:
        key = embedder.name, text
        known = self._held.get(key)
        if known is not None:
            return known
        start = time.perf_counter()
        vector: Floats = embedder.embed([text])[0]
        self._took_s = time.perf_counter() - start
        self._held[key] = vector
        if len(self._held) > _CACHED:
            self._held.popitem(last=False)
        return vector


def _failed(error: ModelError) -> str:
    return f"Meaning search failed, this answer is by words alone: {error.message}"
