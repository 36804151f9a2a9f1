"""Count the nodes that a length reaches without making a row for each of them.

MATCH (a:A {key: 1})-[:R*1..4]->(b) RETURN count(DISTINCT b)
the ids that the search by levels finds, united over the rows before it"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from doxa.cypher import tree as t
from doxa.query.core.elements import Node
from doxa.query.core.memory_budget import MemoryBudget
from doxa.query.core.row import Layout, Row
from doxa.query.core.run import Run
from doxa.query.core.step import QueryStep
from doxa.query.exec.match_steps import VariableLengthStep


class CountReachedStep:
    """The one row of a grouping without keys that counts the distinct ends of a walk, `step`;
    `group` does so where the walk is not by levels."""

    def __init__(self, step: VariableLengthStep, group: QueryStep) -> None:
        self.step, self.group = step, group

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        walk = self.step
        first = next(source, None)
        rows = iter(()) if first is None else chain((first,), source)
        if first is None or not walk.by_levels(walk.passes(first, run)):
            yield from self.group.rows(run, run.rows_of(walk, rows))
            return
        budget = MemoryBudget("distinct nodes")
        found: set[int] = set()
        for row in rows:
            run.tick()
            start = row[walk.near]
            if start is None:
                continue
            if not isinstance(start, Node):  # the walk raises the error
                yield from self.group.rows(run, run.rows_of(walk, iter((row,))))
                return
            before = len(found)
            found.update(walk.reached(run, start.id))
            budget.add_ids(len(found) - before)
        yield (len(found),)


def count_reached(
    before: list[QueryStep], layout: Layout, calls: list[t.Call], group: QueryStep
) -> QueryStep:
    """Return the step that counts the ends of the walk before it, which leaves `before`; `group` if
    something else is asked for."""
    match before[-1], calls:
        case (
            VariableLengthStep(once=True) as walk,
            [t.Call(args=(t.Variable(name),), distinct=True) as call],
        ) if call.name.lower() == "count" and layout.get(name) == walk.far[0]:
            before.pop()
            return CountReachedStep(walk, group)
    return group
