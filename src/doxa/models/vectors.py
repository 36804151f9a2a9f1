"""Validates vectors and scores of models, and normalises vectors to length 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doxa.base.errors import ModelError
from doxa.base.limits import VECTOR_ITEMS_MAX

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SCORE_MAX = 1e30  # float32 ends at 3.4e38, and callers add to scores
_STEP = (
    "Check that this is an embedding model and that no proxy changes its answers; recall continues"
    " by words."
)


def unit_rows(
    values: Any, *, count: int, dimensions: int | None, model: str
) -> NDArray[np.float32]:
    """Return `values` as float32 rows of length 1, shape (count, dimensions); with `dimensions`
    None any number of dimensions is accepted.

    Raises ModelError for rows of unequal or wrong length, for values that are not finite numbers,
    and for a vector of zeros.
    """
    import numpy as np

    try:
        rows = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise _refusal(
            "its vectors are of unequal length or contain something else than numbers", model
        ) from error
    if rows.ndim != 2 or len(rows) != count:
        raise _refusal(f"{count} vectors were requested, and it has the shape {rows.shape}", model)
    if dimensions is not None and rows.shape[1] != dimensions:
        raise _refusal(
            f"a vector has {rows.shape[1]} numbers, not {dimensions}",
            model,
            dimensions=dimensions,
            found=rows.shape[1],
        )
    if not 0 < rows.shape[1] <= VECTOR_ITEMS_MAX:
        raise _refusal(f"a vector has {rows.shape[1]} numbers", model, items_max=VECTOR_ITEMS_MAX)
    if not np.isfinite(rows).all():
        raise _refusal("a vector contains a number that is not finite", model)
    # Divided by the largest first, so that no square overflows or vanishes.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not (largest > 0).all():
        raise _refusal("a vector is all zeros, which has no direction", model)
    rows = rows / largest
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def first_axis(dimensions: int) -> NDArray[np.float32]:
    """Return the vector of a blank text: the first axis, which has no meaning."""
    import numpy as np

    row = np.zeros(dimensions, dtype=np.float32)
    row[0] = 1.0
    return row


def finite_scores(values: Any, *, count: int, model: str) -> NDArray[np.float32]:
    """Return `values` as float32 scores, shape (count,). Raises ModelError for another number of
    them, or one that is not finite."""
    import numpy as np

    try:
        scores = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise _refusal("its scores are not numbers", model) from error
    if scores.shape != (count,):
        raise _refusal(f"{count} scores were requested, and it has the shape {scores.shape}", model)
    if not (np.abs(scores) <= _SCORE_MAX).all():  # false for NaN too
        raise _refusal("a score is not finite or exceeds 1e30", model)
    return scores.astype(np.float32)


def _refusal(reason: str, model: str, **fields: object) -> ModelError:
    return ModelError(
        f"The answer of the model {model} cannot be used: {reason}.",
        next_step=_STEP,
        model=model,
        **fields,
    )
