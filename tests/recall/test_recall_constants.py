"""Every constant of recall has an example, worked out by hand, that holds as the constants are and
fails when its constant changes."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

import doxa.recall
from bench.sensitivity import constant_set
from doxa.recall import constants
from tests.recall import constant_examples, constant_examples_ranking

EXAMPLES = constant_examples.EXAMPLES
assert constant_examples_ranking.EXAMPLES is EXAMPLES  # both fill one table
DESCRIBED = constants.described()


def changed(name: str) -> list[float]:
    """A quarter less and a quarter more, and far more; whole numbers by one, too."""
    value = getattr(constants, name)
    if isinstance(value, int):
        step = max(1, value // 4)
        return sorted({value - step, value - 1, value + 1, value + step, 10 * value})
    return [0.75 * value, 1.25 * value, 10 * value]


@pytest.mark.parametrize("name", DESCRIBED)
def test_an_example_holds(name: str) -> None:
    EXAMPLES[name]()


@pytest.mark.parametrize(
    ("name", "value"), [(name, v) for name in DESCRIBED for v in changed(name)]
)
def test_an_example_fails_when_its_constant_changes(name: str, value: float) -> None:
    with constant_set(name, value), pytest.raises(AssertionError):
        EXAMPLES[name]()


def test_every_constant_is_described_and_has_an_example() -> None:
    numbers = {
        name
        for name, value in vars(constants).items()
        if name.isupper() and isinstance(value, (int, float))
    }
    described = constants.described()
    assert numbers == set(described) == set(EXAMPLES)
    for name, constant in described.items():
        assert isinstance(constant, constants.Constant), name
        assert constant.meaning and constant.source, name


def test_no_module_of_recall_copies_a_constant() -> None:
    """A constant that is imported by its name keeps its value when the sweep changes it."""
    for module in pkgutil.walk_packages(doxa.recall.__path__, "doxa.recall."):
        if module.name != constants.__name__:
            copied = set(vars(import_module(module.name))) & set(DESCRIBED)
            assert not copied, f"{module.name} imports {sorted(copied)}"
