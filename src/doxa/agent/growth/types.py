"""The types of record of this package."""

from __future__ import annotations

from doxa.agent.growth.candidates import CANDIDATE, CLOSED, CRYSTALLISED, OPEN, TAKEN_BACK
from doxa.agent.growth.contemplation import INQUIRY, OPEN_INQUIRY
from doxa.agent.growth.files import RECEIPT, WRITTEN
from doxa.agent.growth.gates import ISSUED, USED, check_approval, check_candidate
from doxa.agent.growth.identity import APPROVAL
from doxa.agent.growth.metabolism import MOMENT, WAITING
from doxa.agent.records.types import RecordType

GROWTH_TYPES = (
    RecordType(
        CANDIDATE,
        states={OPEN: "agent"},
        moves={
            OPEN: {
                CRYSTALLISED: "operator",
                "rejected": "operator",
                "withdrawn": "agent",
                "expired": "agent",
            },
            CRYSTALLISED: {TAKEN_BACK: "operator"},
            **{state: {OPEN: "operator"} for state in CLOSED},
        },
        check=check_candidate,
    ),
    RecordType(
        APPROVAL,
        states={ISSUED: "operator"},
        moves={ISSUED: {USED: "operator", "revoked": "operator"}},
        noted_by="operator",
        check=check_approval,
    ),
    RecordType(
        RECEIPT,
        states={WRITTEN: "operator"},
        moves={WRITTEN: {"replaced": "operator", "released": "operator"}},
    ),
    RecordType(
        MOMENT,
        states={WAITING: "agent"},
        moves={WAITING: {"contemplated": "agent", "dropped": "agent"}},
    ),
    RecordType(
        INQUIRY,
        states={OPEN_INQUIRY: "agent"},
        moves={OPEN_INQUIRY: {"proposed": "agent", "completed": "agent"}},
        noted_by="agent",
    ),
)
