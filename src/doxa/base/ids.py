"""Distinct types for numbers that must not be confused, and the names of roles."""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal, NewType

NodeId = NewType("NodeId", int)
EdgeId = NewType("EdgeId", int)
TxId = NewType("TxId", int)

Role = Literal["background", "agent", "operator", "system"]
ROLES: tuple[Role, ...] = ("background", "agent", "operator", "system")  # fewest rights first
SESSION_ROLES = ROLES[1:]  # a run of a job is `background`, never a session


def is_below_operator(role: Role) -> bool:
    """Return whether a role lacks what only operators may do."""
    return ROLES.index(role) < ROLES.index("operator")


def digest_of(*parts: str) -> str:
    """Return 16 hexadecimal digits that stand for these texts."""
    digest = blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "replace")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
