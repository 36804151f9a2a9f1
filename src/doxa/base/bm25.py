"""BM25: the one implementation of its statistics and its score.

After Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009),
section 3. Of N documents n hold a term; one of them holds it `count` times and is `length` terms
long:

    inverse_document_frequency   ln(1 + (N - n + 1/2) / (n + 1/2))
    length_norm                  1 - b + b * length / mean length
    term_frequency               count / length_norm
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


def length_norm(length: Quantity, *, mean: Quantity, b: float) -> Any:
    """Return how many times as long as the mean a text counts as: 1 at the mean, the more with its
    length the greater `b`."""
    return 1 - b + b * length / mean


def term_frequency(count: Quantity, norm: Quantity) -> Any:
    """Return the count of a term, less in a text longer than the mean. `norm`: of its length."""
    return count / norm


def term_score(weight: Quantity, frequency: Quantity, *, k1: float) -> Any:
    """Return what one term adds to a score: below `weight`, half of it at a frequency of `k1`."""
    return weight * frequency / (frequency + k1)
