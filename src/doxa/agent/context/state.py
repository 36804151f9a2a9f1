"""The stages of what is open: conflicts and proposals that wait, commitments and their dates, a
request that was left unanswered, what changed since the last conversation, jobs that stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doxa.agent.context.beliefs import (
    COMMITMENTS,
    LINE_CHARS,
    READ_ITEMS,
    held_and_known,
)
from doxa.agent.context.isolation import readable_krefs
from doxa.agent.context.quoting import shown
from doxa.agent.context.stages import ContextLine, Situation
from doxa.agent.context.trivial import is_trivial
from doxa.base.clock import format_time
from doxa.base.quoting import bare
from doxa.ingestion.own_words import own_words
from doxa.jobs.heartbeat import heartbeats
from doxa.jobs.proposals import list_proposals
from doxa.recall import Hit
from doxa.store import Reader

_OVERDUE_DAYS = 3
_REQUEST_CHARS = 160
_TURNS_READ = 20  # the newest turns, for the newest that the mode may read


def state_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield what is open in the project, what waits for a person first."""
    _, known = held_and_known(situation)
    yield from _conflicts(situation)
    with situation.store.read() as reader:
        proposals = _proposals(reader, situation.project)
        jobs = _stopped_jobs(reader, situation.project)
    yield from proposals
    yield from _commitments(known)
    yield from _unanswered(situation)
    yield from _changed(known, situation)
    yield from jobs


def _conflicts(situation: Situation) -> list[ContextLine]:
    found = situation.conflicts(limit=READ_ITEMS)
    if not found:
        return []
    newest = found[0]
    verified = [one for one in newest.held if one.trust == "verified"]
    with situation.store.read() as reader:
        seen = readable_krefs(situation, reader, [str(one.kref) for one in verified])
    held = next((one for one in verified if str(one.kref) in seen), None)
    about = f" The newest concerns {shown(held.summary, LINE_CHARS)}." if held is not None else ""
    count = f"{len(found)} statements contradict" if len(found) > 1 else "1 statement contradicts"
    text = f"- {count} what is believed and a person has not decided yet.{about}"
    return [ContextLine("state", text, f"{newest.kref}: an undecided conflict", newest.kref)]


def _proposals(reader: Reader, project: str) -> list[ContextLine]:
    """How many changes background jobs have proposed; what they say comes through tools alone."""
    count = len(list_proposals(reader, project=project, limit=READ_ITEMS))
    if not count:
        return []
    many = f"{count} proposed changes wait" if count > 1 else "1 proposed change waits"
    reason = "open proposals of background jobs; see `doxa proposals`"
    return [ContextLine("state", f"- {many} for a person.", reason)]


def _commitments(known: Sequence[Hit]) -> list[ContextLine]:
    found = [hit for hit in known if hit.kind in COMMITMENTS]
    found.sort(key=lambda hit: (hit.valid_until is None, hit.valid_until or 0))
    lines = []
    for hit in found:
        due = f", due {format_time(hit.valid_until)[:10]}" if hit.valid_until is not None else ""
        text = f"- {shown(hit.text, LINE_CHARS)} [{bare(hit.kind)}{due}]"
        reason = f"{hit.kref}: an open {hit.kind}"
        lines.append(ContextLine("state", text, reason, hit.kref))
    return lines


def _unanswered(situation: Situation) -> list[ContextLine]:
    """The user's last message, if the conversation before ended without an answer to it. What was
    said in modes that this one does not read is not looked at."""
    since_ns = situation.since_ns
    if since_ns is None:
        return []
    last = situation.recent(kinds=("exchange",), limit=_TURNS_READ)
    with situation.store.read() as reader:
        seen = readable_krefs(situation, reader, [hit.kref for hit in last])
    hit = next((one for one in last if one.kref in seen), None)
    if hit is None or hit.speaker != "user" or hit.time > since_ns:
        return []
    own = own_words(hit.text)
    if is_trivial(own):
        return []
    text = (
        f"- The last conversation here, {format_time(hit.time)[:10]}, ended without an answer to"
        f" {shown(own, _REQUEST_CHARS)}."
    )
    reason = f"{hit.kref}: the newest message has no answer"
    return [ContextLine("state", text, reason, hit.kref)]


def _changed(known: Sequence[Hit], situation: Situation) -> list[ContextLine]:
    since_ns, until_ns = situation.since_ns, situation.until_ns
    new = [
        hit
        for hit in known
        if since_ns is not None
        and hit.recorded > since_ns
        and (until_ns is None or hit.recorded <= until_ns)
    ]
    if since_ns is None or not new:
        return []
    day = format_time(since_ns)[:10]
    many = (
        f"{len(new)} beliefs are new or changed" if len(new) > 1 else "1 belief is new or changed"
    )
    text = f"- Since the last conversation here, {day}, {many}."
    return [ContextLine("state", text, f"recorded after {format_time(since_ns)}")]


def _stopped_jobs(reader: Reader, project: str) -> list[ContextLine]:
    """Jobs that failed, stopped in the middle, or have not run for days."""
    lines = []
    for beat in heartbeats(reader, project=project, now=reader.now):
        days = beat.days_since
        late = days is None or days >= _OVERDUE_DAYS
        if late or beat.is_stalled or beat.run.state == "failed":
            reason = "a job that keeps memory in order does not run"
            done = "never" if beat.done is None else f"on {format_time(beat.done.started)[:10]}"
            what = f"- The background job {bare(beat.job)} last ended well {done}."
            lines.append(ContextLine("state", what, f"{reason}: {beat.said()}"))
    return lines
