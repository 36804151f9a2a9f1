"""Proposals change nothing, bundles hold no secrets, and training takes an operator for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.agent.evolution.bundles import digest_of, retention_of
from doxa.agent.records.records import move_record
from doxa.base.clock import NS
from doxa.base.errors import ConflictError, ConstraintError, InputError, RoleError, StoreError
from doxa.store import Identity
from tests.agent.test_spine_ledger import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m.doxa")
    with made.memory:
        yield made


def fail(world: World, failure: str, times: int = 2) -> list[str]:
    made = []
    for _ in range(times):
        world.clock.advance(seconds=1)
        made.append(str(world.ana.outcome("failed", failure_class=failure)["id"]))
    return made


PARTS = {
    "change_type": "tool_hint",
    "target": "bash",
    "expected_effect": "Fewer timeouts.",
    "verification": "Count them.",
    "rollback": "Take it out.",
}


def test_a_proposal_needs_evidence_and_a_way_back(world: World) -> None:
    evidence = fail(world, "timeout")
    made = world.ana.scaffold_propose("Set a limit.", evidence=evidence, **PARTS)  # type: ignore[arg-type]
    assert (made.state, made.evidence) == ("proposed", tuple(evidence))
    for changed in ({"rollback": ""}, {"verification": ""}, {"change_type": "anything"}):
        with pytest.raises(InputError):
            world.ana.scaffold_propose("Set.", evidence=evidence, **PARTS | changed)  # type: ignore[arg-type]
    for wrong in ([], evidence[:1], [evidence[0], evidence[0]]):
        with pytest.raises(ConstraintError):
            world.ana.scaffold_propose("Set more.", evidence=wrong, **PARTS)  # type: ignore[arg-type]


def test_an_operator_decides_by_the_hash_and_nothing_else_changes(world: World) -> None:
    evidence = fail(world, "timeout")
    made = world.ana.scaffold_propose("Set a limit.", evidence=evidence, **PARTS)  # type: ignore[arg-type]
    with pytest.raises(RoleError):
        world.ana.scaffold_decide(made.kref, "accept", content_hash=made.content_hash)
    with pytest.raises(ConstraintError):
        world.olga.scaffold_decide(made.kref, "accept")
    with pytest.raises(ConflictError):
        world.olga.scaffold_decide(made.kref, "accept", content_hash="0" * 64)
    done = world.olga.scaffold_decide(made.kref, "accept", content_hash=made.content_hash)
    assert done.state == "accepted"
    assert world.olga.scaffold_decide(made.kref, "roll_back").state == "rolled_back"
    assert [one.state for one in world.ana.scaffolds()] == ["rolled_back"]
    assert world.ana.scaffolds(states=["proposed"]) == []


def test_the_refiner_names_what_comes_again(world: World) -> None:
    evidence = fail(world, "timeout", 3)
    fail(world, "locked", 1)
    first = world.ana.govern("ordinary_conversation", "Say hello")
    world.ana.outcome("observed", decision=first.kref)
    found = world.ana.refine()
    assert [(one.name, one.of, one.evidence) for one in found.signatures] == [
        ("repeated_failure", "timeout", tuple(evidence))
    ]
    assert found.scores["success"] == pytest.approx(0.2)
    assert found.scores["steadiness"] == pytest.approx(0.6)
    assert found.scores["verification"] == 0
    assert world.ana.scaffolds() == []
    written = world.ana.refine(dry_run=False)
    assert len(written.proposals) == 1
    assert world.ana.refine(dry_run=False).proposals == written.proposals  # not twice
    assert world.ana.scaffolds()[0].state == "proposed"


def test_nothing_to_judge_gets_no_score(world: World) -> None:
    assert world.ana.refine().scores == {}


def test_a_bundle_is_redacted_and_whole(world: World, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    for number in range(2):
        world.clock.advance(seconds=1)
        world.ana.outcome(
            "failed",
            failure_class="timeout",
            observed=f"{number} ana: kim@example.org {secret} banana",
        )
    folder = tmp_path / "bundle"
    with pytest.raises(RoleError):
        world.ana.bundle_export(folder)
    assert not folder.exists()
    with pytest.raises(StoreError):
        world.olga.bundle_export(tmp_path / "nowhere" / "bundle", agent="ana")
    assert not list(world.memory.run("MATCH (r:Record {type: 'research_bundle'}) RETURN r"))
    made = world.olga.bundle_export(folder, agent="ana")
    assert (made.training_approval, made.state, made.rows) == (False, "exported", 2)
    assert made.redactions >= 2
    assert digest_of(folder) == made.manifest_hash
    text = "".join(path.read_text() for path in folder.iterdir())
    for word in (secret, "kim@example.org", '"ana"', " ana:", "kref://"):
        assert word not in text, word
    assert text.count("banana") == 2  # the agent's name is replaced, not a part of a word
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["retention"] == "research_export"
    assert manifest["training_approval"] is False
    row = json.loads((folder / "outcome_event.jsonl").read_text().splitlines()[0])
    assert (row["source"], row["retention"], row["split"]) == ("ledger", "hot", row["split"])
    with pytest.raises(ConflictError):
        world.olga.bundle_export(folder, agent="ana")
    (folder / "outcome_event.jsonl").write_text("{}\n")
    with pytest.raises(ConflictError):
        digest_of(folder)
    with pytest.raises(ConflictError):
        world.olga.bundle_approve(made.kref, made.manifest_hash, folder=folder)
    (folder / "manifest.json").write_text("[]")
    with pytest.raises(StoreError):
        world.olga.bundle_approve(made.kref, made.manifest_hash, folder=folder)
    assert world.olga.bundle_approve(made.kref, made.manifest_hash).training_approval


def test_training_takes_an_operator_for_each_bundle(world: World, tmp_path: Path) -> None:
    fail(world, "timeout")
    first = world.olga.bundle_export(tmp_path / "one", agent="ana")
    world.clock.advance(seconds=1)
    second = world.olga.bundle_export(tmp_path / "two", agent="ana", kinds=["outcome_event"])
    with pytest.raises(RoleError):
        world.ana.bundle_approve(first.kref, first.manifest_hash)
    with pytest.raises(ConflictError):
        world.olga.bundle_approve(first.kref, second.manifest_hash)
    with (
        pytest.raises(ConstraintError),
        world.memory.store.write(Identity("olga", "operator"), op="x") as tx,
    ):
        move_record(tx, first.kref, "training_approved", said="yes")
    assert world.olga.bundle_approve(first.kref, first.manifest_hash).training_approval
    assert world.state(second.kref) == "exported"
    with pytest.raises(InputError):
        world.olga.bundle_export(tmp_path / "three", agent="ana", kinds=["standing_evidence"])


@pytest.mark.parametrize(
    ("kind", "days", "expected"),
    [
        ("outcome_event", 1, "hot"),
        ("outcome_event", 30, "warm"),
        ("outcome_event", 400, "cold"),
        ("standing_evidence", 1, "excluded"),
        ("handoff", 1, "excluded"),
    ],
)
def test_retention_is_by_type_and_age(kind: str, days: int, expected: str) -> None:
    assert retention_of(kind, days * 86_400 * NS) == expected
