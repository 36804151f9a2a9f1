"""The result of a Cypher statement as it comes: a table, one JSON value, JSON lines or CSV.

Rows are written as they arrive and never held, however many there are; a table is set a thousand
rows at a time. Counts, counters and plans are printed under a table and inside the JSON value; with
JSON lines and CSV they go to standard error, so that the output is rows.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from doxa.cli.output import encoded
from doxa.cli.values import cypher_text, line_text, plain, plain_text

if TYPE_CHECKING:
    from doxa.app.results import GraphResult

FORMATS = ("table", "json", "jsonl", "csv")
_TABLE_ROWS = 1_000
_WIDE = 1_000_000  # no line of a file or pipe is folded


def write_result(result: GraphResult, form: str) -> None:
    """Write all rows of a result to standard output. Raises QueryError if the query fails while it
    runs; the first row is read before anything is written."""
    rows = iter(result)
    first = list(islice(rows, 1))
    _WRITERS[form](result, _chained(first, rows))


def notes_of(result: GraphResult, count: int) -> list[str]:
    """Return the lines below the rows: how many there are, what was changed, the plan."""
    changed = ", ".join(
        f"{name.replace('_', ' ')}: {number:,}"
        for name, number in result.counters.items()
        if number
    )
    plan = result.description()
    explained = (
        plan is not None and result.plan is not None and result.plan.statement.mode == "EXPLAIN"
    )
    lines = list(plan.lines()) if plan is not None else []
    if result.columns and not explained:
        lines.append(f"{count:,} row{'' if count == 1 else 's'}")
    return [*lines, *([changed] if changed else [] if lines else ["nothing changed"])]


def _table(result: GraphResult, rows: Iterator[tuple[Any, ...]]) -> None:
    count = 0
    for chunk in iter(lambda: list(islice(rows, _TABLE_ROWS)), []):
        print_table(result.columns, chunk)
        count += len(chunk)
    odd = [
        f"note: {one.title} {one.description} (line {one.line}, column {one.column})"
        for one in result.notices()
    ]
    sys.stdout.write("\n".join([*notes_of(result, count), *odd]) + "\n")


def print_table(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Print rows as a table to standard output."""
    sys.stdout.write(table_text(columns, rows))


def table_text(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Format rows as a table as wide as the terminal; for a file or pipe as wide as the rows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(Text(line_text(column)), overflow="fold")
    for row in rows:
        table.add_row(*[Text(cypher_text(value)) for value in row])
    console = Console(
        file=sys.stdout,
        width=None if sys.stdout.isatty() else _WIDE,
        markup=False,
        emoji=False,
        highlight=False,
    )
    with (
        console.capture() as set_
    ):  # and not printed: rich has an answer of its own to a reader that stops early
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in set_.get().splitlines())


def _json(result: GraphResult, rows: Iterator[tuple[Any, ...]]) -> None:
    write = sys.stdout.write
    write(f'{{"columns":{encoded(result.columns)},"rows":[')
    for number, row in enumerate(rows):
        write(("," if number else "") + encoded(plain(row)))
    counters = {name: number for name, number in result.counters.items() if number}
    write(f'],"counters":{encoded(counters)}')
    plan = result.description()
    notices = [
        {"title": one.title, "description": one.description, "line": one.line, "column": one.column}
        for one in result.notices()
    ]
    write(f',"notices":{encoded(notices)}' if notices else "")
    write((f',"plan":{encoded(plan.as_dict())}' if plan is not None else "") + "}")


def _json_lines(result: GraphResult, rows: Iterator[tuple[Any, ...]]) -> None:
    for row in rows:
        sys.stdout.write(encoded(dict(zip(result.columns, plain(row), strict=True))) + "\n")
    _aside(result)


def _csv(result: GraphResult, rows: Iterator[tuple[Any, ...]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if result.columns:
        writer.writerow(result.columns)
    for row in rows:
        writer.writerow([plain_text(value) for value in row])
    _aside(result)


def _aside(result: GraphResult) -> None:
    plan = result.description()
    if plan is not None or any(result.counters.values()):
        lines = notes_of(result, 0)
        sys.stderr.write("\n".join(line for line in lines if line != "0 rows") + "\n")


def _chained(
    first: list[tuple[Any, ...]], rows: Iterator[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    yield from first
    yield from rows


_WRITERS: dict[str, Callable[[GraphResult, Iterator[tuple[Any, ...]]], None]] = {
    "table": _table,
    "json": _json,
    "jsonl": _json_lines,
    "csv": _csv,
}
