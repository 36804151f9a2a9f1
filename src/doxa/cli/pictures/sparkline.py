"""Small pictures in lines of text, for terminals."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

_HEIGHTS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


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


def timeline(spans: Sequence[tuple[float, float]], width: int) -> list[str]:
    """Return a line for each span of time, on the scale of all of them; each has a character at
    least."""
    first = min((start for start, _ in spans), default=0)
    scale = (max((end for _, end in spans), default=0) - first) or 1
    lines = []
    for start, end in spans:
        begin = min(width - 1, int((start - first) / scale * width))
        stop = max(begin + 1, round((end - first) / scale * width))
        lines.append("·" * begin + "█" * (stop - begin) + "·" * (width - stop))
    return lines


def pictured(text: str, picture: Callable[[], str]) -> str:
    """Return a text with its picture below it where standard output is a terminal that can show
    it; else the text alone."""
    shows = (sys.stdout.encoding or "").lower().startswith("utf")
    drawn = picture() if shows and sys.stdout.isatty() else ""
    return f"{text}\n\n{drawn}" if drawn else text


def sized(count: int) -> str:
    """Return a number of bytes for a reader, in powers of 1,000."""
    size, unit = float(count), 0
    while size >= 1_000 and unit < len(_UNITS) - 1:
        size, unit = size / 1_000, unit + 1
    return f"{size:,.0f} {_UNITS[unit]}" if unit == 0 else f"{size:,.1f} {_UNITS[unit]}"
