"""The stages of the runtime: where the agent left off, what it may assert, and what an operator
lets a prompt read of its state.

Each asks the part that decides: claims are given in the mode `enforce` alone, and a state has to
fit the contract of its consumer. A candidate of any of them is not read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from doxa.agent.claims.live import live_claims
from doxa.agent.claims.types import DECISION
from doxa.agent.context.beliefs import held_and_known
from doxa.agent.context.isolation import readable_krefs, thread_of
from doxa.agent.context.quoting import shown
from doxa.agent.context.stages import ContextLine, Situation
from doxa.agent.continuity.handoff import ready_handoffs, thread_handoff
from doxa.agent.continuity.modes import may_read
from doxa.agent.continuity.view import HandoffView, prose, view_of_handoff
from doxa.agent.records.records import list_records
from doxa.agent.records.types import Record
from doxa.agent.spine.consumers import UseContext, check_use
from doxa.base.clock import format_time
from doxa.base.quoting import bare
from doxa.store import Reader

_STATE, _CONSUMER = "state_record", "context_injection"
_LIVE_STATES = ("active", "verified", "current_state")
_STATES_READ = 100
_LINE_CHARS = 240


def continuity_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield where the thread, or the conversation before this one, stood. Nothing is consumed. What
    other stages say of it (beliefs and commitments) is left to them."""
    _, known = held_and_known(situation)
    own = {hit.kref for hit in known}
    with situation.store.read() as reader:
        record = _handoff(reader, situation)
        if record is None:
            return
        found = view_of_handoff(reader, record, language=situation.language, now=reader.now)
        text = prose(_without(found, own), language=situation.language, now=reader.now)
    if text:
        day = format_time(found.made)[:10]
        reason = f"{found.kref}: a {found.health} handoff of {day}, {found.outcome}"
        turns = tuple(one.kref for one in found.last)
        yield ContextLine("continuity", f"- {text}", reason, found.kref, turns)


def claim_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield the claims that the live gate lets through."""
    with situation.store.read() as reader:
        found = live_claims(
            reader, project=situation.project, agent=situation.agent, now_ns=reader.now
        )
        seen = readable_krefs(situation, reader, [claim.kref for claim in found])
    for claim in found:
        if claim.kref not in seen:
            continue
        handles = ", ".join(bare(str(one["handle"])) for one in claim.data["sources"])
        day = format_time(claim.moved or claim.made)[:10]
        kind = bare(str(claim.data["kind"]))
        text = f"- {shown(claim.text, _LINE_CHARS)} [{kind}, from {handles}, accepted {day}]"
        reason = f"{claim.kref}: {claim.moved_by} accepted it with its source"
        yield ContextLine("claims", text, reason, str(claim.notes[DECISION]["belief"]))


def current_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield the states of the agent that the contract of prompts admits."""
    with situation.store.read() as reader:
        held = list_records(
            reader,
            project=situation.project,
            agent=situation.agent,
            kind=_STATE,
            states=_LIVE_STATES,
            newest=True,
            limit=_STATES_READ,
        )
        use = UseContext(situation.agent, situation.project, reader.now)
        found = [one for one in held if check_use(reader, one.kref, _CONSUMER, use).allowed]
        seen = readable_krefs(situation, reader, [one.kref for one in found])
        found = [one for one in found if one.kref in seen]
    for one in found:
        day = format_time(one.made)[:10]
        text = f"- {shown(one.text, _LINE_CHARS)} [{bare(one.state)}, {day}]"
        reason = f"{one.kref}: an operator lets a prompt read it"
        yield ContextLine("current", text, reason, one.kref)


def _handoff(reader: Reader, situation: Situation) -> Record | None:
    """The last handoff of the thread; without one, the newest that nobody has taken."""
    if situation.thread:
        thread = thread_of(situation.project, situation.thread)
        known = thread_handoff(reader, situation.project, situation.agent, thread)
        found = [] if known is None else [known]
    else:
        found = ready_handoffs(reader, situation.project, situation.agent)
    for one in found:
        if one.data["session"] != situation.session and may_read(
            situation.mode, (str(one.data["mode"]),)
        ):
            return one
    return None


def _without(found: HandoffView, known: set[str]) -> HandoffView:
    left = tuple(one for one in found.open if one.kref not in known)
    return replace(found, points=(), open=left)
