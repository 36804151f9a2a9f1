"""Fake models, which need no weights. They are part of the package so that tests of this and other
projects run offline, quickly and deterministically."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import msgspec

from doxa.base.errors import ModelError
from doxa.base.limits import COMPLETE_TOKENS_DEFAULT
from doxa.models.contract import Completion, Message, Usage
from doxa.models.texts import check_count, tokens_estimate, well_formed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Fake: hashes the words and word pairs of a text into a vector. Texts that share words are
    similar; their meaning is ignored.

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
        """Implement `Embedder.embed`; never raises."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature in self._features(text):
                digest = int.from_bytes(blake2b(feature, digest_size=8).digest(), "little")
                # One bit of the hash is a sign, so that collisions cancel out instead of making
                # unrelated texts similar.
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
    """Fake: raises ModelError on every `embed`, for tests of a model that is unavailable."""

    name = "fake-failing"
    dimensions = 256
    tokens_max = 256

    def embed(self, texts: Sequence[str]) -> NoReturn:
        """Raise ModelError."""
        raise ModelError(
            f"The fake model refused to embed {len(texts)} texts.",
            next_step="Nothing: this embedder fails on purpose.",
            model=self.name,
        )


class ScriptedCompleter:
    """Fake: returns the given texts in turn, or the result of a function of the messages. `asked`
    lists the messages of every call."""

    name = "fake-scripted"

    def __init__(self, answers: Sequence[str] | Callable[[Sequence[Message]], str]) -> None:
        self._answers = answers if callable(answers) else list(answers)
        self.asked: list[tuple[Message, ...]] = []

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tokens_max: int = COMPLETE_TOKENS_DEFAULT,
        temperature: float | None = None,
    ) -> Completion:
        """Implement `Completer.complete`. Raises ModelError at the end of the script."""
        self.asked.append(tuple(messages))
        if callable(self._answers):
            text = self._answers(messages)
        elif self._answers:
            text = self._answers.pop(0)
        else:
            raise ModelError(
                "The script of the fake model has ended.",
                next_step="Give it another answer.",
                model=self.name,
            )
        return Completion(text, _estimated(messages, text), "stop")


class RecordedCompleter:
    """Fake: returns the answer that was recorded for exactly these messages.

    The recordings map a key to an answer, as in a JSON object. Messages without a recording raise
    ModelError.
    """

    name = "fake-recorded"

    def __init__(self, recordings: Mapping[str, str]) -> None:
        self._recordings = dict(recordings)

    @classmethod
    def read(cls, path: Path) -> RecordedCompleter:
        """Read recordings from a file with one JSON object. Raises ModelError for any other
        file."""
        try:
            return cls(msgspec.json.decode(path.read_bytes(), type=dict[str, str]))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ModelError(
                f"{path} does not contain recordings: {error}.",
                next_step="Give a JSON object of keys and answers.",
                path=str(path),
            ) from error

    @staticmethod
    def key(messages: Sequence[Message]) -> str:
        """Return the key of an answer to `messages`: the messages themselves, as JSON."""
        return msgspec.json.encode(
            [[message.role, well_formed(message.text)] for message in messages]
        ).decode("utf-8")

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tokens_max: int = COMPLETE_TOKENS_DEFAULT,
        temperature: float | None = None,
    ) -> Completion:
        """Implement `Completer.complete`."""
        text = self._recordings.get(self.key(messages))
        if text is None:
            raise ModelError(
                f"No answer is recorded for this conversation of {len(messages)} messages.",
                next_step=(
                    "Record it under RecordedCompleter.key(messages), or send recorded messages."
                ),
                model=self.name,
            )
        return Completion(text, _estimated(messages, text), "stop")


class OverlapReranker:
    """Fake: scores a text by how many words of the question it contains."""

    name = "fake-overlap"
    texts_max = 1_000

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `Reranker.score`; fails only for too many texts."""
        import numpy as np

        check_count(texts, self.texts_max)
        wanted = set(_WORD.findall(query.casefold()))
        return np.array(
            [len(wanted & set(_WORD.findall(text.casefold()))) for text in texts], dtype=np.float32
        )


def _estimated(messages: Sequence[Message], answer: str) -> Usage:
    return Usage(
        tokens_estimate(*(message.text for message in messages)),
        tokens_estimate(answer),
        estimated=True,
    )
