"""Rows and layouts: a row is a tuple as wide as its layout, which gives each name its slot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = tuple[Any, ...]
Layout = Mapping[str, int]


def width(layout: Layout) -> int:
    return max(layout.values(), default=-1) + 1
