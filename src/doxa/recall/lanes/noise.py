"""The noise of an embedder: the cosine that a question has with a memory that does not answer it.

Cosines of one model lie between 0.7 and 0.9, those of another between 0 and 0.5, and even those of
one model depend on the language: MiniLM, trained on English, gives unrelated English texts 0.08 on
average and unrelated French ones 0.45. So a cosine is expressed in standard deviations above what
this question and this memory have with texts that are unrelated to them:

    (cosine - question . mean statement - memory . mean question + mean) / spread

where the means and the spread are those of the unrelated texts (`noise_texts.py`) of the question's
language. The correction for what is near everything is that of hubness (Conneau et al., "Word
Translation Without Parallel Data", ICLR 2018), with means in place of nearest neighbours. Unlike
the calibration of a project, it needs no memories: one scale for a memory of three beliefs and for
one of a million. The texts of a script are embedded once in a process, when a question of that
script comes; what the local model makes of them is shipped (`noise_minilm.npz`, written by
`scripts/noise.py`), so that a command line does not wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.errors import ModelError
from doxa.base.patterns import lazy_re
from doxa.models.contract import Embedder
from doxa.recall import constants
from doxa.recall.lanes.noise_texts import ENGLISH, TEXTS
from doxa.store import pair_products, row_products

Floats = NDArray[np.float32]
SHIPPED = Path(__file__).with_name("noise_minilm.npz")
# The first script of which a question has a character; kana come first, since Japanese has both.
_SCRIPTS = tuple(
    (lazy_re(f"[{letters}]"), languages)
    for letters, languages in (
        ("\u3040-\u30ff", (ENGLISH, "ja")),
        ("\u3400-\u4dbf\u4e00-\u9fff", (ENGLISH, "zh")),
        ("\uac00-\ud7a3", (ENGLISH, "ko")),
        ("\u0400-\u04ff", (ENGLISH, "ru")),
        ("\u0600-\u06ff", (ENGLISH, "ar")),
        ("\u0900-\u097f", (ENGLISH, "hi")),
        ("A-Za-z\u00c0-\u024f", (ENGLISH, "de", "es", "fr", "it")),
    )
)


class Noise(NamedTuple):
    """The mean vector of unrelated questions and of unrelated statements, and mean and spread of
    the cosines between them. `familiar`: the embedder tells texts of this language apart about as
    well as English ones."""

    question: Floats
    statement: Floats
    mean: float
    spread: float
    familiar: bool = True

    def deviations(self, cosines: Floats, question: Floats, memories: Floats) -> Floats:
        """Return how far cosines of a question with memories lie above those of unrelated texts."""
        expected = question @ self.statement + row_products(memories, self.question) - self.mean
        return np.asarray((cosines - expected) / self.spread, dtype=np.float32)

    def includes(self, question: Floats) -> bool:
        """Return whether a question lies as near to these statements as their own questions do."""
        return float(question @ self.statement) >= self.mean - self.spread


def measure_noise(questions: Floats, statements: Floats) -> Noise:
    """Measure on the vectors of unrelated texts. A few pairs share a subject after all:
    so the spread is half the width of the central 68 %, which these do not move."""
    cosines = pair_products(questions, statements)
    low, high = np.percentile(cosines, (16, 84))
    return Noise(
        questions.mean(axis=0),
        statements.mean(axis=0),
        float(cosines.mean()),
        max(float(high - low) / 2, 1e-3),
    )


def texts_id() -> str:
    """Return a short id of all texts."""
    return blake2b(repr(TEXTS).encode(), digest_size=8).hexdigest()


def shipped(embedder: str) -> dict[str, Noise]:
    """Return the noise that is shipped for an embedder, by language; nothing for another one, or if
    it was measured on other texts."""
    with np.load(SHIPPED, allow_pickle=False) as held:
        if (str(held["embedder"]), str(held["texts"])) != (embedder, texts_id()):
            return {}
        return {
            name: Noise(
                held[f"{name}.question"].astype(np.float32),
                held[f"{name}.statement"].astype(np.float32),
                *held[f"{name}.scale"].tolist(),
            )
            for name in TEXTS
        }


class Noises:
    """The noise of each embedder and language, measured at first need."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Noise | None] = {}
        self._lock = threading.Lock()

    def of(self, embedder: Embedder, text: str, vector: Floats) -> Noise | None:
        """Return the noise of a question's language: of those that are written in its script and
        include the question, the one whose texts are nearest to each other, otherwise English.
        None for a script without texts, or if the embedder fails."""
        languages = _languages_of(text)
        with self._lock:
            missing = self._missing(embedder, languages)
            if missing:
                self._measure(embedder, missing)
            found = [self._held[embedder.name, name] for name in languages]
        measured = [noise for noise in found if noise is not None]
        if not measured:
            return None
        english, *others = measured
        near = [noise for noise in others if noise.includes(vector)]
        if not near and len(languages) == 2:  # one language has this script
            near = others
        noise = max(near, key=lambda noise: noise.mean, default=english)
        return noise._replace(
            familiar=noise.mean < english.mean + constants.NOISE_FAMILIAR * english.spread
        )

    def is_measured(self, embedder: Embedder, text: str) -> bool:
        """Return whether `of` measures nothing for this question."""
        with self._lock:
            return not self._missing(embedder, _languages_of(text))

    def _missing(self, embedder: Embedder, languages: Sequence[str]) -> list[str]:
        return [name for name in languages if (embedder.name, name) not in self._held]

    def _measure(self, embedder: Embedder, languages: list[str]) -> None:
        """Embed all texts of these languages in two calls, unless they are shipped."""
        known = shipped(embedder.name)
        if known:
            self._held |= {(embedder.name, name): known[name] for name in languages}
            return
        as_memories: Callable[[list[str]], Floats] = getattr(
            embedder, "embed_memories", embedder.embed
        )
        texts = [TEXTS[name] for name in languages]
        try:
            questions = embedder.embed([text for one in texts for text in one.questions])
            statements = as_memories([text for one in texts for text in one.statements])
        except ModelError:
            self._held |= {(embedder.name, name): None for name in languages}
            return
        start = 0, 0
        for name, one in zip(languages, texts, strict=True):
            end = start[0] + len(one.questions), start[1] + len(one.statements)
            self._held[embedder.name, name] = measure_noise(
                questions[start[0] : end[0]], statements[start[1] : end[1]]
            )
            start = end


def _languages_of(text: str) -> Sequence[str]:
    """The languages of a text's script, of which there are texts."""
    scripts = _SCRIPTS[-1:] if text.isascii() else _SCRIPTS  # wide ranges take ms to compile
    return next((names for letters, names in scripts if letters.search(text)), ())
