"""Embedders, language models and rerankers, so that no other package depends on a runtime, its
files, an endpoint or its failures.

This module exports the contracts, the fakes and the local model. The adapters for endpoints are
imported from their own modules, since they import network libraries.
"""

from __future__ import annotations

from doxa.models.contract import (
    Completer,
    Completion,
    Embedder,
    LocalEmbedder,
    Message,
    QuestionEmbedder,
    Reranker,
    Usage,
)
from doxa.models.fakes import (
    FailingEmbedder,
    HashEmbedder,
    OverlapReranker,
    RecordedCompleter,
    ScriptedCompleter,
)
from doxa.models.minilm import find_weights, load_minilm

__all__ = [
    "Completer",
    "Completion",
    "Embedder",
    "FailingEmbedder",
    "HashEmbedder",
    "LocalEmbedder",
    "Message",
    "OverlapReranker",
    "QuestionEmbedder",
    "RecordedCompleter",
    "Reranker",
    "ScriptedCompleter",
    "Usage",
    "find_weights",
    "load_minilm",
]
