"""The verbs of the operator's gate."""

from __future__ import annotations

from doxa.app.sessions.agent.claims import ClaimsVerbs


class GateVerbs(ClaimsVerbs):
    """Made by Session, like the other verbs."""
