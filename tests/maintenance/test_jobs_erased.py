"""Erasing reaches what background jobs noted: reasons of proposals, what a model or person
added to them, and the reports and errors of runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.belief import Ledger
from doxa.belief.types import Draft
from doxa.jobs import begin
from doxa.language.turns import Turn

CANARY = "quokkavelodrome"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    config = Config(path=tmp_path / "m.doxa", clock=FakeClock(), embedder=None, role="operator")
    with Memory(config) as opened:
        yield opened


def _noted(memory: Memory) -> tuple[str, str, str]:
    """A run that notes a text about a belief wherever it can: (belief, run, proposal)."""
    memory.ingest([Turn("t", "s", "Ann", "user", f"I ride at the {CANARY}.", None, "a")])
    with memory.store.read() as reader:
        turn = str(max(reader.labelled("Exchange"), key=lambda node: node.id).props["kref"])
    with begin(memory.store, "test", project="default", model="fake") as run:
        with run.write():
            draft = Draft(f"Ann rides at the {CANARY}.", name="rides", trust="inferred")
            Ledger(memory.store, run.identity).put(draft, links=[("DERIVED_FROM", turn)])
        kref = "kref://default/rides.fact"
        proposal = run.propose(
            "relation",
            f"It is about the {CANARY}.",
            about=[kref],
            action={"do": "relate", "from": kref, "to": turn, "why": f"the {CANARY}"},
        )
        run.finish({}, report=f"# Report\n\nThe {CANARY} was looked at.", error=f"no {CANARY}")
    memory.reject(proposal, reason=f"the {CANARY} is closed")
    return kref, run.kref, proposal


def _assert_gone(memory: Memory) -> None:
    proof = memory.verify_erased(CANARY)
    assert proof.erased, proof
    memory.verify()


def _assert_there(memory: Memory) -> None:
    assert not memory.verify_erased(CANARY).erased


def test_a_text_is_erased_from_proposals_and_runs(memory: Memory) -> None:
    _noted(memory)
    _assert_there(memory)
    shown = memory.erase(text=CANARY, preview=True)
    memory.erase(text=CANARY, confirm=shown.token)
    _assert_gone(memory)
    memory.proposals(state="")  # what is left of them can be read
    memory.runs()


def test_what_concerns_an_erased_belief_goes_with_it(memory: Memory) -> None:
    _, _, proposal = _noted(memory)
    shown = memory.forget("kref://default", erase=True, preview=True)
    memory.forget("kref://default", erase=True, confirm=shown.token)
    _assert_gone(memory)
    assert proposal not in [one.kref for one in memory.proposals(state="")]


def test_a_purge_of_a_source_reaches_what_was_concluded_and_proposed(memory: Memory) -> None:
    _noted(memory)
    source = "kref://default/conversations/t.thread"
    shown = memory.purge(source, preview=True)
    memory.purge(source, confirm=shown.token)
    _assert_gone(memory)
    memory.runs()


def test_a_proposal_about_a_name_goes_with_its_turns(memory: Memory) -> None:
    names = [f"I met Quokka Velodrome on day {number}." for number in range(5)]
    memory.ingest(
        [Turn("t", "s", "Ann", "user", text, None, f"{n}") for n, text in enumerate(names)]
    )
    memory.dream(all_kinds=True)
    assert "Quokka Velodrome" in memory.proposals()[0].reason
    shown = memory.forget("kref://default/conversations", erase=True, preview=True)
    memory.forget("kref://default/conversations", erase=True, confirm=shown.token)
    assert memory.proposals(state="") == []
    assert memory.verify_erased("Quokka Velodrome").erased
