"""MERGE: find the pattern or create it.

    UNWIND $rows AS r MERGE (n:Person {id: r.id})

Rows are merged one by one, and a row sees what earlier rows created. For many rows of one node
whose properties are whole numbers, truth values and texts, this comes to the same: look for each
distinct value once, create what is missing in the order of the rows, and give later rows what
earlier ones created. A row with another value, or without one, is merged by itself between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.query.core.errors import fail
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate, QueryStep
from doxa.query.exec.setting import is_pure, may_hold_elements
from doxa.query.exec.update_steps import Changer, PatternMaker
from doxa.query.sql.pattern_scan import PatternScanStep
from doxa.store.bulk.properties import is_kept

_LEAST = 8
_ROWS_AT_ONCE = 5_000
_PLAIN = frozenset((int, bool, str))
Key = tuple[tuple[type, Any], ...]


class MergeStep:
    """MERGE of a pattern. `together`: the properties by which many rows may look for a node at
    once."""

    def __init__(
        self,
        *,
        find: list[QueryStep],
        slots: list[int],
        make: PatternMaker,
        checks: list[Evaluate],
        on_create: list[Changer],
        on_match: list[Changer],
        together: tuple[str, ...],
    ) -> None:
        self.find = find
        self.slots = slots
        self.maker = make
        self.checks = checks
        self.on_create, self.on_match = on_create, on_match
        self.names = together
        self.together = bool(
            together
            and make.is_node
            and len(slots) == 1
            and len(find) == 1
            and isinstance(find[0], PatternScanStep)
        )

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        rows = run.materialize(source)
        sight = run.graph.sight
        if not self.together or len(rows) < _LEAST or sight is None or sight.tests:
            return iter([one for row in rows for one in self._one(row, run)])
        merged: list[Row] = []
        for at in range(0, len(rows), _ROWS_AT_ONCE):
            merged += self._many(rows[at : at + _ROWS_AT_ONCE], run)
        return iter(merged)

    def _one(self, row: Row, run: Run) -> list[Row]:
        """Merge one row."""
        run.tick()
        for check in self.checks:
            if check(row, run) is None:
                fail(
                    "MERGE cannot look for a property that is null.",
                    kind="SemanticError",
                    detail="MergeReadOwnWrites",
                    hint="Leave the property out, or set it ON CREATE.",
                )
        found = run.rows_of_all(self.find, iter((row,)))
        rows = [(*row, *[one[slot] for slot in self.slots]) for one in found]
        changers = self.on_match
        if not rows:
            rows, changers = [self.maker.make(row, run)], self.on_create
        for one in rows:
            for changer in changers:
                changer.change(one, run)
        return rows

    def _many(self, rows: list[Row], run: Run) -> list[Row]:
        merged: list[Row] = []
        waiting: list[tuple[Row, Key]] = []
        keys = [self._key(row, run) for row in rows]
        kept = self._is_kept([key for key in keys if key is not None])
        for row, key in zip(rows, keys, strict=True):
            if key is not None and (kept or self._is_kept([key])):
                waiting.append((row, key))
                continue
            merged += self._together(waiting, run)
            waiting = []
            merged += self._one(row, run)
        return merged + self._together(waiting, run)

    def _is_kept(self, keys: Sequence[Key]) -> bool:
        """Whether what is created has these values: a text with a secret is stored without it, and
        the next row does not find it."""
        texts = [value for key in keys for kind, value in key if kind is str]
        return not texts or is_kept(self.names, texts)

    def _key(self, row: Row, run: Run) -> Key | None:
        """Return what a row looks for; None if it is to be merged by itself."""
        if (self.on_create or self.on_match) and any(map(may_hold_elements, row)):
            return None
        try:
            values = [check(row, run) for check in self.checks]
        except QueryError:
            return None  # it is raised when its turn comes
        if not _PLAIN.issuperset(map(type, values)):
            return None
        if any("\x00" in value for value in values if type(value) is str):
            return None
        return tuple([(type(value), value) for value in values])

    def _together(self, rows: list[tuple[Row, Key]], run: Run) -> list[Row]:
        """Merge rows that look for plain values."""
        if len(rows) < _LEAST:
            return [one for row, _ in rows for one in self._one(row, run)]
        held = self._found(rows, run)
        if self.on_create or self.on_match:
            return self._changed(rows, held, run)
        missing = [(row, key) for row, key in _first(rows) if not held[key]]
        made = self.maker.make_nodes([row for row, _ in missing], run)
        for (_, key), one in zip(missing, made, strict=True):
            held[key] = [one[-1]]
        return [(*row, node) for row, key in run.ticking(rows) for node in held[key]]

    def _found(self, rows: list[tuple[Row, Key]], run: Run) -> dict[Key, list[Any]]:
        """Return the nodes that each key finds, in order."""
        distinct = _first(rows)
        held: dict[Key, list[Any]] = {key: [] for _, key in distinct}
        (slot,), at = self.slots, 0
        for found in run.rows_of(self.find[0], iter([row for row, _ in distinct])):
            while any([a is not b for a, b in zip(distinct[at][0], found, strict=False)]):
                at += 1
            held[distinct[at][1]].append(found[slot])
        return held

    def _changed(
        self, rows: list[tuple[Row, Key]], held: dict[Key, list[Any]], run: Run
    ) -> list[Row]:
        """Create and change, row by row, what was looked for together."""
        merged = []
        for row, key in rows:
            run.tick()
            changers = self.on_match
            found = [(*row, run.graph.node(node.id)) for node in held[key]]
            if not found:
                found, changers = [self.maker.make(row, run)], self.on_create
                held[key] = [found[0][-1]]
            for one in found:
                for changer in changers:
                    changer.change(one, run)
            merged += found
        return merged


def _first(rows: Sequence[tuple[Row, Key]]) -> list[tuple[Row, Key]]:
    """The first row of each key, in order."""
    seen: dict[Key, Row] = {}
    for row, key in rows:
        seen.setdefault(key, row)
    return [(row, key) for key, row in seen.items()]


def merges_together(clause: t.Merge, layout: dict[str, int]) -> tuple[str, ...]:
    """Return the properties of a MERGE of one new node, if they are values of the row, and what it
    sets cannot change what it looks for; else nothing."""
    match clause.pattern:
        case t.PathPattern(
            variable=None,
            elements=(t.NodePattern(variable=name, properties=t.MapOf(items=items)),),
        ) if items and (name is None or name not in layout):
            keys = tuple(key for key, _ in items)
            if (
                len(set(keys)) == len(keys)
                and all([_is_of_row(value) for _, value in items])
                and all([_leaves(one, keys) for one in (*clause.on_create, *clause.on_match)])
            ):
                return keys
    return ()


def _is_of_row(value: t.Expression) -> bool:
    """Whether a value is a constant, a value of the row, or an entry of one."""
    match value:
        case t.Literal() | t.ParameterRef() | t.Variable():
            return True
        case t.Property(t.Variable() | t.ParameterRef()):
            return True
    return False


def _leaves(change: t.UpdateItem, keys: Sequence[str]) -> bool:
    """Whether a change leaves labels and the properties `keys` as they are."""
    match change:
        case t.SetProperty(t.Property(t.Variable(), name), value):
            return name not in keys and is_pure(value)
    return False
