"""The verbs of continuity: exchanges, sessions, topics, handoffs, archive."""

from __future__ import annotations

from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT

_REFUSED = ("InputError", "StoreError")
_WRITTEN = ("ConflictError", "ConstraintError", "InputError", "RoleError", "StoreError")
_OWN = "it writes in a transaction of its own"
_FILES: why.Reasons = {
    "cypher": "it reads and writes files next to the memory",
    "mcp": why.OPERATOR,
}
_FOLDER: why.Reasons = {
    "cypher": "it reads files of the machine",
    "mcp": "it reads files of the machine, which a person names in a shell",
}
_THREAD = Parameter("The thread, or its name; without one, it is named as the session.", "")
_OF_THREAD = Parameter("Only of this thread, or name of one.", "")
_OF_SESSION = Parameter("Only of this session.", None)
_MODE = Parameter("The mode of the session: chat, booth, code or robot; chat if empty.", "")
_READER = Parameter("The mode of the reader; chat if empty.", "")
_AGENT = Parameter("The agent; without one, the session's actor.", "")
_LANGUAGE = Parameter("The language of the prose: en, de, es, fr or zh.", "en")
_SESSION = argument("The host's id of the conversation.")


def _limit(what: str) -> Parameter:
    return Parameter(f"The number of {what} at most.", 20, kind="integer", short="-n")


CONTINUITY: tuple[Verb, ...] = (
    Verb(
        "session_open",
        "change",
        "Begin a session, or go on with it, and return what it begins with.",
        "A session that stopped less than an hour ago without an end is `resumed`, with its last"
        " turns. Any other takes the newest handoff that its mode may read. `mode` is chat, booth,"
        " code or robot, and stays what it was when the session began.",
        parameters(
            session=_SESSION,
            thread=_THREAD,
            mode=_MODE,
            title=Parameter("A title; without one, the beginning of what is said first.", ""),
            language=_LANGUAGE,
            project=PROJECT,
        ),
        "SessionOpened",
        writes=True,
        errors=_WRITTEN,
        cli=Command(),
        absent={"cypher": _OWN, "mcp": why.OPERATOR},
    ),
    Verb(
        "session_list",
        "look",
        "List sessions with title, modes and times, the one used last first.",
        "`mode` is that of the reader: chat and booth read each other, code reads code alone.",
        parameters(thread=_OF_THREAD, mode=_READER, project=PROJECT, limit=_limit("sessions")),
        "list[SessionInfo]",
        errors=("NotFoundError", *_REFUSED),
        cli=Command(),
        cypher=Procedure(
            (),
            (
                ("thread", "STRING"),
                ("session", "STRING"),
                ("title", "STRING"),
                ("modes", "LIST OF STRING"),
                ("state", "STRING"),
                ("turns", "INTEGER"),
            ),
        ),
        absent=why.NO_TOOL,
    ),
    Verb(
        "exchange_list",
        "look",
        "Return the newest exchanges as pairs of what was said and what followed, oldest first.",
        "The id of a pair is derived from its content. What another channel said within a minute in"
        " the same words is not repeated. `mode` is that of the reader.",
        parameters(
            thread=_OF_THREAD,
            session=_OF_SESSION,
            mode=_READER,
            project=PROJECT,
            limit=_limit("exchanges"),
        ),
        "list[ExchangePair]",
        errors=("NotFoundError", *_REFUSED),
        cli=Command(),
        cypher=Procedure(
            (),
            (
                ("id", "STRING"),
                ("thread", "STRING"),
                ("session", "STRING"),
                ("turns", "LIST OF STRING"),
                ("hash", "STRING"),
            ),
        ),
        absent=why.NO_TOOL,
    ),
    Verb(
        "topic_list",
        "look",
        "Return what people come back to, with what goes together and what it belongs to.",
        "A topic is said in two exchanges or more. `mode` is that of the reader.",
        parameters(
            thread=_OF_THREAD,
            session=_OF_SESSION,
            mode=_READER,
            project=PROJECT,
            limit=_limit("topics"),
        ),
        "list[TopicInfo]",
        errors=("NotFoundError", *_REFUSED),
        cli=Command(),
        cypher=Procedure((), (("topic", "STRING"), ("mentions", "INTEGER"), ("parent", "STRING"))),
        absent=why.NO_TOOL,
    ),
    Verb(
        "handoff_write",
        "change",
        "Write where a session stands, for the one after it.",
        "After a turn it is written once a minute or after three exchanges. At a switch,"
        " compaction, consolidation, reset or end it is written at once. It replaces the session's"
        " last one, and nothing is written where nothing was said.",
        parameters(
            session=_SESSION,
            thread=_THREAD,
            reason=Parameter("turn, switch, compaction, consolidation, reset or end.", "turn"),
            mode=_MODE,
            project=PROJECT,
        ),
        "HandoffWritten",
        writes=True,
        errors=_WRITTEN,
        cli=Command(),
        absent={"cypher": _OWN, "mcp": why.OPERATOR},
    ),
    Verb(
        "handoff_take",
        "change",
        "Take the newest handoff that a session may read: it is handed over once.",
        "The session that took it gets it again, if it died before it used it. None if there is"
        " none. Handoffs are of the last seven days.",
        parameters(
            session=_SESSION,
            thread=_THREAD,
            mode=_MODE,
            language=_LANGUAGE,
            project=PROJECT,
        ),
        "HandoffView | None",
        writes=True,
        errors=_WRITTEN,
        cli=Command(),
        absent={"cypher": _OWN, "mcp": why.OPERATOR},
    ),
    Verb(
        "handoff_show",
        "look",
        "Show where a thread stands, as often as wanted; without one, what was handed off last.",
        "Nothing is consumed. None if there is none that the mode may read.",
        parameters(
            thread=argument("The thread, or its name.", default=""),
            mode=_READER,
            agent=_AGENT,
            language=_LANGUAGE,
            project=PROJECT,
        ),
        "HandoffView | None",
        errors=_REFUSED,
        cli=Command(),
        absent={"cypher": "its parts are lists of several kinds", "mcp": why.OPERATOR},
    ),
    Verb(
        "handoff_quarantine",
        "change",
        "Keep a handoff from being handed over, or release it.",
        "An agent may quarantine its own, for one that nobody has taken; releasing needs the"
        " operator role. One of which nothing can be read is quarantined when it is asked for.",
        parameters(
            handoff=argument("The address of the handoff."),
            release=Parameter("Release it.", False, kind="flag"),
            reason=Parameter("Why.", ""),
            language=_LANGUAGE,
            project=PROJECT,
        ),
        "HandoffView",
        writes=True,
        errors=("NotFoundError", *_WRITTEN),
        cli=Command(),
        absent={"cypher": _OWN, "mcp": why.OPERATOR},
    ),
    Verb(
        "knowledge_root",
        "care",
        "Declare a folder whose files an agent may read, or withdraw it; returns its address.",
        "Needs the operator role.",
        parameters(
            folder=argument("The folder.", "path"),
            remove=Parameter("Withdraw it.", False, kind="flag"),
            agent=_AGENT,
            project=PROJECT,
        ),
        "str",
        role="operator",
        writes=True,
        errors=("NotFoundError", *_WRITTEN),
        cli=Command(),
        absent=_FOLDER,
    ),
    Verb(
        "knowledge_index",
        "care",
        "Read the Markdown and text files below a declared folder, section by section.",
        "Files are only read. A section that changed supersedes its earlier text; one that is in"
        " the file no more is gone. Links and hidden files are left out.",
        parameters(folder=argument("The declared folder.", "path"), project=PROJECT),
        "KnowledgeIndexed",
        writes=True,
        errors=("NotFoundError", *_WRITTEN),
        cli=Command(),
        absent=_FOLDER,
    ),
    Verb(
        "knowledge_list",
        "look",
        "List sections of files, those that share most words with a text first.",
        "`every` also lists what is superseded or gone.",
        parameters(
            text=argument("Words to look for.", default=""),
            every=Parameter("Also what is superseded or gone.", False, kind="flag"),
            agent=_AGENT,
            project=PROJECT,
            limit=_limit("sections"),
        ),
        "list[KnowledgeEntry]",
        errors=_REFUSED,
        cli=Command(),
        cypher=Procedure(
            ("text",),
            (
                ("kref", "STRING"),
                ("state", "STRING"),
                ("path", "STRING"),
                ("section", "LIST OF STRING"),
                ("text", "STRING"),
                ("superseded_by", "STRING"),
            ),
        ),
        absent=why.NO_TOOL,
    ),
    Verb(
        "knowledge_recall",
        "change",
        "Return what files say about a text, cut to what goes into a prompt, and count it.",
        "Sections that share most words with the text, at most 600 characters each. How often and"
        " when a section was shown is in `surfaced` and `surfaced_last`.",
        parameters(
            text=argument("What it is about."),
            project=PROJECT,
            limit=Parameter("The number of sections at most.", 3, kind="integer", short="-n"),
        ),
        "list[KnowledgeEntry]",
        writes=True,
        errors=_WRITTEN,
        cli=Command(),
        absent={"cypher": _OWN, "mcp": why.OPERATOR},
    ),
    Verb(
        "archive_write",
        "care",
        "Archive what an agent stored since the last time: one file a day, next to the memory.",
        "Every turn, verbatim, is a line of a chain of hashes. What was erased is taken out of the"
        " lines, and the chain holds.",
        parameters(agent=_AGENT),
        "ArchiveWritten",
        writes=True,
        errors=("CorruptError", "RoleError", *_REFUSED),
        cli=Command(),
        absent=_FILES,
    ),
    Verb(
        "archive_verify",
        "care",
        "Check the chain of an archive, and every line against the log of the memory.",
        "",
        parameters(agent=_AGENT),
        "ArchiveProof",
        errors=("CorruptError", "RoleError", *_REFUSED),
        cli=Command(),
        absent=_FILES,
    ),
    Verb(
        "archive_rebuild",
        "care",
        "Make a new memory file from an archive, and compare the digests of both.",
        "The digest is over turns, pairs, sessions, topics and knowledge. Needs the operator role.",
        parameters(target=argument("A path that does not exist yet.", "path"), agent=_AGENT),
        "ArchiveRebuilt",
        role="operator",
        errors=("CorruptError", "RoleError", *_REFUSED),
        cli=Command(),
        absent=_FOLDER,
    ),
    Verb(
        "hook_report",
        "look",
        "Return how long hooks of agent hosts took, by host and event, against their budgets.",
        "",
        parameters(),
        "list[HookLoad]",
        errors=("RoleError", "StoreError"),
        cli=Command(),
        absent=_FILES,
    ),
)
