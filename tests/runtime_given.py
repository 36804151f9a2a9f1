"""Arguments for the verbs of the agent's runtime, for tests that call every verb: values that are
plausible by themselves, and those of something that exists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doxa.agent.claims.modes import set_modes

STATIC: dict[str, Any] = {
    "candidate": "kref://p/agents/ana/growth_candidate/a.record",
    "content_hash": "0" * 64,
    "nonce": "0" * 32,
    "person": "Kim",
    "claim": "kref://p/agents/ana/claim/a.record",
    "claim_hash": "0" * 64,
    "source_hash": "0" * 64,
    "reason": "It is in the plan",
    "sources": ["file:plan.txt"],
    "user": "Which database does the shop use?",
    "reply": "SQLite.",
    "status": "blocked",
    "since": "2026-01-01",
    "until": "2026-01-02",
    "why": "A test ran",
    "scaffold": "kref://p/agents/ana/scaffold/a.record",
    "packet": "kref://p/agents/ana/lease/a.record",
    "state": "cancelled",
    "objective": "Keep the docs",
    "allowed": ["local_project_edit"],
    "lease": "kref://p/agents/ana/lease/a.record",
    "evidence": "kref://p/agents/ana/standing_evidence/a.record",
    "consumer": "ui_review",
    "change_type": "tool_hint",
    "expected_effect": "Fewer timeouts.",
    "verification": "Count them.",
    "rollback": "Take it out.",
    "bundle": "kref://p/agents/ana/research_bundle/a.record",
    "manifest_hash": "0" * 64,
    "action_class": "local_project_edit",
    "action": "Edit",
    "key": "session-7",
    "call": "reach",
    "outcome": "succeeded",
    "handoff": "kref://p/agents/ana/handoff/a.record",
}


def runtime_given(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    """What a verb of the runtime needs that exists: for an agent's session and an operator's of one
    file."""
    part = next((make for names, make in _MADE if verb.startswith(names)), None)
    return {} if part is None else part(operator, agent, verb, folder)


def _growth(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    if verb == "identity_import":
        folder = folder / "identity"
        folder.mkdir()
        (folder / "SOUL.md").write_text("# SOUL\n\n- I say what I do not know.\n")
        return {"folder": folder}
    if verb == "crystallise_reverse":  # an agent withdraws a candidate of its own
        return {"candidate": agent.growth_propose("I say it in verse.", file="SOUL").kref}
    name = agent.identity.actor
    made = operator.growth_propose("I say what I do not know.", file="SOUL", agent=name)
    found = {"candidate": made.kref, "content_hash": made.content_hash}
    if verb in ("crystallise_plan", "crystallise_approve"):
        return found
    nonce = operator.crystallise_approve(made.kref, made.content_hash).nonce
    return found | {"nonce": nonce}


def _claims(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    with operator.store.write(operator.identity, op="modes") as tx:
        set_modes(tx, {"claims.mode": "enforce"})
    text = "The cellar is dry."
    said = {"text": text, "role": "user", "speaker": "Kim"}
    agent.ingest([said], thread="c", session="c", extract=False)
    [turn] = agent.recent(kinds=("exchange",), limit=1)
    sources = [str(turn.kref)]
    if verb in ("claim_propose", "claim_produce", "claim_report"):
        return {"text": text, "sources": sources, "session": "c"}
    claim = agent.claim_propose(text, sources=sources)
    seen = agent.claim_preview(claim.kref)
    return {"claim": claim.kref, "claim_hash": seen.claim_hash, "source_hash": seen.source_hash}


def _restart(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    if verb != "restart_begin":
        agent.restart_begin("session-7")
    return {}


def _attachments(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    path = folder / "attached.txt"
    path.write_text("The plan of the shop")
    if verb == "attachment_add":
        return {"source": path}
    return {"kref": agent.attachment_add(path).kref}


def _context(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    if verb == "context_withdraw":
        made = operator.window_declare("2026-01-01", "2026-01-02", "A test ran")
        return {"kref": made.kref}
    path = folder / "declared.txt"
    path.write_text("a plan")
    return {"kind": "stat", "path": str(path)}


def _spine(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    kref = agent.lease_grant("Keep the docs", allowed=["local_project_edit"]).kref
    return {"lease": kref, "packet": kref}


def _scaffolds(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    made = [agent.outcome("failed", failure_class="timeout")["id"] for _ in range(2)]
    found = agent.refine(dry_run=False).proposals
    return {"evidence": made, "target": "bash", "scaffold": found[0], "change": "Set a limit."}


def _bundles(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    bundle = operator.bundle_export(folder / "bundle")
    return {"bundle": bundle.kref, "manifest_hash": bundle.manifest_hash}


def _standing(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    operator.standing_in("Kim")
    agent.ingest([{"text": "That was my mistake.", "speaker": "Kim", "role": "user"}])
    agent.standing_update()
    return {"evidence": agent.standing("Kim").trail[0].evidence}


def _handoffs(operator: Any, agent: Any, verb: str, folder: Path) -> dict[str, Any]:
    agent.ingest([{"text": "We deploy on Fridays", "role": "user"}], thread="one", session="one")
    return {"handoff": agent.handoff_write("one", reason="end").kref}


_MADE: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("crystallise_", "identity_import"), _growth),
    (("claim_",), _claims),
    (("restart_",), _restart),
    (("attachment_add", "attachment_show", "attachment_note"), _attachments),
    (("context_withdraw", "verifier_declare"), _context),
    (("lease_end", "packet_move"), _spine),
    (("scaffold_propose", "scaffold_decide"), _scaffolds),
    (("bundle_approve",), _bundles),
    (("standing_appeal",), _standing),
    (("handoff_quarantine",), _handoffs),
)
