"""What traversal patterns are worth, on graphs where that is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.entities import PathYield, path_yields
from doxa.entities.patterns import FAN_OUT_MAX, PATHS
from tests.fixtures_shared import opened

BY_ENTITY = "MENTIONS> <MENTIONS"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", project="p") as held:
        yield held


def turns(memory: Memory, *texts: str) -> list[str]:
    memory.ingest([{"text": text, "speaker": "Zoe"} for text in texts], extract=False)
    memory.record_mentions()
    rows = memory.run("MATCH (n:Exchange) RETURN n.kref AS kref ORDER BY id(n)")
    return [str(row[0]) for row in rows][-len(texts) :]


def by_path(found: list[PathYield]) -> dict[str, PathYield]:
    return {one.path: one for one in found}


def test_a_memory_without_anything_used_together_says_so(memory: Memory) -> None:
    turns(memory, "We met Ana Ferreira.", "Then Ana Ferreira left.")
    found = memory.traversal_patterns()
    assert {one.path for one in found} == set(PATHS)
    assert {(one.reached, one.used, one.coverage) for one in found} == {(0, 0, 0.0)}
    assert {one.yield_score for one in found} == {0.5}, "nothing is known of any"


def test_the_grounds_of_a_belief_are_used_together(memory: Memory) -> None:
    first, other, third = turns(
        memory, "We met Ana Ferreira.", "Then Ana Ferreira left.", "And Ana Ferreira sang."
    )
    belief = memory.remember("She was there, and then she was not")
    for turn in (first, other):
        memory.link(belief.kref, turn, kind="DERIVED_FROM")
    found = by_path(memory.traversal_patterns())
    # from each of the two grounds to two others, of which one is the other ground
    assert (found[BY_ENTITY].reached, found[BY_ENTITY].used) == (4, 2)
    assert found[BY_ENTITY].yield_score == 0.5 and found[BY_ENTITY].coverage == 1
    assert found["<DERIVED_FROM DERIVED_FROM>"].used == 2
    assert found["<DERIVED_FROM DERIVED_FROM>"].yield_score == 0.75
    assert (found["NEXT>"].reached, found["NEXT>"].used) == (2, 1)
    assert found[BY_ENTITY].overlap > 0, "NEXT leads to some of it as well"
    with memory.store.read() as reader:
        given = by_path(path_yields(reader, "p", together=[[first, third]]))
    assert (given[BY_ENTITY].reached, given[BY_ENTITY].used) == (4, 2)
    assert given["NEXT>"].used == 0


def test_what_leads_everywhere_is_not_followed(memory: Memory) -> None:
    texts = [f"At {n} we saw Ana Ferreira." for n in range(FAN_OUT_MAX + 5)]
    found = turns(memory, *texts)
    with memory.store.read() as reader:
        given = by_path(path_yields(reader, "p", together=[found[:2]]))
    assert given[BY_ENTITY].reached == 0
