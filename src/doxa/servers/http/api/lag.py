"""How old an answer is where servers share a log, as headers of the response."""

from __future__ import annotations

from doxa.servers.contract import Database
from doxa.servers.credentials import Principal


def lag_headers(database: Database, principal: Principal, name: str) -> dict[str, str]:
    """Return how far the replica is behind the engine, in changes, and since when the engine was
    last heard of, in seconds. Nothing for a file of its own, nor for a login that is bound to
    projects: how much others write is not its to know."""
    memories = getattr(database, "memories", None)
    if principal.projects or memories is None:
        return {}
    for known, memory in memories():
        if known == name and memory.replica is not None:
            found = memory.replica.status
            age = {} if found.age_s is None else {"Doxa-Replica-Age": f"{found.age_s:.1f}"}
            return {"Doxa-Replica-Behind": str(found.behind), **age}
    return {}
