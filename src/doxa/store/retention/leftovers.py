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
from contextlib import suppress
from pathlib import Path
from threading import Timer

import apsw

from doxa.base.errors import StoreError
from doxa.store.stages import Stages, no_stages

_SCAN = """
import json, sys
asked = json.load(sys.stdin)
forms = [bytes.fromhex(form) for form in asked["forms"]]
exact = [bytes.fromhex(form) for form in asked["exact"]]
longest = max(map(len, forms + exact))
def say(what):
    print(json.dumps(what), flush=True)
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
                say(len(part))
        say([path, [found, proof]])
    except FileNotFoundError:
        say([path, None])
    except OSError as error:
        say([path, [str(error)]])
"""
_WAIT_S = 3_600
_ROWS = 1_000  # that are read before it is said


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
    paths: Iterable[str | os.PathLike[str]],
    forms: Sequence[bytes],
    *,
    control: Sequence[bytes],
    stages: Stages = no_stages,
) -> dict[str, RawFinding]:
    """Search whole files for any of the forms, ASCII letters in any case, and for the control."""
    names = [str(path) for path in paths]
    asked = {
        "paths": names,
        "forms": sorted({form.lower().hex() for form in forms}),
        "exact": [one.hex() for one in control],
    }
    advance = stages("bytes of files", 0 if stages is no_stages else sum(map(_bytes_of, names)))
    found: dict[str, RawFinding] = {}
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", _SCAN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        late = Timer(_WAIT_S, process.kill)
        late.daemon = True
        late.start()
        try:
            with suppress(OSError), process.stdin:  # it has ended; what it said is read below
                json.dump(asked, process.stdin)  # all of it is read before the first answer
            for line in process.stdout:
                said = json.loads(line)
                if isinstance(said, int):
                    advance(said)
                else:
                    found[said[0]] = RawFinding(said[1])
            wrong = process.stderr.read().strip()[-200:]
        except BaseException:
            process.kill()
            raise
        finally:
            late.cancel()
    if process.returncode:
        raise StoreError(
            f"The files could not be searched: {wrong or 'it took too long'}.",
            next_step="Repeat the call.",
        )
    return found


def _bytes_of(path: str) -> int:
    with suppress(OSError):
        return Path(path).stat().st_size
    return 0


def cells_with(
    db: apsw.Connection, forms: Sequence[bytes], *, stages: Stages = no_stages
) -> dict[str, int]:
    """Return how many rows of which tables hold any of the forms in one cell, ASCII letters in any
    case."""
    low = sorted({form.lower() for form in forms})
    found: dict[str, int] = {}
    advance = stages("rows of tables", 0 if stages is no_stages else _rows(db))
    for table in _tables(db):
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        number = 0
        for number, row in enumerate(db.execute(f"SELECT {', '.join(names)} FROM {table}"), 1):
            if any(_holds(value, low) for value in row):
                found[table] = found.get(table, 0) + 1
            if not number % _ROWS:
                advance(_ROWS)
        advance(number % _ROWS)
    return found


def _rows(db: apsw.Connection) -> int:
    return sum(db.execute(f"SELECT count(*) FROM {table}").get for table in _tables(db))


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
