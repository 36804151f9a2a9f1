"""Rules of beliefs that hold for every writer: a query by hand, an erasure, an import; and the
corners of conflicts and rules."""

from __future__ import annotations

from pathlib import Path

import pytest

import doxa
from doxa.base.errors import ConflictError, ConstraintError, DoxaError, InputError
from tests.fixtures_shared import opened

ROME, OSLO = [("Ana", "lives in", "Rome")], [("Ana", "lives in", "Oslo")]


@pytest.fixture
def agent(memory: doxa.Memory) -> doxa.Session:
    return memory.session(actor="bot", role="agent")


def unsupported(memory: doxa.Memory, kref: str) -> str:
    found = memory.get(kref)
    assert isinstance(found, doxa.Revision)
    return found.unsupported


def test_a_query_cannot_retire_and_believe_at_once(
    memory: doxa.Memory, agent: doxa.Session
) -> None:
    memory.remember("Ana lives in Rome", facts=ROME, name="ver", trust="verified")
    for text in ("SET i.deprecated = true", "SET i.retired_revision = 7"):
        for session in (memory, agent):
            with pytest.raises(ConstraintError, match=r"doxa\.deprecate"):
                session.run(f"MATCH (i:Item {{name: 'ver'}}) {text}")
    assert agent.revise(["Ana", "lives in", "Oslo"]).action == "challenged"


def test_a_query_cannot_make_a_contradiction_current(
    memory: doxa.Memory, agent: doxa.Session
) -> None:
    memory.remember("Ana lives in Rome", facts=ROME, name="rome", trust="verified")
    agent.remember("Ana lives in Oslo", facts=OSLO, name="oslo")
    believe = "MATCH (i:Item {name: 'oslo'})-[:HAS_REVISION]->(r) CREATE (i)-[:CURRENT]->(r)"
    with pytest.raises(ConflictError, match="waits for a decision"):
        agent.run(believe)
    for text in ("SET c.decision = 'reject'", "SET c.decision = 'x', c.decided_by = 'bot'"):
        with pytest.raises(ConstraintError, match="resolve"):
            agent.run(f"MATCH (c:Conflict) {text}")
    memory.resolve(memory.conflicts()[0].kref, "reject")
    with pytest.raises(ConflictError, match="contradicts it"):
        memory.run(believe)


def test_what_rested_on_something_erased_says_so_for_good(memory: doxa.Memory) -> None:
    for name in ("a", "b", "x"):
        memory.remember(name, name=name)
    memory.remember("needs a", name="needs", depends_on=["kref://p/a.fact"])
    memory.remember("either", name="either", derived_from=["kref://p/a.fact", "kref://p/b.fact"])
    memory.remember("above", name="above", depends_on=["kref://p/needs.fact"])
    memory.deprecate("kref://p/a.fact")
    assert memory.forget("kref://p/a.fact", erase=True).done
    assert unsupported(memory, "kref://p/needs.fact") == "what it depended on was erased"
    assert (
        "no support itself" in unsupported(memory, "kref://p/above.fact")
        and unsupported(memory, "kref://p/either.fact") == ""
    )
    memory.link("kref://p/needs.fact", "kref://p/x.fact", kind="DEPENDS_ON")
    assert unsupported(memory, "kref://p/needs.fact") == "what it depended on was erased"
    memory.revise("kref://p/needs.fact", "stated anew")
    assert unsupported(memory, "kref://p/needs.fact") == ""


def test_a_conflict_goes_with_its_challenger_and_tells_nothing_of_it(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        memory.remember("Ana lives in Rome", facts=ROME, name="rome", trust="verified")
        made = memory.session(actor="bot").remember(
            "Zanzibar is the hideout of Ana", facts=[("Ana", "lives in", "Zanzibar")]
        )
        assert made.action == "challenged" and "zanzibar" not in made.change.conflict.lower()
        memory.forget(made.kref.partition("?")[0], erase=True)
        assert (
            memory.run("MATCH (c:Conflict) RETURN c").records() == []
            and memory.conflicts() == []
            and memory.check() == []
        )
    assert b"anzibar" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_conflicts_of_names_alike_have_addresses_of_their_own(
    memory: doxa.Memory, agent: doxa.Session
) -> None:
    for kind in ("preference1", "preference2"):
        memory.remember("likes tea", name="x" * 190, kind=kind, trust="verified")
        assert agent.revise(f"kref://p/{'x' * 190}.{kind}", "likes coffee").action == "challenged"
    assert len(memory.conflicts()) == 2


def test_what_a_challengers_item_says_by_now_stays(
    memory: doxa.Memory, agent: doxa.Session
) -> None:
    memory.remember("V", facts=ROME, name="ver", trust="verified")
    conflict = agent.remember("Ana lives in Oslo", facts=OSLO, name="o").change.conflict
    agent.revise("kref://p/o.fact", "Ana likes tea", facts=[("Ana", "likes", "tea")])
    memory.resolve(conflict, "accept")
    assert {hit.text for hit in memory.recall("Ana likes tea and lives in Oslo").hits} == {
        "Ana likes tea",
        "Ana lives in Oslo",
    }


def test_both_leaves_the_time_after_a_bounded_challenger(
    memory: doxa.Memory, agent: doxa.Session
) -> None:
    memory.remember("Ana lives in Rome", name="x", trust="verified")
    told = agent.revise(
        "kref://p/x.fact", "Ana lives in Oslo", valid_from="2024-01-01", valid_until="2026-01-01"
    )
    memory.resolve(told.conflict, "both", valid_from="2025-01-01")
    for at, text in (("2024-06-01", "Rome"), ("2025-06-01", "Oslo"), ("2027-01-01", "Rome")):
        assert [text in hit.text for hit in memory.recall("Ana lives", valid_at=at).hits] == [
            True
        ], at


def test_text_told_at_less_trust_retires_nothing(memory: doxa.Memory, agent: doxa.Session) -> None:
    memory.remember("Ana lives in Rome", name="h2", trust="candidate")
    memory.remember("Ana lives in Rome these days", name="h3", trust="stated")
    assert (
        agent.tell("Ana lives in Oslo now, not in Rome.", trust="candidate").action == "challenged"
    )
    assert len(memory.recall("Ana lives in Rome").hits) == 2


def test_many_may_say_the_same(memory: doxa.Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.belief.relevant_beliefs.CONNECTED_ITEMS_MAX", 5)
    for number in range(12):
        memory.remember(f"note {number}", name=f"n{number}", facts=[("user", "mood", "ok")])
    assert len(memory.contract(["user", "mood", "ok"]).losses) == 12


def test_rules_that_differ_in_the_type_of_a_value_are_two(memory: doxa.Memory) -> None:
    memory.constrain(
        {
            "rules": [
                {"if": ["s", "on", True], "then": {"not": ["s", "mode", 1]}},
                {"if": ["s", "on", True], "then": {"not": ["s", "mode", True]}},
            ]
        }
    )
    memory.revise(["s", "mode", True])
    assert [loss.says for loss in memory.revise(["s", "on", True]).losses] == ["s mode True"]
    assert memory.revise(["srv", "port", 1]).action == "created"
    assert memory.contract(["srv", "port", 1.0]).action == "contracted"


@pytest.mark.parametrize("item", ["*", " *", "＊", "_*_"])
def test_any_item_is_for_rules(memory: doxa.Memory, item: str) -> None:
    with pytest.raises(InputError, match="any item"):
        memory.revise([item, "eats", "meat"])
    with pytest.raises(InputError, match="cannot also name an item"):
        memory.constrain(
            {"rules": [{"if": [item, "boss", "Zed"], "then": {"not": ["Zed", "status", "fired"]}}]}
        )


def test_an_import_is_judged_beside_what_is_here(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db", embedder=None, project="p") as memory:
        memory.remember("Ana lives in Rome", facts=ROME, name="rome")
        lines = list(memory.export())
    (tmp_path / "x.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    with opened(tmp_path / "b.db", embedder=None, project="p") as other:
        other.remember("Ana lives in Oslo", facts=OSLO, name="oslo", trust="verified")
        done = other.import_(tmp_path / "x.jsonl")
        assert [loss.says for loss in done.losses] == ["Ana lives in Rome"]
        assert [hit.text for hit in other.recall("Ana lives").hits] == ["Ana lives in Oslo"]


def test_a_tag_and_grounds_that_are_not_for_agents(
    memory: doxa.Memory, agent: doxa.Session
) -> None:
    memory.remember("V", name="v", trust="verified")
    agent.remember("J", name="j")
    with pytest.raises(DoxaError, match="operator"):
        agent.link("kref://p/v.fact", "kref://p/j.fact", kind="DEPENDS_ON")
    with pytest.raises(InputError, match="unsupported"):
        memory.tag("kref://p/j.fact", "unsupported")


def test_the_same_words_about_other_things_have_other_addresses(memory: doxa.Memory) -> None:
    krefs = {memory.revise(["Ana", "likes", number], "a note").kref for number in range(30)}
    assert len(krefs) == 30 and not any(
        "-2" in kref.rpartition("-")[2][:2] for kref in krefs if kref.count("-") > 2
    )
