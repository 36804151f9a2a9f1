"""What the persistence policies show of the present: the tables that are read in place of node and edge.

Rows outside their stored window of visibility are not in them, nor are properties that have faded. So code that reads such a table cannot forget to
ask. As of a system time there is no sight: what was there is shown. `doxa_now` is the time of the connection's transaction, asked once for each
statement; `doxa_seen` and `doxa_shown` judge elements that have no window, or not yet the right one (engine.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doxa.store.judge import DYNAMIC

if TYPE_CHECKING:
    from doxa.store.reader import Reader


class Sight:
    """The tables of the present as the policies let a query see them. `key` is equal where they are."""

    def __init__(self, reader: Reader) -> None:
        self.tests_nodes = self.tests = False
        self.key: tuple[Any, ...] = ()
        self._hides = self._fades = self._dynamic = (False, False)
        self._swept: dict[str, int] = {}
        declared = reader.declared()
        rules = declared.judge.rules
        if reader.neutral or not (rules.any or declared.suppressing):
            return
        self._hides = declared.hides(edge=False), declared.hides(edge=True)
        self._fades = rules.fades(edge=False), rules.fades(edge=True)
        self.tests = any((*self._hides, *self._fades))
        if self.tests:
            self._dynamic = declared.judge.has_dynamic(edge=False), declared.judge.has_dynamic(edge=True)
            self._swept = reader.swept()
            self.tests_nodes = self._hides[0]
            self.key = (self._hides, self._fades, self._dynamic, tuple(sorted(self._swept.items())))

    def unsure(self, *, edge: bool) -> tuple[int, bool] | None:
        """Which elements a stored window does not tell of: those with a greater id, and whether dynamic ones too. None if windows tell of all."""
        swept = self._swept.get("edge" if edge else "node")
        return None if swept is None and not self._dynamic[edge] else (2**63 - 1 if swept is None else swept, self._dynamic[edge])

    def table(self, *, edge: bool, hidden: bool = False) -> str:
        """The table of nodes, or of edges; with `hidden` those too that are out of sight, without what has faded of them all the same."""
        name = "edge" if edge else "node"
        where = f" WHERE {self._window(edge, name)}" if self._hides[edge] and not hidden else ""
        if not where and not self._fades[edge]:
            return name
        columns = "id, type, src, dst, vis_from, vis_until" if edge else "id, labels, kref, vis_from, vis_until"
        return f"(SELECT {columns}, {self._props(edge, name)} AS props FROM {name}{where})"

    def _window(self, edge: bool, name: str) -> str:
        test = "vis_from <= doxa_now() AND doxa_now() < vis_until"
        if self._dynamic[edge]:
            test = f"({test} AND (vis_from <> {DYNAMIC} OR doxa_seen({int(edge)}, id)))"
        return f"CASE WHEN id <= {self._swept[name]} THEN {test} ELSE doxa_seen({int(edge)}, id) END" if name in self._swept else test

    def _props(self, edge: bool, name: str) -> str:
        if not self._fades[edge]:
            return "props"
        whole = "fades IS NULL OR (fades ->> 0 <= doxa_now() AND doxa_now() < fades ->> 1)"
        ahead = f"WHEN id > {self._swept[name]} THEN doxa_shown({int(edge)}, id, json(props), NULL) " if name in self._swept else ""
        return f"CASE {ahead}WHEN {whole} THEN props ELSE doxa_shown({int(edge)}, id, json(props), json(fades)) END"
