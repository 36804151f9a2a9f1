"""The verbs of background jobs: dreaming, runs and proposals, and what a person decides of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from doxa.app.checks import ALL_PROJECTS, checked, one_project
from doxa.app.sessions.beliefs import BeliefVerbs
from doxa.base.errors import BusyError, InputError, NotFoundError
from doxa.base.limits import NIGHTSHIFT_EVERY_S, NIGHTSHIFT_PAUSE_S
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.app.verbs.options import DreamingOptions, NightshiftOptions
    from doxa.dream import DreamReport
    from doxa.dream.nightshift import Shift, Work
    from doxa.dream.pipeline import DreamOptions
    from doxa.jobs import Applied, JobProposal, JobRun, RunInfo, Undone
    from doxa.jobs.applying import ActionApart

_OF_DREAM = ("apply", "share", "number", "age_days", "seconds", "calls", "tokens")
# In this order: what a subclass adds to `_night_work` without a place here comes before the dream.
NIGHTSHIFT = ("index", "embed", "retain", "mentions", "consolidate", "contemplate", "standing")
_LAST = ("dream", "backup")


class JobVerbs(BeliefVerbs):
    """Made by Session, like the verbs that change beliefs."""

    def dream(self, **options: Unpack[DreamingOptions]) -> DreamReport:
        """Look at what is new in a project, and propose duplicates, contradictions and more.

        Nothing but proposals is written unless `apply` is set, and nothing is ever destroyed. At
        most `number` elements and a `share` of the items are touched. The language model is asked
        only with `calls`. The report is kept with the run.
        """
        given = checked("dream", options)
        project = one_project(given.pop("project"), self.project)
        arguments.project(project)
        return self._dream(project, _options(given))

    def _dream(self, project: str, options: DreamOptions) -> DreamReport:
        from doxa.dream import ModelAssessor, RuleAssessor, dream
        from doxa.dream.contradictions import contradictions
        from doxa.dream.findings import Assessor

        rules = RuleAssessor(contradictions(self._store, self._memory.recaller))
        assessors: list[Assessor] = [rules]
        model = self._memory._models.completer("dream") if options.budget.calls else None
        if model is not None:
            budget = options.budget
            assessors.append(ModelAssessor(model, calls_max=budget.calls, tokens_max=budget.tokens))
        report = dream(
            self._store,
            self.identity,
            project=project,
            assessors=assessors,
            options=options,
            apart=self._actions_apart(),
        )
        if self._store.binding is None:
            return report
        return replace(report, after=0, seq=0, seconds=0.0)

    def _actions_apart(self) -> Mapping[str, ActionApart]:
        """Return what proposals do by jobs with runs of their own: a subclass adds them."""
        return {}

    def nightshift(self, **options: Unpack[NightshiftOptions]) -> list[Shift]:
        """Do the background jobs one after another.

        They are index, embed, retain, mentions, consolidate, contemplate, standing,
        dream and backup, which verifies the newest backup. A job that fails stops no other, and one
        process does them on a file at a time. With `every_s`, `idle_s` or `entries` they are left
        out until they are due: so long since the last dream, so long without a change, or so many
        new entries of the log. Each job is bounded: 20 sessions, mentions of 2,000 sources; after
        `budget_s` seconds no further job begins. The run `nightshift` keeps one report, what was
        lost or refused first. With `follow` it returns when the memory is closed.
        """
        given = checked("nightshift", options)
        arguments.flags(follow=given["follow"])
        where = one_project(given["project"], self.project)
        if not given.pop("follow"):
            return self._nightshift(where, given)
        return [one for shift in self._followed(where, given) for one in shift]

    def _followed(self, where: str, given: Mapping[str, Any]) -> Iterator[list[Shift]]:
        """Yield the shifts that are done, without an end: one process leads, the others wait."""
        from doxa.dream.nightshift import follow

        when = {name: given[name] for name in ("every_s", "idle_s", "entries")}
        if all(one is None for one in when.values()):
            given = {**given, "every_s": NIGHTSHIFT_EVERY_S}

        def shift() -> list[Shift]:
            with self._memory.following:
                return [] if self._memory.closing.is_set() else self._nightshift(where, given)

        yield from follow(shift, self._memory.closing, pause_s=NIGHTSHIFT_PAUSE_S)

    def _nightshift(
        self, where: str, given: Mapping[str, Any], began: Callable[[str], None] | None = None
    ) -> list[Shift]:
        from doxa.dream.nightshift import Shift, work_through

        for name in ("every_s", "idle_s", "budget_s"):
            arguments.number(given[name], name, optional=True)
        arguments.whole(given["entries"], "entries", optional=True)
        dreaming = _options({name: given[name] for name in _OF_DREAM})
        arguments.project(where)
        known = self._night_work(where, dreaming)
        plan = sorted(known, key=_place)
        wanted = given["jobs"] or plan
        unknown = sorted(set(wanted) - set(plan))
        if unknown:
            raise InputError(
                f"{unknown[0][:40]!r} is not a job of the night shift.",
                next_step=f"Use {', '.join(plan)}.",
                field="jobs",
            )
        ordered = [name for name in plan if name in wanted]
        if not self._is_due(where, ordered, given):
            return [Shift(name, "skipped", reason="it is not due") for name in ordered]
        jobs = {name: known[name] for name in ordered}
        return work_through(self._store, where, jobs, began=began, budget_s=given["budget_s"])

    def _is_due(self, project: str, jobs: list[str], given: Mapping[str, Any]) -> bool:
        from doxa.dream import Triggers, why_due

        when = tuple(given[name] for name in ("every_s", "idle_s", "entries"))
        if all(one is None for one in when):
            return True
        with self._store.read() as reader:
            job = "dream" if "dream" in jobs else jobs[-1]
            found = why_due(reader, project, Triggers(*when), now=reader.now, job=job)
        return bool(found)

    def _night_work(self, project: str, dreaming: DreamOptions) -> dict[str, Work]:
        """Return what each job of the night shift does. A subclass adds its own to those of its
        base class; one without a place in NIGHTSHIFT comes before the dream."""
        from doxa.dream.nightshift import Work
        from doxa.maintenance.nightly import care_for_indexes

        return {
            "index": Work(lambda _: care_for_indexes(self._store), regular=True),
            "backup": Work(notes_itself=lambda: self._backup_shift(project)),
            "embed": Work(self._embed_work),
            "retain": Work(notes_itself=lambda: self._retain_shift(project)),
            "dream": Work(notes_itself=lambda: self._dream_shift(project, dreaming)),
        }

    def _embed_work(self, run: JobRun) -> Mapping[str, Any]:
        made = self._memory.embed() if self._memory.embedder is not None else 0
        return {"embedded": made, "pending": self._memory.pending()}

    def _retain_shift(self, project: str) -> Shift:
        from doxa.dream.nightshift import Shift
        from doxa.maintenance.retaining import retain_as_job

        dropped = retain_as_job(self._store, self.identity, project=project)
        return Shift("retain", "done", {"versions": dropped.versions})

    def _backup_shift(self, project: str) -> Shift:
        from doxa.dream.nightshift import Shift
        from doxa.jobs import begin
        from doxa.maintenance.nightly import check_backups

        self._store.require_whole("the check of its backups")
        with begin(self._store, "backup", project=project, regular=True) as run:
            counts, said = check_backups(self._store)
            run.finish(counts)
        return Shift("backup", "done", counts, said, run.kref)

    def _dream_shift(self, project: str, options: DreamOptions) -> Shift:
        from doxa.dream.nightshift import Shift

        limits = options.limits
        try:
            report = self._dream(project, options)
        except BusyError as error:
            return Shift("dream", "skipped", reason=error.message, limits=limits)
        counts = report.counts | {"calls": report.calls, "tokens": report.tokens}
        return Shift("dream", report.state, counts, report.stopped, report.run, limits)

    def runs(self, *, project: str | None = None, job: str = "", limit: int = 20) -> list[RunInfo]:
        """List the runs of background jobs, the newest first, with what they touched."""
        from doxa.jobs import list_runs
        from doxa.jobs.dead import with_death

        arguments.whole(limit, "limit")
        arguments.text(job, "job")
        with self._store.read() as reader:
            found = list_runs(reader, project=self._seen(project), job=job, limit=limit)
            return [with_death(reader, run) for run in found]

    def run_report(self, run: str = "", *, job: str = "dream", project: str | None = None) -> str:
        """Return the report of a run, in Markdown; without an address that of the last dream.

        A report says what was lost first. It is kept with the run. `job` names another job than
        the dream: nightshift, whose report is about all jobs, or contemplate.
        """
        from doxa.jobs.runs import list_runs, read_run, require_run

        arguments.text(run, "run")
        arguments.text(job, "job")
        where = one_project(project, self.project)
        arguments.project(where)
        with self._store.read() as reader:
            found = (
                [read_run(require_run(reader, run))]
                if run
                else list_runs(reader, project=where, job=job or "dream")
            )
        told = next((one.report for one in found if one.report), "")
        if not told:
            raise NotFoundError(
                f"{run} has left no report."
                if run
                else f"No {job or 'dream'} of the project {where} has left a report.",
                next_step="List the runs with runs.",
            )
        return told

    def proposals(
        self,
        *,
        project: str | None = None,
        run: str = "",
        state: str = "open",
        limit: int = 100,
    ) -> list[JobProposal]:
        """List what background jobs propose, with their reasons, the oldest first.

        `state` is open, applied, blocked, failed or rejected; empty for all.
        """
        from doxa.jobs import list_proposals

        arguments.whole(limit, "limit")
        arguments.text(run, "run")
        arguments.text(state, "state")
        with self._store.read() as reader:
            return list_proposals(
                reader, project=self._seen(project), run=run, state=state, limit=limit
            )

    def _seen(self, project: str | None) -> str | None:
        if project == ALL_PROJECTS:
            return None
        where = one_project(project, self.project)
        arguments.project(where)
        return where

    def apply(self, proposals: Iterable[str], *, age_days: float = 7) -> list[Applied]:
        """Apply proposals of background jobs, each by itself.

        It takes your rights and the limits of the run that made them, which count from zero for
        each call. What is protected or on hold is blocked; what is beyond the limits or younger
        than `age_days` stays open. A rejected one is refused, before anything is applied.
        """
        from doxa.dream.actions import actions
        from doxa.jobs import apply

        given = arguments.texts(proposals, "proposals")
        arguments.number(age_days, "age_days")
        return apply(
            self._store,
            self.identity,
            given,
            actions=actions(age_days=age_days),
            apart=self._actions_apart(),
        )

    def reject(self, proposal: str, *, reason: str = "") -> Applied:
        """Decide against a proposal: it is not made again."""
        from doxa.jobs import reject

        arguments.text(proposal, "proposal")
        arguments.text(reason, "reason")
        return reject(self._store, self.identity, proposal, reason)

    def undo_run(self, run: str) -> Undone:
        """Reverse every change of a run of a background job, as one.

        Refused if what it wrote was changed since.
        """
        from doxa.jobs import undo_run

        arguments.text(run, "run")
        return undo_run(self._store, self.identity, run)


def _place(job: str) -> tuple[int, int]:
    """Return where a job stands in the night shift."""
    if job in _LAST:
        return 2, _LAST.index(job)
    return (0, NIGHTSHIFT.index(job)) if job in NIGHTSHIFT else (1, 0)


def _options(given: Mapping[str, Any]) -> DreamOptions:
    from doxa.dream import DreamOptions
    from doxa.jobs import Budget, Caps

    for name in ("seconds", "share", "age_days"):
        if name in given:
            arguments.number(given[name], name, optional=name == "seconds")
    for name in ("number", "calls", "tokens"):
        if name in given:
            arguments.whole(given[name], name, optional=name == "tokens")
    arguments.flags(apply=given.get("apply", False), dry_run=given.get("dry_run", False))
    names = ("apply", "dry_run", "age_days", "all_kinds")
    return DreamOptions(
        caps=Caps(**{name: given[name] for name in ("number", "share") if name in given}),
        budget=Budget(given["seconds"], given["calls"], given.get("tokens")),
        **{name: given[name] for name in names if name in given},
    )
