"""Installs the agent frameworks that tests/adapters runs doxa in, pinned, into an environment of
their own, which the tests of the adapters find. What each adapter needs is a file of
tests/adapters/pins: one requirement a line. A line that ends in `# alone` is installed without what
it depends on.

    python scripts/install_frameworks.py && .venv/bin/python -m pytest tests/adapters

DOXA_FRAMEWORKS names another folder than frameworks in DOXA_CACHE or ~/.cache/doxa-tests.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / "tests" / "adapters" / "pins"
STAMP = "pins.sha256"
CACHE = Path(os.environ.get("DOXA_CACHE") or Path.home() / ".cache" / "doxa-tests")


def folder() -> Path:
    """Where the frameworks are, whether or not they are installed."""
    return Path(os.environ.get("DOXA_FRAMEWORKS") or CACHE / "frameworks")


def interpreter() -> Path:
    return folder() / ("Scripts" if os.name == "nt" else "bin") / "python"


def pins() -> tuple[list[str], list[str]]:
    """What is installed with what it depends on, and what is installed alone."""
    whole, alone = [], []
    for path in sorted(PINS.glob("*.txt")):
        for line in path.read_text().splitlines():
            text, _, note = line.partition("#")
            if text.strip():
                (alone if note.strip() == "alone" else whole).append(text.strip())
    return whole, alone


def identity() -> str:
    parts = [path.read_bytes() for path in sorted(PINS.glob("*.txt"))]
    parts.append((ROOT / "requirements" / "run.in").read_bytes())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def is_current() -> bool:
    """Whether what the pins name is installed."""
    stamp = folder() / STAMP
    return interpreter().exists() and stamp.exists() and stamp.read_text() == identity()


def install() -> None:
    if is_current():
        return
    whole, alone = pins()
    if not interpreter().exists():
        venv.create(folder(), with_pip=True)
    pip = [str(interpreter()), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    wanted = ["-r", str(ROOT / "requirements" / "run.in"), *whole]
    subprocess.run([*pip, *wanted], check=True)
    if alone:
        subprocess.run([*pip, "--no-deps", *alone], check=True)
    (folder() / STAMP).write_text(identity())


if __name__ == "__main__":
    install()
    sys.stdout.write(f"The frameworks are in {folder()}.\n")
