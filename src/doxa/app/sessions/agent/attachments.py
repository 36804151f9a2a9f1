"""The verbs of attachments."""

from __future__ import annotations

from doxa.app.sessions.agent.evolution import EvolutionVerbs


class AttachmentsVerbs(EvolutionVerbs):
    """Made by Session, like the other verbs."""
