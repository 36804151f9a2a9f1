"""What the tests of continuity share: a memory with a clock of its own, and conversations in it."""

from __future__ import annotations

from pathlib import Path

import doxa
from doxa.app import Memory, Session
from doxa.base.clock import NS, FakeClock

START = 1_750_000_000


def opened(path: Path, clock: FakeClock | None = None) -> Memory:
    """A memory of an operator, without background threads."""
    return doxa.open(
        path, role="operator", background=False, embedder=None, clock=clock or FakeClock()
    )


def say(session: Session, name: str, *texts: str, thread: str = "", at: int | None = None) -> None:
    """Store messages of a user and an assistant in turns, a second apart."""
    start = session.memory.store.clock.now_ns() if at is None else at
    session.ingest(
        [
            {
                "text": text,
                "role": ("user", "assistant")[number % 2],
                "speaker": ("user", "assistant")[number % 2],
                "thread": thread or name,
                "session": name,
                "time": start + number * NS,
            }
            for number, text in enumerate(texts)
        ]
    )
