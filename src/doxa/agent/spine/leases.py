"""Leases: what an operator made an agent responsible for. A lease is in force while it is active,
not expired and none of its stop conditions is met; these are computed from the ledger each time, so
a lease that should have been paused covers nothing even if nobody paused it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from doxa.agent.records.records import CONCERNS, find_record, list_records, read_record
from doxa.agent.records.types import Record
from doxa.agent.spine.governor import MODES, VERIFY, LeaseSays
from doxa.agent.spine.packets import ResponsibilityLease, read_body
from doxa.base.limits import LEASES_ITEMS_MAX
from doxa.store import Reader

LEASE, DECISION, OUTCOME = "responsibility_lease", "governor_decision", "outcome_event"


@dataclass(frozen=True, slots=True)
class LeaseUse:
    """What was done under a lease: actions that were allowed, and the outcomes in order, each with
    its status and failure class, since it was last resumed."""

    actions: int
    outcomes: tuple[tuple[str, str], ...]


def use_of(reader: Reader, lease: Record, *, without: str = "") -> LeaseUse:
    """Read from the ledger what was done under a lease since it was last made active; `without` is
    the address of a decision that is not counted, because it is about to be made."""
    node = reader.node_by_kref(lease.kref)
    if node is None:
        return LeaseUse(0, ())
    since = lease.moved if lease.moved is not None else lease.made
    edges = reader.edges_in(node.id, CONCERNS)
    found = [
        read_record(one)
        for one in reader.nodes([edge.src for edge in edges])
        if "Record" in one.labels and one.props["agent"] == lease.agent
    ]
    found = [
        one
        for one in found
        if one.made >= since and one.data.get("lease") == lease.kref and one.kref != without
    ]
    allowed = MODES[: VERIFY + 1]
    actions = sum(
        one.type == DECISION and (one.data["mode"] in allowed or one.state == "consumed")
        for one in found
    )
    outcomes = sorted(
        (one.made, one.kref, one.state, str(one.data["failure_class"]))
        for one in found
        if one.type == OUTCOME
    )
    return LeaseUse(actions, tuple((state, failure) for _, _, state, failure in outcomes))


def stopped_by(lease: ResponsibilityLease, use: LeaseUse, now_ns: int) -> str:
    """Return the stop condition that is met, or an empty text."""
    stop = lease.stop
    if now_ns >= lease.expires_ns:
        return "expired"
    if use.actions >= stop.actions_max:
        return "actions_max"
    failures = [failure for state, failure in use.outcomes if state == "failed"]
    if len(failures) >= stop.failures_max:
        return "failures_max"
    counts = Counter(failure for failure in failures if failure)
    if counts and max(counts.values()) >= stop.same_failure_max:
        return "same_failure_max"
    states = {state for state, _ in use.outcomes}
    if stop.blocked_stops and "blocked" in states:
        return "blocked"
    if stop.rolled_back_stops and "rolled_back" in states:
        return "rolled_back"
    return ""


def body(lease: Record) -> ResponsibilityLease:
    """Return what a lease says."""
    found = read_body(ResponsibilityLease, lease.data, lease.kref)
    assert isinstance(found, ResponsibilityLease)
    return found


def matches(scope: Iterable[str], target: str) -> bool:
    """Return whether a target is in a scope: it matches one of the patterns, or there are none."""
    patterns = tuple(scope)
    plain = target.replace("\\", "/")
    if ".." in plain.split("/"):
        return not patterns
    return not patterns or any(fnmatchcase(plain, pattern) for pattern in patterns)


def what_leases_say(
    reader: Reader,
    *,
    project: str,
    agent: str,
    named: str,
    action_class: str,
    target: str,
    now_ns: int,
    without: str = "",
) -> LeaseSays:
    """Return what the leases of an agent say of an action. Every active lease may prohibit it; only
    the one that is named may cover it, and only while it is in force."""
    active = list_records(
        reader,
        project=project,
        agent=agent,
        kind=LEASE,
        states=("active", "paused"),
        limit=LEASES_ITEMS_MAX,
    )
    for one in active:
        held = body(one)
        if action_class in held.prohibited and now_ns < held.expires_ns:
            return "prohibits"
    lease = find_record(reader, named) if named else None
    if lease is None or lease.type != LEASE or lease.state != "active":
        return "none"
    held = body(lease)
    covered = (
        lease.agent == agent == held.executor
        and action_class in held.allowed
        and matches(held.scope, target)
        and not stopped_by(held, use_of(reader, lease, without=without), now_ns)
    )
    if not covered:
        return "none"
    return "asks_approval" if action_class in held.approval_required_for else "covers"
