"""Reranking: a second order of the first hits, by a reranker or by the agent itself. A reranker's
scores only change an order.

client      nothing is reranked: more hits are returned than asked for, so that the agent's own
            model can choose (`Recall.chosen`)
dedicated   the configured reranker reads the question with each of the first RERANKED_HITS; its
            score and the fused score are blended, each scaled from 0 to 1 over these hits:
            RERANK_FUSED to 1 - RERANK_FUSED
auto        dedicated if a reranker is configured, otherwise client
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from doxa.base.errors import LimitError, ModelError
from doxa.models.contract import Reranker
from doxa.models.vectors import finite_scores
from doxa.recall import constants
from doxa.recall.types import Hit


def rerank(hits: list[Hit], question: str, reranker: Reranker) -> list[Hit]:
    """Return the first hits in the order of the blended score, the rest in their order. Raises
    ModelError or LimitError as the reranker does, and ModelError for scores that are too few, too
    many or not finite."""
    count = min(len(hits), constants.RERANKED_HITS, reranker.texts_max)
    if count < 2:
        return hits
    scores = finite_scores(
        reranker.score(question, [hit.text for hit in hits[:count]]),
        count=count,
        model=reranker.name,
    )
    fused = _unit(np.array([hit.score for hit in hits[:count]]))
    share = constants.RERANK_FUSED
    blended = share * fused + (1 - share) * _unit(np.asarray(scores, dtype=np.float64))
    order = np.argsort(-blended, kind="stable").tolist()
    first = [
        replace(hits[i], lanes={**hits[i].lanes, "rerank": round(float(scores[i]), 4)})
        for i in order
    ]
    return first + hits[count:]


def _unit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    span = values.max() - values.min()
    return (values - values.min()) / span if span > 0 else np.zeros_like(values)


def apply_reranker(
    hits: list[Hit], question: str, reranker: Reranker | None, how: str, warnings: list[str]
) -> list[Hit]:
    """Rerank as the option `how` says. A reranker that is missing or fails is a warning, and the
    order stays."""
    if how not in ("dedicated", "auto") or (reranker is None and how == "auto"):
        return hits
    if reranker is None:
        warnings.append("No reranker is configured: the hits are in the order of their lanes.")
        return hits
    try:
        return rerank(hits, question, reranker)
    except (ModelError, LimitError) as error:
        warnings.append(
            f"The reranker failed, the hits are in the order of their lanes: {error.message}"
        )
        return hits


def in_chosen_order(hits: Sequence[Hit], krefs: Sequence[str]) -> list[Hit]:
    """Return the hits with these addresses, in that order, each once; omit the rest."""
    held = {hit.kref: hit for hit in hits}
    return [held[kref] for kref in dict.fromkeys(krefs) if kref in held]
