"""The contract of a producer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from doxa.consolidation.structure import Structure
from doxa.consolidation.transcript import Transcript


@dataclass(frozen=True, slots=True)
class SessionCost:
    """What producing a structure took: calls of the model with repeated attempts, its tokens, how
    many of them are estimates, seconds of wall time, and money in the currency of the configured
    prices (None: the model has no price)."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_estimated: int = 0
    seconds: float = 0.0
    money: float | None = None

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


NOTHING_SPENT = SessionCost()


@dataclass(frozen=True, slots=True)
class Produced:
    """What a producer made: a structure, or what can be read as one, and what the model took."""

    structure: Structure | object
    cost: SessionCost = NOTHING_SPENT


class Producer(Protocol):
    """Makes a structure of a transcript. Safe to share between threads."""

    @property
    def name(self) -> str:
        """rules, model, host or command."""
        ...

    @property
    def model(self) -> str:
        """The model that concludes, as far as it is known; empty for rules."""
        ...

    def produce(self, transcript: Transcript) -> Produced:
        """Return what the producer makes of a transcript. It is untrusted: `validate` decides what
        of it is stored.

        Raises ModelError if it fails (the session stays queued), LimitError where a cap on spending
        or size is reached, InputError for an answer that is not a structure.
        """
        ...
