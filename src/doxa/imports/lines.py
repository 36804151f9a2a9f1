"""Files of lines that another program appends to, read from any position.

A last line without its end is given as such: its writer may be at work on it. It is read, if it can
be, and read again next time, since the position stays before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from doxa.base import limits
from doxa.imports.contract import Position
from doxa.ingestion.readers.sources import BOM, open_file, read_line


class Line(NamedTuple):
    """One line: its number from 1, its bytes (None: it is longer than the limit), where the next
    one begins, and whether it has its end."""

    number: int
    data: bytes | None
    end: int
    ended: bool


def lines_after(path: Path, start: Position) -> Iterator[Line]:
    """Yield the lines of a file from a position on; lines that are blank only count. Raises
    InputError for a file that cannot be read."""
    with open_file(path) as file:
        file.seek(start.offset)
        number, end = start.line, start.offset
        while data := read_line(path, file):
            number += 1
            end += len(data)
            if len(data) > limits.IMPORT_LINE_BYTES_MAX:
                ended, passed = _pass_over(path, file, data)
                end += passed
                yield Line(number, None, end, ended)
                continue
            if number == 1:
                data = data.removeprefix(BOM)
            if not data.isspace():
                yield Line(number, data, end, data.endswith(b"\n"))


def _pass_over(path: Path, file: IO[bytes], data: bytes) -> tuple[bool, int]:
    """Read up to the end of a line that is too long; returns whether it has one, and how many bytes
    that were."""
    passed = 0
    while data and not data.endswith(b"\n"):
        data = read_line(path, file)
        passed += len(data)
    return bool(data), passed
