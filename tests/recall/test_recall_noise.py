"""The noise of an embedder: deviations worked out by hand, the language of a question, what is
embedded and how often, and recall without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import doxa
from doxa.base.errors import ModelError
from doxa.models.fakes import HashEmbedder
from doxa.recall.lanes.noise import SHIPPED, Noise, Noises, measure_noise, shipped
from doxa.recall.lanes.noise_texts import TEXTS
from tests.fixtures_shared import opened

Floats = NDArray[np.float32]


class CountingEmbedder(HashEmbedder):
    """Keeps the texts of every call, and fails on the texts of the noise if `fails` is set."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.calls: list[list[str]] = []
        self.fails = fails

    def embed(self, texts: Sequence[str]) -> Floats:
        self.calls.append(list(texts))
        if self.fails and len(texts) > 1:
            raise ModelError("The model takes one text.", next_step="Give one.", model=self.name)
        return super().embed(texts)


def test_a_cosine_is_compared_with_those_of_unrelated_texts() -> None:
    noise = Noise(np.float32([0.2, 0.0]), np.float32([0.0, 0.4]), 0.1, 0.05)
    question, memory = np.float32([0.6, 0.8]), np.float32([[1.0, 0.0], [0.0, 1.0]])
    # expected of the first: 0.8 * 0.4 + 1.0 * 0.2 - 0.1 = 0.42; of the second 0.32 - 0.1 = 0.22
    found = noise.deviations(question @ memory.T, question, memory)
    assert found == pytest.approx([(0.6 - 0.42) / 0.05, (0.8 - 0.22) / 0.05], rel=1e-5)


def test_the_noise_of_texts_is_their_mean_and_the_width_of_most_pairs() -> None:
    questions = np.eye(4, dtype=np.float32)
    noise = measure_noise(questions, questions)  # 12 of 16 pairs are 0, 4 are 1
    assert noise.question.tolist() == noise.statement.tolist() == [0.25] * 4
    assert (noise.mean, noise.spread) == (0.25, 0.5)


def test_the_texts_of_a_script_are_embedded_once() -> None:
    embedder, noises = CountingEmbedder(), Noises()

    def asked(text: str) -> int:
        before = len(embedder.calls)
        noises.of(embedder, text, embedder.embed([text])[0])
        return sum(map(len, embedder.calls[before + 1 :]))

    latin = sum(len(part) for name in ("en", "de", "es", "fr", "it") for part in TEXTS[name])
    assert asked("Where is the harbour?") == latin
    assert asked("Wo ist der Hafen?") == asked("¿Dónde está el puerto?") == 0
    assert asked("港口在哪里?") == sum(map(len, TEXTS["zh"]))
    assert asked("港はどこですか。") == sum(map(len, TEXTS["ja"]))
    assert asked("Πού είναι το λιμάνι;") == 0  # no texts in this script
    assert asked("港口在哪里呢?") == asked("Где порт?") - sum(map(len, TEXTS["ru"])) == 0


def test_a_language_whose_texts_are_alike_is_recognised_by_its_own_statements() -> None:
    noises, embedder = Noises(), HashEmbedder()
    east, north = np.eye(2, dtype=np.float32)
    english, german = Noise(north, north, 0.0, 0.1), Noise(east, east, 0.6, 0.1)
    noises._held = {(embedder.name, name): english for name in ("en", "es", "fr", "it")}
    noises._held[embedder.name, "de"] = german
    found = noises.of(embedder, "Wo ist der Hafen?", np.float32([0.6, 0.8]))
    assert found == german._replace(familiar=False)
    assert noises.of(embedder, "Where is it?", np.float32([0.1, 0.9])) == english


def test_what_is_shipped_is_what_the_local_model_gives(tmp_path: Path) -> None:
    with np.load(SHIPPED, allow_pickle=False) as held:
        name = str(held["embedder"])
    known = shipped(name)
    assert set(known) == set(TEXTS), "run scripts/noise.py after a change of the texts"
    assert shipped("another-model") == {}
    with doxa.open(tmp_path / "m.db", background=False) as memory:
        embedder = memory.embedder
    if embedder is None or embedder.name != name:
        pytest.skip("the local model is not installed")
    for language, texts in TEXTS.items():
        noise = measure_noise(embedder.embed(texts.questions), embedder.embed(texts.statements))
        assert known[language].mean == pytest.approx(noise.mean, abs=0.01)
        assert known[language].spread == pytest.approx(noise.spread, abs=0.01)
        assert known[language].question == pytest.approx(noise.question, abs=0.01)


def test_recall_answers_where_the_noise_cannot_be_measured(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    with opened(tmp_path / "m.db", embedder=embedder) as memory:
        for number in range(30):
            memory.remember(f"entry {number} of the harbour log", name=f"n{number}")
        memory.remember("The ferry leaves from Bergen at midnight", name="ferry")
        memory.embed()
        embedder.fails = True
        for text in ("when does the ferry leave from Bergen", "does the ferry leave from Bergen"):
            answer = memory.recall(text, strict=True)
            assert [hit.text for hit in answer.hits] == ["The ferry leaves from Bergen at midnight"]
            assert answer.mode == "hybrid" and not answer.warnings
        failed = [call for call in embedder.calls if len(call) == len(TEXTS["en"].questions)]
        assert len(failed) <= 1


def test_the_former_name_of_the_score_is_deprecated(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The ferry leaves from Bergen at midnight")
        memory.embed()
        answer = memory.recall("when does the ferry leave")
        signals = answer.answerable_signals
        assert signals is not None and signals.best >= signals.density and signals.unknown == 0
        with pytest.warns(DeprecationWarning, match="answerable_level"):
            assert answer.answerable == answer.answerable_score
        assert memory.recall("ferry", kinds=["decision"]).answerable_level == "low"
