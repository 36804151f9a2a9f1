"""Whatever states a belief checks its draft once, and the properties of each node once."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

import doxa
from doxa.base.values import check_properties
from doxa.belief import Draft, Ledger
from doxa.belief.types import check_draft
from doxa.store import Identity

ITEM = "kref://p/deploy-day.fact"
CHECKS = {check_draft.__code__: "draft", check_properties.__code__: "properties"}


@contextmanager
def counted_checks() -> Iterator[Counter[str]]:
    """Count the calls of both checks, from wherever they are called."""
    seen: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in CHECKS:
            of_a_fact = frame.f_locals.get("owner") == "fact"  # a part of checking the draft
            seen[CHECKS[frame.f_code]] += not of_a_fact

    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)


def ledger(memory: doxa.Memory) -> Ledger:
    return Ledger(memory.store, Identity("ana"))


Operation = Callable[[doxa.Memory], object]
# The operation, and the nodes with properties that it makes: revisions, items and conflicts.
OPERATIONS: dict[str, tuple[Operation, int]] = {
    "revise": (lambda m: m.revise(ITEM, "We deploy on Fridays", metadata={"by": "bo"}), 1),
    "revise, the same again": (lambda m: m.revise(ITEM, "We deploy on Mondays", again=True), 1),
    "revise a statement": (lambda m: m.revise(["shop", "opens at", "nine"]), 2),
    "revise a statement of an item": (
        lambda m: m.revise(["shop", "deploys on", "Friday"], item=ITEM),
        1,
    ),
    "revise a statement at a new item": (
        lambda m: m.revise(["shop", "opens at", "nine"], item="kref://p/opening.fact"),
        2,
    ),
    "remember": (lambda m: m.remember("The cat is grey"), 2),
    "remember at an address": (
        lambda m: m.remember("We deploy on Fridays", name="deploy-day"),
        1,
    ),
    "expand": (lambda m: m.expand("The cat is grey", name="cat"), 2),
    "supersede": (lambda m: m.supersede(ITEM, "We deploy on Fridays"), 1),
    "supersede at a new address": (
        lambda m: m.supersede(ITEM, "We deploy on Fridays", name="friday"),
        2,
    ),
    "tell": (lambda m: m.tell("The cat is grey"), 2),
    "tell a new value": (lambda m: m.tell("We deploy on Fridays now, not on Mondays"), 1),
    "challenge": (lambda m: m.revise(ITEM, "We never deploy", trust="candidate"), 2),
    "put": (lambda m: ledger(m).put(Draft("The cat is grey", project="p", name="cat")), 2),
    "believe": (lambda m: ledger(m).believe(Draft("The cat is grey", project="p")), 2),
    "ledger.revise": (lambda m: ledger(m).revise(ITEM, Draft("No more", project="p")), 1),
    "ledger.supersede": (
        lambda m: ledger(m).supersede(ITEM, Draft("No more", project="p", name="deploy-day")),
        1,
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_stated_belief_is_checked_once(memory: doxa.Memory, name: str) -> None:
    memory.remember("We deploy on Mondays", name="deploy-day")
    operation, nodes = OPERATIONS[name]
    before = memory.store.connection().execute("SELECT count(*) FROM node").get
    with counted_checks() as seen:
        operation(memory)
    made = memory.store.connection().execute("SELECT count(*) FROM node").get - before
    assert (seen["draft"], made) == (1, nodes)
    assert seen["properties"] == made + EDITED.get(name, 0)


# nodes whose properties the operation replaces
EDITED = {"supersede at a new address": 1}


def test_metadata_that_a_property_cannot_hold_is_refused(memory: doxa.Memory) -> None:
    draft = Draft("The cat is grey", project="p", metadata={"wrong": object()})  # type: ignore[dict-item]
    with pytest.raises(doxa.DoxaError, match=r"Revision\.wrong cannot hold object"):
        ledger(memory).put(draft)
    assert memory.stats()["revisions"] == 0
