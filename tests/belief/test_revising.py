"""What is retracted for what, wherever it is: rewriting, windows of validity, trust, and the same
checks when something comes back."""

from __future__ import annotations

import pytest

import doxa
from doxa.base.clock import parse_time
from doxa.base.errors import ConflictError, InputError, LimitError, RoleError

LIVES, LIKES = "lives in", "likes"


def fact(*parts: object) -> list[object]:
    return list(parts)


def believed(memory: doxa.Session) -> set[tuple[object, ...]]:
    """Every fact that is current, by Cypher."""
    import json

    rows = memory.run("MATCH (:Item)-[:CURRENT]->(r) UNWIND r.facts AS fact RETURN fact").records()
    return {tuple(json.loads(row["fact"])) for row in rows}


def test_a_statement_finds_what_it_contradicts_and_takes_that_alone(memory: doxa.Memory) -> None:
    memory.remember(
        "Ana lives in Berlin and likes tea",
        name="ana",
        facts=[("Ana", LIVES, "Berlin"), ("Ana", LIKES, "tea")],
    )
    change = memory.revise(fact("ana", "Lives_in", "Paris"))
    assert [(loss.kref, loss.says) for loss in change.losses] == [
        ("kref://p/ana.fact?r=1", "Ana lives in Berlin")
    ]
    assert believed(memory) == {("Ana", LIKES, "tea"), ("ana", "Lives_in", "Paris")}
    rewritten = memory.get("kref://p/ana.fact")
    assert isinstance(rewritten, doxa.Revision) and (rewritten.summary, rewritten.number) == (
        "Ana likes tea",
        2,
    )
    assert not any(
        "Berlin" in hit.text for hit in memory.recall("where does Ana live, in Berlin?").hits
    )
    rows = memory.run(
        "MATCH (n:Revision)-[e:CONTRADICTS]->(o:Revision) RETURN n.kref AS new, o.kref AS old,"
        " e.why AS why"
    ).records()
    assert [dict(row) for row in rows] == [
        {
            "new": change.kref,
            "old": "kref://p/ana.fact?r=1",
            "why": "it contradicts what was stated",
        }
    ]


def test_the_same_subject_is_said_at_the_same_address(memory: doxa.Memory) -> None:
    first, second = (
        memory.revise(fact("Ana", LIVES, "Berlin")),
        memory.revise(fact("Ana", LIVES, "Rome")),
    )
    assert (second.action, second.previous, second.kref) == (
        "revised",
        first.kref,
        first.kref.replace("r=1", "r=2"),
    )
    assert memory.revise(fact("Ana", LIVES, "Rome")).action == "unchanged"
    assert memory.revise(
        first.kref.partition("?")[0],
        "Ana lives in Rome",
        facts=[("Ana", LIVES, "Rome")],
        again=True,
    ).kref.endswith("r=3")
    assert (
        memory.revise(fact("Ana", LIKES, "tea")).action
        == memory.revise(fact("Ana", LIKES, "milk")).action
        == "created"
    )
    assert len(believed(memory)) == 3
    named = memory.revise(fact("Ana", LIVES, "Oslo"), item="kref://p/home.fact")
    assert (named.action, named.kref, [loss.says for loss in named.losses]) == (
        "created",
        "kref://p/home.fact?r=1",
        ["Ana lives in Rome"],
    )
    assert (
        memory.revise(fact("Ana", LIVES, "Bonn"), item="kref://p/home.fact").kref
        == "kref://p/home.fact?r=2"
    )


def test_rules_reach_from_one_item_to_another(memory: doxa.Memory) -> None:
    memory.constrain(
        {"rules": [{"if": ["*", "diet", "vegan"], "then": {"not": ["*", "eats", "meat"]}}]}
    )
    memory.revise(fact("Bo", "eats", "meat"))
    memory.revise(fact("Cy", "eats", "meat"))
    change = memory.revise(fact("Bo", "diet", "vegan"))
    assert [loss.says for loss in change.losses] == ["Bo eats meat"]
    assert believed(memory) == {("Cy", "eats", "meat"), ("Bo", "diet", "vegan")}
    with pytest.raises(InputError, match="cannot be true"):
        memory.revise([fact("Bo", "diet", "vegan"), fact("Bo", "eats", "meat")])


def test_a_sentence_is_believed_and_gives_way_to_what_is_firmer(memory: doxa.Memory) -> None:
    memory.revise(
        {"if": fact("flag", "is", "on"), "then": fact("shop", "is", "open")}, kind="inference"
    )
    memory.revise(fact("flag", "is", "on"))
    assert memory.recall("flag shop open").hits
    change = memory.revise({"not": fact("shop", "is", "open")})
    assert [loss.says for loss in change.losses] == ["if flag is on then shop is open"]
    assert (
        "it contradicts" in change.losses[0].why
        and "is more entrenched than" in change.losses[0].why
    )
    assert (
        memory.contract({"or": [fact("flag", "is", "on"), fact("x", "y", 1)]}).losses[0].says
        == "flag is on"
    )
    assert memory.contract(fact("nobody", "said", "so")).action == "unchanged"
    assert (
        "rules alone"
        in memory.contract({"or": [fact("a", "b", 1), {"not": fact("a", "b", 1)}]}).reason
    )


def test_what_holds_at_another_time_does_not_conflict(memory: doxa.Memory) -> None:
    memory.remember(
        "Ana lives in Rome until 2020",
        facts=[("Ana", LIVES, "Rome")],
        name="rome",
        valid_until="2020-01-01",
    )
    assert memory.revise(fact("Ana", LIVES, "Oslo"), valid_from="2021-01-01").losses == ()
    change = memory.revise(fact("Ana", LIVES, "Bonn"), valid_from="2030-01-01")
    assert [loss.says for loss in change.losses] == ["Ana lives in Oslo"]
    texts = {hit.text for hit in memory.recall("Ana lives", valid_at="2025-06-01").hits}
    assert texts == {"Ana lives in Oslo"}
    memory.revise(fact("Ana", LIVES, "Paris"), valid_from="2023-01-01", valid_until="2024-01-01")
    for at, where in (
        ("2019-01-01", "Rome"),
        ("2022-01-01", "Oslo"),
        ("2023-06-01", "Paris"),
        ("2025-01-01", "Oslo"),
        ("2031-01-01", "Bonn"),
    ):
        found = {hit.text for hit in memory.recall("Ana lives", valid_at=at, limit=20).hits}
        assert any(where in text for text in found) and len(found) == 1, (at, found)


def test_less_trust_opens_a_conflict_and_retires_nothing(memory: doxa.Memory) -> None:
    held = memory.remember(
        "Ana lives in Rome", facts=[("Ana", LIVES, "Rome")], name="rome", trust="verified"
    )
    web = memory.session(actor="web")
    told = web.remember("Ana lives in Oslo", facts=[("Ana", LIVES, "Oslo")], name="oslo")
    assert told.action == "challenged" and told.change.conflict.startswith("kref://p/r1-")
    assert believed(memory) == {("Ana", LIVES, "Rome")}
    assert not any("Oslo" in hit.text for hit in memory.recall("Ana Oslo").hits)
    assert [
        hit.status for hit in memory.recall("Ana Oslo", history=True).hits if "Oslo" in hit.text
    ] == ["contested"]
    (conflict,) = memory.conflicts()
    assert (conflict.challenger.summary, [one.kref for one in conflict.held]) == (
        "Ana lives in Oslo",
        [held.kref],
    )
    assert (
        web.remember(
            "Ana lives in Oslo", facts=[("Ana", LIVES, "Oslo")], name="oslo"
        ).change.conflict
        == conflict.kref
    )
    assert len(memory.conflicts()) == 1
    with pytest.raises(RoleError):
        memory.session(actor="bot").resolve(conflict.kref, "accept")
    with pytest.raises(InputError):
        memory.resolve(conflict.kref, "perhaps")  # type: ignore[arg-type]
    decided = memory.resolve(conflict.kref, "accept")
    assert believed(memory) == {("Ana", LIVES, "Oslo")} and memory.conflicts() == []
    assert [one.decision for one in memory.conflicts(decided=True)] == ["accept"]
    with pytest.raises(ConflictError):
        memory.resolve(conflict.kref, "reject")
    memory.undo(decided.change or 0)
    assert believed(memory) == {("Ana", LIVES, "Rome")} and len(memory.conflicts()) == 1
    memory.resolve(conflict.kref, "reject")
    assert believed(memory) == {("Ana", LIVES, "Rome")} and memory.conflicts() == []


def test_both_sides_of_a_conflict_each_for_its_own_time(memory: doxa.Memory) -> None:
    memory.remember(
        "Ana lives in Rome", facts=[("Ana", LIVES, "Rome")], name="home", trust="verified"
    )
    web = memory.session(actor="web")
    told = web.revise(
        "kref://p/home.fact", "Ana lives in Oslo", facts=[("Ana", LIVES, "Oslo")], trust="untrusted"
    )
    assert told.action == "challenged"
    with pytest.raises(InputError, match="one after the other"):
        memory.resolve(told.conflict, "both")
    memory.resolve(told.conflict, "both", valid_from="2030-01-01")
    home = memory.get("kref://p/home.fact")
    assert isinstance(home, doxa.Revision) and home.valid_until == parse_time(
        "2030-01-01", field="x"
    )
    assert {hit.text for hit in memory.recall("Ana lives", valid_at="2031-01-01").hits} == {
        "Ana lives in Oslo"
    }
    assert {hit.text for hit in memory.recall("Ana lives", valid_at="2029-01-01").hits} == {
        "Ana lives in Rome"
    }


def test_more_trust_retires_and_says_so(memory: doxa.Memory) -> None:
    memory.remember(
        "Ana lives in Oslo", facts=[("Ana", LIVES, "Oslo")], name="oslo", trust="candidate"
    )
    change = memory.remember(
        "Ana lives in Rome", facts=[("Ana", LIVES, "Rome")], name="rome"
    ).change
    assert [loss.kref for loss in change.losses] == ["kref://p/oslo.fact?r=1"]
    oslo = memory.get("kref://p/oslo.fact")
    assert isinstance(oslo, doxa.Revision) and oslo.status == "deprecated"


def test_what_comes_back_is_checked_like_what_is_new(memory: doxa.Memory) -> None:
    memory.remember("Ana lives in Oslo", facts=[("Ana", LIVES, "Oslo")], name="oslo")
    memory.deprecate("kref://p/oslo.fact")
    memory.remember("Ana lives in Rome", facts=[("Ana", LIVES, "Rome")], name="rome")
    back = memory.restore("kref://p/oslo.fact")
    assert [loss.kref for loss in back.losses] == ["kref://p/rome.fact?r=1"] and believed(
        memory
    ) == {("Ana", LIVES, "Oslo")}
    memory.undo(back.change or 0)
    assert believed(memory) == {("Ana", LIVES, "Rome")}
    memory.rollback("kref://p/oslo.fact?r=1")
    assert believed(memory) == {("Ana", LIVES, "Oslo")}
    memory.remember(
        "Ana lives in Bonn", facts=[("Ana", LIVES, "Bonn")], name="bonn", trust="verified"
    )
    for call in (
        lambda: memory.restore("kref://p/oslo.fact"),
        lambda: memory.rollback("kref://p/oslo.fact?r=1"),
        lambda: memory.tag("kref://p/oslo.fact?r=1", "current"),
    ):
        with pytest.raises(ConflictError, match="trusted more"):
            call()


def test_an_undo_that_would_contradict_is_refused(memory: doxa.Memory) -> None:
    memory.remember("Ana lives in Oslo", facts=[("Ana", LIVES, "Oslo")], name="oslo")
    gone = memory.deprecate("kref://p/oslo.fact")
    memory.remember("Ana lives in Rome", facts=[("Ana", LIVES, "Rome")], name="rome")
    with pytest.raises(ConflictError, match="would be believed again"):
        memory.undo(gone.change or 0)
    assert believed(memory) == {("Ana", LIVES, "Rome")}


def test_a_dry_run_says_the_same_and_writes_nothing(memory: doxa.Memory) -> None:
    memory.remember("Ana lives in Oslo", facts=[("Ana", LIVES, "Oslo")], name="oslo")
    last = memory.log(limit=1)[0].tx
    for call in (
        lambda dry: memory.revise(fact("Ana", LIVES, "Rome"), dry_run=dry),
        lambda dry: memory.contract(fact("Ana", LIVES, "Rome"), dry_run=dry),
        lambda dry: memory.deprecate("kref://p/oslo.fact", dry_run=dry),
        lambda dry: memory.restore("kref://p/oslo.fact", dry_run=dry),
        lambda dry: memory.tell("Ana now lives in Bonn", dry_run=dry),
    ):
        rehearsed = call(True)
        assert (rehearsed.change, rehearsed.receipt) == (
            None,
            "",
        ) and "nothing was written" in rehearsed.reason
        assert memory.log(limit=1)[0].tx == last
        done = call(False)
        assert (done.action, done.losses, done.gained, done.lost) == (
            rehearsed.action,
            rehearsed.losses,
            rehearsed.gained,
            rehearsed.lost,
        )
        last = memory.log(limit=1)[0].tx


def test_rules_that_are_declared_later_take_what_breaks_them(memory: doxa.Memory) -> None:
    memory.remember("Ana likes tea", facts=[("Ana", LIKES, "tea")], name="tea")
    memory.remember("Ana likes milk", facts=[("Ana", LIKES, "milk")], name="milk")
    assert memory.constrain({"functional": [LIKES]}, dry_run=True).losses
    assert len(believed(memory)) == 2
    assert [loss.kref for loss in memory.constrain({"functional": [LIKES]}).losses] == [
        "kref://p/tea.fact?r=1"
    ]
    assert memory.rules()["constraints"] == {"functional": [LIKES], "exclusions": [], "rules": []}
    with pytest.raises(RoleError):
        memory.session(actor="bot").constrain({"functional": []})
    with pytest.raises(InputError):
        memory.constrain({"rules": [fact("a", "b", 1), {"not": fact("a", "b", 1)}]})
    memory.constrain(entrenchment={"criteria": ["recency"]})
    assert memory.rules()["entrenchment"]["criteria"] == ["recency", "revision"]  # type: ignore[index]
    assert memory.rules()["constraints"]["functional"] == [LIKES]  # type: ignore[index]


def test_what_is_connected_has_a_limit(
    memory: doxa.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.belief.relevant_beliefs.CONNECTED_ITEMS_MAX", 3)
    for number in range(4):
        memory.remember(
            f"{number}",
            name=f"n{number}",
            sentences=[{"or": [["hub", "is", 1], [f"n{number}", "is", 1]]}],
        )
    with pytest.raises(LimitError, match="connected"):
        memory.revise(fact("hub", "is", 1))


@pytest.mark.parametrize(
    "value", [["a", "b"], {"xor": []}, '["a", "b", 1', [], {"not": 3}, [[]], 7, None]
)
def test_what_is_no_sentence_is_refused(memory: doxa.Memory, value: object) -> None:
    with pytest.raises(doxa.DoxaError):
        memory.revise(value)  # type: ignore[arg-type]
    with pytest.raises(doxa.DoxaError):
        memory.contract(value)  # type: ignore[arg-type]


def test_a_revision_that_is_written_anew_keeps_its_grounds_author_and_time(
    memory: doxa.Memory,
) -> None:
    source = memory.remember("A letter of Ana", name="letter")
    first = memory.session(actor="bot").remember(
        "Ana lives in Oslo and likes tea",
        name="ana",
        facts=[("Ana", LIVES, "Oslo"), ("Ana", LIKES, "tea")],
        derived_from=[source.kref],
        embedding_text="Oslo",
    )
    before = memory.get(first.kref)
    memory.revise(fact("Ana", LIVES, "Rome"))
    after = memory.get("kref://p/ana.fact")
    assert isinstance(before, doxa.Revision) and isinstance(after, doxa.Revision)
    assert (after.author, after.time, after.metadata) == (
        "bot",
        before.time,
        {},
    ) and after.created > before.created
    assert [step.kref for step in memory.provenance(after.kref).steps] == [source.kref]


def test_the_former_name_of_a_retracted_belief_warns_and_works() -> None:
    import doxa

    with pytest.warns(DeprecationWarning, match=r"doxa\.Retracted"):
        assert doxa.Lost is doxa.Retracted
