"""How a document is named: by its path within what was imported, or within its repository, never by
a path of this machine."""

from __future__ import annotations

from pathlib import Path

from doxa.imports.contract import ImportSource
from doxa.ingestion.readers.sources import clean

_UP_MAX = 30


def inside(source: ImportSource) -> str:
    """Return the path of a source within the folder that was imported; of a file that was given by
    itself, within its repository if it lies in one, else its name."""
    path = source.path
    if source.root.is_dir():
        return _posix(path.relative_to(source.root))
    absolute = path.absolute()
    for folder in list(absolute.parents)[:_UP_MAX]:
        if (folder / ".git").exists() or (folder / ".obsidian").is_dir():
            return _posix(absolute.relative_to(folder))
    return _posix(Path(path.name))


def _posix(path: Path) -> str:
    return clean(path.as_posix().encode("utf-8", "replace").decode("utf-8", "replace"))
