"""A question's vector is made by a thread while words are looked up, in large projects, and nothing
else changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import doxa
from doxa.app import Memory
from doxa.models import HashEmbedder
from doxa.recall import Recall
from tests.fixtures_shared import opened

TEXTS = ("The ferry leaves at nine.", "The baker is closed on Monday.", "Ana keeps three hens.")
QUESTIONS = (
    "when does the ferry leave?",
    "what does Ana keep?",
    'Bob came in late. He said to the car: "Is the baker closed on Monday?"',
)
PURPOSE: ContextVar[str] = ContextVar("purpose", default="")


class Watched(HashEmbedder):
    """Notes by which thread each question is embedded; fails or dawdles if it is to."""

    def __init__(self) -> None:
        super().__init__(dimensions=384)
        self.threads: list[str] = []
        self.error: Exception | None = None
        self.takes_s = 0.0
        self.asked_for = ""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.threads += [threading.current_thread().name] * len(texts)
        self.asked_for = PURPOSE.get()
        time.sleep(self.takes_s)
        if self.error is not None:
            raise self.error
        return super().embed(texts)


@pytest.fixture
def embedder() -> Watched:
    return Watched()


def filled(path: Path, embedder: Watched) -> Memory:
    memory = opened(path, embedder=embedder)
    for text in TEXTS:
        memory.remember(text)
    memory.embed()
    memory.recall("the first question, which is waited for")
    embedder.threads.clear()
    return memory


def everywhere(patch: pytest.MonkeyPatch, brief_s: float = 60) -> None:
    patch.setattr("doxa.recall.engine._BESIDE_ROWS_MIN", 0)
    patch.setattr("doxa.recall.lanes.question_vector._BRIEF_S", brief_s)


def test_answers_are_the_same(tmp_path: Path, embedder: Watched) -> None:
    with filled(tmp_path / "m.db", embedder) as memory:
        plain = [memory.recall(text) for text in QUESTIONS]
        assert set(embedder.threads) == {"MainThread"}
    embedder = Watched()
    with filled(tmp_path / "n.db", embedder) as memory, pytest.MonkeyPatch.context() as patch:
        everywhere(patch)
        PURPOSE.set("this test")
        found = [memory.recall(text) for text in QUESTIONS]
        assert embedder.asked_for == "this test"
        assert set(embedder.threads) == {"doxa-question"} and len(embedder.threads) == 4
        embedder.threads.clear()
        again = [memory.recall(text) for text in QUESTIONS]
        assert embedder.threads == []  # they are kept
    for one, other, third in zip(plain, found, again, strict=True):
        assert [(hit.text, hit.score, hit.lanes) for hit in one.hits] == [
            (hit.text, hit.score, hit.lanes) for hit in other.hits
        ]
        assert other.hits == third.hits
        assert one.hits and one.mode == other.mode == "hybrid" and not other.warnings
    assert all(thread.name != "doxa-question" for thread in threading.enumerate())


def test_a_model_that_fails_is_a_warning_and_one_that_breaks_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: Watched
) -> None:
    everywhere(monkeypatch)
    with filled(tmp_path / "m.db", embedder) as memory:
        embedder.error = doxa.ModelError("It is away.", next_step="Wait.")
        found = memory.recall(QUESTIONS[0])
        assert set(embedder.threads) == {"doxa-question"}
        assert found.mode == "fulltext" and found.hits[0].text == TEXTS[0]
        (warning,) = found.warnings
        assert warning.startswith("Meaning search failed, this answer is by words alone: It is")
        embedder.error = RuntimeError("a bug")
        with pytest.raises(RuntimeError, match="a bug"):
            memory.recall(QUESTIONS[1])
        embedder.error = None
        assert memory.recall(QUESTIONS[1]).mode == "hybrid"


def test_a_slow_model_is_waited_for_before_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: Watched
) -> None:
    with filled(tmp_path / "m.db", embedder) as memory:
        embedder.takes_s = 0.06
        everywhere(monkeypatch)
        memory.recall(QUESTIONS[0])
        everywhere(monkeypatch, brief_s=0.06)
        memory.recall(QUESTIONS[1])  # after one that took as long
        assert embedder.threads == ["doxa-question", "MainThread"]


def test_a_slow_model_holds_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: Watched
) -> None:
    """Also where the question before was embedded fast, and where the model fails in the end."""
    everywhere(monkeypatch)
    monkeypatch.setattr("doxa.recall.lanes.question_vector._BRIEF_S", 60)
    with filled(tmp_path / "m.db", embedder) as memory:
        begun, goes_on = threading.Event(), threading.Event()

        def dawdle(texts: Sequence[str]) -> NDArray[np.float32]:
            begun.set()
            assert goes_on.wait(60)
            raise doxa.ModelError("It is away.", next_step="Wait.")

        monkeypatch.setattr(embedder, "embed", dawdle)
        memory.recall("a first question, embedded", lanes=("words",))
        monkeypatch.setattr("doxa.recall.lanes.question_vector._WAITED_S", 0.001)
        found = list[Recall]()
        asked = threading.Thread(target=lambda: found.append(memory.recall(QUESTIONS[0])))
        asked.start()
        assert begun.wait(60)
        for text in QUESTIONS:
            assert memory.recall(text, lanes=("words",)).hits  # while the other one waits
        assert not found
        goes_on.set()
        asked.join()
        assert found[0].mode == "fulltext" and len(found[0].warnings) == 1
        assert found[0].hits[0].text == TEXTS[0]


def test_without_another_thread_it_is_embedded_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: Watched
) -> None:
    everywhere(monkeypatch)
    with filled(tmp_path / "m.db", embedder) as memory:

        def refused(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refused)
        assert memory.recall(QUESTIONS[0]).mode == "hybrid"
        assert set(embedder.threads) == {"MainThread"}


def test_a_question_without_meaning_embeds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: Watched
) -> None:
    everywhere(monkeypatch)
    with filled(tmp_path / "m.db", embedder) as memory:
        assert memory.recall(QUESTIONS[0], lanes=("words",)).mode == "fulltext"
        assert embedder.threads == []
