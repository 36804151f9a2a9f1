"""What one change of a belief leaves behind, where only the whole result shows it: what is retired,
restored, kept apart in time, refused by the store's guards, and undone."""

from __future__ import annotations

import json

import pytest

import doxa
from doxa.base.errors import ConflictError, DoxaError, InputError, NotFoundError
from doxa.belief import Ledger
from doxa.belief.kref import parse_kref, slug
from doxa.belief.types import Draft
from doxa.store import Identity

LIVES, LIKES = "lives in", "likes"


def facts(memory: doxa.Session) -> set[tuple[object, ...]]:
    """Every fact that is current."""
    rows = memory.run("MATCH (:Item)-[:CURRENT]->(r) UNWIND r.facts AS fact RETURN fact").records()
    return {tuple(json.loads(row["fact"])) for row in rows}


def status(memory: doxa.Session, kref: str) -> str:
    found = memory.get(kref)
    assert isinstance(found, doxa.Revision)
    return found.status


# Rules, windows of time


def test_a_new_rule_retires_what_breaks_it(memory: doxa.Memory) -> None:
    memory.remember("Ana likes tea", facts=[("Ana", LIKES, "tea")], name="tea")
    memory.remember("Ana likes milk", facts=[("Ana", LIKES, "milk")], name="milk")
    memory.constrain({"functional": [LIKES]})
    assert facts(memory) == {("Ana", LIKES, "milk")}
    assert status(memory, "kref://p/tea.fact?r=1") == "deprecated"
    assert status(memory, "kref://p/milk.fact") == "current"


def test_a_belief_is_cut_at_the_borders_of_another(memory: doxa.Memory) -> None:
    """Three pieces of time: before, replaced, after. The last is a belief of its own, named after
    the day on which it begins, and supersedes what it was cut from."""
    memory.remember(
        "Ana lives in Rome",
        facts=[("Ana", LIVES, "Rome")],
        name="home",
        valid_from="2020-01-01",
        valid_until="2026-01-01",
    )
    change = memory.revise(
        ["Ana", LIVES, "Oslo"], valid_from="2022-01-01", valid_until="2024-01-01"
    )
    assert [loss.says for loss in change.losses] == ["Ana lives in Rome"]

    def lives(day: str) -> set[str]:
        return {hit.text for hit in memory.recall("where does Ana live", valid_at=day).hits}

    assert lives("2021-06-01") == {"Ana lives in Rome"}
    assert lives("2023-06-01") == {"Ana lives in Oslo"}
    assert lives("2025-06-01") == {"Ana lives in Rome"}
    later = "kref://p/home-2024-01-01.fact"
    assert status(memory, later) == "current" and status(memory, "kref://p/home.fact") == "current"
    rows = memory.run(
        "MATCH (n:Revision)-[:SUPERSEDES]->(o:Revision) RETURN n.kref AS new, o.kref AS old"
    ).records()
    assert {(row["new"], row["old"]) for row in rows} == {
        (f"{later}?r=1", "kref://p/home.fact?r=1"),
        ("kref://p/home.fact?r=2", "kref://p/home.fact?r=1"),
    }
    assert len(memory.history("kref://p/home.fact").revisions) == 2


def test_what_is_left_through_the_whole_time_keeps_the_address(memory: doxa.Memory) -> None:
    """The fact that loses a part of its time gets an address of its own."""
    memory.remember(
        "Ana lives in Rome and likes tea",
        facts=[("Ana", LIVES, "Rome"), ("Ana", LIKES, "tea")],
        name="ana",
    )
    memory.revise(["Ana", LIVES, "Oslo"], valid_from="2022-01-01")
    kept, cut = memory.get("kref://p/ana.fact"), memory.get("kref://p/ana-first.fact")
    assert isinstance(kept, doxa.Revision) and isinstance(cut, doxa.Revision)
    assert [fact.value for fact in kept.facts] == ["tea"] and kept.valid_until is None
    assert [fact.value for fact in cut.facts] == ["Rome"] and cut.valid_until is not None


def test_a_border_at_the_same_moment_cuts_nothing(memory: doxa.Memory) -> None:
    """One ends where the other begins."""
    memory.remember(
        "Ana lives in Rome",
        facts=[("Ana", LIVES, "Rome")],
        name="home",
        valid_until="2022-01-01",
    )
    change = memory.revise(["Ana", LIVES, "Oslo"], valid_from="2022-01-01")
    assert change.losses == () and len(facts(memory)) == 2
    assert len(memory.run("MATCH (i:Item) RETURN i").records()) == 2


def test_addresses_for_pieces_run_out(memory: doxa.Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.belief.revising.ADDRESSES_TRIED_ITEMS_MAX", 2)
    memory.remember("taken", name="home-2024-01-01")
    memory.remember(
        "Ana lives in Rome",
        facts=[("Ana", LIVES, "Rome")],
        name="home",
        valid_from="2020-01-01",
        valid_until="2026-01-01",
    )
    with pytest.raises(DoxaError, match="taken"):
        memory.revise(["Ana", LIVES, "Oslo"], valid_from="2022-01-01", valid_until="2024-01-01")
    assert facts(memory) == {("Ana", LIVES, "Rome")}
    monkeypatch.setattr("doxa.belief.revising.ADDRESSES_TRIED_ITEMS_MAX", 3)
    memory.revise(["Ana", LIVES, "Oslo"], valid_from="2022-01-01", valid_until="2024-01-01")
    assert status(memory, "kref://p/home-2024-01-01-2.fact") == "current"


# Retiring, restoring, superseding


def test_what_is_restored_is_current_again(memory: doxa.Memory) -> None:
    memory.remember("one", name="a")
    memory.revise("kref://p/a.fact", "two")
    memory.deprecate("kref://p/a.fact")
    assert status(memory, "kref://p/a.fact?r=2") == "deprecated"
    memory.restore("kref://p/a.fact")
    assert status(memory, "kref://p/a.fact?r=2") == "current"
    assert status(memory, "kref://p/a.fact?r=1") == "superseded"


def test_superseding_what_is_retired_leaves_it_retired(memory: doxa.Memory) -> None:
    memory.remember("one", name="a")
    memory.deprecate("kref://p/a.fact")
    change = memory.supersede("kref://p/a.fact", "another", name="b")
    assert (change.action, change.previous) == ("superseded", "kref://p/a.fact")
    assert status(memory, "kref://p/a.fact?r=1") == "deprecated"
    assert status(memory, "kref://p/b.fact") == "current"


def test_superseding_again_what_is_contested_changes_nothing(memory: doxa.Memory) -> None:
    memory.remember("one", name="a", trust="verified")
    agent = memory.session(actor="web", role="agent")
    first = agent.supersede("kref://p/a.fact", "another", name="b")
    again = agent.supersede("kref://p/a.fact", "another", name="b")
    assert (first.action, again.action) == ("challenged", "unchanged")
    assert again.change is None and again.conflict == first.conflict
    assert status(memory, "kref://p/a.fact?r=1") == "current"


def test_superseding_without_a_current_revision_retires(memory: doxa.Memory) -> None:
    """All that the item says was contracted: it goes out of recall with what replaces it."""
    memory.remember("one", name="a")
    memory.contract("kref://p/a.fact?r=1")
    memory.supersede("kref://p/a.fact", "another", name="b")
    item = memory.run("MATCH (i:Item {name: 'a'}) RETURN i.deprecated").single()
    assert item is True


def test_a_challenge_supersedes_nothing(memory: doxa.Memory) -> None:
    memory.remember("one", name="a", trust="verified")
    web = memory.session(actor="web")
    change = web.supersede("kref://p/a.fact", "another", name="b", trust="untrusted")
    assert change.action == "challenged" and change.conflict
    assert status(memory, "kref://p/a.fact") == "current"
    assert memory.run("MATCH (i:Item {name: 'a'}) RETURN i.deprecated").single() is None


def test_the_same_challenge_again_opens_nothing(memory: doxa.Memory) -> None:
    memory.remember("one", name="a", trust="verified")
    web = memory.session(actor="web")
    first = web.revise("kref://p/a.fact", "another", trust="untrusted")
    again = web.revise("kref://p/a.fact", "another", trust="untrusted")
    assert (first.action, again.action) == ("challenged", "unchanged")
    assert again.conflict == first.conflict and len(memory.conflicts()) == 1


@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_a_decision_says_what_was_gained(memory: doxa.Memory, decision: str) -> None:
    memory.remember("Ana lives in Rome", facts=[("Ana", LIVES, "Rome")], name="a", trust="verified")
    challenged = memory.session(actor="web").revise(
        "kref://p/a.fact", "Ana lives in Oslo", facts=[("Ana", LIVES, "Oslo")], trust="untrusted"
    )
    change = memory.resolve(challenged.conflict, decision)  # type: ignore[arg-type]
    gained = [tuple(fact) for fact in change.gained]
    assert gained == ([("Ana", LIVES, "Oslo")] if decision == "accept" else [])
    place = "Oslo" if decision == "accept" else "Rome"
    assert facts(memory) == {("Ana", LIVES, place)}


def test_equal_trust_replaces_and_more_is_challenged(memory: doxa.Memory) -> None:
    memory.remember("one", name="a", trust="untrusted")
    assert memory.revise("kref://p/a.fact", "two", trust="untrusted").action == "revised"
    assert memory.revise("kref://p/a.fact", "three", trust="verified").action == "revised"
    assert memory.revise("kref://p/a.fact", "four", trust="untrusted").action == "challenged"


def test_later_statements_are_kept_from_earlier_ones(memory: doxa.Memory) -> None:
    """A belief dated at the very moment of another is not later than it."""
    ledger = Ledger(memory.store, Identity("ana", "operator"))
    with pytest.raises(ConflictError):
        memory.remember("one", name="a")
        ledger.expand(Draft("two", project="p", name="a"))
    assert status(memory, "kref://p/a.fact") == "current"
    memory.remember("Bo lives in Rome", facts=[("Bo", LIVES, "Rome")], name="bo")
    with pytest.raises(ConflictError, match=r"kref://p/bo\.fact"):
        from doxa.belief import Fact

        ledger.expand(
            Draft("Bo lives in Oslo", project="p", name="c", facts=(Fact("Bo", LIVES, "Oslo"),))
        )
    with pytest.raises(NotFoundError):
        memory.get("kref://p/c.fact")


@pytest.mark.parametrize("confidence", [0, 0.0, 0.5, 1, 1.0])
def test_confidence_has_both_ends(memory: doxa.Memory, confidence: float) -> None:
    found = memory.get(memory.remember("sure", name="a", confidence=confidence).kref)
    assert isinstance(found, doxa.Revision) and found.confidence == confidence


@pytest.mark.parametrize("confidence", [-0.001, 1.001, True])
def test_confidence_beyond_its_ends(memory: doxa.Memory, confidence: float) -> None:
    with pytest.raises(InputError):
        memory.remember("sure", name="a", confidence=confidence)


# Grounds


def test_a_chain_of_grounds_falls_and_says_how_far(memory: doxa.Memory) -> None:
    base = memory.remember("base", name="a").kref
    middle = memory.remember("middle", name="b", depends_on=[base]).kref
    memory.remember("end", name="c", depends_on=[middle])
    walk = memory.impact("kref://p/a.fact")
    assert [(step.kref, step.depth, step.falls) for step in walk.steps] == [
        ("kref://p/b.fact?r=1", 1, True),
        ("kref://p/c.fact?r=1", 2, True),
    ]
    memory.deprecate("kref://p/a.fact")
    for name in "bc":
        found = memory.get(f"kref://p/{name}.fact")
        assert isinstance(found, doxa.Revision) and found.unsupported
    memory.restore("kref://p/a.fact")
    for name in "bc":
        found = memory.get(f"kref://p/{name}.fact")
        assert isinstance(found, doxa.Revision) and not found.unsupported


def test_a_tag_of_a_persons_own_is_no_loss_of_support(memory: doxa.Memory) -> None:
    memory.remember("one", name="a")
    memory.tag("kref://p/a.fact?r=1", "draft")
    found = memory.get("kref://p/a.fact")
    assert isinstance(found, doxa.Revision)
    assert (found.unsupported, set(found.tags)) == ("", {"current", "draft", "initial"})
    change = memory.tag("kref://p/a.fact?r=1", "seen").change
    assert change is not None
    memory.undo(change)
    found = memory.get("kref://p/a.fact")
    assert isinstance(found, doxa.Revision) and "seen" not in found.tags


def test_edges_that_a_change_set_twice_or_made_and_set_are_undone(memory: doxa.Memory) -> None:
    memory.run("CREATE (:Spot {n: 1})-[:ROAD {km: 1}]->(:Spot {n: 2})")
    memory.run(
        "MATCH (a:Spot {n: 1})-[r:ROAD]->(b:Spot) SET r.km = 2 SET r.km = 3"
        " CREATE (b)-[s:ROAD {km: 7}]->(a) SET s.km = 8"
    )
    with memory.store.read() as reader:
        ((change,),) = reader.rows("SELECT max(tx) FROM receipt")
    memory.undo(change)
    rows = memory.run("MATCH ()-[r:ROAD]->() RETURN r.km AS km").records()
    assert [row["km"] for row in rows] == [1]


def test_an_undone_untag_brings_the_tag_back(memory: doxa.Memory) -> None:
    memory.remember("one", name="a")
    memory.tag("kref://p/a.fact?r=1", "draft")
    removed = memory.untag("kref://p/a.fact", "draft").change
    assert removed is not None
    memory.undo(removed)
    found = memory.get("kref://p/a.fact")
    assert isinstance(found, doxa.Revision) and "draft" in found.tags


def test_an_explanation_says_how_each_stands(memory: doxa.Memory) -> None:
    base = memory.remember("base", name="a").kref
    memory.remember("end", name="b", depends_on=[base])
    memory.deprecate("kref://p/a.fact")
    shown = str(memory.explain("kref://p/b.fact"))
    assert "deprecated" in shown or "unsupported" in shown


# Names


def test_names_from_words_have_48_characters() -> None:
    assert slug("a" * 60) == "a" * 48 and slug("a" * 48) == "a" * 48
    assert slug("a" * 47 + " b") == "a" * 47
    assert slug("Über die Brücke!") == "über-die-brücke"


def test_what_is_no_address_is_quoted_in_part() -> None:
    with pytest.raises(DoxaError) as caught:
        parse_kref("x" * 200)
    assert "x" * 80 in caught.value.message and "x" * 81 not in caught.value.message


# Guards: what a query by hand may not do


@pytest.fixture
def full(memory: doxa.Memory) -> doxa.Memory:
    """One of each: places, beliefs, an artifact, a conversation, a conflict."""
    memory.remember("one", name="a", space="s/t", trust="verified")
    memory.remember("other", name="o", space="s/t")
    memory.attach("kref://p/s/t/a.fact", "paper", location="file:///a.txt")
    memory.tag("kref://p/s/t/a.fact?r=1", "draft")
    memory.ingest(
        [{"text": "We meet in Rome", "speaker": "Ana"}, {"text": "Noted", "speaker": "Bo"}],
        thread="talk",
    )
    memory.session(actor="web").revise("kref://p/s/t/a.fact", "two", trust="untrusted")
    return memory


@pytest.mark.parametrize(
    "kind",
    [
        "HAS_SPACE",
        "HAS_ITEM",
        "HAS_REVISION",
        "HAS_THREAD",
        "HAS_EXCHANGE",
        "NEXT",
        "CHALLENGER",
        "HELD",
    ],
)
def test_structure_is_kept(full: doxa.Memory, kind: str) -> None:
    count = full.run(f"MATCH ()-[e:{kind}]->() RETURN count(e)").single()
    assert count
    with pytest.raises(DoxaError):
        full.run(f"MATCH ()-[e:{kind}]->() DELETE e")
    assert full.run(f"MATCH ()-[e:{kind}]->() RETURN count(e)").single() == count


@pytest.mark.parametrize(
    ("kind", "start", "end"),
    [
        ("HAS_SPACE", "(x:Project)", "(y:Space {name: 't'})"),
        ("HAS_ITEM", "(x:Project)", "(y:Item {name: 'a'})"),
        ("HAS_REVISION", "(x:Item {name: 'o'})", "(y:Revision {summary: 'one'})"),
        ("HAS_ARTIFACT", "(x:Revision {summary: 'other'})", "(y:Artifact)"),
        ("HAS_THREAD", "(x:Space {name: 't'})", "(y:Thread)"),
        ("CURRENT", "(x:Item {name: 'a'})", "(y:Revision {summary: 'two'})"),
        ("CURRENT", "(x:Item {name: 'o'})", "(y:Revision {summary: 'one'})"),
        ("CHALLENGER", "(x:Conflict)", "(y:Revision {summary: 'other'})"),
        ("TAG", "(x:Item {name: 'o'})", "(y:Revision {summary: 'one'})"),
        ("MEMBER", "(x:Revision {summary: 'one'})", "(y:Item {name: 'a'})"),
        ("SUPERSEDES", "(x:Item {name: 'o'})", "(y:Revision {summary: 'one'})"),
        ("NEXT", "(x:Revision {summary: 'one'})", "(y:Exchange)"),
    ],
)
def test_structure_is_not_doubled(full: doxa.Memory, kind: str, start: str, end: str) -> None:
    assert full.run(f"MATCH {start}, {end} RETURN count(*)").single()
    with pytest.raises(DoxaError):
        full.run(f"MATCH {start}, {end} CREATE (x)-[:{kind} {{name: 'draft'}}]->(y)")


@pytest.mark.parametrize(
    ("label", "name"),
    [("Revision", "summary"), ("Exchange", "text"), ("Conflict", "opened"), ("Conflict", "kind")],
)
def test_what_was_said_is_not_changed_by_hand(full: doxa.Memory, label: str, name: str) -> None:
    before = full.run(f"MATCH (n:{label}) RETURN collect(n.{name})").single()
    assert before
    with pytest.raises(DoxaError):
        full.run(f"MATCH (n:{label}) SET n.{name} = 'x'")
    assert full.run(f"MATCH (n:{label}) RETURN collect(n.{name})").single() == before


@pytest.mark.parametrize(
    ("kind", "fits"), [("T2", True), ("A_B", True), ("2T", False), ("t", False)]
)
def test_types_of_links(memory: doxa.Memory, kind: str, fits: bool) -> None:
    one, two = memory.remember("one", name="a").kref, memory.remember("two", name="b").kref
    if fits:
        memory.link(one, two, kind=kind)
    else:
        with pytest.raises(InputError):
            memory.link(one, two, kind=kind)
    assert memory.run(f"MATCH ()-[e:`{kind}`]->() RETURN count(e)").single() == int(fits)
