"""Files of artifacts: where they are, how long and with which digest; and whether they still are.

A file is named by its path. Nothing is copied, and its content is read only to be hashed. With a
folder, paths are relative to it and may not lead out of it, by `..`, as absolute paths or through
links; the artifact then keeps the relative path, so that the folder can move.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from doxa.base.errors import ConflictError, InputError, NotFoundError
from doxa.base.limits import ARTIFACT_CHUNK_BYTES_READ, ARTIFACTS_PER_UNIT_ITEMS_MAX
from doxa.belief.types import check_artifact
from doxa.ingestion import arguments
from doxa.ingestion.remember import clean_location


@dataclass(frozen=True, slots=True)
class FilePointer:
    """An artifact to attach: its name, where its file is, the SHA-256 in hexadecimal and the size
    in bytes ("" and 0 where they are not known)."""

    name: str
    location: str
    sha256: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """A file that was compared with its artifact, and is the one that was attached."""

    kref: str
    path: str
    sha256: str
    size_bytes: int


def pointers(
    artifacts: Mapping[str, object] | None, folder: str
) -> tuple[tuple[FilePointer, ...], list[str]]:
    """Return the artifacts that a caller names: by a path, whose file is read, or by a mapping of
    location, sha256 and size_bytes, which is taken as it is. Also returns the kinds of secrets that
    were left out of locations."""
    given = arguments.mapping(artifacts)
    if len(given) > ARTIFACTS_PER_UNIT_ITEMS_MAX:
        raise InputError(
            f"A unit has up to {ARTIFACTS_PER_UNIT_ITEMS_MAX} artifacts; this has {len(given)}.",
            next_step="Attach the others with `attach`.",
            field="artifacts",
        )
    base = _folder(folder)
    made: list[FilePointer] = []
    secrets: list[str] = []
    for name, value in given.items():
        if isinstance(value, Mapping):
            pointer = _told(name, value)
        else:
            path = _inside(arguments.path(value, "artifacts"), base)
            sha256, size = hash_file(path)
            shown = path.relative_to(base).as_posix() if base else str(path)
            pointer = FilePointer(name, shown, sha256, size)
        location, found = clean_location(
            name, pointer.location, sha256=pointer.sha256, size_bytes=pointer.size_bytes
        )
        check_artifact(location, sha256=pointer.sha256, size_bytes=pointer.size_bytes)
        secrets += found
        made.append(FilePointer(name, location, pointer.sha256, pointer.size_bytes))
    return tuple(made), secrets


def _told(name: str, value: Mapping[str, object]) -> FilePointer:
    unknown = sorted(map(str, value.keys() - {"location", "sha256", "size_bytes"}))
    if unknown or not isinstance(value.get("location"), str):
        raise InputError(
            f"The artifact {name[:80]!r} has no location."
            if not unknown
            else f"The artifact {name[:80]!r} has no field {', '.join(unknown)[:80]}.",
            next_step="Give a path, or location, and if known sha256 and size_bytes.",
            field="artifacts",
        )
    size = value.get("size_bytes", 0)
    return FilePointer(
        name,
        str(value["location"]),
        value.get("sha256", ""),  # type: ignore[arg-type]  # check_artifact refuses other types
        size,  # type: ignore[arg-type]
    )


def _folder(folder: str) -> Path | None:
    arguments.text(folder, "folder")
    if not folder:
        return None
    try:
        base = arguments.path(folder, "folder").resolve(strict=True)
    except OSError as error:
        raise NotFoundError(
            f"The folder {folder[:200]} cannot be read: {error.strerror}.",
            next_step="Give a folder that exists.",
            field="folder",
        ) from None
    if not base.is_dir():
        raise InputError(
            f"{folder[:200]} is not a folder.", next_step="Give a folder.", field="folder"
        )
    return base


def _inside(path: Path, base: Path | None) -> Path:
    """Return the real path of a file. Raises InputError if it lies outside of the folder, and
    NotFoundError if the file does not exist."""
    try:
        found = (path if base is None else base / path).resolve(strict=True)
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before 3.13
        reason = getattr(error, "strerror", None) or "its links form a loop"
        raise NotFoundError(
            f"The file {path} cannot be read: {reason}.",
            next_step="Check the path.",
            path=str(path),
        ) from None
    if base is not None and not found.is_relative_to(base):
        raise InputError(
            f"{path} lies outside of the folder.",
            next_step="Give a path within the folder, without links that lead out of it.",
            field="artifacts",
            path=str(path),
        )
    return found


def hash_file(path: Path) -> tuple[str, int]:
    """Return the SHA-256 and the size of a regular file. Raises InputError for anything else, and
    ConflictError if it changes while it is read."""
    try:
        # a pipe or device that took the place of the file must not block or be read
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotFoundError(
            f"The file {path} cannot be read: {error.strerror}.",
            next_step="Check the path and its permissions.",
            path=str(path),
        ) from None
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            raise InputError(
                f"{path} is not a regular file.",
                next_step="Give the path of a file.",
                path=str(path),
            )
        digest, size = hashlib.sha256(), 0
        while chunk := os.read(handle, ARTIFACT_CHUNK_BYTES_READ):
            digest.update(chunk)
            size += len(chunk)
        after = os.fstat(handle)
    finally:
        os.close(handle)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ConflictError(
            f"{path} changed while it was read.",
            next_step="Store it when it is complete.",
            path=str(path),
        )
    return digest.hexdigest(), size


def compare(kref: str, properties: Mapping[str, object], folder: str) -> ArtifactFile:
    """Return the file of an artifact. Raises ConflictError if it is not the one that was attached,
    NotFoundError if it is gone, InputError if its digest was never noted."""
    location, sha256 = str(properties["location"]), properties.get("sha256")
    if not isinstance(sha256, str) or not sha256:
        raise InputError(
            f"{kref} has no SHA-256, so that its file cannot be compared.",
            next_step="Attach the file with its digest.",
            kref=kref,
        )
    path = _inside(arguments.path(location, "location"), _folder(folder))
    found, size = hash_file(path)
    if found != sha256:
        raise ConflictError(
            f"{path} is not the file that was attached as {kref}: its content changed.",
            next_step="Restore the file, or store what it is now as a new revision.",
            kref=kref,
            path=str(path),
            expected=sha256,
            found=found,
        )
    return ArtifactFile(kref, str(path), found, size)
