"""The verbs of standing."""

from __future__ import annotations

from doxa.app.sessions.agent.spine import SpineVerbs


class StandingVerbs(SpineVerbs):
    """Made by Session, like the other verbs."""
