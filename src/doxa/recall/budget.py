"""The token budget of an answer: how long a text counts, and where hits are cut."""

from __future__ import annotations

from dataclasses import replace

from doxa.recall import constants
from doxa.recall.types import Hit


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text, as every interface does: one for every four characters,
    rounded up, at least one."""
    return max(1, -(-len(text) // constants.CHARS_PER_TOKEN))


def fit_budget(hits: list[Hit], tokens_max: int | None) -> tuple[list[Hit], int]:
    """Keep hits in order while they fit; cut the first that does not if enough of it is left to
    read. Never exceeds the budget. Returns the hits and their tokens."""
    if tokens_max is None:
        return hits, sum(hit.tokens for hit in hits)
    kept: list[Hit] = []
    left = tokens_max
    for hit in hits:
        if hit.tokens > left:
            chars = left * constants.CHARS_PER_TOKEN - 1
            if chars >= constants.CUT_CHARS_MIN or (not kept and chars > 0):
                text = hit.text[:chars] + "…"
                kept.append(replace(hit, text=text, tokens=tokens_of(text), truncated=True))
                left -= tokens_of(text)
            break
        kept.append(hit)
        left -= hit.tokens
    return kept, tokens_max - left
