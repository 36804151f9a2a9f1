"""Detect the format of a conversation history and read it. Start here.

    path --detect--> format --reader--> Turn, Turn, Turn ...

A ReadReport collects counts, skipped parts and session titles.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from doxa.base.errors import InputError
from doxa.base.limits import DETECT_BYTES_READ, DETECT_LINES_READ
from doxa.ingestion.readers.chatgpt import read_chatgpt
from doxa.ingestion.readers.claude_ai import read_claude_ai
from doxa.ingestion.readers.doxa_jsonl import read_doxa_jsonl
from doxa.ingestion.readers.locomo import read_locomo
from doxa.ingestion.readers.sources import (
    EXPORT_START,
    ReadReport,
    decode,
    document_heads,
    files_below,
    head,
    is_document,
    is_zip,
)
from doxa.language.turns import Turn

FORMATS = {
    "doxa-jsonl": "doxa JSONL (one object per line: thread, session, speaker, text)",
    "chatgpt": "ChatGPT export (conversations.json, its folder or its zip)",
    "claude-ai": "Claude.ai export (conversations.json, its folder or its zip)",
    "locomo": "LoCoMo JSON",
}

# Those that the package `imports` does not read.
OTHERS = frozenset(("doxa-jsonl", "locomo"))

# The history of a person's own account, as the product keeps it: who is the user is known.
OWN_FORMATS = frozenset(("chatgpt", "claude-ai"))

_KEY = re.compile(rb'(?<!\\)"(mapping|chat_messages|sample_id|conversation|qa)"\s*:')
_FORMAT_OF_KEY = {
    b"mapping": "chatgpt",
    b"chat_messages": "claude-ai",
    b"sample_id": "locomo",
    b"conversation": "locomo",
    b"qa": "locomo",
}
_SUFFIXES = (".json", ".jsonl", ".zip")
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read(
    path: str | Path,
    format: str | None = None,
    *,
    report: ReadReport | None = None,
    only: Collection[str] = FORMATS.keys(),
) -> Iterator[Turn]:
    """Yield the turns of a history in order, updating `report` along the way. `only`: of a folder,
    the files of these formats.

    Raises InputError at once for an unknown format, and during iteration for content that cannot be
    read in the format or if every part of it was skipped.
    """
    place = Path(path)
    name = detect(place, only) if format is None else format
    if name not in FORMATS:
        raise InputError(
            f"There is no format {name[:80]!r}.",
            next_step=f"Choose one of: {', '.join(FORMATS)}.",
            format=name,
        )
    report = ReadReport() if report is None else report
    files = (
        (
            (found, file)
            for found, file in _formats_below(place, report, default=name)
            if found in only
        )
        if format is None and place.is_dir()
        else iter([(name, place)])
    )
    return _counted(place, name, files=files, report=report)


def _counted(
    path: Path,
    name: str,
    *,
    files: Iterator[tuple[str, Path]],
    report: ReadReport,
) -> Iterator[Turn]:
    found = False
    for format, file in files:
        try:
            for turn in _reader(file, format, report=report):
                report.format = format
                report.turns += 1
                found = True
                yield turn
        except InputError as error:
            if file == path:
                raise
            report.skip(error.message)  # one unreadable file must not block the others
    if not found and report.skipped:
        raise InputError(
            f"{path} contains nothing in the format {name}: {report.skipped} parts were skipped,"
            f" first {report.places[0]}.",
            next_step=f"Name the right format: {', '.join(FORMATS)}.",
            path=str(path),
            skipped=report.skipped,
        )


def _reader(path: Path, name: str, *, report: ReadReport) -> Iterator[Turn]:
    if name == "doxa-jsonl":
        return read_doxa_jsonl(path)
    if name == "locomo":
        return read_locomo(path)
    return (
        read_chatgpt(path, report=report)
        if name == "chatgpt"
        else read_claude_ai(path, report=report)
    )


def _formats_below(root: Path, report: ReadReport, *, default: str) -> Iterator[tuple[str, Path]]:
    """Yield (format, file) of every history below a folder, ordered by path: each file by its own
    format, and one that is named like an export's conversations at least by the default one. A file
    that is not a history is passed over; one that cannot be read is reported."""
    for file in files_below(root, _SUFFIXES):
        try:
            found = _detect_documents(file) if is_zip(file) else _detect_file(file)
        except InputError as error:
            report.skip(error.message)
            continue
        found = found or (default if is_document(file) else None)
        if found is not None:
            yield found, file


def detect(path: str | Path, only: Collection[str] = FORMATS.keys()) -> str:
    """Detect the format from the content of the files, not from their names: of a folder, that of
    its first history in one of these formats. Raises InputError with the supported formats."""
    place = Path(path)
    if place.is_dir():
        found = _detect_folder(place, only)
    elif is_zip(place):
        found = _detect_documents(place)
    else:
        found = _detect_file(place)
    if found is None or found not in only:
        raise InputError(
            f"{place} is not in a supported format: {'; '.join(FORMATS.values())}.",
            next_step="Give one of these, or name the format.",
            path=str(place),
            formats=list(FORMATS),
        )
    return found


def _detect_documents(path: Path) -> str | None:
    return next(
        (
            found
            for start in document_heads(path, DETECT_BYTES_READ)
            if (found := _format_of_document(start))
        ),
        None,
    )


def _detect_folder(path: Path, only: Collection[str]) -> str | None:
    for file in files_below(path, _SUFFIXES):
        with suppress(InputError):  # an unreadable file says nothing about the others
            found = _detect_documents(file) if is_zip(file) else _detect_file(file)
            if found in only:
                return found
    return None


def refuse_export(path: Path) -> bytes:
    """Return the start of a file; raise InputError if it is an export of doxa."""
    start = head(path, DETECT_BYTES_READ).lstrip()
    if EXPORT_START.match(start):
        raise InputError(
            f"{path} is an export of doxa, not a conversation.",
            next_step="Read it with `doxa import` or Memory.import_.",
            path=str(path),
        )
    return start


def _detect_file(path: Path) -> str | None:
    start = refuse_export(path)
    if not start.startswith((b"{", b"[")):
        return None
    return (_format_of_lines(start) if start.startswith(b"{") else None) or _format_of_document(
        start
    )


def _format_of_document(start: bytes) -> str | None:
    match = _KEY.search(start)
    return _FORMAT_OF_KEY[match.group(1)] if match else None


def _format_of_lines(start: bytes) -> str | None:
    for line in start.split(b"\n", DETECT_LINES_READ)[:DETECT_LINES_READ]:
        try:
            keys = decode(_object, line).keys()
        except ValueError:
            continue
        if {"thread", "speaker", "text"} <= keys:
            return "doxa-jsonl"
    return None
