"""What every system is given, as files in a folder: the workers of all systems read them, so this
imports numpy alone.

FOLDER/texts.json        {"scopes", "ids", "texts"}: one entry for each turn; a scope is a
conversation, which is searched by itself
FOLDER/vectors.npy       the vector of each of these texts, float32, of length 1
FOLDER/asked.json        {"scopes", "ids", "texts"}: one entry for each question
FOLDER/asked.npy         the vector of each question

FOLDER/turns.json        for doxa: the same turns with their speakers and times, which it keeps
apart from the text
FOLDER/table.npz         for doxa: every text that it embeds while it takes the turns in, as a hash,
and its vector
FOLDER/asked_table.npz   the same for the questions, whose names and phrases of asking it leaves out
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
HITS = 10
_DIGEST_BYTES = 16


@dataclass
class Texts:
    """Texts of some scopes with their vectors. `ids` are empty for questions."""

    scopes: list[str]
    ids: list[str]
    texts: list[str]
    vectors: Floats

    def save(self, folder: Path, name: str, vectors: str) -> None:
        (folder / name).write_text(
            json.dumps({"scopes": self.scopes, "ids": self.ids, "texts": self.texts})
        )
        np.save(folder / vectors, self.vectors)

    def by_scope(self) -> Iterator[tuple[str, slice]]:
        """Each scope and where its texts lie: those of one scope stand together."""
        first = 0
        for place in range(1, len(self.scopes) + 1):
            if place == len(self.scopes) or self.scopes[place] != self.scopes[first]:
                yield self.scopes[first], slice(first, place)
                first = place


def load_texts(folder: Path) -> Texts:
    return Texts(
        **json.loads((folder / "texts.json").read_text()), vectors=np.load(folder / "vectors.npy")
    )


def load_asked(folder: Path) -> Texts:
    return Texts(
        **json.loads((folder / "asked.json").read_text()), vectors=np.load(folder / "asked.npy")
    )


class Table:
    """Vectors by text, so that asking for one takes no model. Texts are held as hashes."""

    def __init__(self, rows: dict[bytes, int], vectors: Floats) -> None:
        self._rows = rows
        self._vectors = vectors

    @classmethod
    def load(cls, path: Path) -> Table:
        with np.load(path) as held:
            keys, vectors = held["keys"], held["vectors"]
        return cls({key.tobytes(): row for row, key in enumerate(keys)}, vectors)

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Floats) -> Table:
        return cls({key_of(text): row for row, text in enumerate(texts)}, vectors)

    @property
    def dimensions(self) -> int:
        return int(self._vectors.shape[1])

    def of_texts(self, texts: Sequence[str]) -> Floats:
        return self._vectors[[self._rows[key_of(text)] for text in texts]]


def key_of(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def save_table(path: Path, held: dict[bytes, Floats]) -> None:
    keys = np.frombuffer(b"".join(held), dtype=np.uint8).reshape(len(held), _DIGEST_BYTES)
    np.savez(path, keys=keys, vectors=np.stack(list(held.values())))
