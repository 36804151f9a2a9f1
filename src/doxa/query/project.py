"""WITH and RETURN as steps: projection, grouping, DISTINCT, order, SKIP and LIMIT.

Rows keep the outer part of nested queries: the first `keep` slots pass through every projection.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from doxa.cypher import tree as t
from doxa.cypher.projection import Resolved, in_columns, resolve, substitute
from doxa.query.accesses import SEEN, WALKED, is_hidden
from doxa.query.aggregate import AGGREGATES, Aggregation, Distinct
from doxa.query.errors import fail, shown
from doxa.query.evaluate import Compiler, Evaluate, Layout, Row, slot_of, without_columns
from doxa.query.fold import folded_group, folded_top
from doxa.query.held import IN_A_SET, Held
from doxa.query.region import RegionStep
from doxa.query.values import group_key, order_key

if TYPE_CHECKING:
    from doxa.query.run import Run

_MORE_ROWS = 1_024  # how many rows beyond the best wait for the next sort


class ProjectStep:
    """New columns for each row; with `widen` they are appended, for an ORDER BY that sees both."""

    def __init__(self, columns: list[Evaluate], *, keep: int, widen: bool = False) -> None:
        self.columns = columns
        self.keep = keep
        self.widen = widen
        self.slots = [slot_of(column) for column in columns]
        self.taken = _taken(self.slots)
        self.done = False  # the step before gives the columns already

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        if self.done:
            return source
        columns, keep = self.columns, self.keep
        if self.taken is not None and not keep:
            taken = self.taken
            return map(taken, source) if not self.widen else (row + taken(row) for row in source)
        if self.widen:
            return ((*row, *[column(row, run) for column in columns]) for row in source)
        if keep:
            return ((*row[:keep], *[column(row, run) for column in columns]) for row in source)
        return (tuple([column(row, run) for column in columns]) for row in source)


def _taken(slots: list[int | None]) -> Callable[[Row], Row] | None:
    """What takes these slots of a row; None if a column is more than a slot."""
    if not slots or None in slots:
        return None
    if len(slots) == 1:
        only = slots[0]
        assert only is not None
        return lambda row: (row[only],)
    return itemgetter(*slots)


def project_directly(steps: list[Any], names: list[str]) -> None:
    """A region and a projection of nothing but what it reads become one: no row is made twice. What
    is noted is taken from the region's own rows."""
    if not (
        len(steps) == 2
        or (len(steps) == 3 and isinstance(steps[2], LimitStep) and not steps[2].whole)
    ):
        return
    region, project = steps[0], steps[1]
    if (
        not (isinstance(region, RegionStep) and isinstance(project, ProjectStep))
        or project.widen
        or project.keep
        or project.taken is None
    ):
        return
    kinds = [
        SEEN if name.startswith(SEEN) else WALKED if name.startswith(WALKED) else ""
        for name in names
    ]
    parts = [
        [
            slot
            for slot, kind in zip(project.slots, kinds, strict=True)
            if kind == wanted and slot is not None
        ]
        for wanted in ("", SEEN, WALKED)
    ]
    project.done = region.project(*parts)


class NarrowStep:
    """Only the columns stay, after an ORDER BY or WHERE that saw more."""

    def __init__(self, slots: list[int], *, keep: int) -> None:
        self.slots = slots
        self.keep = keep

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        slots, keep = self.slots, self.keep
        return ((*row[:keep], *[row[slot] for slot in slots]) for row in source)


class GroupStep:
    """One row for each group of keys; without keys, one row in any case."""

    def __init__(
        self,
        keys: list[Evaluate],
        aggregates: list[tuple[str, Evaluate | None, list[Evaluate], bool]],
        *,
        keep: int,
    ) -> None:
        self.keys = keys
        self.aggregates = aggregates
        self.keep = keep

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        groups: dict[Any, tuple[tuple[Any, ...], list[Aggregation]]] = {}
        keep, keys, aggregates = self.keep, self.keys, self.aggregates
        held = Held("groups and what they collect")
        first: Row | None = None
        for row in source:
            run.tick()
            first = first or row
            values = tuple([key(row, run) for key in keys])
            name = tuple([group_key(value) for value in values])
            group = groups.get(name)
            if group is None:
                held.row(values, extra=IN_A_SET)
                group = groups[name] = (
                    (*row[:keep], *values),
                    [self._fresh(item, row, run) for item in aggregates],
                )
            for aggregation, (_, argument, _, _) in zip(group[1], aggregates, strict=True):
                value = True if argument is None else argument(row, run)
                if value is not None and aggregation.add(value):
                    held.value(value)
        if not groups and not keys:
            outer = run.outer_row[:keep]
            yield (*outer, *[self._fresh(item, (*outer,), run).result() for item in aggregates])
        for values, aggregations in groups.values():
            yield (*values, *[aggregation.result() for aggregation in aggregations])

    def _fresh(
        self, item: tuple[str, Evaluate | None, list[Evaluate], bool], row: Row, run: Run
    ) -> Aggregation:
        name, _, extra, distinct = item
        try:
            parameters = [one(row, run) for one in extra]
        except IndexError:  # no row at all: a parameter that depends on rows has no value
            parameters = [0.5 for _ in extra]
        made = AGGREGATES[name](*parameters)
        return Distinct(made) if distinct else made


class DistinctStep:
    """One row of each kind; the last `hidden` columns make no difference."""

    def __init__(self, *, keep: int, hidden: int = 0) -> None:
        self.keep = keep
        self.columns = slice(keep, -hidden if hidden else None)

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        seen: set[Any] = set()
        held = Held("distinct rows")
        for row in source:
            run.tick()
            key = tuple([group_key(value) for value in row[self.columns]])
            if key not in seen:
                held.row(key, extra=IN_A_SET)
                seen.add(key)
                yield row


class SortStep:
    """ORDER BY; with a limit only the best rows are held."""

    def __init__(
        self,
        keys: list[tuple[Evaluate, bool]],
        *,
        limit: tuple[Evaluate | None, Evaluate | None] = (None, None),
    ) -> None:
        self.keys = keys
        self.limit = limit

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        keys = self.keys

        def key(row: Row) -> Any:
            run.tick()
            return [
                Descending(order_key(value(row, run))) if down else order_key(value(row, run))
                for value, down in keys
            ]

        skip, limit = self.limit
        if limit is not None:
            most = count_of(limit, run, "LIMIT") + (
                count_of(skip, run, "SKIP") if skip is not None else 0
            )
            return iter(_best(source, most, key))
        held = Held("rows to sort").all(source)
        held.sort(key=key)
        return iter(held)


def _best(source: Iterator[Row], most: int, key: Callable[[Row], Any]) -> list[Row]:
    """The first rows of an order, holding few more than are wanted: what cannot be among them any
    more is passed over."""
    if not most:
        return []
    by_key = itemgetter(0)
    kept: list[tuple[Any, Row]] = []
    held = Held("rows to sort")
    worst: Any = None
    for row in source:
        name = key(row)
        if worst is not None and not name < worst:
            continue
        held.row(row)
        kept.append((name, row))
        if len(kept) >= 2 * most + _MORE_ROWS:
            kept.sort(key=by_key)
            del kept[most:]
            worst = kept[-1][0]
            held = Held(held.what)
            held.all(row for _, row in kept)
    kept.sort(key=by_key)
    return [row for _, row in kept[:most]]


class Descending:
    """Turns an order around."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key

    def __lt__(self, other: Descending) -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and other.key == self.key

    __hash__ = None  # type: ignore[assignment]


class SkipStep:
    def __init__(self, count: Evaluate) -> None:
        self.count = count

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        return itertools.islice(source, count_of(self.count, run, "SKIP"), None)


class LimitStep:
    """Stops its source early, unless that writes: `whole` lets it run to its end."""

    def __init__(self, count: Evaluate, *, whole: bool) -> None:
        self.count = count
        self.whole = whole

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        most = count_of(self.count, run, "LIMIT")
        if self.whole:
            return iter(run.whole(source)[:most])
        return itertools.islice(source, most)


def count_of(evaluate: Evaluate, run: Run, what: str) -> int:
    value = evaluate((), run)
    if type(value) is not int:
        fail(
            f"{what} takes a whole number, not {shown(value)}.",
            kind="SyntaxError",
            detail="InvalidArgumentType",
        )
    if value < 0:
        fail(f"{what} cannot be negative.", kind="SyntaxError", detail="NegativeIntegerArgument")
    return value


# Planning


def plan_projection(
    projection: t.Projection,
    where: t.Expression | None,
    *,
    before: list[Any],
    layout: dict[str, int],
    scope: dict[str, str],
    compiler: Compiler,
    keep: int,
    writes: bool,
) -> tuple[list[Any], dict[str, int]]:
    """The steps of a WITH or RETURN, and the layout after it. `scope` are the visible names
    (without the outer ones).

    `before` are the steps so far; if they are one region, grouping and top-k may move into its
    statement.
    """
    from doxa.query.match import FilterStep

    resolved = resolve(projection, scope)
    outer = {name: slot for name, slot in layout.items() if 0 <= slot < keep}
    columns = [item.name for item in resolved.columns]
    steps: list[Any] = []
    if resolved.grouped:
        after = _plan_groups(
            resolved, layout, compiler=compiler, keep=keep, steps=steps, before=before
        )
        after = {**outer, **after}
    elif projection.distinct or not (resolved.order or where is not None):
        steps.append(
            ProjectStep(
                [compiler.compile(item.expression, layout) for item in resolved.columns], keep=keep
            )
        )
        after = {**outer, **{name: keep + index for index, name in enumerate(columns)}}
    else:
        width = max(layout.values(), default=-1) + 1
        steps.append(
            ProjectStep(
                [compiler.compile(item.expression, layout) for item in resolved.columns],
                keep=keep,
                widen=True,
            )
        )
        after = {
            **without_columns(layout, columns),
            **{name: width + index for index, name in enumerate(columns)},
        }
    if projection.distinct:
        steps.append(DistinctStep(keep=keep, hidden=sum(map(is_hidden, columns))))
    skip = compiler.compile(projection.skip, {}) if projection.skip is not None else None
    limit = compiler.compile(projection.limit, {}) if projection.limit is not None else None
    if resolved.order:
        if limit is not None and not resolved.narrow and not keep and len(before) == 1:
            sources = {item.name: item.expression for item in resolved.columns}
            order = [
                (
                    sources.get(i.expression.name, i.expression)
                    if isinstance(i.expression, t.Variable)
                    else i.expression,
                    i.descending,
                )
                for i in resolved.order
            ]
            before[0] = folded_top(before[0], order, skip=skip, limit=limit) or before[0]
        keys = [
            (compiler.compile(item.expression, after), item.descending) for item in resolved.order
        ]
        steps.append(SortStep(keys, limit=(skip, limit) if not writes else (None, None)))
    if skip is not None:
        steps.append(SkipStep(skip))
    if limit is not None:
        steps.append(LimitStep(limit, whole=writes))
    if where is not None:
        shown = in_columns(where, resolved.columns)
        steps.append(FilterStep(compiler.condition(shown, after), shown))
    final = {**outer, **{name: keep + index for index, name in enumerate(columns)}}
    if after != final:
        steps.append(NarrowStep([after[name] for name in columns], keep=keep))
    return steps, final


def _plan_groups(
    resolved: Resolved,
    layout: Layout,
    *,
    compiler: Compiler,
    keep: int,
    steps: list[Any],
    before: list[Any],
) -> dict[str, int]:
    """Group by the keys, then compute the columns from keys and aggregations."""
    from doxa.cypher.infer import has_aggregate, is_aggregate

    everything = resolved.columns
    keys = [item for item in everything if not has_aggregate(item.expression)]
    calls: dict[t.Call, str] = {}
    for item in everything:
        for part in t.walk(item.expression):
            if isinstance(part, t.Call) and is_aggregate(part) and part not in calls:
                calls[part] = f"  aggregate {len(calls)}"
    group: Any = GroupStep(
        [compiler.compile(item.expression, layout) for item in keys],
        [
            (
                call.name.lower(),
                compiler.compile(call.args[0], layout) if call.args else None,
                [compiler.compile(arg, layout) for arg in call.args[1:]],
                call.distinct,
            )
            for call in calls
        ],
        keep=keep,
    )
    if not keep and len(before) == 1:
        folded = folded_group(before[0], group, resolved, list(calls))
        if folded is not None:
            before.clear()
            group = folded
    steps.append(group)
    grouped = {name: slot for name, slot in layout.items() if 0 <= slot < keep}
    grouped.update({item.name: keep + index for index, item in enumerate(keys)})
    grouped.update({name: keep + len(keys) + index for index, name in enumerate(calls.values())})
    replaced: dict[t.Expression, str] = {}
    replaced.update({call: name for call, name in calls.items()})
    replaced.update(
        {item.expression: item.name for item in keys if not isinstance(item.expression, t.Literal)}
    )
    columns = [
        compiler.compile(
            t.Variable(item.name)
            if not has_aggregate(item.expression)
            else substitute(item.expression, replaced),
            grouped,
        )
        for item in everything
    ]
    steps.append(ProjectStep(columns, keep=keep))
    return {item.name: keep + index for index, item in enumerate(everything)}
