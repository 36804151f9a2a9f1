"""The governor over every combination of its discrete inputs: it always answers, more risk never
lowers the mode, more authority never raises it, and the strict modes have the triggers that are
documented and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.agent.spine.governor import (
    ACTION_CLASSES,
    LEVELS,
    MODES,
    PAUSE,
    REFUSE,
    VERIFY,
    ActionRequest,
    decide,
)

CLASSES = (*ACTION_CLASSES, "launch_rocket")
LEASES = ("none", "covers", "asks_approval", "prohibits")
FLAGS = (False, True)
AUTHORITY = tuple(product(FLAGS, LEASES, FLAGS, FLAGS, ((), ("protected_state",))))
RISKS = tuple(product(*(range(len(levels)) for levels in LEVELS.values())))


def request(action_class: str, authority: tuple, risk: tuple[int, ...]) -> ActionRequest:
    instruction, lease, approval, confirmed, boundaries = authority
    levels = {name: LEVELS[name][at] for name, at in zip(LEVELS, risk, strict=True)}
    return ActionRequest(
        action_class,
        instruction=instruction,
        lease=lease,
        approval=approval,
        confirmed=confirmed,
        boundaries=boundaries,
        **levels,
    )


@cache
def ranks(action_class: str) -> dict[tuple, dict[tuple[int, ...], int]]:
    """The friction of every request of a class, by authority and risk."""
    return {
        authority: {
            risk: MODES.index(decide(request(action_class, authority, risk)).mode) for risk in RISKS
        }
        for authority in AUTHORITY
    }


def raised(risk: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for at, level in enumerate(risk):
        if level < 2:
            yield (*risk[:at], level + 1, *risk[at + 1 :])


@pytest.mark.parametrize("action_class", CLASSES)
def test_every_combination_has_a_mode_and_the_order_holds(action_class: str) -> None:
    table = ranks(action_class)
    assert sum(map(len, table.values())) == 64 * 729
    for authority, modes in table.items():
        instruction, lease, approval, confirmed, boundaries = authority
        safer = [
            (True, lease, approval, confirmed, boundaries),
            (instruction, lease, True, confirmed, boundaries),
            (instruction, lease, approval, True, boundaries),
            (instruction, lease, approval, confirmed, ()),
        ]
        if lease == "prohibits":
            safer.append((instruction, "asks_approval", approval, confirmed, boundaries))
        if lease in ("none", "asks_approval"):
            safer.append((instruction, "covers", approval, confirmed, boundaries))
        others = [table[other] for other in safer]
        for risk, rank in modes.items():
            assert all(rank <= modes[more] for more in raised(risk)), (authority, risk)
            assert all(other[risk] <= rank for other in others), (authority, risk)


@pytest.mark.parametrize("action_class", CLASSES)
def test_the_strict_modes_have_their_triggers_and_no_others(action_class: str) -> None:
    talks, known = action_class == "ordinary_conversation", action_class in ACTION_CLASSES
    for authority, modes in ranks(action_class).items():
        instruction, lease, approval, _, boundaries = authority
        asked = instruction or approval or lease in ("covers", "asks_approval")
        always = bool(boundaries) or lease == "prohibits"
        for (*effects, _shaping, anomaly, _evidence), rank in modes.items():
            risks = [level == 2 for level in effects]
            paused = anomaly == 2 and not talks
            refused = always or (not known and any(risks))
            refused = refused or (not asked and not talks and all(risks))
            assert (rank == PAUSE) == paused
            assert (rank == REFUSE) == (refused and not paused)


@pytest.mark.parametrize("action_class", CLASSES)
def test_nothing_acts_without_authority_but_conversation(action_class: str) -> None:
    always = action_class in ("external_message", "runtime_config", "tool_policy")
    always = always or action_class == "physical_action"
    for authority, modes in ranks(action_class).items():
        instruction, lease, approval, _, _ = authority
        asked = instruction or approval or lease in ("covers", "asks_approval")
        for risk, rank in modes.items():
            if rank <= VERIFY:
                assert asked or action_class == "ordinary_conversation"
                external, reverse, _, shaping, *_ = risk
                assert approval or not (always or 2 in (external, reverse, shaping))


REQUESTS = st.builds(
    request,
    st.sampled_from(CLASSES),
    st.sampled_from(AUTHORITY),
    st.sampled_from(RISKS),
)


@given(REQUESTS, st.sampled_from(MODES))
def test_a_caller_only_raises_the_mode(one: ActionRequest, floor: str) -> None:
    alone, wanted = decide(one).mode, decide(replace(one, floor=floor)).mode  # type: ignore[arg-type]
    assert MODES.index(wanted) == max(MODES.index(alone), MODES.index(floor))


@given(st.text(max_size=40), st.text(max_size=40), st.lists(st.text(max_size=9), max_size=3))
def test_words_that_it_does_not_know_never_proceed(name: str, level: str, more: list[str]) -> None:
    if name in ACTION_CLASSES:
        return
    one = ActionRequest(name, instruction=True, floor=level, boundaries=tuple(more))  # type: ignore[arg-type]
    assert not decide(one).may_act


@given(REQUESTS)
def test_an_approval_replaces_what_it_is_for_and_nothing_else(one: ActionRequest) -> None:
    without = decide(replace(one, approval=False)).mode
    given_one = decide(replace(one, approval=True)).mode
    if without in ("pause_recover", "defer_or_dry_run"):
        assert given_one == without
    if without == "require_approval":
        assert given_one in ("proceed_with_verification", "ask_for_missing_authority")


@pytest.mark.parametrize(
    ("one", "mode"),
    [
        (ActionRequest("ordinary_conversation"), "proceed"),
        (ActionRequest("read_only_investigation", instruction=True), "proceed"),
        (ActionRequest("read_only_investigation"), "ask_for_missing_authority"),
        (ActionRequest("local_project_edit", lease="covers"), "proceed_with_verification"),
        (ActionRequest("background_responsibility", instruction=True), "ask_for_missing_authority"),
        (ActionRequest("background_responsibility", lease="covers"), "proceed_with_verification"),
        (ActionRequest("external_message", instruction=True), "require_approval"),
        (ActionRequest("external_message", approval=True), "ask_for_missing_authority"),
        (
            ActionRequest("external_message", approval=True, confirmed=True),
            "proceed_with_verification",
        ),
        (ActionRequest("safety_policy", approval=True), "defer_or_dry_run"),
        (ActionRequest("local_project_edit", instruction=True, sensitivity="high"),
         "require_approval"),
        (ActionRequest("nonsense", instruction=True), "ask_for_missing_authority"),
        (ActionRequest("nonsense", instruction=True, externality="external"),
         "refuse_with_safe_alternative"),
    ],
)  # fmt: skip
def test_what_it_decides(one: ActionRequest, mode: str) -> None:
    verdict = decide(one)
    assert verdict.mode == mode
    assert verdict.reasons
    assert bool(verdict.instead) != verdict.may_act


def test_every_mode_is_reached() -> None:
    found = {
        rank
        for action_class in ("read_only_investigation", "physical_action", "safety_policy")
        for modes in ranks(action_class).values()
        for rank in modes.values()
    }
    assert found == set(range(len(MODES)))


@pytest.mark.parametrize("name", LEVELS)
def test_a_risk_of_an_unknown_level_is_the_highest(name: str) -> None:
    for action_class in CLASSES:
        one = ActionRequest(action_class, instruction=True)
        unknown = decide(replace(one, **{name: "whatever"}))  # type: ignore[arg-type]
        highest = decide(replace(one, **{name: LEVELS[name][-1]}))  # type: ignore[arg-type]
        assert unknown == highest
