"""The composition root: a Config becomes a Memory, and every door speaks through a Session of it.

    with doxa.open("memory.db") as memory:
        memory.remember("We deploy on Thursdays", project="shop")
        memory.recall("when do we deploy?").hits

A Session holds who acts (actor, role) and where (project). Memory is the opened file with its
default session; `memory.session(...)` makes others. Everything here is synchronous; AsyncMemory
runs the same calls on threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from doxa.app.beliefs import BeliefVerbs
from doxa.app.bootstrap import begin
from doxa.app.expressions import LazyExpressions
from doxa.app.models import Interrupted, Job, ModelOptions, Models
from doxa.app.upkeep import Upkeep
from doxa.base.clock import Clock, parse_time
from doxa.base.errors import (
    InputError,
    LimitError,
    ModelError,
    NotFoundError,
    RoleError,
    StoreError,
)
from doxa.base.ids import ROLES, Role
from doxa.base.limits import ACCESS_FLUSH_MS, JOB_PAUSE_MS, JOB_STOP_S, MODEL_OUTAGE_MS
from doxa.base.values import Value
from doxa.belief import (
    Bundle,
    Conflict,
    Draft,
    Exchange,
    Kref,
    Member,
    Place,
    Revision,
    TagMove,
    Walk,
    parse_target,
    provenance,
    read_any,
    read_revision,
    require,
    revisions_of,
    shortest_path,
    tag_moves,
    traverse,
)
from doxa.belief.before_commit import check_before_commit
from doxa.belief.reading.views import all_shown, read_as_of, read_at
from doxa.ingestion import arguments
from doxa.ingestion.arguments import Facts, Time
from doxa.store import Identity, LogProof, Receipt, Store, check, verify_log

if TYPE_CHECKING:
    from doxa.ingestion.ingest import Ingested
    from doxa.ingestion.readers import ReadReport
    from doxa.ingestion.remember import Remembered
    from doxa.language.turns import Turn
    from doxa.maintenance.doctor import Finding
    from doxa.maintenance.embedding import Reembedding
    from doxa.maintenance.forget import Forgotten
    from doxa.models.contract import Completer, Embedder, Reranker
    from doxa.models.meter import Spend
    from doxa.query.result import GraphResult
    from doxa.query.run import QueryEngine
    from doxa.query.session import GraphSession
    from doxa.recall import Hit, Recall, Recaller
    from doxa.transfer.jsonl import Imported


@dataclass(frozen=True, slots=True)
class History:
    """An item over time: its revisions in order, and every position of every tag; of a bundle,
    every membership."""

    item: str
    revisions: tuple[Revision, ...]
    tags: tuple[TagMove, ...]
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """How to open a memory. `embedder` is "auto" (DOXA_EMBEDDER, else the local model if it is
    installed), None (words only), a text such as "ollama:NAME", or an object of the contract;
    `model` and `reranker` likewise, with "auto" for the environment's or none. `model_urls` says
    where endpoints are, by role or provider; `model_prices` what a million tokens cost; the caps
    are for this opening. `background` False leaves embedding to `embed()`."""

    path: Path
    role: Role = "agent"
    actor: str = "local"
    project: str = "default"
    embedder: Embedder | str | None = "auto"
    model_folder: Path | None = None
    clock: Clock | None = None
    background: bool = True
    read_only: bool = False
    csv_folder: Path | None = None  # the only folder that LOAD CSV may read
    decay_enabled: bool | None = (
        # None: as the file's policies say; True: a new file begins with the standard ones; False:
        # neutral
        None
    )
    access_flush_ms: int = ACCESS_FLUSH_MS  # how long an access may wait before it is written
    model: Completer | str | None = "auto"
    reranker: Reranker | str | None = "auto"
    model_urls: Mapping[str, str] | None = None
    model_prices: Mapping[str, Sequence[float]] | None = None
    model_calls_max: int | None = None
    model_tokens_max: int | None = None


def default_path() -> Path:
    """DOXA_DB, else doxa/memory.db in the user's data folder (XDG_DATA_HOME, or ~/.local/share)."""
    named = os.environ.get("DOXA_DB")
    if named:
        return Path(named)
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "doxa" / "memory.db"


class Session(BeliefVerbs):
    """The verbs, in the name of one identity, by default in one project. Made by Memory."""

    def __init__(
        self,
        memory: Memory,
        identity: Identity,
        project: str,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        self._memory = memory
        self.identity = identity
        self.project = project
        self.context = arguments.context(context)
        self._told: dict[str, Any] | None = (
            self.context
        )  # what accesses are noted with; None: whoever asks notes them

    @property
    def memory(self) -> Memory:
        """The opened file that this session speaks to."""
        return self._memory

    def _without_notes(self) -> Session:
        """The same session for a query that notes itself what it returns."""
        found = Session(self._memory, self.identity, self.project, self.context)
        found._told = None
        return found

    # In

    def remember(
        self,
        text: str,
        *,
        project: str = "",
        space: str = "",
        name: str = "",
        kind: str = "fact",
        title: str = "",
        topics: Iterable[str] = (),
        keywords: Iterable[str] = (),
        facts: Facts = (),
        sentences: Iterable[object] = (),
        valid_from: Time | None = None,
        valid_until: Time | None = None,
        confidence: float = 1.0,
        trust: str = "stated",
        metadata: Mapping[str, Value] | None = None,
        derived_from: Iterable[str] = (),
        depends_on: Iterable[str] = (),
        expect: int | None = None,
        embedding_text: str = "",
        events: Iterable[str] = (),
        implications: Iterable[str] = (),
        questions: Iterable[str] = (),
        decisions: Iterable[str] = (),
        entities: Iterable[str] = (),
    ) -> Remembered:
        """State one belief. With a `name` that exists it is revised; without, a belief that says
        the same is found and returned instead.

        `facts` are (subject, predicate, value) triples, `sentences` what is no plain fact, such as
        {"if": s, "then": s}; times are ISO 8601 or datetimes; `derived_from`/`depends_on` are
        krefs; `embedding_text` is what its vector is made of instead of its own text (words are
        always looked for in its own text). `events` (what happened, and what followed),
        `implications` (what may come of it, in other words), `questions` that are open, `decisions`
        and `entities` (who and what it is about) are short texts, each found by itself; nothing is
        concluded from them. Raises InputError, LimitError, ConflictError (`expect`: the revision
        number that must be current), StoreError.
        """
        from doxa.ingestion.remember import remember

        arguments.whole(expect, "expect", optional=True)
        arguments.check_kind(kind)
        self._may_trust(trust)
        draft = Draft(
            summary=text,
            project=project or self.project,
            space=space,
            name=name,
            kind=kind,
            title=title,
            topics=arguments.texts(topics, "topics"),
            keywords=arguments.texts(keywords, "keywords"),
            facts=arguments.facts(facts),
            sentences=arguments.sentences(sentences),
            valid_from=arguments.time(valid_from, "valid_from"),
            valid_until=arguments.time(valid_until, "valid_until"),
            confidence=confidence,
            trust=trust,
            metadata=arguments.metadata(metadata, embedding_text),
            events=arguments.texts(events, "events"),
            implications=arguments.texts(implications, "implications"),
            questions=arguments.texts(questions, "questions"),
            decisions=arguments.texts(decisions, "decisions"),
            entities=arguments.texts(entities, "entities"),
        )
        links = [("DERIVED_FROM", kref) for kref in arguments.texts(derived_from, "derived_from")]
        links += [("DEPENDS_ON", kref) for kref in arguments.texts(depends_on, "depends_on")]
        result = remember(
            self._store,
            self.identity,
            draft=draft,
            links=links,
            expect=expect,
        )
        self._memory.wake()
        return result

    def ingest(
        self,
        source: str | Path | Iterable[Turn | Mapping[str, object]],
        *,
        project: str = "",
        space: str = "conversations",
        thread: str = "",
        session: str = "",
        format: str | None = None,
        extract: bool = True,
        progress: Callable[[int], None] | None = None,
    ) -> Ingested:
        """Take a conversation in: a file (see `doxa import`), or messages as mappings with `text`
        and optionally speaker, role, time, id.

        Already known turns are passed over. With `extract`, rules look for candidate beliefs (trust
        `candidate`).
        """
        from doxa.ingestion.ingest import Ingest
        from doxa.ingestion.readers import ReadReport

        for name, value in (
            ("project", project),
            ("space", space),
            ("thread", thread),
            ("session", session),
            ("format", format or ""),
        ):
            arguments.text(value, name)
        arguments.flags(extract=extract)
        if progress is not None and not callable(progress):
            raise InputError(
                "progress is no function.",
                next_step="Give a function of one number, or leave it out.",
                field="progress",
            )
        report = ReadReport()
        turns = _turns(source, report, thread=thread, session=session, format=format)
        job = Ingest(
            self._store,
            self.identity,
            project=project or self.project,
            space=space,
            extracting=extract,
        )
        result = job.run(turns, progress=progress)
        self._memory.wake()
        return replace(result, skipped=report.skipped, places=tuple(report.places))

    # Out

    def recall(
        self,
        text: str,
        *,
        project: str | None = None,
        space: str = "",
        kinds: Iterable[str] = (),
        tag: str = "current",
        trust: str = "",
        speaker: str = "",
        thread: str = "",
        since: Time | None = None,
        until: Time | None = None,
        valid_at: Time | None = None,
        as_of: Time | None = None,
        history: bool = False,
        limit: int = 10,
        tokens_max: int | None = None,
        lanes: Iterable[str] | None = None,
        mode: str = "auto",
        from_thread: str = "",
        strict: bool = False,
        diversity: float = 0.0,
        order: str = "score",
        rerank: str = "none",
        reword: str = "none",
    ) -> Recall:
        """The best answers that memory holds and believes. `project` None asks in the session's
        project, "" in all.

        The session's own project may be one in which nothing was said yet: then there are no hits.
        One that is named must exist. Retired beliefs are absent unless `history` or `as_of` asks
        for them. Never waits for embeddings; what is missing is in `warnings`.
        """
        from doxa.recall import LANES, Ask, Recall

        arguments.flags(history=history, strict=strict)
        ask = Ask(
            text,
            project=self.project if project is None else project,
            space=space,
            kinds=arguments.texts(kinds, "kinds"),
            tag=tag,
            trust=trust,
            speaker=speaker,
            thread=thread,
            since=arguments.time(since, "since"),
            until=arguments.time(until, "until"),
            valid_at=arguments.time(valid_at, "valid_at"),
            as_of=arguments.time(as_of, "as_of"),
            history=history,
            limit=limit,
            tokens_max=tokens_max,
            lanes=LANES if lanes is None else arguments.texts(lanes, "lanes"),
            mode=mode,
            from_thread=from_thread,
            strict=strict,
            diversity=diversity,
            order=order,
            rerank=rerank,
            reword=reword,
        )
        try:
            return self._memory.recaller.recall(ask, context=self._told)
        except NotFoundError as error:
            if project is not None or error.fields.get("project") != self.project:
                raise
            return Recall(
                text, (), "fulltext", 0, 0, 0, (f"The project {self.project} holds no memory yet.",)
            )

    def recent(
        self, *, project: str | None = None, kinds: Iterable[str] = (), limit: int = 10
    ) -> list[Hit]:
        """What was last said or stated and is still believed, newest first."""
        named = arguments.texts(kinds, "kinds")
        return self._memory.recaller.recent(
            project=self.project if project is None else project,
            kinds=named,
            limit=limit,
            context=self._told,
        )

    def get(
        self, kref: str | Kref, *, reveal: bool = False
    ) -> Revision | Exchange | Place | Bundle | Conflict:
        """What an address means now (or at its pin): a bundle with its members. Raises KrefError or
        NotFoundError, also for what a persistence policy hides, unless `reveal` asks for it all the
        same."""
        target = parse_target(kref)
        arguments.flags(reveal=reveal)
        with self._store.read() as snapshot:
            found = read_at(snapshot, target, reveal=reveal)
            if target.at is None and not reveal:
                self._store.returned(snapshot, [str(found.kref)], self.context)
            return found

    def as_of(
        self, kref: str | Kref, time: Time, *, tag: str = "current"
    ) -> Revision | Exchange | Place | Bundle | Conflict:
        """What a tag of an item pointed to at a system time: what memory believed then. A bundle,
        with its members of that time."""
        with self._store.read() as snapshot:
            return read_as_of(
                snapshot, parse_target(kref), time=parse_time(time, field="time"), tag=tag
            )

    def history(self, kref: str | Kref, *, reveal: bool = False) -> History:
        """Every revision of an item, oldest first, and every tag's moves; of a bundle, every
        membership. Revisions that a persistence policy hides are left out, unless `reveal` asks for
        them."""
        target = parse_target(kref).item()
        arguments.flags(reveal=reveal)
        if not target.is_item:
            raise InputError(
                f"{target} is no item.", next_step="Give the address of an item.", kref=str(target)
            )
        with self._store.read() as snapshot:
            item = require(snapshot, target)
            nodes = revisions_of(snapshot, item.id)
            revisions = tuple(
                read_revision(snapshot, node)
                for node in (nodes if reveal else all_shown(snapshot, nodes))
            )
            found = read_any(snapshot, item)
            members = found.moves if isinstance(found, Bundle) else ()
            return History(str(target), revisions, tuple(tag_moves(snapshot, item)), members)

    def provenance(self, kref: str | Kref, *, depth: int = 10) -> Walk:
        """What a belief rests on, down to the conversation it came from."""
        arguments.whole(depth, "depth")
        with self._store.read() as snapshot:
            return provenance(snapshot, kref, depth=depth)

    def traverse(
        self,
        kref: str | Kref,
        *,
        direction: Literal["out", "in", "both"] = "out",
        depth: int = 10,
        types: Sequence[str] = (),
    ) -> Walk:
        """Everything reached over typed edges within `depth` (1-20), nearest first."""
        arguments.whole(depth, "depth")
        with self._store.read() as snapshot:
            return traverse(
                snapshot,
                kref,
                direction=direction,
                depth=depth,
                types=arguments.texts(types, "types"),
            )

    def shortest_path(
        self, start: str | Kref, end: str | Kref, *, depth: int = 10, types: Sequence[str] = ()
    ) -> Walk:
        """The fewest typed edges between two beliefs."""
        arguments.whole(depth, "depth")
        with self._store.read() as snapshot:
            return shortest_path(
                snapshot, start, end, depth=depth, types=arguments.texts(types, "types")
            )

    def forget(
        self, kref: str | Kref, *, erase: bool = False, confirm: str = "", preview: bool = False
    ) -> Forgotten:
        """Retire (undoable) or, as an operator, erase for good. More than one thing needs the token
        of a preview."""
        from doxa.maintenance.forget import forget

        arguments.flags(erase=erase, preview=preview)
        return forget(
            self._store, self.identity, kref, erase=erase, confirm=confirm, preview=preview
        )

    # Cypher

    def run(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """Run one Cypher statement by itself; its rows are in memory when it returns. Raises
        QueryError.

        For many rows, or several statements in one transaction, use `graph()`.
        """
        with self.graph() as graph:
            result = graph.run(text, params, timeout_ms=timeout_ms)
            result.buffer()
            return result

    def read(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """The same for a statement that only reads; refuses one that writes."""
        self._store.require_open()
        if self._memory.queries.prepare(text).writes:
            raise InputError(
                "This statement writes; `read` only reads.",
                next_step="Use `run` or `write`.",
                field="text",
            )
        return self.run(text, params, timeout_ms=timeout_ms)

    def write(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """The same under the name that says that it writes."""
        return self.run(text, params, timeout_ms=timeout_ms)

    def graph(self, context: Mapping[str, Any] | None = None) -> GraphSession:
        """A conversation in Cypher, for one thread at a time: results that stream, `begin`,
        `commit`, `rollback`, AS OF for all its statements. `context` is known to queries as $_name,
        and goes before the session's own."""
        from doxa.query.session import GraphSession

        self._store.require_open()
        folder = self._memory.config.csv_folder
        return GraphSession(
            self._store,
            self._memory.queries,
            self.identity,
            context={**self.context, **arguments.context(context)},
            csv_folder=None if folder is None else str(folder),
            owner=self,
        )


class Memory(Session):
    """An opened memory file. Close it, or use it as a context manager. Safe to share between
    threads."""

    def __init__(self, config: Config) -> None:
        _check_config(config)
        self.config = config
        self._models = Models(
            ModelOptions(
                config.embedder,
                config.model,
                config.reranker,
                config.model_urls,
                config.model_prices,
                config.model_calls_max,
                config.model_tokens_max,
                config.model_folder,
            )
        )
        self.store = Store(
            config.path,
            clock=config.clock,
            read_only=config.read_only,
            expressions=LazyExpressions(),
            decay_enabled=config.decay_enabled is not False,
            check_before_commit=check_before_commit,
        )
        self.upkeep = Upkeep(
            self.store, interval_ms=config.access_flush_ms, background=config.background
        )
        super().__init__(self, Identity(config.actor, config.role), config.project)
        self._job_error: ModelError | None = None
        self._worker_lock = threading.Lock()
        self._recaller: Recaller | None = None
        self._queries: QueryEngine | None = None
        self._worker: threading.Thread | None = None
        self._due = threading.Event()
        self._stopping = threading.Event()
        try:
            begin(self.store, bootstrap=config.decay_enabled is True)
        except BaseException:
            self.store.close()
            raise

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def session(
        self,
        *,
        actor: str = "",
        role: Role = "agent",
        project: str = "",
        context: Mapping[str, Any] | None = None,
    ) -> Session:
        """Another identity on the same file. A session cannot have more power than the memory was
        opened with. `context`, such as {"session": "s1", "agent": "planner"}, is known to queries
        and policies as $_session and so on."""
        arguments.check_role(role)
        arguments.text(actor, "actor")
        arguments.project(project)
        if ROLES.index(role) > ROLES.index(self.config.role):
            raise RoleError(
                f"This memory was opened as {self.config.role}; it cannot give a session the role"
                f" {role}.",
                next_step=f"Open it with role={role!r}.",
                role=role,
            )
        return Session(
            self, Identity(actor or self.identity.actor, role), project or self.project, context
        )

    def close(self) -> None:
        """Stop the embedding job after its current batch and close the file. What is not embedded
        yet stays due."""
        self._stopping.set()
        self._due.set()
        if self._worker is not None:
            self._worker.join(timeout=JOB_STOP_S)
            self._worker = None
        self.upkeep.stop()
        self.store.close()

    def settle(self) -> int:
        """Write the accesses that were noted, and finish what a change of policies left to do; the
        background job does both by itself. Returns how many elements had accesses to write."""
        with self.store.read():  # a closed memory says so
            pass
        return 0 if self.config.read_only else self.upkeep.settle()

    # Models and the embedding job

    @property
    def embedder(self) -> Embedder | None:
        """The embedding model, loaded at first need, with its latest vectors at hand; None if there
        is none (embedder_error says why)."""
        return self._models.embedder

    @property
    def embedder_error(self) -> ModelError | None:
        return self._job_error or self._models.embedder_error

    @property
    def model(self) -> Completer | None:
        """The language model, made at first need; None if none is configured, or it cannot be had
        (model_error says why)."""
        return self._models.model

    @property
    def model_error(self) -> ModelError | None:
        return self._models.model_error

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, made at first need; None if none is configured, or it cannot be had
        (reranker_error says why)."""
        return self._models.reranker

    @property
    def reranker_error(self) -> ModelError | None:
        return self._models.reranker_error

    def spend(self, *, process: bool = False) -> Spend:
        """What was sent to endpoints since this memory was opened, or with `process` by all
        memories of this process: calls, tokens, money."""
        arguments.flags(process=process)
        return self._models.spend(process=process)

    @property
    def queries(self) -> QueryEngine:
        """The Cypher engine with all procedures, made at first need."""
        if self._queries is None:
            from doxa.app.procedures import register
            from doxa.query.builtin import builtin
            from doxa.query.procedures import Registry
            from doxa.query.run import QueryEngine

            registry = builtin(Registry())
            register(registry)
            self._queries = QueryEngine(registry)
        return self._queries

    @property
    def recaller(self) -> Recaller:
        if self._recaller is None:
            from doxa.recall import Recaller

            self._recaller = Recaller(
                self.store,
                self._models.asking,
                reranker=lambda: self.reranker,
                model=lambda: self.model,
            )
            if (
                self.config.background
                and not self.config.read_only
                and (self.pending() or self.reembedding())
            ):
                # of what an earlier opening left; at the first question, so that opening loads no
                # model
                self.wake()
        return self._recaller

    def pending(self, *, in_use: bool = False) -> int:
        """How many memories await vectors: of the model in use or of one that is to take its place;
        `in_use`: of the first."""
        from doxa.maintenance.embedding import pending

        arguments.flags(in_use=in_use)
        with self.store.read() as snapshot:
            return pending(snapshot, in_use=in_use)

    def reembedding(self) -> Reembedding | None:
        """How far the vectors of another model are, which are made beside those in use; None while
        none are."""
        from doxa.maintenance.embedding import reembedding

        with self.store.read() as snapshot:
            return reembedding(snapshot)

    def embed(
        self,
        *,
        limit: int | None = None,
        anew: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Make vectors for what has none, here and now. `anew` begins to make all again, by another
        model: recall goes on with those there are until all new ones are made, by this call, a
        later one or the background job. Returns how many. Without a model: 0; where its endpoint is
        out of reach, what was made until then, and embedder_error says why. Raises LimitError where
        a cap on spending is reached."""
        from doxa.maintenance.embedding import embed_anew, embed_pending

        arguments.whole(limit, "limit", optional=True)
        arguments.flags(anew=anew)
        with self.store.read():  # a closed memory says so, also where there is nothing to do
            pass
        embedder = self._models.embedder
        if embedder is None:
            return 0
        if anew:
            embed_anew(self.store, embedder.name)
        job = Job(embedder, progress)
        with suppress(Interrupted):
            embed_pending(
                self.store,
                job,
                former=self._models.former,
                limit=limit,
                stop=self._stopping.is_set,
                progress=job.written,
            )
        if isinstance(job.error, LimitError):
            raise job.error
        self._job_error = job.error
        return job.done

    def wake(self) -> None:
        """Tell the background job that there may be work. It starts at the first call and never
        holds up a caller."""
        if not self.config.background or self.config.read_only or not self._models.embeds:
            return
        self._due.set()
        with self._worker_lock:
            if self._worker is None and not self._stopping.is_set():
                self._worker = threading.Thread(
                    target=self._work, name="doxa-embedding", daemon=True
                )
                self._worker.start()

    def _work(self) -> None:
        pause = 1
        while not self._stopping.is_set():
            self._due.wait()
            self._due.clear()
            self._stopping.wait(JOB_PAUSE_MS / 1_000)  # let a burst of writes finish first
            if self._stopping.is_set():
                return
            try:
                self.embed()
                if (
                    self.embedder_error is not None and "outage" in self.embedder_error.fields
                ):  # the endpoint may be back in a while
                    self._stopping.wait(MODEL_OUTAGE_MS / 1_000 * pause)
                    pause = min(2 * pause, 32)
                    self._due.set()
                else:
                    pause = 1
            # the job must not die silently: doctor shows this, and the work order stays in the file
            except Exception as error:
                self._job_error = ModelError(
                    f"The embedding job stopped: {error}",
                    next_step="Mend what it names, then run `doxa embed`.",
                )
                return

    # Care

    def log(self, *, limit: int = 20, after: int = 0, newest_first: bool = True) -> list[Receipt]:
        """Changes with their numbers, times, actors and operations."""
        for name, value in (("limit", limit), ("after", after)):
            arguments.whole(value, name)
        arguments.flags(newest_first=newest_first)
        with self.store.read() as snapshot:
            return snapshot.receipts(after=after, limit=limit, newest_first=newest_first)

    def verify(self) -> LogProof:
        """Walk the whole log and compare the state with a replay of it. Raises CorruptError where
        either does not fit."""
        from doxa.maintenance.doctor import prove

        return prove(self.store)

    def has_receipt(self, head: str) -> bool:
        """Whether the log contains a receipt with this hash (hexadecimal): compare with one noted
        elsewhere."""
        try:
            wanted = bytes.fromhex(head)
        except (ValueError, TypeError):
            return False
        with self.store.read() as snapshot:
            return bool(snapshot.rows("SELECT 1 FROM receipt WHERE hash = ?", (wanted,)))

    def doctor(self, *, models: bool = False) -> list[Finding]:
        """Look at everything that can be wrong and say what to do. No endpoint is asked, unless
        `models` says to call each model once."""
        from doxa.maintenance.doctor import examine

        arguments.flags(models=models)
        unasked = "" if models else self._models.embedder_unasked
        findings = examine(
            self.store, None if unasked else self.embedder, self.embedder_error, unasked=unasked
        )
        return findings + self._models.findings(ask=models)

    def check(self) -> list[str]:
        """Every invariant of the file; an empty list means sound."""
        return check(self.store)

    def backup(self, path: str | Path) -> Path:
        """A consistent copy while others read and write; verified before it is reported."""
        target = arguments.path(path, "path")
        arguments.text(str(target), "path")
        try:
            made = self.store.backup(target)
        except OSError as error:
            raise arguments.unusable(target, error) from None
        with Store(made, read_only=True) as copy:
            verify_log(copy)
        return made

    def export(self) -> Iterator[bytes]:
        """Every exchange, revision, artifact, bundle and typed edge as JSON lines (see
        transfer/jsonl.py); `import_` reads them."""
        from doxa.transfer.jsonl import export_lines

        return export_lines(self.store)

    def import_(self, path: str | Path) -> Imported:
        """Take an export of doxa in, each thing under the address it had; what is here already is
        passed over. Conversations: `ingest`."""
        from doxa.transfer.jsonl import import_lines

        done = import_lines(self.store, self.identity, arguments.path(path, "path"))
        self.wake()
        return done

    def stats(self) -> dict[str, object]:
        """Counts and sizes; of a coming set of vectors, how far it is."""
        from doxa.maintenance.embedding import reembedding

        path = Path(self.store.path)
        with self.store.read() as snapshot:
            labels = ("Project", "Space", "Item", "Revision", "Exchange", "Thread", "Artifact")
            counts: dict[str, object] = {
                label.lower() + "s": snapshot.count(label) for label in labels
            }
            last = snapshot.last_receipt()
            coming = reembedding(snapshot)
            next_set = (
                {}
                if coming is None
                else {
                    "embedder_next": coming.model,
                    "embedded_next": coming.made,
                    "unembedded_next": coming.due,
                }
            )
            rows = snapshot.rows(
                "SELECT count(*), coalesce(sum(vectors > 0), 0), coalesce(sum(live), 0) FROM doc"
                " WHERE node > 0"
            )[0]
        size = sum(f.stat().st_size for f in (path, Path(f"{path}-wal")) if f.exists())
        return {
            "path": str(path),
            **counts,
            "searchable": rows[2],
            "embedded": rows[1],
            "unembedded": rows[0] - rows[1],
            **next_set,
            "changes": last.tx if last else 0,
            "log_entries": last.last_seq if last else 0,
            "bytes": size,
        }


def open_memory(
    path: str | Path | None = None,
    *,
    role: Role = "agent",
    actor: str = "local",
    project: str = "default",
    embedder: Embedder | str | None = "auto",
    model: Completer | str | None = "auto",
    reranker: Reranker | str | None = "auto",
    model_urls: Mapping[str, str] | None = None,
    model_prices: Mapping[str, Sequence[float]] | None = None,
    model_calls_max: int | None = None,
    model_tokens_max: int | None = None,
    model_folder: Path | None = None,
    clock: Clock | None = None,
    background: bool = True,
    read_only: bool = False,
    csv_folder: str | Path | None = None,
    decay_enabled: bool | None = None,
    access_flush_ms: int = ACCESS_FLUSH_MS,
) -> Memory:
    """Open (or create) a memory file; without a path, the user's own (`default_path`). Raises a
    StoreError that says what is wrong."""
    place = arguments.path(path, "path") if path is not None else default_path()
    if path is None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise arguments.unusable(place.parent, error) from None
    folder = arguments.path(csv_folder, "csv_folder") if csv_folder is not None else None
    return Memory(
        Config(
            place,
            role,
            actor,
            project,
            embedder,
            model_folder,
            clock,
            background,
            read_only,
            folder,
            decay_enabled,
            access_flush_ms,
            model,
            reranker,
            model_urls,
            model_prices,
            model_calls_max,
            model_tokens_max,
        )
    )


class AsyncMemory:
    """The same calls as Memory, each awaited: delegated to threads, so that there is one
    implementation."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    @classmethod
    async def open(cls, path: str | Path | None = None, **options: Any) -> AsyncMemory:
        return cls(await _on_thread(open_memory, path, **options))

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await _on_thread(self._memory.close)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._memory, name)
        if name.startswith("_") or not callable(call):
            raise AttributeError(name)

        async def awaited(*args: Any, **options: Any) -> Any:
            return await _on_thread(call, *args, **options)

        awaited.__name__ = name
        awaited.__doc__ = call.__doc__
        return awaited


async def _on_thread(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    import asyncio  # a synchronous user does not pay for it

    return await asyncio.to_thread(call, *args, **options)


def _check_config(config: Config) -> None:
    """What a wrong argument of `open` would otherwise do much later."""
    arguments.check_role(config.role)
    for name, value in (
        ("path", str(arguments.path(config.path, "path"))),
        ("actor", config.actor),
    ):
        arguments.text(value, name)
    arguments.project(config.project)
    arguments.flags(background=config.background, read_only=config.read_only)
    if config.decay_enabled is not None:
        arguments.flags(decay_enabled=config.decay_enabled)
    arguments.whole(config.access_flush_ms, "access_flush_ms")
    if not config.access_flush_ms:
        raise InputError(
            "access_flush_ms is at least 1.",
            next_step="Give milliseconds; the default is 2,000.",
            field="access_flush_ms",
        )
    if config.path.exists() and not (
        config.path.is_file() or config.path.is_dir()
    ):  # opening a pipe would wait for its other end
        raise StoreError(
            f"{config.path} is no file.",
            next_step="Give the path of a memory file, or of a new one.",
            path=str(config.path),
        )
    if config.model_folder is not None:
        arguments.path(config.model_folder, "model_folder")
    for name, cap in (
        ("model_calls_max", config.model_calls_max),
        ("model_tokens_max", config.model_tokens_max),
    ):
        arguments.whole(cap, name, optional=True)
    if config.clock is not None and not hasattr(config.clock, "now_ns"):
        raise InputError(
            f"{config.clock!r:.80} is no clock.",
            next_step="Give an object with `now_ns`, or leave it out.",
            field="clock",
        )


def _turns(
    source: str | Path | Iterable[Any],
    report: ReadReport,
    *,
    thread: str,
    session: str,
    format: str | None,
) -> Iterable[Turn]:
    from doxa.language.turns import Turn, check_turn, turn_of

    if isinstance(source, (str, Path)):
        from doxa.ingestion.readers import read

        return read(arguments.path(source, "source"), format, report=report)
    if not isinstance(source, Iterable):
        kind = type(source).__name__
        raise InputError(
            f"A conversation is a path or a list of messages; this is {kind}.",
            next_step="Give either.",
            field="source",
        )
    messages: Iterable[Any] = source
    return (
        check_turn(item)
        if isinstance(item, Turn)
        else turn_of(item, thread=thread, session=session)
        for item in messages
    )
