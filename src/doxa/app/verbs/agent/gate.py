"""The verbs of the operator's gate."""

from __future__ import annotations

from doxa.app.verbs.model import Verb

GATE: tuple[Verb, ...] = ()
