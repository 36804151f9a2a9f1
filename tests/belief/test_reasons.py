"""Why a belief was retracted or lost its support, in words that a caller reads."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

import doxa
from doxa.base.clock import FakeClock
from doxa.base.errors import KrefError
from doxa.belief import Fact, Ledger, Revision, parse_kref
from doxa.store import Identity
from tests.fixtures_shared import opened


def k(name: str) -> str:
    return f"kref://p/{name}.fact"


def revision(memory: doxa.Memory, kref: str) -> Revision:
    found = memory.get(kref)
    assert isinstance(found, Revision)
    return found


GROUNDS: list[list[tuple[str, str, str]]] = [
    [("DEPENDS_ON", "", "x")],
    [("DERIVED_FROM", "", "x")],
    [("DERIVED_FROM", "", "x"), ("DERIVED_FROM", "", "y")],
    [("DERIVED_FROM", "s", "x"), ("DERIVED_FROM", "s", "y")],
    [("DERIVED_FROM", "s", "y"), ("DERIVED_FROM", "s", "x"), ("DERIVED_FROM", "", "z")],
    [("DERIVED_FROM", "s", "x"), ("DERIVED_FROM", "s", "y"), ("DERIVED_FROM", "t", "z")],
    [("DEPENDS_ON", "", "x"), ("DERIVED_FROM", "", "y"), ("DERIVED_FROM", "", "z")],
    [("DEPENDS_ON", "s", "x"), ("DEPENDS_ON", "s", "y"), ("DERIVED_FROM", "", "z")],
    [("REFERENCED", "", "x"), ("DERIVED_FROM", "", "y")],
]


@pytest.mark.parametrize("edges", GROUNDS, ids=[str(number) for number in range(len(GROUNDS))])
def test_what_an_erasure_leaves_without_support(
    memory: doxa.Memory, edges: list[tuple[str, str, str]]
) -> None:
    """All preconditions are needed, and one whole group of grounds."""
    ledger = Ledger(memory.store, Identity("local", "operator"))
    for number, gone in enumerate(
        chosen for count in (1, 2, 3) for chosen in combinations("xyz", count)
    ):
        for name in ("x", "y", "z", "it"):
            memory.remember(f"{name} of {number}", name=f"{name}{number}")
        groups: dict[str, list[str]] = {}
        needed = []
        for place, (kind, together, target) in enumerate(edges):
            memory.link(
                k(f"it{number}"),
                k(f"{target}{number}"),
                kind=kind,
                metadata={"set": together} if together else None,
            )
            if kind == "DEPENDS_ON" and not together:
                needed.append(target)
            elif kind != "REFERENCED":
                groups.setdefault(together or str(place), []).append(target)
        ledger.erase([k(f"{target}{number}") for target in gone])
        lost = bool(set(needed) & set(gone)) or (
            bool(groups) and all(set(group) & set(gone) for group in groups.values())
        )
        cause = revision(memory, k(f"it{number}")).unsupported
        assert cause == ("what it depended on was erased" if lost else ""), (edges, gone)


def test_the_cause_of_lost_support_names_the_ground(memory: doxa.Memory) -> None:
    for name in ("a", "b", "c"):
        memory.remember(f"{name}: belief", name=name)
    memory.link(k("b"), k("a"), kind="DEPENDS_ON")
    memory.link(k("c"), k("b"), kind="DERIVED_FROM")
    memory.tag(k("c"), "mine")
    change = memory.deprecate(k("a"))
    gone = f"what it depends on is not believed any more: {k('a')}?r=1"
    then = f"what it depends on has no support itself: {k('b')}?r=1"
    assert [(one.kref, one.cause) for one in change.unsupported] == [
        (k("b") + "?r=1", gone),
        (k("c") + "?r=1", then),
    ]
    assert revision(memory, k("b")).unsupported == gone
    tagged = revision(memory, k("c"))
    assert tagged.unsupported == then
    assert tagged.tags == ("current", "initial", "mine", "unsupported")
    back = memory.restore(k("a"))
    assert [(one.kref, one.cause) for one in back.supported] == [
        (k("b") + "?r=1", "what it depends on is believed"),
        (k("c") + "?r=1", "what it depends on is believed"),
    ]
    assert revision(memory, k("c")).unsupported == ""


def test_a_circle_names_the_next_of_it(memory: doxa.Memory) -> None:
    for name in ("a", "b", "out"):
        memory.remember(f"{name}: belief", name=name)
    for name, other in (("a", "b"), ("b", "a"), ("a", "out")):
        memory.link(k(name), k(other), kind="DERIVED_FROM")
    memory.deprecate(k("out"))
    assert revision(memory, k("b")).unsupported == (
        f"what it depends on has no support itself: {k('a')}?r=1"
    )
    assert revision(memory, k("a")).unsupported.startswith("what it depends on ")


def test_the_reason_of_a_loss_is_what_entrenches_the_other(memory: doxa.Memory) -> None:
    for name in ("letter", "call"):
        memory.session(actor=name).remember(f"{name} says so", name=name)
    memory.remember("Ana is in Rome", name="rome", facts=[("Ana", "is in", "Rome")])
    memory.remember(
        "Ana is in Oslo",
        name="oslo",
        facts=[("Ana", "is in", "Oslo")],
        derived_from=[k("letter"), k("call")],
    )
    change = memory.constrain({"functional": ["is in"]})
    assert [(loss.kref, loss.says, loss.why, loss.because) for loss in change.losses] == [
        (
            k("rome") + "?r=1",
            "Ana is in Rome",
            f"it contradicts {k('oslo')}?r=1: of {k('oslo')}?r=1, it has 2 independent sources"
            " against 1",
            (k("oslo") + "?r=1",),
        )
    ]


def test_of_one_revision_the_earlier_fact_is_lost(memory: doxa.Memory) -> None:
    memory.remember(
        "Ana is in Rome, then in Oslo",
        name="both",
        facts=[("Ana", "is in", "Rome"), ("Ana", "is in", "Oslo"), ("Ana", "likes", "snow")],
    )
    change = memory.constrain({"functional": ["is in"]})
    (loss,) = change.losses
    assert loss.why.endswith("it comes earlier in the same revision")
    kept = revision(memory, k("both")).facts
    assert Fact("Ana", "likes", "snow") in kept and len(kept) == 2
    assert loss.says in ("Ana is in Rome", "Ana is in Oslo")
    assert tuple(loss.says.rsplit(" ", 1)) not in {
        (f"{f.subject} {f.predicate}", f.value) for f in kept
    }


def test_a_rule_that_nothing_else_contradicts_is_the_reason_itself(memory: doxa.Memory) -> None:
    memory.remember("Ana eats meat", name="meat", facts=[("Ana", "eats", "meat")])
    change = memory.constrain({"rules": [{"not": ["*", "eats", "meat"]}]})
    assert [(loss.kref, loss.why, loss.because) for loss in change.losses] == [
        (k("meat") + "?r=1", "it breaks the rules", ())
    ]
    memory.remember("Bo skis", name="skis", facts=[("Bo", "skis", True)])
    given_up = memory.contract(["Bo", "skis", True])
    assert [loss.why for loss in given_up.losses] == ["it says what is to be given up"]


def test_an_address_in_an_error_is_cut(memory: doxa.Memory) -> None:
    for length in (100, 120, 300):
        text = "kref://" + "x" * (length - 8) + "/"
        with pytest.raises(KrefError) as caught:
            parse_kref(text)
        assert caught.value.fields["text"] == text[:120]
        assert repr(text[:120]) in caught.value.message


def test_an_item_that_states_something_else_reports_what_it_stated(memory: doxa.Memory) -> None:
    """Also where that held for longer than what it states now."""
    facts = [("Ana", "likes", "snow")]
    for name, until, more in (
        ("whole", None, ""),
        ("part", "2030-01-01", " also for the time that it does not speak of"),
    ):
        memory.remember("Ana likes snow", name=name, facts=facts)
        change = memory.remember(
            "Ana likes rain", name=name, facts=[("Ana", "likes", "rain")], valid_until=until
        ).change
        assert [(loss.kref, loss.says, loss.why, loss.because) for loss in change.losses] == [
            (
                k(name) + "?r=1",
                "Ana likes snow",
                f"its item says something else now{more}",
                (k(name) + "?r=2",),
            )
        ]
        same = memory.remember("Rain", name=name, facts=[("Ana", "likes", "rain")]).change
        assert same.losses == ()


def test_a_ground_that_is_stated_again_supports_again(memory: doxa.Memory) -> None:
    """By another revision of its item; the revisions in between do not matter."""
    oslo, rome = [("Ana", "lives in", "Oslo")], [("Ana", "lives in", "Rome")]
    memory.remember("Oslo", name="ana", facts=oslo)
    memory.remember("a coat", name="coat", depends_on=[k("ana")])
    for facts, supported in ((rome, False), (rome, False), (oslo, True), (rome, False)):
        memory.revise(k("ana"), f"text {memory.get(k('ana'))}"[:80], facts=facts)
        assert (revision(memory, k("coat")).unsupported == "") is supported
    memory.revise(k("ana"), "Oslo for good", facts=oslo)
    assert revision(memory, k("coat")).unsupported == ""


def test_history_under_a_policy_is_what_is_visible_of_it(tmp_path: Path, clock: FakeClock) -> None:
    with opened(tmp_path / "m.db", embedder=None, project="p", clock=clock) as memory:
        memory.run(
            "CREATE DECAY PROFILE week OPTIONS {halfLifeSeconds: 86400, function: 'step',"
            " visibilityThreshold: 0.5} CREATE DECAY PROFILE old FOR (n:Revision) APPLY {DECAY"
            " PROFILE 'week'}"
        )
        for number in (1, 2, 3):
            memory.remember(f"text {number}", name="n")
            clock.advance(seconds=36_000)
        for hours, visible in ((0, [2, 3]), (10, [3]), (10, [])):
            clock.advance(seconds=3_600 * hours)
            assert [one.number for one in memory.history(k("n")).revisions] == visible
            whole = memory.history(k("n"), reveal=True).revisions
            assert [one.number for one in whole] == [1, 2, 3]
