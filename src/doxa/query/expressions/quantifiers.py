"""The three-valued results of all, any, none and single."""

from __future__ import annotations

from typing import Any


def all_true(found: list[Any]) -> bool | None:
    return (
        False if any(x is False for x in found) else None if any(x is None for x in found) else True
    )


def any_true(found: list[Any]) -> bool | None:
    return (
        True if any(x is True for x in found) else None if any(x is None for x in found) else False
    )


def none_true(found: list[Any]) -> bool | None:
    some = any_true(found)
    return None if some is None else not some


def single_true(found: list[Any]) -> bool | None:
    true = sum(1 for x in found if x is True)
    if true > 1:
        return False
    return None if any(x is None for x in found) else true == 1


QUANTIFIERS = {"all": all_true, "any": any_true, "none": none_true, "single": single_true}
