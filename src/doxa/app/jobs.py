"""The verbs of background jobs: dreaming, runs and proposals, and what a person decides of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from doxa.app.beliefs import BeliefVerbs
from doxa.app.checks import ALL_PROJECTS, one_project
from doxa.base.errors import BusyError, InputError
from doxa.base.limits import DREAM_AGE_DAYS_MIN, RUN_TOUCHED_ITEMS_DEFAULT
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.dream import DreamReport
    from doxa.dream.nightshift import Shift
    from doxa.dream.pipeline import DreamOptions
    from doxa.jobs import Applied, JobProposal, RunInfo, Undone

NIGHTSHIFT = ("embed", "retain", "dream")


class JobVerbs(BeliefVerbs):
    """Made by Session, like the verbs that change beliefs."""

    def dream(
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
        """Look at what is new in a project, and propose duplicates, contradictions and more.

        Nothing but proposals is written unless `apply` is set, and nothing is ever destroyed. At
        most `number` elements and a `share` of the items are touched. The language model is asked
        only with `calls`. The report is kept with the run.
        """
        arguments.flags(apply=apply, dry_run=dry_run)
        options = _options(apply, dry_run, share, number, age_days, seconds, calls, tokens)
        return self._dream(one_project(project, self.project), options)

    def _dream(self, project: str, options: DreamOptions) -> DreamReport:
        from doxa.dream import ModelAssessor, RuleAssessor, dream
        from doxa.dream.contradictions import contradictions
        from doxa.dream.findings import Assessor

        rules = RuleAssessor(contradictions(self._store, self._memory.recaller))
        assessors: list[Assessor] = [rules]
        model = self._memory.model if options.budget.calls else None
        if model is not None:
            budget = options.budget
            assessors.append(ModelAssessor(model, calls_max=budget.calls, tokens_max=budget.tokens))
        return dream(
            self._store, self.identity, project=project, assessors=assessors, options=options
        )

    def nightshift(
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
        """Do the background jobs one after another: embed, retain, dream.

        A job that fails stops no other. With `every_s`, `idle_s` or `entries` the dream is left
        out until it is due: so long since the last, so long without a change, or so many new
        entries of the log.
        """
        from doxa.dream.nightshift import work_through

        arguments.flags(apply=apply)
        where = one_project(project, self.project)
        wanted = arguments.texts(jobs, "jobs") or NIGHTSHIFT
        unknown = sorted(set(wanted) - set(NIGHTSHIFT))
        if unknown:
            raise InputError(
                f"{unknown[0][:40]!r} is not a job of the night shift.",
                next_step=f"Use {', '.join(NIGHTSHIFT)}.",
                field="jobs",
            )
        options = _options(
            apply, False, 0.5, RUN_TOUCHED_ITEMS_DEFAULT, DREAM_AGE_DAYS_MIN, seconds, calls, None
        )
        work = {name: getattr(self, f"_{name}_work") for name in wanted if name != "dream"}
        own = {"dream": lambda: self._dream_shift(where, options, every_s, idle_s, entries)}
        return work_through(self._store, where, work, own if "dream" in wanted else {})

    def _embed_work(self) -> Mapping[str, Any]:
        if self._memory.embedder is None:
            return {"embedded": 0, "pending": self._memory.pending()}
        return {"embedded": self._memory.embed(), "pending": self._memory.pending()}

    def _retain_work(self) -> Mapping[str, Any]:
        from doxa.maintenance.retaining import retain_and_scrub

        return {"versions": retain_and_scrub(self._store, self.identity).versions}

    def _dream_shift(
        self,
        project: str,
        options: DreamOptions,
        every_s: float | None,
        idle_s: float | None,
        entries: int | None,
    ) -> Shift:
        from doxa.dream import Triggers, why_due
        from doxa.dream.nightshift import Shift

        asked = (every_s, idle_s, entries) != (None, None, None)
        with self._store.read() as reader:
            due = why_due(reader, project, Triggers(every_s, idle_s, entries), now=reader.now)
        if asked and not due:
            return Shift("dream", "skipped", reason="it is not due")
        try:
            report = self._dream(project, options)
        except BusyError as error:
            return Shift("dream", "skipped", reason=error.message)
        return Shift("dream", report.state, report.counts, report.stopped, report.run)

    def runs(self, *, project: str | None = None, job: str = "", limit: int = 20) -> list[RunInfo]:
        """List the runs of background jobs, the newest first, with what they touched."""
        from doxa.jobs import list_runs

        arguments.whole(limit, "limit")
        with self._store.read() as reader:
            return list_runs(reader, project=self._seen(project), job=job, limit=limit)

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
        with self._store.read() as reader:
            return list_proposals(
                reader, project=self._seen(project), run=run, state=state, limit=limit
            )

    def _seen(self, project: str | None) -> str | None:
        return None if project == ALL_PROJECTS else project or self.project

    def apply(self, proposals: Iterable[str], *, age_days: float = 7) -> list[Applied]:
        """Apply proposals of background jobs, each by itself.

        It takes your rights and the limits of the run that made them; what is protected, on hold or
        younger than `age_days` is blocked.
        """
        from doxa.dream.actions import actions
        from doxa.jobs import apply

        given = arguments.texts(proposals, "proposals")
        return apply(self._store, self.identity, given, actions=actions(age_days=age_days))

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


def _options(
    apply: bool,
    dry_run: bool,
    share: float,
    number: int,
    age_days: float,
    seconds: float | None,
    calls: int,
    tokens: int | None,
) -> DreamOptions:
    from doxa.dream import DreamOptions
    from doxa.jobs import Budget, Caps

    for name, value in (("calls", calls), ("tokens", tokens)):
        arguments.whole(value, name, optional=True)
    for name, given in (("age_days", age_days), ("seconds", seconds)):
        if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float))):
            raise InputError(
                f"{name} is a number; this is {given!r:.40}.",
                next_step="Give a number.",
                field=name,
            )
    return DreamOptions(
        apply,
        dry_run,
        Caps(number, share),
        Budget(seconds, calls, tokens),
        age_days,
    )
