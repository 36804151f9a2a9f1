"""Labelled secrets and ordinary lines, as files under tests/cases hold them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

CASES = Path(__file__).parents[1] / "cases"
_MARKS = {ord("«"): None, ord("»"): None, ord("¦"): None}


class Sample(NamedTuple):
    """A text and the secrets in it."""

    kind: str
    text: str
    secrets: tuple[str, ...]


def samples(name: str) -> list[Sample]:
    """Return the labelled texts of a file."""
    found = []
    for line in (CASES / name).read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, _, text = line.partition(": ")
            text = text.replace("¦", "").replace("\\n", "\n")
            secrets = tuple(part.partition("»")[0] for part in text.split("«")[1:])
            found.append(Sample(kind, text.translate(_MARKS), secrets))
    return found


def lines(name: str) -> list[str]:
    """Return the ordinary lines of a file."""
    held = (CASES / name).read_text("utf-8").splitlines()
    return [line for line in held if line and not line.startswith("#: ")]
