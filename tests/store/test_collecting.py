"""The collector is held back within a block, and is as before after it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from doxa.store.bulk.collecting import many_objects


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_threshold_is_higher_within_and_as_before_after_an_error() -> None:
    gc.set_threshold(700, 11, 12)
    with pytest.raises(ValueError, match="x"), many_objects(), many_objects():
        assert gc.get_threshold()[0] > 10_000
        assert gc.get_threshold()[1:] == (11, 12)
        raise ValueError("x")
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("own", [(0, 10, 10), (1_000_000, 10, 10)])
def test_a_program_that_set_more_or_none_keeps_it(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with many_objects():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own
