"""Working memory: the messages of running conversations, kept for an hour outside of the graph."""

from __future__ import annotations

from doxa.working.memory import WorkingMemory, open_working
from doxa.working.types import Chat, ChatAdded, ChatMessage, ChatSummary

__all__ = ["Chat", "ChatAdded", "ChatMessage", "ChatSummary", "WorkingMemory", "open_working"]
