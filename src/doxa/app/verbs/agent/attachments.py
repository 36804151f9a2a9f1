"""The verbs of attachments."""

from __future__ import annotations

from doxa.app.verbs.model import Verb

ATTACHMENTS: tuple[Verb, ...] = ()
