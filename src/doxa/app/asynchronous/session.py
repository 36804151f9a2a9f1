"""The verbs of a session, awaited. Generated from the verb table by doxa.app.twin.

Each call runs on a thread, so that there is one implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from doxa.app.asynchronous.threads import on_thread

if TYPE_CHECKING:
    from pathlib import Path

    from doxa.agent.attachments.receipts import Attachment
    from doxa.agent.claims.claims import ClaimPreview
    from doxa.agent.claims.reporting import ClaimReport
    from doxa.agent.context.pipeline import AssembledContext
    from doxa.agent.continuity.archive import ArchiveProof, ArchiveRebuilt, ArchiveWritten
    from doxa.agent.continuity.exchanges import ExchangePair, SessionInfo
    from doxa.agent.continuity.handoff import HandoffWritten
    from doxa.agent.continuity.knowledge import KnowledgeEntry, KnowledgeIndexed
    from doxa.agent.continuity.metrics import HookLoad
    from doxa.agent.continuity.topics import TopicInfo
    from doxa.agent.continuity.view import HandoffView, SessionOpened
    from doxa.agent.evolution.bundles import ResearchBundle
    from doxa.agent.evolution.refiner import Refined
    from doxa.agent.evolution.scaffolds import Scaffold
    from doxa.agent.gate.continuing import RestartInfo
    from doxa.agent.growth.contemplation import Contemplated, PassProducer
    from doxa.agent.growth.crystallising import CrystalliseApproval, Crystallised, CrystallisePlan
    from doxa.agent.growth.files import ExportedIdentity, IdentityFile, ImportedIdentity
    from doxa.agent.growth.identity import AgentIdentity
    from doxa.agent.growth.metabolism import Metabolised
    from doxa.agent.records.types import Record
    from doxa.agent.signals.log import TurnSignals
    from doxa.agent.spine.consumers import Eligibility
    from doxa.agent.spine.ledger import Decision, LeaseInfo
    from doxa.agent.standing.standing import Standing, StandingUpdate
    from doxa.app.session import History, Session
    from doxa.app.verbs.options import (
        DreamingOptions,
        EventOptions,
        Facts,
        IngestOptions,
        NightshiftOptions,
        PlacedOptions,
        RecallOptions,
        RememberOptions,
        StatementOptions,
        Time,
        UnitOptions,
    )
    from doxa.audit import MemoryAudit
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
    from doxa.entities import (
        EntityInfo,
        EntityPage,
        PathYield,
        PendingMention,
        Recorded,
        Resolution,
    )
    from doxa.events import AsyncEventStream
    from doxa.ingestion.extraction import Extracted
    from doxa.ingestion.ingest import Ingested
    from doxa.ingestion.match import MatchResult
    from doxa.ingestion.remember import Remembered
    from doxa.ingestion.units.edges import DiscoveredEdges
    from doxa.ingestion.units.executions import Execution
    from doxa.ingestion.units.files import ArtifactFile
    from doxa.ingestion.units.responses import StoredResponse
    from doxa.ingestion.units.unit import StoredUnit
    from doxa.jobs import Applied, JobProposal, RunInfo, Undone
    from doxa.language.turns import Turn
    from doxa.maintenance.forget import Forgotten
    from doxa.maintenance.survey import Survey
    from doxa.query.result import GraphResult
    from doxa.query.session import GraphSession
    from doxa.recall import Hit, Recall
    from doxa.store import Identity
    from doxa.store.stream.cursors import EventCursor
    from doxa.transfer.load import Loaded
    from doxa.transfer.types import Imported
    from doxa.transfer.vault.write import ExportedNotes
    from doxa.working import Chat, ChatAdded, ChatSummary


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
        return await on_thread(self._session.graph, context)

    def events(self, **options: Unpack[EventOptions]) -> AsyncEventStream:
        """Iterate over what was committed, in order, as events derived from the log."""
        from doxa.events import AsyncEventStream

        return AsyncEventStream(lambda: self._session.events(**options))

    async def ingest(
        self,
        source: str | Path | Iterable[Turn | Mapping[str, object]],
        *,
        progress: Callable[[int], None] | None = None,
        idempotency_key: str = "",
        **options: Unpack[IngestOptions],
    ) -> Ingested:
        """Ingest a conversation: a file or folder, or messages."""
        return await on_thread(
            self._session.ingest,
            source,
            progress=progress,
            idempotency_key=idempotency_key,
            **options,
        )

    async def recall(self, text: str, **options: Unpack[RecallOptions]) -> Recall:
        """Find the best answers among what memory believes and what was said."""
        return await on_thread(self._session.recall, text, **options)

    async def get(
        self, kref: str | Kref, *, reveal: bool = False
    ) -> Revision | Exchange | Place | Bundle | Conflict:
        """Return what an address means now, or at its pin."""
        return await on_thread(self._session.get, kref, reveal=reveal)

    async def contents(
        self, kref: str | Kref = "", *, limit: int = 100, after: str = ""
    ) -> Listing:
        """List what is directly in a project, space or thread; without an address, the projects."""
        return await on_thread(self._session.contents, kref, limit=limit, after=after)

    async def recent(
        self,
        *,
        project: str | None = None,
        kinds: Iterable[str] = (),
        trust: str = "",
        limit: int = 10,
    ) -> list[Hit]:
        """List what was last said or stated and is still believed, newest first."""
        return await on_thread(
            self._session.recent, project=project, kinds=kinds, trust=trust, limit=limit
        )

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
        return await on_thread(
            self._session.match,
            text,
            project=project,
            space=space,
            kinds=kinds,
            speaker=speaker,
            limit=limit,
        )

    async def remember(
        self, text: str, *, idempotency_key: str = "", **options: Unpack[StatementOptions]
    ) -> Remembered:
        """State one belief; one that says the same is not stored twice."""
        return await on_thread(
            self._session.remember, text, idempotency_key=idempotency_key, **options
        )

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
        idempotency_key: str = "",
    ) -> Change:
        """State something in plain words: revise, challenge or remember."""
        return await on_thread(
            self._session.tell,
            text,
            project=project,
            space=space,
            kind=kind,
            trust=trust,
            facts=facts,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
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
        idempotency_key: str = "",
        **options: Unpack[PlacedOptions],
    ) -> Change:
        """Believe something, and retract what contradicts it anywhere in the project."""
        return await on_thread(
            self._session.revise,
            what,
            text,
            item=item,
            expect=expect,
            again=again,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
            **options,
        )

    async def expand(
        self, text: str, *, idempotency_key: str = "", **options: Unpack[RememberOptions]
    ) -> Change:
        """Add one belief, and refuse it if it contradicts anything or exists already."""
        return await on_thread(
            self._session.expand, text, idempotency_key=idempotency_key, **options
        )

    async def supersede(
        self,
        kref: str | Kref,
        text: str,
        *,
        idempotency_key: str = "",
        **options: Unpack[PlacedOptions],
    ) -> Change:
        """Replace a belief, under its own address or a new one."""
        return await on_thread(
            self._session.supersede, kref, text, idempotency_key=idempotency_key, **options
        )

    async def contract(
        self,
        what: str | Kref | Sequence[object] | Mapping[str, object],
        *,
        fact: Sequence[object] | None = None,
        project: str | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Stop believing an item, a pinned revision, one fact, or a statement."""
        return await on_thread(
            self._session.contract,
            what,
            fact=fact,
            project=project,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
        )

    async def deprecate(
        self,
        kref: str | Kref,
        *,
        expect: int | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Take an item or a turn out of recall; `restore` brings it back."""
        return await on_thread(
            self._session.deprecate,
            kref,
            expect=expect,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
        )

    async def restore(
        self, kref: str | Kref, *, dry_run: bool = False, idempotency_key: str = ""
    ) -> Change:
        """Bring a deprecated item or turn back, and retract what contradicts it."""
        return await on_thread(
            self._session.restore, kref, dry_run=dry_run, idempotency_key=idempotency_key
        )

    async def rollback(
        self,
        kref: str | Kref,
        *,
        expect: int | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Make the pinned revision current again, and retract what contradicts it."""
        return await on_thread(
            self._session.rollback,
            kref,
            expect=expect,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
        )

    async def undo(
        self, change: int | Change, *, dry_run: bool = False, idempotency_key: str = ""
    ) -> Change:
        """Reverse one change. Undoing an undo redoes it."""
        return await on_thread(
            self._session.undo, change, dry_run=dry_run, idempotency_key=idempotency_key
        )

    async def forget(
        self,
        kref: str | Kref,
        *,
        erase: bool = False,
        confirm: str = "",
        preview: bool = False,
        idempotency_key: str = "",
    ) -> Forgotten:
        """Retire an item, turn, thread, space or project, or erase it for good."""
        return await on_thread(
            self._session.forget,
            kref,
            erase=erase,
            confirm=confirm,
            preview=preview,
            idempotency_key=idempotency_key,
        )

    async def resolve(
        self,
        conflict: str | Kref,
        decision: Literal["accept", "reject", "both"],
        *,
        valid_from: Time | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Decide an open conflict: accept the challenger, reject it, or keep both."""
        return await on_thread(
            self._session.resolve,
            conflict,
            decision,
            valid_from=valid_from,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
        )

    async def constrain(
        self,
        constraints: Mapping[str, object] | None = None,
        *,
        entrenchment: Mapping[str, object] | None = None,
        project: str | None = None,
        dry_run: bool = False,
        idempotency_key: str = "",
    ) -> Change:
        """Declare what cannot be true together in a project, and what is retracted first."""
        return await on_thread(
            self._session.constrain,
            constraints,
            entrenchment=entrenchment,
            project=project,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
        )

    async def tag(
        self, kref: str | Kref, tag: str, *, expect: int | None = None, idempotency_key: str = ""
    ) -> Change:
        """Point a tag at a revision."""
        return await on_thread(
            self._session.tag, kref, tag, expect=expect, idempotency_key=idempotency_key
        )

    async def untag(
        self, kref: str | Kref, tag: str, *, expect: int | None = None, idempotency_key: str = ""
    ) -> Change:
        """Remove a tag from an item."""
        return await on_thread(
            self._session.untag, kref, tag, expect=expect, idempotency_key=idempotency_key
        )

    async def link(
        self,
        source: str | Kref,
        target: str | Kref,
        *,
        kind: str,
        metadata: Mapping[str, object] | None = None,
        idempotency_key: str = "",
    ) -> Change:
        """Add a typed edge, such as DEPENDS_ON, between two beliefs."""
        return await on_thread(
            self._session.link,
            source,
            target,
            kind=kind,
            metadata=metadata,
            idempotency_key=idempotency_key,
        )

    async def unlink(
        self, source: str | Kref, target: str | Kref, *, kind: str, idempotency_key: str = ""
    ) -> Change:
        """Remove a typed edge between two beliefs."""
        return await on_thread(
            self._session.unlink, source, target, kind=kind, idempotency_key=idempotency_key
        )

    async def attach(
        self,
        kref: str | Kref,
        name: str,
        *,
        location: str,
        sha256: str = "",
        size_bytes: int = 0,
        idempotency_key: str = "",
    ) -> Change:
        """Attach a file to a revision by name and location; the file is not read."""
        return await on_thread(
            self._session.attach,
            kref,
            name,
            location=location,
            sha256=sha256,
            size_bytes=size_bytes,
            idempotency_key=idempotency_key,
        )

    async def bundle(
        self,
        kref: str | Kref,
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        idempotency_key: str = "",
    ) -> Change:
        """Group items under an address of kind bundle."""
        return await on_thread(
            self._session.bundle, kref, add=add, remove=remove, idempotency_key=idempotency_key
        )

    async def survey(
        self, *, project: str | None = None, stale_days: int = 180, limit: int = 10
    ) -> Survey:
        """Report what memory knows about itself: coverage, age, and what is open."""
        return await on_thread(
            self._session.survey, project=project, stale_days=stale_days, limit=limit
        )

    async def store_unit(
        self,
        text: str,
        *,
        dry_run: bool = False,
        idempotency_key: str = "",
        **options: Unpack[UnitOptions],
    ) -> StoredUnit:
        """Store one belief with its files, edges, bundles and tags, in one transaction."""
        return await on_thread(
            self._session.store_unit,
            text,
            dry_run=dry_run,
            idempotency_key=idempotency_key,
            **options,
        )

    async def store_execution(
        self,
        task: str,
        *,
        outcome: str = "done",
        steps: Iterable[str] = (),
        tools: Iterable[str] = (),
        exit_code: int | None = None,
        duration_ms: int | None = None,
        cost: float | None = None,
        output: str = "",
        derived_from: Iterable[str] = (),
        created_from: Iterable[str] = (),
        topics: Iterable[str] = (),
        tags: Iterable[str] = (),
        project: str | None = None,
        space: str = "executions",
        artifacts: Mapping[str, Any] | None = None,
        folder: str = "",
        idempotency_key: str = "",
    ) -> StoredUnit:
        """Store what was done for a task: outcome, steps, tools, cost and files."""
        return await on_thread(
            self._session.store_execution,
            task,
            outcome=outcome,
            steps=steps,
            tools=tools,
            exit_code=exit_code,
            duration_ms=duration_ms,
            cost=cost,
            output=output,
            derived_from=derived_from,
            created_from=created_from,
            topics=topics,
            tags=tags,
            project=project,
            space=space,
            artifacts=artifacts,
            folder=folder,
            idempotency_key=idempotency_key,
        )

    async def executions(
        self, task: str, *, outcome: str = "", project: str | None = None, limit: int = 5
    ) -> list[Execution]:
        """Find how a task was done before: those that succeeded first, the newest first."""
        return await on_thread(
            self._session.executions, task, outcome=outcome, project=project, limit=limit
        )

    async def add_response(
        self,
        text: str,
        *,
        sources: Iterable[str] = (),
        thread: str = "default",
        session: str = "",
        speaker: str = "assistant",
        time: Time | None = None,
        project: str | None = None,
        space: str = "conversations",
        idempotency_key: str = "",
    ) -> StoredResponse:
        """Store what an assistant answered, with edges to what the answer is based on."""
        return await on_thread(
            self._session.add_response,
            text,
            sources=sources,
            thread=thread,
            session=session,
            speaker=speaker,
            time=time,
            project=project,
            space=space,
            idempotency_key=idempotency_key,
        )

    async def discover_edges(
        self,
        kref: str | Kref,
        *,
        types: Iterable[str] = ("DERIVED_FROM", "CREATED_FROM", "REFERENCED"),
        limit: int = 3,
        score_min: float = 0.3,
        model: bool = False,
        dry_run: bool = True,
    ) -> DiscoveredEdges:
        """Propose the edges that a belief lacks, each with the reason why it exists."""
        return await on_thread(
            self._session.discover_edges,
            kref,
            types=types,
            limit=limit,
            score_min=score_min,
            model=model,
            dry_run=dry_run,
        )

    async def artifact_file(self, kref: str | Kref, *, folder: str = "") -> ArtifactFile:
        """Return the file of an artifact, after comparing it with its digest."""
        return await on_thread(self._session.artifact_file, kref, folder=folder)

    async def explain(self, kref: str | Kref) -> Explanation:
        """Explain one belief: its grounds, what it replaced and why, what depends on it."""
        return await on_thread(self._session.explain, kref)

    async def history(self, kref: str | Kref, *, reveal: bool = False) -> History:
        """List every revision of an item, oldest first, and every move of its tags."""
        return await on_thread(self._session.history, kref, reveal=reveal)

    async def as_of(
        self, kref: str | Kref, time: Time, *, tag: str = "current"
    ) -> Revision | Exchange | Place | Bundle | Conflict:
        """Return what a tag of an item pointed to at a time."""
        return await on_thread(self._session.as_of, kref, time, tag=tag)

    async def impact(self, kref: str | Kref, *, depth: int | None = None) -> Walk:
        """Find what depends on a belief, and what would lose its support without it."""
        return await on_thread(self._session.impact, kref, depth=depth)

    async def provenance(self, kref: str | Kref, *, depth: int = 10) -> Walk:
        """Find what a belief depends on, down to the conversation it came from."""
        return await on_thread(self._session.provenance, kref, depth=depth)

    async def traverse(
        self,
        kref: str | Kref,
        *,
        direction: Literal["out", "in", "both"] = "out",
        depth: int = 10,
        types: Sequence[str] = (),
    ) -> Walk:
        """Follow typed edges from an element, nearest first."""
        return await on_thread(
            self._session.traverse, kref, direction=direction, depth=depth, types=types
        )

    async def shortest_path(
        self, start: str | Kref, end: str | Kref, *, depth: int = 10, types: Sequence[str] = ()
    ) -> Walk:
        """Find the fewest typed edges between two elements, in either direction."""
        return await on_thread(self._session.shortest_path, start, end, depth=depth, types=types)

    async def conflicts(
        self, *, project: str | None = None, decided: bool = False, limit: int = 50
    ) -> list[Conflict]:
        """List statements that contradict what is trusted more and wait for a decision."""
        return await on_thread(
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
        return await on_thread(
            self._session.audit, project=project, sample=sample, seed=seed, limit=limit
        )

    async def rules(self, project: str | None = None) -> dict[str, object]:
        """Return the constraints and the order of entrenchment of a project."""
        return await on_thread(self._session.rules, project)

    async def run(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """Run one Cypher statement in a transaction of its own."""
        return await on_thread(self._session.run, text, params, timeout_ms=timeout_ms)

    async def read(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """Run one Cypher statement that only reads."""
        return await on_thread(self._session.read, text, params, timeout_ms=timeout_ms)

    async def write(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """Run one Cypher statement that may write; the same as `run`."""
        return await on_thread(self._session.write, text, params, timeout_ms=timeout_ms)

    async def extract(
        self,
        *,
        project: str | None = None,
        again: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Extracted:
        """Read stored turns and state the candidate beliefs that rules find in them."""
        return await on_thread(
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
        return await on_thread(
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
        return await on_thread(
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
        return await on_thread(
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
        return await on_thread(
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
        return await on_thread(
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
        return await on_thread(
            self._session.chat_consolidated,
            through,
            session,
            user=user,
            context=context,
            project=project,
        )

    async def session_open(
        self,
        session: str,
        *,
        thread: str = "",
        mode: str = "",
        title: str = "",
        language: str = "en",
        project: str | None = None,
    ) -> SessionOpened:
        """Begin a session, or go on with it, and return what it begins with."""
        return await on_thread(
            self._session.session_open,
            session,
            thread=thread,
            mode=mode,
            title=title,
            language=language,
            project=project,
        )

    async def session_list(
        self, *, thread: str = "", mode: str = "", project: str | None = None, limit: int = 20
    ) -> list[SessionInfo]:
        """List sessions with title, modes and times, the one used last first."""
        return await on_thread(
            self._session.session_list, thread=thread, mode=mode, project=project, limit=limit
        )

    async def exchange_list(
        self,
        *,
        thread: str = "",
        session: str | None = None,
        mode: str = "",
        project: str | None = None,
        limit: int = 20,
    ) -> list[ExchangePair]:
        """Return the newest exchanges as pairs of what was said and what followed, oldest first."""
        return await on_thread(
            self._session.exchange_list,
            thread=thread,
            session=session,
            mode=mode,
            project=project,
            limit=limit,
        )

    async def topic_list(
        self,
        *,
        thread: str = "",
        session: str | None = None,
        mode: str = "",
        project: str | None = None,
        limit: int = 20,
    ) -> list[TopicInfo]:
        """Return what people come back to, with what goes together and what it belongs to."""
        return await on_thread(
            self._session.topic_list,
            thread=thread,
            session=session,
            mode=mode,
            project=project,
            limit=limit,
        )

    async def handoff_write(
        self,
        session: str,
        *,
        thread: str = "",
        reason: str = "turn",
        mode: str = "",
        project: str | None = None,
    ) -> HandoffWritten:
        """Write where a session stands, for the one after it."""
        return await on_thread(
            self._session.handoff_write,
            session,
            thread=thread,
            reason=reason,
            mode=mode,
            project=project,
        )

    async def handoff_take(
        self,
        session: str,
        *,
        thread: str = "",
        mode: str = "",
        language: str = "en",
        project: str | None = None,
    ) -> HandoffView | None:
        """Take the newest handoff that a session may read: it is handed over once."""
        return await on_thread(
            self._session.handoff_take,
            session,
            thread=thread,
            mode=mode,
            language=language,
            project=project,
        )

    async def handoff_show(
        self,
        thread: str = "",
        *,
        mode: str = "",
        agent: str = "",
        language: str = "en",
        project: str | None = None,
    ) -> HandoffView | None:
        """Show where a thread stands, as often as wanted; without one, what was handed off last."""
        return await on_thread(
            self._session.handoff_show,
            thread,
            mode=mode,
            agent=agent,
            language=language,
            project=project,
        )

    async def handoff_quarantine(
        self,
        handoff: str,
        *,
        release: bool = False,
        reason: str = "",
        language: str = "en",
        project: str | None = None,
    ) -> HandoffView:
        """Keep a handoff from being handed over, or release it."""
        return await on_thread(
            self._session.handoff_quarantine,
            handoff,
            release=release,
            reason=reason,
            language=language,
            project=project,
        )

    async def knowledge_root(
        self,
        folder: str | Path,
        *,
        remove: bool = False,
        agent: str = "",
        project: str | None = None,
    ) -> str:
        """Declare a folder whose files an agent may read, or withdraw it; returns its address."""
        return await on_thread(
            self._session.knowledge_root, folder, remove=remove, agent=agent, project=project
        )

    async def knowledge_index(
        self, folder: str | Path, *, project: str | None = None
    ) -> KnowledgeIndexed:
        """Read the Markdown and text files below a declared folder, section by section."""
        return await on_thread(self._session.knowledge_index, folder, project=project)

    async def knowledge_list(
        self,
        text: str = "",
        *,
        every: bool = False,
        agent: str = "",
        project: str | None = None,
        limit: int = 20,
    ) -> list[KnowledgeEntry]:
        """List sections of files, those that share most words with a text first."""
        return await on_thread(
            self._session.knowledge_list,
            text,
            every=every,
            agent=agent,
            project=project,
            limit=limit,
        )

    async def knowledge_recall(
        self, text: str, *, project: str | None = None, limit: int = 3
    ) -> list[KnowledgeEntry]:
        """Return what files say about a text, cut to what goes into a prompt, and count it."""
        return await on_thread(self._session.knowledge_recall, text, project=project, limit=limit)

    async def archive_write(self, *, agent: str = "") -> ArchiveWritten:
        """Archive what an agent stored since the last time: one file a day, next to the memory."""
        return await on_thread(self._session.archive_write, agent=agent)

    async def archive_verify(self, *, agent: str = "") -> ArchiveProof:
        """Check the chain of an archive, and every line against the log of the memory."""
        return await on_thread(self._session.archive_verify, agent=agent)

    async def archive_rebuild(self, target: str | Path, *, agent: str = "") -> ArchiveRebuilt:
        """Make a new memory file from an archive, and compare the digests of both."""
        return await on_thread(self._session.archive_rebuild, target, agent=agent)

    async def hook_report(self) -> list[HookLoad]:
        """Return how long hooks of agent hosts took, by host and event, against their budgets."""
        return await on_thread(self._session.hook_report)

    async def growth_propose(
        self,
        text: str,
        *,
        file: str = "MEMORY",
        about: Iterable[str] = (),
        agent: str = "",
        project: str | None = None,
    ) -> Record:
        """Propose a line for an identity file of an agent."""
        return await on_thread(
            self._session.growth_propose, text, file=file, about=about, agent=agent, project=project
        )

    async def growth_list(
        self,
        *,
        state: str = "candidate",
        agent: str = "",
        project: str | None = None,
        limit: int = 100,
    ) -> list[Record]:
        """List candidates of an agent's identity, by name."""
        return await on_thread(
            self._session.growth_list, state=state, agent=agent, project=project, limit=limit
        )

    async def crystallise_plan(self, candidate: str, *, principle: str = "") -> CrystallisePlan:
        """Show what crystallising a candidate would do, and which gates are open."""
        return await on_thread(self._session.crystallise_plan, candidate, principle=principle)

    async def crystallise_approve(
        self, candidate: str, content_hash: str, *, principle: str = ""
    ) -> CrystalliseApproval:
        """Approve one candidate with one content hash, and get a nonce that is used once."""
        return await on_thread(
            self._session.crystallise_approve, candidate, content_hash, principle=principle
        )

    async def crystallise_apply(self, candidate: str, nonce: str) -> Crystallised:
        """Use an approval: make the candidate a line of the agent's identity."""
        return await on_thread(self._session.crystallise_apply, candidate, nonce)

    async def crystallise_reverse(self, candidate: str, *, reason: str = "") -> Crystallised:
        """Take a line of identity back, or decide against a candidate."""
        return await on_thread(self._session.crystallise_reverse, candidate, reason=reason)

    async def identity_show(self, *, agent: str = "", project: str | None = None) -> AgentIdentity:
        """Return the identity of an agent: its crystallised lines by file, and their hash."""
        return await on_thread(self._session.identity_show, agent=agent, project=project)

    async def identity_verify(
        self, *, agent: str = "", project: str | None = None
    ) -> list[IdentityFile]:
        """Compare identity files on disk with the receipts of their export."""
        return await on_thread(self._session.identity_verify, agent=agent, project=project)

    async def identity_export(
        self,
        folder: str | Path,
        *,
        form: str = "doxa",
        replace: bool = False,
        release: bool = False,
        agent: str = "",
        project: str | None = None,
    ) -> ExportedIdentity:
        """Write the identity files of an agent into a folder, and keep a receipt."""
        return await on_thread(
            self._session.identity_export,
            folder,
            form=form,
            replace=replace,
            release=release,
            agent=agent,
            project=project,
        )

    async def identity_import(
        self, folder: str | Path, *, form: str = "doxa", agent: str = "", project: str | None = None
    ) -> ImportedIdentity:
        """Read identity files as candidates, never as identity."""
        return await on_thread(
            self._session.identity_import, folder, form=form, agent=agent, project=project
        )

    async def metabolise(
        self,
        user: str,
        reply: str,
        *,
        session: str = "",
        about: Iterable[str] = (),
        agent: str = "",
        project: str | None = None,
    ) -> Metabolised:
        """Measure a turn of an agent at its end, and keep it for contemplation if it stands out."""
        return await on_thread(
            self._session.metabolise,
            user,
            reply,
            session=session,
            about=about,
            agent=agent,
            project=project,
        )

    async def signals(
        self, *, agent: str = "", project: str | None = None, limit: int = 20
    ) -> list[TurnSignals]:
        """List the signals of an agent's last turns, the newest first, with their surprise."""
        return await on_thread(self._session.signals, agent=agent, project=project, limit=limit)

    async def contemplate(
        self,
        *,
        producer: PassProducer | None = None,
        agent: str = "",
        project: str | None = None,
        limit: int = 20,
    ) -> Contemplated:
        """Begin inquiries for the moments of an agent, and do the pending passes."""
        return await on_thread(
            self._session.contemplate, producer=producer, agent=agent, project=project, limit=limit
        )

    async def inquiries(
        self, *, state: str = "open", agent: str = "", project: str | None = None, limit: int = 100
    ) -> list[Record]:
        """List the inquiries of an agent with their passes, the newest first."""
        return await on_thread(
            self._session.inquiries, state=state, agent=agent, project=project, limit=limit
        )

    async def claim_propose(
        self,
        text: str,
        *,
        sources: Iterable[str],
        kind: str = "project_state",
        policy: str = "user_correction_wins",
        expires_s: int = 0,
        agent: str = "",
        project: str | None = None,
    ) -> Record:
        """Keep a claim with the handles of its sources, as a candidate."""
        return await on_thread(
            self._session.claim_propose,
            text,
            sources=sources,
            kind=kind,
            policy=policy,
            expires_s=expires_s,
            agent=agent,
            project=project,
        )

    async def claim_produce(
        self, *, session: str = "", handoff: str = "", agent: str = "", project: str | None = None
    ) -> list[Record]:
        """Make candidates of a session's turns or of a handoff, by rules."""
        return await on_thread(
            self._session.claim_produce,
            session=session,
            handoff=handoff,
            agent=agent,
            project=project,
        )

    async def claim_preview(self, claim: str | Kref) -> ClaimPreview:
        """Report what the sources of a claim say now, with the hashes that a decision names."""
        return await on_thread(self._session.claim_preview, claim)

    async def claim_decide(
        self, claim: str | Kref, decision: str, *, claim_hash: str, source_hash: str, reason: str
    ) -> Record:
        """Accept, reject, defer or reverse a claim, as it was previewed."""
        return await on_thread(
            self._session.claim_decide,
            claim,
            decision,
            claim_hash=claim_hash,
            source_hash=source_hash,
            reason=reason,
        )

    async def claims(
        self,
        *,
        state: str = "",
        live: bool = False,
        agent: str = "",
        project: str | None = None,
        limit: int = 50,
    ) -> list[Record]:
        """List the claims of an agent."""
        return await on_thread(
            self._session.claims, state=state, live=live, agent=agent, project=project, limit=limit
        )

    async def claim_report(self, *, agent: str = "", project: str | None = None) -> ClaimReport:
        """Report recurrence, sources, age, tensions and readiness of candidate claims."""
        return await on_thread(self._session.claim_report, agent=agent, project=project)

    async def restart_begin(
        self, key: str, *, declared: int = 0, agent: str = "", project: str | None = None
    ) -> RestartInfo:
        """Begin to continue after a restart, with the key of the session and a budget of calls."""
        return await on_thread(
            self._session.restart_begin, key, declared=declared, agent=agent, project=project
        )

    async def restart_step(
        self,
        call: str,
        outcome: str,
        *,
        failure: str = "",
        key: str = "",
        last: bool = False,
        agent: str = "",
        project: str | None = None,
    ) -> RestartInfo:
        """Enter a call that was made after a restart, and return what is allowed next."""
        return await on_thread(
            self._session.restart_step,
            call,
            outcome,
            failure=failure,
            key=key,
            last=last,
            agent=agent,
            project=project,
        )

    async def restart_show(self, *, agent: str = "", project: str | None = None) -> RestartInfo:
        """Show where the last continuation of an agent stands, and why it ended."""
        return await on_thread(self._session.restart_show, agent=agent, project=project)

    async def lease_grant(
        self,
        objective: str,
        *,
        allowed: Iterable[str],
        prohibited: Iterable[str] = (),
        approval_for: Iterable[str] = (),
        scope: Iterable[str] = (),
        until: Time | None = None,
        actions_max: int = 100,
        failures_max: int = 3,
        notify: Iterable[str] = ("stopped", "ended"),
        owner: str = "",
        agent: str = "",
        project: str | None = None,
    ) -> LeaseInfo:
        """Make an agent responsible for something, until a time and within limits."""
        return await on_thread(
            self._session.lease_grant,
            objective,
            allowed=allowed,
            prohibited=prohibited,
            approval_for=approval_for,
            scope=scope,
            until=until,
            actions_max=actions_max,
            failures_max=failures_max,
            notify=notify,
            owner=owner,
            agent=agent,
            project=project,
        )

    async def leases(
        self, *, agent: str = "", project: str | None = None, limit: int = 50
    ) -> list[LeaseInfo]:
        """List the leases of an agent, the newest first, and which are in force."""
        return await on_thread(self._session.leases, agent=agent, project=project, limit=limit)

    async def lease_end(
        self, lease: str | Kref, *, state: str = "completed", why: str = ""
    ) -> LeaseInfo:
        """Pause, complete or cancel a lease; one that is paused an operator makes active again."""
        return await on_thread(self._session.lease_end, lease, state=state, why=why)

    async def govern(
        self,
        action_class: str,
        action: str,
        *,
        target: str = "",
        instruction: str | Kref = "",
        lease: str | Kref = "",
        decision: str | Kref = "",
        confirmed: bool = False,
        externality: str = "none",
        reversibility: str = "reversible",
        sensitivity: str = "low",
        shaping: str = "none",
        evidence: str = "fresh",
        anomaly: str = "none",
        boundaries: Iterable[str] = (),
        floor: str = "proceed",
        rollback: str = "",
        agent: str = "",
        project: str | None = None,
    ) -> Decision:
        """Decide how an action may be done: the least restrictive mode that is safe, on record."""
        return await on_thread(
            self._session.govern,
            action_class,
            action,
            target=target,
            instruction=instruction,
            lease=lease,
            decision=decision,
            confirmed=confirmed,
            externality=externality,
            reversibility=reversibility,
            sensitivity=sensitivity,
            shaping=shaping,
            evidence=evidence,
            anomaly=anomaly,
            boundaries=boundaries,
            floor=floor,
            rollback=rollback,
            agent=agent,
            project=project,
        )

    async def outcome(
        self,
        status: str,
        *,
        decision: str | Kref = "",
        lease: str | Kref = "",
        intent: str = "",
        observed: str = "",
        verified_by: str = "",
        evidence: Iterable[str] = (),
        failure_class: str = "",
        residual_risk: str = "",
        rollback: str = "",
        agent: str = "",
        project: str | None = None,
    ) -> dict[str, object]:
        """Record what an action had as its effect. It is evidence, and allows nothing by itself."""
        return await on_thread(
            self._session.outcome,
            status,
            decision=decision,
            lease=lease,
            intent=intent,
            observed=observed,
            verified_by=verified_by,
            evidence=evidence,
            failure_class=failure_class,
            residual_risk=residual_risk,
            rollback=rollback,
            agent=agent,
            project=project,
        )

    async def packet_write(
        self,
        kind: str,
        text: str = "",
        *,
        body: Mapping[str, object] | None = None,
        state: str = "",
        agent: str = "",
        project: str | None = None,
    ) -> dict[str, object]:
        """Write a state record, a maturation candidate or a declared lane, from its body."""
        return await on_thread(
            self._session.packet_write,
            kind,
            text,
            body=body,
            state=state,
            agent=agent,
            project=project,
        )

    async def packet_move(
        self, packet: str | Kref, state: str, *, content_hash: str = "", why: str = ""
    ) -> dict[str, object]:
        """Move a packet to another state, such as approved, accepted, applied or retired."""
        return await on_thread(
            self._session.packet_move, packet, state, content_hash=content_hash, why=why
        )

    async def packets(
        self,
        kind: str = "",
        *,
        states: Iterable[str] = (),
        schema: bool = False,
        agent: str = "",
        project: str | None = None,
        limit: int = 100,
    ) -> list[dict[str, object]]:
        """List the packets of an agent as JSON values, the newest first; without `kind`, of all."""
        return await on_thread(
            self._session.packets,
            kind,
            states=states,
            schema=schema,
            agent=agent,
            project=project,
            limit=limit,
        )

    async def eligibility(
        self,
        kref: str | Kref,
        consumer: str,
        *,
        privacy_max: str = "local_private",
        agent: str = "",
        project: str | None = None,
    ) -> Eligibility:
        """Say whether a consumer may use a record, with every reason against it."""
        return await on_thread(
            self._session.eligibility,
            kref,
            consumer,
            privacy_max=privacy_max,
            agent=agent,
            project=project,
        )

    async def standing(
        self, person: str, *, agent: str = "", project: str | None = None, limit: int = 50
    ) -> Standing:
        """Show where a person stands: scores, the trail of what changed them, and the reports."""
        return await on_thread(
            self._session.standing, person, agent=agent, project=project, limit=limit
        )

    async def standing_in(
        self, person: str, *, agent: str = "", project: str | None = None
    ) -> dict[str, object]:
        """Record that a person opted in to standing; an operator does so at their word."""
        return await on_thread(self._session.standing_in, person, agent=agent, project=project)

    async def standing_out(
        self, person: str, *, agent: str = "", project: str | None = None
    ) -> dict[str, object]:
        """End standing for a person: at once, and as an operator erasing all that was kept."""
        return await on_thread(self._session.standing_out, person, agent=agent, project=project)

    async def standing_appeal(
        self, evidence: str | Kref, *, why: str = "", decision: str = ""
    ) -> dict[str, object]:
        """Appeal a piece of evidence: it counts no more until an operator decides."""
        return await on_thread(self._session.standing_appeal, evidence, why=why, decision=decision)

    async def standing_update(
        self, *, agent: str = "", project: str | None = None
    ) -> StandingUpdate:
        """Read the turns of everybody who opted in, and write the report of a day that ended."""
        return await on_thread(self._session.standing_update, agent=agent, project=project)

    async def scaffold_propose(
        self,
        change: str,
        *,
        change_type: str,
        target: str,
        evidence: Iterable[str],
        expected_effect: str,
        verification: str,
        rollback: str,
        risk: str = "medium",
        agent: str = "",
        project: str | None = None,
    ) -> Scaffold:
        """Propose a change of how the agent works, with evidence, verification and a way back."""
        return await on_thread(
            self._session.scaffold_propose,
            change,
            change_type=change_type,
            target=target,
            evidence=evidence,
            expected_effect=expected_effect,
            verification=verification,
            rollback=rollback,
            risk=risk,
            agent=agent,
            project=project,
        )

    async def scaffolds(
        self,
        *,
        states: Iterable[str] = (),
        agent: str = "",
        project: str | None = None,
        limit: int = 50,
    ) -> list[Scaffold]:
        """List the proposals of an agent."""
        return await on_thread(
            self._session.scaffolds, states=states, agent=agent, project=project, limit=limit
        )

    async def scaffold_decide(
        self, scaffold: str | Kref, decision: str, *, content_hash: str = "", why: str = ""
    ) -> Scaffold:
        """Accept, reject or roll back a proposal, as an operator; an agent may withdraw its own."""
        return await on_thread(
            self._session.scaffold_decide, scaffold, decision, content_hash=content_hash, why=why
        )

    async def refine(
        self, *, dry_run: bool = True, agent: str = "", project: str | None = None
    ) -> Refined:
        """Score how an agent works, from its outcomes, and name the failures that come again."""
        return await on_thread(self._session.refine, dry_run=dry_run, agent=agent, project=project)

    async def bundle_export(
        self,
        folder: str | Path,
        *,
        kinds: Iterable[str] = (),
        agent: str = "",
        project: str | None = None,
    ) -> ResearchBundle:
        """Write a redacted research bundle to a new folder, as an operator, with its manifest."""
        return await on_thread(
            self._session.bundle_export, folder, kinds=kinds, agent=agent, project=project
        )

    async def bundle_approve(
        self, bundle: str | Kref, manifest_hash: str, *, folder: str | Path | None = None
    ) -> ResearchBundle:
        """Approve one research bundle for training, as an operator, by its manifest's hash."""
        return await on_thread(self._session.bundle_approve, bundle, manifest_hash, folder=folder)

    async def attachment_add(
        self,
        source: str | Path | bytes,
        *,
        name: str = "",
        session: str = "",
        thread: str = "",
        about: Iterable[str] = (),
        extract: bool = True,
        project: str | None = None,
    ) -> Attachment:
        """Keep the receipt of a file: its hash, what it is, its text, and where it lies."""
        return await on_thread(
            self._session.attachment_add,
            source,
            name=name,
            session=session,
            thread=thread,
            about=about,
            extract=extract,
            project=project,
        )

    async def attachment_show(
        self, kref: str, *, capabilities: Iterable[str] = (), whole: bool = False
    ) -> Attachment:
        """Return an attachment as it is now: its file is hashed again."""
        return await on_thread(
            self._session.attachment_show, kref, capabilities=capabilities, whole=whole
        )

    async def attachment_list(
        self,
        *,
        session: str = "",
        thread: str = "",
        limit: int = 6,
        agent: str = "",
        project: str | None = None,
    ) -> list[Attachment]:
        """List the attachments that were used last, each verified again."""
        return await on_thread(
            self._session.attachment_list,
            session=session,
            thread=thread,
            limit=limit,
            agent=agent,
            project=project,
        )

    async def attachment_note(self, kref: str, text: str) -> Attachment:
        """Keep what was observed of an attachment, in place of the last observation."""
        return await on_thread(self._session.attachment_note, kref, text)

    async def context_assemble(
        self,
        question: str = "",
        *,
        session: str = "",
        thread: str = "",
        mode: str = "chat",
        language: str = "en",
        tokens_max: int = 2000,
        agent: str = "",
        project: str | None = None,
        since: Time | None = None,
        check: bool = True,
        commands: bool = False,
    ) -> AssembledContext:
        """Assemble what an agent should know at the beginning of a turn, within a budget."""
        return await on_thread(
            self._session.context_assemble,
            question,
            session=session,
            thread=thread,
            mode=mode,
            language=language,
            tokens_max=tokens_max,
            agent=agent,
            project=project,
            since=since,
            check=check,
            commands=commands,
        )

    async def verifier_declare(
        self, kref: str, kind: str, *, path: str = "", command: Iterable[str] = ()
    ) -> Record:
        """Declare how a belief about this machine is checked, as it holds now: an operator's."""
        return await on_thread(
            self._session.verifier_declare, kref, kind, path=path, command=command
        )

    async def window_declare(
        self,
        since: Time,
        until: Time,
        why: str,
        *,
        words: Iterable[str] = (),
        project: str | None = None,
    ) -> Record:
        """Mark a period whose words are not reliable: an operator's."""
        return await on_thread(
            self._session.window_declare, since, until, why, words=words, project=project
        )

    async def context_withdraw(self, kref: str, *, why: str = "") -> Record:
        """Withdraw a verifier or a window: an operator's."""
        return await on_thread(self._session.context_withdraw, kref, why=why)

    async def context_rules(self, *, project: str | None = None) -> list[Record]:
        """List the verifiers and windows of a project, withdrawn ones too."""
        return await on_thread(self._session.context_rules, project=project)

    async def entities(
        self,
        text: str = "",
        *,
        kind: str = "",
        project: str | None = None,
        limit: int = 50,
        as_of: Time | None = None,
    ) -> list[EntityInfo]:
        """List whom and what memory is about, the most mentioned first."""
        return await on_thread(
            self._session.entities, text, kind=kind, project=project, limit=limit, as_of=as_of
        )

    async def entity(
        self, entity: str, *, project: str | None = None, limit: int = 20, as_of: Time | None = None
    ) -> EntityPage:
        """Show an entity: its names, its mentions, what is mentioned with it, and its facts."""
        return await on_thread(
            self._session.entity, entity, project=project, limit=limit, as_of=as_of
        )

    async def mention(
        self,
        name: str,
        *,
        kind: str = "",
        aliases: Iterable[str] = (),
        source: str | Kref = "",
        project: str | None = None,
    ) -> Resolution:
        """Record that a turn or belief mentions an entity, or state that there is one."""
        return await on_thread(
            self._session.mention, name, kind=kind, aliases=aliases, source=source, project=project
        )

    async def record_mentions(
        self,
        *,
        project: str | None = None,
        again: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Recorded:
        """Record the names that turns and beliefs of a project mention, since the last call."""
        return await on_thread(
            self._session.record_mentions, project=project, again=again, progress=progress
        )

    async def merge_entities(
        self,
        entity: str,
        into: str,
        *,
        why: str = "",
        project: str | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Join an entity with another one, whose name and address stand for both."""
        return await on_thread(
            self._session.merge_entities, entity, into, why=why, project=project, dry_run=dry_run
        )

    async def split_entity(
        self,
        entity: str,
        *,
        sources: Iterable[str] = (),
        why: str = "",
        project: str | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Part a name from what it was merged into, or some of its sources into a new entity."""
        return await on_thread(
            self._session.split_entity,
            entity,
            sources=sources,
            why=why,
            project=project,
            dry_run=dry_run,
        )

    async def verify_entity(
        self, entity: str, *, remove: bool = False, project: str | None = None
    ) -> Change:
        """Mark the names of an entity as verified, so that no agent joins or parts them."""
        return await on_thread(self._session.verify_entity, entity, remove=remove, project=project)

    async def pending_entities(
        self, *, project: str | None = None, answered: bool = False, limit: int = 50
    ) -> list[PendingMention]:
        """List names of which memory does not know whom or what they mean."""
        return await on_thread(
            self._session.pending_entities, project=project, answered=answered, limit=limit
        )

    async def resolve_entity(
        self,
        mention: str | Kref,
        answer: str,
        *,
        sources: Iterable[str] = (),
        dry_run: bool = False,
    ) -> Change:
        """Answer whom or what a pending name means."""
        return await on_thread(
            self._session.resolve_entity, mention, answer, sources=sources, dry_run=dry_run
        )

    async def traversal_patterns(self, *, project: str | None = None) -> list[PathYield]:
        """Measure which kinds of paths lead from a memory to others that are used with it."""
        return await on_thread(self._session.traversal_patterns, project=project)

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
        progress: Callable[[int], None] | None = None,
    ) -> Consolidated:
        """Make a session or thread into a summary, events, facts, decisions and tasks."""
        return await on_thread(
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
            progress=progress,
        )

    async def consolidations(self, *, project: str | None = None) -> list[Pending]:
        """List the sessions that await consolidation, with what went wrong, the next one first."""
        return await on_thread(self._session.consolidations, project=project)

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
        return await on_thread(
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
        return await on_thread(self._session.cursors)

    async def set_cursor(
        self,
        name: str,
        *,
        after: str | None = None,
        since: Time | None = None,
        remove: bool = False,
    ) -> None:
        """Move a cursor, also back, or make it: what follows the position is delivered next."""
        return await on_thread(
            self._session.set_cursor, name, after=after, since=since, remove=remove
        )

    async def dream(self, **options: Unpack[DreamingOptions]) -> DreamReport:
        """Look at what is new in a project, and propose duplicates, contradictions and more."""
        return await on_thread(self._session.dream, **options)

    async def nightshift(self, **options: Unpack[NightshiftOptions]) -> list[Shift]:
        """Do the background jobs one after another."""
        return await on_thread(self._session.nightshift, **options)

    async def runs(
        self, *, project: str | None = None, job: str = "", limit: int = 20
    ) -> list[RunInfo]:
        """List the runs of background jobs, the newest first, with what they touched."""
        return await on_thread(self._session.runs, project=project, job=job, limit=limit)

    async def run_report(
        self, run: str = "", *, job: str = "dream", project: str | None = None
    ) -> str:
        """Return the report of a run, in Markdown; without an address that of the last dream."""
        return await on_thread(self._session.run_report, run, job=job, project=project)

    async def proposals(
        self, *, project: str | None = None, run: str = "", state: str = "open", limit: int = 100
    ) -> list[JobProposal]:
        """List what background jobs propose, with their reasons, the oldest first."""
        return await on_thread(
            self._session.proposals, project=project, run=run, state=state, limit=limit
        )

    async def apply(self, proposals: Iterable[str], *, age_days: float = 7) -> list[Applied]:
        """Apply proposals of background jobs, each by itself."""
        return await on_thread(self._session.apply, proposals, age_days=age_days)

    async def reject(self, proposal: str, *, reason: str = "") -> Applied:
        """Decide against a proposal: it is not made again."""
        return await on_thread(self._session.reject, proposal, reason=reason)

    async def undo_run(self, run: str) -> Undone:
        """Reverse every change of a run of a background job, as one."""
        return await on_thread(self._session.undo_run, run)

    async def token(self) -> str:
        """Return the token of the last change that this session sees: `change@receipt`."""
        return await on_thread(self._session.token)

    async def wait(self, token: str, *, timeout_s: float = 5.0) -> str:
        """Wait until this memory has the change of a token; return the token of its last one."""
        return await on_thread(self._session.wait, token, timeout_s=timeout_s)

    async def export_notes(
        self, folder: str | Path, *, projects: Iterable[str] = ()
    ) -> ExportedNotes:
        """Write what is believed as a folder of Markdown notes, one for each belief."""
        return await on_thread(self._session.export_notes, folder, projects=projects)

    async def import_notes(
        self, folder: str | Path, *, dry_run: bool = False, accept_protected: bool = False
    ) -> Imported:
        """Import notes that `export_notes` wrote: each that was edited is a revision."""
        return await on_thread(
            self._session.import_notes, folder, dry_run=dry_run, accept_protected=accept_protected
        )

    async def export_memory_json(self, target: str | Path, *, projects: Iterable[str] = ()) -> int:
        """Write what is believed as the entities and relations of `memory.json`, to a new file."""
        return await on_thread(self._session.export_memory_json, target, projects=projects)

    async def load(
        self,
        path: str | Path,
        *,
        label: str = "",
        key: str = "",
        edge: str = "",
        start: str = "",
        end: str = "",
        item: str = "",
        again: bool = False,
    ) -> Loaded:
        """Load rows of CSV, JSON lines or Parquet as nodes, edges or revisions of items."""
        return await on_thread(
            self._session.load,
            path,
            label=label,
            key=key,
            edge=edge,
            start=start,
            end=end,
            item=item,
            again=again,
        )
