"""The text of a document, read in a process of its own with limits of time, memory and pages.

    python -m doxa.agent.attachments.reading MIME PAGES CHARS < document > JSON

The child opens no file by name, runs nothing that is in the document, and fetches nothing. What
goes wrong in it is an error of this document alone. A Word document that declares a document type
is refused: entities could stand for text that nobody sees, grow without limit, or name files.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from doxa.agent.attachments.kinds import DOCX, PDF, PLAIN
from doxa.base.errors import InputError, LimitError
from doxa.base.limits import (
    ATTACHMENT_MEMORY_BYTES_MAX,
    ATTACHMENT_PAGES_ITEMS_MAX,
    ATTACHMENT_READ_MS,
    ATTACHMENT_TEXT_CHARS_MAX,
)

_LIBRARIES = {PDF: "pypdf", DOCX: "docx"}
_REASONS = {
    "encrypted": ": it is encrypted",
    "type": ": it declares a document type",
    "script": ": it holds a script",
    "files": ": it holds other files",
}
_DEPTH_MAX = 20  # of values within one object of a PDF


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document, how many pages it has, and whether the text was cut."""

    text: str
    pages: int | None = None
    cut: bool = False


def read_document(content: bytes, mime: str, name: str) -> DocumentText:
    """Return the text of a document. Raises InputError if it cannot be read or the extra is not
    installed, LimitError if it takes too long or too much memory."""
    if mime == PLAIN:
        text = content.decode("utf-8")
        return DocumentText(
            text[:ATTACHMENT_TEXT_CHARS_MAX], cut=len(text) > ATTACHMENT_TEXT_CHARS_MAX
        )
    if find_spec(_LIBRARIES[mime]) is None:
        raise InputError(
            f"{name[:200]!r} needs {_LIBRARIES[mime]} to be read.",
            next_step="Install doxa-memory[documents], or add it without its text (extract=False).",
            field="source",
        )
    words = [sys.executable, "-m", __name__, mime]
    words += [str(ATTACHMENT_PAGES_ITEMS_MAX), str(ATTACHMENT_TEXT_CHARS_MAX)]
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            words,
            input=content,
            capture_output=True,
            timeout=ATTACHMENT_READ_MS / 1_000,
            check=False,
            env={"PYTHONUTF8": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except subprocess.TimeoutExpired:
        raise LimitError(
            f"{name[:200]!r} takes longer than {ATTACHMENT_READ_MS:,} ms to read.",
            next_step="Add it without its text (extract=False), or a shorter one.",
            limit_ms=ATTACHMENT_READ_MS,
        ) from None
    why = ""
    try:
        held = json.loads(done.stdout)
        why = _REASONS.get(held.get("refused"), "")
        return DocumentText(str(held["text"]), held["pages"], bool(held["cut"]))
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{name[:200]!r} cannot be read{why}.",
            next_step="Add it without its text (extract=False), or repair it.",
            field="source",
        ) from None


def _main(arguments: list[str]) -> int:
    mime, pages, chars = arguments[0], int(arguments[1]), int(arguments[2])
    _limit()
    content = sys.stdin.buffer.read()
    refused = _refused(content, mime)
    if refused:
        print(json.dumps({"refused": refused}))
        return 1
    parts, total = _pdf(content, pages) if mime == PDF else _docx(content)
    kept, size, cut = [], 0, total is not None and total > pages
    for part in parts:
        kept.append(part[: chars - size])
        cut = cut or len(part) > chars - size
        size += len(kept[-1]) + 1
        if size >= chars:
            cut = True
            break
    text = "\n".join(kept)[:chars].encode("utf-8", "ignore").decode()
    print(json.dumps({"text": text, "pages": total, "cut": cut}))
    return 0


def _limit() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits; the time limit holds
        return
    seconds = ATTACHMENT_READ_MS // 1_000 + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if sys.platform == "linux":
        limit = ATTACHMENT_MEMORY_BYTES_MAX
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _refused(content: bytes, mime: str) -> str:
    """What keeps a document from being read at all, "" if nothing."""
    if mime == PDF:
        import pypdf

        reader = pypdf.PdfReader(io.BytesIO(content))
        # one with an owner's password alone opens with none
        if reader.is_encrypted and not reader.decrypt(""):
            return "encrypted"
        return next((why for one in _objects(reader) for why in _active(one)), "")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            if entry.filename.casefold().endswith((".xml", ".rels", ".vml", ".svg")):
                part = archive.read(entry).replace(b"\0", b"").upper()  # also in UTF-16
                if b"<!DOCTYPE" in part or b"<!ENTITY" in part:
                    return "type"
    return ""


def _objects(reader: Any) -> Iterator[Any]:
    """Yield every object of a PDF; those that cannot be read hold nothing that is read here."""
    for number in range(1, int(reader.trailer["/Size"])):
        try:
            yield reader.get_object(number)
        except Exception:  # noqa: S112  # a damaged object raises anything
            continue


def _active(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield what an object of a PDF runs or carries: scripts, programs, other files."""
    if isinstance(value, dict):
        if value.get("/S") in ("/JavaScript", "/Launch") or "/JS" in value:
            yield "script"
        if "/EF" in value or value.get("/Type") == "/EmbeddedFile" or "/EmbeddedFiles" in value:
            yield "files"
        inner: Any = value.values()
    else:
        inner = value if isinstance(value, list) else ()
    if depth < _DEPTH_MAX:
        for one in inner:
            if isinstance(one, dict | list):
                yield from _active(one, depth + 1)


def _pdf(content: bytes, pages: int) -> tuple[Iterator[str], int]:
    import pypdf

    reader = pypdf.PdfReader(io.BytesIO(content))
    total = len(reader.pages)
    return (reader.pages[number].extract_text() for number in range(min(total, pages))), total


def _docx(content: bytes) -> tuple[Iterator[str], None]:
    import docx
    from docx.table import Table

    def texts() -> Iterator[str]:
        for block in docx.Document(io.BytesIO(content)).iter_inner_content():
            if isinstance(block, Table):
                for row in block.rows:
                    yield " | ".join(cell.text for cell in row.cells)
            else:
                yield block.text

    return texts(), None


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
