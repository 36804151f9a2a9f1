"""The number of this process, without a call of the system: it changes at a fork alone."""

from __future__ import annotations

import os

number = os.getpid()


def _forked() -> None:
    global number
    number = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
