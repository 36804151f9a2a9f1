"""A memory whose file must be sound, and its log verify, when a test is done with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from tests.fixtures_shared import opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        yield made
        assert made.check() == []
        made.verify()
