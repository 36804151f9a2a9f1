"""Steps that bring rows: UNWIND, LOAD CSV, OPTIONAL, UNION and CALL { }."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import unquote, urlparse

from doxa.base.errors import DoxaError
from doxa.base.limits import IMPORT_LINE_BYTES_MAX, TEXT_BYTES_MAX
from doxa.cypher import tree as t
from doxa.query.accesses import SEEN, WALKED, Origins, is_hidden
from doxa.query.errors import fail, shown
from doxa.query.evaluate import Evaluate, Row
from doxa.query.held import IN_A_SET, Held
from doxa.query.values import detach, group_key

if TYPE_CHECKING:
    from doxa.query.plan import Branch
    from doxa.query.run import Run

_BATCH_ROWS = 1_000  # as in Neo4j


class UnwindStep:
    """One row for each item; null gives none, a value that is no list gives itself."""

    def __init__(self, source: Evaluate) -> None:
        self.source = source

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            value = self.source(row, run)
            if value is None:
                continue
            for item in value if isinstance(value, list) else (value,):
                run.tick()
                yield (*row, item)


class OptionalStep:
    """Runs steps for each row; a row that finds nothing goes on with nulls."""

    def __init__(self, steps: list[Any], width: int) -> None:
        self.steps = steps
        self.nulls = (None,) * width

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            inner: Iterator[Row] = iter((row,))
            for step in self.steps:
                inner = step.rows(run, inner)
            found = False
            for one in inner:
                found = True
                yield one
            if not found:
                yield (*row, *self.nulls)


class UnionStep:
    """The branches one after the other, columns in the first branch's order behind the kept slots."""

    def __init__(
        self, branches: list[Branch], *, every: bool, keep: int, spread: bool = False
    ) -> None:
        """`spread`: hidden columns stay as they are; else two follow the others, one of all that
        was returned and one of what was passed through."""
        self.branches = branches
        self.every = every
        self.keep = keep
        self.names = tuple(name for name in branches[0].columns if not is_hidden(name))
        self.hidden = any(is_hidden(name) for branch in branches for name in branch.columns)
        self.spread = spread
        self.seen = (
            sum(name.startswith(SEEN) for name in branches[0].columns)
            if spread
            else int(self.hidden)
        )
        self.width = len(self.names) + (2 if self.hidden else 0)
        self._places = [self._place(branch) for branch in branches]

    def _place(self, branch: Branch) -> tuple[list[int], list[int], list[int], bool]:
        """Where a branch has its columns, what was returned and what was passed through; and
        whether its rows are as they should be."""
        slots = [branch.columns[name] for name in self.names]
        seen, walked = (
            [slot for name, slot in branch.columns.items() if name.startswith(kind)]
            for kind in (SEEN, WALKED)
        )
        order = [*slots, *seen, *walked]
        return (
            slots,
            seen,
            walked,
            (self.spread or not self.hidden)
            and order == list(range(self.keep, self.keep + len(order))),
        )

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        if len(self.branches) == 1:
            return self._branch(run, source, 0)
        return self._all(run, source)

    def _branch(self, run: Run, source: Iterator[Row], number: int) -> Iterator[Row]:
        rows = self.branches[number].rows(run, source)
        slots, seen, walked, straight = self._places[number]
        keep = self.keep
        if straight:
            return rows
        if self.hidden and not self.spread:
            behind = seen, walked
            return (
                (
                    *row[:keep],
                    *[row[slot] for slot in slots],
                    *[Origins(row[slot] for slot in one) for one in behind],
                )
                for row in rows
            )
        return ((*row[:keep], *[row[slot] for slot in (*slots, *seen, *walked)]) for row in rows)

    def _all(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            seen: set[Any] = set()
            held = Held("distinct rows")
            for number in range(len(self.branches)):
                for found in self._branch(run, iter((row,)), number):
                    if not self.every:
                        key = tuple(
                            [
                                group_key(value)
                                for value in found[self.keep : self.keep + len(self.names)]
                            ]
                        )
                        if key in seen:
                            continue
                        held.row(key, extra=IN_A_SET)
                        seen.add(key)
                    yield found


class SubqueryStep:
    """CALL { … } for each row. Without columns it runs for its effect, and the row goes on once."""

    def __init__(
        self, union: UnionStep, *, writes: bool, batch: t.Batch | None, batch_rows: Evaluate | None
    ) -> None:
        self.union = union
        self.writes = writes
        self.batch = batch
        self.batch_rows = batch_rows

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        if self.batch is not None:
            return self._batched(run, run.whole(source), self.batch)
        if self.writes:
            return iter(
                run.whole(found for row in run.whole(source) for found in self._one(run, row))
            )
        return (found for row in source for found in self._one(run, row))

    def _batched(self, run: Run, rows: list[Row], batch: t.Batch) -> Iterator[Row]:
        """IN TRANSACTIONS: a transaction for each batch of rows. What a failed one wrote is gone,
        what others wrote stays."""
        if run.batches is None:
            fail(
                "CALL { } IN TRANSACTIONS needs a statement of its own, outside of any"
                " transaction.",
                kind="TransactionError",
                detail="Nested",
            )
        size = _BATCH_ROWS if self.batch_rows is None else self.batch_rows((), run)
        if type(size) is not int or size < 1:
            fail(
                f"A batch has at least one row, not {shown(size)}.",
                kind="ArgumentError",
                detail="InvalidArgumentValue",
            )
        stopped = False
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            found, error = ([], None) if stopped else self._batch(run, chunk, batch)
            if stopped or error is not None:
                nulls = (None,) * self.union.width
                found = [(*row, *nulls) for row in chunk]
            if batch.report is not None:
                status = {
                    "started": not stopped,
                    "committed": not stopped and error is None,
                    "transactionId": None,
                    "errorMessage": error,
                }
                found = [(*row, status) for row in found]
            yield from found
            stopped = stopped or (error is not None and batch.on_error == "BREAK")

    def _batch(self, run: Run, chunk: list[Row], batch: t.Batch) -> tuple[list[Row], str | None]:
        assert run.batches is not None
        try:
            found = [
                tuple([detach(value) for value in one])
                for row in chunk
                for one in self._one(run, row)
            ]
            run.batches.commit()
            return found, None
        except DoxaError as error:
            if batch.on_error == "FAIL":
                raise
            run.batches.abandon()
            return [], error.message

    def _one(self, run: Run, row: Row) -> Iterator[Row]:
        with run.outer(row):
            found = self.union.rows(run, iter((row,)))
            if not self.union.names:
                for _ in found:
                    pass
                yield row
                return
            if self.writes:
                yield from run.whole(found)
            else:
                yield from found


class CsvStep:
    """LOAD CSV from a file inside the folder that the database allows; never from the network."""

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
    """The lines of a file, none of them longer than one that can be meant."""
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
    """A file that is no CSV, told as a query's error."""
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
    """The path of a file named by a query, if it lies inside the allowed folder, symbolic links
    followed."""
    if not isinstance(name, str):
        fail(f"LOAD CSV takes the name of a file, not {shown(name)}.")
    if folder is None:
        fail(
            "LOAD CSV is off: no folder is allowed.",
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
