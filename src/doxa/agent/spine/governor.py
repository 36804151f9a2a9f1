"""The governor: how restricted an action is, from what is known about it. A pure, total function.

    mode = the least restrictive mode that no rule forbids = the highest floor of all rules

Every rule is a condition and a floor. A rule can raise the mode and never lower it, so the order of
the rules has no meaning; more risk, or a caller's own `floor`, never lowers the mode. Authority is
one of three things and nothing else: a current instruction of a person, a lease in force, an
approval of this decision. An approval replaces the floor `require_approval` by
`proceed_with_verification`; no other floor.

What raises the mode to the two strictest ones is listed here and nowhere else:

    refuse_with_safe_alternative   a boundary is crossed; a lease prohibits the class; an unknown
                                   class with an external, irreversible or highly sensitive effect;
                                   an effect that is all three without anybody's authority
    pause_recover                  a confirmed anomaly (of the agent's state or of a source)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

Mode = Literal[
    "proceed",
    "proceed_with_verification",
    "ask_for_missing_authority",
    "require_approval",
    "defer_or_dry_run",
    "refuse_with_safe_alternative",
    "pause_recover",
]
ActionClass = Literal[
    "ordinary_conversation",
    "read_only_investigation",
    "local_project_edit",
    "memory_append",
    "claim_maturation",
    "external_message",
    "background_responsibility",
    "procedural_learning",
    "safety_policy",
    "context_eligibility",
    "runtime_config",
    "tool_policy",
    "physical_action",
]
LeaseSays = Literal["none", "covers", "asks_approval", "prohibits"]
Externality = Literal["none", "local", "external"]
Reversibility = Literal["reversible", "costly", "irreversible"]
Sensitivity = Literal["low", "medium", "high"]
Shaping = Literal["none", "narrow", "broad"]
Anomaly = Literal["none", "suspected", "confirmed"]
Evidence = Literal["fresh", "unverified", "missing"]

MODES: tuple[Mode, ...] = get_args(Mode)
ACTION_CLASSES: tuple[ActionClass, ...] = get_args(ActionClass)
LEVELS: dict[str, tuple[str, ...]] = {  # each from the least risk to the most
    "externality": get_args(Externality),
    "reversibility": get_args(Reversibility),
    "sensitivity": get_args(Sensitivity),
    "shaping": get_args(Shaping),
    "anomaly": get_args(Anomaly),
    "evidence": get_args(Evidence),
}
PROCEED, VERIFY, ASK, APPROVAL, DRY_RUN, REFUSE, PAUSE = range(7)

# The floor of a class for whom authority is present.
_FLOORS: dict[str, int] = {
    "ordinary_conversation": PROCEED,
    "read_only_investigation": PROCEED,
    "local_project_edit": VERIFY,
    "memory_append": VERIFY,
    "background_responsibility": VERIFY,
    "external_message": APPROVAL,
    "runtime_config": APPROVAL,
    "tool_policy": APPROVAL,
    "physical_action": APPROVAL,
    "claim_maturation": DRY_RUN,
    "procedural_learning": DRY_RUN,
    "safety_policy": DRY_RUN,
    "context_eligibility": DRY_RUN,
}
_HIGHEST = 2  # of every risk
_CHANGING = (("reversibility", VERIFY, APPROVAL), ("shaping", VERIFY, APPROVAL))
_SPEAKS, _READS = "ordinary_conversation", "read_only_investigation"
# The check after an action that proceeds with verification.
_CHECKS: dict[str, str] = {
    "ordinary_conversation": "say what is not verified",
    "read_only_investigation": "read the source again before relying on it",
    "local_project_edit": "compare with the state before, and run the tests",
    "memory_append": "read back what was written",
    "background_responsibility": "compare the effect with the criteria of the lease",
    "external_message": "confirm that it was sent once, to the approved recipient",
    "runtime_config": "read the setting back, and keep the one before",
    "tool_policy": "read the policy back, and keep the one before",
    "physical_action": "observe the effect before the next action",
}
_ALTERNATIVES: dict[int, str] = {
    ASK: "Ask once for the instruction, the lease or the fact that is missing.",
    APPROVAL: "Show the action to the operator, who approves this decision by its hash.",
    DRY_RUN: "Make a candidate or a plan that changes nothing, for review.",
    REFUSE: "Decline, and offer a read-only look at the same question.",
    PAUSE: "Stop, report the cause, and wait for the operator's review.",
}


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What the governor decides about. `instruction`, `approval`: whether there is one, checked;
    `lease`: what the leases in force say of the class and target; `confirmed`: recipient and intent
    of what leaves the machine. `boundaries` are the hard boundaries that are crossed. `floor`: the
    mode that the caller wants at least."""

    action_class: str
    instruction: bool = False
    lease: LeaseSays = "none"
    approval: bool = False
    confirmed: bool = False
    externality: Externality = "none"
    reversibility: Reversibility = "reversible"
    sensitivity: Sensitivity = "low"
    shaping: Shaping = "none"
    anomaly: Anomaly = "none"
    evidence: Evidence = "fresh"
    boundaries: tuple[str, ...] = ()
    floor: Mode = "proceed"


@dataclass(frozen=True, slots=True)
class GovernorVerdict:
    """The mode, the rules that set it, what is to be checked after the action, whether a way back
    is needed first, and what to do in place of the action where it may not be done now.
    """

    mode: Mode
    reasons: tuple[str, ...]
    checks: tuple[str, ...] = ()
    rollback_required: bool = False
    instead: str = ""

    @property
    def may_act(self) -> bool:
        """Whether the live action is allowed by this verdict."""
        return self.mode in MODES[: VERIFY + 1]


def decide(request: ActionRequest) -> GovernorVerdict:
    """Return the least restrictive mode that is safe, with its reasons. Never raises."""
    floors = sorted(_floors(request), key=lambda one: -one[0])
    highest = floors[0][0] if floors else PROCEED
    reasons = tuple(dict.fromkeys(name for floor, name in floors if floor == highest))
    changes = request.action_class not in (_SPEAKS, _READS)
    return GovernorVerdict(
        MODES[highest],
        reasons if highest else ("nothing_restricts_it",),
        (_CHECKS.get(request.action_class, "observe the effect"),) if highest == VERIFY else (),
        changes and highest in (VERIFY, APPROVAL),
        _ALTERNATIVES.get(highest, ""),
    )


def _floors(request: ActionRequest) -> Iterator[tuple[int, str]]:
    """Iterate over the rules that apply: the floor of each, and its name."""
    for floor, name in _rules(request):
        approved = floor == APPROVAL and request.approval
        yield (VERIFY, "approved") if approved else (floor, name)
    yield _rank(request.floor), "caller_wants_it"


def _rules(one: ActionRequest) -> Iterator[tuple[int, str]]:
    known = one.action_class in _FLOORS
    external, irreversible, sensitive = (
        _level(one, name) == _HIGHEST for name in ("externality", "reversibility", "sensitivity")
    )
    authority = one.instruction or one.lease in ("covers", "asks_approval") or one.approval
    harmless = one.action_class in (_SPEAKS, _READS)
    if one.boundaries:
        yield REFUSE, "boundary_crossed"
    if one.lease == "prohibits":
        yield REFUSE, "lease_prohibits_it"
    if one.lease == "asks_approval":
        yield APPROVAL, "lease_asks_for_approval"
    if known:
        yield _FLOORS[one.action_class], "class_" + one.action_class
    else:
        yield ASK, "unknown_class"
        if external or irreversible or sensitive:
            yield REFUSE, "unknown_class_with_risk"
    if not authority and one.action_class != _SPEAKS:
        yield ASK, "nobody_asked_for_it"
        if external and irreversible and sensitive:
            yield REFUSE, "highest_risk_without_authority"
    if one.action_class == "background_responsibility" and not (
        one.lease in ("covers", "asks_approval") or one.approval
    ):
        yield ASK, "no_lease"
    if not one.confirmed and (external or one.action_class == "external_message"):
        yield ASK, "recipient_or_intent_unconfirmed"
    yield from _risks(one, harmless)


def _risks(one: ActionRequest, harmless: bool) -> Iterator[tuple[int, str]]:
    found = {name: _level(one, name) for name in LEVELS}
    if found["externality"] == _HIGHEST:
        yield APPROVAL, "external"
    for name, mild, strict in _CHANGING:
        if found[name]:
            yield (strict if found[name] == _HIGHEST else mild), name
    if found["sensitivity"]:
        strict = APPROVAL if found["sensitivity"] == _HIGHEST and not harmless else VERIFY
        yield strict, "sensitivity"
    if found["anomaly"] == _HIGHEST:
        yield (VERIFY if one.action_class == _SPEAKS else PAUSE), "anomaly_confirmed"
    elif found["anomaly"]:
        yield (VERIFY if harmless else DRY_RUN), "anomaly_suspected"
    if found["evidence"]:
        missing = found["evidence"] == _HIGHEST and not harmless
        yield (ASK if missing else VERIFY), "evidence"


def _level(request: ActionRequest, name: str) -> int:
    """Return the level of a risk from 0; a word that is not a level is the highest."""
    levels, word = LEVELS[name], getattr(request, name)
    return levels.index(word) if word in levels else _HIGHEST


def _rank(mode: str) -> int:
    """Return the friction of a mode; what is not a mode is the strictest."""
    return MODES.index(mode) if mode in MODES else PAUSE
