"""Distinct types for numbers that must not be confused, and the names of roles."""

from __future__ import annotations

from typing import Literal, NewType

NodeId = NewType("NodeId", int)
EdgeId = NewType("EdgeId", int)
TxId = NewType("TxId", int)

Role = Literal["agent", "operator", "system"]
ROLES: tuple[Role, ...] = ("agent", "operator", "system")
