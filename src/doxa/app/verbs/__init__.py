"""The verb table: every operation of doxa once, as data. `model` says what an entry holds."""

from __future__ import annotations

from doxa.app.verbs.chat import CHAT
from doxa.app.verbs.commands import GROUP_HELP, SHELL
from doxa.app.verbs.consolidation import CONSOLIDATION
from doxa.app.verbs.entities import ENTITIES
from doxa.app.verbs.jobs import JOBS
from doxa.app.verbs.maintenance import CARE, EVENTS, OPEN
from doxa.app.verbs.model import (
    GROUPS,
    INTERFACES,
    REPEATED,
    REQUIRED,
    UNSET,
    Command,
    CommandOnly,
    Interface,
    Kind,
    Parameter,
    Procedure,
    Profile,
    Tool,
    ToolArgument,
    Verb,
)
from doxa.app.verbs.reading import ASK, GRAPH, LOOK
from doxa.app.verbs.tools import TOOLS
from doxa.app.verbs.units import UNITS
from doxa.app.verbs.writing import DRY_RUN_PROCEDURE, EXTRACT, INGEST, STATE

ALL: tuple[Verb, ...] = (
    OPEN,
    INGEST,
    *ASK,
    *STATE,
    *UNITS,
    *LOOK,
    *GRAPH,
    EXTRACT,
    *CHAT,
    *ENTITIES,
    *CONSOLIDATION,
    *EVENTS,
    *JOBS,
    *CARE,
)
VERBS: dict[str, Verb] = {verb.name: verb for verb in ALL}

__all__ = [
    "ALL",
    "DRY_RUN_PROCEDURE",
    "GROUPS",
    "GROUP_HELP",
    "INTERFACES",
    "REPEATED",
    "REQUIRED",
    "SHELL",
    "TOOLS",
    "UNSET",
    "VERBS",
    "Command",
    "CommandOnly",
    "Interface",
    "Kind",
    "Parameter",
    "Procedure",
    "Profile",
    "Tool",
    "ToolArgument",
    "Verb",
]
