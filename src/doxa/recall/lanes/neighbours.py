"""How much a turn borrows from the turns before and after it: a short answer is about what it
answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def borrowed_share(length: Floats, half: float) -> Floats:
    """Return the share that texts of these lengths borrow, in terms: half at the length `half`."""
    return (half / (half + length)).astype(np.float32)
