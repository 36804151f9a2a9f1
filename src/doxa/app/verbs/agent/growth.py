"""The verbs of signals, growth and identity."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import (
    Command,
    Interface,
    Parameter,
    Procedure,
    Verb,
    argument,
    parameters,
)
from doxa.app.verbs.options import PROJECT

_AGENT = Parameter("The agent; without one the session's actor. Another takes an operator.", "")
_CANDIDATE = argument("The address of the candidate.")
_PRINCIPLE = Parameter("The candidate of a line in SOUL that it serves.", "")
_FORM = Parameter("doxa, openclaw or hermes.", "doxa")
_BY_HAND: dict[Interface, str] = {
    "cypher": "a person decides it, outside of a query",
    "mcp": "a person decides it, outside of a conversation",
}
_DISK: dict[Interface, str] = {
    "cypher": "a query neither reads nor writes files",
    "mcp": "it reads or writes files of the machine that serves",
}
_BY_DIAGNOSIS: dict[Interface, str] = {
    "cypher": "it reads a log next to the file",
    "mcp": "it is a diagnosis for people, and goes into no conversation",
}
_REFUSED = ("InputError", "ConflictError", "ConstraintError", "NotFoundError", "RoleError")

GROWTH: tuple[Verb, ...] = (
    Verb(
        "growth_propose",
        "change",
        "Propose a line for an identity file of an agent.",
        "It is a candidate: nothing reads it into a prompt until a person crystallises it. `file`"
        " is SOUL, AGENTS, ANCHOR, TOOLS or MEMORY; `about` are addresses of what it is taken from."
        " An operator who proposes what was rejected opens it again.",
        parameters(
            text=argument("The line: one statement of plain text."),
            file=Parameter("The identity file.", "MEMORY"),
            about=Parameter("Addresses of what it is taken from.", (), kind="texts"),
            agent=_AGENT,
            project=PROJECT,
        ),
        "Record",
        writes=True,
        errors=("InputError", "LimitError", "NotFoundError", "RoleError"),
        cli=Command(),
        absent={"cypher": "the verb checks what a line may look like", "mcp": why.OPERATOR},
    ),
    Verb(
        "growth_list",
        "look",
        "List candidates of an agent's identity, by name.",
        "`state` is candidate, crystallised, taken_back, rejected, withdrawn or expired; empty:"
        " all.",
        parameters(
            state=Parameter("Only those in this state.", "candidate"),
            agent=_AGENT,
            project=PROJECT,
            limit=Parameter("The number of candidates at most.", 100, kind="integer", short="-n"),
        ),
        "list[Record]",
        errors=("InputError", "RoleError"),
        cli=Command(),
        cypher=Procedure((), rows.RECORD),
        absent=why.NO_TOOL,
    ),
    Verb(
        "crystallise_plan",
        "look",
        "Show what crystallising a candidate would do, and which gates are open.",
        "An approval has to name the `content_hash` that it shows. `principle` is the candidate of"
        " a line in SOUL that this one serves, where they share no word.",
        parameters(candidate=_CANDIDATE, principle=_PRINCIPLE),
        "CrystallisePlan",
        errors=("InputError", "NotFoundError"),
        cli=Command(),
        cypher=Procedure(("candidate",), rows.CRYSTALLISE_PLAN),
        absent=why.NO_TOOL,
    ),
    Verb(
        "crystallise_approve",
        "change",
        "Approve one candidate with one content hash, and get a nonce that is used once.",
        "Needs the operator role. It expires after a day, is for this operator alone, and is kept"
        " without its nonce.",
        parameters(
            candidate=_CANDIDATE,
            content_hash=argument("The hash that crystallise_plan shows."),
            principle=_PRINCIPLE,
        ),
        "CrystalliseApproval",
        role="operator",
        writes=True,
        idempotent=False,
        errors=_REFUSED,
        cli=Command(),
        absent=_BY_HAND,
    ),
    Verb(
        "crystallise_apply",
        "change",
        "Use an approval: make the candidate a line of the agent's identity.",
        "Needs the operator role. The line, the belief that says it and the use of the approval are"
        " one change; its gates are asked again.",
        parameters(candidate=_CANDIDATE, nonce=argument("The nonce of the approval.")),
        "Crystallised",
        role="operator",
        writes=True,
        errors=_REFUSED,
        cli=Command(),
        absent=_BY_HAND,
    ),
    Verb(
        "crystallise_reverse",
        "change",
        "Take a line of identity back, or decide against a candidate.",
        "The line takes an operator; an agent withdraws a candidate of its own. Approvals that were"
        " not used are revoked.",
        parameters(candidate=_CANDIDATE, reason=Parameter("Why; kept with it.", "")),
        "Crystallised",
        writes=True,
        errors=_REFUSED,
        cli=Command(),
        absent=_BY_HAND,
    ),
    Verb(
        "identity_show",
        "look",
        "Return the identity of an agent: its crystallised lines by file, and their hash.",
        "Refused with ConflictError if a file that was exported was changed by somebody else.",
        parameters(agent=_AGENT, project=PROJECT),
        "AgentIdentity",
        errors=("InputError", "ConflictError", "RoleError"),
        cli=Command(),
        cypher=Procedure((), rows.AGENT_IDENTITY),
        absent=why.NO_TOOL,
    ),
    Verb(
        "identity_verify",
        "look",
        "Compare identity files on disk with the receipts of their export.",
        "A file is exact, stale, applied (by the operator's gate), changed, missing or unreadable.",
        parameters(agent=_AGENT, project=PROJECT),
        "list[IdentityFile]",
        errors=("InputError", "RoleError"),
        cli=Command(),
        absent={"cypher": _DISK["cypher"], "mcp": why.OPERATOR},
    ),
    Verb(
        "identity_export",
        "change",
        "Write the identity files of an agent into a folder, and keep a receipt.",
        "Needs the operator role. `form` is doxa, openclaw or hermes. A file that somebody else"
        " wrote or changed is refused; `replace` keeps a copy of it. `release` writes nothing: the"
        " folder is compared no longer.",
        parameters(
            folder=argument("The folder.", "path"),
            form=_FORM,
            replace=Parameter("Replace what somebody else changed.", False, kind="flag"),
            release=Parameter("Compare the folder no longer.", False, kind="flag"),
            agent=_AGENT,
            project=PROJECT,
        ),
        "ExportedIdentity",
        role="operator",
        writes=True,
        errors=("InputError", "ConflictError", "RoleError", "StoreError"),
        cli=Command(),
        absent=_DISK,
    ),
    Verb(
        "identity_import",
        "change",
        "Read identity files as candidates, never as identity.",
        "What was read before is found again. `form` is doxa, openclaw or hermes.",
        parameters(
            folder=argument("The folder of the workspace.", "path"),
            form=_FORM,
            agent=_AGENT,
            project=PROJECT,
        ),
        "ImportedIdentity",
        writes=True,
        errors=("InputError", "LimitError", "RoleError"),
        cli=Command(),
        absent=_DISK,
    ),
    Verb(
        "metabolise",
        "change",
        "Measure a turn of an agent at its end, and keep it for contemplation if it stands out.",
        "`about` are the addresses of the stored turns; without them a moment quotes nothing. Asks"
        " no model. The signals and the dynamics go to a log next to the file, which no prompt"
        " reads.",
        parameters(
            user=argument("What the user said."),
            reply=argument("What the agent said."),
            session=Parameter("The session of the turn.", ""),
            about=Parameter("Addresses of the stored turns.", (), kind="texts"),
            agent=_AGENT,
            project=PROJECT,
        ),
        "Metabolised",
        writes=True,
        idempotent=False,
        errors=("InputError", "NotFoundError", "RoleError"),
        cli=Command(),
        absent={"cypher": "it writes a log next to the file", "mcp": why.OPERATOR},
    ),
    Verb(
        "signals",
        "look",
        "List the signals of an agent's last turns, the newest first, with their surprise.",
        "`sustained`: the composite is above 0.8 for 45 minutes. `percentile` ranks the surprise of"
        " the dynamics among the last ones. Both are diagnostic: they say nothing about what is"
        " true.",
        parameters(
            agent=_AGENT,
            project=PROJECT,
            limit=Parameter("The number of turns at most.", 20, kind="integer", short="-n"),
        ),
        "list[TurnSignals]",
        errors=("InputError", "RoleError"),
        cli=Command(),
        absent=_BY_DIAGNOSIS,
    ),
    Verb(
        "contemplate",
        "care",
        "Begin inquiries for the moments of an agent, and do the pending passes.",
        "The passes are due at 0, 4 and 20 hours from the start of an inquiry; the last may"
        " propose a candidate. Rules do them, or `producer`: a function of an `InquiryPass` that"
        " returns text.",
        parameters(
            producer=Parameter(
                "A function that does a pass.",
                None,
                kind="function",
                absent=dict.fromkeys(("cli", "cypher", "mcp"), why.VALUES),
            ),
            agent=_AGENT,
            project=PROJECT,
            limit=Parameter("How many moments and inquiries.", 20, kind="integer", short="-n"),
        ),
        "Contemplated",
        writes=True,
        idempotent=False,
        errors=("InputError", "RoleError"),
        cli=Command(),
        absent={"cypher": "it is a job of several transactions", "mcp": why.OPERATOR},
    ),
    Verb(
        "inquiries",
        "look",
        "List the inquiries of an agent with their passes, the newest first.",
        "`state` is open, proposed or completed; empty: all.",
        parameters(
            state=Parameter("Only those in this state.", "open"),
            agent=_AGENT,
            project=PROJECT,
            limit=Parameter("The number of inquiries at most.", 100, kind="integer", short="-n"),
        ),
        "list[Record]",
        errors=("InputError", "RoleError"),
        cli=Command(),
        cypher=Procedure((), rows.RECORD),
        absent=why.NO_TOOL,
    ),
)
