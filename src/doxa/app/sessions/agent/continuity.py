"""The verbs of continuity: exchanges, sessions, topics, handoffs, archive."""

from __future__ import annotations

from doxa.app.sessions.notes import NoteVerbs


class ContinuityVerbs(NoteVerbs):
    """Made by Session, like the other verbs."""
