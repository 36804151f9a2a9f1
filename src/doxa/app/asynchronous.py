"""The same verbs, awaited. Generated from the verb table by `python -m doxa.app.twin`.

Each call runs on a thread, so that there is one implementation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, Unpack

from doxa.app.memory import Memory, open_memory

if TYPE_CHECKING:
    from pathlib import Path

    from doxa.app.config import Config
    from doxa.app.session import History, Session
    from doxa.app.verbs.options import (
        EventOptions,
        Facts,
        IngestOptions,
        OpenOptions,
        PlacedOptions,
        RecallOptions,
        RememberOptions,
        StatementOptions,
        Time,
    )
    from doxa.audit import MemoryAudit
    from doxa.base.ids import Role
    from doxa.belief import (
        Bundle,
        Change,
        Conflict,
        Exchange,
        Explanation,
        Kref,
        Listing,
        Place,
        Revision,
        Walk,
    )
    from doxa.consolidation.consolidate import Consolidated
    from doxa.consolidation.queue import Pending
    from doxa.consolidation.tasks import Task
    from doxa.dream import DreamReport
    from doxa.dream.nightshift import Shift
    from doxa.events import AsyncEventStream
    from doxa.ingestion.extraction import Extracted
    from doxa.ingestion.ingest import Ingested
    from doxa.ingestion.match import MatchResult
    from doxa.ingestion.remember import Remembered
    from doxa.jobs import Applied, JobProposal, RunInfo, Undone
    from doxa.language.turns import Turn
    from doxa.maintenance.doctor import HealthCheck
    from doxa.maintenance.embedding import Reembedding
    from doxa.maintenance.erasure_proof import ErasureProof
    from doxa.maintenance.forget import Forgotten
    from doxa.maintenance.holds import LegalHold
    from doxa.models.meter import Spend
    from doxa.query.result import GraphResult
    from doxa.query.session import GraphSession
    from doxa.recall import Hit, Recall
    from doxa.store import Identity, LogProof, Receipt
    from doxa.store.retention.dropping import Dropped
    from doxa.store.scope.quota import Quota
    from doxa.store.stream.cursors import EventCursor
    from doxa.transfer.types import Imported
    from doxa.working import Chat, ChatAdded, ChatSummary

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LINES = 500  # of an export that one thread reads at a time


async def _on_thread(call: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
    import asyncio  # a synchronous user does not pay for it

    return await asyncio.to_thread(call, *args, **options)


class AsyncSession:
    """A Session whose verbs are awaited."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def identity(self) -> Identity:
        return self._session.identity

    @property
    def project(self) -> str:
        return self._session.project

    @property
    def context(self) -> dict[str, Any]:
        return self._session.context

    async def graph(self, context: Mapping[str, Any] | None = None) -> GraphSession:
        """Open a Cypher session: results that stream, and transactions of several statements."""
        return await _on_thread(self._session.graph, context)

    def events(self, **options: Unpack[EventOptions]) -> AsyncEventStream:
        """Iterate over what was committed, in order, as events derived from the log."""
        from doxa.events import AsyncEventStream

        return AsyncEventStream(lambda: self._session.events(**options))

    async def ingest(
        self,
        source: str | Path | Iterable[Turn | Mapping[str, object]],
        *,
        progress: Callable[[int], None] | None = None,
        **options: Unpack[IngestOptions],
    ) -> Ingested:
        """Ingest a conversation: a file or folder, or messages."""
        return await _on_thread(self._session.ingest, source, progress=progress, **options)

    async def recall(self, text: str, **options: Unpack[RecallOptions]) -> Recall:
        """Find the best answers among what memory believes and what was said."""
        return await _on_thread(self._session.recall, text, **options)

    async def get(
        self, kref: str | Kref, *, reveal: bool = False
    ) -> Revision | Exchange | Place | Bundle | Conflict:
        """Return what an address means now, or at its pin."""
        return await _on_thread(self._session.get, kref, reveal=reveal)

    async def contents(
        self, kref: str | Kref = "", *, limit: int = 100, after: str = ""
    ) -> Listing:
        """List what is directly in a project, space or thread; without an address, the projects."""
        return await _on_thread(self._session.contents, kref, limit=limit, after=after)

    async def recent(
        self, *, project: str | None = None, kinds: Iterable[str] = (), limit: int = 10
    ) -> list[Hit]:
        """List what was last said or stated and is still believed, newest first."""
        return await _on_thread(self._session.recent, project=project, kinds=kinds, limit=limit)

    async def match(
        self,
        text: str,
        *,
        project: str | None = None,
        space: str = "",
        kinds: Iterable[str] = (),
        speaker: str = "",
        limit: int = 10,
    ) -> MatchResult:
        """Find which beliefs a plain sentence is about, and what it asks for."""
        return await _on_thread(
            self._session.match,
            text,
            project=project,
            space=space,
            kinds=kinds,
            speaker=speaker,
            limit=limit,
        )

    async def remember(self, text: str, **options: Unpack[StatementOptions]) -> Remembered:
        """State one belief; one that says the same is not stored twice."""
        return await _on_thread(self._session.remember, text, **options)

    async def tell(
        self,
        text: str,
        *,
        project: str | None = None,
        space: str = "",
        kind: str = "fact",
        trust: str = "stated",
        facts: Facts = (),
        dry_run: bool = False,
    ) -> Change:
        """State something in plain words: revise, challenge or remember."""
        return await _on_thread(
            self._session.tell,
            text,
            project=project,
            space=space,
            kind=kind,
            trust=trust,
            facts=facts,
            dry_run=dry_run,
        )

    async def revise(
        self,
        what: str | Kref | Sequence[object] | Mapping[str, object],
        text: str = "",
        *,
        item: str | Kref | None = None,
        expect: int | None = None,
        again: bool = False,
        dry_run: bool = False,
        **options: Unpack[PlacedOptions],
    ) -> Change:
        """Believe something, and retract what contradicts it anywhere in the project."""
        return await _on_thread(
            self._session.revise,
            what,
            text,
            item=item,
            expect=expect,
            again=again,
            dry_run=dry_run,
            **options,
        )

    async def expand(self, text: str, **options: Unpack[RememberOptions]) -> Change:
        """Add one belief, and refuse it if it contradicts anything or exists already."""
        return await _on_thread(self._session.expand, text, **options)

    async def supersede(
        self, kref: str | Kref, text: str, **options: Unpack[PlacedOptions]
    ) -> Change:
        """Replace a belief, under its own address or a new one."""
        return await _on_thread(self._session.supersede, kref, text, **options)

    async def contract(
        self,
        what: str | Kref | Sequence[object] | Mapping[str, object],
        *,
        fact: Sequence[object] | None = None,
        project: str | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Stop believing an item, a pinned revision, one fact, or a statement."""
        return await _on_thread(
            self._session.contract, what, fact=fact, project=project, dry_run=dry_run
        )

    async def deprecate(self, kref: str | Kref, *, dry_run: bool = False) -> Change:
        """Take an item or a turn out of recall; `restore` brings it back."""
        return await _on_thread(self._session.deprecate, kref, dry_run=dry_run)

    async def restore(self, kref: str | Kref, *, dry_run: bool = False) -> Change:
        """Bring a deprecated item or turn back, and retract what contradicts it."""
        return await _on_thread(self._session.restore, kref, dry_run=dry_run)

    async def rollback(
        self, kref: str | Kref, *, expect: int | None = None, dry_run: bool = False
    ) -> Change:
        """Make the pinned revision current again, and retract what contradicts it."""
        return await _on_thread(self._session.rollback, kref, expect=expect, dry_run=dry_run)

    async def undo(self, change: int | Change, *, dry_run: bool = False) -> Change:
        """Reverse one change. Undoing an undo redoes it."""
        return await _on_thread(self._session.undo, change, dry_run=dry_run)

    async def forget(
        self, kref: str | Kref, *, erase: bool = False, confirm: str = "", preview: bool = False
    ) -> Forgotten:
        """Retire an item, turn, thread, space or project, or erase it for good."""
        return await _on_thread(
            self._session.forget, kref, erase=erase, confirm=confirm, preview=preview
        )

    async def resolve(
        self,
        conflict: str | Kref,
        decision: Literal["accept", "reject", "both"],
        *,
        valid_from: Time | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Decide an open conflict: accept the challenger, reject it, or keep both."""
        return await _on_thread(
            self._session.resolve, conflict, decision, valid_from=valid_from, dry_run=dry_run
        )

    async def constrain(
        self,
        constraints: Mapping[str, object] | None = None,
        *,
        entrenchment: Mapping[str, object] | None = None,
        project: str | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Declare what cannot be true together in a project, and what is retracted first."""
        return await _on_thread(
            self._session.constrain,
            constraints,
            entrenchment=entrenchment,
            project=project,
            dry_run=dry_run,
        )

    async def tag(self, kref: str | Kref, tag: str, *, expect: int | None = None) -> Change:
        """Point a tag at a revision."""
        return await _on_thread(self._session.tag, kref, tag, expect=expect)

    async def untag(self, kref: str | Kref, tag: str, *, expect: int | None = None) -> Change:
        """Remove a tag from an item."""
        return await _on_thread(self._session.untag, kref, tag, expect=expect)

    async def link(
        self,
        source: str | Kref,
        target: str | Kref,
        *,
        kind: str,
        metadata: Mapping[str, object] | None = None,
    ) -> Change:
        """Add a typed edge, such as DEPENDS_ON, between two beliefs."""
        return await _on_thread(self._session.link, source, target, kind=kind, metadata=metadata)

    async def unlink(self, source: str | Kref, target: str | Kref, *, kind: str) -> Change:
        """Remove a typed edge between two beliefs."""
        return await _on_thread(self._session.unlink, source, target, kind=kind)

    async def attach(
        self, kref: str | Kref, name: str, *, location: str, sha256: str = "", size_bytes: int = 0
    ) -> Change:
        """Attach a file to a revision by name and location; the file is not read."""
        return await _on_thread(
            self._session.attach,
            kref,
            name,
            location=location,
            sha256=sha256,
            size_bytes=size_bytes,
        )

    async def bundle(
        self, kref: str | Kref, *, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> Change:
        """Group items under an address of kind bundle."""
        return await _on_thread(self._session.bundle, kref, add=add, remove=remove)

    async def explain(self, kref: str | Kref) -> Explanation:
        """Explain one belief: its grounds, what it replaced and why, what depends on it."""
        return await _on_thread(self._session.explain, kref)

    async def history(self, kref: str | Kref, *, reveal: bool = False) -> History:
        """List every revision of an item, oldest first, and every move of its tags."""
        return await _on_thread(self._session.history, kref, reveal=reveal)

    async def as_of(
        self, kref: str | Kref, time: Time, *, tag: str = "current"
    ) -> Revision | Exchange | Place | Bundle | Conflict:
        """Return what a tag of an item pointed to at a time."""
        return await _on_thread(self._session.as_of, kref, time, tag=tag)

    async def impact(self, kref: str | Kref, *, depth: int | None = None) -> Walk:
        """Find what depends on a belief, and what would lose its support without it."""
        return await _on_thread(self._session.impact, kref, depth=depth)

    async def provenance(self, kref: str | Kref, *, depth: int = 10) -> Walk:
        """Find what a belief depends on, down to the conversation it came from."""
        return await _on_thread(self._session.provenance, kref, depth=depth)

    async def traverse(
        self,
        kref: str | Kref,
        *,
        direction: Literal["out", "in", "both"] = "out",
        depth: int = 10,
        types: Sequence[str] = (),
    ) -> Walk:
        """Follow typed edges from an element, nearest first."""
        return await _on_thread(
            self._session.traverse, kref, direction=direction, depth=depth, types=types
        )

    async def shortest_path(
        self, start: str | Kref, end: str | Kref, *, depth: int = 10, types: Sequence[str] = ()
    ) -> Walk:
        """Find the fewest typed edges between two elements, in either direction."""
        return await _on_thread(self._session.shortest_path, start, end, depth=depth, types=types)

    async def conflicts(
        self, *, project: str | None = None, decided: bool = False, limit: int = 50
    ) -> list[Conflict]:
        """List statements that contradict what is trusted more and wait for a decision."""
        return await _on_thread(
            self._session.conflicts, project=project, decided=decided, limit=limit
        )

    async def audit(
        self,
        *,
        project: str | None = None,
        sample: int | None = None,
        seed: int = 0,
        limit: int = 5,
    ) -> MemoryAudit:
        """Count what is wrong with what is believed: junk, duplicate, stale, echo, uncovered."""
        return await _on_thread(
            self._session.audit, project=project, sample=sample, seed=seed, limit=limit
        )

    async def rules(self, project: str | None = None) -> dict[str, object]:
        """Return the constraints and the order of entrenchment of a project."""
        return await _on_thread(self._session.rules, project)

    async def run(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """Run one Cypher statement in a transaction of its own."""
        return await _on_thread(self._session.run, text, params, timeout_ms=timeout_ms)

    async def read(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """Run one Cypher statement that only reads."""
        return await _on_thread(self._session.read, text, params, timeout_ms=timeout_ms)

    async def write(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """Run one Cypher statement that may write; the same as `run`."""
        return await _on_thread(self._session.write, text, params, timeout_ms=timeout_ms)

    async def extract(
        self,
        *,
        project: str | None = None,
        again: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Extracted:
        """Read stored turns and state the candidate beliefs that rules find in them."""
        return await _on_thread(
            self._session.extract, project=project, again=again, progress=progress
        )

    async def chat_add(
        self,
        text: str,
        *,
        role: str = "user",
        session: str = "",
        user: str = "",
        context: str = "",
        project: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str = "",
    ) -> ChatAdded:
        """Add a message to a session of working memory."""
        return await _on_thread(
            self._session.chat_add,
            text,
            role=role,
            session=session,
            user=user,
            context=context,
            project=project,
            metadata=metadata,
            idempotency_key=idempotency_key,
        )

    async def chat_get(
        self,
        session: str = "",
        *,
        user: str = "",
        context: str = "",
        project: str | None = None,
        limit: int = 50,
    ) -> Chat:
        """Return the messages of a session, oldest first, and let it live an hour longer."""
        return await _on_thread(
            self._session.chat_get,
            session,
            user=user,
            context=context,
            project=project,
            limit=limit,
        )

    async def chat_list(
        self, *, user: str = "", context: str = "", project: str | None = None, limit: int = 100
    ) -> list[ChatSummary]:
        """List the sessions of a project, the one used last first."""
        return await _on_thread(
            self._session.chat_list, user=user, context=context, project=project, limit=limit
        )

    async def chat_clear(
        self,
        session: str = "",
        *,
        user: str = "",
        context: str = "",
        project: str | None = None,
        every: bool = False,
    ) -> int:
        """Destroy the messages of a session, and return how many there were."""
        return await _on_thread(
            self._session.chat_clear,
            session,
            user=user,
            context=context,
            project=project,
            every=every,
        )

    async def chat_snapshot(
        self, session: str = "", *, user: str = "", context: str = "", project: str | None = None
    ) -> Chat:
        """Return the messages of a session that are not marked as consolidated."""
        return await _on_thread(
            self._session.chat_snapshot, session, user=user, context=context, project=project
        )

    async def chat_consolidated(
        self,
        through: str,
        session: str = "",
        *,
        user: str = "",
        context: str = "",
        project: str | None = None,
    ) -> int:
        """Mark messages of a session as consolidated, and return how many were not before."""
        return await _on_thread(
            self._session.chat_consolidated,
            through,
            session,
            user=user,
            context=context,
            project=project,
        )

    async def consolidate(
        self,
        target: str = "",
        *,
        session: str = "",
        user: str = "",
        context: str = "",
        project: str | None = None,
        producer: str = "",
        structure: Mapping[str, Any] | None = None,
        model: str = "",
        digest: str = "",
        dry_run: bool = False,
        limit: int = 20,
    ) -> Consolidated:
        """Make a session or thread into a summary, events, facts, decisions and tasks."""
        return await _on_thread(
            self._session.consolidate,
            target,
            session=session,
            user=user,
            context=context,
            project=project,
            producer=producer,
            structure=structure,
            model=model,
            digest=digest,
            dry_run=dry_run,
            limit=limit,
        )

    async def consolidations(self, *, project: str | None = None) -> list[Pending]:
        """List the sessions that await consolidation, with what went wrong, the next one first."""
        return await _on_thread(self._session.consolidations, project=project)

    async def tasks(
        self,
        *,
        kind: str = "",
        who: str = "",
        state: str = "open",
        before: Time | None = None,
        project: str | None = None,
        limit: int = 100,
    ) -> list[Task]:
        """List what sessions left to do: actions, commitments and open questions."""
        return await _on_thread(
            self._session.tasks,
            kind=kind,
            who=who,
            state=state,
            before=before,
            project=project,
            limit=limit,
        )

    async def cursors(self) -> list[EventCursor]:
        """List the cursors of consumers of this session's role and projects."""
        return await _on_thread(self._session.cursors)

    async def set_cursor(
        self,
        name: str,
        *,
        after: str | None = None,
        since: Time | None = None,
        remove: bool = False,
    ) -> None:
        """Move a cursor, also back, or make it: what follows the position is delivered next."""
        return await _on_thread(
            self._session.set_cursor, name, after=after, since=since, remove=remove
        )

    async def dream(
        self,
        *,
        project: str | None = None,
        apply: bool = False,
        dry_run: bool = False,
        share: float = 0.5,
        number: int = 20,
        age_days: float = 7,
        seconds: float | None = None,
        calls: int = 0,
        tokens: int | None = None,
    ) -> DreamReport:
        """Look at what is new in a project, and propose duplicates, contradictions and more."""
        return await _on_thread(
            self._session.dream,
            project=project,
            apply=apply,
            dry_run=dry_run,
            share=share,
            number=number,
            age_days=age_days,
            seconds=seconds,
            calls=calls,
            tokens=tokens,
        )

    async def nightshift(
        self,
        *,
        project: str | None = None,
        jobs: Iterable[str] = (),
        apply: bool = False,
        seconds: float | None = None,
        calls: int = 0,
        every_s: float | None = None,
        idle_s: float | None = None,
        entries: int | None = None,
    ) -> list[Shift]:
        """Do the background jobs one after another: embed, retain, dream."""
        return await _on_thread(
            self._session.nightshift,
            project=project,
            jobs=jobs,
            apply=apply,
            seconds=seconds,
            calls=calls,
            every_s=every_s,
            idle_s=idle_s,
            entries=entries,
        )

    async def runs(
        self, *, project: str | None = None, job: str = "", limit: int = 20
    ) -> list[RunInfo]:
        """List the runs of background jobs, the newest first, with what they touched."""
        return await _on_thread(self._session.runs, project=project, job=job, limit=limit)

    async def proposals(
        self, *, project: str | None = None, run: str = "", state: str = "open", limit: int = 100
    ) -> list[JobProposal]:
        """List what background jobs propose, with their reasons, the oldest first."""
        return await _on_thread(
            self._session.proposals, project=project, run=run, state=state, limit=limit
        )

    async def apply(self, proposals: Iterable[str], *, age_days: float = 7) -> list[Applied]:
        """Apply proposals of background jobs, each by itself."""
        return await _on_thread(self._session.apply, proposals, age_days=age_days)

    async def reject(self, proposal: str, *, reason: str = "") -> Applied:
        """Decide against a proposal: it is not made again."""
        return await _on_thread(self._session.reject, proposal, reason=reason)

    async def undo_run(self, run: str) -> Undone:
        """Reverse every change of a run of a background job, as one."""
        return await _on_thread(self._session.undo_run, run)


class AsyncMemory(AsyncSession):
    """A Memory whose verbs are awaited. Close it, or use it as an asynchronous context manager."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._memory = memory

    @classmethod
    async def open(
        cls, path: str | Path | None = None, **options: Unpack[OpenOptions]
    ) -> AsyncMemory:
        """Open a memory file, or create it; without a path, the user's own."""
        return cls(await _on_thread(open_memory, path, **options))

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def config(self) -> Config:
        return self._memory.config

    async def close(self) -> None:
        """Stop background work after its current batch, and close the file."""
        await _on_thread(self._memory.close)

    async def session(
        self,
        *,
        actor: str = "",
        role: Role = "agent",
        project: str = "",
        projects: Iterable[str] = (),
        context: Mapping[str, Any] | None = None,
    ) -> AsyncSession:
        """Return a session of another identity on the same file."""
        made = await _on_thread(
            self._memory.session,
            actor=actor,
            role=role,
            project=project,
            projects=projects,
            context=context,
        )
        return AsyncSession(made)

    async def export(self) -> AsyncIterator[bytes]:
        """Yield the whole state as JSON lines: every element, version, time and rule."""
        lines = await _on_thread(self._memory.export)
        while found := await _on_thread(lambda: list(islice(lines, _LINES))):
            for line in found:
                yield line

    async def log(
        self, *, limit: int = 20, after: int = 0, newest_first: bool = True
    ) -> list[Receipt]:
        """List changes with their numbers, times, actors and operations."""
        return await _on_thread(
            self._memory.log, limit=limit, after=after, newest_first=newest_first
        )

    async def doctor(self, *, models: bool = False) -> list[HealthCheck]:
        """Examine everything that can be wrong, and say what to do."""
        return await _on_thread(self._memory.doctor, models=models)

    async def verify(self) -> LogProof:
        """Verify the whole log, and compare the state with a replay of it."""
        return await _on_thread(self._memory.verify)

    async def has_receipt(self, head: str) -> bool:
        """Return whether the log contains a receipt with this hash."""
        return await _on_thread(self._memory.has_receipt, head)

    async def check(self) -> list[str]:
        """Check every invariant of the file; an empty list means that it is sound."""
        return await _on_thread(self._memory.check)

    async def backup(self, path: str | Path) -> Path:
        """Write a consistent, verified copy while others read and write."""
        return await _on_thread(self._memory.backup, path)

    async def export_to(self, target: str | Path) -> int:
        """Write an export to a file that does not exist yet; return the number of its lines."""
        return await _on_thread(self._memory.export_to, target)

    async def import_(
        self, path: str | Path, *, dry_run: bool = False, accept_protected: bool = False
    ) -> Imported:
        """Import an export of doxa: all of it into an empty file, into another what it lacks."""
        return await _on_thread(
            self._memory.import_, path, dry_run=dry_run, accept_protected=accept_protected
        )

    async def stats(self) -> dict[str, object]:
        """Return counts and sizes."""
        return await _on_thread(self._memory.stats)

    async def quota(
        self,
        *,
        items: int | None = None,
        size_bytes: int | None = None,
        writes_per_minute: int | None = None,
    ) -> Quota:
        """Set how much the file may hold, or tell it."""
        return await _on_thread(
            self._memory.quota,
            items=items,
            size_bytes=size_bytes,
            writes_per_minute=writes_per_minute,
        )

    async def embed(
        self,
        *,
        limit: int | None = None,
        anew: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Embed what has no vector yet, and return how many memories were embedded."""
        return await _on_thread(self._memory.embed, limit=limit, anew=anew, progress=progress)

    async def pending(self, *, in_use: bool = False) -> int:
        """Return how many memories have no vector yet."""
        return await _on_thread(self._memory.pending, in_use=in_use)

    async def reembedding(self) -> Reembedding | None:
        """Return the progress of a rebuild with another model; None if there is none."""
        return await _on_thread(self._memory.reembedding)

    async def spend(self, *, process: bool = False) -> Spend:
        """Return what was sent to endpoints: calls, tokens and money."""
        return await _on_thread(self._memory.spend, process=process)

    async def flush(self) -> int:
        """Write pending accesses, and finish what a change of policies left to do."""
        return await _on_thread(self._memory.flush)

    async def wake(self) -> None:
        """Start the background embedding, if there may be work."""
        return await _on_thread(self._memory.wake)

    async def erase(
        self,
        elements: Iterable[str] = (),
        *,
        properties: Iterable[str] = (),
        text: str = "",
        confirm: str = "",
        preview: bool = False,
    ) -> Forgotten:
        """Erase nodes and relationships by id, single properties, or every occurrence of a text."""
        return await _on_thread(
            self._memory.erase,
            elements,
            properties=properties,
            text=text,
            confirm=confirm,
            preview=preview,
        )

    async def verify_erased(self, text: str) -> ErasureProof:
        """Look for a text wherever doxa may have written it, and say where it still is."""
        return await _on_thread(self._memory.verify_erased, text)

    async def purge(self, source: str, *, confirm: str = "", preview: bool = False) -> Forgotten:
        """Erase everything that came from one source, and what depends on it alone."""
        return await _on_thread(self._memory.purge, source, confirm=confirm, preview=preview)

    async def export_subject(self, subject: str, target: str | Path) -> int:
        """Write all that is about a person, or came from a source, to a new file of JSON lines."""
        return await _on_thread(self._memory.export_subject, subject, target)

    async def retain(self, *, preview: bool = False) -> Dropped:
        """Drop what the retention policies do not keep, and overwrite it in the file."""
        return await _on_thread(self._memory.retain, preview=preview)

    async def hold(
        self,
        name: str,
        kind: Literal["address", "project", "text", "speaker"],
        value: str,
        *,
        reason: str = "",
    ) -> LegalHold:
        """Put an address, a project, a text or a speaker on legal hold."""
        return await _on_thread(self._memory.hold, name, kind, value, reason=reason)

    async def release(self, name: str, *, reason: str = "") -> LegalHold:
        """Release a legal hold. Needs the operator role."""
        return await _on_thread(self._memory.release, name, reason=reason)

    async def holds(self) -> list[LegalHold]:
        """List the legal holds in force."""
        return await _on_thread(self._memory.holds)
