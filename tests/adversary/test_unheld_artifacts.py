"""Artifacts without a revision: no query and no undo leaves one, and doctor
says how a file of an older version is repaired."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.clock import FakeClock
from doxa.base.errors import ConstraintError, DoxaError
from doxa.base.ids import EdgeId
from doxa.store import Transaction, check
from tests.fixtures_shared import opened

ITEM = "kref://default/x.fact"
NAME = "v1.2_final.pdf"
AT = f"{ITEM}?r=1&a={NAME}"
HELD = "MATCH (r:Revision)-[e:HAS_ARTIFACT]->(a:Artifact) "


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with opened(tmp_path / "a.db", clock=FakeClock(), embedder=None) as memory:
        memory.remember("the contract is signed", name="x")
        memory.attach(ITEM, NAME, location="files/x.pdf")
        memory.revise(ITEM, "the contract is void")
        yield memory


def take_its_edge(tx: Transaction) -> None:
    (edge,) = [row[0] for row in tx.rows("SELECT id FROM edge WHERE type = 'HAS_ARTIFACT'")]
    tx.delete_edge(EdgeId(edge))


@pytest.mark.parametrize("role", ["agent", "operator"])
@pytest.mark.parametrize(
    "query",
    [
        HELD + "DELETE e",
        HELD + "FOREACH (one IN [e] | DELETE one) CREATE (r)-[:ABOUT]->(a)",
        HELD + "DELETE e CREATE (:Note)-[:HAS_ARTIFACT]->(a)",
        HELD + "DELETE e CREATE (:Artifact)<-[:HAS_ARTIFACT]-(r)",
        HELD + "CALL (e) { DELETE e } IN TRANSACTIONS",
        HELD + "DETACH DELETE r",
        HELD + "REMOVE a:Artifact",
        HELD + "CREATE (n:Note) WITH n, r CALL apoc.refactor.mergeNodes([n, r]) YIELD node"
        " RETURN node",
        "MATCH (i:Item) SET i.location = 'here', i:Artifact",
    ],
)
def test_no_query_leaves_one(memory: doxa.Memory, role: doxa.Role, query: str) -> None:
    before = memory.log(limit=1)
    with pytest.raises(DoxaError):
        memory.session(actor="bot", role=role).run(query)
    assert memory.log(limit=1) == before
    assert memory.check() == []


@pytest.mark.parametrize("role", ["agent", "operator", "system"])
def test_no_transaction_leaves_one(memory: doxa.Memory, role: doxa.Role) -> None:
    with (
        pytest.raises(ConstraintError, match="lies in nothing") as caught,
        memory.store.write(memory.identity._replace(role=role), op="x") as tx,
    ):
        take_its_edge(tx)
    assert caught.value.next_step
    with (
        pytest.raises(ConstraintError, match="lies in nothing"),
        memory.store.write(memory.identity._replace(role="system"), op="x") as tx,
    ):
        props = {"kref": f"{ITEM}?r=1&a=y", "name": "y", "location": "y"}
        tx.create_node(("Artifact",), props)
    assert memory.check() == []


def test_one_goes_with_its_edge_and_comes_back_with_it(memory: doxa.Memory) -> None:
    memory.run(HELD + "DETACH DELETE a")
    gone = memory.log(limit=1)[0].tx
    assert memory.check() == []
    memory.undo(gone)
    assert memory.check() == []
    assert memory.get(AT)


def test_its_edge_is_exchanged_in_one_transaction(memory: doxa.Memory) -> None:
    memory.run(HELD + "DELETE e CREATE (r)-[:HAS_ARTIFACT {why: 'again'}]->(a)")
    exchanged = memory.log(limit=1)[0].tx
    assert memory.check() == []
    memory.undo(exchanged)
    assert memory.check() == []
    assert memory.get(AT)


def test_doctor_says_how_a_file_of_before_is_mended(memory: doxa.Memory) -> None:
    with memory.store.write(memory.identity, op="cypher") as tx:
        take_its_edge(tx)
        tx._unheld.clear()  # as transactions of older versions
    assert [one for one in check(memory.store) if "lies in nothing" in one]
    memory.remember("others write on", name="y")  # what was so before refuses nobody
    (found,) = [one for one in memory.doctor() if one.name == "invariants"]
    assert not found.ok
    assert "backup" not in found.next_step
    memory.run(found.next_step[found.next_step.index("MATCH") :])
    joined = memory.log(limit=1)[0].tx
    assert memory.check() == []
    assert memory.get(AT)
    with pytest.raises(ConstraintError, match="lies in nothing"):
        memory.undo(joined)
    assert memory.check() == []


def test_doctor_says_how_a_taken_address_is_freed(memory: doxa.Memory) -> None:
    memory.run("CREATE (:Foo {n: 1})")
    memory.store._engine.connection().execute(
        'UPDATE node SET props = jsonb(\'{"kref": "kref://gamma"}\') WHERE id ='
        " (SELECT node FROM node_label WHERE label = 'Foo')"
    )
    (found,) = [one for one in memory.doctor() if one.name == "invariants"]
    assert "takes the address kref://gamma" in found.detail
    memory.run(found.next_step[found.next_step.index("MATCH") :])
    assert memory.check() == []
    memory.remember("gamma rays", name="x", project="gamma")


def test_what_no_query_mends_leads_to_the_backup(memory: doxa.Memory) -> None:
    """A query that repairs one finding is not the next step where another is damage."""
    db = memory.store._engine.connection()
    db.execute("DELETE FROM edge WHERE type IN ('HAS_ARTIFACT', 'CURRENT')")
    (found,) = [one for one in memory.doctor() if one.name == "invariants"]
    assert "lies in nothing" in found.detail
    assert "backup" in found.next_step
