"""The two sets that the systems are run over: LoCoMo with the vectors of the embedding model, and
as many turns as wanted with artificial ones.

Doxa embeds more than a turn's text (its sentences), and less than a question (neither names nor
phrases of asking). What it will ask for is found by letting it take everything in once, before
anything is timed.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import doxa
from bench.baselines import spoken
from bench.corpora import ADVERSARIAL, Corpus
from bench.embedders import CloudEmbedder
from bench.libraries_data import HITS, Floats, Texts, key_of, save_table
from bench.libraries_work import WARM
from bench.metrics import any_at, recall_at
from bench.texts import sources_of, turns_of
from doxa.language.turns import Turn
from doxa.models import Embedder

_ALL = "everything"  # the one scope of a set that is not made of conversations
_NEAREST, _FARTHEST = 0.9, 0.3  # cosine of a question's artificial vector with that of its turn


@dataclass
class Trial:
    """One set: the turns by scope, what is given to the peers, and what a right answer is. The
    first questions are not counted."""

    name: str
    title: str
    turns: dict[str, list[Turn]]
    given: Texts
    asked: Texts
    gold: list[frozenset[str]]
    measure: Callable[[Sequence[str], frozenset[str]], float]

    def save(self, folder: Path, embedder: Embedder, *, own: bool) -> None:
        """Everything as files. `own`: the question's vectors are those of this trial, whatever
        words of it doxa embeds."""
        self.given.save(folder, "texts.json", "vectors.npy")
        self.asked.save(folder, "asked.json", "asked.npy")
        (folder / "turns.json").write_text(
            json.dumps(
                {scope: [asdict(turn) for turn in turns] for scope, turns in self.turns.items()}
            )
        )
        recorder = _Recorder(embedder)
        with (
            tempfile.TemporaryDirectory() as name,
            doxa.open(Path(name) / "memory.db", embedder=recorder, background=False) as memory,
        ):
            for scope, turns in self.turns.items():
                added = memory.ingest(turns, project=scope, extract=False).added
                assert added == len(turns), "every turn becomes one exchange"
            memory.embed()
            for scope, text, vector in zip(
                self.asked.scopes, self.asked.texts, self.asked.vectors, strict=True
            ):
                recorder.own = vector if own else None
                memory.recall(text, project=scope, kinds=("exchange",), limit=1)
        save_table(folder / "table.npz", recorder.texts)
        save_table(folder / "asked_table.npz", recorder.asked)


class _Recorder:
    """An embedder that keeps what it was asked for."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name, self.dimensions, self.tokens_max = inner.name, inner.dimensions, inner.tokens_max
        self.texts: dict[bytes, Floats] = {}
        self.asked: dict[bytes, Floats] = {}
        self.own: Floats | None = None

    def embed(self, texts: Sequence[str]) -> Floats:
        """As Embedder.embed."""
        vectors = self._inner.embed(texts)
        self.texts.update(zip(map(key_of, texts), vectors, strict=True))
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        """As QuestionEmbedder.embed_queries."""
        vectors = (
            self._inner.embed(texts) if self.own is None else np.stack([self.own for _ in texts])
        )
        for text, vector in zip(texts, vectors, strict=True):
            self.asked.setdefault(key_of(text), vector)
        return vectors


def locomo_trial(corpora: Sequence[Corpus], embedder: Embedder) -> Trial:
    """Each conversation is a scope. A turn is given to the peers as "Speaker: text [shares
    caption]", as the plain baselines read it."""
    turns = {corpus.name: list(corpus.turns) for corpus in corpora}
    given = [
        (name, turn.source_id, spoken(turn)) for name, those in turns.items() for turn in those
    ]
    counted = [
        (corpus.name, one.text, one.gold)
        for corpus in corpora
        for one in corpus.questions
        if one.category != ADVERSARIAL
    ]
    uncounted = [
        (corpus.name, one.text, one.gold)
        for corpus in corpora
        for one in corpus.questions
        if one.category == ADVERSARIAL
    ] or counted
    asked = [*(uncounted[place % len(uncounted)] for place in range(WARM)), *counted]
    texts = [text for _, _, text in given]
    return Trial(
        "locomo",
        f"LoCoMo, {len(given):,} turns of {len(turns)} conversations, {len(counted)} questions of"
        " categories 1–4",
        turns,
        Texts(
            [scope for scope, _, _ in given],
            [source for _, source, _ in given],
            texts,
            embedder.embed(texts),
        ),
        Texts(
            [scope for scope, _, _ in asked],
            [],
            [text for _, text, _ in asked],
            embedder.embed([text for _, text, _ in asked]),
        ),
        [gold for _, _, gold in counted],
        lambda hits, gold: recall_at(hits, gold, HITS),
    )


def scale_trial(size: int, *, seed: int, sample: Sequence[Turn], questions: int) -> Trial:
    """One scope. A question has words of one turn, and a vector as near to the turn's as the
    model's would be; that very text is the right answer."""
    turns = list(turns_of(size, seed=seed, sample=sample))
    sources = sources_of(turns, questions + WARM, seed=seed + 1)
    texts = [turn.text for turn in turns]
    embedder = CloudEmbedder()
    vectors = np.concatenate(
        [embedder.embed(texts[first : first + 1_000]) for first in range(0, size, 1_000)]
    )
    same: dict[str, set[str]] = {}
    for turn in turns:
        same.setdefault(turn.text, set()).add(turn.source_id)
    return Trial(
        f"scale.{size}",
        f"{size:,} {'perturbed LoCoMo' if sample else 'synthetic'} turns with artificial vectors,"
        f" {questions} questions",
        {_ALL: turns},
        Texts([_ALL] * size, [turn.source_id for turn in turns], texts, vectors),
        Texts(
            [_ALL] * len(sources),
            [],
            list(sources),
            _near(vectors[list(sources.values())], seed=seed),
        ),
        [frozenset(same[texts[place]]) for place in list(sources.values())[WARM:]],
        lambda hits, gold: any_at(hits, gold, HITS),
    )


def _near(vectors: Floats, *, seed: int) -> Floats:
    """For each vector one whose cosine with it is drawn from a range: what MiniLM gives such
    questions and their turns, 0.6 on average."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(vectors.shape)
    noise -= np.sum(noise * vectors, axis=1, keepdims=True) * vectors
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    cosine = rng.uniform(_FARTHEST, _NEAREST, size=(len(vectors), 1))
    return np.asarray(cosine * vectors + np.sqrt(1 - cosine**2) * noise, dtype=np.float32)


def recall_of(trial: Trial, hits: Sequence[Sequence[str]]) -> list[float]:
    return [trial.measure(found, gold) for found, gold in zip(hits, trial.gold, strict=True)]


def vectors_per_turn(folder: Path, turns: Mapping[str, Sequence[Turn]]) -> float:
    """How many texts doxa embeds for each turn."""
    with np.load(folder / "table.npz") as held:
        return len(held["keys"]) / sum(map(len, turns.values()))
