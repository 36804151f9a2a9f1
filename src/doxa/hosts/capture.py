"""Store what hooks have seen: spooled lines become turns of a conversation.

The address of a turn is derived from the host's conversation, the role and the text, without a
time: a line that is stored again after a crash, or that two hosts report (Cursor runs the hooks of
Claude Code too), is known already.

A belief that the agent stated in the conversation gets an edge DERIVED_FROM to the message of the
user that says the same, if there is one: so that it can be distinguished from one that the agent
made up or read elsewhere (`agent/context/vouching.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from doxa.agent.context.saying import says
from doxa.agent.context.vouching import BELIEF_KINDS, said_by_user
from doxa.app import Session
from doxa.base.errors import DoxaError
from doxa.belief import parse_kref
from doxa.hosts import continuity
from doxa.hosts.spool import Spool, Spooled
from doxa.ingestion.batches import store_what_can
from doxa.ingestion.threads import CONVERSATIONS
from doxa.language.turns import Turn, TurnRole, untimed_id
from doxa.recall import Hit

_ROLES: dict[str, TurnRole] = {
    "prompt": "user",
    "answer": "assistant",
    "compaction": "assistant",
    "tool": "tool",
}
_RECENT_ITEMS = 20
_BEFORE_NS = 3_600_000_000_000  # what an agent stated up to an hour before its messages are stored


@dataclass(frozen=True, slots=True)
class Captured:
    """How many turns were new, how many beliefs were traced to a message of the user, and whether
    another process was storing at the time."""

    added: int = 0
    traced: int = 0
    busy: bool = False


def in_project(session: Session, project: str) -> Session:
    """Return the same identity in another project of the file."""
    if session.project == project:
        return session
    return Session(session.memory, session.identity, project, session.context)


def capture(session: Session, spool: Spool) -> Captured:
    """Store everything that waits in the spool; each project in one transaction per 500 turns."""
    if not spool.waiting():
        return Captured()
    added = traced = 0
    hosts: set[str] = set()
    with spool.draining() as mine:
        if not mine:
            return Captured(busy=True)
        for path in spool.take():
            by_project: dict[str, list[Spooled]] = defaultdict(list)
            for line in spool.read(path):
                by_project[line.project].append(line)
            for project, lines in by_project.items():
                done = store_what_can(
                    lines,
                    partial(store_lines, session, project),
                    lambda line, error: spool.set_aside(line, error.message),
                )
                added += sum(one.added for one in done)
                traced += sum(one.traced for one in done)
                continuity.stored(session, project, lines)
                hosts |= {line.host for line in lines}
            spool.finish(path)
    continuity.archived(session, sorted(hosts))
    session.memory.wake()
    return Captured(added, traced)


def store_lines(session: Session, project: str, lines: Sequence[Spooled]) -> Captured:
    """Store what was said in a project, in one transaction per 500 turns, and trace what the agent
    stated meanwhile. What is known already stays as it is."""
    from doxa.ingestion.ingest import Ingest  # not before a turn is stored

    turns = _turns(lines)
    job = Ingest(session.memory.store, session.identity, project=project)
    return Captured(job.run_identified(turns).added, _trace(session, project, turns))


def _turns(lines: Sequence[Spooled]) -> list[tuple[str, Turn]]:
    found: dict[str, Turn] = {}
    threads = {line.session: continuity.conversation_of(line.session) for line in lines}
    for line in lines:
        role = _ROLES.get(line.kind, "tool")
        speaker = f"{line.host} summary" if line.kind == "compaction" else line.tool or role
        turn = Turn(
            thread=threads[line.session],
            session=threads[line.session],
            speaker=speaker,
            role=role,
            text=line.text,
            time_ns=line.time,
            source_id=line.host,
        )
        found.setdefault(untimed_id(turn), turn)
    return list(found.items())


def _trace(session: Session, project: str, turns: list[tuple[str, Turn]]) -> int:
    """Link what the agent stated meanwhile to the messages of the user that say it: those that are
    stored now, and those of the same conversations that were stored before the agent stated it."""
    if not turns:
        return 0
    since = min(turn.time_ns or 0 for _, turn in turns) - _BEFORE_NS
    own = in_project(session, project)
    held = [
        hit
        for hit in own.recent(kinds=BELIEF_KINDS, limit=_RECENT_ITEMS)
        if hit.recorded >= since and hit.trust in ("stated", "candidate")
    ]
    with session.memory.store.read() as reader:
        nodes = {hit.kref: reader.node_by_kref(hit.kref) for hit in held}
        known = {kref for kref, node in nodes.items() if node and said_by_user(reader, node)}
    untraced = [hit for hit in held if hit.trust == "stated" and hit.kref not in known]
    spoken = _spoken(own, turns, since) if untraced else {}
    count = 0
    for hit in untraced:
        for address, text in spoken.items():
            if says(text, hit.text):
                with suppress(DoxaError):  # where rules of the file refuse it, it stays untraced
                    own.link(hit.kref, address, kind="DERIVED_FROM")
                    count += 1
                    _retire_candidates(own, held, hit, address)
                break
    return count


def _spoken(own: Session, turns: list[tuple[str, Turn]], since: int) -> dict[str, str]:
    """The addresses and texts of the user's messages: those of these turns, then the latest that
    their conversations have in memory."""
    place = f"kref://{own.project}/{CONVERSATIONS}"
    found = {f"{place}/{one}.exchange": turn.text for one, turn in turns if turn.role == "user"}
    threads = {f"{place}/{turn.thread}.thread" for _, turn in turns}
    for hit in own.recent(kinds=("exchange",), limit=_RECENT_ITEMS):
        if hit.source in threads and hit.recorded >= since and hit.speaker == "user":
            found.setdefault(hit.kref, hit.text)
    return found


def _retire_candidates(own: Session, held: list[Hit], stated: Hit, address: str) -> None:
    """Retire the candidates that a rule read from the same sentence: the agent has stated it, and
    what it later revises must not stay believed in the rule's words."""
    for hit in held:
        same = hit.trust == "candidate" and hit.source == address
        if same and (says(hit.text, stated.text) or says(stated.text, hit.text)):
            own.deprecate(parse_kref(hit.kref).item())
