"""The small memories by which dream is measured: how they are read, and that each proposal for them
bears a label."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from bench import dream, dream_worlds
from bench.metrics import wilson
from doxa.dream.findings import DOUBTFUL


def test_a_world_is_read_and_built(tmp_path: Path) -> None:
    path = tmp_path / "worlds.txt"
    path.write_text(
        "# a comment\n== one\n#1 @t Ann: The bus leaves at six.\n= bus [candidate; from=#1]: It is"
        " so.\n= a [until=2026-03-05; Ann | owns | a boat]: Ann owns a boat.\n= b [on=a]: She"
        " sails.\n- a\n== two\n= c: Tea is hot.\n"
    )
    one, two = dream_worlds.read_worlds(path)
    assert (one.title, len(one.turns), one.retired, two.title) == ("one", 1, ["a"], "two")
    assert [name for name, _, _ in one.beliefs] == ["bus", "a", "b"]
    path.write_text("== one\nnonsense\n")
    with pytest.raises(ValueError, match="one: nonsense"):
        list(dream_worlds.read_worlds(path))


def test_each_proposal_for_the_worlds_bears_a_label(monkeypatch: pytest.MonkeyPatch) -> None:
    first = list(islice(dream_worlds.read_worlds(), 6))
    monkeypatch.setattr(dream, "read_worlds", lambda: iter(first))
    known = dream.labels(dream.WORLD_LABELS)
    found = list(dream.proposed_of_worlds())
    assert len(found) >= 10
    assert [one for one in found if one.digest not in known] == []


def test_a_kind_that_is_often_wrong_is_doubtful() -> None:
    kinds: dict[str, list[bool]] = {}
    for line in dream.WORLD_LABELS.read_text().splitlines():
        row = json.loads(line)
        kinds.setdefault(row["kind"], []).append(row["right"])
    often = {
        kind for kind, found in kinds.items() if len(found) < 10 or sum(found) < 0.8 * len(found)
    }
    assert often == {"gap", "summary"} and often <= set(DOUBTFUL)


def test_the_interval_of_a_share() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-3)
    assert dream.precision([True, None, False]).startswith("2 labelled, 1 right: 50.0%")
    assert dream.precision([None]) == "none labelled"
