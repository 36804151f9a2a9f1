"""What becomes of a ranking before it is an answer: what stands out, what is alike, whose echo
something is, in which order it is read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from doxa.recall.hits import Ranked
from doxa.recall.pool import Scale
from doxa.recall.types import Hit
from doxa.store import Reader, int64_array, unpack_vectors, vector_id

SPARSE_MEMORIES = 2_000  # fewer leave much room between them: what is near lies farther away
STANDS_OUT, STANDS_OUT_SPARSE = (
    2.0,
    1.0,
)  # standard deviations of the project's cosines above their mean
COVERS = 0.25
SIBLING = 0.30
_DIVERSE_OF = 50


def outstanding(
    ranked: list[Ranked], scale: Scale, *, names: frozenset[str], few: int
) -> list[Ranked]:
    """Of a ranking what stands out by meaning, covers enough of the question, says a name that it
    writes, or is by or of what it asks for."""
    bar = STANDS_OUT_SPARSE if few < SPARSE_MEMORIES else STANDS_OUT
    kept = []
    for item in ranked:
        cosine = item.lanes["meaning"]
        far = cosine is None or cosine < scale.average + bar * scale.spread
        if (
            not far
            or (item.lanes["words"] or 0) >= COVERS
            or (item.lanes["graph"] or 0) > 0
            or _says_a_name(item, names)
        ):
            kept.append(item)
    return kept


def _says_a_name(item: Ranked, names: frozenset[str]) -> bool:
    return any(posting.asked in names and posting.holds(item.row) for posting in item.postings)


def diverse(reader: Reader, ranked: list[Ranked], *, strength: float, wanted: int) -> list[Ranked]:
    """Maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998): each next hit is the best by
    score, as a share of the best, less `strength` times its likeness to the nearest hit before it.
    Of the first _DIVERSE_OF; the rest follow as they were."""
    best = ranked[: max(_DIVERSE_OF, wanted)]
    if len(best) < 3:
        return ranked
    vectors = _wholes(reader, best)
    alike = vectors @ vectors.T
    top = max(abs(item.score) for item in best) or 1.0
    value = np.array([item.score / top for item in best])
    chosen: list[int] = []
    nearest, left = np.zeros(len(best)), set(range(len(best)))
    while left and len(chosen) < wanted:
        place = max(left, key=lambda i: ((1 - strength) * value[i] - strength * nearest[i], -i))
        chosen.append(place)
        left.discard(place)
        nearest = np.maximum(nearest, alike[place])
    return [best[i] for i in (*chosen, *sorted(left))] + ranked[len(best) :]


def _wholes(
    reader: Reader, ranked: Sequence[Ranked]
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The vectors of whole texts, zero where there is none."""
    held: dict[tuple[int, int], bytes] = {}
    for scope in {item.shelf.scope for item in ranked}:
        rows = [item.row for item in ranked if item.shelf.scope == scope]
        sql = "SELECT v.doc, v.data FROM carray(?) f CROSS JOIN vector v ON v.id = f.value"
        held |= {
            (scope, doc): data
            for doc, data in reader.rows(
                sql, (int64_array([vector_id(scope, row) for row in rows]),)
            )
        }
    width = len(next(iter(held.values()))) // 2 if held else 1
    none = np.zeros(width, dtype="<f2").tobytes()
    return unpack_vectors([held.get((item.shelf.scope, item.row), none) for item in ranked], width)


def without_echoes(hits: list[Hit]) -> list[Hit]:
    """A candidate and the turn it was read from say the same: the better ranked of the two stays."""
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


def without_far_siblings(hits: list[Hit]) -> list[Hit]:
    """Of several revisions of one item, asked for by history, the best stays, and the others as far
    as they are near the question themselves."""
    kept: list[Hit] = []
    items: set[str] = set()
    for hit in hits:
        item = hit.kref.partition("?")[0]
        if hit.type == "revision" and item in items and hit.lanes.get("meaning", 1.0) < SIBLING:
            continue
        items.add(item)
        kept.append(hit)
    return kept


def in_order(hits: list[Hit], order: str) -> list[Hit]:
    """As ranked, or by the time at which it was said or stated."""
    return sorted(hits, key=lambda hit: hit.time) if order == "time" else hits
