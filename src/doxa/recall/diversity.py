"""Hits that repeat each other: similar ones ranked lower (`diversity`), duplicates removed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from doxa.recall import constants
from doxa.recall.hits import Ranked
from doxa.recall.types import Hit
from doxa.store import Reader, int64_array, pair_products, unpack_vectors, vector_id


def diversify(
    reader: Reader, ranked: list[Ranked], *, strength: float, wanted: int
) -> list[Ranked]:
    """Reorder by maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998): each next hit is
    the best by score, as a share of the best score, less `strength` times its cosine with the
    nearest hit before it. Considers the first DIVERSITY_HITS; the rest keep their order."""
    best = ranked[: constants.DIVERSITY_HITS]
    if len(best) < 3:
        return ranked
    vectors = _text_vectors(reader, best)
    cosines = pair_products(vectors, vectors)
    top = max(abs(item.score) for item in best) or 1.0
    value = np.array([item.score / top for item in best])
    chosen: list[int] = []
    nearest, left = np.zeros(len(best)), set(range(len(best)))
    while left and len(chosen) < wanted:
        place = max(left, key=lambda i: ((1 - strength) * value[i] - strength * nearest[i], -i))
        chosen.append(place)
        left.discard(place)
        nearest = np.maximum(nearest, cosines[place])
    return [best[i] for i in (*chosen, *sorted(left))] + ranked[len(best) :]


def _text_vectors(reader: Reader, ranked: Sequence[Ranked]) -> NDArray[np.float32]:
    """The vectors of whole texts, zero where there is none."""
    stored: dict[tuple[int, int], bytes] = {}
    for scope in {item.project.scope for item in ranked}:
        rows = [item.row for item in ranked if item.project.scope == scope]
        sql = "SELECT v.doc, v.data FROM carray(?) f CROSS JOIN vector v ON v.id = f.value"
        stored |= {
            (scope, doc): data
            for doc, data in reader.rows(
                sql, (int64_array([vector_id(scope, row) for row in rows]),)
            )
        }
    width = len(next(iter(stored.values()))) // 2 if stored else 1
    none = np.zeros(width, dtype="<f2").tobytes()
    return unpack_vectors(
        [stored.get((item.project.scope, item.row), none) for item in ranked], width
    )


def deduplicate_sources(hits: list[Hit]) -> list[Hit]:
    """Keep the better ranked of a candidate and the turn it was extracted from."""
    kept: list[Hit] = []
    addresses: set[str] = set()
    sources: set[str] = set()
    for hit in hits:
        if (hit.trust == "candidate" and hit.source in addresses) or hit.kref in sources:
            continue
        kept.append(hit)
        addresses.add(hit.kref)
        if hit.trust == "candidate":
            sources.add(hit.source)
    return kept


def filter_siblings(hits: list[Hit]) -> list[Hit]:
    """Keep the best of several revisions of one item, which `history` finds, and those that are
    near the question themselves."""
    kept: list[Hit] = []
    items: set[str] = set()
    for hit in hits:
        item = hit.kref.partition("?")[0]
        near = hit.lanes.get("meaning", 1.0) >= constants.SIBLING_COSINE
        if hit.type == "revision" and item in items and not near:
            continue
        items.add(item)
        kept.append(hit)
    return kept
