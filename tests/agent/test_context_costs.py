"""What the assembly of a context reads: counts of statements, not times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.agent.attachments.types import TEXT, USE
from doxa.agent.context import vouching
from doxa.agent.context.vouching import BELIEF_KINDS, vouched
from doxa.agent.records.records import write_record
from doxa.app import Memory
from doxa.base.errors import ConstraintError
from doxa.store import Identity
from tests.fixtures_shared import opened

BELIEFS = 100
STATEMENTS_MAX = 40  # for a hundred beliefs; halving for each of them took about 700


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db", embedder=None, actor="olga") as held:
        yield held


def test_beliefs_of_an_operator_are_looked_up_together(memory: Memory) -> None:
    for number in range(BELIEFS):
        memory.remember(f"Lamp {number} is on", name=f"lamp{number}")
        memory.remember(f"Door {number} is shut", name=f"door{number}")
    hits = memory.recent(kinds=BELIEF_KINDS, limit=BELIEFS)
    counted = [0]

    def count(*_: object) -> bool:
        counted[0] += 1
        return True

    with memory.store.read() as reader:
        reader.rows("SELECT 1")
        reader._db.exec_trace = count
        found = vouched(reader, hits)
        reader._db.exec_trace = None
    assert found == hits
    assert 0 < counted[0] <= STATEMENTS_MAX


@pytest.mark.parametrize("at_once", [1, 2, 64, 10_000])
def test_receipts_are_found_whatever_is_read_at_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(vouching, "_READ_AT_ONCE", at_once)
    agent = memory.session(actor="ana", role="agent")
    stated = []
    for number in range(40):
        who = memory if number % 3 else agent
        made = who.remember(f"Lamp {number} is on", name=f"lamp{number}")
        stated += [made.kref] if number % 3 else []
    hits = memory.recent(kinds=BELIEF_KINDS, limit=BELIEFS)
    with memory.store.read() as reader:
        found = {hit.kref for hit in vouched(reader, hits)}
    assert found == {str(kref) for kref in stated}


def test_exchanges_are_not_looked_through_without_an_earlier_conversation(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.ingest([{"text": "The lamp is on.", "role": "user", "speaker": "user"}])
    session = memory.session(actor="ana", role="agent")
    read: list[tuple[str, ...]] = []
    recent = session.recent

    def noted(**given: object) -> object:
        read.append(given["kinds"])  # type: ignore[arg-type]
        return recent(**given)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "recent", noted)
    session.context_assemble("Is the lamp on?")
    assert read == [BELIEF_KINDS]
    session.context_assemble("Is the lamp on?", since="2020-01-01")
    assert ("exchange",) in read


@pytest.mark.parametrize("kind", [TEXT, USE])
def test_a_record_of_an_attachment_has_what_its_readers_read(memory: Memory, kind: str) -> None:
    state = {TEXT: "read", USE: "noted"}[kind]
    with (
        pytest.raises(ConstraintError, match="would say nothing of its"),
        memory.store.write(Identity("ana", "agent"), op="test") as tx,
    ):
        write_record(
            tx, project="default", agent="ana", kind=kind, name="one", state=state, data={}
        )
