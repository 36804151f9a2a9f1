"""Small pictures in a line of text."""

from __future__ import annotations

from collections.abc import Sequence

_HEIGHTS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def sparkline(values: Sequence[float]) -> str:
    """Return a character for each value, its height by the largest; the lowest for 0."""
    most = max(values, default=0)
    if most <= 0:
        return _HEIGHTS[0] * len(values)
    last = len(_HEIGHTS) - 1
    return "".join(
        _HEIGHTS[0 if value <= 0 else max(1, round(value / most * last))] for value in values
    )


def bar(value: float, most: float, width: int) -> str:
    """Return a bar of at most `width` characters, in eighths of a character."""
    if value <= 0 or most <= 0:
        return ""
    eighths = max(1, round(min(value / most, 1) * width * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
