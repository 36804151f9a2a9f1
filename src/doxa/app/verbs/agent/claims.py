"""The verbs of claims and of their sources."""

from __future__ import annotations

from doxa.app.verbs.model import Verb

CLAIMS: tuple[Verb, ...] = ()
