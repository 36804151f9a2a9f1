"""What consolidation made of a turn, by each way of erasing it: no words of it stay in the file,
and the next run makes what remains again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doxa import Memory
from doxa.base.clock import parse_time
from doxa.base.errors import DoxaError
from doxa.consolidation.waiting import waiting_units
from doxa.jobs import list_runs, undo_run
from doxa.language.turns import Turn
from doxa.store import Identity
from tests.fixtures_shared import opened

SECRET = "My sister Zqxcanary lives in Lisbon now."
LINES = (
    "I moved the backups to another disk in Ulm this morning.",
    SECRET,
    "We decided to use PostgreSQL 16 for the new cluster.",
    "The disk of db-2 was full on Monday.",
)
ANN = Identity("ann", "operator")


def say(memory: Memory, *texts: str, session: str, day: str) -> None:
    started = parse_time(f"{day}T10:00:00Z", field="time")
    memory.ingest(
        [
            Turn("ops", session, "Ana", "person", text, started + number * 60 * 10**9, "")
            for number, text in enumerate(texts)
        ],
        extract=False,
    )


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with opened(tmp_path / "m.db", project="shop", embedder=None) as held:
        say(held, *LINES, session="s1", day="2026-03-03")
        say(held, "I sold the bikes in Graz.", session="s2", day="2026-03-03")
        say(held, "I rented a garage in Bonn.", session="s3", day="2026-03-05")
        held.consolidate()
        yield held


def turn_of(memory: Memory, text: str = SECRET) -> str:
    with memory.store.read() as reader:
        (kref,) = (
            str(node.props["kref"])
            for node in reader.labelled("Exchange")
            if node.props["text"] == text
        )
    return kref


def believed(memory: Memory) -> dict[str, str]:
    with memory.store.read() as reader:
        nodes = reader.labelled("Revision")
        return {str(node.props["kref"]): str(sorted(node.props.items())) for node in nodes}


def summaries(memory: Memory) -> dict[str, str]:
    return {kref: said for kref, said in believed(memory).items() if ".summary" in kref}


def assert_gone(memory: Memory) -> None:
    for text in (SECRET, "Zqxcanary", "zqxcanary", "Lisbon"):
        proof = memory.verify_erased(text)
        assert proof.erased, [one for one in proof.traces if one.state != "gone"]
        assert proof.words == () or text == SECRET
    memory.verify()
    assert all(check.ok for check in memory.doctor())
    assert memory.check() == []


def by_forgetting(memory: Memory) -> Any:
    turn = turn_of(memory)
    seen = memory.forget(turn, erase=True, preview=True)
    return memory.forget(turn, erase=True, confirm=seen.token)


def by_purging(memory: Memory) -> Any:
    turn = turn_of(memory)
    seen = memory.purge(turn, preview=True)
    assert not seen.note
    return memory.purge(turn, confirm=seen.token)


def by_text(memory: Memory) -> Any:
    seen = memory.erase(text=SECRET, preview=True)
    return memory.erase(text=SECRET, confirm=seen.token)


@pytest.mark.parametrize("erase", [by_forgetting, by_purging, by_text])
def test_what_runs_concluded_goes_with_a_turn_and_is_made_anew(
    memory: Memory, erase: Callable[[Memory], Any]
) -> None:
    before = believed(memory)
    quoting = {kref for kref, said in before.items() if "Zqxcanary" in said}
    assert len(quoting) >= 3  # its own item, the session, the day or week
    done = erase(memory)
    assert {kref.partition("?")[0] for kref in quoting} <= {
        kref.partition("?")[0] for kref in done.krefs
    }
    assert_gone(memory)
    kept = {kref for kref in believed(memory) if ".summary" not in kref}
    assert kept  # what is drawn from other turns
    with memory.store.read() as reader:
        units = waiting_units(reader, "shop", role=memory.identity.role, limit=9).units
    assert [unit.session for unit in units] == ["s1"]
    (result,) = memory.consolidate().sessions
    assert (result.status, result.turns) == ("done", 3)
    made = summaries(memory)
    assert {kref.partition("?")[0] for kref in made} == {
        kref.partition("?")[0] for kref in before if ".summary" in kref
    }
    assert "PostgreSQL" in made[f"{result.kref}?r=1"]
    assert kept <= set(believed(memory))
    assert_gone(memory)
    assert memory.consolidate().status in ("empty", "unchanged")


def test_the_preview_names_what_goes_and_its_token_is_needed(memory: Memory) -> None:
    turn = turn_of(memory)
    seen = memory.forget(turn, erase=True, preview=True)
    assert seen.count == len(seen.krefs) >= 4
    assert turn in seen.krefs
    assert any("-session-s1-" in kref for kref in seen.krefs)
    assert not any("-session-s2-" in kref for kref in seen.krefs)
    with pytest.raises(DoxaError, match="elements"):
        memory.forget(turn, erase=True)
    assert memory.forget(turn, preview=True).count == 1  # retiring leaves conclusions alone


def test_an_undo_does_not_bring_it_back(memory: Memory) -> None:
    by_forgetting(memory)
    with memory.store.read() as reader:
        runs = [run.kref for run in list_runs(reader)]
    for run in runs:
        try:
            undo_run(memory.store, ANN, run)
        except DoxaError as error:
            assert "erased" in error.message or "later" in error.message, error.message
    assert_gone(memory)


def test_what_a_run_had_concluded_before_it_was_undone_goes_too(memory: Memory) -> None:
    with memory.store.read() as reader:
        runs = [run.kref for run in list_runs(reader)]
    for run in runs:
        undo_run(memory.store, ANN, run)
    assert any("Zqxcanary" in said for said in believed(memory).values())
    by_forgetting(memory)
    assert_gone(memory)


def test_a_thread_takes_all_that_was_concluded_from_it(memory: Memory) -> None:
    thread = "kref://shop/conversations/ops.thread"
    seen = memory.forget(thread, erase=True, preview=True)
    memory.forget(thread, erase=True, confirm=seen.token)
    assert believed(memory) == {}
    assert_gone(memory)


def test_an_older_revision_and_what_somebody_made_of_it_go_with_the_item(memory: Memory) -> None:
    say(memory, "I bought four chairs in Kiel.", session="s1", day="2026-03-03")
    memory.consolidate()
    held = next(k for k, said in believed(memory).items() if ".summary" not in k
                and "Zqxcanary" in said)  # fmt: skip
    memory.revise(held.partition("?")[0], "Zqxcanary is in Lisbon, I asked her.")
    by_forgetting(memory)
    assert_gone(memory)
    memory.consolidate()
    assert any("Kiel" in said for said in summaries(memory).values())


def test_what_somebody_stated_from_a_turn_stays(memory: Memory) -> None:
    turn = turn_of(memory)
    note = memory.remember("Her sister moved south.", kind="note", derived_from=[turn]).change.kref
    by_forgetting(memory)
    assert memory.get(note.partition("?")[0]) is not None
    assert_gone(memory)
