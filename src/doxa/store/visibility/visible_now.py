"""What the persistence policies show of the present: the tables that are read in place of node and
edge.

Rows outside their stored window of visibility are not in them, nor are properties that have faded.
So code that reads such a table cannot forget to ask. As of a system time there is no sight: what
was there is shown. `doxa_now` is the time of the connection's transaction, asked once for each
statement; `doxa_seen` and `doxa_shown` judge elements that have no window, or not yet the right one
(file/engine.py).
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from doxa.store.visibility.evaluator import DYNAMIC

if TYPE_CHECKING:
    from doxa.store.declared import Declared

_serials = itertools.count(1)


class VisibilityFilter:
    """The tables of the present as the policies let a query see them. `key` tells it from all
    others of the process; 0 hides nothing."""

    def __init__(self, declared: Declared, neutral: bool) -> None:
        self.tests_nodes = self.tests = False
        self.key = 0
        self._hides = self._fades = self._dynamic = (False, False)
        self._swept: dict[str, int] = {}
        rules = declared.evaluator.rules
        if neutral or not (rules.any or declared.suppressing):
            return
        self._hides = declared.hides(edge=False), declared.hides(edge=True)
        self._fades = rules.fades(edge=False), rules.fades(edge=True)
        self.tests = any((*self._hides, *self._fades))
        if self.tests:
            self._dynamic = (
                declared.evaluator.has_dynamic(edge=False),
                declared.evaluator.has_dynamic(edge=True),
            )
            self._swept = dict(declared.swept)
            self.tests_nodes = self._hides[0]
            self.key = next(_serials)

    def fades(self, *, edge: bool) -> bool:
        """Return whether properties of nodes, or of edges, may have faded."""
        return self._fades[edge]

    def unsure(self, *, edge: bool) -> tuple[int, bool] | None:
        """Return which elements no stored window covers: those with a greater id, and whether
        dynamic ones too. None if windows cover all."""
        swept = self._swept.get("edge" if edge else "node")
        return (
            None
            if swept is None and not self._dynamic[edge]
            else (2**63 - 1 if swept is None else swept, self._dynamic[edge])
        )

    def table(self, *, edge: bool, hidden: bool = False) -> str:
        """Return the table of nodes, or of edges; with `hidden` those too that are out of sight,
        without what has faded of them all the same."""
        name = "edge" if edge else "node"
        where = f" WHERE {self.test(name, edge=edge)}" if self._hides[edge] and not hidden else ""
        if not where and not self._fades[edge]:
            return name
        columns = (
            "id, type, src, dst, vis_from, vis_until"
            if edge
            else "id, labels, kref, vis_from, vis_until"
        )
        return f"(SELECT {columns}, {self._props(edge, name)} AS props FROM {name}{where})"

    def test(self, alias: str, *, edge: bool) -> str:
        """Return the test by itself, of a row of the `table` with `hidden`: joins of many tables
        run faster so. Empty if all is seen."""
        if not self._hides[edge]:
            return ""
        test = f"{alias}.vis_from <= doxa_now() AND doxa_now() < {alias}.vis_until"
        if self._dynamic[edge]:
            test = (
                f"({test} AND ({alias}.vis_from <> {DYNAMIC} OR doxa_seen({int(edge)},"
                f" {alias}.id)))"
            )
        swept = self._swept.get("edge" if edge else "node")
        return (
            test
            if swept is None
            else (
                f"CASE WHEN {alias}.id <= {swept} THEN {test} ELSE doxa_seen({int(edge)},"
                f" {alias}.id) END"
            )
        )

    def _props(self, edge: bool, name: str) -> str:
        if not self._fades[edge]:
            return "props"
        whole = "fades IS NULL OR (fades ->> 0 <= doxa_now() AND doxa_now() < fades ->> 1)"
        ahead = (
            f"WHEN id > {self._swept[name]} THEN doxa_shown({int(edge)}, id, json(props), NULL) "
            if name in self._swept
            else ""
        )
        return (
            f"CASE {ahead}WHEN {whole} THEN props ELSE doxa_shown({int(edge)}, id, json(props),"
            " json(fades)) END"
        )


def sight_of(declared: Declared, neutral: bool) -> VisibilityFilter:
    """Return the sight of a state of the catalogue, made once for each."""
    held = declared.evaluator.sights
    found = held.get(neutral)
    if found is None:
        found = held[neutral] = VisibilityFilter(declared, neutral)
    return found
