"""What a statement made is freed by reference counting when it ends: the garbage collector would
take an eighth of the time of small statements."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.app import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with doxa.open(tmp_path / "m.doxa", embedder=None, role="operator", background=False) as made:
        made.run("UNWIND range(1, 9) AS i CREATE (:City {name: i})-[:NEAR]->(:City {name: -i})")
        yield made


def left_by(memory: Memory, text: str, *, explicit: bool) -> list[str]:
    def run(number: int) -> None:
        if not explicit:
            list(memory.run(text, {"x": number}))
            return
        with memory.graph() as graph:
            graph.begin()
            list(graph.run(text, {"x": number}))
            graph.commit()

    gc.freeze()  # what other tests left is not looked at: it may be millions of objects
    for number in range(3):
        run(number)
    gc.collect()
    gc.disable()
    try:
        for number in range(5):
            run(number)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return [type(one).__name__ for one in gc.garbage if type(one).__module__.startswith("doxa")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.unfreeze()


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:City {name: $x}) RETURN n.name",
        "MATCH (n:City {name: $x})-[:NEAR]->(m) RETURN count(m)",
        "MATCH (n:City) RETURN n.name ORDER BY n.name LIMIT 2",
        "MATCH (n:City {name: $x}) SET n.seen = $x",
        "CREATE (:Town {name: $x})",
    ],
)
def test_a_statement_leaves_nothing_to_the_collector(
    memory: Memory, text: str, explicit: bool
) -> None:
    # what a statement leaves, it leaves each time; threads of other tests leave something at times
    left = [left_by(memory, text, explicit=explicit) for _ in range(3)]
    assert [] in left, left
