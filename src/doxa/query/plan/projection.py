"""Plan WITH and RETURN: grouping, DISTINCT, order, SKIP and LIMIT, in SQL where possible."""

from __future__ import annotations

from collections.abc import Callable

from doxa.cypher import tree as t
from doxa.cypher.semantics.infer import has_aggregate, is_aggregate
from doxa.cypher.semantics.projection import Resolved, in_columns, resolve, substitute
from doxa.query.core.names import (
    InternalName,
    Kind,
    is_hidden,
    is_internal,
    without_property_columns,
)
from doxa.query.core.row import Layout, Row, width
from doxa.query.core.step import QueryStep
from doxa.query.exec.match_steps import FilterStep
from doxa.query.exec.projection_steps import (
    DistinctStep,
    GroupStep,
    LimitStep,
    ProjectStep,
    SelectColumnsStep,
    SkipStep,
)
from doxa.query.exec.reached_count import count_reached
from doxa.query.exec.sorting import SortStep
from doxa.query.exec.triangle_count import count_triangles
from doxa.query.expressions.compiler import Compiler
from doxa.query.sql.grouping import push_down_grouping
from doxa.query.sql.pattern_scan import PatternScanStep
from doxa.query.sql.top_rows import push_down_top_rows

_HIDDEN = (Kind.RETURNED, Kind.TRAVERSED)


def project_directly(steps: list[QueryStep], names: list[str]) -> None:
    """Combine a pattern scan and a projection that only reads its columns, so that each row is
    built once. The scan's rows also provide the ids for the access log."""
    if len(steps) < 2:
        return
    rest = steps[2:]
    if rest and isinstance(rest[0], DistinctStep) and not any(map(is_hidden, names)):
        del rest[0]  # of hidden columns those of the rows that are left count
    if len(rest) > 1 or not all(isinstance(one, LimitStep) and not one.whole for one in rest):
        return
    pushed, project = steps[0], steps[1]
    if (
        not (isinstance(pushed, PatternScanStep) and isinstance(project, ProjectStep))
        or project.widen
        or project.keep
        or project.take_rows is None
    ):
        return
    kinds = [next((kind for kind in _HIDDEN if is_internal(name, kind)), None) for name in names]
    parts = [
        [
            slot
            for slot, kind in zip(project.slots, kinds, strict=True)
            if kind == wanted and slot is not None
        ]
        for wanted in (None, *_HIDDEN)
    ]
    project.done = pushed.project(*parts)


# Planning


def plan_projection(
    projection: t.Projection,
    where: t.Expression | None,
    *,
    before: list[QueryStep],
    layout: dict[str, int],
    scope: dict[str, str],
    compiler: Compiler,
    keep: int,
    writes: bool,
    reads: Callable[[str], bool] | None = None,
) -> tuple[list[QueryStep], dict[str, int]]:
    """Return the steps of a WITH or RETURN, and the layout after it. `scope` holds the visible
    names without the outer ones; `reads` tells which names later clauses read, None stands for
    all.

    `before` holds the steps so far. If they are one pattern scan, grouping and top rows may move
    into its statement.
    """
    resolved = resolve(projection, scope)
    columns = [item.name for item in resolved.columns]
    outer = {name: slot for name, slot in layout.items() if 0 <= slot < keep}
    final = {**outer, **{name: keep + index for index, name in enumerate(columns)}}
    steps: list[QueryStep] = []
    if resolved.grouped:
        groups = _plan_groups(
            resolved, layout, compiler=compiler, keep=keep, steps=steps, before=before
        )
        after = {**outer, **groups}
    else:
        # ORDER BY and WHERE see the columns and what was there before, unless DISTINCT hides it
        widen = not projection.distinct and bool(resolved.order or where is not None)
        values = [compiler.compile(item.expression, layout) for item in resolved.columns]
        steps.append(ProjectStep(values, keep=keep, widen=widen))
        after = _widened(layout, columns) if widen else final
    if projection.distinct:
        steps.append(DistinctStep(keep=keep, hidden=sum(map(is_hidden, columns))))
    order = _plan_order(
        projection, resolved, after, before=before, compiler=compiler, keep=keep, writes=writes
    )
    if order and isinstance(order[0], SortStep) and where is None:
        order[0].columns = _columns_after(
            [after[name] if _is_read(name, reads) else None for name in columns], keep
        )
        after = final
    steps += order
    if where is not None:
        condition = in_columns(where, resolved.columns)
        steps.append(FilterStep(compiler.condition(condition, after), condition))
    if after != final:
        steps.append(SelectColumnsStep([after[name] for name in columns], keep=keep))
    return steps, final


def _is_read(name: str, reads: Callable[[str], bool] | None) -> bool:
    return reads is None or is_internal(name) or reads(name)


def _columns_after(slots: list[int | None], keep: int) -> Callable[[Row], Row]:
    """Return the function that takes these slots of a row, after its outer ones. What nothing
    reads is null, so that a sort need not hold it."""
    return lambda row: (
        *row[:keep],
        *[None if slot is None else row[slot] for slot in slots],
    )


def _widened(layout: Layout, columns: list[str]) -> dict[str, int]:
    """The layout with columns appended to the row."""
    size = width(layout)
    added = {name: size + index for index, name in enumerate(columns)}
    return {**without_property_columns(layout, columns), **added}


def _plan_order(
    projection: t.Projection,
    resolved: Resolved,
    layout: dict[str, int],
    *,
    before: list[QueryStep],
    compiler: Compiler,
    keep: int,
    writes: bool,
) -> list[QueryStep]:
    """The steps of ORDER BY, SKIP and LIMIT."""
    steps: list[QueryStep] = []
    skip = compiler.compile(projection.skip, {}) if projection.skip is not None else None
    limit = compiler.compile(projection.limit, {}) if projection.limit is not None else None
    if resolved.order:
        if limit is not None and not resolved.narrow and not keep and len(before) == 1:
            order = _order_before_projection(resolved)
            before[0] = push_down_top_rows(before[0], order, skip=skip, limit=limit) or before[0]
        keys = [
            (compiler.compile(item.expression, layout), item.descending) for item in resolved.order
        ]
        steps.append(SortStep(keys, limit=(skip, limit) if not writes else (None, None)))
    if skip is not None:
        steps.append(SkipStep(skip))
    if limit is not None:
        steps.append(LimitStep(limit, whole=writes))
    return steps


def _order_before_projection(resolved: Resolved) -> list[tuple[t.Expression, bool]]:
    """ORDER BY in terms of what the projection computes its columns from."""
    sources = {item.name: item.expression for item in resolved.columns}
    return [
        (
            sources.get(item.expression.name, item.expression)
            if isinstance(item.expression, t.Variable)
            else item.expression,
            item.descending,
        )
        for item in resolved.order
    ]


def _plan_groups(
    resolved: Resolved,
    layout: Layout,
    *,
    compiler: Compiler,
    keep: int,
    steps: list[QueryStep],
    before: list[QueryStep],
) -> dict[str, int]:
    """Group by the keys, then compute the columns from keys and aggregations."""

    everything = resolved.columns
    keys = [item for item in everything if not has_aggregate(item.expression)]
    calls: dict[t.Call, str] = {}
    for item in everything:
        for part in t.walk(item.expression):
            if isinstance(part, t.Call) and is_aggregate(part) and part not in calls:
                calls[part] = InternalName(Kind.AGGREGATE, len(calls))
    group: QueryStep = GroupStep(
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
        scan = before[0]
        folded = push_down_grouping(scan, group, resolved, list(calls))
        if folded is not None:
            before.clear()
            group = folded if keys else count_triangles(scan, list(calls), folded)
    elif not keep and before and not keys:
        group = count_reached(before, layout, list(calls), group)
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
