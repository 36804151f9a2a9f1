"""The tables and tests of the edges that a query may follow."""

from __future__ import annotations

from doxa.query.core.run import Run

EDGES, ALL = 1, 2


def edge_tests(run: Run, types: tuple[str, ...] | None, far: str, *, revealed: int = 0) -> str:
    """SQL that rows `e` of the edge table must pass besides: the types, and what is seen, now or at
    a valid time, the node at the far end too. `revealed`: EDGES are seen whatever the policies say,
    or ALL, nodes too."""
    test = "" if types is None else f" AND e.type IN ({', '.join('?' * len(types))})"
    graph, valid = run.graph, run.graph.valid
    test += _also("" if revealed else graph.source("e", edge=True)[1]) + _also(
        valid.edge("e") if valid is not None else ""
    )
    node = node_test(run, far, revealed=revealed)
    return f"{test} AND {node}" if node else test


def edge_source(run: Run, *, revealed: int = 0) -> str:
    """The table for rows `e` that those tests are about."""
    return run.graph.raw_table(edge=True) if revealed else run.graph.source("e", edge=True)[0]


def node_test(run: Run, far: str, *, revealed: int = 0) -> str:
    """SQL that says whether the node at an end of `e` is seen; empty if all are."""
    graph, valid = run.graph, run.graph.valid
    if not (graph.tests_nodes and revealed < ALL) and not (valid is not None and valid.tests_nodes):
        return ""
    table, seen = (
        (graph.raw_table(edge=False), "") if revealed == ALL else graph.source("n", edge=False)
    )
    node = _also(seen) + _also(valid.node("n") if valid is not None else "")
    return f"EXISTS (SELECT 1 FROM {table} n WHERE n.id = e.{far}{node})"


def _also(test: str) -> str:
    return f" AND {test}" if test else ""
