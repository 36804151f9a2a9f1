"""Walks over the edges between revisions: each element once, nearest first, and cut only with a
word about it."""

from __future__ import annotations

from typing import Any

import pytest

from doxa.base.clock import FakeClock, format_time
from doxa.base.errors import InputError, LimitError, NotFoundError
from doxa.belief import Draft, Ledger, Walk, impact, provenance, shortest_path, traverse
from doxa.store import Store


def k(name: str) -> str:
    return f"kref://w/{name}.fact"


def r(name: str, number: int = 1) -> str:
    return f"{k(name)}?r={number}"


@pytest.fixture
def web(believing: Store, ledger: Ledger) -> Store:
    """a <- b <- c <- … <- z by DEPENDS_ON (b depends on a), a side edge d -> x, and y alone."""
    ledger.put(Draft("a", project="w", name="a"))
    for before, name in zip("abcdefghijklmnopqrstuv", "bcdefghijklmnopqrstuvw", strict=True):
        ledger.put(Draft(name, project="w", name=name), links=[("DEPENDS_ON", k(before))])
    ledger.put(Draft("x", project="w", name="x"))
    ledger.link(k("d"), k("x"), kind="REFERENCED")
    ledger.put(Draft("y", project="w", name="y"))
    return believing


def names(walk: Walk) -> list[tuple[str, int]]:
    return [(step.kref.removeprefix("kref://w/")[0], step.depth) for step in walk.steps]


def test_traverse_each_way(web: Store) -> None:
    with web.read() as snapshot:
        out = traverse(snapshot, k("d"))
        assert out.start == r("d")
        assert sorted(names(out)) == [("a", 3), ("b", 2), ("c", 1), ("x", 1)]
        assert out.cut == ""
        assert [step.depth for step in out.steps] == [1, 1, 2, 3]
        assert {(step.edge, step.via) for step in out.steps if step.depth == 1} == {
            ("DEPENDS_ON", r("d")),
            ("REFERENCED", r("d")),
        }
        assert names(traverse(snapshot, k("d"), types=["REFERENCED"])) == [("x", 1)]
        assert names(traverse(snapshot, k("a"), direction="in", depth=2)) == [("b", 1), ("c", 2)]
        assert sorted(names(traverse(snapshot, k("b"), direction="both", depth=1))) == [
            ("a", 1),
            ("c", 1),
        ]
        assert traverse(snapshot, k("y")) == Walk(r("y"), ())


@pytest.mark.parametrize("depth", [1, 5, 20])
def test_a_cut_is_said(web: Store, depth: int) -> None:
    with web.read() as snapshot:
        walk = traverse(snapshot, k("a"), direction="in", depth=depth, types=["DEPENDS_ON"])
        assert [step.depth for step in walk.steps] == list(range(1, depth + 1))
        assert walk.cut == f"stopped at depth {depth}; there is more"
        assert traverse(snapshot, k("u"), direction="in", depth=2, types=["DEPENDS_ON"]).cut == ""


@pytest.mark.parametrize("depth", [0, 21, -1, True, 1.5, "3", None])
def test_depths_outside_the_limit_are_refused(web: Store, depth: Any) -> None:
    with web.read() as snapshot:
        for call in (traverse, impact, provenance) if depth is not None else (traverse, provenance):
            with pytest.raises(LimitError) as caught:
                call(snapshot, k("a"), depth=depth)
            assert caught.value.fields["limit_depth"] == 20
        with pytest.raises(LimitError):
            shortest_path(snapshot, k("a"), k("b"), depth=depth)
        assert (
            impact(snapshot, k("a"), depth=None).cut == ""
        )  # what depends on a belief is asked for without a bound


def test_unknown_direction_and_start(web: Store) -> None:
    with web.read() as snapshot:
        with pytest.raises(InputError, match="not a direction"):
            traverse(snapshot, k("a"), direction="up")  # type: ignore[arg-type]
        with pytest.raises(NotFoundError):
            traverse(snapshot, k("none"))


def test_impact_follows_support_of_all_revisions(web: Store, ledger: Ledger) -> None:
    ledger.put(Draft("a anew", project="w", name="a"))
    ledger.deprecate(k("b"))
    with web.read() as snapshot:
        walk = impact(snapshot, k("a"), depth=3)
        assert names(walk) == [("b", 1), ("c", 2), ("d", 3)]
        assert [step.current for step in walk.steps] == [False, True, True]
        assert walk.cut.startswith("stopped at depth 3")
        assert impact(snapshot, r("a", 2)).steps == ()
        assert names(impact(snapshot, r("a"), depth=1)) == [("b", 1)]
        assert impact(snapshot, k("x")).steps == ()  # a mention is not support
        assert names(provenance(snapshot, k("d"))) == [("c", 1), ("b", 2), ("a", 3)]


def test_impact_of_an_item_that_holds_nothing(web: Store, ledger: Ledger) -> None:
    ledger.bundle("kref://w/all.bundle")
    with web.read() as snapshot:
        for walk in (impact, provenance, traverse):
            assert walk(snapshot, "kref://w/all.bundle") == Walk("kref://w/all.bundle", ())


def test_a_walk_from_a_bundle_begins_with_what_it_holds(
    web: Store, ledger: Ledger, clock: FakeClock
) -> None:
    bundle = "kref://w/all.bundle"
    ledger.bundle(bundle, add=[k("c"), k("x")])
    clock.advance(seconds=1)
    with web.read() as snapshot:
        walk = traverse(snapshot, bundle)
        assert [(s.kref, s.depth, s.edge, s.via) for s in walk.steps[:2]] == [
            (r("c"), 1, "MEMBER", bundle),
            (r("x"), 1, "MEMBER", bundle),
        ]
        assert {s.kref for s in walk.steps} == {r("c"), r("x")} | {
            s.kref for n in "cx" for s in traverse(snapshot, k(n)).steps
        }
        assert {s.kref for s in provenance(snapshot, bundle).steps} == {r("c"), r("x")} | {
            s.kref for n in "cx" for s in provenance(snapshot, k(n)).steps
        }
        assert {s.kref for s in impact(snapshot, bundle).steps} >= {
            s.kref for s in impact(snapshot, k("c")).steps
        } - {r("x")}
        assert traverse(snapshot, bundle, direction="in").steps == ()
        assert [s.kref for s in traverse(snapshot, bundle, types=["MEMBER"]).steps] == [
            k("c"),
            k("x"),
        ]
    held = format_time(clock.now_ns())
    clock.advance(seconds=1)
    ledger.bundle(bundle, remove=[k("c")])
    ledger.link(k("y"), bundle, kind="DEPENDS_ON")
    with web.read() as snapshot:
        assert r("c") in {s.kref for s in traverse(snapshot, f"{bundle}?at={held}", depth=1).steps}
        assert [s.kref for s in traverse(snapshot, bundle, depth=1).steps] == [r("x")]
        assert r("y") in {s.kref for s in impact(snapshot, bundle).steps}


@pytest.mark.parametrize("types", ["DEPENDS_ON", ["de pends"], [5], 5, [None]])
def test_types_that_are_none_are_refused(web: Store, types: Any) -> None:
    with web.read() as snapshot:
        for walk in (
            lambda: traverse(snapshot, k("a"), types=types),
            lambda: shortest_path(snapshot, k("a"), k("b"), types=types),
        ):
            with pytest.raises(InputError):
                walk()


def test_shortest_path(web: Store) -> None:
    with web.read() as snapshot:
        walk = shortest_path(snapshot, k("a"), k("x"))
        assert [(step.kref, step.via, step.depth) for step in walk.steps] == [
            (r("b"), r("a"), 1),
            (r("c"), r("b"), 2),
            (r("d"), r("c"), 3),
            (r("x"), r("d"), 4),
        ]
        assert [step.edge for step in walk.steps] == ["DEPENDS_ON"] * 3 + ["REFERENCED"]
        assert shortest_path(snapshot, k("a"), k("x"), depth=4) == walk
        assert shortest_path(snapshot, k("a"), k("x"), depth=3) == Walk(
            r("a"), (), cut="no path within 3 edges"
        )
        assert shortest_path(snapshot, k("a"), k("y")).steps == ()
        assert shortest_path(snapshot, k("y"), k("a")).cut == "no path"
        assert shortest_path(snapshot, k("a"), k("x"), types=["DEPENDS_ON"], depth=20).steps == ()
        assert shortest_path(snapshot, k("a"), k("a")) == Walk(r("a"), ())
        assert [step.kref for step in shortest_path(snapshot, k("c"), k("b")).steps] == [r("b")]


def test_a_cycle_ends(web: Store, ledger: Ledger) -> None:
    ledger.link(k("a"), k("c"), kind="DEPENDS_ON")
    with web.read() as snapshot:
        assert sorted(names(traverse(snapshot, k("a"), types=["DEPENDS_ON"], depth=20))) == [
            ("b", 2),
            ("c", 1),
        ]
