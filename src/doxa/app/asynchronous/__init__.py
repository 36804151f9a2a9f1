"""The same verbs, awaited."""

from __future__ import annotations

from doxa.app.asynchronous.memory import AsyncMemory
from doxa.app.asynchronous.session import AsyncSession

__all__ = ["AsyncMemory", "AsyncSession"]
