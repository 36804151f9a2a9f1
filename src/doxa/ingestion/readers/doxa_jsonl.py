"""Read doxa's own transcript format, for histories that no other reader supports.

One JSON object per line in UTF-8. Blank lines are allowed, fields may come in any order, and
unknown fields are rejected, so that a misspelt "time" is noticed:

    {"thread": "atlas", "session": "2026-03-02", "speaker": "Ana", "text": "We ship on Friday.",
     "role": "person", "time": "2026-03-02T14:00:00Z", "id": "m1", "caption": ""}

    thread    text, required    the lasting scope (a project, a channel)
    session   text, required    one conversation within it
    speaker   text, required    the author of the message
    text      text, required    the message
    role      user | assistant | system | tool | person (default)
    time      ISO 8601, no zone = UTC; null or absent = unknown
    id        the id in the source, default ""
    caption   what a shared picture shows, default ""
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from doxa.base import limits
from doxa.base.clock import parse_time
from doxa.base.errors import InputError, LimitError
from doxa.ingestion.readers.sources import clean, decode, lines
from doxa.language.turns import Turn, TurnRole


class _DoxaJsonlLine(msgspec.Struct, forbid_unknown_fields=True):
    thread: str
    session: str
    speaker: str
    text: str
    role: TurnRole = "person"
    time: str | None = None
    id: str = ""
    caption: str = ""


_decoder = msgspec.json.Decoder(_DoxaJsonlLine)


def read_doxa_jsonl(path: Path) -> Iterator[Turn]:
    """Yield the turns in the order of the lines. Raises InputError with file and line at the first
    invalid line."""
    for number, line in lines(path):
        if line is None:
            raise LimitError(
                f"{path}, line {number}, is longer than {limits.IMPORT_LINE_BYTES_MAX:,} bytes.",
                next_step="Split that message into several lines.",
                path=str(path),
                line=number,
            )
        try:
            record = decode(_decoder, line)
            time_ns = None if record.time is None else parse_time(record.time)
        except (ValueError, InputError) as error:
            reason = error.message if isinstance(error, InputError) else str(error)
            raise InputError(
                f"{path}, line {number}: {reason}",
                next_step=(
                    "Correct that line; each line is one object with thread, session, speaker and"
                    " text."
                ),
                path=str(path),
                line=number,
            ) from None
        yield Turn(
            thread=clean(record.thread),
            session=clean(record.session),
            speaker=clean(record.speaker),
            role=record.role,
            text=clean(record.text),
            time_ns=time_ns,
            source_id=clean(record.id),
            caption=clean(record.caption),
        )
