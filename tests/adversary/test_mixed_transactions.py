"""What is written by hand and a verb in one transaction: the verb settles support at its end, and
the check before the commit still looks at what was written before it, and at every record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.agent import laws
from doxa.agent.records.records import find_record, move_record, write_record
from doxa.agent.records.types import RecordType
from doxa.app import Memory
from doxa.base.errors import ConflictError, ConstraintError, RoleError
from doxa.base.ids import Role
from doxa.belief import Ledger
from doxa.store import Identity, digest
from tests.fixtures_shared import opened

TRIAL = RecordType("trial", {"open": "agent"}, {"open": {"accepted": "operator"}})
_BELIEVED_TWICE = (
    "MATCH (i:Item {name: 'rome'})-[:HAS_REVISION]->(r) CREATE (i)-[:CURRENT]->(r) WITH i"
    " CALL doxa.remember('The moon is far') YIELD kref RETURN kref"
)
_HALF_RETIRED = (
    "MATCH (i:Item {name: 'oslo'})-[e:CURRENT]->() DELETE e SET i.deprecated = true WITH i"
    " CALL doxa.remember('The moon is far') YIELD kref MATCH (i)-[:HAS_REVISION]->(r)"
    " CREATE (i)-[:CURRENT]->(r) RETURN kref"
)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setitem(laws.RECORD_TYPES, "trial", TRIAL)
    with opened(tmp_path / "m.db", embedder=None, project="p", actor="olga") as made:
        made.constrain({"functional": ["lives in"]})
        for name, city in (("rome", "Rome"), ("oslo", "Oslo")):
            made.remember(f"Ana lives in {city}", name=name, facts=[("Ana", "lives in", city)])
        yield made


@pytest.mark.parametrize("role", ["agent", "operator"])
def test_no_verb_covers_what_a_query_wrote_before_it(memory: Memory, role: Role) -> None:
    """It once did: both homes of Ana were believed."""
    before = digest(memory.store)
    session = memory.session(actor="eve", role=role)
    with pytest.raises((ConflictError, ConstraintError, RoleError)):
        session.run(_BELIEVED_TWICE).records()
    with pytest.raises((ConflictError, ConstraintError, RoleError)):
        session.run(_HALF_RETIRED).records()
    assert digest(memory.store) == before


def test_no_operation_covers_a_move_of_a_record(memory: Memory) -> None:
    """It once did: what an agent moved inside an operation met no law."""
    ana = Identity("ana")
    with memory.store.write(ana, op="trial") as tx:
        kref = write_record(tx, project="p", agent="ana", kind="trial", name="a", state="open").kref
    with pytest.raises(RoleError), Ledger(memory.store, ana).write("trial") as work:
        move_record(work.tx, kref, "accepted")
    session = memory.session(actor="ana")
    with pytest.raises(RoleError), memory.store.write(ana, op="trial") as tx:
        move_record(tx, kref, "accepted")
        with memory.store.joined(tx):
            session.remember("The sun is near")
    with pytest.raises(ConstraintError), Ledger(memory.store, ana).write("trial") as work:
        write_record(work.tx, project="p", agent="ana", kind="other", name="b", state="open")
    with memory.store.read() as snapshot:
        found = find_record(snapshot, kref)
    assert found is not None
    assert found.state == "open"
