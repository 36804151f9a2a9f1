"""What a file is, by its bytes alone: a document that can be read, an image, or something that is
refused (archives, macros, programs, what is not known)."""

from __future__ import annotations

import io
import struct
import zipfile
from dataclasses import dataclass
from typing import Literal

from doxa.base.errors import InputError
from doxa.base.limits import (
    ATTACHMENT_ENTRIES_ITEMS_MAX,
    ATTACHMENT_RATIO_ITEMS_MAX,
    ATTACHMENT_UNPACKED_BYTES_MAX,
)

FileKind = Literal["document", "image"]
PDF, DOCX, PLAIN = (
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "text/plain",
)
_ARCHIVES = (
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an Office file of the old format, which may hold macros",
    ),
    (b"MZ", "a program"),
    (b"\x7fELF", "a program"),
)
# Parts of a Word document that hold text, form, pictures and fonts; others are embedded objects.
_PARTS = tuple(
    "/ .xml .rels .vml .png .jpg .jpeg .jfif .gif .bmp .tif .tiff .webp .svg .emf .wmf .wdp .ttf"
    " .otf .odttf .fntdata".split()
)
_SCANNED_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class FileForm:
    """What a file is. `size` of an image is its width and height in pixels."""

    kind: FileKind
    mime: str
    size: tuple[int, int] | None = None


def form_of(content: bytes, name: str) -> FileForm:
    """Return what a content is. Raises InputError for what is refused; `name` is for the
    message."""
    image = _image(content)
    if image is not None:
        return image
    if content.startswith(b"%PDF-"):
        return FileForm("document", PDF)
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _office(content, name)
    for magic, what in _ARCHIVES:
        if content.startswith(magic):
            raise _refused(name, what)
    if content[257:262] == b"ustar":
        raise _refused(name, "a tar archive")
    if is_text(content):
        return FileForm("document", PLAIN)
    raise _refused(name, "neither a text, a PDF, a Word document nor an image")


def is_text(content: bytes) -> bool:
    """Return whether a content is text in UTF-8."""
    if b"\0" in content:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _office(content: bytes, name: str) -> FileForm:
    """A Word document, which is a ZIP archive: without macros, and no larger unpacked than is
    read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise _refused(name, "a damaged archive") from None
    names = {entry.filename.casefold() for entry in entries}
    if "word/document.xml" not in names:
        raise _refused(name, "an archive")
    if any("vbaproject" in one or "macro" in one for one in names):
        raise _refused(name, "a document with macros")
    if not all(one.endswith(_PARTS) for one in names):
        raise _refused(name, "a document with embedded objects")
    if len(names) < len(entries) or any(".." in one or one.startswith("/") for one in names):
        raise _refused(name, "a damaged document, with parts of the same or of outside names")
    unpacked = sum(entry.file_size for entry in entries)
    packed = max(1, sum(entry.compress_size for entry in entries))
    if (
        len(entries) > ATTACHMENT_ENTRIES_ITEMS_MAX
        or unpacked > ATTACHMENT_UNPACKED_BYTES_MAX
        or unpacked > packed * ATTACHMENT_RATIO_ITEMS_MAX
    ):
        raise _refused(name, f"a document of {unpacked:,} bytes when unpacked, which is too large")
    if any(entry.flag_bits & 1 for entry in entries):
        raise _refused(name, "an encrypted document")
    return FileForm("document", DOCX)


def _image(content: bytes) -> FileForm | None:
    if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
        return FileForm("image", "image/png", _pair(">II", content[16:24]))
    if content[:6] in (b"GIF87a", b"GIF89a"):
        return FileForm("image", "image/gif", _pair("<HH", content[6:10]))
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return FileForm("image", "image/webp")
    if content.startswith(b"\xff\xd8\xff"):
        return FileForm("image", "image/jpeg", _jpeg(content))
    return None


def _pair(form: str, held: bytes) -> tuple[int, int] | None:
    if len(held) < struct.calcsize(form):
        return None
    first, second = struct.unpack(form, held)
    return int(first), int(second)


def _jpeg(content: bytes) -> tuple[int, int] | None:
    """The size in the frame header, which stands among the segments before the picture."""
    place = 2
    while place + 9 <= min(len(content), _SCANNED_BYTES) and content[place] == 0xFF:
        marker = content[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            found = _pair(">HH", content[place + 5 : place + 9])
            return None if found is None else (found[1], found[0])
        place += 2 + int.from_bytes(content[place + 2 : place + 4], "big")
    return None


def _refused(name: str, what: str) -> InputError:
    return InputError(
        f"{name[:200]!r} is {what}, which is not read.",
        next_step="Attach a text, a PDF, a Word document without macros, or an image.",
        field="source",
    )
