"""An agent writes beliefs by hand with APOC's procedures: the rules of the store hold for them as
for any write."""

from __future__ import annotations

from pathlib import Path

import pytest

import doxa

ATTACKS = (
    "CALL apoc.merge.node(['Item'], {kref: 'kref://p/forged'}) YIELD node RETURN node",
    "CREATE (n {kref: 'kref://p/forged'}) WITH n"
    " CALL apoc.create.addLabels(n, ['Item']) YIELD node RETURN node",
    "CALL apoc.merge.node(['Revision'], {kref: 'kref://p/forged?r=1'}) YIELD node RETURN node",
    "MATCH (r:Revision) WITH collect(r) AS all"
    " CALL apoc.refactor.mergeNodes(all, {properties: 'overwrite'}) YIELD node RETURN node",
    "MATCH (r:Revision) WITH r LIMIT 1 CREATE (n:Mine {text: 'planted'}) WITH r, n"
    " CALL apoc.refactor.mergeNodes([r, n], {properties: 'overwrite'}) YIELD node RETURN node",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_agent_cannot_write_beliefs_with_apoc(tmp_path: Path, attack: str) -> None:
    with doxa.open(tmp_path / "m.db", embedder=None, role="operator") as memory:
        session = memory.session(actor="bot", role="agent", project="p")
        session.remember("We deploy on Mondays.")
        session.remember("The office is in Oslo.")
        texts = "MATCH (n:Revision) RETURN n.text AS t, labels(n) AS l ORDER BY t"
        with session.graph() as graph:
            held = graph.run(texts).records()
            assert len(held) == 2
            with pytest.raises(doxa.DoxaError):
                graph.run(attack)
            assert graph.run(texts).records() == held
