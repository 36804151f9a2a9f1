"""The verbs of standing."""

from __future__ import annotations

from doxa.app.verbs.model import Verb

STANDING: tuple[Verb, ...] = ()
