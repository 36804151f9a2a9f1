"""Push grouping down into the SQL statement of a pattern.

MATCH (n:A) RETURN n.city, count(*), max(n.age)
SELECT props -> '$."city"', count(*), <max of numbers>, <max of texts>, <count of others>, …
GROUP BY 1"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from doxa.base.values import decode_value
from doxa.cypher import tree as t
from doxa.cypher.semantics.infer import has_aggregate
from doxa.cypher.semantics.projection import Resolved
from doxa.query.core.comparison import group_key
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import QueryStep
from doxa.query.functions.aggregates import Average, Sum
from doxa.query.sql.exactness import UndecidedInSQL, pushed_element, require_plain_tables
from doxa.query.sql.index_selection import IndexScan
from doxa.query.sql.pattern_scan import PatternScanStep
from doxa.query.sql.pattern_sql import StatementBuilder
from doxa.query.sql.pushed_pattern import PushedDownPattern
from doxa.query.sql.resident_columns import ResidentGroups, scanned_label
from doxa.store.sql_values import json_path

# Grouping


@dataclass(slots=True)
class Key:
    """A grouping key: a property, a node or the type of an edge."""

    kind: str
    key: str
    name: str = ""


@dataclass(slots=True)
class Measure:
    """An aggregation in SQL over a property (`name`), an element, or rows (`key` empty)."""

    function: str
    key: str = ""
    name: str = ""
    distinct: bool = False


class _GroupingSql(NamedTuple):
    sql: str
    select_args: list[Any]
    args: list[Any]
    index_scan: IndexScan | None


class GroupedScanStep:
    """One statement for a pattern and its grouping. Rows equal those of the grouping step: keys,
    then aggregations."""

    def __init__(
        self, step: PatternScanStep, group: QueryStep, keys: list[Key], measures: list[Measure]
    ) -> None:
        self.step, self.group, self.keys, self.measures = step, group, keys, measures
        self._statements: dict[tuple[Any, ...], _GroupingSql] = {}
        self._resident = _resident(step.pushed, keys, measures)

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        rows = list(source)
        if len(rows) == 1 and not self.step.pushed.bound:
            resident = self._resident if run.graph.image is not None else None
            found = None if resident is None else resident.rows(run)
            if found is not None:
                return iter(found)
            try:
                return iter(self._folded(run, rows[0]))
            except UndecidedInSQL:
                pass
        return iter(self.group.rows(run, run.rows_of(self.step, iter(rows))))

    def _folded(self, run: Run, row: Row) -> list[Row]:
        prepared = self.step.prepared(run, row)
        if prepared is None:
            # a null is compared: no rows, but a grouping without keys still returns one
            raise UndecidedInSQL
        values, kinds = prepared
        if self.step.leftover(kinds):
            raise UndecidedInSQL
        made = self.step.kept(self._statements, run, kinds, lambda: self.statement(run, kinds))
        found_args = self.step.bind(made.args, made.index_scan, row, values)
        if found_args is None:
            raise UndecidedInSQL
        rows = run.graph.rows(made.sql, [*made.select_args, *found_args])
        return self.merged(run.ticking(rows), run)

    def statement(self, run: Run, kinds: tuple[str, ...]) -> _GroupingSql:
        builder = StatementBuilder(self.step.pushed, run, kinds, read=self._read(), selects=False)
        body, args = builder.body()
        require_plain_tables(builder)
        select, select_args = self._select(builder)
        sql = f"SELECT {', '.join(select)} {body}"
        if self.keys:
            sql += f" GROUP BY {', '.join(str(index + 1) for index in range(len(self.keys)))}"
        return _GroupingSql(sql, select_args, args, builder.index_scan)

    def _read(self) -> frozenset[str]:
        return frozenset(key.key for key in self.keys if key.name) | frozenset(
            measure.key for measure in self.measures if measure.name
        )

    def _select(self, builder: StatementBuilder) -> tuple[list[str], list[Any]]:
        select: list[str] = []
        args: list[Any] = []
        for key in self.keys:
            if key.kind == "property":
                select.append(f"{builder.table(key.key)}.props -> ?")
                args.append(json_path(key.name))
            else:
                select.append(
                    builder.ids[key.key] if key.kind == "node" else f"{builder.table(key.key)}.type"
                )
        for measure in self.measures:
            columns, measure_args = _columns(measure, builder)
            select += columns
            args += measure_args
        return select, args

    def merged(self, rows: Iterable[tuple[Any, ...]], run: Run | None = None) -> list[Row]:
        """Return the rows of groups of SQL; a `run` is needed where nodes are keys. Raises
        UndecidedInSQL."""
        merged: dict[Any, list[Any]] = {}
        for found in rows:
            self._merge(run, merged, found)
        if not merged and not self.keys:
            raise UndecidedInSQL
        return [tuple(group) for group in merged.values()]

    def _merge(self, run: Run | None, merged: dict[Any, list[Any]], found: tuple[Any, ...]) -> None:
        """Add one SQL group. Groups that differ only in their text (1 and 1.0) are one in
        Cypher."""
        values: list[Any] = []
        for key, raw in zip(self.keys, found, strict=False):
            if key.kind == "node":
                assert run is not None, "nodes are keys"
                values.append(run.graph.node(raw))
            else:
                values.append(
                    decode_value(raw) if key.kind == "property" and raw is not None else raw
                )
        name = tuple([group_key(value) for value in values])
        if name in merged:
            raise UndecidedInSQL
        at = len(self.keys)
        for measure in self.measures:
            size = _WIDTH[measure.function]
            values.append(_RESULT[measure.function](found[at : at + size]))
            at += size
        merged[name] = values


_NUMBERS = "('integer', 'real')"
_WIDTH = {"count": 1, "sum": 1, "avg": 1, "min": 5, "max": 5}


def _columns(measure: Measure, builder: StatementBuilder) -> tuple[list[str], list[Any]]:
    """The SQL columns of one measure: partial results, then counts of values that SQL cannot
    evaluate."""
    if measure.function == "count":
        if not measure.key:
            return ["count(*)"], []
        if measure.name:
            return [f"count({builder.table(measure.key)}.props -> ?)"], [json_path(measure.name)]
        counted = builder.ids.get(measure.key) or f"{builder.table(measure.key)}.id"
        return [f"count({'DISTINCT ' if measure.distinct else ''}{counted})"], []
    table, path = builder.table(measure.key), json_path(measure.name)
    value, kind = f"{table}.props ->> ?", f"json_type({table}.props, ?)"
    if measure.function in ("sum", "avg"):  # SQL sums floats inexactly, so it only collects them
        return [f"group_concat({table}.props -> ?)"], [path]
    pick = measure.function
    return [
        f"{pick}({value}) FILTER (WHERE {kind} IN {_NUMBERS})",
        f"count(*) FILTER (WHERE {kind} IN {_NUMBERS})",
        f"{pick}({value}) FILTER (WHERE {kind} = 'text')",
        f"count(*) FILTER (WHERE {kind} = 'text')",
        f"count(*) FILTER (WHERE {kind} NOT IN ('integer', 'real', 'text'))",
    ], [path] * 7


def _gathered(function: str, found: tuple[Any, ...]) -> Any:
    """Aggregate the values of a group, which SQL concatenated as JSON."""
    aggregation: Sum = Average() if function == "avg" else Sum()
    values = [] if found[0] is None else decode_value(f"[{found[0]}]")
    if all(type(value) is float for value in values):
        aggregation.floats, aggregation.has_float, aggregation.count = (
            values,
            bool(values),
            len(values),
        )
    else:
        for value in values:
            aggregation.add(value)
    return aggregation.result()


def _extreme(found: tuple[Any, ...], *, largest: bool) -> Any:
    """Text sorts before numbers."""
    number, numbers, text, texts, others = found
    if others:
        raise UndecidedInSQL
    if largest:
        return number if numbers else text if texts else None
    return text if texts else number if numbers else None


_RESULT: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "count": lambda found: found[0],
    "sum": lambda found: _gathered("sum", found),
    "avg": lambda found: _gathered("avg", found),
    "min": lambda found: _extreme(found, largest=False),
    "max": lambda found: _extreme(found, largest=True),
}


def _resident(
    pushed: PushedDownPattern, keys: list[Key], measures: list[Measure]
) -> ResidentGroups | None:
    """Return the grouping as resident columns may answer it: properties of all nodes of a label,
    and aggregations over these."""
    label = scanned_label(pushed)
    if label is None or any(key.kind != "property" for key in keys):
        return None
    return ResidentGroups(
        label,
        [key.name for key in keys],
        [(measure.function, measure.name) for measure in measures],
    )


def push_down_grouping(
    step: QueryStep, group: QueryStep, resolved: Resolved, calls: list[t.Call]
) -> GroupedScanStep | None:
    """Return a GroupedScanStep if SQL can evaluate both the pattern and the grouping."""
    if not isinstance(step, PatternScanStep):
        return None
    pushed = step.pushed
    keys: list[Key] = []
    for item in resolved.columns:
        if not has_aggregate(item.expression):
            key = _key(item.expression, pushed)
            if key is None:
                return None
            keys.append(key)
    measures: list[Measure] = []
    for call in calls:
        measure = _measure(call, pushed)
        if measure is None:
            return None
        measures.append(measure)
    return GroupedScanStep(step, group, keys, measures)


def _key(expression: t.Expression, pushed: PushedDownPattern) -> Key | None:
    if (
        isinstance(expression, t.Call)
        and expression.name.lower() == "type"
        and isinstance(expression.args[0], t.Variable)
    ):
        name = expression.args[0].name
        return Key("type", name) if any(edge.key == name for edge in pushed.edges) else None
    held = pushed_element(expression, pushed)
    if held is None:
        return None
    if isinstance(expression, t.Property):
        return Key("property", held, expression.name)
    return Key("node", held) if held in pushed.nodes else None


def _measure(call: t.Call, pushed: PushedDownPattern) -> Measure | None:
    name = call.name.lower()
    if call.star:
        return Measure("count")
    held = pushed_element(call.args[0], pushed) if call.args else None
    if name not in _WIDTH or held is None:
        return None
    if isinstance(call.args[0], t.Property):
        return None if call.distinct else Measure(name, held, call.args[0].name)
    return Measure("count", held, distinct=call.distinct) if name == "count" else None
