"""The brief: what an agent should know when a conversation begins, state before knowledge.

    identity     the agent's lines that a person approved, all of them; or why they are not there
    state        conflicts and proposals that wait, commitments and their dates, a request that was
                 left unanswered, what changed since the last conversation here, jobs that stopped
    current      states of the agent that an operator lets a prompt read
    claims       what the live gate of claims lets through
    knowledge    what is verified or what a person stated in this project, decisions first
    person       preferences
    index        how much more there is, which recall finds

These are the stages of the context that are marked so in its table. Each line has a reason, given
on demand, and what was checked of it. Identity has a budget of its own; another one holds for
everything else, of which state takes at most half. The block holds dates and no spans of time, so
that it stays the same, byte for byte, while what it says does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from doxa.agent.context.beliefs import READ_ITEMS, held_and_known
from doxa.agent.context.obligations import obligations
from doxa.agent.context.pipeline import Copies
from doxa.agent.context.stages import ContextLine, Situation, Stage
from doxa.agent.context.table import STAGES
from doxa.agent.context.vouching import without_repeats
from doxa.agent.continuity.modes import mode_of_host
from doxa.app import Session
from doxa.app.sessions.agent.context import situation_of
from doxa.base.clock import format_time
from doxa.base.limits import HOOK_BRIEF_CHARS_MAX, HOOK_IDENTITY_CHARS_MAX
from doxa.base.quoting import quoted
from doxa.redaction.stripping import BLOCK

_TITLES = {
    "identity": "Who you are, approved by a person:",
    "state": "Open in this project:",
    "current": "Current state, as an operator lets you read it:",
    "claims": "Accepted with a source:",
    "knowledge": "Known here, verified or stated by the user:",
    "person": "About the user:",
}


@dataclass(frozen=True, slots=True)
class Brief:
    """The lines that fit, how many did not, how many memories the project holds beyond, and the
    addresses of all that may be injected."""

    project: str
    lines: tuple[ContextLine, ...]
    left_out: int
    beliefs: int
    newest: str = ""
    known: tuple[str, ...] = ()

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
    mode: str = "",
    host: str = "",
    since_ns: int | None = None,
    chars_max: int = HOOK_BRIEF_CHARS_MAX,
    earlier: EarlierBrief | None = None,
) -> Brief:
    """Make the brief of the session's project, as a conversation of a mode, or of a host, may read
    it. `since_ns` is when the last conversation here ended. With `earlier` it is that brief again:
    its lines alone, in its order, as far as they hold. Identity is always that of now."""
    situation = situation_of(
        session,
        mode=mode or mode_of_host(host),
        since_ns=since_ns,
        until_ns=None if earlier is None else earlier.made_ns,
        machine=True,
    )
    held, known = held_and_known(situation)
    by_stage = {stage.name: stage for stage in STAGES if stage.briefed}
    stages = [by_stage[name] for name in _TITLES]
    whole = [line for stage in stages if stage.instead for line in _whole(stage, situation)]
    lines = _new([one for one in stages if not one.instead], situation)
    if earlier is not None:
        by_digest = {line.digest: line for line in lines}
        lines = [by_digest[digest] for digest in earlier.lines if digest in by_digest]
    kept = _fitting(lines, chars_max - _frame_chars(session.project), situation)
    said = {line.kref for line in kept}
    more = len([hit for hit in without_repeats(held) if hit.kref not in said])
    more = more if earlier is None else earlier.beliefs
    newest = max((hit.time for hit in known if hit.kref in said), default=None)
    return Brief(
        session.project,
        (*whole, *kept),
        len(lines) - len(kept),
        more,
        "" if newest is None else format_time(newest)[:10],
        tuple(hit.kref for hit in known),
    )


def _frame_chars(project: str) -> int:
    titles = sum(len(title) + 1 for title in _TITLES.values())
    return titles + len(_index_text(READ_ITEMS, shown=True)) + 2 * len(BLOCK) + len(project) + 30


def _whole(stage: Stage, situation: Situation) -> list[ContextLine]:
    """All lines of a stage, or the one that says why they are not there."""
    assert stage.instead is not None
    lines = list(stage.lines(situation))
    if sum(len(line.text) + 1 for line in lines) > HOOK_IDENTITY_CHARS_MAX:
        return [stage.instead(situation, lines)]
    return lines


def _new(stages: Sequence[Stage], situation: Situation) -> list[ContextLine]:
    """The lines of stages, without those that say what another one says."""
    copies = Copies()
    found = []
    for stage in stages:
        for line in stage.lines(situation):
            if copies.of(line, by_words=not stage.distinct) is None:
                copies.add(line, stage.name)
                found.append(line)
    return found


def _fitting(
    lines: Sequence[ContextLine], chars_max: int, situation: Situation
) -> list[ContextLine]:
    """The lines that fit, in order, with what was checked of them; state takes at most half."""
    checked = obligations(lines, situation)
    kept, left, most = list[ContextLine](), chars_max, chars_max // 2
    for line in lines:
        size = len(line.text) + 1
        if size > (min(left, most) if line.section == "state" else left):
            continue  # before a file is looked at
        made = checked(line)
        size = len(made.text) + 1
        if size > (min(left, most) if line.section == "state" else left):
            continue
        kept.append(made)
        left -= size
        most -= size if line.section == "state" else 0
    return kept
