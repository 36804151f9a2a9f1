"""all, any, none and single over three-valued results."""

from __future__ import annotations

from typing import Any


def _all(found: list[Any]) -> bool | None:
    return (
        False if any(x is False for x in found) else None if any(x is None for x in found) else True
    )


def _any(found: list[Any]) -> bool | None:
    return (
        True if any(x is True for x in found) else None if any(x is None for x in found) else False
    )


def _none(found: list[Any]) -> bool | None:
    some = _any(found)
    return None if some is None else not some


def _single(found: list[Any]) -> bool | None:
    true = sum(1 for x in found if x is True)
    if true > 1:
        return False
    return None if any(x is None for x in found) else true == 1


_QUANTIFIERS = {"all": _all, "any": _any, "none": _none, "single": _single}
