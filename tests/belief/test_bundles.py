"""A bundle is read like everything else: what it holds, what it held, and when that changed."""

from __future__ import annotations

import pytest

from doxa.base.clock import FakeClock, format_time
from doxa.base.errors import InputError, NotFoundError
from doxa.belief import (
    Bundle,
    Draft,
    Ledger,
    Member,
    parse_kref,
    read_any,
    read_as_of,
    read_at,
    resolve,
)
from doxa.store import Store

B = "kref://shop/s/release.bundle"
ONE, TWO = "kref://shop/one.fact", "kref://shop/two.fact"


@pytest.fixture
def shop(believing: Store, ledger: Ledger) -> Store:
    for name in ("one", "two"):
        ledger.put(Draft(name, project="shop", name=name))
    return believing


def read(store: Store, kref: str = B) -> Bundle:
    with store.read() as snapshot:
        found = read_at(snapshot, parse_kref(kref))
    assert isinstance(found, Bundle)
    return found


def members(store: Store, kref: str = B) -> list[str]:
    return [member.kref for member in read(store, kref).members]


def test_a_bundle_is_read_with_what_it_holds(shop: Store, ledger: Ledger) -> None:
    made = ledger.bundle(B, add=[ONE, TWO + "?r=1"])
    held = (Member(ONE, made.time, None), Member(TWO, made.time, None))
    assert read(shop) == Bundle(B, "shop", "s", "release", False, held, held, made.time)
    with shop.read() as snapshot:
        assert read_any(snapshot, resolve(snapshot, parse_kref(B))) == read(shop)
    ledger.bundle("kref://shop/empty.bundle")
    assert members(shop, "kref://shop/empty.bundle") == []
    ledger.deprecate(B)
    assert read(shop).deprecated


def test_past_membership_stays_readable(shop: Store, ledger: Ledger, clock: FakeClock) -> None:
    before = clock.now_ns()
    first = ledger.bundle(B, add=[ONE, TWO])
    clock.advance(seconds=10)
    second = ledger.bundle(B, remove=[ONE])
    clock.advance(seconds=10)
    third = ledger.bundle(B, add=[ONE])
    ledger.deprecate(ONE)
    assert members(shop) == [TWO, ONE]
    assert read(shop).moves == (
        Member(ONE, first.time, second.time),
        Member(TWO, first.time, None),
        Member(ONE, third.time, None),
    )
    with shop.read() as snapshot:
        for time, wanted in (
            (first.time, [ONE, TWO]),
            (second.time, [TWO]),
            (third.time, [TWO, ONE]),
        ):
            found = read_as_of(snapshot, parse_kref(B), time=time)
            assert isinstance(found, Bundle)
            assert ([member.kref for member in found.members], found.at) == (wanted, time)
        for call in (
            lambda: read_as_of(snapshot, parse_kref(B), time=before),
            lambda: read_as_of(snapshot, parse_kref(B), time=first.time, tag="nope"),
            lambda: read_at(snapshot, parse_kref(B + "?r=1")),
            lambda: read_at(snapshot, parse_kref(B + "?t=x")),
        ):
            with pytest.raises(NotFoundError):
                call()
    assert members(shop, f"{B}?at={format_time(second.time)}") == [TWO]
    ledger.undo(third.change or 0)
    assert members(shop) == [TWO]


def test_a_member_that_came_and_went_within_a_change_is_undone_too(
    shop: Store, ledger: Ledger
) -> None:
    made = ledger.bundle(B, add=[ONE, TWO], remove=[TWO])
    undone = ledger.undo(made.change or 0)
    assert (members(shop), read(shop).deprecated) == ([], True)
    ledger.undo(undone.change or 0)
    assert (members(shop), read(shop).deprecated) == ([ONE], False)


def test_an_erased_member_leaves_no_name(shop: Store, ledger: Ledger, clock: FakeClock) -> None:
    made = ledger.bundle(B, add=[ONE, TWO])
    ledger.erase([ONE])
    assert (members(shop), [move.kref for move in read(shop).moves]) == ([TWO], [TWO])
    with shop.read() as snapshot:
        assert "one.fact" not in repr(read_as_of(snapshot, parse_kref(B), time=made.time))


def test_a_bundle_is_no_belief(shop: Store, ledger: Ledger) -> None:
    ledger.bundle(B, add=[ONE])
    for call in (
        lambda: ledger.revise(B, Draft("x")),
        lambda: ledger.tag(B, "x"),
        lambda: ledger.untag(B, "x"),
        lambda: ledger.rollback(B),
        lambda: ledger.supersede(B, Draft("x")),
        lambda: ledger.attach(B, "f.txt", location="/f.txt"),
    ):
        with pytest.raises(InputError, match="is a bundle"):
            call()
    for call in (
        lambda: ledger.bundle(B, add=ONE),
        lambda: ledger.bundle(B, add=["kref://shop"]),
        lambda: ledger.bundle(B, remove=None),
    ):  # type: ignore[arg-type]
        with pytest.raises(InputError):
            call()
    assert members(shop) == [ONE]


def test_an_item_of_that_kind_which_states_something_is_read_as_a_belief(
    shop: Store, ledger: Ledger
) -> None:
    ledger.expand(Draft("What the shop runs on", project="shop", name="old", kind="bundle"))
    with shop.read() as snapshot:
        assert (
            read_at(snapshot, parse_kref("kref://shop/old.bundle")).kref
            == "kref://shop/old.bundle?r=1"
        )


def test_a_turn_is_read_as_of_a_time_too(shop: Store, ledger: Ledger, clock: FakeClock) -> None:
    said = {
        "thread": "kref://shop/t.thread",
        "session": "",
        "speaker": "Ana",
        "role": "user",
        "text": "hello",
        "time": 1,
    }
    clock.advance(seconds=5)
    with shop.write(ledger.identity, op="said") as tx:
        place = tx.create_node(("Project",), {"kref": "kref://talk", "name": "talk"})
        thread = tx.create_node(("Thread",), {"kref": said["thread"], "project": "shop"})
        turn = tx.create_node(
            ("Exchange",),
            {
                "kref": "kref://shop/t1.exchange",
                "project": "shop",
                "space": "",
                "kind": "exchange",
                **said,
            },
        )
        tx.create_edge("HAS_THREAD", place, dst=thread)
        tx.create_edge("HAS_EXCHANGE", thread, dst=turn)
    turn = parse_kref("kref://shop/t1.exchange")
    retired = ledger.deprecate(turn)
    with shop.read() as snapshot:
        assert read_at(snapshot, turn).deprecated  # type: ignore[union-attr]
        assert not read_as_of(snapshot, turn, time=retired.time - 1).deprecated  # type: ignore[union-attr]
        with pytest.raises(NotFoundError, match="There was nothing"):
            read_as_of(snapshot, turn, time=5)
        with pytest.raises(NotFoundError, match="no revision tagged 'nope'"):
            read_as_of(snapshot, parse_kref(ONE), time=retired.time, tag="nope")


def test_a_bundle_that_depends_on_a_belief_outlives_it(shop: Store, ledger: Ledger) -> None:
    ledger.bundle(B, add=[TWO])
    ledger.link(B, ONE, kind="DEPENDS_ON")
    ledger.deprecate(ONE)
    assert [member.kref for member in read(shop).members] == [TWO]
