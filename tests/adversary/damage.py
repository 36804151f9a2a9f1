"""Files with changed bytes, and what opening, verification and doctor make of them.

A change of bytes is *found* if opening, `verify` or `doctor` says that something is wrong. If it is
not found it must be *harmless*: every row of every table reads as before. Anything else, and any
exception that is not doxa's own, is a failure.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import apsw

from doxa.app import open_memory
from doxa.base.errors import DoxaError
from doxa.models import HashEmbedder

PAGE = 4_096
KINDS = ("bit", "byte", "run", "page", "zeros", "header", "cell")


class Outcome(NamedTuple):
    """What became of a changed file: found, harmless, earlier, or missed with the tables that
    read otherwise."""

    name: str
    said: str


def build(path: Path) -> None:
    """A file with everything in it: beliefs, turns, free nodes, indexes, constraints, policies,
    vectors, an erasure."""
    with open_memory(
        path, role="operator", embedder=HashEmbedder(dimensions=32), background=False
    ) as memory:
        for number in range(12):
            memory.remember(f"The ferry number {number} is painted green", name=f"ferry-{number}")
        memory.revise("kref://default/ferry-3.fact", "The ferry number 3 is painted red")
        memory.ingest([{"speaker": "Ana", "text": f"We met {n} times"} for n in range(5)])
        memory.run("CREATE INDEX place_name FOR (n:Place) ON (n.name)")
        memory.run("CREATE CONSTRAINT one FOR (n:Place) REQUIRE n.name IS UNIQUE")
        memory.run(
            "UNWIND range(1, 20) AS x CREATE (:Place {name: 'p' + x, at: date('2026-01-01')})"
            "-[:NEAR {km: x}]->(:Place {name: 'q' + x})"
        )
        memory.run("MATCH (n:Place {name: 'p3'}) SET n.name = 'renamed'")
        memory.embed()
        memory.forget("kref://default/ferry-5.fact", erase=True)


def change(data: bytearray, rng: random.Random, kind: str) -> str:
    """Change some bytes as `kind` says. Returns where."""
    at = rng.randrange(len(data))
    if kind == "bit":
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "byte":
        data[at] ^= rng.randrange(1, 256)
    elif kind == "run":
        end = min(len(data), at + rng.randrange(2, 64))
        data[at:end] = rng.randbytes(end - at)
    elif kind == "page":  # one page in the place of another
        pages = len(data) // PAGE
        first, second = rng.randrange(pages) * PAGE, rng.randrange(pages) * PAGE
        data[first : first + PAGE] = data[second : second + PAGE]
        at = first
    elif kind == "zeros":
        at -= at % PAGE
        data[at : at + PAGE] = bytes(PAGE)
    elif kind == "header":
        at = rng.randrange(100)
        data[at] ^= 1 << rng.randrange(8)
    else:  # the beginning of a page: its type, counts and pointers
        at = at - at % PAGE + rng.randrange(40)
        data[at] ^= rng.randrange(1, 256)
    return f"{kind} at {at}"


def rows(path: Path) -> dict[str, object]:
    """Every row of every table, as SQLite reads it, and what the header says of the format."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found: dict[str, object] = {
            "header": (db.pragma("application_id"), db.pragma("user_version"))
        }
        names = [
            row[0]
            for row in db.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
        ]
        found["schema"] = [  # other blanks between the words declare the same
            (*entry, sql and " ".join(sql.split()))
            for *entry, sql in db.execute(
                "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
            )
        ]
        for name in names:
            columns = "name" if name == "migration" else "*"  # when one was done is read by nobody
            found[name] = sorted(map(repr, db.execute(f'SELECT {columns} FROM "{name}"')))
        return found
    finally:
        db.close()


def examine(path: Path, before: dict[str, object]) -> Outcome:
    """Open the file as `verify` and `doctor` do, to read. Raises what is not doxa's."""
    try:
        with open_memory(path, read_only=True, embedder=None, background=False) as memory:
            wrong = [one for one in memory.doctor() if not one.ok]
            for one in wrong:
                assert one.detail and one.next_step, one
                if one.name not in ("vectors", "embedder", "file"):
                    return Outcome("found", one.detail)
            memory.verify()
            memory.check()
    except DoxaError as error:
        assert error.next_step, error
        return Outcome("found", error.message)
    now = rows(path)
    others = sorted(
        name for name in before.keys() | now.keys() if before.get(name) != now.get(name)
    )
    return Outcome("missed", ", ".join(others)) if others else Outcome("harmless", "")
