"""The vector of a question, which a local model makes while words are looked up.

A model takes some milliseconds in which the interpreter can do something else, about as long as the
lane of words needs: so a thread asks it. What needs the vector is done under the lock of the
indexes, where it is waited for only briefly; then all that is done again without the lock's being
held meanwhile. After a slow question the next one waits first, as the first of a process does.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
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
_BRIEF_S = 0.03  # what took longer is waited for before, the next time
_WAITED_S = 0.03  # under a lock

Floats = NDArray[np.float32]


class AskedMeaning(NamedTuple):
    """The vector of a question and the noise of its language, each None where there is none, and
    why there is no vector (empty: nothing is to be said)."""

    vector: Floats | None
    noise: Noise | None
    warning: str


NO_MEANING = AskedMeaning(None, None, "")


class StillPending(Exception):
    """A vector is not made yet. Never leaves this package."""


class PendingMeaning:
    """What a function returns, made by a thread of its own from now on if `beside`, and at once
    otherwise. What it raises, `get` raises."""

    def __init__(self, make: Callable[[], AskedMeaning], *, beside: bool) -> None:
        self._made: AskedMeaning | None = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        if beside:
            # a daemon: a process that is to end does not wait for the answer to a question
            thread = threading.Thread(
                target=copy_context().run,  # who asked, and for what, is known there too
                args=(self._run, make),
                name="doxa-question",
                daemon=True,
            )
            with suppress(RuntimeError):  # there are too many
                thread.start()
                self._thread = thread
        if self._thread is None:
            self._made = make()

    def _run(self, make: Callable[[], AskedMeaning]) -> None:
        try:
            self._made = make()
        except BaseException as error:  # raised by the thread that asked
            self._error = error

    def wait(self) -> None:
        """Wait until it is made, or has failed."""
        if self._thread is not None:
            self._thread.join()

    def get(self) -> AskedMeaning:
        """Return what was made. Raises StillPending where that takes longer than a moment."""
        if self._thread is not None:
            self._thread.join(_WAITED_S)
            if self._thread.is_alive():
                raise StillPending
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
        self._took_s = float("inf")  # the last question that was not held

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
        if all((embedder.name, one) in self._held for one in (text, request) if one):
            return PendingMeaning(lambda: self._made(embedder, text, request), beside=False)
        return PendingMeaning(
            lambda: self._timed(embedder, text, request),
            beside=beside and self._took_s < _BRIEF_S,
        )

    def _timed(self, embedder: Embedder, text: str, request: str) -> AskedMeaning:
        start = time.perf_counter()
        try:
            return self._made(embedder, text, request)
        finally:
            self._took_s = time.perf_counter() - start

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
        vector: Floats = embedder.embed([text])[0]
        self._held[key] = vector
        if len(self._held) > _CACHED:
            self._held.popitem(last=False)
        return vector


def _failed(error: ModelError) -> str:
    return f"Meaning search failed, this answer is by words alone: {error.message}"
