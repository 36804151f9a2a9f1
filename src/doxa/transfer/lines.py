"""The lines of an export, one JSON object each, and how they are read: as a stream, within limits,
each mistake named by its line.

    {"type": "doxa-export", "format": 2, "time": ns, "last_node": id, "last_edge": id}
    {"type": "rule", "name", "value"}                                         by name
    {"type": "node", "id", "labels", "properties", "born", "since", "until"}
    {"type": "edge", "id", "edge", "source", "target", "properties", "born", "since", "until"}
    {"type": "access", "element": "node" | "edge", "id", "data"}
    {"type": "end", "lines", "sha256"}                                        of all lines above

In this order; nodes and edges by id, each with all its versions, oldest first. A version without
`until` is the live one. Times are ns since 1970, properties are in their stored form
(base/values.py). Equal states give equal lines. docs/reference/export-format.md explains each line.

Format 1 (beliefs.py) held beliefs and conversations only; it is still read.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import msgspec

from doxa.base.clock import TIME_MAX
from doxa.base.errors import DoxaError, InputError, LimitError
from doxa.base.limits import EXPORT_BYTES_MAX, IMPORT_LINE_BYTES_MAX
from doxa.base.values import Properties, check_properties, decode_properties
from doxa.ingestion.readers.sources import EXPORT_START, refuse_other_encodings
from doxa.store import AccessData

FORMAT = 2
_START_BYTES = 256
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_ID_MAX = 10**15

_Id = Annotated[int, msgspec.Meta(ge=1, le=_ID_MAX)]
_LastId = Annotated[int, msgspec.Meta(ge=0, le=_ID_MAX)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=TIME_MAX)]


class AnyHeader(msgspec.Struct, tag="doxa-export"):
    """The first line of every format."""

    format: int


class Header(msgspec.Struct, tag="doxa-export", forbid_unknown_fields=True):
    """The latest system time of the state, and the last ids that were given."""

    format: int
    time: _Time
    last_node: _LastId
    last_edge: _LastId


class RuleLine(msgspec.Struct, tag="rule", forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=4_096)]
    value: Any


class NodeLine(msgspec.Struct, tag="node", forbid_unknown_fields=True):
    id: _Id
    labels: list[str]
    properties: msgspec.Raw
    born: _Time
    since: _Time
    until: _Time | None = None
    project: str | None = None


class EdgeLine(msgspec.Struct, tag="edge", forbid_unknown_fields=True):
    id: _Id
    edge: str
    source: _Id
    target: _Id
    properties: msgspec.Raw
    born: _Time
    since: _Time
    until: _Time | None = None
    project: str | None = None


class AccessLine(msgspec.Struct, tag="access", forbid_unknown_fields=True):
    element: Literal["node", "edge"]
    id: _Id
    data: AccessData


class EndLine(msgspec.Struct, tag="end", forbid_unknown_fields=True):
    """A file that another program writes may leave both out."""

    lines: int = 0
    sha256: str = ""


Line = RuleLine | NodeLine | EdgeLine | AccessLine
_decoder = msgspec.json.Decoder(Line | EndLine)
_any_header = msgspec.json.Decoder(AnyHeader)
_header = msgspec.json.Decoder(Header)
_ORDER = (RuleLine, NodeLine, EdgeLine, AccessLine, EndLine)
_UNREADABLE = (ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)


class ExportFile:
    """An export on the disk, plain or compressed with gzip, to be read any number of times. Raises
    InputError if it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digest = ""  # of all lines above its end, once it was read to there
        self._above = ""
        number, first = next(self.lines(), (1, b""))
        if EXPORT_START.match(first) is None:
            raise InputError(
                f"{path} is not an export of doxa.",
                next_step="Read a conversation with ingest or `doxa import`.",
                path=str(path),
            )
        try:
            self.format = _any_header.decode(first).format
            self.header = _header.decode(first) if self.format == FORMAT else None
        except (ValueError, RecursionError) as error:
            raise self.invalid(number, str(error)) from None
        if self.format not in (1, FORMAT):
            raise self.invalid(
                number, f"format {self.format} is not 1 or {FORMAT}; another doxa wrote it"
            )

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (number from 1, bytes) of every line that is not blank."""
        sha = hashlib.sha256()
        read = number = 0
        with opened(self.path) as file:
            while line := self._line(file, number + 1):
                number += 1
                read += len(line)
                if number == 1:
                    line = line.removeprefix(_BOM)
                if len(line) > IMPORT_LINE_BYTES_MAX:
                    raise self.invalid(
                        number, f"the line is longer than {IMPORT_LINE_BYTES_MAX:,} bytes"
                    )
                if read > EXPORT_BYTES_MAX:
                    raise self.invalid(
                        number, f"the file holds more than {EXPORT_BYTES_MAX:,} bytes"
                    )
                self._above = sha.hexdigest()
                sha.update(line)
                if not line.isspace():
                    yield number, line

    def elements(self) -> Iterator[tuple[int, Line]]:
        """Yield (number, line) of all lines between the header and the end, in their order, of a
        file of the present format. Raises InputError naming the line."""
        place, last, number = 0, None, 1
        lines = self.lines()
        next(lines)
        for number, line in lines:
            if last is not None:
                raise self.invalid(number, "it comes after the end of the export")
            try:
                value = _decoder.decode(line)
            except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
                raise self.invalid(number, str(error)) from None
            rank = _ORDER.index(type(value))
            if rank < place:
                raise self.invalid(number, "rules, nodes, edges and accesses come in this order")
            place = rank
            if isinstance(value, EndLine):
                last, self.digest = value, self._above
                if (value.lines and value.lines != number - 1) or (
                    value.sha256 and value.sha256 != self._above
                ):
                    raise self.invalid(
                        number, "the lines above are not those that were exported: check the copy"
                    )
            else:
                yield number, value
        if last is None:
            raise self.invalid(number, "the end of the export is missing: it was cut off")

    def invalid(self, number: int, reason: str) -> InputError:
        return InputError(
            f"{self.path}, line {number}, cannot be read: {reason[:1_000]}.",
            next_step="Export again, or correct that line.",
            path=str(self.path),
            line=number,
        )

    def _line(self, file: IO[bytes], number: int) -> bytes:
        try:
            return file.readline(IMPORT_LINE_BYTES_MAX + 1)
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise self.invalid(number, reason) from None


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a regular file, compressed or not. Raises InputError or LimitError."""
    try:
        if not path.is_file():
            raise InputError(
                f"{path} is not a file.",
                next_step="Give the path of an exported file.",
                path=str(path),
            )
        file = path.open("rb")
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be opened: {getattr(error, 'strerror', None) or error}.",
            next_step="Check the path and its permissions.",
            path=str(path),
        ) from None
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > EXPORT_BYTES_MAX:
            raise LimitError(
                f"{path} has {size:,} bytes; the limit is {EXPORT_BYTES_MAX:,}.",
                next_step="Copy the memory with `doxa backup` instead.",
                path=str(path),
                size_bytes=size,
                limit_bytes=EXPORT_BYTES_MAX,
            )
        start = file.read(4)
        file.seek(0)
        refuse_other_encodings(str(path), start)
        if start.startswith(_GZIP):
            with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield file


def is_export(path: Path) -> bool:
    """Return whether a file starts like an export of doxa."""
    try:
        if not path.is_file():
            return False
        with opened(path) as file:
            return EXPORT_START.match(file.read(_START_BYTES).removeprefix(_BOM)) is not None
    except (DoxaError, OSError, EOFError, ValueError, zlib.error):
        return False


def read_properties(raw: bytes, *, owner: str) -> Properties:
    """Decode properties in the stored form, in which a date, a point or bytes is an object with one
    key (base/values.py). Raises InputError or LimitError."""
    try:
        values = decode_properties(raw.decode())
        if b'{"$' in raw:
            for value in values.values():
                for one in value if isinstance(value, list) else (value,):
                    _check_printable(one)
    except _UNREADABLE as error:
        raise InputError(
            f"the properties are unreadable ({str(error)[:200]})",
            next_step="Export again, or correct that line.",
        ) from None
    if not isinstance(values, dict):
        raise InputError(
            "the properties are not an object", next_step="Export again, or correct that line."
        )
    return check_properties(values, owner=owner)


def _check_printable(value: object) -> None:
    """A value that cannot be printed, or has parts of other types or beyond 64 bits, is invalid."""
    if isinstance(value, msgspec.Struct):
        msgspec.convert(msgspec.structs.asdict(value), type(value))
        for part in msgspec.structs.astuple(value):
            if isinstance(part, int) and abs(part) > TIME_MAX:
                raise ValueError("a number beyond 64 bits")
    str(value)
