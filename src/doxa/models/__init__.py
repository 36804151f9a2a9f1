"""Everything that calls a model, kept apart so that no other room depends on a runtime, its
weights, an endpoint or its failures.

Here are the contracts, the fakes and the local model. What speaks to endpoints is imported from its
own module, as it brings network libraries.
"""

from __future__ import annotations

from doxa.models.contract import (
    Completer,
    Completion,
    Embedder,
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
