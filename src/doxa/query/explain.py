"""EXPLAIN and PROFILE: a plan as a tree of steps, with SQL, access path, row counts and times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from doxa.base.errors import DoxaError
from doxa.cypher import tree as t
from doxa.cypher.printer import expression, path, schema_command
from doxa.query.core.names import is_internal
from doxa.query.core.run import Run
from doxa.query.sql.pattern_sql import prepare_statement
from doxa.query.sql.value_kinds import assumed_kind, classify_arguments


@dataclass(slots=True)
class Described:
    """One step. `rows` and `milliseconds` come from PROFILE; the time is the step's own, without
    the steps it pulls from or runs inside."""

    name: str
    detail: str = ""
    rows: int | None = None
    milliseconds: float | None = None
    children: list[Described] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"step": self.name, "detail": self.detail}
        if self.rows is not None:
            found |= {"rows": self.rows, "milliseconds": round(self.milliseconds or 0, 3)}
        if self.children:
            found["children"] = [child.as_dict() for child in self.children]
        return found

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Yield indented lines, the first step first."""
        measured = (
            "" if self.rows is None else f"  [{self.rows:,} rows, {self.milliseconds:.1f} ms]"
        )
        yield f"{'  ' * depth}{self.name}{'  ' + self.detail if self.detail else ''}{measured}"
        for child in self.children:
            yield from child.lines(depth + 1)


def described(steps: Any, run: Run) -> Described:
    """Describe the plan of a UnionStep. After a run with PROFILE, include what its steps did."""
    branches = [
        Described("Query", children=[_step(step, run) for step in branch.steps])
        for branch in steps.branches
    ]
    return (
        branches[0]
        if len(branches) == 1
        else Described("Union", "all" if steps.every else "distinct", children=branches)
    )


def described_command(command: t.Clause) -> Described:
    """Describe a schema command in full."""
    return Described(type(command).__name__, schema_command(command))


def _step(step: Any, run: Run) -> Described:
    found = Described(type(step).__name__.removesuffix("Step"), _detail(step, run))
    if run.profile is not None:
        rows, found.milliseconds = run.profile.measured.get(id(step), (0, 0.0))
        found.rows = int(rows)
    inner = getattr(step, "steps", None) or getattr(step, "find", None) or ()
    found.children = [_step(one, run) for one in inner]
    if hasattr(step, "union"):
        found.children.append(described(step.union, run))
    if hasattr(step, "step"):
        found.children.append(_step(step.step, run))
    return found


def _detail(step: Any, run: Run) -> str:
    if hasattr(step, "pushed"):
        prepared = prepare_statement(step.pushed, run, _kinds(step, run))
        return (
            f"{prepared.access_path}  {prepared.sql}" if prepared.access_path else str(prepared.sql)
        )
    if hasattr(step, "edge"):
        return _pattern(step.edge)
    if hasattr(step, "expression"):
        return expression(step.expression)
    if hasattr(step, "measures"):
        keys = [f"{key.key}.{key.name}" if key.name else key.key for key in step.keys]
        return (
            f"by {', '.join(keys) or 'nothing'}:"
            f" {', '.join(measure.function for measure in step.measures)}, in SQL"
        )
    return (
        f"by {', '.join(f'{key}.{name}' for key, name, _ in step.top.keys)}, in SQL"
        if hasattr(step, "top")
        else ""
    )


def _kinds(step: Any, run: Run) -> tuple[str, ...]:
    """The kinds of the compared values, assumed where they depend on a row or are missing."""
    kinds = []
    for test in step.pushed.conditions.tests:
        try:
            kinds.append(classify_arguments([test], [test.value((), run)])[1][0])
        except (
            DoxaError,
            IndexError,
        ):  # a parameter that was not given, or a variable of rows that EXPLAIN does not make
            kinds.append(assumed_kind(test))
    return tuple(kinds)


def _pattern(edge: Any) -> str:
    ends = [t.NodePattern(None if is_internal(name) else name) for name in (edge.left, edge.right)]
    return path(t.PathPattern((ends[0], edge.pattern, ends[1])))
