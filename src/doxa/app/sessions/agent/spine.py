"""The verbs of leases, decisions and outcomes."""

from __future__ import annotations

from doxa.app.sessions.agent.gate import GateVerbs


class SpineVerbs(GateVerbs):
    """Made by Session, like the other verbs."""
