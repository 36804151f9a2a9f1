"""The verbs of code evolution and the research archive."""

from __future__ import annotations

from doxa.app.verbs.model import Verb

EVOLUTION: tuple[Verb, ...] = ()
