"""The verbs of working memory."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT
from doxa.base.limits import WORKING_MESSAGES_ITEMS_MAX

_SESSION = argument("The session: the host's name or a handle; none: the user's.", default="")
_USER = Parameter("The name of the user, which is stored as a keyed hash only.", "")
_CONTEXT = Parameter("What the conversation belongs to, such as work.", "")
_OUTSIDE = "working memory is not a part of the transaction, and would not be rolled back"
_JOB = "a consolidation runs in Python"
_REFUSED = ("InputError", "LimitError", "RoleError", "StoreError")

CHAT = (
    Verb(
        "chat_add",
        "change",
        "Add a message to a session of working memory.",
        "A session holds the newest 50 and ends an hour after its last use. It is the host's own"
        " name, or without one the handle that the user has in this context, on every channel. The"
        " handle is returned. Secrets are left out.",
        parameters(
            text=argument("What was said, of 64 KiB at most."),
            role=Parameter("Who said it: user, assistant, system or tool.", "user"),
            session=Parameter(_SESSION.doc, ""),
            user=_USER,
            context=_CONTEXT,
            project=PROJECT,
            metadata=Parameter("Text, numbers and booleans by name.", None, kind="mapping"),
            idempotency_key=Parameter(
                "A retry with the same key gets the first answer.",
                "",
                cli="--key",
                changed={"cli": "short, as it is typed"},
            ),
        ),
        "ChatAdded",
        writes=True,
        idempotent=False,
        errors=("ConflictError", *_REFUSED),
        cli=Command(),
        absent={"cypher": _OUTSIDE, "mcp": why.OPERATOR},
    ),
    Verb(
        "chat_get",
        "ask",
        "Return the messages of a session, oldest first, and let it live an hour longer.",
        "A session that has expired or never was has no messages.",
        parameters(
            session=_SESSION,
            user=_USER,
            context=_CONTEXT,
            project=PROJECT,
            limit=Parameter(
                "The number of messages at most, the newest.",
                WORKING_MESSAGES_ITEMS_MAX,
                kind="integer",
                short="-n",
            ),
        ),
        "Chat",
        errors=_REFUSED,
        cli=Command(),
        cypher=Procedure(("session",), rows.CHAT),
        absent=why.NO_TOOL,
    ),
    Verb(
        "chat_list",
        "look",
        "List the sessions of a project, the one used last first.",
        "",
        parameters(
            user=_USER,
            context=_CONTEXT,
            project=PROJECT,
            limit=Parameter("The number of sessions at most.", 100, kind="integer", short="-n"),
        ),
        "list[ChatSummary]",
        errors=_REFUSED,
        cli=Command(),
        cypher=Procedure((), rows.CHAT_SUMMARY),
        absent=why.NO_TOOL,
    ),
    Verb(
        "chat_clear",
        "change",
        "Destroy the messages of a session, and return how many there were.",
        "`every` destroys all sessions of the project, or of the user or context that is named; it"
        " is the operator's.",
        parameters(
            session=_SESSION,
            user=_USER,
            context=_CONTEXT,
            project=PROJECT,
            every=Parameter("All of them; for operators.", False, kind="flag"),
        ),
        "int",
        writes=True,
        errors=_REFUSED,
        cli=Command(),
        absent={"cypher": _OUTSIDE, "mcp": why.OPERATOR},
    ),
    Verb(
        "chat_snapshot",
        "ask",
        "Return the messages of a session that are not marked as consolidated.",
        "It is what a consolidation reads. The session does not live longer for it.",
        parameters(session=_SESSION, user=_USER, context=_CONTEXT, project=PROJECT),
        "Chat",
        errors=_REFUSED,
        absent={"cli": _JOB, "cypher": _JOB, "mcp": why.OPERATOR},
    ),
    Verb(
        "chat_consolidated",
        "change",
        "Mark messages of a session as consolidated, and return how many were not before.",
        "All up to an id are. Marking twice changes nothing. If the session ended since,"
        " NotFoundError says so.",
        parameters(
            through=argument("The id of the last message that is done."),
            session=_SESSION,
            user=_USER,
            context=_CONTEXT,
            project=PROJECT,
        ),
        "int",
        writes=True,
        errors=("NotFoundError", *_REFUSED),
        absent={"cli": _JOB, "cypher": _OUTSIDE, "mcp": why.OPERATOR},
    ),
)
