"""Conflicts: which are listed, what each decision does, and where a decision is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import doxa
from doxa.base.errors import InputError, NotFoundError
from doxa.belief import Conflict

LIVES = "lives in"


def challenge(memory: doxa.Memory, name: str, *, project: str = "p") -> str:
    """Somebody is said to live elsewhere by one who is trusted less; the conflict's address."""
    memory.remember(
        f"{name} lives in Rome",
        name=name,
        facts=[(name, LIVES, "Rome")],
        trust="verified",
        project=project,
    )
    memory.session(actor="web").remember(
        f"{name} lives in Oslo",
        name=f"{name}-web",
        facts=[(name, LIVES, "Oslo")],
        trust="untrusted",
        project=project,
    )
    return memory.conflicts(project=project)[0].kref


def test_every_filter_and_limit_of_the_list(memory: doxa.Memory) -> None:
    """Newest first, as a selection of all of them would be."""
    made = []
    for number in range(6):
        project = "pq"[number % 2]
        made.append((challenge(memory, f"n{number}", project=project), project))
    decided = {made[0][0]: "reject", made[3][0]: "accept"}
    for kref, decision in decided.items():
        memory.resolve(kref, decision)  # type: ignore[arg-type]
    for project, also, limit in product(("p", "q", "*"), (False, True), range(1, 8)):
        found = memory.conflicts(project=project, decided=also, limit=limit)
        wanted = [
            kref
            for kref, its in reversed(made)
            if its in project.replace("*", "pq") and (also or kref not in decided)
        ]
        assert [one.kref for one in found] == wanted[:limit]
        assert {one.kref: one.decision for one in found if one.decision} == {
            one.kref: decided[one.kref] for one in found if one.kref in decided
        }


def test_a_conflict_as_data(memory: doxa.Memory) -> None:
    kref = challenge(memory, "ana")
    (conflict,) = memory.conflicts()
    assert (conflict.decision, conflict.decided, conflict.decided_by) == ("", None, "")
    assert conflict.opened == conflict.challenger.created and conflict.opened_by == "web"
    change = memory.resolve(kref, "reject")
    (conflict,) = memory.conflicts(decided=True)
    assert conflict == memory.get(kref) and isinstance(conflict, Conflict)
    assert (conflict.decision, conflict.decided, conflict.decided_by) == (
        "reject",
        change.time,
        "local",
    )
    with pytest.raises(NotFoundError, match="no conflict"):
        memory.resolve("kref://p/none.conflict", "reject")
    for bad in ("kref://p/ana.fact", 5):
        with pytest.raises(InputError, match="not the address of a conflict"):
            memory.resolve(bad, "reject")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("at", "held"),
    [
        ("2030-01-01", False),
        ("2030-01-01T00:00:00.000000001Z", True),
        ("2039-12-31", True),
        ("2040-01-01", False),
        ("2041-01-01", False),
        (None, False),
    ],
)
def test_both_are_kept_only_from_within_the_time_of_the_challenger(
    memory: doxa.Memory, at: str | None, held: bool
) -> None:
    memory.remember(
        "Ana lives in Rome", name="rome", facts=[("Ana", LIVES, "Rome")], trust="verified"
    )
    memory.session(actor="web").remember(
        "Ana lives in Oslo",
        name="oslo",
        facts=[("Ana", LIVES, "Oslo")],
        trust="untrusted",
        valid_from="2030-01-01",
        valid_until="2040-01-01",
    )
    (conflict,) = memory.conflicts()
    if not held:
        with pytest.raises(InputError):
            memory.resolve(conflict.kref, "both", valid_from=at)
        assert memory.conflicts() == [conflict]
        return
    memory.resolve(conflict.kref, "both", valid_from=at)
    oslo = memory.explain("kref://p/oslo.fact").revision
    assert isinstance(at, str) and oslo.valid_from is not None
    assert (oslo.valid_from, oslo.valid_until) == (
        doxa.base.clock.parse_time(at),
        doxa.base.clock.parse_time("2040-01-01"),
    )


def test_an_accepted_challenger_replaces_what_its_item_said(memory: doxa.Memory) -> None:
    memory.remember(
        "Ana lives in Rome", name="home", facts=[("Ana", LIVES, "Rome")], trust="verified"
    )
    memory.session(actor="web").remember(
        "Ana lives in Oslo", name="home", facts=[("Ana", LIVES, "Oslo")], trust="untrusted"
    )
    memory.resolve(memory.conflicts()[0].kref, "accept")
    now = memory.explain("kref://p/home.fact")
    assert now.revision.summary == "Ana lives in Oslo"
    assert [row.kref for row in now.replaced] == ["kref://p/home.fact?r=1"]
    before = memory.explain("kref://p/home.fact?r=1")
    assert [row.kref for row in before.gave_way_to] == ["kref://p/home.fact?r=2"]


def test_the_same_from_somebody_trusted_less_changes_nothing(memory: doxa.Memory) -> None:
    stated: dict[str, Any] = {"name": "home", "facts": [("Ana", LIVES, "Rome")]}
    memory.remember("Ana lives in Rome", **stated, trust="verified", topics=["homes"])
    web = memory.session(actor="web")
    again = web.remember("Ana lives in Rome", **stated, trust="untrusted", topics=["rome"])
    assert again.action == "unchanged" and memory.conflicts() == []
    assert again.change.reason == "the current revision says the same, and is verified"
    assert (again.change.change, again.change.receipt) == (None, "")
    other = web.remember("Ana lives in Rome now", **stated, trust="untrusted")
    assert other.action == "challenged" and len(memory.conflicts()) == 1
    once_more = web.remember("Ana lives in Rome now", **stated, trust="untrusted")
    assert once_more.action == "unchanged" and len(memory.conflicts()) == 1


def test_a_statement_of_several_things_has_an_item_of_its_own(memory: doxa.Memory) -> None:
    """An item is revised by a statement of just what it is about, and by nothing more."""
    first = memory.revise(["Ana", LIVES, "Rome"])
    second = memory.revise(["Ana", LIVES, "Oslo"])
    assert first.kref.partition("?")[0] == second.kref.partition("?")[0]
    either = {"or": [["Ana", "skis", True], ["Bo", "skis", True]]}
    third = memory.revise({"and": [["Ana", LIVES, "Pisa"], either]})
    assert third.kref.partition("?")[0] != second.kref.partition("?")[0]
    assert [loss.kref for loss in third.losses] == [second.kref]
    two = memory.revise(["Ana", LIVES, "Bonn"], facts=[("Ana", "port", 1)])
    assert two.kref.endswith("?r=1")
    one = memory.revise(["Ana", LIVES, "Ulm"])
    assert one.kref.partition("?")[0] != two.kref.partition("?")[0]
    mixed = memory.revise(either, facts=[("Ana", LIVES, "Kiel")])
    assert mixed.kref.partition("?")[0] != one.kref.partition("?")[0]
    assert [loss.kref for loss in mixed.losses] == [one.kref]


def test_what_was_said_earlier_and_ingested_later_goes_to_history(memory: doxa.Memory) -> None:
    """It is superseded by what contradicts it and was said since, at another address."""
    home, work = ["Ana", "lives in", "Bonn"], ["Ana", "works at", "Initech"]
    memory.constrain({"exclusions": [[home, work]]})
    for text, time in (("I work at Initech.", "2024-06-01"), ("I live in Bonn.", "2023-01-01")):
        memory.ingest([{"text": text, "speaker": "Ana", "time": f"{time}T00:00:00Z"}], session=time)
    rows = memory.run(
        "MATCH (new:Revision)-[:SUPERSEDES]->(old:Revision) RETURN new.summary AS new, old.kref AS"
        " old"
    ).records()
    assert [row["new"] for row in rows] == ["I work at Initech."]
    old = memory.explain(rows[0]["old"])
    assert (old.revision.summary, old.revision.status, old.since) == (
        "I live in Bonn.",
        "detached",
        None,
    )
    assert [row.says for row in old.gave_way_to] == ["I work at Initech."]


@pytest.mark.parametrize("project", ["default", "p", "q"])
def test_a_turn_that_contradicts_what_is_trusted_more_opens_a_conflict(
    memory: doxa.Memory, project: str
) -> None:
    memory.remember("Ana in Rome", name="h", facts=[("Ana", "lives in", "Rome")], project=project)
    memory.ingest([{"text": "I live in Oslo.", "speaker": "Ana"}], project=project)
    (conflict,) = memory.conflicts(project=project)
    assert conflict.challenger.summary == "I live in Oslo."
    assert [held.kref for held in conflict.held] == [f"kref://{project}/h.fact?r=1"]
