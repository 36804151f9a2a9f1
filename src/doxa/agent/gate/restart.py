"""Continuing after a restart, bounded: three phases, each with a budget of calls.

    reach      2 calls: is the runtime there, and what is its key?
    identify   1 call: is the key that of before the restart? Else stop, and write nothing
    continue   as many calls as were declared before the restart
    done, stopped

    a call over its budget stops           budgets are not carried from phase to phase
    the same failure twice stops           the same: what was called and how it failed
    an unknown event, or one after the end changes nothing but the reason

A pure function of state and event: `advance`. `stopped` is where the operator takes over; `hands`
says what they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from doxa.base.errors import InputError
from doxa.base.limits import (
    RESTART_CALLS_MAX,
    RESTART_IDENTIFY_CALLS_MAX,
    RESTART_REACH_CALLS_MAX,
)

Phase = Literal["reach", "identify", "continue", "done", "stopped"]
Outcome = Literal["succeeded", "failed"]
_NEXT: Mapping[Phase, Phase] = {"reach": "identify", "identify": "continue"}


@dataclass(frozen=True, slots=True)
class Restart:
    """Where a continuation stands. `key` is that of the session before the restart, `found` the
    one after it, `failures` what failed already, as (call, kind of failure)."""

    key: str
    declared: int
    phase: Phase = "reach"
    used: int = 0
    found: str = ""
    failures: frozenset[tuple[str, str]] = frozenset()
    reason: str = ""

    @property
    def budget(self) -> int:
        """How many calls the phase may have."""
        return {
            "reach": RESTART_REACH_CALLS_MAX,
            "identify": RESTART_IDENTIFY_CALLS_MAX,
            "continue": self.declared,
        }.get(self.phase, 0)

    @property
    def may_call(self) -> bool:
        """Whether another call is allowed."""
        return self.used < self.budget

    @property
    def may_write(self) -> bool:
        """Whether the identity was compared, so that anything may be written."""
        return self.phase in ("continue", "done")

    def hands(self) -> dict[str, str | int]:
        """Return what an operator is given: where it stands, why, and the last known key."""
        return {
            "phase": self.phase,
            "reason": self.reason,
            "key": self.found or self.key,
            "used": self.used,
            "budget": self.budget,
        }


def begin_restart(key: str, declared: int) -> Restart:
    """Return a continuation for a session key and a declared number of calls."""
    if not key:
        raise InputError(
            "A continuation needs the key of the session.",
            next_step="Give the key that the session had before the restart.",
            field="key",
        )
    if not 0 <= declared <= RESTART_CALLS_MAX:
        raise InputError(
            f"A continuation declares from 0 to {RESTART_CALLS_MAX} calls, not {declared}.",
            next_step="Declare what the task needs; the rest waits for the operator.",
            field="declared",
        )
    return Restart(key, declared)


def advance(
    held: Restart,
    call: str,
    outcome: Outcome,
    *,
    failure: str = "",
    key: str = "",
    last: bool = False,
) -> Restart:
    """Return where a continuation stands after a call. `key`: what a call of the phases reach and
    identify found; `last`: the task is done with this call."""
    if held.phase in ("done", "stopped"):
        return replace(held, reason=held.reason or f"{call} came after the end")
    if not held.may_call:
        return _stopped(
            held, f"the budget of {held.budget} calls in the phase {held.phase} is used"
        )
    used = replace(held, used=held.used + 1)
    if outcome == "failed":
        shape = (call, failure)
        if shape in held.failures:
            return _stopped(used, f"{call} failed twice in the same way: {failure}")
        used = replace(used, failures=held.failures | {shape})
        return used if used.may_call else _stopped(used, f"{call} failed, and no call is left")
    if held.phase == "continue":
        if last:
            return replace(used, phase="done", reason="the task is done")
        return used if used.may_call else _stopped(used, "the declared calls are used")
    if held.phase == "identify" and key != held.key:
        return _stopped(replace(used, found=key), "the session is not the one of before")
    if not key:
        return used if used.may_call else _stopped(used, f"{call} found no key")
    moved = replace(used, phase=_NEXT[held.phase], used=0, found=key)
    if moved.budget == 0:
        return replace(moved, phase="done", reason="no calls were declared")
    return moved


def _stopped(held: Restart, why: str) -> Restart:
    return replace(held, phase="stopped", reason=why)
