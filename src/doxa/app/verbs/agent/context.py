"""The verbs of context assembly."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT
from doxa.base.limits import CONTEXT_TOKENS_DEFAULT

_OPERATORS: why.Reasons = {
    "cypher": "an operator declares it outside of statements",
    "mcp": why.OPERATOR,
}

CONTEXT: tuple[Verb, ...] = (
    Verb(
        "context_assemble",
        "ask",
        "Assemble what an agent should know at the beginning of a turn, within a budget.",
        "Blocks come in one order, each line with the reason why it is there. `question` is what"
        " the person just wrote. With `check`, files named by verifiers and receipts are looked at"
        " again; with `commands`, the commands that an operator declared run too.",
        parameters(
            question=argument("What the person just wrote.", default=""),
            session=Parameter("The conversation, for working memory and attachments.", ""),
            thread=Parameter("The thread, for its handoff and attachments.", ""),
            mode=Parameter(
                "chat, booth, code or robot.", "chat", choices=("chat", "booth", "code", "robot")
            ),
            language=Parameter("The language of the frames: en, de, es, fr or zh.", "en"),
            tokens_max=Parameter(
                "The budget in tokens.", CONTEXT_TOKENS_DEFAULT, kind="integer", cli="--tokens"
            ),
            agent=Parameter(
                "Whose identity, handoffs and attachments; the caller's, if it is not given.",
                "",
            ),
            project=PROJECT,
            since=Parameter("When the last conversation ended.", None, kind="time"),
            check=Parameter("Look at files again.", True, kind="flag"),
            commands=Parameter(
                "Run the commands of verifiers.",
                False,
                kind="flag",
                absent={"mcp": "what runs programs is for people"},
            ),
        ),
        "AssembledContext",
        errors=(
            "ConflictError",
            "InputError",
            "LimitError",
            "NotFoundError",
            "RoleError",
            "StoreError",
        ),
        cli=Command(
            "context",
            extra=(
                Parameter(
                    "Add each line's reason, and what was left out.",
                    False,
                    kind="flag",
                    name="explain",
                ),
            ),
            reason="it is the command that people look for",
        ),
        absent={"cypher": "a context is one text, not rows", "mcp": why.OPERATOR},
    ),
    Verb(
        "verifier_declare",
        "change",
        "Declare how a belief about this machine is checked, as it holds now: an operator's.",
        "`stat` compares the size and time of a file, `hash` its SHA-256, `command` runs words"
        " without a shell and expects the exit code 0. What it finds stands with the belief in each"
        " context, or that nobody looked.",
        parameters(
            kref=argument("The belief."),
            kind=argument("stat, hash or command."),
            path=Parameter("The file, as an absolute path.", ""),
            command=Parameter("The words of the command.", (), kind="texts", cli="--word"),
        ),
        "Record",
        role="operator",
        writes=True,
        idempotent=False,
        errors=("InputError", "NotFoundError", "RoleError", "StoreError"),
        cli=Command(),
        absent=_OPERATORS,
    ),
    Verb(
        "window_declare",
        "change",
        "Mark a period whose words are not reliable: an operator's.",
        "What a context quotes from it carries the reason. With `words`, only what contains one of"
        " them.",
        parameters(
            since=argument("Its beginning.", "time"),
            until=argument("Its end.", "time"),
            why=argument("Why it is not reliable."),
            words=Parameter("Only what contains one of them.", (), kind="texts", cli="--word"),
            project=PROJECT,
        ),
        "Record",
        role="operator",
        writes=True,
        idempotent=False,
        errors=("InputError", "RoleError", "StoreError"),
        cli=Command(),
        absent=_OPERATORS,
    ),
    Verb(
        "context_withdraw",
        "change",
        "Withdraw a verifier or a window: an operator's.",
        "",
        parameters(
            kref=argument("Its address."),
            why=Parameter("Why it is withdrawn.", ""),
        ),
        "Record",
        role="operator",
        writes=True,
        idempotent=False,
        errors=("ConflictError", "InputError", "NotFoundError", "RoleError", "StoreError"),
        cli=Command(),
        absent=_OPERATORS,
    ),
    Verb(
        "context_rules",
        "look",
        "List the verifiers and windows of a project, withdrawn ones too.",
        "",
        parameters(project=PROJECT),
        "list[Record]",
        errors=("InputError", "StoreError"),
        cli=Command(),
        cypher=Procedure((), rows.RECORD),
        absent=why.NO_TOOL,
    ),
)
