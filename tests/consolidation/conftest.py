"""A memory with the talk about the outage in its thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.language.turns import Turn
from tests.consolidation.conversations import MINUTE, OUTAGE, STARTED

Say = Callable[..., str]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(path=tmp_path / "m.doxa", clock=FakeClock(), embedder=None, project="shop")
    with Memory(config) as opened:
        yield opened


@pytest.fixture
def say(memory: Memory) -> Say:
    """Ingest lines as a session of the thread `ops`; returns the address of the thread."""

    def ingest(lines: Sequence[str], session: str = "s1", *, start: int = STARTED) -> str:
        pairs = [line.split(": ", 1) for line in lines]
        turns = [
            Turn("ops", session, speaker, "person", text, start + number * MINUTE, "")
            for number, (speaker, text) in enumerate(pairs)
        ]
        return memory.ingest(turns, extract=False).threads[0]

    return ingest


@pytest.fixture
def thread(say: Say) -> str:
    return say(OUTAGE)
