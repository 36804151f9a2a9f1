"""The verb table: every operation of doxa once, as data. `model` says what an entry holds."""

from __future__ import annotations

from doxa.app.verbs.agent import AGENT
from doxa.app.verbs.chat import CHAT
from doxa.app.verbs.commands import GROUP_HELP, SHELL
from doxa.app.verbs.consolidation import CONSOLIDATION
from doxa.app.verbs.entities import ENTITIES
from doxa.app.verbs.full import LOCAL, NO_TOOL, full_tools
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
from doxa.app.verbs.taxonomy import CATEGORIES, TAXONOMY, Named
from doxa.app.verbs.tools import MINIMAL, TOOLS
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
    *AGENT,
    *ENTITIES,
    *CONSOLIDATION,
    *EVENTS,
    *JOBS,
    *CARE,
)
VERBS: dict[str, Verb] = {verb.name: verb for verb in ALL}
FULL: tuple[Tool, ...] = full_tools(TOOLS, ALL)

__all__ = [
    "ALL",
    "CATEGORIES",
    "DRY_RUN_PROCEDURE",
    "FULL",
    "GROUPS",
    "GROUP_HELP",
    "INTERFACES",
    "LOCAL",
    "MINIMAL",
    "NO_TOOL",
    "REPEATED",
    "REQUIRED",
    "SHELL",
    "TAXONOMY",
    "TOOLS",
    "UNSET",
    "VERBS",
    "Command",
    "CommandOnly",
    "Interface",
    "Kind",
    "Named",
    "Parameter",
    "Procedure",
    "Profile",
    "Tool",
    "ToolArgument",
    "Verb",
]
