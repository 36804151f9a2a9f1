"""The verbs of context assembly."""

from __future__ import annotations

from doxa.app.sessions.agent.attachments import AttachmentsVerbs


class ContextVerbs(AttachmentsVerbs):
    """Made by Session, like the other verbs."""
