"""Walks over random graphs are what a breadth-first search over the same edges finds."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Literal

import pytest

from doxa.base.errors import ConflictError
from doxa.belief import Draft, Ledger, Walk, impact, provenance, shortest_path, traverse
from doxa.belief.reading import walks
from doxa.store import Reader, Store

NAMES = tuple("abcdefgh")
TYPES = ("DEPENDS_ON", "DERIVED_FROM", "REFERENCED")
SUPPORT = ("DEPENDS_ON", "DERIVED_FROM")
Edge = tuple[str, str, str]  # source, type, target
Direction = Literal["out", "in", "both"]


def r(name: str) -> str:
    return f"kref://w/{name}.fact?r=1"


def random_graph(ledger: Ledger, seed: int) -> tuple[set[Edge], set[str]]:
    """Write beliefs with random edges; returns the edges and the names of retired beliefs."""
    rng = random.Random(seed)
    for name in NAMES:
        ledger.put(Draft(name, project="w", name=name))
    edges: set[Edge] = set()
    for _ in range(rng.randint(4, 14)):
        source, target = rng.sample(NAMES, 2)
        edge = (source, rng.choice(TYPES), target)
        if edge not in edges:
            ledger.link(f"kref://w/{edge[0]}.fact", f"kref://w/{edge[2]}.fact", kind=edge[1])
            edges.add(edge)
    retired = set(rng.sample(NAMES, 2))
    for name in retired:
        ledger.deprecate(f"kref://w/{name}.fact")
    return edges, retired


def depths(
    edges: set[Edge], start: str, direction: Direction, types: Iterable[str]
) -> dict[str, int]:
    """How far each other belief is, by these types of edges in this direction."""
    wanted = [edge for edge in edges if edge[1] in types]
    steps = [(one, other) for one, _, other in wanted] if direction != "in" else []
    steps += [(other, one) for one, _, other in wanted] if direction != "out" else []
    found, frontier = {start: 0}, [start]
    while frontier:
        at = frontier.pop(0)
        for one, other in steps:
            if one == at and other not in found:
                found[other] = found[at] + 1
                frontier.append(other)
    return found


def check_walk(
    walk: Walk, far: dict[str, int], edges: set[Edge], retired: set[str], *, depth: int
) -> None:
    """Each element once and nearest first, by an edge that is there from one step less far."""
    assert {step.kref: step.depth for step in walk.steps} == {
        r(name): level for name, level in far.items() if 0 < level <= depth
    }
    assert len({step.kref for step in walk.steps}) == len(walk.steps)
    assert [step.depth for step in walk.steps] == sorted(step.depth for step in walk.steps)
    there = {(r(one), kind, r(other)) for one, kind, other in edges}
    distance = {r(name): level for name, level in far.items()}
    for step in walk.steps:
        assert {(step.via, step.edge, step.kref), (step.kref, step.edge, step.via)} & there
        assert distance[step.via] == step.depth - 1
        assert step.current is (step.kref not in {r(name) for name in retired})
    more = max(far.values()) > depth
    assert walk.cut == (f"stopped at depth {depth}; there is more" if more else "")


@pytest.mark.parametrize("seed", range(6))
def test_walks_are_breadth_first(believing: Store, ledger: Ledger, seed: int) -> None:
    edges, retired = random_graph(ledger, seed)
    with believing.read() as reader:
        for start in NAMES:
            for direction in ("out", "in", "both"):
                for types in ((), ("DEPENDS_ON",), SUPPORT):
                    far = depths(edges, start, direction, types or TYPES)
                    for depth in (1, 2, 20):
                        walk = traverse(
                            reader, r(start), direction=direction, depth=depth, types=types
                        )
                        assert walk.start == r(start)
                        check_walk(walk, far, edges, retired, depth=depth)
            far = depths(edges, start, "out", SUPPORT)
            check_walk(provenance(reader, r(start), depth=2), far, edges, retired, depth=2)
            far = depths(edges, start, "in", SUPPORT)
            check_walk(impact(reader, r(start)), far, edges, retired, depth=20)
            check_walk(impact(reader, r(start), depth=1), far, edges, retired, depth=1)
            whole, near = impact(reader, r(start)), impact(reader, r(start), depth=20)
            assert {(s.kref, s.falls) for s in whole.steps} == {
                (s.kref, s.falls) for s in near.steps
            }


@pytest.mark.parametrize("seed", range(6))
def test_a_shortest_path_is_as_long_as_the_distance(
    believing: Store, ledger: Ledger, seed: int
) -> None:
    edges, _ = random_graph(ledger, seed)
    there = {(r(one), kind, r(other)) for one, kind, other in edges}
    with believing.read() as reader:
        for types in ((), ("DEPENDS_ON",)):
            for start in NAMES:
                far = depths(edges, start, "both", types or TYPES)
                for end in NAMES:
                    walk = shortest_path(reader, r(start), r(end), types=types)
                    assert len(walk.steps) == far.get(end, 0)
                    assert walk.cut == ("" if end in far else "no path")
                    ends = [r(start), *(step.kref for step in walk.steps)]
                    assert ends[-1] == (r(end) if end in far else r(start))
                    for number, step in enumerate(walk.steps, 1):
                        assert (step.depth, step.via) == (number, ends[number - 1])
                        assert step.edge in (types or TYPES)
                        between = {
                            (step.via, step.edge, step.kref),
                            (step.kref, step.edge, step.via),
                        }
                        assert between & there
                    if far.get(end, 0) > 1:
                        near = shortest_path(
                            reader, r(start), r(end), types=types, depth=far[end] - 1
                        )
                        assert (near.steps, near.cut) == (
                            (),
                            f"no path within {far[end] - 1} edges",
                        )


def test_walks_stop_after_so_many_elements(
    believing: Store, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A star: seven beliefs depend on a."""
    ledger.put(Draft("a", project="w", name="a"))
    for name in NAMES[1:]:
        ledger.put(Draft(name, project="w", name=name), links=[("DEPENDS_ON", "kref://w/a.fact")])
    ledger.put(Draft("z", project="w", name="z"), links=[("DEPENDS_ON", "kref://w/h.fact")])

    def walked(reader: Reader) -> dict[str, Walk]:
        return {
            "traverse": traverse(reader, r("a"), direction="in"),
            "impact": impact(reader, r("a")),
            "impact, bounded": impact(reader, r("a"), depth=3),
            "path": shortest_path(reader, r("a"), r("z")),
        }

    with believing.read() as reader:
        assert {name: (len(walk.steps), walk.cut) for name, walk in walked(reader).items()} == {
            "traverse": (8, ""),
            "impact": (8, ""),
            "impact, bounded": (8, ""),
            "path": (2, ""),
        }
        monkeypatch.setattr(walks, "TRAVERSE_NODES_MAX", 7)
        cut = "stopped after 7 elements"
        assert {name: (len(walk.steps), walk.cut) for name, walk in walked(reader).items()} == {
            "traverse": (7, cut),
            "impact": (7, cut),
            "impact, bounded": (7, cut),
            "path": (0, cut),
        }
        assert walked(reader)["path"].start == r("a")
        monkeypatch.setattr(walks, "TRAVERSE_NODES_MAX", 9)
        assert walked(reader)["path"].cut == ""


def test_a_place_is_left_only_when_it_holds_nothing_else(ledger: Ledger) -> None:
    """Erasing an item may take its space along; a space that holds another item stays."""
    for name in "ab":
        ledger.put(Draft(name, project="w", space="s", name=name))
    with pytest.raises(ConflictError):
        ledger.erase(["kref://w/s/a.fact", "kref://w/s"])
    assert ledger.erase(["kref://w/s/a.fact"]).reason == "2 elements"
    assert ledger.erase(["kref://w/s/b.fact", "kref://w/s"]).reason == "3 elements"
