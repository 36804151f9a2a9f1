"""Which formats there are, and which of them a file is in: by its content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from doxa.base.errors import InputError
from doxa.base.limits import DETECT_BYTES_READ
from doxa.imports.contract import FormatReader, ImportLog, ImportSource
from doxa.imports.readers.chats import CHATGPT, CLAUDE_AI
from doxa.imports.readers.claude_code import ClaudeCode
from doxa.imports.readers.codex import Codex
from doxa.imports.readers.cursor_editor import CursorEditor
from doxa.imports.readers.gemini import Gemini
from doxa.imports.readers.instructions import Instructions
from doxa.imports.readers.mem0 import Mem0
from doxa.imports.readers.memory_json import MemoryJson
from doxa.imports.readers.mempalace import MemPalace
from doxa.imports.readers.notes import Notes
from doxa.imports.readers.workspace import CLAUDE_MEMORY, HERMES, OPENCLAW
from doxa.ingestion.readers.sources import files_below, head

# In the order in which they are asked; the first that recognises a file reads it.
READERS: tuple[FormatReader, ...] = (
    Codex(),
    Gemini(),
    ClaudeCode(),
    CursorEditor(),
    CHATGPT,
    CLAUDE_AI,
    CLAUDE_MEMORY,
    HERMES,
    OPENCLAW,
    Instructions(),
    MemPalace(),
    MemoryJson(),
    Mem0(),
    Notes(),
)


def reader_of(name: str) -> FormatReader:
    """Return the reader of a format. Raises InputError."""
    for reader in READERS:
        if reader.name == name:
            return reader
    raise InputError(
        f"There is no format {name[:80]!r}.",
        next_step=f"Choose one of: {', '.join(one.name for one in READERS)}.",
        format=name[:80],
    )


def detect(path: Path) -> FormatReader | None:
    """Return the reader that recognises a file, or the first file of a folder; None if none
    does."""
    if path.is_dir():
        found = next(sources(path, ImportLog()), None)
        return None if found is None else found[0]
    start = head(path, DETECT_BYTES_READ)
    return next((one for one in READERS if one.recognises(path, start)), None)


def sources(
    place: Path,
    log: ImportLog,
    format: str | None = None,
    *,
    skip: Callable[[Path], bool] = lambda _: False,
    foreign: Callable[[Path], None] = lambda _: None,
) -> Iterator[tuple[FormatReader, ImportSource]]:
    """Yield every source at a place, ordered by path, with its reader: the file itself, or the
    files below a folder that a reader recognises. A file that cannot be opened is noted; one to
    `skip` is not opened, and `foreign` is called with one that no reader recognises."""
    named = None if format is None else reader_of(format)
    if not place.is_dir():
        reader = None if skip(place) else named or detect(place)
        if reader is not None:
            yield reader, ImportSource(place, place)
        return
    suffixes = named.suffixes if named else tuple({s for one in READERS for s in one.suffixes})
    for path in files_below(place, suffixes):
        if skip(path):
            continue
        try:
            start = head(path, DETECT_BYTES_READ)
        except InputError as error:
            log.skip(error.message)
            continue
        found = next(
            (
                one
                for one in ((named,) if named else READERS)
                if path.name.endswith(one.suffixes) and one.recognises(path, start)
            ),
            None,
        )
        if found is None:
            foreign(path)
        else:
            yield found, ImportSource(path, place)
