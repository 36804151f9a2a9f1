"""The verbs about whom and what memory is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from doxa.app.checks import one_project, resolved_time, searched_project
from doxa.app.sessions.units import UnitVerbs
from doxa.base.limits import (
    ENTITIES_LISTED_ITEMS_MAX,
    NIGHTSHIFT_BATCH_ITEMS_MAX,
    NIGHTSHIFT_SOURCES_ITEMS_MAX,
    RUN_TOUCHED_ITEMS_MAX,
)
from doxa.belief import Change, Kref, parse_target
from doxa.belief.operation import change_of
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.app.verbs.options import Time
    from doxa.dream import DreamOptions
    from doxa.dream.nightshift import Work
    from doxa.entities import (
        EntityInfo,
        EntityPage,
        PathYield,
        PendingMention,
        Recorded,
        Resolution,
    )
    from doxa.jobs import JobRun


class EntityVerbs(UnitVerbs):
    """Made by Session, like the verbs that change beliefs."""

    def entities(
        self,
        text: str = "",
        *,
        kind: str = "",
        project: str | None = None,
        limit: int = 50,
        as_of: Time | None = None,
    ) -> list[EntityInfo]:
        """List whom and what memory is about, the most mentioned first.

        Counts, kinds and aliases are read from the mentions. `record_mentions` records those of
        what is stored.
        """
        from doxa.entities import list_entities

        found = searched_project(project, self.project)
        arguments.project(found)
        for given, field in ((text, "text"), (kind, "kind")):
            arguments.text(given, field)
        with self._store.read() as snapshot:
            return list_entities(
                snapshot,
                found,
                kind=kind,
                text=text,
                limit=_most(limit),
                as_of=self._as_of(as_of),
            )

    def entity(
        self,
        entity: str,
        *,
        project: str | None = None,
        limit: int = 20,
        as_of: Time | None = None,
    ) -> EntityPage:
        """Show an entity: its names, its mentions, what is mentioned with it, and its facts.

        The address of one that was merged leads to what it was merged into.
        """
        from doxa.entities import read_entity

        with self._store.read() as snapshot:
            return read_entity(
                snapshot,
                _named(entity, "entity"),
                project=self._one(project),
                limit=_most(limit),
                as_of=self._as_of(as_of),
            )

    def mention(
        self,
        name: str,
        *,
        kind: str = "",
        aliases: Iterable[str] = (),
        source: str | Kref = "",
        project: str | None = None,
    ) -> Resolution:
        """Record that a turn or belief mentions an entity, or state that there is one.

        The decision is exact, new, assume, defer or ask: what is uncertain is not guessed but
        waits, and `pending_entities` lists it.
        """
        from doxa.entities import mention

        arguments.text(name, "name")
        arguments.text(kind, "kind")
        others = arguments.texts(aliases, "aliases")
        found = self._one(project)
        with self._ledger().write("mention") as work:
            return mention(
                work.tx, project=found, name=name, kind=kind, aliases=others, source=str(source)
            )

    def record_mentions(
        self,
        *,
        project: str | None = None,
        again: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Recorded:
        """Record the names that turns and beliefs of a project mention, since the last call.

        Rules read the names. With `again`, everything is read again; what is recorded already stays
        as it is.
        """
        from doxa.entities import record
        from doxa.jobs import begin

        arguments.flags(again=again)
        where = self._one(project)
        job = partial(record, self._store, self.identity, where, again=again, progress=progress)
        if self._store.is_joined:
            return job()
        with begin(self._store, "mentions", project=where) as run:
            found = job()
            run.finish(_counts(found))
        return found

    def _night_work(self, project: str, dreaming: DreamOptions) -> dict[str, Work]:
        from doxa.dream.nightshift import Work
        from doxa.entities import record

        def work(run: JobRun) -> Mapping[str, Any]:
            return _counts(
                record(
                    self._store,
                    self.identity,
                    project,
                    sources_max=NIGHTSHIFT_SOURCES_ITEMS_MAX,
                    batch_max=NIGHTSHIFT_BATCH_ITEMS_MAX,
                    write=run.write,
                )
            )

        found = super()._night_work(project, dreaming)
        return found | {"mentions": Work(work, number=RUN_TOUCHED_ITEMS_MAX)}

    def merge_entities(
        self,
        entity: str,
        into: str,
        *,
        why: str = "",
        project: str | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Join an entity with another one, whose name and address stand for both.

        Nothing is moved: names and mentions keep their sources, `as_of` an earlier time shows two,
        and `undo` brings that back. What an operator verified, only an operator joins.
        """
        from doxa.entities import merge

        arguments.text(why, "why")
        one, other, found = _named(entity, "entity"), _named(into, "into"), self._one(project)
        with self._ledger(dry_run=dry_run).write("merge_entities") as work:
            root = merge(work.tx, one, other, project=found, why=why)
        kref = "" if root is None else str(root.props["kref"])
        reason = "they are one already" if root is None else f"{one} leads to it"
        return change_of(work, "linked" if work.wrote else "unchanged", kref=kref, reason=reason)

    def split_entity(
        self,
        entity: str,
        *,
        sources: Iterable[str] = (),
        why: str = "",
        project: str | None = None,
        dry_run: bool = False,
    ) -> Change:
        """Part a name from what it was merged into, or some of its sources into a new entity.

        With `sources`, what these turns and beliefs mention by the name becomes another entity of
        that name.
        """
        from doxa.entities import split

        arguments.text(why, "why")
        found, given = self._one(project), _krefs(sources)
        with self._ledger(dry_run=dry_run).write("split_entity") as work:
            node = split(work.tx, _named(entity, "entity"), sources=given, project=found, why=why)
        return change_of(work, "unlinked", kref=str(node.props["kref"]))

    def verify_entity(
        self, entity: str, *, remove: bool = False, project: str | None = None
    ) -> Change:
        """Mark the names of an entity as verified, so that no agent joins or parts them.

        Needs the operator role.
        """
        from doxa.entities import verify

        arguments.flags(remove=remove)
        found = self._one(project)
        with self._ledger().write("verify_entity") as work:
            node = verify(work.tx, _named(entity, "entity"), project=found, remove=remove)
        kref = "" if node is None else str(node.props["kref"])
        done = "unchanged" if node is None else "untagged" if remove else "tagged"
        return change_of(work, done, kref=kref)  # type: ignore[arg-type]

    def pending_entities(
        self, *, project: str | None = None, answered: bool = False, limit: int = 50
    ) -> list[PendingMention]:
        """List names of which memory does not know whom or what they mean.

        Those that need a person come first; each has its candidates with a probability.
        """
        from doxa.entities import list_pending

        arguments.flags(answered=answered)
        found = searched_project(project, self.project)
        arguments.project(found)
        with self._store.read() as snapshot:
            return list_pending(snapshot, found, answered=answered, limit=_most(limit))

    def resolve_entity(
        self,
        mention: str | Kref,
        answer: str,
        *,
        sources: Iterable[str] = (),
        dry_run: bool = False,
    ) -> Change:
        """Answer whom or what a pending name means.

        The answer is the address of an entity, `new` for one of its own, or `none` for what is
        not an entity, and holds for later mentions too. With `sources` it is for these alone. A
        name that only looks like another is the operator's to answer.
        """
        from doxa.entities import resolve_pending

        given = _krefs(sources)
        with self._ledger(dry_run=dry_run).write("resolve_entity") as work:
            root = resolve_pending(
                work.tx, str(parse_target(mention)), _named(answer, "answer"), sources=given
            )
        kref = "" if root is None else str(root.props["kref"])
        return change_of(work, "linked" if work.wrote else "unchanged", kref=kref)

    def traversal_patterns(self, *, project: str | None = None) -> list[PathYield]:
        """Measure which kinds of paths lead from a memory to others that are used with it.

        What is used together are the grounds of one belief. Reads only.
        """
        from doxa.entities import path_yields

        found = searched_project(project, self.project)
        arguments.project(found)
        with self._store.read() as snapshot:
            return path_yields(snapshot, found)

    def _as_of(self, time: Time | None) -> int | None:
        return arguments.time(resolved_time(time, self._store.clock.now_ns()), "as_of")

    def _one(self, project: str | None) -> str:
        found = one_project(project, self.project)
        arguments.project(found)
        return found


def _named(text: str | Kref, field: str) -> str:
    given = str(text) if isinstance(text, Kref) else text
    arguments.text(given, field)
    return given


def _krefs(sources: Iterable[str]) -> list[str]:
    if isinstance(sources, (str, bytes, Kref)) or not isinstance(sources, Iterable):
        return list(arguments.texts(sources, "sources"))  # refuses it
    return [str(parse_target(one)) for one in sources]


def _most(limit: int) -> int:
    arguments.whole(limit, "limit")
    return min(limit, ENTITIES_LISTED_ITEMS_MAX)


def _counts(found: Recorded) -> dict[str, int]:
    return {
        "sources": found.sources,
        "mentions": found.mentions,
        "entities": found.entities,
        "pending": found.pending,
    }
