"""Serves Bolt, the protocol of Neo4j's drivers, so that any program that talks to Neo4j can talk to
doxa. `server.py` listens."""

import warnings
from typing import Any

from doxa.servers.bolt.server import PORT, BoltServer, running_server
from doxa.servers.contract import Database, DatabaseSession, StatementResult
from doxa.servers.listening import serve
from doxa.servers.memory import MemoryDatabase

__all__ = [
    "PORT",
    "BoltServer",
    "Database",
    "DatabaseSession",
    "MemoryDatabase",
    "StatementResult",
    "running_server",
    "serve",
]

_RENAMED = {"GraphSession": DatabaseSession, "Result": StatementResult}


def __getattr__(name: str) -> Any:
    """Return a renamed class under its former name, with a DeprecationWarning."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _RENAMED[name]
    warnings.warn(
        f"{__name__}.{name} is now called {found.__name__}", DeprecationWarning, stacklevel=2
    )
    return found
