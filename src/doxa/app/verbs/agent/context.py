"""The verbs of context assembly."""

from __future__ import annotations

from doxa.app.verbs.model import Verb

CONTEXT: tuple[Verb, ...] = ()
