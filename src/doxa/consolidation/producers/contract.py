"""The contract of a producer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from doxa.consolidation.structure import Structure
from doxa.consolidation.transcript import Transcript
from doxa.models.contract import Usage


@dataclass(frozen=True, slots=True)
class Produced:
    """What a producer made: a structure, or what can be read as one, and the tokens it took."""

    structure: Structure | object
    usage: tuple[Usage, ...] = ()


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
