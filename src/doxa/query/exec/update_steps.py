"""The steps of CREATE, SET, REMOVE, DELETE and FOREACH.

Each step consumes all its rows before it writes, so that a write never changes what its own clause
reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NoReturn

from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.query.core.elements import Edge, Node, Path
from doxa.query.core.errors import fail, shown
from doxa.query.core.names import InternalName, Kind
from doxa.query.core.property_values import uniform
from doxa.query.core.row import Layout, Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate, QueryStep
from doxa.query.exec.setting import OneTarget, set_together
from doxa.query.expressions.compiler import Compiler
from doxa.store.bulk.collecting import many_objects

_EDGES_AT_ONCE = 5_000
_ROWS_AT_ONCE = 1_000


class CreateStep:
    """Create the unbound parts of patterns in order and append them to the row, after the values
    of `before`. Nothing reads the result of the `last` step. `together`: no row reads what earlier
    ones created, as the items of FOREACH may."""

    def __init__(
        self, patterns: list[PatternMaker], *, before: list[Evaluate], together: bool
    ) -> None:
        self.patterns = patterns
        self.before = before
        self.together = together and len(patterns) == 1
        self.last = False

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        made = self._made(run, source)
        return made if self.last else iter(list(made))

    def _made(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        if self.before:
            source = ((*row, *[one(row, run) for one in self.before]) for row in source)
        rows = run.materialize(source)
        if self.together and (self.patterns[0].is_edge or self.patterns[0].is_node):
            make = (
                self.patterns[0].make_edges
                if self.patterns[0].is_edge
                else self.patterns[0].make_nodes
            )
            yield from make(rows, run, returned=not self.last)
            return
        for at in range(0, len(rows), _ROWS_AT_ONCE):
            with many_objects():
                part = [self._with_patterns(row, run) for row in rows[at : at + _ROWS_AT_ONCE]]
            yield from part

    def _with_patterns(self, row: Row, run: Run) -> Row:
        for pattern in self.patterns:
            run.tick()
            row = pattern.make(row, run)
        return row


class PatternMaker:
    """One pattern to create. Parts: ("node", slot or None, labels, properties) or ("edge", type,
    direction, properties)."""

    def __init__(
        self, pattern: t.PathPattern, layout: dict[str, int], width: int, *, compiler: Compiler
    ) -> None:
        self.parts: list[tuple[Any, ...]] = []
        self.named = pattern.variable is not None
        self.slots: list[int] = []
        size = width
        edges: list[t.EdgePattern] = []
        for element in pattern.elements:
            if isinstance(element, t.NodePattern):
                slot = layout.get(element.variable or "")
                properties = _properties(element.properties, layout, compiler)
                self.parts.append(("node", slot, label_names(element.labels), properties))
                if slot is None:
                    slot = size
                    size += 1
                    layout[element.variable or InternalName(Kind.CREATED, slot)] = slot
                self.slots.append(slot)
            else:
                assert isinstance(element, t.EdgePattern) and isinstance(element.types, t.LabelName)
                edges.append(element)
                self.parts.append(("edge", element.types.name, element.direction, None))
                self.slots.append(size)
                layout[element.variable or InternalName(Kind.CREATED, size)] = size
                size += 1
        for at, edge in enumerate(edges):  # evaluated when the row holds all nodes of the pattern
            self.parts[2 * at + 1] = (
                *self.parts[2 * at + 1][:3],
                _properties(edge.properties, layout, compiler),
            )
        if pattern.variable:
            layout[pattern.variable] = size
            size += 1
        self.width = size
        ends = self.slots[0::2]
        self.is_edge = len(ends) == 2 and max(ends) < width and not self.named  # and no node
        self.is_node = len(self.parts) == 1 and ends[0] >= width and not self.named

    def make_edges(self, rows: Iterable[Row], run: Run, *, returned: bool = True) -> Iterator[Row]:
        """Create the edge of each row, many at once; without `returned` the rows come as they are,
        since nothing reads the edges. For patterns that are one edge between nodes of the row."""
        kind, direction, evaluate = self.parts[1][1:]
        first, second = self.slots[0], self.slots[2]
        if direction == "in":
            first, second = second, first
        rows = iter(rows)
        while part := list(islice(rows, _EDGES_AT_ONCE)):
            edges = []
            try:
                for row in part:
                    run.tick()
                    start, end = row[first], row[second]
                    if not isinstance(start, Node) or not isinstance(end, Node):
                        _refuse_end(row[self.slots[0]], row[self.slots[2]])
                    props = (
                        {} if evaluate is None else uniform(_map(evaluate, (*row, None), run), {})
                    )
                    edges.append((start.id, end.id, props))  # `None` has the place of the edge
            except QueryError:
                run.graph.create_edges(kind, edges)  # if they have an error, it comes first
                raise
            made = run.graph.create_edges(kind, edges)
            if not returned:
                yield from part
                continue
            for row, one, (start, end, _) in zip(part, made, edges, strict=True):
                yield (*row, Edge(one, run.graph, kind=kind, start=start, end=end))

    def make_nodes(self, rows: Iterable[Row], run: Run, *, returned: bool = True) -> Iterator[Row]:
        """Create the node of each row, many at once, as `make_edges` does edges. For patterns that
        are one new node."""
        labels, evaluate = self.parts[0][2:]
        rows = iter(rows)
        while part := list(islice(rows, _ROWS_AT_ONCE)):
            given: list[dict[str, Any]] = []
            try:
                for row in part:
                    run.tick()
                    given.append({} if evaluate is None else uniform(_map(evaluate, row, run), {}))
            except QueryError:
                run.graph.create_nodes(labels, given)  # if they have an error, it comes first
                raise
            made = run.graph.create_nodes(labels, given)
            if returned:
                yield from [
                    (*row, run.graph.node(one)) for row, one in zip(part, made, strict=True)
                ]
            else:
                yield from part

    def make(self, row: Row, run: Run) -> Row:
        """Return the row with the created elements. Edges follow both their nodes."""
        made: list[Any] = list(row)
        waiting: list[tuple[int, int, tuple[Any, ...]]] = []
        for index, part in enumerate(self.parts):
            if part[0] == "node":
                if part[1] is None or part[1] >= len(row):
                    slot = self.slots[index]
                    if slot < len(made):
                        continue
                    made.append(
                        run.graph.create_node(
                            part[2], {} if part[3] is None else _map(part[3], tuple(made), run)
                        )
                    )
            else:
                waiting.append((index, len(made), part))
                made.append(None)
        for index, at, part in waiting:
            left, right = made[self.slots[index - 1]], made[self.slots[index + 1]]
            if not isinstance(left, Node) or not isinstance(right, Node):
                _refuse_end(left, right)
            start, end = (right, left) if part[2] == "in" else (left, right)
            props = {} if part[3] is None else _map(part[3], tuple(made), run)
            made[at] = run.graph.create_edge(part[1], start, end=end, props=props)
        if self.named:
            values = [made[slot] for slot in self.slots]
            made.append(Path(values[0::2], values[1::2]))
        return tuple(made)


def _refuse_end(*ends: object) -> NoReturn:
    end = next(end for end in ends if not isinstance(end, Node))
    fail(
        f"A relationship connects two nodes, not {shown(end)}.",
        kind="SemanticError" if end is None else "TypeError",
    )


def _properties(
    properties: t.Expression | None, layout: Layout, compiler: Compiler
) -> Evaluate | None:
    return None if properties is None else compiler.compile(properties, dict(layout))


def _map(evaluate: Evaluate, row: Row, run: Run) -> dict[str, Any]:
    value = evaluate(row, run)
    if value is None:
        return {}
    if isinstance(value, (Node, Edge)):
        return dict(value.properties)
    if not isinstance(value, dict):
        fail(f"Properties are given as a map, not as {shown(value)}.")
    return value


def label_names(labels: t.LabelExpression | None) -> tuple[str, ...]:
    if labels is None:
        return ()
    if isinstance(labels, t.LabelName):
        return (labels.name,)
    assert isinstance(labels, t.LabelAnd)
    return tuple(name for item in labels.items for name in label_names(item))


class Changer:
    """One item of SET or REMOVE."""

    def change(self, row: Row, run: Run) -> None:
        raise NotImplementedError


class PropertyChanger(Changer):
    def __init__(self, target: Evaluate, name: Evaluate | str, value: Evaluate | None) -> None:
        self.target, self.name, self.value = target, name, value

    def change(self, row: Row, run: Run) -> None:
        element = self.target(row, run)
        value = self.value(row, run) if self.value is not None else None
        if element is None:
            return
        if not isinstance(element, (Node, Edge)):
            fail(f"Properties are set on nodes and relationships, not on {shown(element)}.")
        name = self.name if isinstance(self.name, str) else self.name(row, run)
        if not isinstance(name, str):
            fail(
                f"A property is named by text, not by {shown(name)}.",
                detail="MapElementAccessByNonString",
            )
        after = dict(element.properties)
        before = after.pop(name, None)
        if value is None and before is None:
            return
        if value is not None:
            after[name] = value
        run.graph.set_properties(element, after, named=(name,))


class AllChanger(Changer):
    def __init__(self, target: Evaluate, value: Evaluate, *, merge: bool) -> None:
        self.target, self.value, self.merge = target, value, merge

    def change(self, row: Row, run: Run) -> None:
        element, value = self.target(row, run), self.value(row, run)
        if element is None:
            return
        if not isinstance(element, (Node, Edge)):
            fail(f"Properties are set on nodes and relationships, not on {shown(element)}.")
        if value is None and self.merge:
            return
        if isinstance(value, (Node, Edge)):
            value = dict(value.properties)
        if not isinstance(value, dict):
            fail(
                f"Properties are set from a map, a node or a relationship, not from {shown(value)}."
            )
        before = element.properties
        run.graph.set_properties(
            element,
            {**before, **value} if self.merge else value,
            named=value if self.merge else {**before, **value},
        )


class LabelChanger(Changer):
    def __init__(self, target: Evaluate, labels: list[str | Evaluate], *, add: bool) -> None:
        self.target, self.labels, self.add = target, labels, add

    def change(self, row: Row, run: Run) -> None:
        node = self.target(row, run)
        if node is None:
            return
        if not isinstance(node, Node):
            fail(f"Labels are set on nodes, not on {shown(node)}.")
        labels = tuple(
            [
                name
                for label in self.labels
                for name in ((label,) if isinstance(label, str) else _labels_of(label(row, run)))
            ]
        )
        if self.add:
            run.graph.set_labels(node, add=labels)
        else:
            run.graph.set_labels(node, remove=labels)


def _labels_of(value: Any) -> list[str]:
    """Return the labels of $(…): a label or a list of them."""
    found = value if isinstance(value, list) else [value]
    for label in found:
        if type(label) is not str or not label:
            fail(
                f"A label is a text of at least one character, not {shown(label)}.",
                detail="InvalidArgumentValue",
            )
    return found


def changer(change: t.UpdateItem, layout: Layout, compiler: Compiler) -> Changer:
    match change:
        case t.SetProperty(target, value):
            return PropertyChanger(
                compiler.compile(target.of, layout),
                _name(target, layout, compiler),
                compiler.compile(value, layout),
            )
        case t.RemoveProperty(target):
            return PropertyChanger(
                compiler.compile(target.of, layout), _name(target, layout, compiler), None
            )
        case t.SetAll(target, value, merge):
            return AllChanger(
                compiler.compile(target, layout), compiler.compile(value, layout), merge=merge
            )
        case t.SetLabels(target, labels):
            return LabelChanger(
                compiler.compile(target, layout), _compiled(labels, layout, compiler), add=True
            )
        case t.RemoveLabels(target, labels):
            return LabelChanger(
                compiler.compile(target, layout), _compiled(labels, layout, compiler), add=False
            )
    raise AssertionError(type(change))


def _compiled(
    labels: tuple[str | t.Expression, ...], layout: Layout, compiler: Compiler
) -> list[str | Evaluate]:
    return [
        label if isinstance(label, str) else compiler.compile(label, layout) for label in labels
    ]


def _name(target: t.Property | t.Index, layout: Layout, compiler: Compiler) -> Evaluate | str:
    return target.name if isinstance(target, t.Property) else compiler.compile(target.index, layout)


class ChangeStep:
    """SET and REMOVE. The values of `before` are appended to the row that the items see."""

    def __init__(
        self, changers: list[Changer], *, before: list[Evaluate], about: OneTarget | None = None
    ) -> None:
        """`about`: what the items are about, if rows may be changed together."""
        self.changers = changers
        self.before = before
        self.about = about if not before else None

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        rows = run.materialize(source)
        if self.about is not None and set_together(self.changers, self.about, rows, run):
            return iter(rows)
        for row in rows:
            wide = (*row, *[one(row, run) for one in self.before]) if self.before else row
            for changer in self.changers:
                run.tick()
                changer.change(wide, run)
        return iter(rows)


class DeleteStep:
    """DELETE: first all relationships of all rows, then the nodes, so that the order of rows is
    irrelevant."""

    def __init__(self, targets: list[Evaluate], *, detach: bool) -> None:
        self.targets, self.detach = targets, detach

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        rows = run.materialize(source)
        nodes: dict[int, None] = {}
        edges: dict[int, None] = {}
        for row in run.ticking(rows):
            for target in self.targets:
                _gather(target(row, run), nodes, edges)
        if self.detach:
            for node in run.ticking(nodes):
                edges.update(dict.fromkeys(run.graph.edges_of(node)))
        for edge in run.ticking(edges):
            run.graph.delete_edge(edge)
        for node in run.ticking(nodes):
            run.graph.delete_node(node)
        return iter(rows)


def _gather(value: Any, nodes: dict[int, None], edges: dict[int, None]) -> None:
    if value is None:
        return
    if isinstance(value, Node):
        nodes[value.id] = None
    elif isinstance(value, Edge):
        edges[value.id] = None
    elif isinstance(value, Path):
        for element in value.elements():
            _gather(element, nodes, edges)
    else:
        fail(f"DELETE takes nodes, relationships and paths, not {shown(value)}.")


class ForeachStep:
    """Run updating steps for each item of a list; rows pass through unchanged."""

    def __init__(self, source: Evaluate, steps: list[QueryStep]) -> None:
        self.source = source
        self.steps = steps

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        rows = run.materialize(source)
        for row in run.ticking(rows):
            items = self.source(row, run)
            if items is None:
                continue
            if not isinstance(items, list):
                fail(f"FOREACH goes through a list, not {shown(items)}.")
            given = iter([(*row, item) for item in run.ticking(items)])
            for _ in run.rows_of_all(self.steps, given):
                pass
        return iter(rows)
