"""Distinct types for numbers that must not be confused, and the names of roles."""

from __future__ import annotations

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
