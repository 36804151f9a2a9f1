"""The verbs about whom and what memory is about."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import PROJECT, SCOPE

_ENTITY = "An entity: its address, or its name in the project."
_AS_OF = Parameter("As memory had it at this time.", None, kind="time")
_WHY = Parameter("Why, in a few words.", "")
_DRY_RUN = Parameter(
    "Do the work, report it and keep nothing.",
    False,
    kind="flag",
    absent={"cypher": why.DRY_RUN},
)
_LIMIT = Parameter("The number of entries at most.", 50, kind="integer", short="-n")
_MISSING = ("InputError", "KrefError", "NotFoundError")
_DECIDING = (*_MISSING, "ConflictError", "ConstraintError", "RoleError")

ENTITIES = (
    Verb(
        "entities",
        "look",
        "List whom and what memory is about, the most mentioned first.",
        "Counts, kinds and aliases are read from the mentions. `record_mentions` records those of"
        " what is stored.",
        parameters(
            text=argument("A part of a name.", default=""),
            kind=Parameter("Only entities of this kind.", ""),
            project=SCOPE,
            limit=_LIMIT,
            as_of=_AS_OF,
        ),
        "list[EntityInfo]",
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure(("text",), rows.ENTITY),
        absent=why.NO_TOOL,
    ),
    Verb(
        "entity",
        "look",
        "Show an entity: its names, its mentions, what is mentioned with it, and its facts.",
        "The address of one that was merged leads to what it was merged into.",
        parameters(
            entity=argument(_ENTITY),
            project=PROJECT,
            limit=Parameter("The entries of each part at most.", 20, kind="integer", short="-n"),
            as_of=_AS_OF,
        ),
        "EntityPage",
        errors=_MISSING,
        cli=Command(),
        cypher=Procedure(("entity",), rows.ENTITY_PAGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "mention",
        "change",
        "Record that a turn or belief mentions an entity, or state that there is one.",
        "The decision is exact, new, assume, defer or ask: what is uncertain is not guessed but"
        " waits, and `pending_entities` lists it.",
        parameters(
            name=argument("The name as it is written."),
            kind=Parameter("What it is, such as person.", ""),
            aliases=Parameter("Other names of it.", (), kind="texts", cli="--alias"),
            source=Parameter(
                "The turn or belief that mentions it; none: you state it.", "", kind="kref"
            ),
            project=PROJECT,
        ),
        "Resolution",
        writes=True,
        errors=_MISSING,
        cli=Command(),
        cypher=Procedure(("name",), rows.RESOLUTION),
        absent=why.NO_TOOL,
    ),
    Verb(
        "record_mentions",
        "care",
        "Record the names that turns and beliefs of a project mention, since the last call.",
        "Rules read the names. With `again`, everything is read again; what is recorded already"
        " stays as it is.",
        parameters(
            project=PROJECT,
            again=Parameter("Read all sources again.", False, kind="flag"),
            progress=Parameter(
                "A function that is called with the number of new sources after each batch.",
                None,
                kind="function",
                absent={
                    "cli": "a terminal shows the progress",
                    "cypher": "a query has no functions",
                },
            ),
        ),
        "Recorded",
        writes=True,
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure((), rows.RECORDED),
        absent=why.NO_TOOL,
    ),
    Verb(
        "merge_entities",
        "change",
        "Join an entity with another one, whose name and address stand for both.",
        "Nothing is moved: names and mentions keep their sources, `as_of` an earlier time shows"
        " two, and `undo` brings that back. What an operator verified, only an operator joins.",
        parameters(
            entity=argument(_ENTITY),
            into=argument("The entity that it is, in the same form."),
            why=_WHY,
            project=PROJECT,
            dry_run=_DRY_RUN,
        ),
        "Change",
        writes=True,
        errors=_DECIDING,
        cli=Command(),
        cypher=Procedure(("entity", "into"), rows.CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "split_entity",
        "change",
        "Part a name from what it was merged into, or some of its sources into a new entity.",
        "With `sources`, what these turns and beliefs mention by the name becomes another entity of"
        " that name.",
        parameters(
            entity=argument("The address of the name to part, or the name."),
            sources=Parameter(
                "The turns and beliefs that mean another.", (), kind="krefs", cli="--source"
            ),
            why=_WHY,
            project=PROJECT,
            dry_run=_DRY_RUN,
        ),
        "Change",
        writes=True,
        idempotent=False,
        errors=_DECIDING,
        cli=Command(),
        cypher=Procedure(("entity",), rows.CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "verify_entity",
        "change",
        "Mark the names of an entity as verified, so that no agent joins or parts them.",
        "Needs the operator role.",
        parameters(
            entity=argument(_ENTITY),
            remove=Parameter("Take the mark away.", False, kind="flag"),
            project=PROJECT,
        ),
        "Change",
        role="operator",
        writes=True,
        errors=_DECIDING,
        cli=Command(),
        cypher=Procedure(("entity",), rows.CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "pending_entities",
        "look",
        "List names of which memory does not know whom or what they mean.",
        "Those that need a person come first; each has its candidates with a probability.",
        parameters(
            project=SCOPE,
            answered=Parameter("Include those that were answered.", False, kind="flag"),
            limit=_LIMIT,
        ),
        "list[PendingMention]",
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure((), rows.PENDING),
        absent=why.NO_TOOL,
    ),
    Verb(
        "resolve_entity",
        "change",
        "Answer whom or what a pending name means.",
        "The answer is the address of an entity, `new` for one of its own, or `none` for what is"
        " not an entity, and holds for later mentions too. With `sources` it is for these alone. A"
        " name that only looks like another is the operator's to answer.",
        parameters(
            mention=argument("The address of the pending name.", "kref"),
            answer=argument("An entity, `new` or `none`."),
            sources=Parameter(
                "Only for these turns and beliefs.", (), kind="krefs", cli="--source"
            ),
            dry_run=_DRY_RUN,
        ),
        "Change",
        writes=True,
        idempotent=False,
        errors=_DECIDING,
        cli=Command(),
        cypher=Procedure(("mention", "answer"), rows.CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "traversal_patterns",
        "look",
        "Measure which kinds of paths lead from a memory to others that are used with it.",
        "What is used together are the grounds of one belief. Reads only.",
        parameters(project=SCOPE),
        "list[PathYield]",
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure((), rows.PATTERN),
        absent=why.NO_TOOL,
    ),
)
