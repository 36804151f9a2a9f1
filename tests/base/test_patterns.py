"""Patterns that are compiled at their first use."""

from __future__ import annotations

import copy
import re

import pytest

from doxa.base.patterns import lazy_re


def test_it_is_the_pattern_that_re_compiles() -> None:
    lazy, plain = lazy_re(r"(?P<a>t)ea", re.IGNORECASE), re.compile(r"(?P<a>t)ea", re.IGNORECASE)
    for method in ("search", "match", "fullmatch", "findall", "split"):
        text = "Tea"
        found, expected = getattr(lazy, method)(text), getattr(plain, method)(text)
        assert str(found) == str(expected)
    assert lazy.sub("x", "tea Tea") == plain.sub("x", "tea Tea") == "x x"
    assert lazy.subn("x", "tea") == ("x", 1)
    assert [one.span() for one in lazy.finditer("tea tea")] == [(0, 3), (4, 7)]
    assert (lazy.pattern, lazy.flags, lazy.groups) == (plain.pattern, plain.flags, plain.groups)
    assert dict(lazy.groupindex) == {"a": 1}


def test_nothing_is_compiled_before_its_first_use() -> None:
    wrong = lazy_re("(")
    assert repr(wrong) == "lazy_re('(', 0)"
    with pytest.raises(re.error):
        wrong.search("")


def test_a_used_pattern_costs_what_a_compiled_one_does() -> None:
    """The methods lie in the object: none is looked up through `__getattr__` again."""
    pattern = lazy_re("a")
    assert pattern.search("a")
    assert "search" in vars(pattern)
    assert copy.copy(pattern).search("a")
