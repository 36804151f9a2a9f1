"""The composition root: builds everything from a Config. `verbs` declares every operation,
`session` and `beliefs` carry them out, `procedures` offers them to Cypher.

Names are imported when they are first used: the command line reads the verb table at every start,
and most starts need nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doxa.app.asynchronous import AsyncMemory, AsyncSession
    from doxa.app.config import Config, default_path
    from doxa.app.memory import Memory, open_memory
    from doxa.app.models import default_model_folder
    from doxa.app.session import History, Session

__all__ = [
    "AsyncMemory",
    "AsyncSession",
    "Config",
    "History",
    "Memory",
    "Session",
    "default_model_folder",
    "default_path",
    "open_memory",
]

_MODULE_OF = {
    "AsyncMemory": "doxa.app.asynchronous",
    "AsyncSession": "doxa.app.asynchronous",
    "Config": "doxa.app.config",
    "History": "doxa.app.session",
    "Memory": "doxa.app.memory",
    "Session": "doxa.app.session",
    "default_model_folder": "doxa.app.models",
    "default_path": "doxa.app.config",
    "open_memory": "doxa.app.memory",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found
