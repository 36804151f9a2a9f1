"""Bytes from files, folders and archives that nobody has vouched for: sizes are limited, links stay
inside, nothing is written.

A history comes as a file, as a folder some product keeps, or as the zip of an export. The readers
of the formats ask here for lines (streamed) or for whole documents (formats that are one JSON
value), and for the one JSON decoder that survives what products write.
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

_BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
EXPORT_START = re.compile(rb'\s*\{\s*"type"\s*:\s*"doxa-export"')
_DOCUMENT = re.compile(r"conversations(?:-\d{1,4})?\.json")


@dataclass(slots=True)
class ReadReport:
    """What a reading met besides turns. `places` names the first skipped ones; `titles` maps a
    session to its title, where there is one."""

    turns: int = 0
    skipped: int = 0
    places: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)

    def skip(self, place: str) -> None:
        self.skipped += 1
        if len(self.places) < limits.SKIPPED_ITEMS_MAX:
            self.places.append(place)


def clean(text: str) -> str:
    """The text without NUL, each lone surrogate replaced by U+FFFD: what SQLite and UTF-8 can hold."""
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def decode(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """Decode one JSON value. Raises ValueError with a reason when it is malformed, not UTF-8, or
    nested too deeply."""
    try:
        return decoder.decode(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except msgspec.ValidationError:
        raise
    except ValueError:
        # JavaScript cuts strings between the halves of a surrogate pair and writes the half; strict
        # decoders refuse the whole value.
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
    """(number from 1, line) for every line that is not blank; None stands for a line beyond the
    limit."""
    size_max = limits.IMPORT_LINE_BYTES_MAX
    with open_file(path) as file:
        number = 0
        while line := _read_line(path, file):
            number += 1
            if number == 1:
                line = line.removeprefix(_BOM)
            if len(line) > size_max:
                while line and not line.endswith(b"\n"):
                    line = _read_line(path, file)
                yield number, None
            elif not line.isspace():
                yield number, line


def _read_line(path: Path, file: IO[bytes]) -> bytes:
    try:
        return file.readline(limits.IMPORT_LINE_BYTES_MAX + 1)
    except OSError as error:
        raise _unreadable(path, error) from None


def open_file(path: Path) -> IO[bytes]:
    """Open a regular file of UTF-8 text within the size limit. Raises InputError when it is
    anything else."""
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
    for bom, encoding in _OTHER_BOMS.items():
        if start.startswith(bom):
            raise InputError(
                f"{name} is {encoding} text; only UTF-8 is read.",
                next_step="Save a copy as UTF-8 and read that.",
                path=name,
                encoding=encoding,
            )


def documents(path: Path, report: ReadReport | None = None) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of each JSON document: the file itself, or every conversations.json of an
    export's folder or zip. With a report, one of several that cannot be read is skipped and named
    there."""
    if path.is_dir():
        for inner in files_below(path, ".json"):
            if _DOCUMENT.fullmatch(inner.name):
                try:
                    data = _whole_file(inner)
                except InputError as error:
                    skip_or_raise(report, error)
                    continue
                yield str(inner), data
    elif is_zip(path):
        yield from _archive_documents(path, report)
    else:
        yield str(path), _whole_file(path)


def skip_or_raise(report: ReadReport | None, error: InputError) -> None:
    """What is wrong with one of several files is told beside the turns of the others."""
    if report is None:
        raise error
    report.skip(error.message)


def document_heads(path: Path, size_bytes: int) -> Iterator[bytes]:
    """The first bytes of each document, for telling formats apart."""
    if path.is_dir():
        for inner in files_below(path, ".json"):
            if _DOCUMENT.fullmatch(inner.name):
                with suppress(InputError):  # the others may tell
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
    with open_file(path) as file:
        return file.read(size_bytes).removeprefix(_BOM)


def is_zip(path: Path) -> bool:
    try:
        # Opening a pipe would wait for its writer.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def files_below(root: Path, suffix: str) -> Iterator[Path]:
    """Regular files below a folder, by path. A link that leads outside the folder, or to a file met
    before, is left out."""
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


def _whole_file(path: Path) -> bytes:
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limits.ARCHIVE_BYTES_MAX:
            raise _too_large(str(path), size=size, limit=limits.ARCHIVE_BYTES_MAX)
        return file.read(limits.ARCHIVE_BYTES_MAX).removeprefix(_BOM)


def _archive_documents(path: Path, report: ReadReport | None) -> Iterator[tuple[str, bytes]]:
    left = limits.ARCHIVE_BYTES_MAX
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive)
            if not members:
                raise InputError(
                    f"{path} holds no conversations.json.",
                    next_step="Give the zip as the product exported it.",
                    path=str(path),
                )
            for member in members:
                name = f"{path}:{member.filename}"
                with archive.open(member) as file:
                    # The directory of an archive may lie about sizes, so what counts is what comes
                    # out.
                    data = file.read(left + 1)
                if len(data) > left:
                    raise _too_large(name, size=len(data), limit=limits.ARCHIVE_BYTES_MAX)
                left -= len(data)
                try:
                    refuse_other_encodings(name, data[:4])
                except InputError as error:
                    skip_or_raise(report, error)
                    continue
                yield name, data.removeprefix(_BOM)
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
        f"{name} unpacks to or has at least {size:,} bytes; the limit is {limit:,}.",
        next_step="Split the export and read the parts one after another.",
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
        f"{path} is not a zip that can be read: {error or type(error).__name__}.",
        next_step="Export it again, or unpack it and give the folder.",
        path=str(path),
    )
