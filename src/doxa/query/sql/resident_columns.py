"""Answer a grouping or an order over all nodes of a label from resident columns.

MATCH (n:A) RETURN n.city, avg(n.age)              codes of city, numbers of age
MATCH (n:A) RETURN n.name ORDER BY n.age LIMIT 10  numbers of age, then SQL for ten ids

Both give what the SQL of the same step gives, in the same order, or None: then the step asks SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from doxa.base.values import decode_value
from doxa.cypher import tree as t
from doxa.query.core.comparison import group_key
from doxa.query.core.run import Run
from doxa.query.functions.aggregates import Average, Sum
from doxa.query.sql.pushed_pattern import PushedDownPattern
from doxa.store import CODES, NUMBERS, Codes, LabelColumns, Numbers, Wanted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_GROUPS_MAX = 1_000_000  # of combined codes: one counter for each
_CODES_MAX = 65_536  # sorted as 16 bits, which takes linear time
Folded = tuple[str, str]  # an aggregation and the property that it is over, "" for rows


def scanned_label(pushed: PushedDownPattern) -> str | None:
    """Return the label, if a pattern is all nodes of one label and nothing else."""
    if len(pushed.nodes) != 1 or pushed.edges or pushed.bound or pushed.revealed:
        return None
    if pushed.traversed or len(pushed.conditions.accepted) != 1:
        return None
    match pushed.conditions.accepted[0].tree:
        case ("labels", _, t.LabelName(name)):
            return name
    return None


class ResidentGroups:
    """A grouping by properties (`keys`) of the nodes of a label, and its aggregations."""

    def __init__(self, label: str, keys: Sequence[str], folded: Sequence[Folded]) -> None:
        self.label, self.keys, self.folded = label, keys, folded
        self.wanted = tuple(
            dict.fromkeys(
                (
                    *(Wanted(CODES, name) for name in keys),
                    *(Wanted(NUMBERS, name) for _, name in folded if name),
                )
            )
        )

    def rows(self, run: Run) -> list[tuple[Any, ...]] | None:
        """Return the groups: values of the keys, then of the aggregations."""
        view = run.graph.image
        held = None if view is None else view.columns(self.label, self.wanted)
        if held is None or not len(held.ids):
            return None
        run.tick()
        keys = [held.columns[Wanted(CODES, name)] for name in self.keys]
        codes = [key for key in keys if isinstance(key, Codes)]
        if len(codes) < len(keys):
            return None
        placed = _groups_of(codes, len(held.ids))
        if placed is None:
            return None
        group, count, present = placed
        columns: list[list[Any]] = []
        for name, of in self.folded:
            found = _fold(name, of, held, group, count)
            if found is None:
                return None
            columns.append(found)
        values = [_key_values(key, at) for key, at in zip(codes, present, strict=True)]
        names = list(zip(*[[group_key(value) for value in one] for one in values], strict=True))
        if len(set(names)) < len(names):
            return None  # 1 and 1.0 are one group
        return list(zip(*values, *columns, strict=True))


def _groups_of(keys: list[Codes], rows: int) -> tuple[Array, int, list[Array]] | None:
    """Return the group of each row, how many there are, and for each key the codes of the groups.
    Groups ascend by their texts, null first."""
    import numpy as np

    if not keys:
        return np.zeros(rows, dtype=np.int64), 1, []
    total = 1
    for key in keys:
        total *= len(key.texts) + 1
    if total > _GROUPS_MAX:
        return None
    combined = np.zeros(rows, dtype=np.int64)
    for key in keys:
        combined = combined * (len(key.texts) + 1) + key.codes
    there = np.flatnonzero(np.bincount(combined, minlength=total))
    number = np.zeros(total, dtype=np.int64)
    number[there] = np.arange(len(there))
    present, rest = [], there
    for key in reversed(keys):
        rest, code = np.divmod(rest, len(key.texts) + 1)
        present.append(code)
    return number[combined], len(there), present[::-1]


def _key_values(key: Codes, codes: Array) -> list[Any]:
    return [None if code == 0 else decode_value(key.texts[code - 1]) for code in codes.tolist()]


def _fold(name: str, of: str, held: LabelColumns, group: Array, count: int) -> list[Any] | None:
    """Return one aggregation for each group; None if the column cannot say."""
    import numpy as np

    if not of:
        found: list[Any] = np.bincount(group, minlength=count).tolist()
        return found
    column = held.columns[Wanted(NUMBERS, of)]
    if not isinstance(column, Numbers):
        return None
    there = ~np.isnan(column.values)
    values, group = column.values[there], group[there]
    if name == "count":
        return list(np.bincount(group, minlength=count).tolist())
    order = np.argsort(group.astype(np.uint16) if count <= _CODES_MAX else group, kind="stable")
    values, group = values[order], group[order]
    bounds = np.searchsorted(group, np.arange(count + 1))
    if name in ("min", "max"):
        return _extremes(values, bounds, whole=column.whole, largest=name == "max")
    return _sums(values, bounds, whole=column.whole, average=name == "avg")


def _extremes(values: Array, bounds: Array, *, whole: bool, largest: bool) -> list[Any]:
    import numpy as np

    filled = bounds[:-1] < bounds[1:]
    found: list[Any] = [None] * len(filled)
    picked = (np.maximum if largest else np.minimum).reduceat(values, bounds[:-1][filled])
    for at, value in zip(np.flatnonzero(filled).tolist(), picked.tolist(), strict=True):
        found[at] = int(value) if whole else value
    return found


def _sums(values: Array, bounds: Array, *, whole: bool, average: bool) -> list[Any]:
    """Integers are summed as such, and floats rounded once, as the aggregations do."""
    import numpy as np

    found = []
    if whole:
        # 2^53 times the number of rows may exceed 64 bits: high and low halves are summed apart
        numbers = values.astype(np.int64)
        high = np.concatenate(([0], np.cumsum(numbers >> 32)))
        low = np.concatenate(([0], np.cumsum(numbers & 0xFFFFFFFF)))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        total: Sum = Average() if average else Sum()
        total.count = last - first
        if whole:
            total.whole = (int(high[last] - high[first]) << 32) + int(low[last] - low[first])
        else:
            total.floats, total.has_float = values[first:last].tolist(), last > first
        found.append(total.result())
    return found


class ResidentOrder:
    """An order of the nodes of a label by properties, each with whether it descends."""

    def __init__(self, label: str, keys: Sequence[tuple[str, bool]]) -> None:
        self.label, self.keys = label, keys
        self.wanted = tuple(dict.fromkeys(Wanted(NUMBERS, name) for name, _ in keys))

    def first(self, run: Run, most: int) -> Array | None:
        """Return the ids of the first `most` nodes in the order, sorted by id; of equal ones those
        with the least ids."""
        import numpy as np

        view = run.graph.image
        held = None if view is None else view.columns(self.label, self.wanted)
        if held is None:
            return None
        run.tick()
        ranks = []
        for name, down in self.keys:
            column = held.columns[Wanted(NUMBERS, name)]
            if not isinstance(column, Numbers):
                return None
            values = np.where(np.isnan(column.values), np.inf, column.values)  # null is the largest
            ranks.append(-values if down else values)
        if len(held.ids) <= most:
            return held.ids
        last = np.partition(ranks[0], most - 1)[most - 1]
        near = np.flatnonzero(ranks[0] <= last)
        order = np.lexsort([near, *(rank[near] for rank in reversed(ranks))])
        return np.sort(held.ids[near[order[:most]]])
