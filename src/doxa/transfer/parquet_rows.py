"""The rows of a Parquet file, whose columns have the types that the file says.

pyarrow reads it, in batches of rows, and is imported when the first such file is opened. Numbers,
texts, truth values, bytes and lists are taken as they are; dates and times become those of Cypher.
What has no place in a property (a structure, a decimal) is refused where it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from doxa.base.errors import InputError
from doxa.base.temporal_python import from_python

_ROWS_AT_ONCE = 5_000


class DamagedRows(Exception):
    """Rows that cannot be read, and why."""


def parquet_rows(file: BinaryIO, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of an open file, without nulls. Raises InputError if it is of another format
    or pyarrow is not installed, and DamagedRows for rows that are damaged or of no known type."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise InputError(
            f"{name} is a Parquet file, which pyarrow reads, and that is not installed.",
            next_step="Install doxa-memory[parquet], or write the rows as CSV or JSON lines.",
            field="path",
        ) from None
    try:
        table = ParquetFile(file)
        names = table.schema_arrow.names
    except (ArrowException, OSError) as error:
        raise InputError(
            f"{name} is not a Parquet file that can be read: {_first_line(error)}.",
            next_step="Write it again.",
            field="path",
        ) from None
    twice = next((one for at, one in enumerate(names) if one in names[:at]), None)
    if twice is not None or "" in names:
        raise InputError(
            f"{name} has a column {twice or ''!r:.80} that cannot be used.",
            next_step="Name each column once.",
            field="path",
        )
    return _rows(table, (ArrowException, OSError, ValueError, ArithmeticError))


def _rows(table: Any, failures: tuple[type[Exception], ...]) -> Iterator[dict[str, Any]]:
    batches = table.iter_batches(batch_size=_ROWS_AT_ONCE, use_threads=False)
    while True:
        try:
            batch = next(batches, None)
            if batch is None:
                return
            names = batch.schema.names
            columns = [_values(column) for column in batch.columns]
        except failures as error:
            raise DamagedRows(f"it cannot be read: {_first_line(error)}") from None
        if not columns:
            continue
        for values in zip(*columns, strict=True):
            yield {
                name: value for name, value in zip(names, values, strict=True) if value is not None
            }


def _values(column: Any) -> list[Any]:
    """The values of a column, with times as those of Cypher if its type is of times or of lists of
    them."""
    from pyarrow.types import is_dictionary, is_temporal

    values: list[Any] = column.to_pylist()
    kind, depth = column.type, 0
    while _is_list(kind) or is_dictionary(kind):
        depth += _is_list(kind)
        kind = kind.value_type
    if not is_temporal(kind):
        return values
    return [_of_times(value, depth) for value in values]


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return any(
        is_one(kind)
        for is_one in (
            types.is_list,
            types.is_large_list,
            types.is_fixed_size_list,
            types.is_list_view,
            types.is_large_list_view,
        )
    )


def _of_times(value: Any, depth: int) -> Any:
    if value is None:
        return None
    return from_python(value) if depth == 0 else [_of_times(one, depth - 1) for one in value]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200].rstrip(".")
