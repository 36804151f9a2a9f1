"""The verbs of continuity: exchanges, sessions, topics, handoffs, archive."""

from __future__ import annotations

from doxa.app.verbs.model import Verb

CONTINUITY: tuple[Verb, ...] = ()
