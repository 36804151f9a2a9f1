"""What numpy does more slowly, or by importing more."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)


def distinct(values: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return each value once, ascending, as `np.unique` does, which imports `numpy.ma` to ask
    whether an array is masked."""
    ordered = np.sort(values)
    if len(ordered) < 2:
        return ordered
    kept: NDArray[Any] = np.empty(len(ordered), dtype=np.bool_)
    kept[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=kept[1:])
    found: NDArray[_Scalar] = ordered[kept]
    return found
