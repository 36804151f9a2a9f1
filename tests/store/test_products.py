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

# How many products are made otherwise: of two vectors, or in a network of some dozens of numbers;
# and in that module itself.
SMALL = {
    "agent/signals/dynamics.py": 10,
    "recall/candidates.py": 1,
    "recall/lanes/noise.py": 2,
    "store/indexing/products.py": 2,
}
# Names of numpy's functions that its library works on, and may share among threads.
SHARED = frozenset(
    ("dot", "vdot", "inner", "matmul", "tensordot", "multi_dot", "vecdot", "matvec", "vecmat")
) | frozenset(("cov", "corrcoef", "svd", "qr", "inv", "pinv", "solve", "lstsq", "eig", "eigh"))
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


def products_of(tree: ast.AST) -> int:
    """How many places of a module multiply by numpy's library."""
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            found += isinstance(node.op, ast.MatMult)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_numpy = ast.unparse(node.func.value) in ("np", "numpy", "np.linalg", "numpy.linalg")
            shared = node.func.attr in SHARED
            planned = node.func.attr == "einsum" and any(
                one.arg == "optimize" for one in node.keywords
            )
            found += (of_numpy and (shared or planned)) or node.func.attr == "dot"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numpy"):
            found += sum(one.name in SHARED for one in node.names)
    return found


def test_every_product_that_may_be_large_is_made_so() -> None:
    """A single `@` elsewhere would wake the threads of the library at each question."""
    assert {name: count for name, tree in trees() if (count := products_of(tree))} == SMALL


@pytest.mark.parametrize(
    "text",
    [
        "a @ b",
        "a @= b",
        "a.dot(b)",
        "np.vdot(a, b)",
        "np.vecdot(a, b)",
        "np.linalg.multi_dot([a, b])",
        "np.einsum('ij,j->i', a, b, optimize=True)",
        "from numpy import dot",
        "np.cov(a)",
        "numpy.linalg.svd(a)",
    ],
)
def test_a_product_by_the_library_is_found(text: str) -> None:
    assert products_of(ast.parse(text)) == 1


def test_a_vector_of_another_length_is_refused() -> None:
    for rows in (10, 2_000):
        with pytest.raises(ValueError, match="384"):
            row_products(np.zeros((rows, 384)), np.ones(1))
