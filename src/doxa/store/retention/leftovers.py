"""Look for bytes of a text in a file: in every cell of every table, and in the raw bytes.

A cell that is longer than a page lies in several pieces, so raw bytes alone prove nothing about
long texts; cells alone prove nothing about freed pages. Raw bytes are read by a process of its own:
to open and close a database file here would release the locks that the engine holds on it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw

from doxa.base.errors import StoreError

_SCAN = """
import json, sys
asked = json.load(sys.stdin)
forms = [bytes.fromhex(form) for form in asked["forms"]]
exact = [bytes.fromhex(form) for form in asked["exact"]]
longest = max(map(len, forms + exact))
out = {}
for path in asked["paths"]:
    found, proof, kept = [], False, b""
    try:
        with open(path, "rb") as file:
            while True:
                part = file.read(1 << 20)
                if not part:
                    break
                data = kept + part
                proof = proof or any(form in data for form in exact)
                low = data.lower()
                found += [n for n, form in enumerate(forms) if n not in found and form in low]
                kept = data[-longest:]
        out[path] = [found, proof]
    except FileNotFoundError:
        out[path] = None
    except OSError as error:
        out[path] = [str(error)]
json.dump(out, sys.stdout)
"""
_WAIT_S = 3_600


class RawFinding:
    """What the bytes of a file say: whether it exists, could be read, holds a form of the text, and
    holds the control, which shows that the search works on it."""

    def __init__(self, answer: list[object] | None) -> None:
        self.exists = answer is not None
        self.error = str(answer[0]) if answer is not None and len(answer) == 1 else ""
        whole = answer is not None and len(answer) == 2
        self.holds = whole and bool(answer[0])  # type: ignore[index]
        self.control = whole and bool(answer[1])  # type: ignore[index]


def scan_files(
    paths: Iterable[str | os.PathLike[str]], forms: Sequence[bytes], *, control: Sequence[bytes]
) -> dict[str, RawFinding]:
    """Search whole files for any of the forms, ASCII letters in any case, and for the control."""
    asked = {
        "paths": [str(path) for path in paths],
        "forms": sorted({form.lower().hex() for form in forms}),
        "exact": [one.hex() for one in control],
    }
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _SCAN],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=_WAIT_S,
        check=False,
    )
    if done.returncode:
        raise StoreError(
            f"The files could not be searched: {done.stderr.strip()[-200:]}.",
            next_step="Repeat the call.",
        )
    return {path: RawFinding(answer) for path, answer in json.loads(done.stdout).items()}


def cells_with(db: apsw.Connection, forms: Sequence[bytes]) -> dict[str, int]:
    """Return how many rows of which tables hold any of the forms in one cell, ASCII letters in any
    case."""
    low = sorted({form.lower() for form in forms})
    found: dict[str, int] = {}
    for table in _tables(db):
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        for row in db.execute(f"SELECT {', '.join(names)} FROM {table}"):
            if any(_holds(value, low) for value in row):
                found[table] = found.get(table, 0) + 1
    return found


def _tables(db: apsw.Connection) -> list[str]:
    rows = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    return [row[0] for row in rows]


def _holds(value: object, forms: Sequence[bytes]) -> bool:
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    if not isinstance(value, bytes):
        return False
    low = value.lower()
    return any(form in low for form in forms)


def cells_of_file(path: str, forms: Sequence[bytes]) -> dict[str, int] | None:
    """Return the same of another file of doxa; None if it is not one that can be read. It is
    opened read-only and nothing is written next to it."""
    try:
        db = apsw.Connection(
            f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1",
            flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
        )
    except apsw.Error:
        return None
    try:
        return cells_with(db, forms)
    except apsw.Error:
        return None
    finally:
        db.close()
