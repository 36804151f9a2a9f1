"""The lane of mentions: from a good hit by way of an entity to what else mentions it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.app import Memory
from doxa.recall import LANES_DEFAULT
from tests.fixtures_shared import opened

ON = (*LANES_DEFAULT, "mentions")
QUESTION = "Who repaired the harpsichord?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", project="p") as held:
        turns = (
            "The harpsichord was repaired by Ana Ferreira.",
            "Somebody else went shopping for bread.",
            "And there was rain all day.",
            "Later Ana Ferreira moved to Porto.",
            "Nobody knew what to do then.",
        )
        held.ingest([{"text": text, "speaker": "Zoe"} for text in turns], extract=False)
        held.record_mentions()
        yield held


def lane(memory: Memory, *, lanes: tuple[str, ...] = ON) -> dict[str, float]:
    hits = memory.recall(QUESTION, lanes=lanes).hits
    return {hit.text.split()[0]: hit.lanes.get("mentions", 0.0) for hit in hits}


def test_it_is_off_unless_it_is_named(memory: Memory) -> None:
    assert "mentions" not in LANES_DEFAULT
    assert set(lane(memory, lanes=LANES_DEFAULT).values()) <= {0.0}


def test_it_reaches_what_mentions_the_same_entity_and_says_so(memory: Memory) -> None:
    found = lane(memory, lanes=("words", "mentions"))
    assert found["Later"] == pytest.approx(0.25 / 2**0.5, abs=0.01)
    assert "And" not in found
    hits = memory.recall(QUESTION, lanes=("words", "mentions")).hits
    (hit,) = [one for one in hits if one.text.startswith("Later")]
    assert "mentions what better hits mention" in hit.why


def test_it_follows_other_names_of_the_entity(memory: Memory) -> None:
    memory.ingest([{"text": "In the end Annie won.", "speaker": "Zoe"}], extract=False)
    memory.record_mentions()
    assert "In" not in lane(memory, lanes=("words", "mentions"))
    memory.merge_entities("Annie", "Ana Ferreira")
    assert lane(memory, lanes=("words", "mentions"))["In"] > 0


def test_what_is_retired_is_not_reached_and_links_nothing(memory: Memory) -> None:
    (hit,) = [one for one in memory.recall("Porto").hits if one.text.startswith("Later")]
    memory.deprecate(hit.kref)
    assert "Later" not in lane(memory, lanes=("words", "mentions"))


def test_an_entity_that_all_mention_says_nothing(memory: Memory) -> None:
    more = [{"text": f"At {n} we saw Ana Ferreira.", "speaker": "Zoe"} for n in range(250)]
    memory.ingest(more, extract=False)
    memory.record_mentions()
    assert max(lane(memory, lanes=("words", "mentions")).values()) == 0.0
