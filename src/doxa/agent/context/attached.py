"""The stage of attachments: of each file that appeared in the conversation its receipt, an excerpt
and what was last observed, all quoted. The file itself goes with the turn that brought it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from doxa.agent.attachments.receipts import looked_at, uses_of
from doxa.agent.context.isolation import channel, readable_channels, readable_krefs
from doxa.agent.context.quoting import shown
from doxa.agent.context.stages import ContextLine, Situation
from doxa.agent.records.types import Record
from doxa.base.clock import format_time
from doxa.store import Reader

_FILES = 6
_EXCERPT_CHARS = 300
_OBSERVATION_CHARS = 400


def attachment_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield the files used last, of the conversation if it is named, and of those alone that the
    mode may read."""
    with situation.store.read() as reader:
        uses = uses_of(
            reader,
            project=situation.project,
            agent=situation.agent,
            session=situation.session,
            thread=situation.thread,
            limit=_FILES,
            kept=partial(_readable, situation, reader),
        )
        found = [looked_at(reader, use, machine=situation.machine) for use in uses]
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


def _readable(situation: Situation, reader: Reader, uses: Sequence[Record]) -> list[Record]:
    """The uses in conversations that the mode may read, and those that name none."""
    named = [one for one in uses if one.data["thread"] or one.data["session"]]
    of = {
        one.kref: channel(situation, str(one.data["thread"]), str(one.data["session"]))
        for one in named
    }
    may = readable_channels(situation, reader, of.values())
    seen = readable_krefs(situation, reader, [one.kref for one in uses])
    return [one for one in uses if one.kref in seen and (one.kref not in of or of[one.kref] in may)]
