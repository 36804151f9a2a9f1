"""What a belief keeps when a part of it is retracted, when it is shortened in time, and when its
item states something else."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from doxa.base.clock import parse_time
from doxa.base.errors import InputError
from doxa.belief import Draft, Fact, Ledger, Revision, parse_kref, read_at, revisions_of
from doxa.belief.graph import require
from doxa.store import Store

SAID = 1_500_000_000_000_000_000
HOME, PET, JOB = (
    Fact("Ana", "lives in", "Oslo"),
    Fact("Ana", "has", "a cat"),
    Fact("Ana", "works at", "Initech"),
)
OWN = ("kref", "number", "status", "created", "tags", "summary", "facts", "item")


def k(name: str) -> str:
    return f"kref://p/{name}.fact"


def read(store: Store, kref: str) -> Revision:
    with store.read() as snapshot:
        found = read_at(snapshot, parse_kref(kref))
    assert isinstance(found, Revision)
    return found


def edges(store: Store, kref: str) -> list[tuple[str, str, dict[str, Any]]]:
    """The edges that leave a revision: type, address and properties."""
    with store.read() as snapshot:
        node = require(snapshot, parse_kref(kref))
        return sorted(
            (edge.type, str(end.props["kref"]), dict(edge.props))
            for edge in snapshot.edges_out(node.id)
            if (end := snapshot.node(edge.dst)) is not None
        )


def draft(summary: str, *facts: Fact, name: str, **more: Any) -> Draft:
    return Draft(summary, project="p", name=name, facts=facts, **more)


@pytest.fixture
def ana(believing: Store, ledger: Ledger) -> Store:
    """A belief with three facts and everything else that a belief may have."""
    for name in ("x", "y", "z"):
        ledger.put(draft(name, name=name))
    ledger.put(
        draft(
            "Ana lives in Oslo with a cat and works at Initech",
            HOME,
            PET,
            JOB,
            name="ana",
            topics=("people",),
            confidence=0.75,
            trust="verified",
            metadata={"page": 7},
            time=SAID,
        ),
        links=[("DEPENDS_ON", k("x"))],
    )
    ledger.link(k("ana"), k("y"), kind="DERIVED_FROM", metadata={"set": "s"})
    ledger.link(k("ana"), k("z"), kind="REFERENCED", metadata={"why": "seen"})
    return believing


LINKS = [
    ("DEPENDS_ON", k("x") + "?r=1", {}),
    ("DERIVED_FROM", k("y") + "?r=1", {"set": "s"}),
    ("REFERENCED", k("z") + "?r=1", {"why": "seen"}),
]


@pytest.mark.parametrize("lost", [HOME, PET, JOB])
def test_a_belief_that_loses_a_fact_keeps_all_else(ana: Store, ledger: Ledger, lost: Fact) -> None:
    before = read(ana, k("ana"))
    change = ledger.contract(k("ana"), fact=lost)
    after = read(ana, k("ana"))
    assert (after.number, change.lost, change.gained) == (2, (lost,), ())
    assert after.facts == tuple(fact for fact in (HOME, PET, JOB) if fact != lost)
    assert after.summary == "; ".join(f"{f.subject} {f.predicate} {f.value}" for f in after.facts)
    for field in fields(Revision):
        if field.name not in OWN:
            assert getattr(after, field.name) == getattr(before, field.name), field.name
    assert edges(ana, k("ana") + "?r=2") == sorted([*LINKS, ("SUPERSEDES", k("ana") + "?r=1", {})])
    assert edges(ana, k("ana") + "?r=1") == LINKS


def test_a_new_statement_at_an_address_stands_by_itself(ana: Store, ledger: Ledger) -> None:
    """Only what is linked with it is linked; `revise` and the like carry the grounds over."""
    ledger.put(draft("Ana has a dog", name="ana", trust="verified"), links=[("REFERENCED", k("x"))])
    assert edges(ana, k("ana") + "?r=2") == [
        ("REFERENCED", k("x") + "?r=1", {}),
        ("SUPERSEDES", k("ana") + "?r=1", {}),
    ]


def test_the_later_statement_wins_whatever_time_it_is_of(believing: Store, ledger: Ledger) -> None:
    """The time at which something was said matters to ingestion alone."""
    ledger.put(draft("Oslo", HOME, name="a"))
    change = ledger.put(draft("Rome", Fact("Ana", "lives in", "Rome"), name="b", time=SAID))
    assert change.action == "created"
    assert [loss.kref for loss in change.losses] == [k("a") + "?r=1"]
    assert read(believing, k("b")).time == SAID
    assert read(believing, k("a") + "?r=1").status == "deprecated"


@pytest.mark.parametrize(
    ("start", "end", "left"),
    [
        ("2031-01-01", None, [(None, "2031-01-01")]),
        (None, "2021-01-01", [("2021-01-01", None)]),
        ("2021-01-01", "2031-01-01", [(None, "2021-01-01"), ("2031-01-01", None)]),
        (None, None, []),
    ],
)
def test_a_belief_is_shortened_by_what_holds_for_a_time(
    believing: Store,
    ledger: Ledger,
    start: str | None,
    end: str | None,
    left: list[tuple[str | None, str | None]],
) -> None:
    def at(text: str | None) -> int | None:
        return None if text is None else parse_time(text)

    ledger.put(draft("x", name="x"))
    ledger.put(
        draft("In Oslo she lives", HOME, name="ana", metadata={"page": 7}),
        links=[("DEPENDS_ON", k("x"))],
    )
    rome = Fact("Ana", "lives in", "Rome")
    ledger.put(draft("In Rome", rome, name="rome", valid_from=at(start), valid_until=at(end)))
    with believing.read() as snapshot:
        current = [
            str(node.props["kref"])
            for node in snapshot.labelled("Revision")
            if node.props["summary"] == "In Oslo she lives"
            and snapshot.edges_in(node.id, "CURRENT")
        ]
    found = sorted((read(believing, kref) for kref in current), key=lambda one: one.valid_from or 0)
    assert [(one.valid_from, one.valid_until) for one in found] == [
        (at(first), at(last)) for first, last in left
    ]
    for one in found:
        assert (one.facts, one.metadata, one.summary) == ((HOME,), {"page": 7}, "In Oslo she lives")
        assert edges(believing, one.kref) == [
            ("DEPENDS_ON", k("x") + "?r=1", {}),
            ("SUPERSEDES", k("ana") + "?r=1", {}),
        ]
    assert len({one.item for one in found}) == len(found)
    if left:
        assert found[0].kref == k("ana") + "?r=2"
    for one in found[1:]:
        assert one.item == k("ana-2031-01-01")
    if not left:
        assert read(believing, k("ana") + "?r=1").status == "deprecated"


def test_addresses_of_pieces_are_counted_up(believing: Store, ledger: Ledger) -> None:
    ledger.put(draft("taken", name="ana-2031-01-01"))
    ledger.put(draft("In Oslo she lives", HOME, name="ana"))
    rome = Fact("Ana", "lives in", "Rome")
    times = {"valid_from": parse_time("2021-01-01"), "valid_until": parse_time("2031-01-01")}
    ledger.put(draft("In Rome", rome, name="rome", **times))
    assert read(believing, k("ana-2031-01-01-2")).facts == (HOME,)
    assert read(believing, k("ana-2031-01-01")).summary == "taken"


def test_a_decision_reports_what_it_retracted(
    believing: Store, ledger: Ledger, agent: Ledger
) -> None:
    ledger.put(draft("Oslo", HOME, name="oslo", trust="verified"))
    rome = Fact("Ana", "lives in", "Rome")
    challenge = agent.put(draft("Rome", rome, name="rome", trust="untrusted"))
    change = ledger.resolve(challenge.conflict, "accept")
    assert [(loss.kref, loss.says) for loss in change.losses] == [
        (k("oslo") + "?r=1", "Ana lives in Oslo")
    ]
    assert edges(believing, k("rome") + "?r=1") == [
        ("CONTRADICTS", k("oslo") + "?r=1", {"why": "it contradicts what was stated"}),
        ("SUPERSEDES", k("oslo") + "?r=1", {}),
    ]


def test_numbers_count_up_and_history_is_in_order(believing: Store, ledger: Ledger) -> None:
    for number in range(1, 6):
        assert ledger.put(draft(f"text {number}", name="n")).kref == f"{k('n')}?r={number}"
    ledger.erase([k("n") + "?r=5"])
    ledger.erase([k("n") + "?r=2"])
    assert ledger.put(draft("text 6", name="n")).kref == k("n") + "?r=6"
    with believing.read() as snapshot:
        nodes = revisions_of(snapshot, require(snapshot, parse_kref(k("n"))).id)
        assert [node.props["number"] for node in nodes] == [1, 3, 4, 6]


@pytest.mark.parametrize(
    ("kind", "sound"),
    [
        ("A", True),
        ("A1_B", True),
        ("A" * 64, True),
        ("A" * 65, False),
        ("_A", False),
        ("a", False),
        ("A-B", False),
        ("Ä", False),
        ("A B", False),
        ("", False),
        ("SUPERSEDES", False),
        ("CURRENT", False),
    ],
)
def test_types_of_links(believing: Store, ledger: Ledger, kind: str, sound: bool) -> None:
    for name in ("a", "b"):
        ledger.put(draft(name, name=name))
    if sound:
        assert ledger.link(k("a"), k("b"), kind=kind).action == "linked"
        assert edges(believing, k("a") + "?r=1") == [(kind, k("b") + "?r=1", {})]
    else:
        with pytest.raises(InputError):
            ledger.link(k("a"), k("b"), kind=kind)
        assert edges(believing, k("a") + "?r=1") == []
