"""Everything that calls a model, kept apart so that no other room depends on a runtime, its weights or its failures."""

from __future__ import annotations

from doxa.models.contract import Embedder
from doxa.models.fakes import FailingEmbedder, HashEmbedder
from doxa.models.minilm import find_weights, load_minilm

__all__ = ["Embedder", "FailingEmbedder", "HashEmbedder", "find_weights", "load_minilm"]
