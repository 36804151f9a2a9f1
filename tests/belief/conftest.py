"""A memory whose file must be sound, and its log verify, when a test is done with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.store import Store, check, digest, replayed_digest, verify_log
from tests.fixtures_shared import opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        yield made
        assert made.check() == []
        made.verify()


@pytest.fixture
def sound(believing: Store) -> Iterator[None]:
    """After each test the store proves itself."""
    yield
    assert check(believing) == []
    verify_log(believing)
    assert digest(believing) == replayed_digest(believing)
