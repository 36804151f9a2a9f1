"""Fixtures of the tests of queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.query.policy_world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m.db")
    yield made
    made.memory.flush()
    assert made.memory.check() == []
    made.memory.verify()
    made.memory.close()
