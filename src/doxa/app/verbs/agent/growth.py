"""The verbs of signals, growth and identity."""

from __future__ import annotations

from doxa.app.verbs.model import Verb

GROWTH: tuple[Verb, ...] = ()
