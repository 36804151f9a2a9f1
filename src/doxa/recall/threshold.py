"""The threshold of `strict`: which hits of a ranking stand out."""

from __future__ import annotations

from doxa.recall import constants
from doxa.recall.candidates import Scale
from doxa.recall.hits import Ranked


def above_threshold(
    ranked: list[Ranked], scale: Scale, *, names: frozenset[str], searched: int
) -> list[Ranked]:
    """Keep what stands out by meaning, covers enough of the question, contains a name that the
    question writes, or is linked with a good hit. `searched` is how many memories were searched."""
    few = searched < constants.STRICT_MEMORIES_FEW
    deviations = constants.STRICT_DEVIATIONS_FEW if few else constants.STRICT_DEVIATIONS
    least = scale.average + deviations * scale.spread
    kept = []
    for item in ranked:
        cosine = item.lanes["meaning"]
        if (
            (cosine is not None and cosine >= least)
            or (item.lanes["words"] or 0) >= constants.STRICT_COVERAGE
            or (item.lanes["graph"] or 0) > 0
            or _contains_name(item, names)
        ):
            kept.append(item)
    return kept


def _contains_name(item: Ranked, names: frozenset[str]) -> bool:
    return any(posting.asked in names and posting.holds(item.row) for posting in item.postings)
