"""Effort without a clock: Python calls are counted, and what might never end runs in a process of
its own that is given up after minutes where it needs seconds.

Calls do not show what happens inside one regular expression. A bad one takes a megabyte not twice
but a million times as long, so that patience tells it from a good one on the slowest machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
PATIENCE_S = 240


def calls_of(operation: Callable[[], object]) -> int:
    """Count the Python functions that an operation calls in this thread."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        operation()
    finally:
        sys.setprofile(before)
    return calls


def assert_ends(module: str, function: str) -> None:
    """Run a function of a test module in a process of its own. It prints what it is about to do, so
    that what does not end is named."""
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        f"from {module} import {function}; {function}()",
    ]
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired as expired:
        last = (expired.stdout or b"").decode().splitlines()[-1:]
        raise AssertionError(f"this did not end: {last}") from None
    assert done.returncode == 0, (done.stdout.splitlines()[-1:], done.stderr[-2_000:])
