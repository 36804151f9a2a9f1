"""The verbs of consolidation."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT

_JOB = "it is a job of several transactions"
_REFUSED = ("InputError", "LimitError", "NotFoundError", "StoreError")

CONSOLIDATION = (
    Verb(
        "consolidate",
        "care",
        "Make a session or thread into a summary, events, facts, decisions and tasks.",
        "`target` is a thread, its name, or a session of working memory, which is stored first;"
        " without one, what is not consolidated yet. `producer` is rules, model, host, or command:"
        " and a program. A host passes the `structure`; without it, `needs` says what is wanted."
        " Every entry is checked against its turns. What fails stays in the queue.",
        parameters(
            target=argument("A thread, its name, or a session of working memory.", default=""),
            session=Parameter("Only this session of the thread.", ""),
            user=Parameter("The user whose session of working memory it is.", ""),
            context=Parameter("The context of that session.", ""),
            project=PROJECT,
            producer=Parameter(
                "rules, model, host, or command: and a program; rules unless a structure is given.",
                "",
            ),
            structure=Parameter(
                "The structure, by the schema that `needs` has.", None, kind="mapping"
            ),
            model=Parameter("The host's model, to be named with what it concludes.", ""),
            digest=Parameter("The digest that came with the turns.", ""),
            dry_run=Parameter(
                "Report what would be stored, and write nothing.", False, kind="flag"
            ),
            limit=Parameter("How many parts of sessions at most.", 20, kind="integer", short="-n"),
            progress=Parameter(
                "A function that is called with 1 after each part of a session.",
                None,
                kind="function",
                absent={
                    "cli": "a terminal shows the progress",
                    "mcp": "a tool takes no functions",
                },
            ),
        ),
        "Consolidated",
        writes=True,
        errors=("ConflictError", "ModelError", *_REFUSED),
        cli=Command(),
        absent={"cypher": _JOB},
    ),
    Verb(
        "consolidations",
        "look",
        "List the sessions that await consolidation, with what went wrong, the next one first.",
        "",
        parameters(project=PROJECT),
        "list[Pending]",
        errors=("InputError", "StoreError"),
        cli=Command(),
        cypher=Procedure((), rows.WAITING),
        absent=why.NO_TOOL,
    ),
    Verb(
        "tasks",
        "ask",
        "List what sessions left to do: actions, commitments and open questions.",
        "The earliest day first. `before` a time: only those with a day that is earlier.",
        parameters(
            kind=Parameter("Only action, commitment or question.", ""),
            who=Parameter("Only those of this person.", ""),
            state=Parameter("open, done or cancelled; empty: all.", "open"),
            before=Parameter("Only those due before this time.", None, kind="time"),
            project=PROJECT,
            limit=Parameter("The number of tasks at most.", 100, kind="integer", short="-n"),
        ),
        "list[Task]",
        errors=("InputError", "StoreError"),
        cli=Command(),
        cypher=Procedure((), rows.TASK),
        absent=why.NO_TOOL,
    ),
)
