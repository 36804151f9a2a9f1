"""Sixty pairs of a claim and a passage with the verdict that a person gives, in claim_pairs.json.
They were written after the rule of verdicts and not used to change it.

exact     a sentence of the passage is the claim
supports  partial: the passage bears it out in other words, or says it within a longer sentence
against   partial: the passage is about it and does not bear it out
missing   the passage says nothing of it
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Pair(NamedTuple):
    """What a person says of a claim and a passage, and who said the passage."""

    label: str
    claim: str
    passage: str
    speaker: str


PAIRS = tuple(Pair(*one) for one in json.loads(Path(__file__).with_suffix(".json").read_text()))
# Written later by another person, from the guide.
BLIND_PAIRS = tuple(
    Pair(*one) for one in json.loads(Path(__file__).with_name("claim_pairs_blind.json").read_text())
)
