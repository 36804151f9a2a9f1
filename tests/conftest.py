"""What every folder shares: a clock that stands still, a real store in a temporary folder, and a ledger on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.base.clock import FakeClock
from doxa.belief import Ledger, declare
from doxa.store import Identity, Store


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    """A bare store: no rule declared."""
    with Store(tmp_path / "a.db", clock=clock) as made:
        yield made


@pytest.fixture
def believing(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    """A store that knows the rules of beliefs."""
    with Store(tmp_path / "beliefs.db", clock=clock) as made:
        declare(made)
        yield made


@pytest.fixture
def ledger(believing: Store) -> Ledger:
    return Ledger(believing, Identity("ana", "operator"))


@pytest.fixture
def agent(believing: Store) -> Ledger:
    return Ledger(believing, Identity("bot", "agent"))
