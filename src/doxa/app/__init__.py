"""The composition root: builds everything from a Config. Memory and Session live in `memory`, the
procedures of Cypher in `procedures`."""

from doxa.app.memory import AsyncMemory, Config, History, Memory, Session, default_path, open_memory
from doxa.app.models import default_model_folder

__all__ = [
    "AsyncMemory",
    "Config",
    "History",
    "Memory",
    "Session",
    "default_model_folder",
    "default_path",
    "open_memory",
]
