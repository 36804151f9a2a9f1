"""The contracts of the eleven consumers, rule by rule, and over every combination of inputs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import get_args

import pytest

from doxa.agent.spine.consumers import CONTRACTS, PRIVACY, RISKS, RecordView, UseContext, eligible
from doxa.agent.spine.packets import PACKETS, Consumer

HERE = UseContext("ana", "shop", now_ns=1_000)
GOOD = RecordView(
    "state_record", "active", "ana", ("shop",), evidence="source_quote", sources=("kref://shop/t",),
    allowed=frozenset(("context_injection",)), expires_ns=2_000, privacy="project", risk="low",
)  # fmt: skip
EVERY = tuple(CONTRACTS)


def test_there_are_eleven_and_each_has_a_contract() -> None:
    assert set(CONTRACTS) == set(get_args(Consumer))
    assert len(CONTRACTS) == 11


def test_the_good_record_reaches_a_prompt() -> None:
    assert eligible("context_injection", GOOD, HERE).allowed


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"status": "candidate"}, "status"),
        ({"status": "retired"}, "status"),
        ({"kind": "memory"}, "kind"),
        ({"kind": "outcome_event"}, "kind"),
        ({"kind": "governor_decision"}, "kind"),
        ({"allowed": frozenset()}, "not_allowed"),
        ({"prohibited": frozenset(("context_injection",))}, "prohibited"),
        ({"agent": "bob"}, "agent"),
        ({"projects": ("bank",)}, "project"),
        ({"expires_ns": 1_000}, "freshness"),
        ({"volatile": True, "expires_ns": None}, "freshness"),
        ({"evidence": "generated_summary"}, "evidence"),
        ({"evidence": "hypothesis"}, "evidence"),
        ({"sources": ()}, "evidence"),
        ({"privacy": "secret"}, "privacy"),
        ({"privacy": "whatever"}, "privacy"),
        ({"risk": "medium"}, "injection_risk"),
        ({"risk": "blocked"}, "injection_risk"),
        ({"risk": "whatever"}, "injection_risk"),
    ],
)
def test_each_rule_alone_keeps_a_record_out_of_a_prompt(
    changed: dict[str, object], reason: str
) -> None:
    found = eligible("context_injection", replace(GOOD, **changed), HERE)  # type: ignore[arg-type]
    assert not found.allowed
    assert reason in found.reasons


def test_the_place_limits_privacy() -> None:
    for have, may in product(PRIVACY, PRIVACY):
        context = replace(HERE, privacy_max=may)
        found = eligible("context_injection", replace(GOOD, privacy=have), context)
        assert found.allowed == (PRIVACY.index(have) <= PRIVACY.index(may))


VIEWS = [
    replace(
        GOOD,
        kind=kind,
        status=status,
        allowed=frozenset(EVERY),
        risk=risk,
        in_force=force,
        expires_ns=expires,
        evidence=evidence,
    )
    for kind, status, risk, force, expires, evidence in product(
        (*PACKETS, "memory"),
        ("candidate", "current_state", "active", "verified", "retired", "accepted", "applied",
         "approved", "decided", "consumed", "observed", "failed"),
        RISKS,
        (False, True),
        (1, 2_000),
        ("source_quote", "hypothesis"),
    )
]  # fmt: skip


@pytest.mark.parametrize("role", ["agent", "operator"])
def test_authority_and_prompts_over_every_record(role: str) -> None:
    context = replace(HERE, role=role)
    for view in VIEWS:
        found = {name: eligible(name, view, context).allowed for name in EVERY}
        if found["governor"] or found["tool_action_execution"] or found["scheduler"]:
            # only what is in force is authority: no memory, outcome, candidate or state
            assert view.kind in ("responsibility_lease", "governor_decision") and view.in_force
        if found["context_injection"]:
            assert view.kind in ("state_record", "maturation_candidate")
            assert view.status not in ("candidate", "accepted", "retired")
            assert view.risk in ("none", "low") and view.evidence == "source_quote"
        if found["memory_promotion"]:
            assert role == "operator" and view.status == "accepted"
        assert found["ui_review"]
        assert not eligible("somebody_else", view, context).allowed


def test_prohibition_wins_over_everything() -> None:
    for view, name in product(VIEWS[::7], EVERY):
        banned = replace(view, prohibited=frozenset((name,)))
        assert not eligible(name, banned, HERE).allowed
