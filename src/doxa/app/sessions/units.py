"""The verbs that store complete units, each in one transaction, and find executions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from doxa.app.checks import checked, one_project, resolved_time, searched_project
from doxa.app.retries import retryable
from doxa.app.sessions.chat import ChatVerbs
from doxa.base.errors import InputError, ModelError, NotFoundError
from doxa.base.limits import STALE_DAYS_MAX, SURVEY_ITEMS_MAX
from doxa.belief import Kref, parse_target
from doxa.belief.reading.views import read_at
from doxa.belief.types import Place
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.app.verbs.options import Time, UnitOptions
    from doxa.ingestion.units.edges import AskModel, DiscoveredEdges
    from doxa.ingestion.units.executions import Execution
    from doxa.ingestion.units.files import ArtifactFile
    from doxa.ingestion.units.responses import StoredResponse
    from doxa.ingestion.units.unit import StoredUnit
    from doxa.maintenance.survey import Survey

_LINKS = (
    ("DERIVED_FROM", "derived_from"),
    ("DEPENDS_ON", "depends_on"),
    ("CREATED_FROM", "created_from"),
    ("REFERENCED", "references"),
)


class UnitVerbs(ChatVerbs):
    """Made by Session, like the verbs that change beliefs."""

    @retryable
    def store_unit(
        self,
        text: str,
        *,
        dry_run: bool = False,
        idempotency_key: str = "",
        **options: Unpack[UnitOptions],
    ) -> StoredUnit:
        """Store one belief with its files, edges, bundles and tags, in one transaction.

        What is there already is not written again; words that are known with another file are a
        new revision. `known` names what was believed about it before. Files are hashed, not copied.
        """
        from doxa.ingestion.units.files import pointers
        from doxa.ingestion.units.unit import UnitDraft, store_unit

        arguments.flags(dry_run=dry_run)
        given = checked("store_unit", dict(options), now_ns=self._store.clock.now_ns())
        files, secrets = pointers(given["artifacts"], given["folder"])
        links = [(kind, kref) for kind, name in _LINKS for kref in given[name]]
        unit = UnitDraft(
            self._draft(text, given), files, tuple(links), given["bundles"], given["tags"]
        )
        stored = store_unit(
            self._store, self.identity, self._memory.recaller, unit, dry_run=dry_run
        )
        self._memory.wake()
        return _noted(stored, secrets)

    @retryable
    def store_execution(
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
        """Store what was done for a task: outcome, steps, tools, cost and files.

        Each execution is an item of its own, of kind `execution`. Send a retry under an idempotency
        key.
        """
        from doxa.ingestion.units.executions import execution_draft
        from doxa.ingestion.units.files import pointers
        from doxa.ingestion.units.unit import UnitDraft, store_unit

        for name, value in (("task", task), ("outcome", outcome), ("output", output)):
            arguments.text(value, name)
        arguments.whole(duration_ms, "duration_ms", optional=True)
        _number(exit_code, "exit_code", whole=True)
        _number(cost, "cost")
        draft = execution_draft(
            task,
            project=one_project(project, self.project),
            space=space,
            now_ns=self._store.clock.now_ns(),
            actor=self.identity.actor,
            outcome=outcome,
            steps=arguments.texts(steps, "steps"),
            tools=arguments.texts(tools, "tools"),
            exit_code=exit_code,
            duration_ms=duration_ms,
            cost=cost,
            output=output,
            topics=arguments.texts(topics, "topics"),
        )
        files, secrets = pointers(artifacts, folder)
        links = [("DERIVED_FROM", one) for one in arguments.texts(derived_from, "derived_from")]
        links += [("CREATED_FROM", one) for one in arguments.texts(created_from, "created_from")]
        unit = UnitDraft(draft, files, tuple(links), (), arguments.texts(tags, "tags"))
        stored = store_unit(self._store, self.identity, None, unit)
        self._memory.wake()
        return _noted(stored, secrets)

    def executions(
        self, task: str, *, outcome: str = "", project: str | None = None, limit: int = 5
    ) -> list[Execution]:
        """Find how a task was done before: those that succeeded first, the newest first.

        An execution counts if it shares half of the words of the shorter task.
        """
        from doxa.ingestion.units.executions import find_executions

        arguments.text(outcome, "outcome")
        arguments.whole(limit, "limit")
        try:
            return find_executions(
                self._store,
                self._memory.recaller,
                task,
                project=searched_project(project, self.project),
                outcome=outcome,
                limit=limit,
            )
        except NotFoundError as error:  # the session's own project may be empty
            if project is not None or error.fields.get("project") != self.project:
                raise
            return []

    @retryable
    def add_response(
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
        """Store what an assistant answered, with edges to what the answer is based on.

        The response is a turn of the role assistant; no candidate beliefs are read from it. One
        that is known is not stored twice.
        """
        from doxa.ingestion.units.responses import store_response
        from doxa.language.turns import Turn

        given = {"text": text, "thread": thread, "session": session, "speaker": speaker}
        for name, value in (given | {"space": space}).items():
            arguments.text(value, name)
        when = arguments.time(resolved_time(time, self._store.clock.now_ns()), "time")
        turn = Turn(thread, session, speaker, "assistant", text, when, "")
        stored = store_response(
            self._store,
            self.identity,
            turn,
            project=one_project(project, self.project),
            space=space,
            sources=arguments.texts(sources, "sources"),
        )
        self._memory.wake()
        return stored

    def discover_edges(
        self,
        kref: str | Kref,
        *,
        types: Iterable[str] = ("DERIVED_FROM", "CREATED_FROM", "REFERENCED"),
        limit: int = 3,
        score_min: float = 0.3,
        model: bool = False,
        dry_run: bool = True,
    ) -> DiscoveredEdges:
        """Propose the edges that a belief lacks, each with the reason why it exists.

        By rules and recall: addresses and files that its text names, texts that it repeats, and
        what recall finds for it. With `model`, the language model writes queries too. Nothing is
        written until `dry_run` is false; then all edges are, in one transaction.
        """
        from doxa.ingestion.units.edges import discover_edges

        arguments.flags(model=model, dry_run=dry_run)
        arguments.whole(limit, "limit")
        _number(score_min, "score_min", optional=False)
        return discover_edges(
            self._store,
            self.identity,
            self._memory.recaller,
            kref,
            types=arguments.texts(types, "types"),
            limit=limit,
            score_min=score_min,
            dry_run=dry_run,
            model=self._asking() if model else None,
        )

    def survey(
        self, *, project: str | None = None, stale_days: int = 180, limit: int = 10
    ) -> Survey:
        """Report what memory knows about itself: coverage, age, and what is open.

        How many beliefs, turns and executions there are, by kind and topic; what nobody stated for
        `stale_days`; conflicts, beliefs without support, doubtful and expired ones, and vectors
        that are pending. Writes nothing.
        """
        from doxa.maintenance.survey import survey

        arguments.whole(stale_days, "stale_days")
        arguments.whole(limit, "limit")
        found = searched_project(project, self.project)
        arguments.project(found)
        with self._store.read() as snapshot:
            return survey(
                snapshot,
                project=found,
                stale_days=min(stale_days, STALE_DAYS_MAX),
                limit=min(limit, SURVEY_ITEMS_MAX),
            )

    def _asking(self) -> tuple[str, AskModel]:
        """Return the language model's name, and a function that asks it. Raises ModelError if there
        is none."""
        completer = self._memory._models.completer("enrich")
        if completer is None:
            raise self._memory.model_error or ModelError(
                "No language model is configured.",
                next_step="Name one (DOXA_MODEL), or leave `model` out.",
            )
        from doxa.models.contract import Message

        def ask(instruction: str, text: str) -> str:
            said = [Message("system", instruction), Message("user", text)]
            return completer.complete(said).text

        return completer.name, ask

    def artifact_file(self, kref: str | Kref, *, folder: str = "") -> ArtifactFile:
        """Return the file of an artifact, after comparing it with its digest.

        ConflictError if its content changed, NotFoundError if it is gone.
        """
        from doxa.ingestion.units.files import compare

        arguments.text(folder, "folder")
        with self._store.read() as snapshot:
            found = read_at(snapshot, parse_target(kref))
        if not isinstance(found, Place) or found.type != "Artifact":
            raise InputError(
                f"{kref} is not an artifact.",
                next_step="Give an address with &a= and the name of a file.",
                kref=str(kref),
            )
        return compare(str(found.kref), found.properties, folder)


def _noted(stored: StoredUnit, secrets: list[str]) -> StoredUnit:
    """Add a warning for each secret that was left out of a location."""
    from dataclasses import replace

    from doxa.redaction.redact import left_out

    warnings = tuple(left_out([kind]) for kind in secrets)
    return replace(stored, warnings=(*stored.warnings, *warnings)) if warnings else stored


def _number(value: object, name: str, *, whole: bool = False, optional: bool = True) -> None:
    """Check a finite number that a property can hold, or None."""
    if value is None and optional:
        return
    kinds = (int,) if whole else (int, float)
    number = isinstance(value, kinds) and not isinstance(value, bool)
    if not number or not abs(value) < 2**63:  # type: ignore[arg-type]  # not a number, nor infinite
        raise InputError(
            f"{name} must be a number, not {value!r:.60}.",
            next_step="Give a number, or leave it out.",
            field=name,
        )
