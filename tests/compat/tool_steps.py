"""What the scripts `tool_*.py` share: where the server is, and running their steps one by one.

    python tool_NAME.py PORT [USER PASSWORD]

Each step prints a line `CHECK {"name": …, "problem": …}`; later steps run whatever earlier ones
did. USER and PASSWORD are for running the same steps against another server.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

PORT = sys.argv[1]
USER, PASSWORD = sys.argv[2:4] or ("ana", "a-good-secret")
ADDRESS = f"bolt://127.0.0.1:{PORT}"


def run_steps(steps: list[Callable[[], Any]]) -> None:
    """Run every step and say what became of it. Asynchronous steps share one event loop."""
    with asyncio.Runner() as runner:
        for step in steps:
            problem = ""
            try:
                made = step()
                if inspect.isawaitable(made):
                    runner.run(_waited(made))
            except BaseException:
                problem = traceback.format_exc()
            print("CHECK " + json.dumps({"name": step.__name__, "problem": problem}), flush=True)


async def _waited(made: Any) -> None:
    await made


def vector(text: str, size: int = 8) -> list[float]:
    """A vector for a text: how often each of a few letters occurs, so that like texts are near."""
    counts = [1.0 + text.lower().count(letter) for letter in "abeinort"[:size]]
    length = sum(one * one for one in counts) ** 0.5
    return [one / length for one in counts]
