"""Records of the runtime: what they say never changes, their states move as their type allows, and
the law holds for every way of writing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.agent import laws
from doxa.agent.records.records import (
    find_record,
    list_records,
    move_record,
    note_record,
    write_record,
)
from doxa.agent.records.types import Record, RecordType
from doxa.app import Memory
from doxa.base.errors import ConflictError, ConstraintError, DoxaError, RoleError
from doxa.base.ids import Role
from doxa.store import Identity

TRIAL = RecordType(
    "trial",
    states={"open": "agent"},
    moves={"open": {"used": "agent", "accepted": "operator"}, "used": {"closed": "agent"}},
    noted_by="agent",
)
ANA, OPERATOR = Identity("ana"), Identity("olga", "operator")


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setitem(laws.RECORD_TYPES, "trial", TRIAL)
    with doxa.open(tmp_path / "m.doxa", role="operator") as opened:
        yield opened


def write(memory: Memory, identity: Identity = ANA, *, agent: str = "ana", **given: str) -> Record:
    state, text = given.get("state", "open"), given.get("text", "Ana asked for tea.")
    with memory.store.write(identity, op="trial") as tx:
        return write_record(
            tx, project="default", agent=agent, kind="trial", name="one", state=state, text=text
        )


def move(memory: Memory, kref: str, state: str, identity: Identity = ANA) -> Record:
    with memory.store.write(identity, op="trial") as tx:
        return move_record(tx, kref, state)


def test_a_record_is_read_as_it_was_written(memory: Memory) -> None:
    made = write(memory)
    assert made.kref == "kref://default/agents/ana/trial/one.record"
    with memory.store.read() as snapshot:
        assert find_record(snapshot, made.kref) == made
        listed = list_records(snapshot, project="default", agent="ana", kind="trial")
    assert listed == [made]
    assert write(memory) == made  # again


def test_other_words_at_the_same_address_are_refused(memory: Memory) -> None:
    write(memory)
    with pytest.raises(ConflictError):
        write(memory, text="Ana asked for coffee.")


def test_a_state_is_taken_once(memory: Memory) -> None:
    kref = write(memory).kref
    assert move(memory, kref, "used").state == "used"
    with (
        pytest.raises(ConflictError),
        memory.store.write(ANA, op="trial") as tx,
    ):
        move_record(tx, kref, "used", expected=("open",))


@pytest.mark.parametrize("state", ["accepted", "closed", "unknown"])
def test_an_agent_makes_no_move_that_is_not_its_own(memory: Memory, state: str) -> None:
    kref = write(memory).kref
    with pytest.raises((RoleError, ConstraintError)):
        move(memory, kref, state)
    with memory.store.read() as snapshot:
        found = find_record(snapshot, kref)
    assert found is not None
    assert found.state == "open"


def test_an_operator_makes_the_move(memory: Memory) -> None:
    assert move(memory, write(memory).kref, "accepted", OPERATOR).state == "accepted"


def test_a_new_record_begins_at_the_beginning(memory: Memory) -> None:
    with pytest.raises(ConstraintError):
        write(memory, state="accepted")


def test_an_agent_writes_under_its_own_name(memory: Memory) -> None:
    with pytest.raises(RoleError):
        write(memory, agent="bob")


def test_an_unknown_type_is_refused(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(laws.RECORD_TYPES, "trial")
    with pytest.raises(ConstraintError):
        write(memory)


def test_notes_change_and_the_rest_does_not(memory: Memory) -> None:
    kref = write(memory).kref
    with memory.store.write(ANA, op="trial") as tx:
        assert note_record(tx, kref, {"shown": 2}).notes == {"shown": 2}
    with pytest.raises(ConstraintError), memory.store.write(OPERATOR, op="trial") as tx:
        node = tx.node_by_kref(kref)
        assert node is not None
        tx.set_node(node.id, dict(node.props) | {"text": "something else"})


@pytest.mark.parametrize(
    "changed",
    [
        {"moved_ns": 1},
        {"moved_ns": 2**62},
        {"moved_by": "olga"},
        {"said": "approved"},
        {"state": "used", "moved_ns": 2**62, "moved_by": "ana"},
        {"state": "used", "moved_by": "olga"},
        {"state": "used"},
    ],
)
@pytest.mark.parametrize("identity", [ANA, OPERATOR])
def test_when_and_by_whom_it_moved_is_not_made_up(
    memory: Memory, changed: dict[str, object], identity: Identity
) -> None:
    kref = write(memory).kref
    with pytest.raises(ConstraintError), memory.store.write(identity, op="trial") as tx:
        node = tx.node_by_kref(kref)
        assert node is not None
        tx.set_node(node.id, dict(node.props) | changed)


def test_a_move_to_the_state_that_it_has_renews_nothing(memory: Memory) -> None:
    kref = write(memory).kref
    move(memory, kref, "used")
    with pytest.raises(ConstraintError):
        move(memory, kref, "used")


def test_when_and_by_whom_it_was_made_is_not_made_up(memory: Memory) -> None:
    held = write(memory)
    for changed in ({"made_ns": 2**62}, {"made_by": "olga"}):
        with pytest.raises(ConstraintError), memory.store.write(ANA, op="trial") as tx:
            node = tx.node_by_kref(held.kref)
            assert node is not None
            kref = held.kref.replace("/one.", "/two.")
            given = dict(node.props) | {"kref": kref, "made_ns": tx.now} | changed
            tx.create_node(("Record",), given)


@pytest.mark.parametrize("identity", [ANA, OPERATOR])
def test_what_a_record_concerns_does_not_change(memory: Memory, identity: Identity) -> None:
    source = memory.session().remember("Ana drinks tea in Lyon.").kref
    other = memory.session().remember("Bob lives in Rome.").kref
    with memory.store.write(ANA, op="trial") as tx:
        made = write_record(
            tx,
            project="default",
            agent="ana",
            kind="trial",
            name="two",
            state="open",
            about=[source],
        )
    with pytest.raises(ConstraintError), memory.store.write(identity, op="trial") as tx:
        node = tx.node_by_kref(made.kref)
        assert node is not None
        for edge in tx.edges_out(node.id, "CONCERNS"):
            tx.delete_edge(edge.id)
    with pytest.raises(ConstraintError), memory.store.write(identity, op="trial") as tx:
        node, end = tx.node_by_kref(made.kref), tx.node_by_kref(other)
        assert node is not None and end is not None
        tx.create_edge("CONCERNS", node.id, dst=end.id)
    for statement in (
        "MATCH (:Record)-[e:CONCERNS]->() DELETE e",
        "MATCH (r:Record), (s:Revision) CREATE (r)-[:CONCERNS]->(s)",
    ):
        with pytest.raises(DoxaError):
            memory.session(actor=identity.actor, role=identity.role).run(statement)


@pytest.mark.parametrize("role", ["agent", "operator"])
@pytest.mark.parametrize(
    "statement",
    [
        "MATCH (r:Record) SET r.state = 'accepted'",
        "MATCH (r:Record) SET r.notes = '{}'",
        "MATCH (r:Record) SET r.text = 'x'",
        "MATCH (r:Record) SET r.content_hash = 'x'",
        "MATCH (r:Record) REMOVE r:Record",
        "MATCH (r:Record) DETACH DELETE r",
        "MATCH (r:Record) CREATE (s:Record) SET s = properties(r)",
        "MATCH (r:Record) REMOVE r.kref",
    ],
)
def test_no_query_changes_a_record(memory: Memory, statement: str, role: Role) -> None:
    kref = write(memory).kref
    with memory.store.read() as snapshot:
        before = find_record(snapshot, kref)
    with pytest.raises(DoxaError):
        memory.session(actor="ana", role=role).run(statement)
    with memory.store.read() as snapshot:
        assert find_record(snapshot, kref) == before


def test_recall_and_the_list_of_beliefs_do_not_see_it(memory: Memory) -> None:
    memory.session().remember("Ana drinks coffee.")
    write(memory, text="Ana drinks tea.")
    found = memory.recall("What does Ana drink? tea", limit=10)
    assert [hit.text for hit in found.hits if "tea" in hit.text] == []


def test_it_is_erased_with_what_it_concerns(memory: Memory) -> None:
    source = memory.session().remember("Ana drinks tea in Lyon.").kref
    with memory.store.write(ANA, op="trial") as tx:
        made = write_record(
            tx,
            project="default",
            agent="ana",
            kind="trial",
            name="two",
            state="open",
            text="tea",
            about=[source],
        )
        second = write_record(
            tx,
            project="default",
            agent="ana",
            kind="trial",
            name="three",
            state="open",
            about=[made.kref],
        )
    memory.forget(source, erase=True)
    with memory.store.read() as snapshot:
        assert find_record(snapshot, made.kref) is None
        assert find_record(snapshot, second.kref) is None


def test_secrets_are_replaced(memory: Memory) -> None:
    secret = "ghp_" + "a1B2" * 9
    assert secret not in write(memory, text=f"the token is {secret}").text
