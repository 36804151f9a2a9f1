"""Make a statement that differs smaller, and name the cause by the shape of what is left."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKENS = re.compile(r"\s+|'[^']*'|\$?\w+(?:\.\d+)?|<>|<=|>=|=~|->|<-|\.\.|.", re.DOTALL)
_CLOCK = re.compile(
    r"(?i)\b(date|time|localtime|datetime|localdatetime)(\.truncate)?\s*\((\s*'\w+'\s*)?\)|rand\("
)
_OPEN, _CLOSE = "([{", ")]}"
_TRIES_MAX = 150


def shrink(text: str, differs: Callable[[str], bool]) -> str:
    """Return a shorter text for which `differs` holds: parts in brackets and runs of tokens are
    dropped while it does."""
    parts, left = [part for part in _TOKENS.findall(text)], _TRIES_MAX
    size = max(1, len(parts) // 2)
    while size:
        at, dropped = 0, False
        while at < len(parts) and left > 0:
            for start, end in _spans(parts, at, size):
                left -= 1
                rest = parts[:start] + parts[end:]
                if (
                    "".join(rest).strip()
                    and not _CLOCK.search("".join(rest))
                    and differs("".join(rest))
                ):
                    parts, dropped = rest, True
                    break
            else:
                at += 1 if size < 4 else size // 2
        if left <= 0:
            break
        size = size if dropped and size < 3 else size // 2
    return re.sub(r"\s+", " ", "".join(parts)).strip()


def _spans(parts: list[str], at: int, size: int) -> list[tuple[int, int]]:
    """What may be dropped at a place: a run of tokens, or from a bracket to its partner."""
    found = [(at, min(len(parts), at + size))]
    if parts[at] in _OPEN:
        depth = 0
        for end in range(at, len(parts)):
            depth += (parts[end] in _OPEN) - (parts[end] in _CLOSE)
            if not depth:
                found.append((at, end + 1))
                before = at - 1
                if before >= 0 and parts[before].strip():
                    found.append((before, end + 1))
                break
    return found


def shape(text: str) -> str:
    """The text without its names and numbers."""
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"\b\d+(\.\d+)?(e\d+)?\b", "1", text)
    return re.sub(r"\b[a-z]\d*\b", "n", text)
