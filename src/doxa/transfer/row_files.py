"""Files of rows: CSV with a header, JSON lines, and Parquet.

A column of CSV is text, unless its header says otherwise: `age:int`, `height:float`, `tall:bool`.
What is empty is absent. A line of JSON is an object, whose values are taken as they are. Parquet is
read by `parquet_rows.py`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from io import BytesIO, StringIO
from itertools import chain, islice, repeat, takewhile
from operator import not_
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec

from doxa.base.errors import InputError
from doxa.base.limits import IMPORT_LINE_BYTES_MAX, TEXT_BYTES_MAX
from doxa.transfer.parquet_rows import DamagedRows, parquet_rows

if TYPE_CHECKING:
    import _csv

_BLOCK_BYTES = 256 * 1024
_BOOLEANS = {"true": True, "false": False}
_TYPES: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "bool": _BOOLEANS.__getitem__,
    "string": str,
}
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson", ".json")
_PARQUET = (".parquet", ".pq")
_ENDINGS = (*_SEPARATORS, *_JSON[:2], _PARQUET[0])


class _BadLine(Exception):
    """A line that is not text, or too long."""


class _Table(NamedTuple):
    """The names and types of columns, and the reader of the rows under them."""

    names: list[str]
    types: list[Callable[[str], Any]]
    reader: _csv.Reader


class Columns(NamedTuple):
    """Some rows: the values of some columns, None where they are absent, and the rest of each."""

    values: dict[str, list[Any]]
    rest: list[dict[str, Any]]


class RowFile:
    """The rows of one file, in order. `count` and `digest` are of the rows read so far."""

    def __init__(self, path: Path) -> None:
        """Raises InputError for a file that is of no known kind or cannot be read."""
        self.path = path
        self.count = 0
        self._hash = sha256()
        self._read: list[bytes] = []  # lines that are not in the digest yet,
        self._used = 0  # and how many of them belong to rows that were read
        self._hashed = 0  # how many lines are in the digest
        self._table: _Table | None = None  # of a file of columns
        kind = path.suffix.lower()
        if kind not in (*_SEPARATORS, *_JSON, *_PARQUET):
            raise InputError(
                f"{path.name} is not a file of rows that doxa reads.",
                next_step=f"Give one that ends in {', '.join(_ENDINGS)}.",
                field="path",
            )
        try:
            if path.exists() and not path.is_file():  # opening a pipe waits for its writer
                raise InputError(
                    f"{path} is not a file.",
                    next_step="Give the path of a file, which can be read again.",
                    field="path",
                )
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise InputError(
                f"{path} cannot be read: {error.strerror}.",
                next_step="Give the path of a file that you may read.",
                field="path",
            ) from error
        self._separator = _SEPARATORS.get(kind, "")
        if kind in _PARQUET:
            self._rows = self._tables()
        else:
            self._rows = self._objects() if kind in _JSON else self._columns()

    @property
    def digest(self) -> str:
        self._hash.update(b"".join(self._read[: self._used]))
        del self._read[: self._used]
        self._hashed, self._used = self._hashed + self._used, 0
        return self._hash.hexdigest()

    def close(self) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._rows

    def rows_at_once(self, most: int) -> list[dict[str, Any]]:
        """Read the next rows, no more than so many; none at the end."""
        return self.columns_at_once(most, ()).rest

    def columns_at_once(self, most: int, apart: Sequence[str]) -> Columns:
        """Read the next rows, no more than so many, with these columns apart from the others."""
        if not self._separator:
            return _apart(list(islice(self._rows, most)), apart)
        names, types, _ = self._begun()
        values = self._values(most)
        try:
            columns = [
                column if convert is str else list(map(convert, column))
                for convert, column in zip(types, zip(*values, strict=True), strict=bool(values))
            ]
            if any("" in column for column in columns):
                raise ValueError
        except (ValueError, KeyError):  # of another width, with absent values, or not to be read
            return _apart([self._row(one) for one in values], apart)
        self.count += len(values)
        named = dict(zip(names, columns, strict=bool(values)))
        given = {name: list(named.pop(name, repeat(None, len(values)))) for name in apart}
        if not named:
            return Columns(given, [{} for _ in values])
        left = tuple(named)
        rest = [dict(zip(left, row, strict=True)) for row in zip(*named.values(), strict=True)]
        return Columns(given, rest)

    def refuse(self, reason: str, *, before: int = 0) -> InputError:
        """Return the error for the row that was read last, or the one so many before it."""
        row = self.count - before
        return InputError(
            f"Row {row:,} of {self.path.name}: {reason}.",
            next_step="Correct the row, and load the file again: it goes on where it stopped.",
            field="path",
            row=row,
        )

    def _lines(self) -> Iterator[str]:
        return chain.from_iterable(self._blocks())

    def _blocks(self) -> Iterator[list[str]]:
        """The lines of the file, with their ends, some at a time. Only a line feed ends a line."""
        encoding = "utf-8-sig"  # of the first block
        while block := self._file.read(_BLOCK_BYTES):
            if not block.endswith(b"\n"):
                block += self._file.readline(IMPORT_LINE_BYTES_MAX + 1)
            bad = ""
            if len(block) > IMPORT_LINE_BYTES_MAX:
                start = 0
                for line in BytesIO(block):
                    if len(line) > IMPORT_LINE_BYTES_MAX:
                        block, bad = block[:start], f"longer than {IMPORT_LINE_BYTES_MAX:,} bytes"
                        break
                    start += len(line)
            try:
                text = block.decode(encoding)
            except UnicodeDecodeError as error:
                marked = len(block) - len(error.object)  # by a mark of byte order, left out
                start = block.rfind(b"\n", 0, marked + error.start) + 1
                block, bad = block[:start], "not UTF-8"
                text = block.decode(encoding)
            encoding = "utf-8"
            self._read += BytesIO(block)
            yield StringIO(text, newline="\n").readlines()
            if bad:
                raise _BadLine(f"it is {bad}")

    def _objects(self) -> Iterator[dict[str, Any]]:
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        try:
            for number, line in enumerate(self._lines(), 1):
                if not line.strip():
                    continue
                self.count += 1
                self._used = number - self._hashed  # lines before this one that are empty, too
                try:
                    row = decode(line)
                except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
                    raise self.refuse("it is not a JSON object") from None
                yield {name: value for name, value in row.items() if value is not None}
        except _BadLine as error:
            self.count += 1
            raise self._refused(error) from None

    def _tables(self) -> Iterator[dict[str, Any]]:
        """The digest is of the rows: a file that has grown has other bytes from its beginning."""
        encode = msgspec.json.Encoder(enc_hook=repr, order="sorted").encode
        rows = parquet_rows(self._file, self.path.name)
        try:
            for row in rows:
                self.count += 1
                self._read.append(encode(row))
                self._used += 1
                yield row
        except DamagedRows as error:
            self.count += 1
            raise self.refuse(str(error)) from None

    def _columns(self) -> Iterator[dict[str, Any]]:
        while values := self._values(1):
            yield self._row(values[0])

    def _begun(self) -> _Table:
        """The columns of the header, which is read first, and the reader of what follows it."""
        if self._table is None:
            if csv.field_size_limit() < TEXT_BYTES_MAX:  # one setting for the process
                csv.field_size_limit(TEXT_BYTES_MAX)
            reader = csv.reader(self._lines(), delimiter=self._separator, strict=True)
            try:
                header = next(reader, [])
            except (csv.Error, _BadLine) as error:
                self.count += 1
                raise self._refused(error) from None
            self._table = _Table(*self._header(header), reader)
            self._used = reader.line_num
        return self._table

    def _values(self, most: int) -> list[list[str]]:
        """Read the texts of the next rows, which are not counted yet."""
        reader, found = self._begun().reader, list[list[str]]()
        try:
            while len(found) < most:
                some: list[list[str]] = []
                try:
                    some.extend(islice(reader, most - len(found)))
                finally:
                    found += filter(None, some)  # without empty lines
                if not some:
                    break
                if any(some):
                    after = sum(1 for _ in takewhile(not_, reversed(some)))
                    self._used = reader.line_num - after - self._hashed
        except (csv.Error, _BadLine) as error:
            for one in found:
                self._row(one)  # which may be refused before it
            self.count += 1
            raise self._refused(error) from None
        return found

    def _refused(self, error: Exception) -> InputError:
        return self.refuse(
            f"it is not CSV: {error}" if isinstance(error, csv.Error) else str(error)
        )

    def _row(self, values: list[str]) -> dict[str, Any]:
        """Count a row and return its values, without absent ones."""
        self.count += 1
        names, types, _ = self._begun()
        if len(values) != len(names):
            raise self.refuse(f"it has {len(values)} values and the header {len(names)}")
        row: dict[str, Any] = {}
        for name, convert, value in zip(names, types, values, strict=True):
            if value:
                try:
                    row[name] = convert(value)
                except (ValueError, KeyError):
                    raise self.refuse(f"{value[:40]!r} is not the type of {name}") from None
        return row

    def _header(self, columns: list[str]) -> tuple[list[str], list[Callable[[str], Any]]]:
        names, types = [], []
        for column in columns:
            name, _, kind = column.rpartition(":") if ":" in column else (column, "", "string")
            if not name or kind not in _TYPES or name in names:
                raise InputError(
                    f"The header of {self.path.name} has a column {column[:80]!r} that cannot be"
                    " used.",
                    next_step=f"Name each column once, with a type of {', '.join(_TYPES)} or none.",
                    field="path",
                )
            names.append(name)
            types.append(_TYPES[kind])
        return names, types


def _apart(rows: list[dict[str, Any]], names: Sequence[str]) -> Columns:
    return Columns({name: [row.pop(name, None) for row in rows] for name in names}, rows)
