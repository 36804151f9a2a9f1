"""No agent retracts what an operator verified, by whatever verb or query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.errors import DoxaError, RoleError
from tests.fixtures_shared import opened

K = "kref://p/home.fact"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with opened(tmp_path / "m.db", embedder=None, project="p") as made:
        made.remember("Ana lived in Oslo", name="home")
        made.remember(
            "Ana lives in Rome", name="home", facts=[("Ana", "lives in", "Rome")], trust="verified"
        )
        yield made
        assert made.check() == []


def test_an_agent_cannot_end_it(memory: doxa.Memory) -> None:
    agent = memory.session(actor="bot")
    calls: tuple[Callable[[], object], ...] = (
        lambda: agent.deprecate(K),
        lambda: agent.contract(K),
        lambda: agent.contract(K + "?r=2"),
        lambda: agent.contract(["Ana", "lives in", "Rome"]),
        lambda: agent.contract(K, fact=("Ana", "lives in", "Rome")),
        lambda: agent.rollback(K + "?r=1"),
        lambda: agent.tag(K + "?r=1", "current"),
        lambda: agent.untag(K, "current"),
        lambda: agent.undo(memory.log(limit=1)[0].tx),
        lambda: agent.forget(K),
        lambda: agent.run("MATCH (:Item)-[e:CURRENT]->(:Revision) DELETE e"),
        lambda: agent.run(
            "MATCH (i:Item)-[e:CURRENT]->(), (i)-[:HAS_REVISION]->(r {number: 1}) DELETE e CREATE"
            " (i)-[:CURRENT]->(r)"
        ),
    )
    for call in calls:
        with pytest.raises((RoleError, DoxaError)) as caught:
            call()
        assert "operator" in str(caught.value)
        held = memory.get(K)
        assert isinstance(held, doxa.Revision) and (held.summary, held.status) == (
            "Ana lives in Rome",
            "current",
        )
    for stating in (
        lambda: agent.revise(K, "Ana lives in Bonn"),
        lambda: agent.revise(["Ana", "lives in", "Bonn"]),
        lambda: agent.tell("Ana now lives in Lyon"),
        lambda: agent.supersede(K, "Ana lives in Nice", name="other"),
        lambda: agent.remember("Ana is in Kiel", name="home").change,
    ):
        assert stating().action == "challenged"
        held = memory.get(K)
        assert isinstance(held, doxa.Revision) and (held.summary, held.status) == (
            "Ana lives in Rome",
            "current",
        )
    memory.deprecate(K)


def test_an_agent_cannot_make_it(memory: doxa.Memory) -> None:
    agent = memory.session(actor="bot")
    made = agent.remember("It rains", name="rain")
    with pytest.raises(RoleError):
        agent.remember("It rains hard", name="rain", trust="verified")
    props = (
        "{kref: $kref + '?r=2', project: 'p', space: '', kind: 'fact', summary: 'x', trust:"
        " 'verified', author: 'b', "
    )
    props += "number: 2, time: 1, confidence: 1.0}"
    text = (
        "MATCH (i:Item {kref: $kref})-[e:CURRENT]->() DELETE e CREATE"
        f" (i)-[:HAS_REVISION]->(r:Revision {props}), (i)-[:CURRENT]->(r)"
    )
    with pytest.raises(DoxaError, match="written by doxa alone"):
        agent.run(text, {"kref": made.kref.partition("?")[0]})
