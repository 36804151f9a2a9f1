"""Handoffs: where a session stood, so that the next one goes on from there.

    write   after a turn, if one is due; at a switch, a compaction, a reset or the end at once
    take    once: the transaction that reads a handoff consumes it, in the name of the session that
            asks. The same session gets the same handoff again: it may have died before it used it
    show    the last handoff of a thread, as often as wanted

A handoff states no words. It says which session it is of and until when, and what it shows is read
from the stored turns of then: an erased turn is in no handoff (view.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from doxa.agent.continuity.exchanges import digest_name, turns_of
from doxa.agent.continuity.modes import check_mode, may_read
from doxa.agent.continuity.types import HANDOFF, SESSION, TAKEN_BY, THREAD
from doxa.agent.records.records import (
    find_record,
    move_record,
    note_record,
    read_record,
    record_kref,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.base.clock import NS
from doxa.base.errors import InputError, NotFoundError
from doxa.base.limits import (
    CONSOLIDATE_COMPACTIONS_ITEMS_MIN,
    CONTINUITY_TURNS_ITEMS_MAX,
    HANDOFF_EXCHANGES_ITEMS_MIN,
    HANDOFF_ORPHANED_S,
    HANDOFF_PAUSE_S,
    HANDOFF_WINDOW_ITEMS_MAX,
    RESUME_S_MAX,
)
from doxa.store import Reader, Transaction

Reason = Literal["turn", "switch", "compaction", "consolidation", "reset", "end"]
REASONS: tuple[Reason, ...] = ("turn", "switch", "compaction", "consolidation", "reset", "end")
_READY_MAX = 50


@dataclass(frozen=True, slots=True)
class HandoffWritten:
    """What `handoff_write` did. `kref` is "" where none was due, `skipped` says why. `exchanges` is
    how many the session has had up to the handoff. `consolidate`: the thread was compacted so often
    that its next session is to begin from what is consolidated."""

    kref: str
    skipped: str = ""
    exchanges: int = 0
    compactions: int = 0
    consolidate: bool = False


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A conversation of an agent: its project, the address of its thread, and its name."""

    project: str
    agent: str
    thread: str
    session: str

    @property
    def name(self) -> str:
        return digest_name(self.thread, self.session)

    @property
    def kref(self) -> str:
        """The address of the record of the session."""
        return record_kref(self.project, self.agent, SESSION, self.name)

    @property
    def thread_record(self) -> str:
        """The address of the record of the thread."""
        return record_kref(self.project, self.agent, THREAD, digest_name(self.thread))


def open_session(tx: Transaction, key: SessionKey, *, mode: str = "", title: str = "") -> Record:
    """Return the record of a session, made or opened again. Its mode and title stay those that it
    began with."""
    known = find_record(tx, key.kref)
    if known is None:
        return write_record(
            tx,
            project=key.project,
            agent=key.agent,
            kind=SESSION,
            name=key.name,
            state="open",
            data={
                "thread": key.thread,
                "session": key.session,
                "mode": check_mode(mode),
                "title": title,
            },
            notes={"exchanges": 0, "counted": 0, "opened_ns": tx.now},
        )
    return known if known.state == "open" else move_record(tx, known.kref, "open")


def is_resumed(record: Record, now: int) -> bool:
    """Return whether a session goes on that stopped less than an hour ago without an end: a crash
    of the host, after which its context holds what it was handed already."""
    last = record.notes.get("checkpoint_ns")
    return record.state == "open" and isinstance(last, int) and now - last < RESUME_S_MAX * NS


def due(reader: Reader, key: SessionKey, reason: str) -> tuple[bool, int, int]:
    """Return whether a handoff is due, how many exchanges are new since the last one, and up to
    which node they were counted."""
    if reason not in REASONS:
        raise InputError(
            f"{reason[:40]!r} is not a reason for a handoff.",
            next_step=f"Use one of {', '.join(REASONS)}.",
            field="reason",
        )
    known = find_record(reader, key.kref)
    counted = int(known.notes.get("counted", 0)) if known else 0
    new, upto = _new_exchanges(reader, key, counted)
    if reason == "end" and known is not None and known.state == "ended" and upto <= counted:
        return False, 0, counted  # it ended already, with all that was said
    if reason != "turn":
        return upto > 0 or counted > 0, new, max(upto, counted)
    last = int(known.notes.get("checkpoint_ns", 0)) if known else 0
    waited = reader.now - last >= HANDOFF_PAUSE_S * NS
    is_due = new > 0 and (waited or new >= HANDOFF_EXCHANGES_ITEMS_MIN)
    return is_due, new, max(upto, counted)


def _new_exchanges(reader: Reader, key: SessionKey, counted: int) -> tuple[int, int]:
    """How many messages of people a session has got since a node, and the last turn."""
    thread = reader.node_by_kref(key.thread)
    if thread is None:
        return 0, 0
    ((new, upto),) = reader.rows(
        "SELECT sum(n.props ->> '$.role' IN ('user', 'person')), max(e.dst) FROM (SELECT dst FROM"
        " edge WHERE src = ? AND type = 'HAS_EXCHANGE' AND dst > ? ORDER BY dst DESC LIMIT ?) e"
        " JOIN node n ON n.id = e.dst WHERE n.props ->> '$.session' = ?",
        (thread.id, counted, CONTINUITY_TURNS_ITEMS_MAX, key.session),
    )
    return int(new or 0), int(upto or 0)


def write_handoff(
    tx: Transaction, key: SessionKey, *, reason: str = "turn", mode: str = ""
) -> HandoffWritten:
    """Write the handoff of a session, in place of its last one, and note it on session and thread.
    After a turn only where one is due."""
    is_due, new, upto = due(tx, key, reason)
    if not is_due:
        return HandoffWritten("", why_skipped(reason, upto))
    known = find_record(tx, key.kref)
    has_ended = reason == "end" and known is not None and known.state == "ended"
    session = known if known and has_ended else open_session(tx, key, mode=mode)
    thread = find_record(tx, key.thread_record)
    compactions = int(thread.notes.get("compactions", 0)) if thread else 0
    compactions += reason == "compaction"
    if reason in ("consolidation", "reset"):
        compactions = 0
    exchanges = int(session.notes.get("exchanges", 0)) + new
    made = write_record(
        tx,
        project=key.project,
        agent=key.agent,
        kind=HANDOFF,
        name=f"{tx.now:020d}-{key.name}",
        state="ready",
        data={
            "thread": key.thread,
            "session": key.session,
            "mode": session.data["mode"],
            "reason": reason,
            "exchanges": exchanges,
            "compactions": compactions,
            "until_ns": tx.now,
        },
        about=(key.thread,),
    )
    _supersede(tx, str(session.notes.get("handoff", "")))
    note_record(
        tx,
        session.kref,
        {
            "exchanges": exchanges,
            "counted": upto,
            "handoff": made.kref,
            "checkpoint_ns": tx.now,
            "compactions": int(session.notes.get("compactions", 0)) + (reason == "compaction"),
        },
    )
    if reason == "end" and not has_ended:
        move_record(tx, session.kref, "ended")
    _note_thread(tx, key, thread, handoff=made.kref, compactions=compactions)
    consolidate = compactions >= CONSOLIDATE_COMPACTIONS_ITEMS_MIN
    return HandoffWritten(made.kref, "", exchanges, compactions, consolidate)


def why_skipped(reason: str, upto: int) -> str:
    """Return why a handoff that is not due is not written, in words."""
    if not upto:
        return "nothing was said"
    return "the session ended already" if reason == "end" else "one was written just now"


def _supersede(tx: Transaction, kref: str) -> None:
    known = find_record(tx, kref) if kref else None
    if known is not None and known.state == "ready":
        move_record(tx, kref, "superseded")


def _note_thread(
    tx: Transaction, key: SessionKey, known: Record | None, *, handoff: str, compactions: int
) -> None:
    notes = {"handoff": handoff, "compactions": compactions}
    if known is not None:
        note_record(tx, known.kref, notes)
        return
    write_record(
        tx,
        project=key.project,
        agent=key.agent,
        kind=THREAD,
        name=digest_name(key.thread),
        state="kept",
        data={"thread": key.thread},
        notes=notes,
    )


def ready_handoffs(
    reader: Reader, project: str, agent: str, *, limit: int = _READY_MAX
) -> list[Record]:
    """Return the handoffs of the last week that nobody has taken, the newest first."""
    base = record_kref(project, agent, HANDOFF, "0").removesuffix("0.record")
    since = max(0, reader.now - HANDOFF_ORPHANED_S * NS)
    rows = reader.rows(
        "SELECT id FROM node WHERE kref > ? AND kref < ? AND props ->> '$.state' = 'ready' ORDER BY"
        " kref DESC LIMIT ?",
        (f"{base}{since:020d}", base + "\U0010ffff", limit),
    )
    nodes = {node.id: node for node in reader.nodes([row[0] for row in rows])}
    return [read_record(nodes[row[0]]) for row in rows if row[0] in nodes]


def taken_by(reader: Reader, key: SessionKey) -> Record | None:
    """Return the handoff that a session took already."""
    session = find_record(reader, key.kref)
    kref = str(session.notes.get("took", "")) if session else ""
    return find_record(reader, kref) if kref else None


def take_handoff(tx: Transaction, key: SessionKey, *, mode: str = "") -> Record | None:
    """Consume the newest handoff that a session may read, and return it; None if there is none. Its
    own is none. A session that took one gets that again. One of which nothing can be read is
    quarantined and passed over."""
    known = taken_by(tx, key)
    if known is not None:
        return known
    session = open_session(tx, key, mode=mode)
    reads = str(session.data["mode"])
    for one in ready_handoffs(tx, key.project, key.agent):
        if (one.data["thread"], one.data["session"]) == (key.thread, key.session):
            continue
        if not may_read(reads, (str(one.data["mode"]),)):
            continue
        if not _is_readable(tx, one):
            move_record(tx, one.kref, "quarantined", said="none of its turns can be read")
            continue
        note_record(tx, one.kref, {TAKEN_BY: key.session, "taken_ns": tx.now})
        taken = move_record(tx, one.kref, "consumed", expected=("ready",))
        note_record(tx, session.kref, {"took": one.kref})
        return taken
    return None


def _is_readable(reader: Reader, record: Record) -> bool:
    return bool(
        turns_of(
            reader,
            str(record.data["thread"]),
            session=str(record.data["session"]),
            until=int(record.data["until_ns"]),
            limit=HANDOFF_WINDOW_ITEMS_MAX,
        )
    )


def quarantine(tx: Transaction, kref: str, *, release: bool = False, why: str = "") -> Record:
    """Keep a handoff that nobody has taken from being handed over, or release it."""
    known = find_record(tx, kref)
    if known is None or known.type != HANDOFF:
        raise NotFoundError(
            f"There is no handoff at {kref[:300]}.",
            next_step="Take the address from handoff_show.",
            kref=kref,
        )
    if release:
        return move_record(tx, kref, "ready", expected=("quarantined",), said=why)
    return move_record(tx, kref, "quarantined", expected=("ready",), said=why)


def thread_handoff(reader: Reader, project: str, agent: str, thread: str) -> Record | None:
    """Return the last handoff of a thread, taken or not."""
    known = find_record(reader, record_kref(project, agent, THREAD, digest_name(thread)))
    kref = str(known.notes.get("handoff", "")) if known else ""
    return find_record(reader, kref) if kref else None
