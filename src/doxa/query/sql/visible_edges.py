"""SQL for the edges that a query may follow: visible, valid, and of the requested types."""

from __future__ import annotations

from doxa.query.core.run import Run

EDGES, ALL = 1, 2


def edge_tests(run: Run, types: tuple[str, ...] | None, far: str, *, revealed: int = 0) -> str:
    """Return SQL tests for rows `e` of the edge table: types, visibility and valid time, also of
    the node at the far end.

    `revealed`: EDGES ignores the policies for edges, ALL also for nodes.
    """
    test = "" if types is None else f" AND e.type IN ({', '.join('?' * len(types))})"
    graph, valid = run.graph, run.graph.valid
    test += _also("" if revealed else graph.source("e", edge=True)[1]) + _also(
        valid.edge("e") if valid is not None else ""
    )
    node = node_test(run, far, revealed=revealed)
    return f"{test} AND {node}" if node else test


def edge_source(run: Run, *, revealed: int = 0) -> str:
    """Return the table for rows `e` that `edge_tests` apply to."""
    return run.graph.raw_table(edge=True) if revealed else run.graph.source("e", edge=True)[0]


def node_test(run: Run, far: str, *, revealed: int = 0) -> str:
    """Return the SQL test whether the node at an end of `e` is visible; empty if all are."""
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
