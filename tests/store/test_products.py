"""Products of vectors are those of numpy, and no other thread works on them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from doxa.store import pair_products, row_products
from doxa.store.indexing.products import BLAS_NUMBERS_MAX
from tests.fixtures_shared import own_code
from tests.tidy.test_house import trees

# Where a product stays small: of two vectors, or in a network of some dozens of numbers.
SMALL = frozenset(
    (
        "agent/signals/dynamics.py",
        "recall/candidates.py",
        "recall/indexes/project_index.py",
        "recall/lanes/noise.py",
        "store/indexing/products.py",
    )
)
PROBE = """
import os, sys, time
import numpy as np
from doxa.store import pair_products, row_products
rng = np.random.default_rng(1)
matrix = rng.random((4_000, 384), dtype=np.float32)
def of_others(work):
    def ticks():
        found = 0
        for task in os.listdir("/proc/self/task"):
            if int(task) != os.getpid():
                numbers = open(f"/proc/self/task/{task}/stat").read().rpartition(")")[2].split()
                found += int(numbers[11])
        return found
    before = ticks()
    for _ in range(20):
        work()
    time.sleep(0.2)
    return ticks() - before
mine = of_others(lambda: (row_products(matrix, matrix[0]), pair_products(matrix[:60], matrix[:80])))
print(mine, of_others(lambda: matrix @ matrix[0]))
"""


@pytest.mark.parametrize("width", [1, 3, 384, 1_000, BLAS_NUMBERS_MAX, BLAS_NUMBERS_MAX + 1])
@pytest.mark.parametrize("share", [0, 0.5, 1, 2.5])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_product_is_that_of_numpy(width: int, share: float, kind: type) -> None:
    rng = np.random.default_rng(7)
    matrix = rng.standard_normal((int(share * BLAS_NUMBERS_MAX / width), width)).astype(kind)
    vector = rng.standard_normal(width).astype(kind)
    found = row_products(matrix, vector)
    assert found.dtype == kind and found.shape == (len(matrix),)
    np.testing.assert_allclose(found, matrix @ vector, rtol=1e-3, atol=1e-3 * width**0.5)


def test_products_of_pairs_are_those_of_the_matrices() -> None:
    rng = np.random.default_rng(7)
    matrix, others = (rng.standard_normal((count, 384)).astype(np.float32) for count in (90, 70))
    np.testing.assert_allclose(pair_products(matrix, others), matrix @ others.T, atol=1e-3)
    assert pair_products(matrix[:0], others).shape == (0, 70)
    assert pair_products(matrix, others[:0]).shape == (90, 0)


def test_no_other_thread_works_on_them() -> None:
    if not Path("/proc/self/task").exists():
        pytest.skip("threads are counted on Linux only")
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, env=own_code()
    )
    mine, plain = map(int, done.stdout.split())
    if not plain:
        pytest.skip("numpy shares no product among threads here")
    assert mine == 0


def test_every_product_that_may_be_large_is_made_so() -> None:
    """A single `@` elsewhere would wake the threads of the library at each question."""
    found = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult))
        or (isinstance(node, ast.Attribute) and node.attr in ("dot", "matmul", "tensordot"))
    }
    assert found == SMALL
