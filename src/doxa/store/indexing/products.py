"""Products of vectors, computed by the thread that asks for them.

numpy's library shares a product of some size with threads of its own, and these do not sleep when
it is done: they turn for a tenth of a second to wait for the next one. On a machine with two
processors each question would take one of them away from everybody else. So a product that OpenBLAS
would share (a matrix of 460,800 numbers with a vector: 115,200 times GEMM_MULTITHREAD_THRESHOLD, in
its interface/gemv.c) is made row by row, as scalar products, which it shares from 10,000 numbers on
only. That takes up to twice as long as a product of OpenBLAS in one thread if the matrix lies in a
cache, and as long if it has to come from memory, as an index of vectors does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# numpy takes longer to import than the rest of the store; who opens a file may never need it
if TYPE_CHECKING:
    from numpy.typing import NDArray

BLAS_NUMBERS_MAX = 400_000  # of the matrix


def row_products(matrix: NDArray[Any], vector: NDArray[Any]) -> NDArray[Any]:
    """Return the scalar product of each row, shape (rows,), with a vector of the rows' length.
    Raises ValueError for one of another length."""
    import numpy as np

    if matrix.size <= BLAS_NUMBERS_MAX:
        return np.asarray(matrix @ vector)
    return np.asarray(np.vecdot(matrix, vector))


def pair_products(matrix: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Return the scalar product of each row with each of the other rows, shape (rows, others)."""
    import numpy as np

    found = np.empty((len(matrix), len(others)), dtype=np.result_type(matrix, others))
    for number, other in enumerate(others):
        found[:, number] = row_products(matrix, other)
    return found
