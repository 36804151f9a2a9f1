"""The verbs of claims and of their sources."""

from __future__ import annotations

from doxa.app.sessions.agent.growth import GrowthVerbs


class ClaimsVerbs(GrowthVerbs):
    """Made by Session, like the other verbs."""
