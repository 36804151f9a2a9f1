"""The edges of one CREATE clause, made many at once: properties are what they are row by row."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures_shared import opened

VALUES = (
    "reduce(sum = 0, x IN [1, 2] | sum + x) + b.i",
    "size([x IN range(0, a.i) | x])",
    "COUNT { (:N)-->(:N) }",
    "a.i * 10 + b.i",
)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("arrow", ["(a)-[:T {v: $}]->(b)", "(a)<-[:T {v: $}]-(b)"])
def test_properties_are_those_of_edges_made_one_by_one(
    tmp_path: Path, value: str, arrow: str
) -> None:
    found = []
    for name, extra in (("many", ""), ("single", ", (:Made)")):  # two patterns are made row by row
        with opened(tmp_path / f"{name}.db") as memory:
            memory.run("UNWIND range(0, 3) AS i CREATE (:N {i: i})")
            pattern = arrow.replace("$", value)
            memory.run(f"MATCH (a:N), (b:N) WHERE a.i < b.i CREATE {pattern}{extra}")
            rows = memory.run("MATCH (a)-[t:T]->(b) RETURN a.i, b.i, t.v ORDER BY a.i, b.i, t.v")
            found.append([tuple(row) for row in rows])
    assert found[0] == found[1]
    assert len(found[0]) == 6
