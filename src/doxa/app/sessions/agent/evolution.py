"""The verbs of code evolution and the research archive."""

from __future__ import annotations

from doxa.app.sessions.agent.standing import StandingVerbs


class EvolutionVerbs(StandingVerbs):
    """Made by Session, like the other verbs."""
