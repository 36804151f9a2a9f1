"""Belief revision through its interfaces: Cypher, the command line, export and import, and
files of an earlier layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import doxa
from doxa.belief import Ledger, declare
from doxa.cli import app
from doxa.store import Identity, Store
from tests.fixtures_shared import opened

FACT = ["Ana", "lives in", "Oslo"]


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        yield made
        assert made.check() == []


def test_by_cypher(memory: doxa.Memory) -> None:
    memory.remember("Ana lives in Oslo", name="ana", facts=[FACT])
    rehearsed = memory.run(
        "CALL doxa.dryRun('revise', ['Ana', 'lives in', 'Rome']) YIELD action, losses, reason"
        " RETURN *"
    ).records()
    assert (
        rehearsed[0]["losses"][0]["kref"] == "kref://p/ana.fact?r=1"
        and "nothing was written" in rehearsed[0]["reason"]
    )
    done = memory.run(
        "CALL doxa.revise(['Ana', 'lives in', 'Rome']) YIELD action, kref, losses RETURN *"
    ).records()
    assert done[0]["losses"][0]["says"] == "Ana lives in Oslo"
    assert memory.run("MATCH (i:Item)-[:CURRENT]->(r) RETURN r.summary AS text").records() == [
        {"text": "Ana lives in Rome"}
    ]
    told = memory.run(
        "CALL doxa.tell('Ana now lives in Bonn') YIELD action, kref, reason RETURN *"
    ).records()
    assert told[0]["action"] == "revised" and told[0]["kref"].startswith(
        done[0]["kref"].partition("?")[0]
    )
    assert memory.run(
        "CALL doxa.match('Ana lives in Paris') YIELD verdict RETURN verdict"
    ).records() == [{"verdict": "revise"}]
    rows = memory.run(
        "CALL doxa.explain($kref) YIELD section, says RETURN section, says",
        {"kref": told[0]["kref"]},
    ).records()
    assert {"section": "replaced", "says": "Ana lives in Rome"} in [dict(row) for row in rows]
    memory.run("CALL doxa.constrain({functional: ['likes']})")
    assert memory.run(
        "CALL doxa.rules() YIELD rules RETURN rules.constraints.functional AS names"
    ).records() == [{"names": ["likes"]}]
    memory.run("CALL doxa.contract({or: [['x', 'y', 1], ['x', 'y', 2]]})")
    graph = memory.graph()
    graph.begin()
    with graph, pytest.raises(doxa.DoxaError):
        graph.run("CALL doxa.remember('so it takes the lock')").records()
        graph.run("CALL doxa.dryRun('revise', ['Ana', 'lives in', 'Rome'])").records()


def test_conflicts_by_cypher(memory: doxa.Memory) -> None:
    memory.remember("Ana lives in Oslo", name="ana", facts=[FACT], trust="verified")
    made = memory.run(
        "CALL doxa.remember('Ana is in Rome', {facts: [['Ana', 'lives in', 'Rome']]}) YIELD action,"
        " conflict RETURN *"
    ).records()
    assert made[0]["action"] == "challenged"
    rows = memory.run(
        "CALL doxa.conflicts() YIELD kref, text, held RETURN kref, text, held[0].kref AS held"
    ).records()
    assert [dict(row) for row in rows] == [
        {"kref": made[0]["conflict"], "text": "Ana is in Rome", "held": "kref://p/ana.fact?r=1"}
    ]
    text = "MATCH (c:Conflict)-[:CHALLENGER]->(r) WHERE c.decision IS NULL RETURN r.summary AS text"
    assert memory.run(text).records() == [{"text": "Ana is in Rome"}]
    memory.run("CALL doxa.resolve($kref, 'reject')", {"kref": made[0]["conflict"]})
    assert memory.run("CALL doxa.conflicts() YIELD kref RETURN kref").records() == []
    found = memory.get(made[0]["conflict"])
    assert isinstance(found, doxa.Conflict) and found.decision == "reject"


def test_a_transaction_sees_its_own_statements(memory: doxa.Memory) -> None:
    with memory.graph() as graph:
        graph.begin()
        graph.run("CALL doxa.revise(['Ana', 'lives in', 'Oslo'])").records()
        rows = graph.run(
            "CALL doxa.revise(['Ana', 'lives in', 'Rome'], '', {item: 'kref://p/new.fact'}) YIELD"
            " losses RETURN losses"
        ).records()
        assert rows[0]["losses"][0]["says"] == "Ana lives in Oslo"
        graph.rollback()
    assert memory.stats()["revisions"] == 0


def test_full_text_leaves_out_what_is_not_believed(memory: doxa.Memory) -> None:
    memory.run("CREATE FULLTEXT INDEX said FOR (n:Revision) ON EACH [n.summary]")
    memory.remember("the tower is red", name="tower")
    memory.revise("kref://p/tower.fact", "the tower is blue")
    text = (
        "CALL db.index.fulltext.queryNodes('said', 'tower') YIELD node RETURN node.summary AS text"
    )
    assert memory.run(text).records() == [{"text": "the tower is blue"}]
    everything = (
        "CALL db.index.fulltext.queryNodes('said', 'tower', {history: true}) YIELD node RETURN"
        " node.summary AS text ORDER BY text"
    )
    assert [row["text"] for row in memory.run(everything).records()] == [
        "the tower is blue",
        "the tower is red",
    ]


def test_by_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOXA_DB", str(tmp_path / "m.db"))
    monkeypatch.setenv("DOXA_MODELS", str(tmp_path / "models"))

    def run(*arguments: str, exit: int = 0) -> str:
        result = CliRunner().invoke(app, list(arguments))
        assert result.exit_code == exit, (result.output, result.exception)
        return result.output

    run("revise", json.dumps(FACT))
    assert "retracted" not in run("revise", '["Bo", "lives in", "Oslo"]')
    assert "Dry run" in run("revise", '["Ana", "lives in", "Rome"]', "--dry-run").replace(
        "dry run", "Dry run"
    )
    first = json.loads(run("revise", '["Ana", "lives in", "Rome"]', "--json"))["kref"]
    assert "Ana lives in Rome" in run("explain", first) and "Nothing waits" in run("conflicts")
    assert "revised" in run("tell", "Ana now lives in Bonn") and run(
        "match", "Ana now lives in Paris"
    ).startswith("revise")
    run("remember", "Ana lives in Lyon", "--fact", "Ana|lives in|Lyon", "--trust", "untrusted")
    conflict = json.loads(run("conflicts", "--json"))[0]["kref"]
    assert "resolved" in run("resolve", conflict, "reject")
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps({"constraints": {"functional": ["likes"]}}))
    run("constrain", str(rules))
    assert json.loads(run("rules"))["constraints"]["functional"] == ["likes"]
    assert "contracted" in run("contract", '["Bo", "lives in", "Oslo"]')
    for wrong in ("no json", "3", '["a"]', '{"xor": []}'):
        run("revise", wrong, exit=2)
    run("resolve", conflict, "accept", exit=4)


def test_export_and_import_keep_sentences_and_what_was_retired(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db", embedder=None, project="p") as memory:
        memory.revise(
            {"if": FACT, "then": ["Ana", "owns", "a coat"]}, "a rule", item="kref://p/rule.fact"
        )
        memory.remember("gone", name="gone", facts=[["Bo", "is", 1]])
        memory.revise("kref://p/gone.fact", "gone again", facts=[["Bo", "is", 2]])
        memory.rollback("kref://p/gone.fact?r=1")
        memory.deprecate("kref://p/gone.fact")
        memory.remember("rests", name="rests", depends_on=["kref://p/gone.fact"])
        lines = list(memory.export())
    (tmp_path / "x.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    with opened(tmp_path / "b.db", embedder=None, project="p") as other:
        other.import_(tmp_path / "x.jsonl")
        rule = other.get("kref://p/rule.fact")
        assert isinstance(rule, doxa.Revision) and json.loads(rule.sentences[0])["if"] == FACT
        rests = other.get("kref://p/rests.fact")
        assert isinstance(rests, doxa.Revision) and rests.unsupported
        other.restore("kref://p/gone.fact")
        back = other.get("kref://p/gone.fact")
        assert isinstance(back, doxa.Revision) and (back.summary, back.status) == (
            "gone",
            "current",
        )
        assert other.check() == []


def test_a_file_of_the_earlier_layout_is_mended_when_it_is_opened(tmp_path: Path) -> None:
    """There a retired item kept its CURRENT edge, and no atoms were looked up."""
    with Store(tmp_path / "m.db") as store:
        declare(store)
        ledger = Ledger(store, Identity("ana", "operator"))
        for name in ("one", "two"):
            ledger.put(
                doxa.belief.Draft(name, project="p", name=name, facts=(doxa.Fact(name, "is", 1),))
            )
        with store.write(Identity("doxa", "system"), op="as before") as tx:
            tx.set_catalogue(
                "search:Revision",
                {
                    key: value
                    for key, value in tx.catalogue("search:Revision").items()
                    if key != "said"
                },
            )
            item = tx.node_by_kref("kref://p/one.fact")
            assert item is not None
            tx.set_node(item.id, item.props | {"deprecated": True})
        with store.read() as reader:
            assert reader.rows("SELECT count(*) FROM atom") == [(0,)]
    with opened(tmp_path / "m.db", embedder=None, project="p") as memory:
        assert memory.check() == []
        assert memory.run("MATCH (i:Item)-[:CURRENT]->() RETURN i.name AS name").records() == [
            {"name": "two"}
        ]
        assert [loss.says for loss in memory.contract(["two", "is", 1]).losses] == ["two is 1"]
        assert memory.restore("kref://p/one.fact").action == "restored"


def test_by_mcp(memory: doxa.Memory) -> None:
    from doxa.servers.mcp.tools import call

    memory.remember("Ana lives in Oslo", name="ana", facts=[FACT])
    agent = memory.session(actor="bot")
    text, result, wrong = call(
        agent,
        "memory_remember",
        {"text": "Ana lives in Rome", "name": "new", "facts": [["Ana", "lives in", "Rome"]]},
    )
    assert (
        not wrong and result["losses"][0]["kref"] == "kref://p/ana.fact?r=1" and "Retracted" in text
    )
    text, result, wrong = call(agent, "memory_get", {"kref": "kref://p/new.fact", "explain": True})
    assert not wrong and "It replaced" in text and result["explained"]["replaced"]
