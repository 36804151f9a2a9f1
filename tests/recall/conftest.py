"""The real model, once for all tests of this folder."""

from tests.fixtures_shared import minilm

__all__ = ["minilm"]
