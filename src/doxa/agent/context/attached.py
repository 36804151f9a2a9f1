"""The stage of attachments: of each file that appeared in the conversation its receipt, an excerpt
and what was last observed, all quoted. The file itself goes with the turn that brought it."""

from __future__ import annotations

from collections.abc import Iterator

from doxa.agent.attachments.receipts import looked_at, uses_of
from doxa.agent.context.quoting import shown
from doxa.agent.context.stages import ContextLine, Situation
from doxa.base.clock import format_time

_FILES = 6
_EXCERPT_CHARS = 300
_OBSERVATION_CHARS = 400


def attachment_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield the files used last, of the conversation if it is named."""
    with situation.store.read() as reader:
        found = [
            looked_at(reader, uses, machine=situation.machine)
            for uses in uses_of(
                reader,
                project=situation.project,
                agent=situation.agent,
                session=situation.session,
                thread=situation.thread,
                limit=_FILES,
            )
        ]
    for one in found:
        day = format_time(one.last_seen)[:10]
        parts = [f"- {shown(one.name, 120)} [{one.kind}, {one.bytes} bytes"]
        parts.append(f", sha256 {one.sha256[:16]}, received {day}; ")
        parts.append(f"{one.gap}]" if one.gap else "its hash was found again just now]")
        if one.excerpt:
            parts.append(f" begins {shown(one.excerpt, _EXCERPT_CHARS)}")
        if one.observation:
            seen = format_time(one.observed or one.last_seen)[:10]
            parts.append(f"; observed {seen}: {shown(one.observation, _OBSERVATION_CHARS)}")
        reason = f"{one.kref}: it appeared in a conversation on {day}; {one.status}"
        yield ContextLine("attachments", "".join(parts), reason, one.kref)
