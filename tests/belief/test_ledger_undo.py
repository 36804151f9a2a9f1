"""Undo: what it brings back, what undoing the undo does, and when it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from doxa.base.errors import ConflictError, NotFoundError
from doxa.belief import (
    Ledger,
)
from doxa.store import Store
from tests.belief.shop import PORT, USES, K, draft, moves, read

pytestmark = pytest.mark.usefixtures("sound")


def test_undo_and_undo_of_undo(ledger: Ledger, believing: Store) -> None:
    made = ledger.put(draft("one", USES))
    revised = ledger.put(draft("two", PORT))
    undone = ledger.undo(revised.change or 0)
    assert (undone.action, undone.reason, read(believing, K).number) == (
        "undone",
        f"change {revised.change}",
        1,
    )
    assert read(believing, K + "?r=2").status == "superseded"
    ledger.undo(undone.change or 0)
    assert read(believing, K).number == 2
    with pytest.raises(ConflictError):
        ledger.undo(made.change or 0)
    tagged = ledger.tag(K, "mine")
    ledger.undo(tagged.change or 0)
    assert read(believing, K).tags == ("current",)
    deprecated = ledger.deprecate(K)
    ledger.undo(deprecated.change or 0)
    assert read(believing, K).status == "current"


def test_undo_of_an_expansion_retires_the_item(ledger: Ledger, believing: Store) -> None:
    made = ledger.expand(draft("one", USES))
    undone = ledger.undo(made.change or 0)
    assert read(believing, K + "?r=1").status == "deprecated"
    ledger.undo(undone.change or 0)
    assert read(believing, K).status == "current"
    assert ledger.put(draft("two")).kref == K + "?r=2"


def test_undo_is_refused_after_a_later_change(ledger: Ledger, believing: Store) -> None:
    first = ledger.put(draft("one"))
    second = ledger.put(draft("two"))
    with pytest.raises(ConflictError) as caught:
        ledger.undo(first.change or 0)
    assert caught.value.fields["change"] == first.change
    assert caught.value.fields["later"] == second.change
    ledger.tag(K + "?r=1", "mine")
    ledger.tag(K + "?r=2", "mine")
    untagged = ledger.untag(K, "mine")
    ledger.tag(K + "?r=1", "mine")
    with pytest.raises(ConflictError, match="the tag mine"):
        ledger.undo(untagged.change or 0)
    assert [
        move.kref for move in moves(believing) if move.until is None and move.tag == "mine"
    ] == [K + "?r=1"]
    deprecated = ledger.deprecate(K)
    ledger.restore(K)
    with pytest.raises(ConflictError):
        ledger.undo(deprecated.change or 0)


@pytest.mark.parametrize("change", [0, -1, 999, 2**70, "1", None])
def test_undo_of_nothing_is_refused(ledger: Ledger, change: Any) -> None:
    with pytest.raises(NotFoundError, match="no change"):
        ledger.undo(change)
