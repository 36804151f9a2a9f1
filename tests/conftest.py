"""What every folder shares: a clock that stands still, a real store in a temporary folder, and a
ledger on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doxa.base.clock import FakeClock
from doxa.belief import Ledger, declare
from doxa.store import Identity, Store

SEEDS = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SEEDS] = []


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Says something at the end of the run, whether or not the test passes: a seed, above all."""
    return lambda text: request.config.stash[SEEDS].append(f"{request.node.name}: {text}")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash[SEEDS]:
        terminalreporter.write_line(line)


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
