"""The claims that may be given to a prompt, read from the store."""

from __future__ import annotations

from doxa.agent.claims.claims import checks_of, held_claims, is_borne_out
from doxa.agent.claims.modes import mode_of
from doxa.agent.claims.reporting import live, types_of
from doxa.agent.records.types import Record
from doxa.base.limits import CLAIMS_LIVE_ITEMS_MAX, CLAIMS_REPORT_ITEMS_MAX
from doxa.store import Reader

_LOOKS_MAX = 3 * CLAIMS_LIVE_ITEMS_MAX  # claims whose sources are resolved for one prompt


def live_claims(
    reader: Reader,
    *,
    project: str,
    agent: str,
    now_ns: int,
    limit: int = CLAIMS_LIVE_ITEMS_MAX,
) -> list[Record]:
    """Return the claims of an agent that may be given to a prompt; none unless the mode is enforce.
    The sources of each are resolved again: what drifted or is gone is left out."""
    if mode_of(reader) != "enforce":
        return []
    accepted = held_claims(
        reader, project=project, agent=agent, state="accepted", limit=CLAIMS_REPORT_ITEMS_MAX
    )

    looks = iter(range(_LOOKS_MAX))

    def is_held(belief: str) -> bool:
        node = reader.node_by_kref(belief)
        return node is not None and bool(reader.edges_in(node.id, "CURRENT"))

    def is_backed(claim: Record) -> bool:
        """Whether it could be accepted again: its sources still say it, and none denies it. An
        object of git does not change, and is not read again."""
        if types_of(claim) == {"commit"}:
            return True
        return next(looks, None) is not None and is_borne_out(checks_of(reader, claim))

    return live(accepted, now_ns=now_ns, is_held=is_held, is_backed=is_backed, limit=limit)
