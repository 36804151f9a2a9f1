"""What one replica has embedded, the others fetch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from doxa.app import Memory
from doxa.app.care import embedding
from doxa.app.care.shared_vectors import SharedEmbedder
from doxa.models import HashEmbedder
from tests.fixtures_shared import opened
from tests.replication.postgres import MISSING, PostgresServer, programs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TEXTS = [f"The heron of pond {n} waits. It eats fish number {n}." for n in range(60)]


class Counting(HashEmbedder):
    """Fake: keeps the texts about ponds, and takes a while for each group."""

    def __init__(self, *, seconds: float = 0.0) -> None:
        super().__init__(dimensions=64)
        self.texts: list[str] = []
        self._seconds = seconds

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += [text for text in texts if "number" in text or "pond" in text]
        time.sleep(self._seconds)
        return super().embed(texts)


@pytest.fixture
def server(shared_url: str, tmp_path: Path) -> Callable[..., Memory]:
    def again(name: str, embedder: Any) -> Memory:
        given = {"tenant": "acme", "replica": tmp_path / name, "embedder": embedder}
        return opened(shared_url, **given)  # type: ignore[arg-type]

    return again


def vectors(memory: Memory) -> list[Any]:
    with memory.store.read() as reader:
        return reader.rows("SELECT id, data FROM vector ORDER BY id")


def filled(memory: Memory) -> None:
    for text in TEXTS:
        memory.remember(text)


def caught_up(memory: Memory) -> None:
    assert memory.replica is not None
    memory.replica.catch_up()


def test_a_text_is_embedded_once_for_all_replicas(server: Callable[..., Memory]) -> None:
    one, two = Counting(), Counting()
    with server("one", one) as first, server("two", two) as second:
        filled(first)
        caught_up(second)
        assert first.embed() == second.embed() == len(TEXTS)
        assert len(one.texts) == len(set(one.texts)) >= 3 * len(TEXTS) and two.texts == []
        assert vectors(first) == vectors(second) != []
        assert second.recall("where is the heron", lanes=["meaning"]).hits
        first.remember("A swan came to pond 7")
        caught_up(second)
        second.embed()
        first.embed()
        assert two.texts == ["A swan came to pond 7"] and two.texts[0] not in one.texts


def test_replicas_that_embed_at_once_share_the_work(server: Callable[..., Memory]) -> None:
    one, two = Counting(seconds=0.05), Counting(seconds=0.05)
    with server("one", one) as first, server("two", two) as second:
        filled(first)
        caught_up(second)
        both = [threading.Thread(target=memory.embed) for memory in (first, second)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join(60)
        alone = [[text for text in own.texts if text.startswith("It")] for own in (one, two)]
        assert sorted(alone[0] + alone[1]) == sorted(text.partition(". ")[2] for text in TEXTS)
        assert vectors(first) == vectors(second)
        assert first.pending() == second.pending() == 0


def test_vectors_of_what_is_erased_are_not_kept_at_the_engine(
    server: Callable[..., Memory],
) -> None:
    with server("one", Counting()) as first, server("two", Counting()) as second:
        filled(first)
        secret = first.remember("The secret word is marzipan")
        first.embed()
        first.forget(secret.kref, erase=True)
        caught_up(second)
        two = second._models.embedder
        assert two is not None and isinstance(two.inner, Counting)
        second.embed()
        assert set(TEXTS) <= set(two.inner.texts), "all vectors of the tenant were deleted"
        assert not any("marzipan" in text for text in two.inner.texts)


def test_after_an_erasure_a_job_goes_on_by_itself(server: Callable[..., Memory]) -> None:
    one, two = Counting(), Counting()
    with server("one", one) as first, server("two", two) as second:
        secret = first.remember("The secret word is marzipan")
        filled(first)
        shared = SharedEmbedder(one, first.replica, stop=lambda: False)  # type: ignore[arg-type]
        first.forget(secret.kref, erase=True)
        assert shared.embed(["The secret word is marzipan", TEXTS[0]]).shape == (2, 64)
        shared.end()
        caught_up(second)
        late = SharedEmbedder(two, second.replica, stop=lambda: False)  # type: ignore[arg-type]
        begun = time.monotonic()
        late.embed([TEXTS[0]])
        late.end()
        assert TEXTS[0] in two.texts, "what was made before the erasure was seen is not shared"
        assert time.monotonic() - begun < 5, "the lease was given back"


def test_an_engine_that_comes_back_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if programs() is None:
        pytest.skip(MISSING)
    monkeypatch.setattr(embedding, "MODEL_OUTAGE_MS", 200)
    server = PostgresServer()
    try:
        given = {"tenant": "acme", "replica": tmp_path / "r", "embedder": Counting()}
        url = server.create("away")
        with opened(url, background=True, **given) as memory:  # type: ignore[arg-type]
            memory.remember("The heron waits by the pond")
            server.kill()
            until = time.monotonic() + 60
            while memory.embedder_error is None and time.monotonic() < until:
                time.sleep(0.1)
            assert memory.embedder_error is not None
            assert "does not answer" in memory.embedder_error.message
            server.start()
            while memory.pending() and time.monotonic() < until:
                time.sleep(0.1)
            assert memory.pending() == 0
    finally:
        server.close()
