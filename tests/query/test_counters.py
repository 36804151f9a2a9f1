"""What SET and REMOVE count: the properties that they name, as Neo4j 5.26 does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "a.db", role="operator", embedder=None, background=False) as opened:
        yield opened


@pytest.mark.parametrize(
    ("change", "count"),
    [
        ("SET n.a = 1", 1),  # to what it was
        ("SET n.b = 'text'", 1),
        ("SET n.f = 0.5, n.t = true", 2),
        ("SET n.q = null", 0),
        ("SET n.b = null", 1),
        ("SET n = {a: 1, z: 5}", 5),  # two that it has now, three that it had
        ("SET n = {a: 1, z: null}", 4),
        ("SET n = {}", 4),
        ("SET n += {a: 1, z: 2, q: null}", 2),
        ("SET n += {a: null}", 1),
        ("SET n += {}", 0),
        ("SET n = properties(n)", 4),
        ("REMOVE n.b, n.q", 1),
        ("SET n = {a: 7, b: 8} SET n = {b: 8, c: 9}", 7),
    ],
)
@pytest.mark.parametrize("rows", [1, 20])
def test_what_is_set_is_counted(memory: doxa.Memory, change: str, count: int, rows: int) -> None:
    memory.run(
        "UNWIND range(1, $rows) AS i CREATE (:N {a: 1, b: 'text', f: 0.5, t: true})",
        {"rows": rows},
    )
    with memory.graph() as graph:
        found = graph.run(f"MATCH (n:N) {change}").counters
    assert found == dict.fromkeys(found, 0) | {"properties_set": count * rows}
