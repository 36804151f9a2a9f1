"""What is believed, as the file of the MCP reference server for memory:

    {"type": "entity", "name": "shop/deploy.decision", "entityType": "decision",
     "observations": ["We deploy on Thursdays."]}
    {"type": "relation", "from": "shop/deploy.decision", "to": "shop/ci.fact",
     "relationType": "depends_on"}

A belief is an entity, named by its address without the scheme; an edge between two of them is a
relation, and so is membership in a bundle. The format has no revisions, times, tags or trust: for
these, use the export of doxa or notes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from doxa.base.errors import InputError
from doxa.belief.kref import SCHEME
from doxa.ingestion.arguments import unusable
from doxa.store import Reader, Store
from doxa.transfer.vault.state import exported_items, held_note


def export_memory_json(store: Store, target: Path, *, projects: Collection[str] = ()) -> int:
    """Write the entities, then the relations, to a file that does not exist yet, readable by its
    owner only. Returns the number of lines."""
    if target.exists() or target.is_symlink():
        raise _exists(target)
    part = ""
    try:
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".doxa-part")
        count = 0
        with os.fdopen(handle, "wb") as file, store.read() as snapshot:
            for line in _lines(snapshot, projects):
                file.write(line + b"\n")
                count += 1
        if target.exists() or target.is_symlink():
            raise _exists(target)
        os.replace(part, target)
        part = ""
        return count
    except OSError as error:
        raise unusable(target, error) from None
    finally:
        if part:
            with suppress(OSError):
                Path(part).unlink()


def _lines(snapshot: Reader, projects: Collection[str]) -> Iterator[bytes]:
    written: set[str] = set()
    for item in exported_items(snapshot, projects):
        note = held_note(snapshot, item)
        written.add(str(note.item))
        yield msgspec.json.encode(
            {
                "type": "entity",
                "name": _name(str(note.item)),
                "entityType": note.item.kind,
                "observations": [note.held.summary] if note.held else [],
            }
        )
    for item in exported_items(snapshot, projects):
        note = held_note(snapshot, item)
        ends = [(link.target, link.kind.lower()) for link in note.links]
        ends += [(member, "contains") for member in note.members or ()]
        for target, kind in dict.fromkeys(ends):
            if target in written:
                yield msgspec.json.encode(
                    {
                        "type": "relation",
                        "from": _name(str(note.item)),
                        "to": _name(target),
                        "relationType": kind,
                    }
                )


def _name(kref: str) -> str:
    return kref.removeprefix(SCHEME)


def _exists(target: Path) -> InputError:
    return InputError(
        f"{target} exists already.",
        next_step="Give a path that does not exist yet.",
        path=str(target),
    )
