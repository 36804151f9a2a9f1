"""A visibility window ends, or begins, at one nanosecond: what is seen right before, at and right
after it, for every decay function and both signs of the half-life."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.clock import FakeClock
from doxa.policy.decay import Decay, Promotion, score, window
from doxa.store import Store
from doxa.store.visibility.evaluator import VisibilityDecision, common_window, faded_names

START, HALF_LIFE_S = 1_700_000_000_000_000_000, 86_400
THRESHOLD = 0.25
CASES = [(name, sign) for name in ("exponential", "linear", "step") for sign in (1, -1)]
IDS = [f"{name}{'+' if sign > 0 else '-'}" for name, sign in CASES]


class World:
    """A memory with a node, an edge, a property and a belief that all fade by the same rule."""

    def __init__(self, path: Path, function: str, sign: int) -> None:
        self.clock = FakeClock(START)
        self.memory = doxa.open(
            path, role="operator", embedder=None, background=False, clock=self.clock
        )
        self.run(
            f"CREATE DECAY PROFILE d OPTIONS {{ halfLifeSeconds: {sign * HALF_LIFE_S}, function:"
            f" '{function}', visibilityThreshold: {THRESHOLD} }}"
            " CREATE DECAY PROFILE dn FOR (n:N) APPLY { DECAY PROFILE 'd' }"
            " CREATE DECAY PROFILE de FOR ()-[r:E]-() APPLY { DECAY PROFILE 'd' }"
            " CREATE DECAY PROFILE db FOR (n:Revision) APPLY { DECAY PROFILE 'd' }"
            f" CREATE DECAY PROFILE dp FOR (n:P) APPLY {{ NO DECAY DECAY THRESHOLD {THRESHOLD}"
            " n.fading DECAY PROFILE 'd' }"
        )
        self.run("CREATE (:N {i: 1}), (:P {fading: 1})-[:E]->(:A)")
        self.memory.remember("The heron waits by the pond", name="heron", project="birds")
        self.memory.flush()

    def run(self, text: str) -> list[dict[str, object]]:
        with self.memory.session(role="operator").graph() as graph:
            return graph.run(text).records()

    @property
    def store(self) -> Store:
        return self.memory.store

    def windows(self) -> dict[str, tuple[int, int]]:
        node = (
            "SELECT n.vis_from, n.vis_until FROM node n JOIN node_label l ON l.node = n.id WHERE"
            " l.label = ?"
        )
        with self.store.read() as reader:
            (fades,) = reader.rows(
                "SELECT json(n.fades) FROM node n JOIN node_label l ON l.node = n.id WHERE l.label"
                " = 'P'"
            )[0]
            return {
                "node": reader.rows(node, ("N",))[0],
                "edge": reader.rows("SELECT vis_from, vis_until FROM edge WHERE type = 'E'")[0],
                "belief": reader.rows(node, ("Revision",))[0],
                "search row": reader.rows("SELECT vis_from, vis_until FROM doc")[0],
                "property": common_window(VisibilityDecision(*_ALWAYS, fades), ("fading",)),
            }  # type: ignore[return-value]

    def seen(self, what: str) -> bool:
        match what:
            case "node":
                return bool(self.run("MATCH (n:N) RETURN n.i"))
            case "edge":
                return bool(self.run("MATCH ()-[r:E]->() RETURN type(r)"))
            case "property":
                return self.run("MATCH (n:P) RETURN n.fading AS f")[0]["f"] is not None
            case "belief":
                return bool(self.run("MATCH (n:Revision) RETURN n.summary"))
            case _:
                return bool(self.memory.recall("heron pond", project="birds").hits)


_ALWAYS = (-(2**63), 2**63 - 1)


@pytest.fixture(params=CASES, ids=IDS)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[World, str, int]]:
    function, sign = request.param
    world = World(tmp_path / "m.db", function, sign)
    yield world, function, sign
    assert world.memory.check() == []
    world.memory.close()


def test_what_is_seen_around_the_edge_of_a_window(case: tuple[World, str, int]) -> None:
    world, _function, sign = case
    for what, (start, end) in world.windows().items():
        edge = end if sign > 0 else start
        assert START < edge < START + 10 * HALF_LIFE_S * 10**9, what
        for now in (edge - 1, edge, edge + 1):
            world.clock.set(now)
            assert world.seen(what) is ((now < edge) == (sign > 0)), (what, now - edge)


@pytest.mark.parametrize(("function", "sign"), CASES, ids=IDS)
def test_a_window_is_exactly_the_times_at_which_the_score_passes(function: str, sign: int) -> None:
    decay = Decay(function, sign * HALF_LIFE_S * 10**9, 0.0, THRESHOLD)
    for promotion in (Promotion(), Promotion(multiplier=0.75), Promotion(multiplier=1.5)):
        found = window(decay, promotion, START)
        edge = found.end if sign > 0 else found.start
        for now in (edge - 1, edge, edge + 1):
            passes = score(decay, promotion, now - START) >= THRESHOLD
            assert found.holds(now) is passes is ((now < edge) == (sign > 0)), now - edge


@pytest.mark.parametrize("now", [9, 10, 19, 20])
def test_a_property_has_faded_outside_its_window(now: int) -> None:
    fades = '[10, 20, {"a": [10, 20]}]'
    assert faded_names(fades, now) == (frozenset() if 10 <= now < 20 else {"a"})
