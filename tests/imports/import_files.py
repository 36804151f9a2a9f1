"""What the tests of imports share: files as hosts write them, and one way to import them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doxa.app import Memory
from doxa.base.files.places import imports_folder
from doxa.imports.cursors import Cursors
from doxa.imports.importing import ImportedFiles, Importer, ImportOptions


def lines(path: Path, *values: object) -> Path:
    """Write JSON lines; text is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = (value if isinstance(value, str) else json.dumps(value) for value in values)
    path.write_text("".join(f"{line}\n" for line in made), encoding="utf-8")
    return path


def code_line(
    text: object, role: str = "user", *, at: int = 0, session: str = "s1", **more: object
) -> dict[str, Any]:
    """A line of Claude Code's sessions."""
    return {
        "type": role,
        "uuid": f"u-{session}-{at}-{role}",
        "sessionId": session,
        "cwd": "/srv/shop",
        "timestamp": f"2026-03-02T14:{at // 60:02}:{at % 60:02}.000Z",
        "isSidechain": False,
        "message": {"role": role, "content": text},
        **more,
    }


def imported(
    memory: Memory,
    place: Path,
    format: str | None = None,
    *,
    projects: Mapping[str, str] | None = None,
    cursors: bool = False,
    **options: Any,
) -> ImportedFiles:
    """Import a place; by default into the project `p`, without cursors."""
    given = ImportOptions(project_of=lambda folder: (projects or {}).get(folder, "p"), **options)
    kept = Cursors(imports_folder(Path(memory.store.path)), {}) if cursors else None
    done = Importer(memory.store, memory.identity, given, cursors=kept).run(place, format)
    memory.wake()
    return done


def said(memory: Memory, project: str = "p") -> list[tuple[str, str, str]]:
    """(session, role, text) of every turn of a project that is not retired, by time."""
    rows = memory.run(
        "MATCH (n:Exchange) WHERE n.project = $project AND n.deprecated IS NULL"
        " RETURN n.session, n.role, n.text ORDER BY n.time, n.text",
        {"project": project},
    )
    return [(str(row[0]), str(row[1]), str(row[2])) for row in rows]
