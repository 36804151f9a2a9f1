"""The gate suite: every case of tests/agent/gates/*.json through the interface that it names, and
that every refusal there is for who asks and not for how. README.md there describes the format."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.gates.attacks import Attacks
from tests.agent.gates.driver import FOLDER, INTERFACES, Given, World, judge, load, problems_of_form

_FILES = sorted(FOLDER.glob("*.json"))
_CASES = [(path.stem, case) for path in _FILES for case in load(path)]
_SHARE_OF_CASES_CARRIED_OUT = 0.1


class Prepared:
    """Worlds by what they are given: each is built once and copied for every case."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._built: dict[str, tuple[Path, dict[str, object]]] = {}

    def world(self, given: list[Given]) -> World:
        place, key = self._folder / "world", json.dumps(given, sort_keys=True)
        shutil.rmtree(place, ignore_errors=True)
        if key not in self._built:
            place.mkdir()
            built = World(place)
            with built.open() as memory:
                built.build(memory, given)
            template = self._folder / f"template-{len(self._built)}"
            shutil.copytree(place, template)
            self._built[key] = template, built.named
        else:
            shutil.copytree(self._built[key][0], place)
        found = World(place)
        found.named = dict(self._built[key][1])
        return found


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(tmp_path_factory.mktemp("worlds"))


@pytest.mark.parametrize(
    "case", [case for _, case in _CASES], ids=[case["id"] for _, case in _CASES]
)
def test_a_gate_holds(case: Given, prepared: Prepared) -> None:
    world = prepared.world(case["given"])
    with world.open() as memory:
        assert judge(world, memory, case) == []


def test_every_case_has_its_form(tally: Callable[..., None]) -> None:
    tally(gate_cases=len(_CASES))
    assert {case["id"]: found for _, case in _CASES if (found := problems_of_form(case))} == {}
    twice = [name for name, count in Counter(case["id"] for _, case in _CASES).items() if count > 1]
    assert twice == []


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_every_file_goes_through_several_interfaces_and_lets_something_through(path: Path) -> None:
    """A suite in which everything is refused would also pass where nothing works."""
    cases = load(path)
    assert len(cases) >= 40
    through = [case for case in cases if case["expect"]["refused"] is None]
    assert len(through) >= _SHARE_OF_CASES_CARRIED_OUT * len(cases)
    assert {case["interface"] for case in cases if case["expect"]["refused"]} == set(INTERFACES)


def test_no_random_sequence_of_attacks_passes(campaign: int, tally: Callable[..., None]) -> None:
    """With --campaign 100, the 10,000 sequences of `python -m tests.agent.gates.attacks`."""
    attacks = Attacks(seed=1)
    assert attacks.run(100 * campaign) == []
    assert attacks.steps["refused"] > attacks.steps["unfit"]
    assert attacks.parts.keys() == {"claims", "context", "continuity", "gate", "growth", "spine"}
    tally(attack_steps=attacks.steps.total())
