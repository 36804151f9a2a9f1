"""Read untrusted files, folders and archives: sizes are limited, links must stay inside the folder,
and nothing is written.

A history is a file, a folder that a product maintains, or the zip of an export. The format readers
use this module for lines (streamed), for whole documents (formats that are one JSON value), and for
a JSON decoder that tolerates the errors of those products.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from doxa.base import limits
from doxa.base.errors import InputError, LimitError

T = TypeVar("T")

BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
EXPORT_START = re.compile(rb'\s*\{\s*"type"\s*:\s*"doxa-export"')
_DOCUMENT = re.compile(r"conversations(?:-\d{1,4})?\.json")


@dataclass(slots=True)
class ReadReport:
    """The report of a read: counts, the first skipped places, session titles, and the format of the
    file that is being read."""

    format: str = ""
    turns: int = 0
    skipped: int = 0
    places: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)

    def skip(self, place: str) -> None:
        self.skipped += 1
        if len(self.places) < limits.SKIPPED_ITEMS_MAX:
            self.places.append(place)


def clean(text: str) -> str:
    """Remove NULs and replace lone surrogates by U+FFFD, as SQLite and UTF-8 require."""
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def decode(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """Decode one JSON value. Raises ValueError with a reason if it is malformed, not UTF-8, or
    nested too deeply."""
    try:
        return decoder.decode(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except msgspec.ValidationError:
        raise
    except ValueError:
        # JavaScript may cut a string inside a surrogate pair and write one half; strict decoders
        # reject the whole value.
        repaired = _ESCAPE.sub(_repair_escape, data)
        if repaired == data:
            raise
    try:
        return decoder.decode(repaired)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _repair_escape(match: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if match.group(1) else match.group()


def lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Yield (number from 1, line) for every line that is not blank, with None for a line beyond the
    limit."""
    size_max = limits.IMPORT_LINE_BYTES_MAX
    with open_file(path) as file:
        number = 0
        while line := read_line(path, file):
            number += 1
            if number == 1:
                line = line.removeprefix(BOM)
            if len(line) > size_max:
                while line and not line.endswith(b"\n"):
                    line = read_line(path, file)
                yield number, None
            elif not line.isspace():
                yield number, line


def read_line(path: Path, file: IO[bytes]) -> bytes:
    try:
        return file.readline(limits.IMPORT_LINE_BYTES_MAX + 1)
    except OSError as error:
        raise _unreadable(path, error) from None


def open_file(path: Path) -> IO[bytes]:
    """Open a regular UTF-8 file within the size limit. Raises InputError otherwise."""
    try:
        if not path.is_file():
            raise InputError(
                f"{path} is not a file.",
                next_step="Give the path of an exported file.",
                path=str(path),
            )
        file = path.open("rb")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    size = os.fstat(file.fileno()).st_size
    try:
        if size > limits.IMPORT_FILE_BYTES_MAX:
            raise _too_large(str(path), size=size, limit=limits.IMPORT_FILE_BYTES_MAX)
        start = file.read(4)
        file.seek(0)
        refuse_other_encodings(str(path), start)
    except BaseException:
        file.close()
        raise
    return file


def refuse_other_encodings(name: str, start: bytes) -> None:
    """Reject a file that starts with the byte order mark of another encoding."""
    for bom, encoding in _OTHER_BOMS.items():
        if start.startswith(bom):
            raise InputError(
                f"{name} is {encoding} text; only UTF-8 is supported.",
                next_step="Save a copy as UTF-8 and read that.",
                path=name,
                encoding=encoding,
            )


def documents(path: Path, report: ReadReport | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield (name, bytes) of each JSON document: the file itself, or every conversations.json of an
    export's folder or zip. With a report, an unreadable document is skipped and recorded there."""
    if path.is_dir():
        for inner in files_below(path, ".json"):
            if _DOCUMENT.fullmatch(inner.name):
                try:
                    data = whole_file(inner)
                except InputError as error:
                    skip_or_raise(report, error)
                    continue
                yield str(inner), data
    elif is_zip(path):
        yield from _archive_documents(path, report)
    else:
        yield str(path), whole_file(path)


def skip_or_raise(report: ReadReport | None, error: InputError) -> None:
    """Record the error of one of several files in the report, or raise it without a report."""
    if report is None:
        raise error
    report.skip(error.message)


def document_heads(path: Path, size_bytes: int) -> Iterator[bytes]:
    """Yield the first bytes of each document, for format detection."""
    if path.is_dir():
        for inner in files_below(path, ".json"):
            if _DOCUMENT.fullmatch(inner.name):
                with suppress(InputError):  # other documents may be readable
                    yield head(inner, size_bytes)
    else:
        try:
            with zipfile.ZipFile(path) as archive:
                for member in _members(archive):
                    with archive.open(member) as file:
                        yield file.read(size_bytes)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            RuntimeError,
            NotImplementedError,
            ValueError,
        ) as error:
            raise _broken_archive(path, error) from None


def head(path: Path, size_bytes: int) -> bytes:
    """Return the first bytes of a file."""
    with open_file(path) as file:
        return file.read(size_bytes).removeprefix(BOM)


def is_zip(path: Path) -> bool:
    """Return whether a path is a regular file that starts like a zip."""
    try:
        # Opening a pipe would block until it has a writer.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def is_document(path: Path) -> bool:
    """Return whether a file has the name that products give to their conversations."""
    return _DOCUMENT.fullmatch(path.name) is not None


def files_below(root: Path, suffix: str | tuple[str, ...]) -> Iterator[Path]:
    """Yield the regular files below a folder, ordered by path. A link that leads outside the folder
    or to a file already listed is skipped."""
    real_root = root.resolve()
    found: dict[Path, Path] = {}
    for folder, folders, names in os.walk(root, followlinks=False):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if not name.endswith(suffix):
                continue
            try:
                real = path.resolve()
            except (OSError, RuntimeError):
                continue
            if (
                real.is_relative_to(real_root)
                and real.is_file()
                and (real not in found or not path.is_symlink())
            ):
                found[real] = path
    yield from sorted(found.values())


def whole_file(path: Path, size_max: int | None = None) -> bytes:
    """Return what is in a file without a byte order mark. Raises LimitError for one that is too
    large to be held."""
    limit = limits.ARCHIVE_BYTES_MAX if size_max is None else size_max
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise _too_large(str(path), size=size, limit=limit)
        return file.read(limit).removeprefix(BOM)


def _archive_documents(path: Path, report: ReadReport | None) -> Iterator[tuple[str, bytes]]:
    left = limits.ARCHIVE_BYTES_MAX
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive)
            if not members:
                raise InputError(
                    f"{path} contains no conversations.json.",
                    next_step="Give the zip as exported by the product.",
                    path=str(path),
                )
            for member in members:
                name = f"{path}:{member.filename}"
                with archive.open(member) as file:
                    # The directory of an archive may declare wrong sizes, so the actual size
                    # counts.
                    data = file.read(left + 1)
                if len(data) > left:
                    raise _too_large(name, size=len(data), limit=limits.ARCHIVE_BYTES_MAX)
                left -= len(data)
                try:
                    refuse_other_encodings(name, data[:4])
                except InputError as error:
                    skip_or_raise(report, error)
                    continue
                yield name, data.removeprefix(BOM)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise _broken_archive(path, error) from None


def _members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    members = [
        info for info in archive.infolist() if _DOCUMENT.fullmatch(info.filename.rpartition("/")[2])
    ]
    total = sum(info.file_size for info in members)
    if total > limits.ARCHIVE_BYTES_MAX:
        raise _too_large(str(archive.filename), size=total, limit=limits.ARCHIVE_BYTES_MAX)
    return sorted(members, key=lambda info: info.filename)


def _too_large(name: str, *, size: int, limit: int) -> LimitError:
    return LimitError(
        f"{name} has at least {size:,} bytes (unpacked); the limit is {limit:,}.",
        next_step="Split the export and read the parts separately.",
        path=name,
        size_bytes=size,
        limit_bytes=limit,
    )


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(
        f"{path} cannot be opened: {reason}.",
        next_step="Check the path and its permissions.",
        path=str(path),
    )


def _broken_archive(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} is not a readable zip: {error or type(error).__name__}.",
        next_step="Export it again, or unpack it and give the folder.",
        path=str(path),
    )
