"""The composition root: builds everything from a Config. `verbs` declares every operation,
`session` and `beliefs` carry them out, `procedures` offers them to Cypher."""

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
