"""The file name of a belief: a function of its address alone, so that it never changes, and no two
differ only in what some file system ignores.

    kref://shop/api/port.fact   ->  shop/api/port.fact.md
    kref://shop/Port.fact       ->  shop/Port.fact~5b1f0c7a.md       (case: Windows, macOS)
    kref://shop/con.fact        ->  shop/_con.fact~9e02d4c1.md       (a device on Windows)
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from doxa.belief import Kref

SUFFIX = ".md"
_BYTES_MAX = 120  # of a part, as UTF-8; file systems take 255 bytes, or 255 UTF-16 units
_DIGITS = 8
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9]|lpt[0-9])(?:\..*)?")
_MARKED = re.compile(r".*~[0-9a-f]{8}")


def note_path(kref: Kref) -> str:
    """Return the path of the note of an item within its vault, with slashes."""
    parts = [_part(part) for part in (kref.project, *kref.spaces)]
    return "/".join((*parts, _part(f"{kref.name}.{kref.kind}") + SUFFIX))


def same_file(path: str) -> str:
    """Return what two paths have in common if a file system may take them for one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).upper().casefold())


def _part(name: str) -> str:
    """Return a name as every file system keeps it: marked by a digest unless it is such already."""
    reserved = _RESERVED.fullmatch(name.casefold()) is not None
    plain = same_file(name) == name and not reserved and _MARKED.fullmatch(name) is None
    if plain and len(name.encode()) <= _BYTES_MAX:
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=_DIGITS // 2).hexdigest()
    kept = name.encode()[:_BYTES_MAX].decode(errors="ignore").rstrip(". ")
    return f"{'_' if reserved else ''}{kept}~{digest}"


class NoteNames:
    """Which item a link names: by the path of its note within the vault or, as editors shorten it,
    by the name of its file if only one has it."""

    def __init__(self) -> None:
        self.krefs: set[str] = set()
        self._paths: dict[str, str] = {}
        self._short: dict[str, str] = {}

    def add(self, path: str, kref: str) -> None:
        path = same_file(path)
        self.krefs.add(kref)
        self._paths[path] = kref
        name = path.rpartition("/")[2]
        self._short[name] = "" if name in self._short else kref

    def get(self, link: str) -> str:
        path = same_file(link.removesuffix(SUFFIX))
        return self._paths.get(path) or self._short.get(path, "")
