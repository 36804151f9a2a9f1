"""The claims that may be given to a prompt, read from the store."""

from __future__ import annotations

from doxa.agent.claims.claims import held_claims
from doxa.agent.claims.modes import mode_of
from doxa.agent.claims.reporting import live
from doxa.agent.records.types import Record
from doxa.base.limits import CLAIMS_LIVE_ITEMS_MAX, CLAIMS_REPORT_ITEMS_MAX
from doxa.store import Reader


def live_claims(
    reader: Reader,
    *,
    project: str,
    agent: str,
    now_ns: int,
    limit: int = CLAIMS_LIVE_ITEMS_MAX,
) -> list[Record]:
    """Return the claims of an agent that may be given to a prompt; none unless the mode is
    enforce."""
    if mode_of(reader) != "enforce":
        return []
    accepted = held_claims(
        reader, project=project, agent=agent, state="accepted", limit=CLAIMS_REPORT_ITEMS_MAX
    )

    def is_held(belief: str) -> bool:
        node = reader.node_by_kref(belief)
        return node is not None and bool(reader.edges_in(node.id, "CURRENT"))

    return live(accepted, now_ns=now_ns, is_held=is_held, limit=limit)
