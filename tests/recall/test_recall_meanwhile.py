"""What another thread does while a question goes on: the same answers, with it or without."""

from __future__ import annotations

import contextvars
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from doxa import Memory
from doxa.base.clock import FakeClock
from doxa.base.errors import ModelError
from doxa.models import Embedder, HashEmbedder
from doxa.models.cache import CachedEmbedder
from doxa.recall import candidates, engine, meanwhile
from doxa.recall.indexes.vector_index import VectorIndex
from doxa.recall.lanes.meaning import Part
from doxa.recall.meanwhile import Meanwhile
from tests.fixtures_shared import opened

_LARGE = 40
_NOW = 1_796_000_000 * 10**9  # recency must not change between two answers
_WORDS = (
    "boat harbour paint winter storm market bread oven garden rose fence neighbour letter train"
    " ticket museum violin lesson summer lake tent river bridge lantern"
).split()
_QUESTIONS = (
    "What about the boat in winter?",
    "Who plays the violin?",
    "bread and oven",
    "When did Ana paint the fence?",
    "We had a lovely summer at the lake and I miss it so much.",
    "boat lantern museum",
    "zzzz",
)


class WatchedEmbedder(HashEmbedder):
    """Notes which threads embed."""

    def __init__(self, *, local: bool) -> None:
        super().__init__(dimensions=384)
        self.local = local
        self.threads: list[str] = []
        self.fails = False
        self.takes_s = 0.0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.threads.append(threading.current_thread().name)
        time.sleep(self.takes_s)
        if self.fails:
            raise ModelError("It fails.", next_step="Nothing.", model=self.name)
        return super().embed(texts)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few vectors count as many, on however many processors, and half a second as brief."""
    monkeypatch.setattr(engine, "_BRIEF_S", 0.5)
    monkeypatch.setattr(candidates, "_LARGE", _LARGE)
    monkeypatch.setattr(meanwhile, "processors", lambda: 2)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Meanwhile[object]]]:
    """What is begun, and whether the other thread made it is seen: nobody else has the time."""
    noted: list[Meanwhile[object]] = []
    begin = Meanwhile.begin

    def waited(self: Meanwhile[object]) -> bool:
        if not begin(self):
            return False
        noted.append(self)
        meanwhile._other(os.getpid()).submit(int).result()
        return True

    monkeypatch.setattr(Meanwhile, "begin", waited)
    yield noted


def filled(path: Path, embedder: HashEmbedder, count: int = 4 * _LARGE) -> Memory:
    rng = np.random.default_rng(7)
    memory = opened(path, embedder=embedder, clock=FakeClock(_NOW))
    for number in range(count):
        words = 400 if number % 20 == 0 else int(rng.integers(3, 14))  # some have passages
        said = " ".join(rng.choice(_WORDS, size=words))
        memory.ingest([{"speaker": "Ana", "text": f"{said}. It was number {number}."}])
    memory.embed()
    memory.recall("a first question, which shows that the model is brief")
    return memory


def watch_lock(embedder: WatchedEmbedder, memory: Memory) -> list[bool]:
    """Note whether recall holds its lock when the model begins."""
    locked: list[bool] = []
    embed = embedder.embed

    def watched(texts: Sequence[str]) -> NDArray[np.float32]:
        locked.append(memory.recaller._lock.locked())
        return embed(texts)

    embedder.embed = watched  # type: ignore[method-assign]
    return locked


def asked_all(memory: Memory) -> list[object]:
    found: list[object] = []
    for question in _QUESTIONS:
        for options in ({}, {"strict": True}, {"limit": 100}, {"lanes": ("words",)}):
            answer = memory.recall(question, **options)  # type: ignore[arg-type]
            found.append((answer.hits, answer.mode, answer.answerable_score, answer.warnings))
    return found


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("exact_max", [100_000, 0])
def test_answers_are_the_same_whoever_scans(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    exact_max: int,
    begun: list[Meanwhile[object]],
) -> None:
    monkeypatch.setattr("doxa.recall.constants.EXACT_VECTORS_MAX", exact_max)
    path = tmp_path / "memory.db"
    with filled(path, WatchedEmbedder(local=True)) as memory:
        aside = asked_all(memory)
    assert len(begun) > len(_QUESTIONS)
    noted = len(begun)
    monkeypatch.setattr(candidates, "_LARGE", 10**9)
    with opened(path, embedder=WatchedEmbedder(local=True), clock=FakeClock(_NOW)) as memory:
        alone = asked_all(memory)
    assert len(begun) == noted
    assert aside == alone


@pytest.mark.usefixtures("large")
def test_vectors_that_are_read_in_two_parts_are_in_the_order_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: list[Meanwhile[object]]
) -> None:
    compared: list[list[Part]] = []
    cosines_of = candidates.cosines_of

    def noted(parts: list[Part], *given: Any, **options: Any) -> Any:
        compared.append(parts)
        return cosines_of(parts, *given, **options)

    monkeypatch.setattr(candidates, "cosines_of", noted)
    with filled(tmp_path / "memory.db", WatchedEmbedder(local=True)) as memory:
        for question in _QUESTIONS:
            del begun[:], compared[:]
            memory.recall(question)
            assert begun
            aside = compared[:]
            memory.recaller._asking.add(-1)  # a thread that searches
            memory.recall(question)
            memory.recaller._asking.discard(-1)
            assert compared == [*aside, *aside]


@pytest.mark.usefixtures("large", "begun")
def test_a_model_of_this_process_runs_in_the_other_thread(tmp_path: Path) -> None:
    embedder = WatchedEmbedder(local=True)
    with filled(tmp_path / "memory.db", embedder) as memory:
        embedder.threads.clear()
        memory.recall("What about the boat in winter?")
        assert embedder.threads
        assert {name.startswith("doxa-recall") for name in embedder.threads} == {True}


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize("why", ["elsewhere", "small", "one processor"])
def test_a_model_runs_in_the_thread_that_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(engine, "_BRIEF_S", 0.5)
    monkeypatch.setattr(meanwhile, "processors", lambda: 1 if why == "one processor" else 2)
    if why != "small":
        monkeypatch.setattr(candidates, "_LARGE", _LARGE)
    embedder = WatchedEmbedder(local=why != "elsewhere")
    with filled(tmp_path / "memory.db", embedder) as memory:
        locked = watch_lock(embedder, memory)
        embedder.threads.clear()
        memory.recall("What about the boat in winter?")
        assert set(embedder.threads) == {threading.current_thread().name}
        assert locked == [False]


@pytest.mark.usefixtures("large", "begun")
def test_a_slow_model_runs_before_a_lock_is_taken(tmp_path: Path) -> None:
    embedder = WatchedEmbedder(local=True)
    with filled(tmp_path / "memory.db", embedder) as memory:
        locked = watch_lock(embedder, memory)
        embedder.takes_s = 0.6
        for number in range(3):
            memory.recall(f"boat number {number}")
        embedder.takes_s = 0.0
        memory.recall("bread number 1")
        here = threading.current_thread().name
        # the first of the slow ones came as a surprise, and the first brief one too
        assert [name == here for name in embedder.threads[-4:]] == [False, True, True, True]
        assert locked[1:] == [False] * 3
        memory.recall("bread number 2")
        assert embedder.threads[-1] != here


@pytest.mark.usefixtures("large", "begun")
def test_the_noise_of_another_language_is_measured_before_a_lock_is_taken(tmp_path: Path) -> None:
    embedder = WatchedEmbedder(local=True)
    with filled(tmp_path / "memory.db", embedder) as memory:
        here = threading.current_thread().name
        embedder.threads.clear()
        memory.recall("Где лодка зимой?")
        assert len(embedder.threads) == 3  # the question, and two calls for the texts
        assert set(embedder.threads) == {here}
        memory.recall("Где хлеб и печь?")
        assert embedder.threads[3:] != []
        assert here not in embedder.threads[3:]


@pytest.mark.usefixtures("large")
def test_a_vector_that_is_known_needs_no_other_thread(
    tmp_path: Path, begun: list[Meanwhile[object]]
) -> None:
    with filled(tmp_path / "memory.db", WatchedEmbedder(local=True)) as memory:
        del begun[:]
        for number in (2, 1, 1):  # the model and the scan; the scan
            memory.recall("bread and oven")
            assert len(begun) == number
            del begun[:]


@pytest.mark.usefixtures("large")
def test_nothing_is_scanned_any_more_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[bool] = []
    nearest, scanning = VectorIndex.nearest, threading.Event()

    def slow(self: VectorIndex, *given: Any, **options: Any) -> Any:
        scans.append(True)
        scanning.set()
        time.sleep(0.1)
        found = nearest(self, *given, **options)
        scans.append(False)
        return found

    def broken(*given: Any, **options: Any) -> Any:
        assert scanning.wait(30)
        raise KeyboardInterrupt

    with filled(tmp_path / "memory.db", WatchedEmbedder(local=True)) as memory:
        wanted = memory.recall("bread and oven").hits
        monkeypatch.setattr(VectorIndex, "nearest", slow)
        monkeypatch.setattr(candidates, "read_postings", broken)
        with pytest.raises(KeyboardInterrupt):
            memory.recall("bread and oven")
        assert scans == [True, False]
        monkeypatch.undo()
        assert memory.recaller._asking == set()
        assert not memory.recaller._lock.locked()
        assert memory.recall("bread and oven").hits == wanted


def test_what_is_dropped_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanwhile, "processors", lambda: 2)
    gate, made = threading.Event(), list[str]()
    first = Meanwhile(lambda: gate.wait(30))
    first.begin()
    second = Meanwhile(lambda: made.append("second"))
    second.begin()
    second.drop()
    gate.set()
    assert first.get()
    meanwhile._other(os.getpid()).submit(int).result()
    assert made == []
    with pytest.raises(RuntimeError, match="dropped"):
        second.get()
    first.drop()
    assert first.get()


def test_without_a_model_no_vector_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: None, begun: list[Meanwhile[object]]
) -> None:
    path = tmp_path / "memory.db"
    with filled(path, WatchedEmbedder(local=True)):
        pass
    read: list[object] = []
    monkeypatch.setattr(candidates, "read_parts", lambda *given: read.append(given) or [])
    del begun[:]
    with opened(path, embedder=None) as memory:
        assert memory.recall("bread and oven").mode == "fulltext"
    failing = WatchedEmbedder(local=True)
    failing.fails = True
    with opened(path, embedder=failing) as memory:
        for _ in range(2):
            assert memory.recall("bread and oven").mode == "fulltext"
    assert read == []
    assert begun == []


def test_models_of_files_are_local(minilm: Embedder) -> None:
    assert getattr(minilm, "local", False) is True
    assert CachedEmbedder(minilm).local is True
    assert CachedEmbedder(HashEmbedder()).local is False


@pytest.mark.usefixtures("large")
def test_two_questions_at_once_do_their_own_work(
    tmp_path: Path, begun: list[Meanwhile[object]]
) -> None:
    with filled(tmp_path / "memory.db", WatchedEmbedder(local=True)) as memory:
        memory.recall("bread")
        del begun[:]
        memory.recaller._asking.add(-1)  # a thread that searches
        other = memory.recall("What about the boat in winter?")
        assert begun == []
        memory.recaller._asking.discard(-1)
        assert memory.recaller._asking == set()
        assert memory.recall("What about the boat in winter?").hits == other.hits
        assert begun


@pytest.mark.usefixtures("large", "begun")
def test_a_model_that_fails_is_one_warning(tmp_path: Path) -> None:
    embedder = WatchedEmbedder(local=True)
    with filled(tmp_path / "memory.db", embedder) as memory:
        embedder.fails = True
        answer = memory.recall("bread and oven")
        assert answer.mode == "fulltext"
        assert answer.hits
        assert answer.warnings == (
            "Meaning search failed, this answer is by words alone: It fails.",
        )
        embedder.fails = False
        assert memory.recall("bread and oven").mode == "hybrid"


def test_a_request_that_fails_leaves_the_meaning_of_the_question(tmp_path: Path) -> None:
    class OnlyLong(WatchedEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.fails = any(text.startswith("My usual") for text in texts)
            return super().embed(texts)

    question = "Ana got in after dark. She said to the car: 'My usual light, please.'"
    with filled(tmp_path / "memory.db", OnlyLong(local=True), 10) as memory:
        answer = memory.recall(question)
        assert answer.mode == "hybrid"
        assert [said for said in answer.warnings if "It fails." in said] != []


def test_it_is_made_once_by_whoever_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanwhile, "processors", lambda: 2)
    made: list[str] = []
    start = threading.Barrier(5)

    def make() -> int:
        made.append(threading.current_thread().name)
        time.sleep(0.002)
        return len(made)

    for _ in range(50):
        made.clear()
        value = Meanwhile(make)

        def get(value: Meanwhile[int] = value) -> int:
            start.wait()
            return value.get()

        with ThreadPoolExecutor(4) as pool:
            found = [pool.submit(get) for _ in range(4)]
            start.wait()
            value.begin()
            assert [one.result() for one in found] == [1] * 4
        assert len(made) == 1


def test_nobody_waits_for_a_thread_that_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanwhile, "processors", lambda: 2)
    gate, reached = threading.Event(), threading.Event()

    def long() -> str:
        reached.set()
        assert gate.wait(30)
        return "long"

    first = Meanwhile(long)
    first.begin()
    assert reached.wait(30)
    second = Meanwhile(lambda: threading.current_thread().name)
    second.begin()
    assert second.get() == threading.current_thread().name
    gate.set()
    assert first.get() == "long"


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_error_is_raised_each_time(
    monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    monkeypatch.setattr(meanwhile, "processors", lambda: 2)
    tried: list[None] = []

    def make() -> None:
        tried.append(None)
        raise kind("It fails.")

    value = Meanwhile(make)
    value.begin()
    meanwhile._other(os.getpid()).submit(int).result()
    for _ in range(2):
        with pytest.raises(kind, match="It fails"):
            value.get()
    assert len(tried) == 1


def test_the_other_thread_has_the_context_of_the_one_that_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(meanwhile, "processors", lambda: 2)
    purpose: contextvars.ContextVar[str] = contextvars.ContextVar("purpose", default="none")
    purpose.set("recall")
    value = Meanwhile(lambda: (threading.current_thread().name, purpose.get()))
    value.begin()
    meanwhile._other(os.getpid()).submit(int).result()
    name, seen = value.get()
    assert name.startswith("doxa-recall")
    assert seen == "recall"


_FORKED = """
import os, threading
from doxa.recall import meanwhile
from doxa.recall.meanwhile import Meanwhile
meanwhile.processors = lambda: 2
one = Meanwhile(os.getpid)
one.begin()
assert one.get() == os.getpid()
child = os.fork()
if not child:
    two = Meanwhile(lambda: (os.getpid(), threading.current_thread().name))
    two.begin()
    meanwhile._other(os.getpid()).submit(int).result(30)
    number, name = two.get()
    os._exit(0 if number == os.getpid() and name.startswith("doxa-recall") else 1)
assert os.waitpid(child, 0)[1] == 0
import atexit
@atexit.register
def late():
    three = Meanwhile(lambda: "late")
    three.begin()
    print(three.get())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_and_an_interpreter_that_ends_do_without() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FORKED],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "late\n"), done.stderr
