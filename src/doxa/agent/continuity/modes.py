"""Which conversations a conversation may read, by their modes: the table data/modes.json."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Any

from doxa.base.errors import InputError


@cache
def table(name: str) -> Any:
    """Return a data file of continuity."""
    return json.loads(files("doxa.agent.continuity").joinpath("data", f"{name}.json").read_text())


def modes() -> tuple[str, ...]:
    """Return every mode."""
    return tuple(table("modes")["reads"])


def default_mode() -> str:
    """Return the mode of a conversation that names none."""
    return str(table("modes")["default"])


def mode_of_host(host: str) -> str:
    """Return the mode of the conversations of a host."""
    return str(table("modes")["hosts"].get(host, default_mode()))


def check_mode(mode: str) -> str:
    """Return a mode, the default one for "". Raises InputError for one that is not known."""
    if not mode:
        return default_mode()
    if mode not in modes():
        raise InputError(
            f"{mode[:40]!r} is not a mode.",
            next_step=f"Use one of {', '.join(modes())}.",
            field="mode",
        )
    return mode


def may_read(mode: str, of: Collection[str]) -> bool:
    """Return whether a conversation of a mode may read one that has these modes. Where agents gave
    it several, all of them have to allow it."""
    allowed = table("modes")["reads"].get(mode, ())
    return all(one in allowed for one in of or (default_mode(),))
