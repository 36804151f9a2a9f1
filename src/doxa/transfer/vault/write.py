"""Write beliefs as a folder of notes, and keep it current.

A folder that does not exist appears whole. In one that exists, each note is replaced in one step,
and only if doxa wrote it and nobody has changed it since; a note whose belief is gone goes under
the same condition. What doxa wrote is listed in `.doxa-vault.jsonl`, to which a line is added
before each file, so that an export that was stopped is completed by the next:

    {"path": "shop/deploy.decision.md", "project": "shop", "sha256": "..."}

The list is read as untrusted: a path that leads out of the folder, or through a link, is nobody's.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import msgspec

from doxa.base.errors import NO_SPACE, DiskFullError, DoxaError, InputError
from doxa.base.limits import IMPORT_NOTE_BYTES_MAX, SKIPPED_ITEMS_MAX
from doxa.belief import parse_kref
from doxa.ingestion.arguments import unusable
from doxa.store import Reader, Store
from doxa.transfer.vault.compare import said_by, said_here
from doxa.transfer.vault.names import SUFFIX, NoteNames, note_path, same_file
from doxa.transfer.vault.notes import read_note, render
from doxa.transfer.vault.state import HeldNote, exported_items, held_note

MANIFEST = ".doxa-vault.jsonl"
_MANIFEST_BYTES_MAX = 1 << 30
_PART = ".doxa-part"


@dataclass(frozen=True, slots=True)
class ExportedNotes:
    """The result of an export as notes: how many there are, were written, were as they should be,
    and were removed since their belief is not held any more. `kept` were left as they are, because
    somebody edited them or they are not doxa's; `places` names the first with the reason."""

    notes: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    kept: int = 0
    places: tuple[str, ...] = ()


class _Listed(msgspec.Struct):
    path: str
    sha256: str
    project: str = ""


_listed = msgspec.json.Decoder(_Listed)


@dataclass(slots=True)
class _NoteCount:
    notes: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    kept: int = 0
    places: list[str] = field(default_factory=list)

    def keep(self, place: str) -> None:
        self.kept += 1
        if len(self.places) < SKIPPED_ITEMS_MAX:
            self.places.append(place)


def export_notes(store: Store, target: Path, *, projects: Collection[str] = ()) -> ExportedNotes:
    """Write the current beliefs, or those of some projects, as notes into a folder. Raises
    InputError for a path that is not a folder, StoreError or DiskFullError if writing fails."""
    binding = store.binding
    if binding is not None:  # also of the notes that are removed
        outside = sorted(set(projects) - set(binding.projects))
        if outside:
            raise binding.refusal(f"notes of the project {outside[0][:80]!r}")
        projects = projects or binding.projects
    try:
        if target.exists() and not target.is_dir():
            raise InputError(
                f"{target} is not a folder.",
                next_step="Give a folder, or a path that does not exist yet.",
                path=str(target),
            )
        if target.is_dir():
            return _export(store, target, frozenset(projects))
        return _export_whole(store, target, frozenset(projects))
    except OSError as error:
        if error.errno in NO_SPACE:
            raise DiskFullError(
                f"There is no room for the notes in {target}: {error.strerror}.",
                next_step="Free some space, or give a path on another disk.",
                path=str(target),
            ) from None
        raise unusable(target, error) from None


def _export_whole(store: Store, target: Path, projects: frozenset[str]) -> ExportedNotes:
    if target.is_symlink():
        raise InputError(
            f"{target} is a link that leads nowhere.",
            next_step="Give a folder, or a path that does not exist yet.",
            path=str(target),
        )
    part = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=_PART))
    try:
        done = _export(store, part, projects)
        if target.exists() or target.is_symlink():
            raise InputError(
                f"{target} was made meanwhile.",
                next_step="Export again.",
                path=str(target),
            )
        part.rename(target)
        return done
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _export(store: Store, root: Path, projects: frozenset[str]) -> ExportedNotes:
    listed = _read_list(root)
    count = _NoteCount()
    now: dict[str, _Listed] = {}
    with store.read() as snapshot, _appending(root) as log:
        paths = _paths(snapshot, projects)
        names = NoteNames()
        for kref, path in paths.items():
            names.add(path.removesuffix(SUFFIX), kref)
        for item in exported_items(snapshot, projects):
            note = held_note(snapshot, item)
            kref = str(note.item)
            path = paths[kref]
            data = render(
                note.item,
                note.held,
                note.links,
                note.artifacts,
                note.members,
                path_of=lambda target: paths.get(target, "").removesuffix(SUFFIX),
            ).encode()
            entry = _Listed(path, hashlib.sha256(data).hexdigest(), note.item.project)
            count.notes += 1
            known: dict[str | None, None] = dict.fromkeys(listed.get(path, {}))
            if known and _is_said(snapshot, root, path, note, names):
                known[_digest(root / path)] = None
            if _put(root, entry, data, known, count, log):
                now[path] = entry
        _remove_gone(root, listed, set(paths.values()), projects, count)
    kept = {
        path: next(reversed(entries.values()))
        for path, entries in listed.items()
        if path not in now and (_plain(root, path) or root).is_file()
    }
    _write_list(root, [entry for _, entry in sorted((kept | now).items())])
    return ExportedNotes(
        count.notes,
        count.written,
        count.unchanged,
        count.removed,
        count.kept,
        tuple(count.places),
    )


def _paths(snapshot: Reader, projects: frozenset[str]) -> dict[str, str]:
    """Return the path of each note by the address of its item. Two that a file system could take
    for one, by a digest that two names share, get different ones."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for item in exported_items(snapshot, projects):
        kref = str(item.props["kref"])
        path = note_path(parse_kref(kref))
        if same_file(path) in taken:
            path = f"{path.removesuffix(SUFFIX)}~{hashlib.sha256(kref.encode()).hexdigest()}.md"
        taken.add(same_file(path))
        found[kref] = path
    return found


def _put(
    root: Path,
    entry: _Listed,
    data: bytes,
    known: Collection[str | None],
    count: _NoteCount,
    log: _Log,
) -> bool:
    """Write a note unless it is there already or somebody else's. Returns whether it is doxa's."""
    path = _plain(root, entry.path)
    if path is None:
        count.keep(f"{entry.path}: a link leads out of the folder")
        return False
    found = _digest(path)
    if found == entry.sha256:
        count.unchanged += 1
        return True
    if found is not None and found not in known:
        reason = (
            "it was edited; import it first, or move it away" if known else "doxa did not write it"
        )
        count.keep(f"{entry.path}: {reason}")
        return False
    log.add(entry)
    _replace(path, data)
    count.written += 1
    return True


def _is_said(reader: Reader, root: Path, name: str, held: HeldNote, names: NoteNames) -> bool:
    """Return whether a note that was edited says what is believed: then the edit was imported."""
    path = _plain(root, name)
    try:
        if path is None or held.held is None or not path.is_file():
            return False
        if path.stat().st_size > IMPORT_NOTE_BYTES_MAX:
            return False
        note = read_note(path.read_bytes().decode(), kref_of=names.get)
        if note.item != str(held.item) or note.line is None or not note.edited:
            return False
        return said_by(reader, note, names.krefs) == said_here(held)
    except (DoxaError, ValueError, OSError):
        return False


def _remove_gone(
    root: Path,
    listed: dict[str, dict[str, _Listed]],
    present: set[str],
    projects: frozenset[str],
    count: _NoteCount,
) -> None:
    for name, known in listed.items():
        project = next(reversed(known.values())).project
        if name in present or (projects and project not in projects):
            continue
        path = _plain(root, name)
        found = None if path is None else _digest(path)
        if path is None or found is None:
            continue
        if found not in known:
            count.keep(f"{name}: its belief is not held any more, and it was edited")
            continue
        path.unlink()
        count.removed += 1
        for folder in path.relative_to(root).parents:
            if folder != Path():
                with suppress(OSError):  # it holds something else
                    (root / folder).rmdir()


def _plain(root: Path, name: str) -> Path | None:
    """Return a path below the folder; None if it leads out of it or through a link, or is not the
    path of a note."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or "\\" in name or not name.endswith(".md"):
        return None
    path = root
    for part in parts:
        if part in ("", ".", "..") or ":" in part or "\0" in part or part.startswith("."):
            return None
        path = path / part
        if path.is_symlink():
            return None
    return path


def _digest(path: Path) -> str | None:
    """Return the digest of a file; None if there is none, "" of what is not a file."""
    try:
        if not path.is_file():
            return "" if path.exists() else None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=_PART)  # mode 600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            Path(part).unlink()
        raise


# The list of what doxa wrote


def _read_list(root: Path) -> dict[str, dict[str, _Listed]]:
    """Return what doxa wrote by path, each with every digest that it may have. A line that cannot
    be read lists nothing."""
    found: dict[str, dict[str, _Listed]] = {}
    path = root / MANIFEST
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MANIFEST_BYTES_MAX:
            return {}
        with path.open("rb") as file:
            for line in file:
                try:
                    entry = _listed.decode(line)
                except (ValueError, RecursionError):
                    continue
                found.setdefault(entry.path, {})[entry.sha256] = entry
    except OSError:
        return {}
    return found


class _Log:
    """Adds lines to the list."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def add(self, entry: _Listed) -> None:
        os.write(self._handle, b"\n" + msgspec.json.encode(entry) + b"\n")

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def _appending(root: Path) -> _Log:
    path = root / MANIFEST
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InputError(
            f"{path} is not a file.",
            next_step="Move it away, and export again.",
            path=str(path),
        )
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    return _Log(os.open(path, flags, 0o600))


def _write_list(root: Path, entries: list[_Listed]) -> None:
    _replace(root / MANIFEST, b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries))


def written_files(root: Path) -> Iterator[Path]:
    """Yield the notes that doxa wrote into a folder and that are there."""
    for name in _read_list(root):
        path = _plain(root, name)
        if path is not None and path.is_file():
            yield path
