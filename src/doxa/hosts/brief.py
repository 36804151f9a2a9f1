"""The brief: what an agent should know when a conversation begins, state before knowledge.

    identity     the agent's lines that a person approved; or that a file of them was changed
    state        conflicts and proposals that wait, commitments and their dates, a request that was
                 left unanswered, what changed since the last conversation here, jobs that stopped
    knowledge    what is verified or what a person stated in this project, decisions first
    person       preferences
    index        how much more there is, which recall finds

Each line has a reason, given on demand. One budget of characters holds for the whole block; state
takes at most half of it, and so does identity. The block holds dates and no spans of time, so that
it stays the same, byte for byte, while what it says does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from doxa.agent.context.beliefs import READ_ITEMS, held_and_known, known_lines, person_lines
from doxa.agent.context.stages import ContextLine
from doxa.agent.context.state import state_lines
from doxa.agent.context.vouching import without_repeats
from doxa.agent.context.who import identity_lines
from doxa.app import Session
from doxa.app.sessions.agent.context import situation_of
from doxa.base.clock import format_time
from doxa.base.limits import HOOK_BRIEF_CHARS_MAX
from doxa.base.quoting import quoted
from doxa.redaction.stripping import BLOCK

_TITLES = {
    "identity": "Who you are, approved by a person:",
    "state": "Open in this project:",
    "knowledge": "Known here, verified or stated by the user:",
    "person": "About the user:",
}


@dataclass(frozen=True, slots=True)
class Brief:
    """The lines that fit, how many did not, and how many memories the project holds beyond."""

    project: str
    lines: tuple[ContextLine, ...]
    left_out: int
    beliefs: int
    newest: str = ""

    def block(self) -> str:
        """Return the block that is injected; "" if there is nothing to say."""
        if not self.lines and not self.beliefs:
            return ""
        parts = [f"<{BLOCK} project={quoted(self.project)}>"]
        for section, title in _TITLES.items():
            lines = [line.text for line in self.lines if line.section == section]
            parts += [title, *lines] if lines else []
        if self.beliefs:
            parts.append(_index_text(self.beliefs, shown=bool(self.lines)))
        return "\n".join((*parts, f"</{BLOCK}>"))


@dataclass(frozen=True, slots=True)
class EarlierBrief:
    """What is kept of a brief: the digests of its lines, how many memories there were beyond, and
    when it was made. Holds no text, so that nothing erased survives in it."""

    lines: Sequence[str]
    beliefs: int
    made_ns: int


def _index_text(count: int, *, shown: bool) -> str:
    what = "belief" if count == 1 else "beliefs"
    more = "more " if shown else ""
    return f"Memory holds {count} {more}{what} on this project; memory_recall searches them."


def brief(
    session: Session,
    *,
    since_ns: int | None = None,
    chars_max: int = HOOK_BRIEF_CHARS_MAX,
    earlier: EarlierBrief | None = None,
) -> Brief:
    """Make the brief of the session's project. `since_ns` is when the last conversation here ended.
    With `earlier` it is that brief again: its lines alone, in its order, as far as they hold."""
    situation = situation_of(
        session, since_ns=since_ns, until_ns=None if earlier is None else earlier.made_ns
    )
    held, known = held_and_known(situation)
    stages = (identity_lines, state_lines, known_lines, person_lines)
    lines = [line for stage in stages for line in stage(situation)]
    if earlier is not None:
        by_digest = {line.digest: line for line in lines}
        lines = [by_digest[digest] for digest in earlier.lines if digest in by_digest]
    kept = _fitting(lines, chars_max - _frame_chars(session.project))
    said = {line.kref for line in kept}
    more = len([hit for hit in without_repeats(held) if hit.kref not in said])
    more = more if earlier is None else earlier.beliefs
    newest = max((hit.time for hit in known if hit.kref in said), default=None)
    return Brief(
        session.project,
        tuple(kept),
        len(lines) - len(kept),
        more,
        "" if newest is None else format_time(newest)[:10],
    )


def _frame_chars(project: str) -> int:
    titles = sum(len(title) + 1 for title in _TITLES.values())
    return titles + len(_index_text(READ_ITEMS, shown=True)) + 2 * len(BLOCK) + len(project) + 30


def _fitting(lines: Sequence[ContextLine], chars_max: int) -> list[ContextLine]:
    """The lines that fit, in order; state takes at most half, and so does identity."""
    kept, left = [], chars_max
    most = {"identity": chars_max // 2, "state": chars_max // 2}
    for line in lines:
        size = len(line.text) + 1
        if size > min(left, most.get(line.section, left)):
            continue
        kept.append(line)
        left -= size
        if line.section in most:
            most[line.section] -= size
    return kept
