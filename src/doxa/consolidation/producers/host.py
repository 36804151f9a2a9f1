"""Structure by the host: the agent that calls has a model already, and passes what it made of the
turns in the call itself. The protocol's sampling, by which a server would ask the host's model, is
deprecated and not used; a call without a structure is answered with the schema and the turns."""

from __future__ import annotations

from doxa.consolidation.producers.contract import Produced
from doxa.consolidation.transcript import Transcript


class HostProducer:
    """Implements Producer by what it was given. `model` is what the host says its model is."""

    name = "host"

    def __init__(self, structure: object, *, model: str = "") -> None:
        self._structure = structure
        self.model = model

    def produce(self, transcript: Transcript) -> Produced:
        """Implement `Producer.produce`; never raises."""
        return Produced(self._structure)
