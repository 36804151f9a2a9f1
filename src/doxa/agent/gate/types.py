"""Records of the operator's gate."""

from __future__ import annotations

from doxa.agent.gate.continuing import RESTARTS
from doxa.agent.records.types import RecordType

CHANGE = "change"
# A change of a protected file: begun before the file is replaced, applied after it was, so that a
# crash in between is seen.
CHANGES = RecordType(
    CHANGE,
    states={"begun": "operator", "applied": "operator"},  # the latter: of the catalogue, at once
    moves={
        "begun": {"applied": "operator", "abandoned": "operator"},
        # what is of the catalogue is taken back in one transaction, without the state between
        "applied": {"rolling_back": "operator", "rolled_back": "operator"},
        "rolling_back": {"rolled_back": "operator", "applied": "operator"},
    },
)
GATE_TYPES = (CHANGES, RESTARTS)
