"""The verbs of background jobs, and of what a person decides of them."""

from __future__ import annotations

from msgspec.structs import replace

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import (
    AGE,
    PROJECT,
    SCOPE,
    DreamingOptions,
    NightshiftOptions,
    options_of,
)

_OWN: why.Reasons = {
    "cypher": "a run writes transactions of its own, and would not be rolled back",
    "mcp": why.OPERATOR,
}
JOBS = (
    Verb(
        "dream",
        "care",
        "Look at what is new in a project, and propose duplicates, contradictions and more.",
        "Nothing but proposals is written unless `apply` is set, and nothing is ever destroyed. At"
        " most `number` elements and a `share` of the items are touched. The language model is"
        " asked only with `calls`. The report is kept with the run.",
        options_of(DreamingOptions),
        "DreamReport",
        writes=True,
        idempotent=False,
        errors=("InputError", "BusyError", "LimitError", "StoreError"),
        options="DreamingOptions",
        cli=Command(),
        absent=_OWN,
    ),
    Verb(
        "nightshift",
        "care",
        "Do the background jobs one after another.",
        "They are index, embed, retain, mentions, consolidate, contemplate, standing,"
        " dream and backup, which verifies the newest backup. A job that fails stops no"
        " other, and one process does them on a file at a time. With `every_s`, `idle_s` or"
        " `entries` they are left out until they are due: so long since the last dream, so long"
        " without a change, or so many new entries of the log. Each job is bounded: 20 sessions,"
        " mentions of 2,000 sources; after `budget_s` seconds no further job begins. The run"
        " `nightshift` keeps one report, what was lost or refused first. With `follow` it returns"
        " when the memory is closed.",
        options_of(NightshiftOptions),
        "list[Shift]",
        writes=True,
        idempotent=False,
        errors=("InputError", "StoreError"),
        options="NightshiftOptions",
        cli=Command(),
        absent=_OWN,
    ),
    Verb(
        "runs",
        "look",
        "List the runs of background jobs, the newest first, with what they touched.",
        "",
        parameters(
            project=SCOPE,
            job=Parameter("Only this job.", ""),
            limit=Parameter("The number of runs at most.", 20, kind="integer", short="-n"),
        ),
        "list[RunInfo]",
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure((), rows.RUN),
        absent=why.NO_TOOL,
    ),
    Verb(
        "run_report",
        "look",
        "Return the report of a run, in Markdown; without an address that of the last dream.",
        "A report says what was lost first. It is kept with the run. `job` names another job than"
        " the dream: nightshift, whose report is about all jobs, or contemplate.",
        parameters(
            run=argument("The address of the run.", default=""),
            job=Parameter("The job, if no run is given.", "dream"),
            project=PROJECT,
        ),
        "str",
        errors=("InputError", "NotFoundError"),
        cli=Command(),
        absent={"cypher": "CALL doxa.runs() returns it", "mcp": why.OPERATOR},
    ),
    Verb(
        "proposals",
        "look",
        "List what background jobs propose, with their reasons, the oldest first.",
        "`state` is open, applied, blocked, failed or rejected; empty for all.",
        parameters(
            project=SCOPE,
            run=Parameter("Only those of this run.", ""),
            state=Parameter("Only those in this state.", "open"),
            limit=Parameter("The number of proposals at most.", 100, kind="integer", short="-n"),
        ),
        "list[JobProposal]",
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure((), rows.PROPOSAL),
        absent=why.NO_TOOL,
    ),
    Verb(
        "apply",
        "change",
        "Apply proposals of background jobs, each by itself.",
        "It takes your rights and the limits of the run that made them, which count from zero for"
        " each call. What is protected or on hold is blocked; what is beyond the limits or younger"
        " than `age_days` stays open. A rejected one is refused, before anything is applied.",
        parameters(
            proposals=argument("The addresses of proposals.", "texts"),
            age_days=replace(AGE, kind="number"),
        ),
        "list[Applied]",
        writes=True,
        errors=("InputError", "ConflictError", "NotFoundError"),
        cli=Command(),
        absent=_OWN,
    ),
    Verb(
        "reject",
        "change",
        "Decide against a proposal: it is not made again.",
        "",
        parameters(
            proposal=argument("The address of the proposal."),
            reason=Parameter("Why; kept with it.", ""),
        ),
        "Applied",
        writes=True,
        errors=("InputError", "ConflictError", "NotFoundError"),
        cli=Command(),
        cypher=Procedure(("proposal",), rows.APPLIED),
        absent=why.NO_TOOL,
    ),
    Verb(
        "undo_run",
        "change",
        "Reverse every change of a run of a background job, as one.",
        "Refused if what it wrote was changed since.",
        parameters(run=argument("The address of the run.")),
        "Undone",
        writes=True,
        idempotent=False,
        errors=("InputError", "ConflictError", "NotFoundError", "RoleError"),
        cli=Command(),
        cypher=Procedure(("run",), rows.UNDONE),
        absent=why.NO_TOOL,
    ),
)
