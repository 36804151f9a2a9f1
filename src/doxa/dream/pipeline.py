"""A dream from its beginning to its end, in nine stages:

    1 lead       take the lease of the file; resume the run that died, or begin one
    2 cursor     where the last run stopped
    3 collect    events after it, each belief once
    4 fetch      what they are about, without what no job reads
    5 surround   bundles, threads, names, what has expired
    6 assess     batches of 20, by rules and by a model, if there is one
    7 act        guards, proposals and, if asked for, what is applied
    8 save       the cursor
    9 report     losses first; the run ends

Stages 3 to 8 are repeated for each page of the log. After a crash between any two, the next dream
resumes the run at the cursor: proposals are known by what they are, so that none is made twice.

A dream that applies begins with the open proposals of earlier ones, and of the run that it resumes:
what was too young then may be old enough now, and what was beyond the limits has new ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from doxa.base.errors import BusyError, ConflictError, DoxaError, InputError, NotFoundError
from doxa.base.limits import DREAM_AGE_DAYS_MIN, DREAM_ITEMS_MAX
from doxa.base.stopping import stop_asked
from doxa.dream.actions import actions
from doxa.dream.collect import Page, batches, collect, expired
from doxa.dream.findings import DOUBTFUL, KINDS, TAKING, Assessor, DreamFinding, FindingKind
from doxa.dream.guards import is_only_young, why_kept
from doxa.dream.model import ModelAssessor
from doxa.dream.report import DreamLine, DreamReport, Tally
from doxa.jobs import Budget, Caps, JobRun, RunInfo, apply, begin, lease, list_runs, open_run
from doxa.jobs.applying import ActionApart
from doxa.jobs.dead import end_as_dead, running
from doxa.jobs.lease import Lease
from doxa.jobs.proposals import proposal_kref, read_proposal, waiting
from doxa.jobs.runs import read_run, require_run
from doxa.store import Identity, Reader, Store
from doxa.store.stream.cursors import prefix_of

JOB = "dream"
STAGES = ("lead", "cursor", "collect", "fetch", "surround", "assess", "act", "save", "report")


@dataclass(frozen=True, slots=True)
class DreamOptions:
    """How a dream is done. `apply` carries its proposals out, in the name of who called it; `caps`
    also give the share of assessed beliefs above which the circuit breaker holds back what would
    end them; `age_days` is the least age of what it ends. `all_kinds`: propose also what is
    right less often."""

    apply: bool = False
    dry_run: bool = False
    all_kinds: bool = False
    caps: Caps = field(default_factory=Caps)
    budget: Budget = field(default_factory=Budget)
    age_days: float = DREAM_AGE_DAYS_MIN
    items_max: int = DREAM_ITEMS_MAX

    def __post_init__(self) -> None:
        if self.apply and self.dry_run:
            raise InputError(
                "A dry run applies nothing.", next_step="Leave one of both out.", field="dry_run"
            )
        if self.age_days < 0:
            raise InputError(
                f"An age is 0 days or more, not {self.age_days:g}.",
                next_step=f"Leave it out for {DREAM_AGE_DAYS_MIN} days.",
                field="age_days",
            )

    @property
    def limits(self) -> dict[str, float]:
        """Return what a dream has to keep, without what is not limited."""
        caps, budget = self.caps, self.budget
        spent = {"seconds": budget.seconds, "calls": budget.calls, "tokens": budget.tokens}
        return {"number": caps.number, "share": caps.share, "age_days": self.age_days} | {
            name: most for name, most in spent.items() if most is not None
        }


def dream(
    store: Store,
    identity: Identity,
    *,
    project: str,
    assessors: Sequence[Assessor],
    options: DreamOptions | None = None,
    apart: Mapping[str, ActionApart] | None = None,
    at_stage: Callable[[str], None] = lambda _: None,
) -> DreamReport:
    """Look at what is new in a project, and propose what to change. Raises BusyError if another
    process dreams on this file. `apart` are actions of other jobs (jobs/applying.py). `at_stage` is
    called before each stage, with its name."""
    given = options or DreamOptions()
    dreaming = _Dream(store, identity, project, assessors, given, apart or {}, at_stage)
    at_stage("lead")
    if given.dry_run:
        return dreaming.rehearse()
    with lease(store, JOB) as held:
        return dreaming.run(held)


def cursor_key(project: str) -> str:
    """Return the stored name of the cursor of a project's dreams."""
    return prefix_of("background", (project,)) + JOB


def position(reader: Reader, project: str) -> int:
    """Return the log entry up to which a project was dreamt of."""
    found = reader.rows("SELECT seq FROM main.cursor WHERE name = ?", (cursor_key(project),))
    return int(found[0][0]) if found else 0


class _Dream:
    def __init__(
        self,
        store: Store,
        identity: Identity,
        project: str,
        assessors: Sequence[Assessor],
        options: DreamOptions,
        apart: Mapping[str, ActionApart],
        at_stage: Callable[[str], None],
    ) -> None:
        self.store, self.identity, self.project = store, identity, project
        self.assessors, self.options, self.at_stage = assessors, options, at_stage
        self.apart = apart
        self.tally = Tally()
        self.begun = time.monotonic()
        self.after = self.seq = 0
        self.stopped = ""
        self.again = 0  # what was ended of what earlier dreams had found
        self.since = 0  # when the last run that ended well began

    @property
    def model(self) -> str:
        return ", ".join(one.name for one in self.assessors)

    # The whole

    def rehearse(self) -> DreamReport:
        """Do all but writing: what would be proposed is what the report says."""
        started = self.store.clock.now_ns()
        with self.store.read() as reader:
            self.at_stage("cursor")
            self.after = self.seq = position(reader, self.project)
            self.since = self._last_done(reader)
            while True:
                page, findings = self._look(reader)
                for finding in findings:
                    if reader.node_by_kref(self._address(finding)) is not None:
                        self.tally.known += 1
                        continue
                    why = self._kept(reader, finding)
                    rows = self.tally.blocked if why else self.tally.proposed
                    rows.append(DreamLine(finding, "", why))
                self.seq = page.seq
                if self._is_over(page):
                    break
        return self._report("", started, "dry run", dry=True)

    def run(self, held: Lease) -> DreamReport:
        run, resumed = self._lead()
        try:
            self.at_stage("cursor")
            with self.store.read() as reader:
                self.after = self.seq = position(reader, self.project)
                self.since = self._last_done(reader)
            if self.options.apply:
                self._try_again(run, held)
            while True:
                held.renew()
                with self.store.read() as reader:
                    page, findings = self._look(reader)
                self.at_stage("act")
                self._act(run, findings, held)
                self.at_stage("save")
                self.store.save_cursor(cursor_key(self.project), page.seq)
                self.seq = page.seq
                if self._is_over(page):
                    break
            self.at_stage("report")
            return self._finish(run, resumed)
        except BusyError:
            raise
        except Exception as error:
            said = (
                error.message
                if isinstance(error, DoxaError)
                else f"{type(error).__name__}: {error}"
            )
            run.finish({}, state="failed", error=said)
            raise

    def _lead(self) -> tuple[JobRun, bool]:
        """Resume the run that died, or begin one. Who holds the lease knows that no other runs."""
        with self.store.read() as reader:
            died = running(reader, JOB, project=self.project)
        if died:
            for other in died[:-1]:
                end_as_dead(self.store, other)
            return open_run(self.store, str(died[-1].props["kref"])), True
        run = begin(
            self.store,
            JOB,
            project=self.project,
            caps=self.options.caps,
            budget=self.options.budget,
            model=self.model,
        )
        return run, False

    def _last_done(self, reader: Reader) -> int:
        runs = list_runs(reader, project=self.project, job=JOB, limit=100)
        return next((run.started for run in runs if run.state == "done"), 0)

    # Stages 3 to 6

    def _look(self, reader: Reader) -> tuple[Page, list[DreamFinding]]:
        self.at_stage("collect")
        page = collect(reader, self.project, self.seq)
        self.at_stage("fetch")
        self.tally.events += page.events
        first = self.seq == self.after
        gone = expired(reader, self.project, since=self.since, until=reader.now) if first else []
        self.at_stage("surround")
        parts = list(batches(reader, self.project, page, gone))
        self.at_stage("assess")
        found: dict[str, DreamFinding] = {}
        for batch in parts:
            self.tally.assessed += len(batch.beliefs)
            for assessor in self.assessors:
                if isinstance(assessor, ModelAssessor) and self._spent():
                    continue
                for finding in self._assessed(assessor, reader, batch):
                    if finding.kind in DOUBTFUL and not self.options.all_kinds:
                        continue
                    found.setdefault(finding.key, finding)
        return page, list(found.values())

    def _assessed(self, assessor: Assessor, reader: Reader, batch: object) -> list[DreamFinding]:
        try:
            return assessor.assess(reader, batch)  # type: ignore[arg-type]
        except DoxaError as error:  # a model that fails leaves the rules
            self.tally.warnings.append(f"{assessor.name}: {error.message}")
            return []

    # Stage 7

    def _address(self, finding: DreamFinding) -> str:
        return proposal_kref(self.project, finding.kind, finding.key)

    def _kept(self, reader: Reader, finding: DreamFinding) -> str:
        """Return why what a finding would end must be kept; empty if it need not. What is only too
        young is proposed, and stays open until it is old enough."""
        if not finding.ends:
            return ""
        node = reader.node_by_kref(finding.ends)
        if node is None:
            return "it is gone"
        why = why_kept(reader, node, age_days=self.options.age_days)
        if why and not is_only_young(why):
            return why
        return self._broken()

    def _broken(self) -> str:
        """The circuit breaker: too large a share of what was assessed would be ended. What was
        found earlier and is tried again is not of what was assessed now."""
        lines = (*self.tally.proposed, *self.tally.applied)
        ends = sum(line.finding.kind in TAKING for line in lines) - self.again
        share = self.options.caps.share
        if ends + 1 <= max(1, int(share * max(1, self.tally.assessed))):
            return ""
        said = f"the circuit breaker: more than {share:g} of what was assessed would end"
        if said not in self.tally.warnings:
            self.tally.warnings.append(said)
        return said

    def _act(self, run: JobRun, findings: list[DreamFinding], held: Lease) -> None:
        for finding in findings:
            with self.store.read() as reader:
                known = reader.node_by_kref(self._address(finding)) is not None
                why = "" if known else self._kept(reader, finding)
            if known:
                self.tally.known += 1
                continue
            held.renew()
            try:
                kref = run.propose(
                    finding.kind,
                    f"{finding.reason} Found by {finding.by}.",
                    about=finding.about,
                    action=finding.action,
                    key=finding.key,
                    blocked=why,
                )
            except DoxaError as error:  # one that cannot be noted stops no other
                self.tally.failed.append(DreamLine(finding, "", error.message))
                continue
            self._note(run, DreamLine(finding, kref, why))

    def _note(self, run: JobRun, line: DreamLine) -> None:
        finding = line.finding
        if line.why:
            self.tally.blocked.append(line)
        elif not self.options.apply or not self._can_apply(finding.action):
            self.tally.proposed.append(line)
        else:
            state, said = self._applied(run, line.proposal)
            self._rows(state).append(DreamLine(finding, line.proposal, said))

    def _can_apply(self, action: Mapping[str, object]) -> bool:
        return action.get("do") in {*_APPLIED, *self.apart}

    def _applied(self, run: JobRun, proposal: str) -> tuple[str, str]:
        """Apply a proposal in this run; return what became of it, and why not."""
        known = actions(age_days=self.options.age_days)
        try:
            (done,) = apply(
                self.store,
                self.identity,
                [proposal],
                actions=known,
                apart=self.apart,
                run=run.kref,
            )
        except (ConflictError, NotFoundError) as error:  # somebody decided or erased it meanwhile
            return "failed", error.message
        return done.state, done.said

    def _rows(self, state: str) -> list[DreamLine]:
        tally = self.tally
        known = {"applied": tally.applied, "blocked": tally.blocked, "open": tally.proposed}
        return known.get(state, tally.failed)

    # What earlier runs left open

    def _try_again(self, run: JobRun, held: Lease) -> None:
        """Apply what is still open and old enough by now, the oldest first, within this run's
        limits. What waits on is left as it is, and not reported again."""
        kinds = [kind for kind in KINDS if self.options.all_kinds or kind not in DOUBTFUL]
        with self.store.read() as reader:
            krefs = waiting(reader, self.project, kinds)
        for kref in krefs:
            held.renew()
            if self._is_late() or self._is_full(run):
                break
            with self.store.read() as reader:
                finding = self._ripe(reader, kref)
            if finding is None:
                continue
            state, said = self._applied(run, kref)
            if state != "open":
                self._rows(state).append(DreamLine(finding, kref, said))
            self.again += state == "applied" and finding.kind in TAKING

    def _ripe(self, reader: Reader, kref: str) -> DreamFinding | None:
        """Return what an open proposal is about; None if it is not a dream's, cannot be applied, or
        is still too young."""
        node = reader.node_by_kref(kref)
        if node is None:
            return None
        held = read_proposal(reader, node)
        if require_run(reader, held.run).props["job"] != JOB or not self._can_apply(held.action):
            return None
        taking = held.kind in TAKING
        ends = str(held.action.get("retire") or held.action["kref"]) if taking else ""
        ended = reader.node_by_kref(ends) if ends else None
        if ended is not None and is_only_young(
            why_kept(reader, ended, age_days=self.options.age_days)
        ):
            return None
        kind = cast("FindingKind", held.kind)
        return DreamFinding(kind, held.reason, held.about, held.action, ends)

    def _is_full(self, run: JobRun) -> bool:
        """Whether this run has reached its limits."""
        with self.store.read() as reader:
            info = read_run(require_run(reader, run.kref))
        most = max(1, int(info.share_max * info.items))
        return info.touched >= info.number_max or info.changed >= most

    # Stages 8 and 9

    def _spent(self) -> str:
        budget = self.options.budget
        calls, tokens = self._used()
        if budget.seconds is not None and time.monotonic() - self.begun >= budget.seconds:
            return f"its {budget.seconds:g} seconds are over"
        if budget.calls is not None and calls >= budget.calls > 0:
            return f"its {budget.calls} calls of the model are made"
        if budget.tokens is not None and tokens >= budget.tokens > 0:
            return f"its {budget.tokens} tokens are used"
        return ""

    def _used(self) -> tuple[int, int]:
        asked = [one for one in self.assessors if isinstance(one, ModelAssessor)]
        return sum(one.calls for one in asked), sum(one.tokens for one in asked)

    def _is_over(self, page: Page) -> bool:
        if page.is_last:
            return True
        if stop_asked():
            self.stopped = "it was asked to."
        elif self._is_late():
            self.stopped = f"its {self.options.budget.seconds:g} seconds are over."
        elif self.tally.assessed >= self.options.items_max:
            self.stopped = f"it assessed {self.tally.assessed} beliefs, its limit."
        return bool(self.stopped)

    def _is_late(self) -> bool:
        seconds = self.options.budget.seconds
        return seconds is not None and time.monotonic() - self.begun >= seconds

    def _report(
        self, run: str, started: int, state: str, *, dry: bool, resumed: bool = False
    ) -> DreamReport:
        tally = self.tally
        calls, tokens = self._used()
        return DreamReport(
            run,
            self.project,
            started,
            state,
            dry,
            tally.events,
            tally.assessed,
            tuple(line.finding.ends for line in tally.applied if line.finding.ends),
            tuple(tally.proposed),
            tuple(tally.applied),
            tuple(tally.blocked),
            tuple(tally.failed),
            tally.known,
            self.after,
            self.seq,
            time.monotonic() - self.begun,
            calls,
            tokens,
            self.model,
            self.stopped,
            tuple(tally.warnings),
            resumed,
            self.options.limits,
        )

    def _finish(self, run: JobRun, resumed: bool) -> DreamReport:
        info: RunInfo = run.info
        state = "stopped" if self.stopped else "done"
        report = self._report(run.kref, info.started, state, dry=False, resumed=resumed)
        run.finish(
            report.counts, state="stopped" if self.stopped else "done", report=report.markdown
        )
        return report


_APPLIED = ("merge", "retire", "contest", "relate")
