"""WITH and RETURN planned as steps."""

from __future__ import annotations

from typing import Any

from doxa.cypher import tree as t
from doxa.cypher.semantics.infer import has_aggregate, is_aggregate
from doxa.cypher.semantics.projection import Resolved, in_columns, resolve, substitute
from doxa.query.core.names import SEEN, WALKED, is_hidden, without_columns
from doxa.query.core.row import Layout
from doxa.query.exec.match_steps import FilterStep
from doxa.query.exec.projection_steps import (
    DistinctStep,
    GroupStep,
    LimitStep,
    NarrowStep,
    ProjectStep,
    SkipStep,
    SortStep,
)
from doxa.query.expressions.compiler import Compiler
from doxa.query.sql.grouping import folded_group
from doxa.query.sql.pattern_scan import RegionStep
from doxa.query.sql.top_rows import folded_top


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
