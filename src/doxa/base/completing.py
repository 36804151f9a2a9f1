"""The mark of a program that doxa itself runs as a model: its conversations are doxa's own work, so
that nothing of them goes into a memory and nothing of a memory into them."""

from __future__ import annotations

from collections.abc import Mapping

COMPLETING = "DOXA_COMPLETING"


def is_completing(environ: Mapping[str, str]) -> bool:
    """Return whether the environment is that of such a program, or of what it started."""
    return bool(environ.get(COMPLETING))
