"""LOAD CSV, limited to files in the folder that the database allows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import unquote, urlparse

from doxa.base.limits import IMPORT_LINE_BYTES_MAX, TEXT_BYTES_MAX
from doxa.query.core.errors import fail, shown
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate


class CsvStep:
    """LOAD CSV from a file in the allowed folder, never from the network."""

    def __init__(self, source: Evaluate, *, headers: bool, separator: str) -> None:
        self.source, self.headers, self.separator = source, headers, separator

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            path = allowed_file(self.source(row, run), run.csv_folder)
            with path.open(newline="", encoding="utf-8-sig") as file, _readable(path):
                run.csv_file = str(path)
                reader = csv.reader(_lines(file), delimiter=self.separator)
                names = next(reader, None) if self.headers else None
                for cells in reader:
                    run.tick()
                    run.csv_line = reader.line_num
                    values = [cell if cell != "" else None for cell in cells]
                    if names is None:
                        yield (*row, values)
                    else:
                        yield (
                            *row,
                            {
                                name: values[i] if i < len(values) else None
                                for i, name in enumerate(names)
                            },
                        )


def _lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a file. Raises csv.Error for overlong lines."""
    if (
        csv.field_size_limit() < TEXT_BYTES_MAX
    ):  # one setting for the process, so it is only ever raised
        csv.field_size_limit(TEXT_BYTES_MAX)
    while line := file.readline(IMPORT_LINE_BYTES_MAX + 1):
        if len(line) > IMPORT_LINE_BYTES_MAX:
            raise csv.Error(f"a line is longer than {IMPORT_LINE_BYTES_MAX:,} characters")
        yield line


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Translate failures of reading the file into the query's error."""
    try:
        yield
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        fail(
            f"{path.name} cannot be read as CSV in UTF-8: {error}.",
            kind="ArgumentError",
            detail="InvalidFile",
            hint="Correct or convert the file.",
        )


def allowed_file(name: Any, folder: str | None) -> Path:
    """Return the path of a file if it lies inside the allowed folder after following symbolic
    links."""
    if not isinstance(name, str):
        fail(f"LOAD CSV takes the name of a file, not {shown(name)}.")
    if folder is None:
        fail(
            "LOAD CSV is disabled: no folder is allowed.",
            kind="ArgumentError",
            detail="FileNotAllowed",
            hint="Open the database with csv_folder=….",
        )
    url = urlparse(name)
    if url.scheme not in ("", "file") or url.netloc not in ("", "localhost"):
        fail(
            f"LOAD CSV reads local files only, not {name!r:.80}.",
            kind="ArgumentError",
            detail="FileNotAllowed",
        )
    base = Path(folder).resolve()
    relative = unquote(url.path) if url.scheme else name
    try:
        path = (base / relative.lstrip("/")).resolve()
        allowed = path.is_relative_to(base) and path.is_file()
    except (OSError, ValueError):
        allowed = False
    if not allowed:
        fail(
            f"There is no file {name!r:.80} in the allowed folder.",
            kind="ArgumentError",
            detail="FileNotAllowed",
        )
    return path
