"""A session: the verbs in the name of one identity, by default in one project.

`beliefs.py` holds the verbs that change beliefs. A session belongs to an opened memory, whose
`session(...)` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from doxa.app.checks import (
    ALL_PROJECTS,
    checked,
    one_project,
    path_outside,
    resolved_time,
    searched_project,
)
from doxa.app.file import MemoryFile
from doxa.app.retries import retryable
from doxa.app.sessions.agent.context import ContextVerbs
from doxa.base.clock import parse_time
from doxa.base.errors import DoxaError, InputError, NotFoundError
from doxa.base.limits import TOKEN_WAIT_S_MAX
from doxa.belief import (
    Bundle,
    Conflict,
    Exchange,
    Kref,
    Listing,
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
from doxa.belief.reading.views import all_shown, read_as_of, read_at
from doxa.ingestion import arguments
from doxa.store import TRUST_DEFAULT, Identity
from doxa.store.stream.tokens import token_of, wait_for

if TYPE_CHECKING:
    from doxa.app.verbs.options import EventOptions, IngestOptions, RecallOptions, Time
    from doxa.events import EventStream
    from doxa.ingestion.extraction import Extracted
    from doxa.ingestion.ingest import Ingested
    from doxa.ingestion.readers import ReadReport
    from doxa.language.turns import Turn
    from doxa.maintenance.forget import Forgotten
    from doxa.query.result import GraphResult
    from doxa.query.session import GraphSession
    from doxa.recall import Hit, Recall
    from doxa.store.stream.cursors import EventCursor

_T = TypeVar("_T")
_CONTAINERS = frozenset(("Project", "Space", "Thread"))


@dataclass(frozen=True, slots=True)
class History:
    """An item over time: its revisions in order, and every position of every tag; of a bundle,
    every membership."""

    item: str
    revisions: tuple[Revision, ...]
    tags: tuple[TagMove, ...]
    members: tuple[Member, ...] = ()


class Session(ContextVerbs):
    """The verbs in the name of one identity, by default in one project. A Memory makes it."""

    databases: tuple[str, ...] = ()  # those that SHOW DATABASES lists, where a server has several

    def __init__(
        self,
        memory: MemoryFile,
        identity: Identity,
        project: str,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        self._memory = memory
        self.identity = identity
        self.project = project
        self.context = arguments.context(context)
        # what accesses are noted with; None: the caller notes them
        self._access_context: dict[str, Any] | None = self.context

    @property
    def memory(self) -> MemoryFile:
        """The opened file that this session uses."""
        return self._memory

    # How far this memory is

    def token(self) -> str:
        """Return the token of the last change that this session sees: `change@receipt`.

        Another server of the same memory honours it; so does that of any write, from its `change`
        and `receipt`.
        """
        return token_of(self._memory.store)

    def wait(self, token: str, *, timeout_s: float = 5.0) -> str:
        """Wait until this memory has the change of a token; return the token of its last one.

        The token comes from `token`, or from a write on another server. After `timeout_s` seconds,
        up to 60, BusyError.
        """
        arguments.number(timeout_s, "timeout_s")
        return wait_for(
            self._memory.store, token, timeout_s=min(max(0.0, timeout_s), TOKEN_WAIT_S_MAX)
        )

    # Ingestion

    @retryable
    def ingest(
        self,
        source: str | Path | Iterable[Turn | Mapping[str, object]],
        *,
        progress: Callable[[int], None] | None = None,
        idempotency_key: str = "",
        **options: Unpack[IngestOptions],
    ) -> Ingested:
        """Ingest a conversation: a file or folder, or messages.

        A message is a mapping with `text`, and optionally `speaker`, `role`, `time` and `id`.
        Turns that are known already are skipped. With `extract`, rules look for candidate beliefs
        (trust `candidate`).
        """
        from doxa.app.imports import import_files, joined
        from doxa.ingestion.ingest import Ingest
        from doxa.ingestion.readers import ReadReport
        from doxa.ingestion.readers.origin import doubt

        given = checked("ingest", options)
        arguments.function(progress, "progress")
        project = one_project(given["project"], self.project)
        before, rest = None, True
        if isinstance(source, (str, Path)):
            path = path_outside(source, "source", self._store)
            before, rest = import_files(self._store, self.identity, path, project, given, progress)
        if before is not None and not rest:
            self._memory.wake()
            return before
        report = ReadReport()
        turns = _turns(
            source,
            report,
            thread=given["thread"],
            session=given["session"],
            format=given["format"],
        )
        job = Ingest(
            self._store,
            self.identity,
            project=project,
            space=given["space"],
            extracting=given["extract"],
            imported=isinstance(source, (str, Path)),
            doubted=doubt(given["trust"], report, isinstance(source, (str, Path)), self.identity),
            vouching=given["trust"] == TRUST_DEFAULT,
        )
        result = job.run(turns, progress=progress)
        self._memory.wake()
        result = replace(result, skipped=report.skipped, places=(*report.places, *result.places))
        return result if before is None else joined(before, result)

    def extract(
        self,
        *,
        project: str | None = None,
        again: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Extracted:
        """Read stored turns and state the candidate beliefs that rules find in them.

        For turns ingested without extraction, or by earlier rules. What is stated already stays as
        it is, so that a second call writes nothing. With `again`, candidates that an undo has taken
        away are stated once more; what a person retired stays retired.
        """
        from doxa.ingestion.extraction import extract_stored

        arguments.flags(again=again)
        arguments.function(progress, "progress")
        found = one_project(project, self.project)
        arguments.project(found)
        result = extract_stored(self._store, self.identity, found, again=again, progress=progress)
        self._memory.wake()
        return result

    # Questions

    def recall(self, text: str, **options: Unpack[RecallOptions]) -> Recall:
        """Find the best answers among what memory believes and what was said.

        The session's own project may be empty: then there are no hits. A project that is named
        must exist. Retired beliefs are left out unless `history` or `as_of` asks for them. Recall
        never waits for embeddings; `warnings` says what is missing.
        """
        from doxa.recall import LANES_DEFAULT, Ask, Recall

        given = checked("recall", options, now_ns=self._store.clock.now_ns())
        named = given.pop("project")
        lanes = given.pop("lanes")
        ask = Ask(
            text,
            project=searched_project(named, self.project),
            lanes=LANES_DEFAULT if lanes is None else lanes,
            **given,
        )
        found = self._unless_absent(
            named, partial(self._memory.recaller.recall, ask, context=self._access_context)
        )
        if found is not None:
            return found
        warning = f"The project {self.project} holds no memory yet."
        if self._has_projects():
            warning += f" To search all projects, give the project {ALL_PROJECTS!r}."
        return Recall(text, (), "fulltext", 0, 0, 0, (warning,))

    def _unless_absent(self, named: str | None, search: Callable[[], _T]) -> _T | None:
        """Return what a search finds; None if no project is named and the session's own, which
        begins with the first thing that is stored, does not exist yet."""
        try:
            return search()
        except NotFoundError as error:
            if named is not None or error.fields.get("project") != self.project:
                raise
            return None

    def _has_projects(self) -> bool:
        with self._store.read() as snapshot:
            return snapshot.count("Project") > 0

    def recent(
        self,
        *,
        project: str | None = None,
        kinds: Iterable[str] = (),
        trust: str = "",
        limit: int = 10,
    ) -> list[Hit]:
        """List what was last said or stated and is still believed, newest first.

        What untrusted sources said is left out. The session's own project may be empty: then the
        list is empty. A project that is named must exist.
        """
        named = arguments.texts(kinds, "kinds")
        search = partial(
            self._memory.recaller.recent,
            project=searched_project(project, self.project),
            kinds=named,
            trust=trust,
            limit=limit,
            context=self._access_context,
        )
        return self._unless_absent(project, search) or []

    def get(
        self, kref: str | Kref, *, reveal: bool = False
    ) -> Revision | Exchange | Place | Bundle | Conflict:
        """Return what an address means now, or at its pin.

        A bundle comes with its members, a project, space or thread with the first page of what is
        in it. What a persistence policy hides is not found unless `reveal` is set.
        """
        target = parse_target(kref)
        arguments.flags(reveal=reveal)
        with self._store.read() as snapshot:
            found = read_at(snapshot, target, reveal=reveal)
            if isinstance(found, Place) and found.type in _CONTAINERS:
                found = replace(found, contents=self.contents(target.item()))
            if target.at is None and not reveal:
                self._store.returned(snapshot, [str(found.kref)], self.context)
            return found

    def contents(self, kref: str | Kref = "", *, limit: int = 100, after: str = "") -> Listing:
        """List what is directly in a project, space or thread; without an address, the projects.

        What a persistence policy hides is left out. `next` of a page is the `after` of the
        following one.
        """
        from doxa.belief.reading.contents import list_contents

        arguments.whole(limit, "limit")
        if limit < 1:
            raise InputError("limit is at least 1.", next_step="Give 1 or more.", field="limit")
        arguments.text(after, "after")
        with self._store.read() as snapshot:
            return list_contents(snapshot, kref, limit=limit, after=after)

    def as_of(
        self, kref: str | Kref, time: Time, *, tag: str = "current"
    ) -> Revision | Exchange | Place | Bundle | Conflict:
        """Return what a tag of an item pointed to at a time.

        A bundle comes with its members of that time.
        """
        when = parse_time(resolved_time(time, self._store.clock.now_ns()), field="time")
        with self._store.read() as snapshot:
            return read_as_of(snapshot, parse_target(kref), time=when, tag=tag)

    def history(self, kref: str | Kref, *, reveal: bool = False) -> History:
        """List every revision of an item, oldest first, and every move of its tags.

        Of a bundle, every membership. Revisions that a persistence policy hides are left out
        unless `reveal` is set.
        """
        target = parse_target(kref).item()
        arguments.flags(reveal=reveal)
        if not target.is_item:
            raise InputError(
                f"{target} is not an item.",
                next_step="Give the address of an item.",
                kref=str(target),
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
        """Find what a belief depends on, down to the conversation it came from."""
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
        """Follow typed edges from an element, nearest first."""
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
        """Find the fewest typed edges between two elements, in either direction.

        Without such a path there are no steps, and `cut` says so.
        """
        arguments.whole(depth, "depth")
        with self._store.read() as snapshot:
            return shortest_path(
                snapshot, start, end, depth=depth, types=arguments.texts(types, "types")
            )

    @retryable
    def forget(
        self,
        kref: str | Kref,
        *,
        erase: bool = False,
        confirm: str = "",
        preview: bool = False,
        idempotency_key: str = "",
    ) -> Forgotten:
        """Retire an item, turn, thread, space or project, or erase it for good.

        Retiring can be undone. Erasing destroys content and is the operator's. More than one thing
        needs the token of a preview.
        """
        from doxa.maintenance.forget import forget

        arguments.flags(erase=erase, preview=preview)
        done = forget(
            self._store, self.identity, kref, erase=erase, confirm=confirm, preview=preview
        )
        place = parse_target(kref).item()
        if erase and done.done and not place.spaces and not place.is_item:
            return self._chats_erased(done, place.project)
        return done

    def _chats_erased(self, done: Forgotten, project: str) -> Forgotten:
        """Erase the working memory of an erased project too; say so if that fails."""
        try:
            self._memory._open_working().clear_all(project=project)
        except DoxaError as error:
            note = f"Its working memory is left until it expires: {error.message}"
            return replace(done, note=" ".join(filter(None, (done.note, note))))
        return done

    # Events

    def events(self, **options: Unpack[EventOptions]) -> EventStream:
        """Iterate over what was committed, in order, as events derived from the log.

        Begins at the beginning unless `since` or `after` says otherwise, or the cursor exists.
        Delivery is at least once: the position of a named cursor is kept in the file when a batch
        was consumed or, with `ack="manual"`, at each `ack`. With `follow` the iterator waits for
        more. A session that is bound to projects gets their events alone.
        """
        from doxa.app.streams import open_stream

        given = checked("events", options, now_ns=self._store.clock.now_ns())
        return open_stream(self._store, self.identity, given)

    def cursors(self) -> list[EventCursor]:
        """List the cursors of consumers of this session's role and projects."""
        from doxa.app.streams import list_cursors

        return list_cursors(self._store, self.identity)

    def set_cursor(
        self,
        name: str,
        *,
        after: str | None = None,
        since: Time | None = None,
        remove: bool = False,
    ) -> None:
        """Move a cursor, also back, or make it: what follows the position is delivered next.

        Without a position, everything is. `remove` deletes it.
        """
        from doxa.app.streams import move_cursor

        arguments.flags(remove=remove)
        when = arguments.time(resolved_time(since, self._store.clock.now_ns()), "since")
        move_cursor(self._store, self.identity, name, after=after, since=when, remove=remove)

    # Cypher

    def run(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """Run one Cypher statement in a transaction of its own.

        The rows are in memory when it returns. For many rows, or several statements in one
        transaction, use `graph()`.
        """
        with self.graph() as graph:
            result = graph.run(text, params, timeout_ms=timeout_ms)
            result.buffer()
            return result

    def read(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> GraphResult:
        """Run one Cypher statement that only reads.

        A statement that writes is refused.
        """
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
        """Run one Cypher statement that may write; the same as `run`."""
        return self.run(text, params, timeout_ms=timeout_ms)

    def graph(self, context: Mapping[str, Any] | None = None) -> GraphSession:
        """Open a Cypher session: results that stream, and transactions of several statements.

        One thread at a time may use it. Queries see `context` as $_name; its entries take
        precedence over the session's own.
        """
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


def without_access_notes(session: Session) -> Session:
    """Return the same session for a query that notes itself what it returns."""
    found = Session(session._memory, session.identity, session.project, session.context)
    found._access_context = None
    return found


def _turns(
    source: str | Path | Iterable[Any],
    report: ReadReport,
    *,
    thread: str,
    session: str,
    format: str | None,
) -> Iterator[Turn]:
    from doxa.language.turns import Turn, check_turn, turn_of

    if isinstance(source, (str, Path)):
        from doxa.ingestion.readers import OTHERS, read

        path = arguments.path(source, "source")
        return iter(read(path, format, report=report, only=OTHERS))
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
