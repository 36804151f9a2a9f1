"""The verbs of the operator's gate."""

from __future__ import annotations

from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT

_AGENT = Parameter("The agent, where it is not the session's actor.", "")
_CALLED: why.Reasons = {"cypher": "a program calls it, not a query", "mcp": why.OPERATOR}
_READ: why.Reasons = {"cypher": why.QUERY, "mcp": why.OPERATOR}
_REFUSED = ("InputError", "ConstraintError", "RoleError")

GATE: tuple[Verb, ...] = (
    Verb(
        "restart_begin",
        "change",
        "Begin to continue after a restart, with the key of the session and a budget of calls.",
        "Two calls reach the runtime, one compares the session, then as many as were declared."
        " Budgets outlive the process. An agent begins another one when the one before is done; an"
        " operator's closes it.",
        parameters(
            key=argument("The key that the session had before the restart."),
            declared=Parameter("How many calls the task needs.", 0, kind="integer"),
            agent=_AGENT,
            project=PROJECT,
        ),
        "RestartInfo",
        writes=True,
        errors=_REFUSED,
        cli=Command(),
        absent=_CALLED,
    ),
    Verb(
        "restart_step",
        "change",
        "Enter a call that was made after a restart, and return what is allowed next.",
        "A used budget, another session, or the same failure of the same call twice stops it; then"
        " the operator takes over.",
        parameters(
            call=argument("What was called."),
            outcome=argument("succeeded or failed."),
            failure=Parameter("The kind of failure, in a word.", ""),
            key=Parameter("The key that the call found.", ""),
            last=Parameter("The task is done with this call.", False, kind="flag"),
            agent=_AGENT,
            project=PROJECT,
        ),
        "RestartInfo",
        writes=True,
        idempotent=False,
        errors=(*_REFUSED, "ConflictError", "NotFoundError"),
        cli=Command(),
        absent=_CALLED,
    ),
    Verb(
        "restart_show",
        "look",
        "Show where the last continuation of an agent stands, and why it ended.",
        "",
        parameters(agent=_AGENT, project=PROJECT),
        "RestartInfo",
        errors=("InputError", "NotFoundError"),
        cli=Command(),
        absent=_READ,
    ),
)
