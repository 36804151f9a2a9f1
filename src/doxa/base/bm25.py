"""BM25: the one implementation of its statistics and its score.

After Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009),
section 3. Of N documents n hold a term; one of them holds it `count` times and is `length` terms
long:

    inverse_document_frequency   ln(1 + (N - n + 1/2) / (n + 1/2))
    term_frequency               count / (1 - b + b * length / mean length)
    term_score                   weight * frequency / (frequency + k1), weight being the inverse
                                 document frequency

The published formula has one more factor, k1 + 1, which changes no order; callers that need the
published scale multiply by it. `count`, `length` and `frequency` are numbers or arrays.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Quantity = float | np.float32 | NDArray[np.float32]


def inverse_document_frequency(documents: int, holding: int) -> float:
    """Return the weight of a term that `holding` of `documents` hold: the rarer, the more."""
    return math.log1p((documents - holding + 0.5) / (holding + 0.5))


def term_frequency(count: Quantity, length: Quantity, *, mean: Quantity, b: float) -> Any:
    """Return the count of a term, less in a text longer than the mean, the more so the greater
    `b`."""
    return count / (1 - b + b * length / mean)


def term_score(weight: Quantity, frequency: Quantity, *, k1: float) -> Any:
    """Return what one term adds to a score: below `weight`, half of it at a frequency of `k1`."""
    return weight * frequency / (frequency + k1)
