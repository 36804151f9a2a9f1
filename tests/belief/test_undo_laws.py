"""Undo is the inverse of every operation: what is believed, tagged, linked and grouped is as it was
before, and undoing the undo brings the change back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from doxa.base.errors import ConflictError, NotFoundError
from doxa.belief import Change, Draft, Fact, Ledger
from doxa.store import Store

Operation = Callable[[Ledger], Change]
STRUCTURE = {"HAS_SPACE", "HAS_ITEM", "HAS_REVISION"}
HOME, PET = Fact("Ana", "lives in", "Oslo"), Fact("Ana", "has", "a cat")
ROME = Fact("Ana", "lives in", "Rome")


def k(name: str) -> str:
    return f"kref://p/{name}.fact"


def draft(summary: str, *facts: Fact, name: str, **more: Any) -> Draft:
    return Draft(summary, project="p", name=name, facts=facts, **more)


def held(store: Store) -> tuple[set[Any], set[Any], set[Any]]:
    """What holds now: edges other than those that stay in history, retired items, conflicts that
    wait."""
    with store.read() as snapshot:
        nodes = {
            node.id: node
            for label in ("Item", "Revision", "Artifact", "Conflict")
            for node in snapshot.labelled(label)
        }
        # a revision that is not believed any more stays, and so does a conflict that is closed
        edges = {
            (edge.type, node.props["kref"], edge.dst, str(sorted(edge.props.items())))
            for node in nodes.values()
            for edge in snapshot.edges_out(node.id)
            if edge.type not in STRUCTURE and "Conflict" not in node.labels
        }
        live = {
            str(node.props["kref"])
            for node in nodes.values()
            if "Item" in node.labels and not node.props.get("deprecated")
        }
        waiting = {
            str(node.props["kref"])
            for node in nodes.values()
            if "Conflict" in node.labels and not node.props.get("decision")
        }
    return edges, live, waiting


@pytest.fixture
def full(believing: Store, ledger: Ledger) -> Store:
    """Beliefs with grounds, tags, an artifact, a bundle, a retired item and an open conflict."""
    for name in ("x", "y", "z"):
        ledger.put(draft(name, name=name))
    ledger.put(draft("first", name="ana"))
    ledger.put(draft("Ana", HOME, PET, name="ana"), links=[("DEPENDS_ON", k("x"))])
    ledger.put(draft("Bo", name="bo"), links=[("DERIVED_FROM", k("ana")), ("DEPENDS_ON", k("y"))])
    ledger.link(k("ana"), k("z"), kind="REFERENCED", metadata={"why": "seen"})
    ledger.tag(k("ana") + "?r=1", "old")
    ledger.attach(k("ana"), "scan", location="x")
    ledger.bundle("kref://p/all.bundle", add=[k("x"), k("y")])
    ledger.deprecate(k("z"))
    ledger.put(draft("Cy", Fact("Cy", "lives in", "Oslo"), name="cy", trust="verified"))
    _challenge(ledger)
    return believing


def _decide(decision: Any) -> Operation:
    def operation(ledger: Ledger) -> Change:
        return ledger.resolve(_challenge(ledger).conflict, decision)

    return operation


def _challenge(ledger: Ledger) -> Change:
    """State what is trusted less than another belief; once more, that names the open conflict."""
    fact = Fact("Cy", "lives in", "Rome")
    return ledger.put(draft("Cy moved", fact, name="moved", trust="untrusted"))


OPERATIONS: dict[str, Operation] = {
    "a revision": lambda ledger: ledger.put(draft("Ana is well", HOME, name="ana")),
    "a revision with links": lambda ledger: ledger.put(
        draft("Bo is well", name="bo"), links=[("DERIVED_FROM", k("x"))]
    ),
    "a contradiction": lambda ledger: ledger.put(draft("Rome", ROME, name="rome")),
    "a contradiction for a time": lambda ledger: ledger.put(
        draft("Rome", ROME, name="rome", valid_from=10**18, valid_until=2 * 10**18)
    ),
    "a challenge": lambda ledger: ledger.put(draft("Rome", ROME, name="rome", trust="untrusted")),
    "another item in its place": lambda ledger: ledger.supersede(k("bo"), draft("Bo!", name="bob")),
    "a fact less": lambda ledger: ledger.contract(k("ana"), fact=PET),
    "a belief less": lambda ledger: ledger.contract(k("ana")),
    "a tag": lambda ledger: ledger.tag(k("ana"), "new"),
    "a tag that moves": lambda ledger: ledger.tag(k("ana"), "old"),
    "a tag less": lambda ledger: ledger.untag(k("ana"), "old"),
    "an earlier revision": lambda ledger: ledger.rollback(k("ana") + "?r=1"),
    "a ground that is retired": lambda ledger: ledger.deprecate(k("x")),
    "a retirement": lambda ledger: ledger.deprecate(k("ana")),
    "a return": lambda ledger: ledger.restore(k("z")),
    "a link": lambda ledger: ledger.link(k("y"), k("ana"), kind="DEPENDS_ON"),
    "a link less": lambda ledger: ledger.unlink(k("ana"), k("z"), kind="REFERENCED"),
    "a ground less": lambda ledger: ledger.unlink(k("bo"), k("ana"), kind="DERIVED_FROM"),
    "an artifact": lambda ledger: ledger.attach(k("bo"), "scan", location="y"),
    "a member more": lambda ledger: ledger.bundle("kref://p/all.bundle", add=[k("bo")]),
    "members less": lambda ledger: ledger.bundle("kref://p/all.bundle", remove=[k("x"), k("y")]),
    "a rejection": _decide("reject"),
    "an acceptance": _decide("accept"),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_undo_and_undoing_that(full: Store, ledger: Ledger, name: str) -> None:
    before = held(full)
    change = OPERATIONS[name](ledger)
    after = held(full)
    assert change.change is not None
    assert before != after
    undone = ledger.undo(change.change)
    _same(held(full), before)
    assert undone.action == "undone" and undone.change is not None
    assert undone.kref.startswith("kref://p/")
    if name == "a challenge":  # a conflict that an undo closed stays closed
        return
    ledger.undo(undone.change)
    _same(held(full), after)


def _same(now: tuple[set[Any], ...], then: tuple[set[Any], ...]) -> None:
    for some, others in zip(now, then, strict=True):
        assert some == others


def test_changes_are_undone_one_after_another(full: Store, ledger: Ledger) -> None:
    """The last one first; none before what came after it is undone."""
    states, changes = [held(full)], []
    for name in ("a tag that moves", "a fact less", "a ground that is retired", "a link"):
        change = OPERATIONS[name](ledger).change
        assert change is not None
        changes.append(change)
        states.append(held(full))
    for change, before in zip(reversed(changes), reversed(states[:-1]), strict=True):
        ledger.undo(change)
        _same(held(full), before)


def test_what_cannot_be_undone_says_why(full: Store, ledger: Ledger) -> None:
    first = ledger.put(draft("new", name="new"))
    ledger.put(draft("newer", name="new"))
    with pytest.raises(ConflictError) as caught:
        ledger.undo(first.change or 0)
    assert caught.value.fields["change"] == first.change
    ruled = ledger.constrain("p", constraints={"functional": ["likes"]})
    erased = ledger.erase([k("y")])
    for change in (ruled, erased):
        with pytest.raises(ConflictError, match="erased content, set rules"):
            ledger.undo(change.change or 0)
    for number in (0, -1, 10**9, True):
        with pytest.raises(NotFoundError):
            ledger.undo(number)
