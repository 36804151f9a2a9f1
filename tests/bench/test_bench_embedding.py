"""What an embedder costs, measured with one whose work can be counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench import embedding
from doxa.models import HashEmbedder


class Counting(HashEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Sequence[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        return super().embed(texts)


def test_questions_alone_texts_of_each_length_at_once_and_turns_are_embedded() -> None:
    model = Counting()
    report = embedding.run(None, model, seed=7, quick=True)
    alone = [call for call in model.calls if len(call) == 1]
    assert len(alone) >= 25
    for length in (15, 60, 180):
        bulk = [
            call
            for call in model.calls
            if len(call) == 20 and all(len(text.split()) == length for text in call)
        ]
        assert len(bulk) == 3
    for key in ("model", "hash"):
        figures = {
            name.removeprefix(f"{key}."): value
            for name, value in report.figures.items()
            if name.startswith(f"{key}.")
        }
        assert figures["question.p50_ms"] <= figures["question.p95_ms"]
        assert figures["ingest.by_words_turns_per_s"] > figures["ingest.by_meaning_turns_per_s"] > 0
        assert all(figures[f"bulk.{length}_words_per_s"] > 0 for length in (15, 60, 180))
    assert "the local model" in report.text() and "no model" in report.text()


def test_without_a_model_the_baseline_stands_alone() -> None:
    report = embedding.run(None, None, seed=7, quick=True)
    assert "the local model" not in report.text() and {
        name.partition(".")[0] for name in report.figures
    } == {"hash"}
