"""What is configured, and where it was said: the environment, `doxa.toml`, or nowhere.

The table of settings is the one definition of their names; interfaces and `app` ask for values by
key. What the command line or an argument says goes before all of it and is not known here.
"""

from __future__ import annotations

from doxa.settings.edit import edited
from doxa.settings.file import parsed, place_of
from doxa.settings.resolve import (
    Configuration,
    EffectiveSetting,
    configuration,
    memory_path,
    operator_key,
    shown,
    unread_here,
)
from doxa.settings.table import SETTINGS, Setting
from doxa.settings.template import template

__all__ = [
    "SETTINGS",
    "Configuration",
    "EffectiveSetting",
    "Setting",
    "configuration",
    "edited",
    "memory_path",
    "operator_key",
    "parsed",
    "place_of",
    "shown",
    "template",
    "unread_here",
]
