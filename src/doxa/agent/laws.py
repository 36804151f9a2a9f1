"""Every type of record, and the law that the store asks at commit."""

from __future__ import annotations

from doxa.agent.attachments.types import TYPES as ATTACHMENTS
from doxa.agent.claims.types import CLAIM_TYPES
from doxa.agent.context.rules import TYPES as CONTEXT
from doxa.agent.continuity.types import TYPES as CONTINUITY
from doxa.agent.evolution.types import EVOLUTION_TYPES
from doxa.agent.gate.types import GATE_TYPES
from doxa.agent.growth.types import GROWTH_TYPES
from doxa.agent.records.law import check_change
from doxa.agent.records.types import RecordType
from doxa.agent.spine.types import SPINE_TYPES
from doxa.agent.standing.types import STANDING_TYPES
from doxa.store import Node, Transaction

RECORD_TYPES: dict[str, RecordType] = {
    one.name: one
    for one in (
        *CONTINUITY,
        *CONTEXT,
        *ATTACHMENTS,
        *GROWTH_TYPES,
        *CLAIM_TYPES,
        *GATE_TYPES,
        *SPINE_TYPES,
        *STANDING_TYPES,
        *EVOLUTION_TYPES,
    )
}


def check_record(tx: Transaction, node: Node) -> None:
    """Check a record that a transaction made or changed. Raises ConstraintError or RoleError."""
    check_change(tx, node, RECORD_TYPES)
