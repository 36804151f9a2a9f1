"""The verbs of consolidation: sessions become summaries, events, facts, decisions and tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from doxa.app.checks import resolved_time
from doxa.app.sessions.entities import EntityVerbs
from doxa.base.clock import parse_time
from doxa.base.errors import (
    ConflictError,
    InputError,
    LimitError,
    ModelError,
    NotFoundError,
)
from doxa.base.limits import NIGHTSHIFT_SESSIONS_ITEMS_MAX
from doxa.ingestion import arguments
from doxa.language.turns import Turn

if TYPE_CHECKING:
    from doxa.app.verbs.options import Time
    from doxa.consolidation.consolidate import Consolidated, Consolidation, SessionResult
    from doxa.consolidation.producers.contract import Producer
    from doxa.consolidation.queue import Pending
    from doxa.consolidation.tasks import Task
    from doxa.consolidation.units import Unit
    from doxa.dream import DreamOptions
    from doxa.dream.nightshift import Shift, Work
    from doxa.jobs.applying import ActionApart
    from doxa.store import Reader
    from doxa.working import Chat

_COMMAND = "command:"
_PRODUCERS = ("rules", "model", "host")


class ConsolidationVerbs(EntityVerbs):
    """Made by Session, like the verbs of working memory."""

    def consolidate(
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
        """Make a session or thread into a summary, events, facts, decisions and tasks.

        `target` is a thread, its name, or a session of working memory, which is stored first;
        without one, what is not consolidated yet. `producer` is rules, model, host, or command: and
        a program. A host passes the `structure`; without it, `needs` says what is wanted. Every
        entry is checked against its turns. What fails stays in the queue.
        """
        from doxa.consolidation.consolidate import Consolidation
        from doxa.entities import mention

        for name, value in (
            ("target", target),
            ("session", session),
            ("producer", producer),
            ("model", model),
            ("digest", digest),
        ):
            arguments.text(value, name)
        arguments.flags(dry_run=dry_run)
        arguments.whole(limit, "limit")
        place = self._chat_project(project)
        asked = producer or ("rules" if structure is None else "host")
        if asked == "host" and structure is None:
            units = self._units(target, session, user, context, place, limit, None, dry_run)
            return self._needed(units, place)
        made = self._producer(asked, structure, model)
        keeping = not producer and structure is None
        job = Consolidation(self._store, made, mention=mention, keeping=keeping, progress=progress)
        units = self._units(target, session, user, context, place, limit, job, dry_run)
        if structure is not None:
            units = self._answered(units, digest, made)
        found = job.run(units[: max(0, limit)], dry_run=dry_run)
        if not (target or user or context or producer or structure):
            left = limit - len(found)
            found += self._retried(place, left, dry_run=dry_run, progress=progress)
        self._memory.wake()
        whole = not (target or user or context or structure is not None)
        return self._consolidated(found, place, more=whole and len(found) >= limit > 0)

    def _night_work(self, project: str, dreaming: DreamOptions) -> dict[str, Work]:
        from doxa.dream.nightshift import Work

        found = super()._night_work(project, dreaming)
        shift = partial(self._consolidate_shift, project, asks_model=bool(dreaming.budget.calls))
        return found | {"consolidate": Work(notes_itself=shift)}

    def _consolidate_shift(self, project: str, *, asks_model: bool) -> Shift:
        """Consolidate by rules what waits, at most so many sessions; what the model failed to do is
        tried again if it may be asked. The run that is noted says so also if nothing waited."""
        from doxa.consolidation.consolidate import JOB, Consolidation
        from doxa.dream.nightshift import Shift
        from doxa.entities import mention
        from doxa.jobs import begin, end_dead
        from doxa.jobs.lease import NIGHTSHIFT

        end_dead(self._store, JOB, project=project, mine=(NIGHTSHIFT,))
        most = NIGHTSHIFT_SESSIONS_ITEMS_MAX
        job = Consolidation(self._store, self._producer("rules", None, ""), mention=mention)
        with begin(self._store, JOB, project=project) as run:
            units = self._units("", "", "", "", project, most, job, False)
            found = job.run(units[:most])
            if asks_model:
                found += self._retried(project, most - len(found), dry_run=False)
            self._memory.wake()
            states = Counter(one.status for one in found)
            counts = {"sessions": len(found), "stored": states["done"], "queued": states["queued"]}
            counts["tokens"] = sum(one.tokens for one in found)
            run.finish(counts)
        return Shift(JOB, "done", counts, "", run.kref)

    def _actions_apart(self) -> Mapping[str, ActionApart]:
        return {**super()._actions_apart(), "consolidate": self._consolidate_proposed}

    def _consolidate_proposed(self, action: Mapping[str, Any]) -> str:
        """Do what a dream proposes for a thread that no summary covers."""
        from doxa.consolidation.consolidate import Consolidation
        from doxa.consolidation.units import units_of
        from doxa.entities import mention

        with self._store.read() as reader:
            units = list(units_of(reader, str(action["thread"])))
        job = Consolidation(self._store, self._producer("rules", None, ""), mention=mention)
        found = job.run(units)
        self._memory.wake()
        failed = [one for one in found if one.status == "queued"]
        if failed:
            raise ConflictError(
                f"{len(failed)} of {len(found)} parts of the thread are left in the queue:"
                f" {failed[0].error[:200]}",
                next_step="Look at them with consolidations, and apply the proposal again.",
            )
        runs = [one.run for one in found if one.run]
        return (
            f"{len(runs)} sessions consolidated: {', '.join(runs[:5])}" if runs else "all is done"
        )

    def consolidations(self, *, project: str | None = None) -> list[Pending]:
        """List the sessions that await consolidation, with what went wrong, the next one first."""
        from doxa.consolidation import queue

        place = self._chat_project(project)
        with self._store.read() as reader:
            return queue.pending(reader, project=place)

    def tasks(
        self,
        *,
        kind: str = "",
        who: str = "",
        state: str = "open",
        before: Time | None = None,
        project: str | None = None,
        limit: int = 100,
    ) -> list[Task]:
        """List what sessions left to do: actions, commitments and open questions.

        The earliest day first. `before` a time: only those with a day that is earlier.
        """
        from doxa.consolidation.tasks import list_tasks

        for name, value in (("kind", kind), ("who", who), ("state", state)):
            arguments.text(value, name)
        arguments.whole(limit, "limit")
        place = self._chat_project(project)
        until = (
            None
            if before is None
            else parse_time(resolved_time(before, self._store.clock.now_ns()), field="before")
        )
        with self._store.read() as reader:
            return list_tasks(
                reader, place, kind=kind, who=who, state=state, before=until, limit=limit
            )

    def _retried(
        self,
        project: str,
        limit: int,
        *,
        dry_run: bool,
        progress: Callable[[int], None] | None = None,
    ) -> list[SessionResult]:
        """Try again with the language model what it failed to do before, where it is due."""
        from doxa.consolidation.consolidate import Consolidation, due_units
        from doxa.entities import mention

        if limit <= 0 or not self._has_model():
            return []
        with self._store.read() as reader:
            now = self._store.clock.now_ns()
            units = due_units(reader, project, now=now, of="model")
            units += due_units(reader, project, now=now, of="command")
        if not units:
            return []
        made = self._producer("model", None, "")
        job = Consolidation(self._store, made, mention=mention, progress=progress)
        return job.run(units[:limit], dry_run=dry_run)

    def _has_model(self) -> bool:
        return self._memory.model is not None

    # Which units

    def _units(
        self,
        target: str,
        session: str,
        user: str,
        context: str,
        project: str,
        limit: int,
        job: Consolidation | None,
        dry_run: bool,
    ) -> list[Unit]:
        """Return the units that a call means, after what working memory holds of them is stored."""
        from doxa.consolidation.units import find_thread, units_of

        thread = None
        if target or user or context:
            thread = self._stored_chat(target, user, context, project, job, dry_run)
        else:
            return self._waiting_units(project, limit, job, dry_run)
        with self._store.read() as reader:
            thread = thread or (find_thread(reader, project, target) if target else None)
            if thread is None:
                raise NotFoundError(
                    f"There is no session or thread {target[:80]!r} in the project {project}.",
                    next_step="List sessions with chat_list and threads with contents.",
                    field="target",
                )
            return list(units_of(reader, thread, session=session))

    def _waiting_units(
        self, project: str, limit: int, job: Consolidation | None, dry_run: bool
    ) -> list[Unit]:
        """Return what is pending in the queue and what was never consolidated. Where nothing waits,
        how far the log was read is saved, so that the next call reads what is new."""
        from doxa.consolidation import queue
        from doxa.consolidation.waiting import waiting_units

        if not dry_run:
            queue.drop_gone(self._store, project)
        with self._store.read() as reader:
            due = self._due(reader, project, job)
            found = waiting_units(reader, project, role=self.identity.role, limit=limit)
        if found.mark is not None and not dry_run:
            with suppress(LimitError):  # there are too many cursors: it reads all the next time
                self._store.save_cursor(found.name, found.mark)
        return list(dict.fromkeys((*due, *found.units)))

    def _due(self, reader: Reader, project: str, job: Consolidation | None) -> list[Unit]:
        """Return what is pending in the queue; by rules, nothing that the model is to do."""
        from doxa.consolidation.consolidate import due_units

        now = self._store.clock.now_ns()
        kept = job is not None and job.producer == "rules" and self._has_model()
        found = due_units(reader, project, now=now, but="model" if kept else "")
        left = set(due_units(reader, project, now=now, of="command")) if kept else set()
        return [unit for unit in found if unit not in left]

    def _stored_chat(
        self,
        target: str,
        user: str,
        context: str,
        project: str,
        job: Consolidation | None,
        dry_run: bool,
    ) -> str | None:
        """Store what working memory holds of a session as turns, queue it, and then mark it as
        consolidated: whatever ends this in between, it is in one of the two. Returns the thread."""
        if "://" in target:
            return None
        working = self._memory._open_working()
        try:
            held = working.snapshot(project=project, session=target, user=user, context=context)
        except InputError:
            if user or context:
                raise
            return None  # it may be the name of a thread
        if not held.messages:
            return self._thread_of(held.session, project) if held.session else None
        if dry_run:
            raise InputError(
                "A dry run stores nothing, and this session is in working memory alone.",
                next_step="Consolidate it, or ingest it first.",
                field="dry_run",
            )
        return self._store_chat(held, project, job, user=user, context=context)

    def _store_chat(
        self, held: Chat, project: str, job: Consolidation | None, *, user: str, context: str
    ) -> str:
        from doxa.consolidation import queue
        from doxa.consolidation.units import units_of
        from doxa.ingestion.ingest import Ingest

        turns = [
            Turn(
                held.session,
                held.session,
                str(one.metadata.get("speaker") or one.role),
                one.role,  # type: ignore[arg-type]  # working memory has the same roles
                one.text,
                one.time,
                one.id,
            )
            for one in held.messages
        ]
        done = Ingest(self._store, self.identity, project=project, extracting=False).run(turns)
        thread = done.threads[0]
        with self._store.read() as reader:
            units = list(units_of(reader, thread))
        name = job.producer if job is not None else "host"
        for unit in units[-1:]:
            queue.enqueue(self._store, unit, name)
        with suppress(NotFoundError):  # it ended meanwhile; its turns are stored
            self._memory._open_working().consolidated(
                held.messages[-1].id,
                project=project,
                session=held.session,
                user=user,
                context=context,
            )
        return thread

    def _thread_of(self, session: str, project: str) -> str | None:
        from doxa.consolidation.units import find_thread

        with self._store.read() as reader:
            return find_thread(reader, project, session)

    # Who makes the structure

    def _producer(self, name: str, structure: object, model: str) -> Producer:
        from doxa.consolidation.producers.host import HostProducer
        from doxa.consolidation.producers.model import ModelProducer
        from doxa.consolidation.producers.rules import RulesProducer

        if structure is not None and name != "host":
            raise InputError(
                f"A structure is given, and the producer is {name[:40]!r}.",
                next_step="Leave one of the two out.",
                field="producer",
            )
        if name == "host":
            return HostProducer(structure, model=model)
        if name == "rules":
            return RulesProducer()
        if name.startswith(_COMMAND):
            line = name.removeprefix(_COMMAND)
            models = self._memory._models
            program = models.counted(models.command(line), "consolidate")
            return ModelProducer(program, name="command", prices=models.meter.prices)
        if name != "model":
            raise InputError(
                f"{name[:40]!r} is not a producer.",
                next_step=f"Use one of {', '.join(_PRODUCERS)}, or command: and a program.",
                field="producer",
            )
        completer = self._memory._models.completer("consolidate")
        if completer is None:
            raise self._memory.model_error or ModelError(
                "No language model is configured.",
                next_step="Name one: model or DOXA_MODEL; or use the producer rules.",
            )
        is_command = completer.name.startswith(_COMMAND)
        return ModelProducer(
            completer,
            name="command" if is_command else "model",
            prices=self._memory._models.meter.prices,
        )

    def _needed(self, units: list[Unit], project: str) -> Consolidated:
        """Return what a host is asked for: the structure of the first unit that is not stored."""
        from doxa.consolidation.consolidate import SessionResult, is_done, request_of
        from doxa.consolidation.units import transcript_of

        found: list[SessionResult] = []
        needs = None
        with self._store.read() as reader:
            for unit in units:
                transcript = transcript_of(reader, unit)
                if not transcript.turns or is_done(reader, unit, transcript.digest, "host"):
                    continue
                needs = needs or request_of(transcript)
                found.append(
                    SessionResult(
                        unit.thread,
                        unit.session,
                        unit.part,
                        "input-required",
                        producer="host",
                        turns=len(transcript.turns),
                        left_out=transcript.left_out,
                    )
                )
        return self._consolidated(found, project, needs)

    def _answered(self, units: list[Unit], digest: str, producer: Producer) -> list[Unit]:
        """Return the one unit that a structure is of. Raises ConflictError if it has changed since
        the host was asked, InputError where several may be meant."""
        from doxa.consolidation.units import transcript_of

        with self._store.read() as reader:
            digests = {unit: transcript_of(reader, unit).digest for unit in units}
        if digest:
            found = [unit for unit, own in digests.items() if own == digest]
            if not found:
                raise ConflictError(
                    "The session has changed since the host was asked.",
                    next_step="Ask again: call consolidate without a structure.",
                    field="digest",
                )
            return found
        if len(units) != 1:
            raise InputError(
                f"The structure may be of {len(units)} sessions.",
                next_step="Give the digest that came with the turns.",
                field="digest",
            )
        return units

    def _consolidated(
        self, found: list[Any], project: str, needs: Any = None, *, more: bool = False
    ) -> Consolidated:
        from doxa.consolidation import queue
        from doxa.consolidation.consolidate import Consolidated, costs_of, overall

        with self._store.read() as reader:
            left = len(queue.pending(reader, project=project))
        return Consolidated(overall(found), tuple(found), left, needs, costs_of(found), more)
