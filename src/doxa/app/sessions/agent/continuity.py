"""The verbs of continuity: exchanges, sessions, topics, handoffs, archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from doxa.app.checks import folder_outside, path_outside, require_writable
from doxa.app.sessions.notes import NoteVerbs
from doxa.base.errors import InputError, NotFoundError, RoleError
from doxa.base.ids import is_below_operator
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.agent.continuity.archive import ArchiveProof, ArchiveRebuilt, ArchiveWritten
    from doxa.agent.continuity.exchanges import ExchangePair, SessionInfo
    from doxa.agent.continuity.handoff import HandoffWritten, SessionKey
    from doxa.agent.continuity.knowledge import KnowledgeEntry, KnowledgeIndexed
    from doxa.agent.continuity.metrics import HookLoad
    from doxa.agent.continuity.topics import TopicInfo
    from doxa.agent.continuity.view import HandoffView, SessionOpened
    from doxa.store import Node, Store


class ContinuityVerbs(NoteVerbs):
    """Made by Session, like the other verbs."""

    def session_open(
        self,
        session: str,
        *,
        thread: str = "",
        mode: str = "",
        title: str = "",
        language: str = "en",
        project: str | None = None,
    ) -> SessionOpened:
        """Begin a session, or go on with it, and return what it begins with.

        A session that stopped less than an hour ago without an end is `resumed`, with its last
        turns. Any other takes the newest handoff that its mode may read. `mode` is chat, booth,
        code or robot, and stays what it was when the session began.
        """
        from doxa.agent.continuity import handoff as handoffs
        from doxa.agent.continuity.exchanges import turns_of, view_of
        from doxa.agent.continuity.modes import check_mode
        from doxa.agent.continuity.view import SessionOpened, check_language, view_of_handoff
        from doxa.agent.records.records import find_record
        from doxa.base.limits import (
            CONSOLIDATE_COMPACTIONS_ITEMS_MIN,
            HANDOFF_WINDOW_ITEMS_MAX,
        )

        key = self._session_key(session, thread, project)
        for value, name in ((mode, "mode"), (title, "title"), (language, "language")):
            arguments.text(value, name)
        check_mode(mode)
        check_language(language)
        with self._store.write(self.identity, op="session_open") as tx:
            known = find_record(tx, key.kref)
            resumed = known is not None and handoffs.is_resumed(known, tx.now)
            record = handoffs.open_session(tx, key, mode=mode, title=title)
            before = handoffs.taken_by(tx, key)
            taken = before if resumed else handoffs.take_handoff(tx, key, mode=mode)
            now, again = tx.now, before is not None
        own = str(record.data["mode"])
        with self._store.read() as reader:
            of_thread = find_record(reader, key.thread_record)
            compactions = int(of_thread.notes.get("compactions", 0)) if of_thread else 0
            return SessionOpened(
                session,
                key.thread,
                own,
                resumed,
                view_of_handoff(reader, taken, language=language, now=now, again=again)
                if taken
                else None,
                tuple(
                    view_of(node)
                    for node in turns_of(
                        reader, key.thread, session=session, limit=HANDOFF_WINDOW_ITEMS_MAX
                    )
                )
                if resumed
                else (),
                compactions >= CONSOLIDATE_COMPACTIONS_ITEMS_MIN,
            )

    def session_list(
        self, *, thread: str = "", mode: str = "", project: str | None = None, limit: int = 20
    ) -> list[SessionInfo]:
        """List sessions with title, modes and times, the one used last first.

        `mode` is that of the reader: chat and booth read each other, code reads code alone.
        """
        from doxa.agent.continuity.exchanges import sessions_of

        place, turns = self._turns(thread, None, mode, project)
        arguments.whole(limit, "limit")
        with self._store.read() as reader:
            return sessions_of(reader, place, turns)[: max(0, limit)]

    def exchange_list(
        self,
        *,
        thread: str = "",
        session: str | None = None,
        mode: str = "",
        project: str | None = None,
        limit: int = 20,
    ) -> list[ExchangePair]:
        """Return the newest exchanges as pairs of what was said and what followed, oldest first.

        The id of a pair is derived from its content. What another channel said within a minute in
        the same words is not repeated. `mode` is that of the reader.
        """
        from doxa.agent.continuity.exchanges import pairs_of

        arguments.whole(limit, "limit")
        _, turns = self._turns(thread, session, mode, project)
        found = pairs_of(turns)
        return found[max(0, len(found) - max(0, limit)) :]

    def topic_list(
        self,
        *,
        thread: str = "",
        session: str | None = None,
        mode: str = "",
        project: str | None = None,
        limit: int = 20,
    ) -> list[TopicInfo]:
        """Return what people come back to, with what goes together and what it belongs to.

        A topic is said in two exchanges or more. `mode` is that of the reader.
        """
        from doxa.agent.continuity.exchanges import pairs_of
        from doxa.agent.continuity.topics import topics_of

        arguments.whole(limit, "limit")
        _, turns = self._turns(thread, session, mode, project)
        return topics_of(pairs_of(turns), turns, limit=max(0, limit))

    # Handoffs

    def handoff_write(
        self,
        session: str,
        *,
        thread: str = "",
        reason: str = "turn",
        mode: str = "",
        project: str | None = None,
    ) -> HandoffWritten:
        """Write where a session stands, for the one after it.

        After a turn it is written once a minute or after three exchanges. At a switch, compaction,
        consolidation, reset or end it is written at once. It replaces the session's last one, and
        nothing is written where nothing was said.
        """
        from doxa.agent.continuity import handoff as handoffs

        key = self._session_key(session, thread, project)
        arguments.text(reason, "reason")
        arguments.text(mode, "mode")
        with self._store.read() as reader:
            is_due, _, upto = handoffs.due(reader, key, reason)
        if not is_due:
            return handoffs.HandoffWritten("", handoffs.why_skipped(reason, upto))
        with self._store.write(self.identity, op="handoff_write") as tx:
            return handoffs.write_handoff(tx, key, reason=reason, mode=mode)

    def handoff_take(
        self,
        session: str,
        *,
        thread: str = "",
        mode: str = "",
        language: str = "en",
        project: str | None = None,
    ) -> HandoffView | None:
        """Take the newest handoff that a session may read: it is handed over once.

        The session that took it gets it again, if it died before it used it. None if there is
        none. Handoffs are of the last seven days.
        """
        from doxa.agent.continuity import handoff as handoffs
        from doxa.agent.continuity.view import check_language, view_of_handoff

        key = self._session_key(session, thread, project)
        arguments.text(language, "language")
        check_language(language)
        arguments.text(mode, "mode")
        with self._store.read() as reader:
            again = handoffs.taken_by(reader, key) is not None
        with self._store.write(self.identity, op="handoff_take") as tx:
            taken = handoffs.take_handoff(tx, key, mode=mode)
            now = tx.now
        if taken is None:
            return None
        with self._store.read() as reader:
            return view_of_handoff(reader, taken, language=language, now=now, again=again)

    def handoff_show(
        self,
        thread: str = "",
        *,
        mode: str = "",
        agent: str = "",
        language: str = "en",
        project: str | None = None,
    ) -> HandoffView | None:
        """Show where a thread stands, as often as wanted; without one, what was handed off last.

        Nothing is consumed. None if there is none that the mode may read.
        """
        from doxa.agent.continuity.handoff import ready_handoffs, thread_handoff
        from doxa.agent.continuity.modes import check_mode, may_read
        from doxa.agent.continuity.view import check_language, view_of_handoff

        place = self._chat_project(project)
        arguments.text(language, "language")
        check_language(language)
        for value, name in ((thread, "thread"), (mode, "mode")):
            arguments.text(value, name)
        reads, own = check_mode(mode), self._agent(agent)
        with self._store.read() as reader:
            if thread:
                found = [thread_handoff(reader, place, own, self._thread(thread, place))]
            else:
                found = [*ready_handoffs(reader, place, own)]
            for one in found:
                if one is not None and may_read(reads, (str(one.data["mode"]),)):
                    return view_of_handoff(reader, one, language=language, now=reader.now)
        return None

    def handoff_quarantine(
        self,
        handoff: str,
        *,
        release: bool = False,
        reason: str = "",
        language: str = "en",
        project: str | None = None,
    ) -> HandoffView:
        """Keep a handoff from being handed over, or release it.

        An agent may quarantine its own, for one that nobody has taken; releasing needs the operator
        role. One of which nothing can be read is quarantined when it is asked for.
        """
        from doxa.agent.continuity.handoff import quarantine
        from doxa.agent.continuity.view import check_language, view_of_handoff

        for value, name in ((handoff, "handoff"), (reason, "reason"), (language, "language")):
            arguments.text(value, name)
        check_language(language)
        arguments.flags(release=release)
        self._chat_project(project)
        with self._store.write(self.identity, op="handoff_quarantine") as tx:
            moved = quarantine(tx, handoff, release=release, why=reason)
            now = tx.now
        with self._store.read() as reader:
            return view_of_handoff(reader, moved, language=language, now=now)

    # Knowledge

    def knowledge_root(
        self,
        folder: str | Path,
        *,
        remove: bool = False,
        agent: str = "",
        project: str | None = None,
    ) -> str:
        """Declare a folder whose files an agent may read, or withdraw it; returns its address.

        Needs the operator role.
        """
        from doxa.agent.continuity.knowledge import checked_folder, declare_root

        arguments.flags(remove=remove)
        self._require_operator("declare a folder")
        place = self._chat_project(project)
        given = folder_outside(folder, "folder", self._store)
        found = given.resolve() if remove else checked_folder(given)
        with self._store.write(self.identity, op="knowledge_root") as tx:
            return declare_root(tx, place, self._agent(agent), found, remove=remove).kref

    def knowledge_index(
        self, folder: str | Path, *, project: str | None = None
    ) -> KnowledgeIndexed:
        """Read the Markdown and text files below a declared folder, section by section.

        Files are only read. A section that changed supersedes its earlier text; one that is in the
        file no more is gone. Links and hidden files are left out.
        """
        from doxa.agent.continuity.knowledge import checked_folder, index

        place = self._chat_project(project)
        found = checked_folder(arguments.path(folder, "folder"))
        done: KnowledgeIndexed = index(
            self._store, self.identity, place, self.identity.actor, found
        )
        return done

    def knowledge_list(
        self,
        text: str = "",
        *,
        every: bool = False,
        agent: str = "",
        project: str | None = None,
        limit: int = 20,
    ) -> list[KnowledgeEntry]:
        """List sections of files, those that share most words with a text first.

        `every` also lists what is superseded or gone.
        """
        from doxa.agent.continuity.knowledge import entries_of

        arguments.text(text, "text")
        arguments.flags(every=every)
        arguments.whole(limit, "limit")
        place = self._chat_project(project)
        with self._store.read() as reader:
            return entries_of(
                reader, place, self._agent(agent), text=text, every=every, limit=max(0, limit)
            )

    def knowledge_recall(
        self, text: str, *, project: str | None = None, limit: int = 3
    ) -> list[KnowledgeEntry]:
        """Return what files say about a text, cut to what goes into a prompt, and count it.

        Sections that share most words with the text, at most 600 characters each. How often and
        when a section was shown is in `surfaced` and `surfaced_last`.
        """
        from doxa.agent.continuity.knowledge import recall

        arguments.text(text, "text")
        arguments.whole(limit, "limit")
        place, own = self._chat_project(project), self.identity.actor
        return recall(self._store, self.identity, place, own, text, limit=max(0, limit))

    # Archive

    def archive_write(self, *, agent: str = "") -> ArchiveWritten:
        """Archive what an agent stored since the last time: one file a day, next to the memory.

        Every turn, verbatim, is a line of a chain of hashes. What was erased is taken out of the
        lines, and the chain holds.
        """
        from doxa.agent.continuity.archive import write_archive

        source, own = self._whole("archive_write"), self._agent(agent, own=True)
        require_writable(source)
        return write_archive(source, own)

    def archive_verify(self, *, agent: str = "") -> ArchiveProof:
        """Check the chain of an archive, and every line against the log of the memory."""
        from doxa.agent.continuity.archive import verify_archive

        return verify_archive(self._whole("archive_verify"), self._agent(agent, own=True))

    def archive_rebuild(self, target: str | Path, *, agent: str = "") -> ArchiveRebuilt:
        """Make a new memory file from an archive, and compare the digests of both.

        The digest is over turns, pairs, sessions, topics and knowledge. Needs the operator role.
        """
        from doxa.agent.continuity.archive import continuity_digest
        from doxa.agent.continuity.rebuilding import rebuild
        from doxa.app.file import new_store

        source, own = self._whole("archive_rebuild"), self._agent(agent)
        self._require_operator("rebuild a memory")
        path = path_outside(target, "target", self._store)
        if path.exists():
            raise InputError(
                f"{path} exists already.", next_step="Name a new file.", field="target"
            )
        with new_store(path, clock=source.clock) as made:
            turns, records = rebuild(source, own, made)
            with source.read() as before, made.read() as after:
                digests = [continuity_digest(reader, own) for reader in (before, after)]
        source.note_copy(path, kind="export")
        return _rebuilt(own, path, turns, records, digests)

    def hook_report(self) -> list[HookLoad]:
        """Return how long hooks of agent hosts took, by host and event, against their budgets."""
        from doxa.agent.continuity.metrics import report
        from doxa.base.files.places import agents_folder

        return report(agents_folder(Path(self._whole("hook_report").path)))

    # What these share

    def _whole(self, what: str) -> Store:
        self._store.require_open()
        self._store.require_whole(what)
        return self._store

    def _require_operator(self, what: str) -> None:
        if is_below_operator(self.identity.role):
            raise RoleError(
                f"Only an operator may {what}.",
                next_step="Ask the operator.",
                role=self.identity.role,
                needed="operator",
            )

    def _session_key(self, session: str, thread: str, project: str | None) -> SessionKey:
        from doxa.agent.continuity.handoff import SessionKey

        arguments.text(session, "session")
        arguments.text(thread, "thread")
        if not session:
            raise InputError(
                "A session has a name.",
                next_step="Give the host's id of the conversation.",
                field="session",
            )
        place = self._chat_project(project)
        return SessionKey(
            place, self.identity.actor, self._thread(thread or session, place), session
        )

    def _thread(self, thread: str, project: str) -> str:
        """The address of a thread of the project: as it is given, or of its name."""
        from doxa.belief import parse_kref, place_of
        from doxa.ingestion.threads import CONVERSATIONS, thread_kref

        if thread.startswith("kref://"):
            found = parse_kref(thread).item()
            if (found.project, found.kind) != (project, "thread"):
                raise InputError(
                    f"{thread[:200]} is not the address of a thread of {project}.",
                    next_step="Give its name, or its address from session_list.",
                    field="thread",
                )
            return str(found)
        return str(thread_kref(place_of(project, CONVERSATIONS), thread))

    def _turns(
        self, thread: str, session: str | None, mode: str, project: str | None
    ) -> tuple[str, list[Node]]:
        """The project, and the turns of a thread or of the whole that a mode may read."""
        from doxa.agent.continuity.exchanges import readable_turns, turns_of, turns_of_project

        place = self._chat_project(project)
        for value, name in ((thread, "thread"), (session or "", "session"), (mode, "mode")):
            arguments.text(value, name)
        with self._store.read() as reader:
            if thread:
                kref = self._thread(thread, place)
                if reader.node_by_kref(kref) is None:
                    raise NotFoundError(
                        f"There is no thread at {kref}.",
                        next_step="List sessions with session_list.",
                        kref=kref,
                    )
                turns = turns_of(reader, kref, session=session)
            else:
                turns = turns_of_project(reader, place)
                if session is not None:
                    turns = [one for one in turns if one.props.get("session") == session]
            return place, readable_turns(reader, place, turns, mode)

    def _agent(self, agent: str, *, own: bool = False) -> str:
        """The agent that a call means: the session's actor, or the one that is named. With `own`,
        only an operator may name another."""
        from doxa.belief import check_name

        arguments.text(agent, "agent")
        if not agent or agent == self.identity.actor:
            return self.identity.actor
        if own and is_below_operator(self.identity.role):
            raise RoleError(
                f"{self.identity.actor} may not do this for the agent {agent[:80]}.",
                next_step="Ask the operator.",
                role=self.identity.role,
                needed="operator",
            )
        return check_name(agent, what="agent")


def _rebuilt(
    agent: str, path: Path, turns: int, records: int, digests: list[str]
) -> ArchiveRebuilt:
    from doxa.agent.continuity.archive import ArchiveRebuilt

    equal = digests[0] == digests[1]
    return ArchiveRebuilt(agent, str(path), turns, records, digests[1], equal)
