"""A server of a memory file in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(path: Path, *options: str) -> Iterator[str]:
    """A server of this file in a process of its own, and its address."""
    command = [
        sys.executable,
        "-m",
        "doxa.cli",
        "serve",
        "--bolt",
        "--port",
        "0",
        "--no-login",
        "--json",
        "--db",
        str(path),
        *options,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["bolt"]
    finally:
        process.terminate()
        process.communicate(timeout=30)
