"""The verbs of signals, growth and identity."""

from __future__ import annotations

from doxa.app.sessions.agent.continuity import ContinuityVerbs


class GrowthVerbs(ContinuityVerbs):
    """Made by Session, like the other verbs."""
