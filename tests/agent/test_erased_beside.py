"""An erasure and its proof reach what the agent's runtime keeps: records of each part, and every
file next to the memory or outside of it into which doxa wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doxa.agent.claims.modes import set_modes
from doxa.agent.continuity import metrics
from doxa.app import Memory, Session
from doxa.base.files.places import agents_folder, hooks_folder, imports_folder, signals_folder
from doxa.maintenance.erasure_proof import ErasureProof
from tests.agent.continuity_help import opened, say

WORD = "marzipan"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path / "m.db") as made:
        yield made


@pytest.fixture
def ana(memory: Memory) -> Session:
    return memory.session(role="agent", actor="ana")


def places(proof: ErasureProof) -> list[str]:
    return [one.place for one in proof.traces if one.state != "gone"]


def erased(memory: Memory) -> ErasureProof:
    token = memory.erase(text=WORD, preview=True).token
    memory.erase(text=WORD, confirm=token)
    return memory.verify_erased(WORD)


def _archived(memory: Memory, ana: Session, folder: Path) -> None:
    say(ana, "one", f"My code word is {WORD}.", "I see.")
    ana.session_open("one")
    ana.handoff_write("one", reason="switch")
    ana.archive_write()


def _observed(memory: Memory, ana: Session, folder: Path) -> None:
    say(ana, "one", f"No, that is wrong: it is {WORD}!", "I see.")
    turn = ana.exchange_list()[0].turns[0].kref
    ana.metabolise(f"No, that is wrong: it is {WORD}!", "I see.", session="one", about=[turn])


def _attached(memory: Memory, ana: Session, folder: Path) -> None:
    made = ana.attachment_add(f"The word is {WORD}.".encode(), name="note.txt")
    ana.attachment_note(made.kref, f"It says {WORD}.")


def _indexed(memory: Memory, ana: Session, folder: Path) -> None:
    work = folder / "work"
    work.mkdir()
    (work / "a.md").write_text(f"# Words\n\nThe code word is {WORD}.\n")
    memory.knowledge_root(work, agent="ana")
    ana.knowledge_index(work)
    assert ana.knowledge_recall(f"code word {WORD}")


def _claimed(memory: Memory, ana: Session, folder: Path) -> None:
    with memory.store.write(memory.identity, op="modes") as tx:
        set_modes(tx, {"claims.mode": "enforce"})
    say(ana, "one", f"The code word is {WORD}.", "I see.")
    made = ana.claim_propose(f"The code word is {WORD}.", sources=["transcript:one#m1"])
    seen = memory.claim_preview(made.kref)
    hashes = {"claim_hash": seen.claim_hash, "source_hash": seen.source_hash}
    memory.claim_decide(made.kref, "accept", reason=f"It is {WORD}.", **hashes)


def _decided(memory: Memory, ana: Session, folder: Path) -> None:
    lease = ana.lease_grant(f"Look for {WORD}", allowed=["read_only_investigation"])
    ana.govern("read_only_investigation", f"look for {WORD}", target=WORD)
    ana.outcome("failed", lease=lease.kref, observed=WORD, failure_class="timeout")


def _grown(memory: Memory, ana: Session, folder: Path) -> None:
    made = ana.growth_propose(f"I answer to the word {WORD}.", file="SOUL")
    memory.crystallise_reverse(made.kref, reason=f"not {WORD}")


WAYS: tuple[Callable[[Memory, Session, Path], None], ...] = (
    _archived,
    _observed,
    _attached,
    _indexed,
    _claimed,
    _decided,
    _grown,
)


@pytest.mark.parametrize("write", WAYS, ids=lambda one: one.__name__[1:])
def test_what_a_part_of_the_runtime_kept_is_erased(
    memory: Memory, ana: Session, tmp_path: Path, write: Callable[..., None]
) -> None:
    write(memory, ana, tmp_path)
    before = memory.verify_erased(WORD)
    assert not before.erased
    proof = erased(memory)
    assert proof.erased, places(proof)
    assert memory.check() == []


def _identity(memory: Memory, folder: Path) -> Path:
    made = memory.growth_propose(f"I answer to the word {WORD}.", file="SOUL", agent="ana")
    seen = memory.crystallise_approve(made.kref, made.content_hash)
    memory.crystallise_apply(made.kref, seen.nonce)
    memory.identity_export(folder / "identity", agent="ana")
    return folder / "identity" / "SOUL.md"


def test_an_exported_identity_is_a_copy(memory: Memory, tmp_path: Path) -> None:
    """Its files lie outside of the memory: an erasure does not reach them, and the proof names
    them."""
    path = _identity(memory, tmp_path)
    proof = erased(memory)
    assert (proof.erased, proof.complete) == (True, False)
    assert places(proof) == [f"export {path}"]
    path.unlink()
    assert not memory.verify_erased(WORD).complete  # gone from there; it may be elsewhere


def test_a_kept_file_of_somebody_else_is_a_copy_too(memory: Memory, tmp_path: Path) -> None:
    path = _identity(memory, tmp_path)
    path.write_text(f"- Somebody wrote {WORD} by hand.\n")
    (kept,) = memory.identity_export(path.parent, agent="ana", replace=True).kept
    assert f"export {kept}" in places(memory.verify_erased(WORD))


def test_a_research_bundle_is_looked_into(memory: Memory, ana: Session, tmp_path: Path) -> None:
    """A bundle is a folder: the proof looks into each of its files."""
    said = ana.govern("read_only_investigation", "look it up")
    ana.outcome("review_requested", decision=said.kref, observed=f"The word is {WORD}.")
    memory.bundle_export(tmp_path / "bundle", agent="ana")
    proof = erased(memory)
    assert proof.erased
    assert places(proof) == [f"export {tmp_path / 'bundle' / 'outcome_event.jsonl'}"]


@pytest.mark.parametrize(
    "place",
    [
        lambda path: signals_folder(path) / "default" / "ana.jsonl",
        lambda path: signals_folder(path) / "default" / "ana.jsonl.former",
        lambda path: agents_folder(path) / "ana" / "archive" / "2023-11-14.jsonl",
        lambda path: agents_folder(path) / "hooks.jsonl",
        lambda path: agents_folder(path) / "hooks.old.jsonl",
        lambda path: hooks_folder(path) / "spool.jsonl",
        lambda path: imports_folder(path) / "x",
    ],
)
def test_the_proof_looks_into_every_file_next_to_the_memory(
    memory: Memory, ana: Session, tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    say(ana, "one", "Hello.", "I see.")
    ana.metabolise("Hello.", "I see.")
    ana.archive_write()
    metrics.note(agents_folder(tmp_path / "m.db"), "prompt", 1.0)
    assert memory.verify_erased(WORD).erased
    path = place(tmp_path / "m.db")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f'{{"event": "{WORD}"}}\n')
    assert places(memory.verify_erased(WORD)) == [str(path)]


def test_the_log_of_turns_loses_its_digests(memory: Memory, ana: Session, tmp_path: Path) -> None:
    _observed(memory, ana, tmp_path)
    log = signals_folder(tmp_path / "m.db") / "default" / "ana.jsonl"
    assert b'"w":[' in log.read_bytes()
    erased(memory)
    assert b'"w":[' not in log.read_bytes()
    assert len(ana.signals()) == 1
