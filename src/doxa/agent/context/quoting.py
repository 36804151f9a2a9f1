"""Stored text as it is injected: a short JSON string on one line, which cannot end its block."""

from __future__ import annotations

from doxa.base.quoting import quoted
from doxa.redaction.stripping import stripped


def shown(text: str, chars_max: int) -> str:
    """Return a text quoted, cut to a length, without the tags of injected blocks."""
    text = " ".join(stripped(text).split())
    return quoted(text if len(text) <= chars_max else f"{text[: chars_max - 1].rstrip()}…")
