"""The one way of an event: into the spool, durably; then what is injected; then, after the answer
to the host, out of the spool into the memory.

    handle   spool -> brief or recall -> Injection
    settle   the spool into the memory, with what the user said traced (capture.py)

A hook never fails its host: what goes wrong here is the caller's to note, and the answer is empty.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from doxa.agent.context.beliefs import belief_line
from doxa.agent.context.obligations import obligations
from doxa.agent.context.recalled import recalled
from doxa.agent.context.stages import Situation
from doxa.agent.context.trivial import is_trivial
from doxa.agent.continuity.metrics import measured
from doxa.agent.continuity.modes import default_mode, mode_of_host
from doxa.app import Session
from doxa.app.sessions.agent.context import situation_of
from doxa.base.clock import format_time
from doxa.base.files.places import agents_folder
from doxa.base.limits import HOOK_PROMPT_CHARS_MAX
from doxa.hosts.capture import Captured, capture, in_project
from doxa.hosts.continuity import Handed, begun, ended
from doxa.hosts.events import EMPTIED, HookEvent, Injection, digest_of
from doxa.hosts.spool import SessionState, Spool
from doxa.recall import Hit
from doxa.redaction.stripping import BLOCK, stripped

_LINE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The hooks of one opened memory. `session` is the agent's, in whose name messages are
    stored; without `capturing`, events are answered and not stored."""

    session: Session
    spool: Spool
    capturing: bool = True

    def handle(self, event: HookEvent, project: str) -> Injection:
        """Take an event, durably, and return what is injected."""
        folder = agents_folder(Path(self.session.memory.store.path))
        with measured(folder, event.kind, event.host):
            return self._handle(event, project)

    def _handle(self, event: HookEvent, project: str) -> Injection:
        state = self.spool.session(event.session)
        if self.capturing:
            self.spool.append(event, project)
        own = in_project(self.session, project)
        now = time.time_ns()
        if event.kind == "open":
            self.settle()
            made = self._opened(own, event, state)
        elif event.kind == "prompt":
            made = self._asked(own, event, state)
        else:
            made = Injection()
        if event.kind == "close" and self.capturing:
            self.settle()
            ended(own, event, project)
        state.project, state.opened, state.last = project, state.opened or now, now
        self.spool.keep(event.session, state)
        return made

    def settle(self) -> Captured:
        """Store what waits in the spool."""
        return capture(self.session, self.spool)

    def _opened(self, own: Session, event: HookEvent, state: SessionState) -> Injection:
        """The brief, in a conversation that goes on the lines that it began with; and where the
        conversation before stood."""
        from doxa.hosts.brief import EarlierBrief, brief  # prompts, which are more, need none

        mode = mode_of_host(event.host)
        if event.source in EMPTIED or not (state.brief or state.beliefs):
            state.since = self.spool.last_conversation(own.project, without=event.session)
            state.briefed = time.time_ns()
            made = brief(own, mode=mode, since_ns=state.since)
            state.brief = [line.digest for line in made.lines]
            state.given = [digest_of(line.kref) for line in made.lines if line.kref]
            state.beliefs = made.beliefs
        else:
            earlier = EarlierBrief(state.brief, state.beliefs, state.briefed or state.last)
            made = brief(own, mode=mode, since_ns=state.since, earlier=earlier)
        block = made.block()
        handed = begun(own, event, made) if self.capturing else Handed()
        state.given += [digest_of(one) for one in handed.krefs if digest_of(one) not in state.given]
        if not block:
            return Injection(handed.block)
        newest = f", newest {made.newest}" if made.newest else ""
        count = f"{len(made.lines)} line{'' if len(made.lines) == 1 else 's'}"
        notice = f"doxa: project {own.project}, {count} of memory{newest}"
        return Injection("\n".join(filter(None, (block, handed.block))), notice)

    def _asked(self, own: Session, event: HookEvent, state: SessionState) -> Injection:
        """What memory holds about a prompt and has not brought into this conversation yet."""
        mode = mode_of_host(event.host)
        block, shown = asked(own, event.text, mode=mode, given=state.given)
        if not shown:
            return Injection()
        state.given += [digest_of(hit.kref) for hit in shown]
        newest = format_time(max(hit.time for hit in shown))[:10]
        return Injection(block, f"doxa: recalled {len(shown)}, newest {newest}")


def asked(
    own: Session, prompt: str, *, mode: str = "", given: Collection[str] = ()
) -> tuple[str, list[Hit]]:
    """Return what memory holds about a prompt as a block that may be injected in a conversation of
    a mode, and the beliefs in it. `given` are the digests of the addresses of those that the
    conversation has already. ("", []) if there is nothing to say."""
    question = stripped(prompt)
    if is_trivial(question):
        return "", []
    situation = situation_of(own, mode=mode or default_mode(), given=frozenset(given), machine=True)
    found = recalled(situation, question)
    lines, shown = _lines(found.hits, found.others, situation)
    if not shown:
        return "", []
    return "\n".join((f"<{BLOCK}>", *lines, f"</{BLOCK}>")), shown


def _lines(hits: list[Hit], others: int, situation: Situation) -> tuple[list[str], list[Hit]]:
    """The lines that fit into the budget, with what was checked of them, and their beliefs."""
    head = "Memory holds, verified or stated by the user:"
    more = "entry" if others == 1 else "entries"
    tail = [f"{others} {more} of other trust; memory_recall shows them."] if others else []
    left = HOOK_PROMPT_CHARS_MAX - len(head) - 2 * len(BLOCK) - 10 - sum(map(len, tail))
    lines, shown = [head], []
    found = [belief_line(hit, "recall", chars_max=_LINE_CHARS) for hit in hits]
    checked = obligations(found, situation)
    for hit, one in zip(hits, found, strict=True):
        line = checked(one).text if len(one.text) + 1 <= left else one.text
        if len(line) + 1 <= left:
            lines.append(line)
            shown.append(hit)
            left -= len(line) + 1
    return [*lines, *tail], shown
