"""The verbs of leases, decisions and outcomes."""

from __future__ import annotations

from doxa.app.verbs.model import Verb

SPINE: tuple[Verb, ...] = ()
