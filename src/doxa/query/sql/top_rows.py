"""Push ORDER BY with LIMIT down into the SQL statement of a pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from doxa.cypher import tree as t
from doxa.query.core.row import Row
from doxa.query.core.row_count import row_count
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate, QueryStep
from doxa.query.sql.exactness import UndecidedInSQL, pushed_element, require_plain_tables
from doxa.query.sql.index_selection import IndexScan
from doxa.query.sql.pattern_scan import PatternScanStep
from doxa.query.sql.pattern_sql import StatementBuilder
from doxa.query.sql.resident_columns import ResidentOrder, scanned_label
from doxa.store import int64_array
from doxa.store.sql_values import json_path

TOP_ROWS_MAX = 10_000  # larger limits are sorted in Python


# Top-k


@dataclass(slots=True)
class TopRows:
    """An order that SQL may apply before its LIMIT: properties of the pattern, each with its
    direction."""

    keys: list[tuple[str, str, bool]]
    skip: Evaluate | None
    limit: Evaluate

    def count(self, run: Run) -> int | None:
        """Return the number of rows, or None if the limit is too large to push down."""

        most = row_count(self.limit, run, "LIMIT") + (
            row_count(self.skip, run, "SKIP") if self.skip is not None else 0
        )
        return most if 0 < most <= TOP_ROWS_MAX else None


# The rank of a value, in Cypher's order. Of an equal rank `->>` decides. Dates, lists and whatever
# else SQL cannot order have rank 0: all of them sort before text, so the order of the other rows
# does not depend on them. Floats that JSON has no number for are objects too, but sort last.
_RANK = (
    "CASE coalesce(json_type({table}.props, ?), 'none') WHEN 'text' THEN 13 WHEN 'false' THEN 14"
    " WHEN 'true' THEN 14 WHEN 'integer' THEN 16 WHEN 'real' THEN 16 WHEN 'none' THEN 19"
    " WHEN 'object' THEN CASE {table}.props ->> ? WHEN '-Infinity' THEN 15 WHEN 'Infinity' THEN 17"
    " WHEN 'NaN' THEN 18 ELSE 0 END ELSE 0 END"
)


class _TopRowsSql(NamedTuple):
    sql: str
    select_args: list[Any]
    args: list[Any]
    order_args: list[Any]
    index_scan: IndexScan | None


class TopRowsScanStep:
    """A pattern scan that returns only its first rows in an order. Later steps sort and cut them
    again, so that ties and nulls need no attention here."""

    def __init__(self, step: PatternScanStep, top: TopRows) -> None:
        self.step, self.top = step, top
        self._statements: dict[tuple[Any, ...], _TopRowsSql] = {}
        self._by_ids: dict[tuple[Any, ...], tuple[str, list[Any]]] = {}
        label = scanned_label(step.pushed)
        keys = [(name, down) for _, name, down in top.keys]
        self._resident = None if label is None else ResidentOrder(label, keys)

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        rows = list(source)
        most = self.top.count(run)
        if len(rows) == 1 and most is not None:
            try:
                return iter(self._first(run, rows[0], most))
            except UndecidedInSQL:
                pass
        return run.rows_of(self.step, iter(rows))

    def _first(self, run: Run, row: Row, most: int) -> list[Row]:
        prepared = self.step.prepared(run, row)
        if prepared is None:
            return []
        values, kinds = prepared
        if self.step.leftover(kinds):
            raise UndecidedInSQL
        resident = self._resident if run.graph.image is not None else None
        ids = None if resident is None else resident.first(run, most)
        if ids is not None:
            return self._of_ids(run, row, ids)
        made = self.step.kept(self._statements, run, kinds, lambda: self._statement(run, kinds))
        found_args = self.step.bind(made.args, made.index_scan, row, values)
        if found_args is None:
            return []
        bound = [*made.select_args, *found_args, *made.order_args, most]
        build = self.step.builder(run)
        found = []
        for one in run.graph.rows(made.sql, bound):
            if 0 in one[len(one) - len(self.top.keys) :]:
                raise UndecidedInSQL
            found.append(row + build(one))
        return found

    def _of_ids(self, run: Run, row: Row, ids: Any) -> list[Row]:
        """Return the rows of these nodes, by id."""
        if not len(ids):
            return []
        made = self.step.kept(self._by_ids, run, (), lambda: self._statement_of_ids(run))
        build = self.step.builder(run)
        bound = [*made[1], int64_array(ids.tolist())]
        return [row + build(found) for found in run.graph.rows(made[0], bound)]

    def _statement_of_ids(self, run: Run) -> tuple[str, list[Any]]:
        builder = StatementBuilder(self.step.pushed, run, ())
        body, args = builder.body()
        select, select_args = builder.select()
        identity = builder.ids[self.step.pushed.nodes[0]]
        picked = ", ".join(select) or "1"
        sql = f"SELECT {picked} {body} AND {identity} IN carray(?) ORDER BY {identity}"
        return sql, [*select_args, *args]

    def _statement(self, run: Run, kinds: tuple[str, ...]) -> _TopRowsSql:
        builder = StatementBuilder(
            self.step.pushed, run, kinds, read=frozenset(key for key, _, _ in self.top.keys)
        )
        body, args = builder.body()
        require_plain_tables(builder)
        select, select_args = builder.select()
        ranks, order = [], []
        rank_args: list[Any] = []
        order_args: list[Any] = []
        for index, (key, name, down) in enumerate(self.top.keys):
            table, way = builder.table(key), " DESC" if down else ""
            ranks.append(f"{_RANK.format(table=table)} AS r{index}")
            order += [f"r{index}{way}", f"{table}.props ->> ?{way}"]
            rank_args += [json_path(name), f'{json_path(name)}."$float"']
            order_args.append(json_path(name))
        sql = f"SELECT {', '.join([*select, *ranks])} {body} ORDER BY {', '.join(order)} LIMIT ?"
        return _TopRowsSql(sql, [*select_args, *rank_args], args, order_args, builder.index_scan)


def push_down_top_rows(
    step: QueryStep,
    order: list[tuple[t.Expression, bool]],
    *,
    skip: Evaluate | None,
    limit: Evaluate,
) -> TopRowsScanStep | None:
    """Return a TopRowsScanStep if the whole order is by properties of the pattern."""
    if not isinstance(step, PatternScanStep):
        return None
    keys = []
    for expression, down in order:
        held = pushed_element(expression, step.pushed)
        if held is None or not isinstance(expression, t.Property):
            return None
        keys.append((held, expression.name, down))
    return TopRowsScanStep(step, TopRows(keys, skip, limit))
