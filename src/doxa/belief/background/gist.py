"""What two texts share that say the same: the same terms, in whatever order, and the same words
that turn the sense, which the index leaves out: denials, and one of each pair of opposites."""

from __future__ import annotations

from doxa.base.words import terms

_DENYING = frozenset(("not", "no", "nor", "cannot"))
_TURNING = frozenset(("before", "down", "from", "off", "out", "under"))  # not after, up, to, on, …
_MARKS = ".,;:!?\"'()[]{}“”‘’«»…"


def gist(text: str) -> tuple[list[str], list[str]]:
    """Return the terms of a text, and the words that turn its sense, each sorted; every denial as
    `not`."""
    words = [word.strip(_MARKS).replace("’", "'") for word in text.casefold().split()]
    denials = ["not" for word in words if word in _DENYING or word.endswith("n't")]
    return sorted(terms(text)), sorted(denials + [word for word in words if word in _TURNING])
