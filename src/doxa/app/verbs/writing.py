"""The verbs that change what is believed. Each is one transaction under one receipt."""

from __future__ import annotations

from msgspec.structs import replace

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import (
    Command,
    CypherOnly,
    Parameter,
    Procedure,
    Verb,
    argument,
    parameters,
)
from doxa.app.verbs.options import (
    PROJECT,
    IngestOptions,
    PlacedOptions,
    RememberOptions,
    StatementOptions,
    options_of,
)
from doxa.app.verbs.reading import KREF

DRY_RUN = Parameter(
    "Report what would change, and write nothing.",
    False,
    kind="flag",
    absent={"cypher": why.DRY_RUN, "mcp": why.FEW},
)
DRY_RUN_PROCEDURE = CypherOnly(
    "dryRun",
    (("verb", "STRING"), ("what", "ANY"), ("options", "MAP")),
    1,
    rows.CHANGE,
    "Report what a verb would change, without changing it.",
    "the other interfaces have the parameter `dry_run`; a dry run takes a transaction of its own,"
    " so that no parameter of a procedure can ask for one",
)
KEY = Parameter(
    "A retry with the same key gets the first answer, and writes nothing.",
    "",
    name="idempotency_key",
    cli="--key",
    changed={"cli": "short, as it is typed"},
)
EXPECT = Parameter("The revision number that must be current.", None, kind="integer")
EXPECT_TAGGED = replace(EXPECT, doc="The revision number that the tag must point to.")
EDGE = Parameter("The edge type, such as DEPENDS_ON.", cli="EDGE")
TAG = argument("The tag.")
_FORMER_TARGET = argument(
    "The new path, when `restore` meant `restore-backup`.",
    "path",
    name="target",
    default=None,
    hidden=True,
)
WHAT = argument("An address, or a statement.", "belief")
_CHECKED = ("InputError", "LimitError", "NotFoundError", "StoreError")
_CHANGE = rows.CHANGE

_STATE = (
    Verb(
        "remember",
        "change",
        "State one belief; one that says the same is not stored twice.",
        "A `name` that exists is revised. Without a name, facts or sentences, the text is matched"
        " like that of `tell`: it revises the belief that it surely corrects, and `change.losses`"
        " lists what was replaced. What it may contradict stays, and `may_contradict` names it."
        " A sentence that asserts nothing is kept with a low confidence.",
        (argument("The belief, as one sentence.", name="text"), *options_of(StatementOptions)),
        "Remembered",
        writes=True,
        errors=("InputError", "LimitError", "ConflictError", "RoleError", "StoreError"),
        options="StatementOptions",
        cli=Command(),
        cypher=Procedure(("text",), _CHANGE),
    ),
    Verb(
        "tell",
        "change",
        "State something in plain words: revise, challenge or remember.",
        "The belief that it is surely about gets its next revision, one that it may be about is"
        " challenged by a conflict, and what is about none is remembered. A text that asserts"
        " nothing, such as a question, is not stored. `change.reason` says why.",
        parameters(
            text=argument("A plain sentence."),
            project=PROJECT,
            space=Parameter("Where a new belief goes, and where others are searched.", ""),
            kind=Parameter("The kind of a new belief.", "fact"),
            trust=Parameter("How far it is trusted.", "stated"),
            facts=Parameter(
                "Facts as (subject, predicate, value).", (), kind="facts", cli="--fact"
            ),
            dry_run=DRY_RUN,
        ),
        "Change",
        writes=True,
        idempotent=False,
        errors=("InputError", "LimitError", "RoleError", "StoreError"),
        cli=Command(),
        cypher=Procedure(("text",), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "revise",
        "change",
        "Believe something, and retract what contradicts it anywhere in the project.",
        "`what` is an address, and `text` its next revision: what is not given is carried over,"
        " facts only while the text stays the same. Or `what` is a statement: a fact [subject,"
        ' predicate, value], a sentence such as {"if": s, "then": s}, or a list of them. A'
        " statement goes to `item`, else to the belief that states a different value of the same"
        " thing, else to a new one. A belief that is trusted more is not retracted: a conflict is"
        " opened, and `change.conflict` names it. `again` writes a revision even if nothing new is"
        " stated.",
        parameters(
            what=WHAT,
            text=argument("The words of the belief.", default=""),
            item=Parameter(
                "The address that a statement goes to.", None, kind="kref", absent={"mcp": why.FEW}
            ),
            expect=EXPECT,
            again=Parameter(
                "Write a revision even if it says the same.",
                False,
                kind="flag",
                absent={"mcp": why.FEW},
            ),
            dry_run=DRY_RUN,
        )
        + options_of(PlacedOptions),
        "Change",
        writes=True,
        idempotent=False,
        errors=("ConflictError", "RoleError", *_CHECKED),
        options="PlacedOptions",
        cli=Command(old=("believe",)),
        cypher=Procedure(("what", "text"), _CHANGE),
    ),
    Verb(
        "expand",
        "change",
        "Add one belief, and refuse it if it contradicts anything or exists already.",
        "Nothing is retracted: this is the expansion of belief revision.",
        (argument("The belief, as one sentence.", name="text"), *options_of(RememberOptions)),
        "Change",
        writes=True,
        idempotent=False,
        errors=("InputError", "LimitError", "ConflictError", "RoleError", "StoreError"),
        options="RememberOptions",
        cli=Command(),
        cypher=Procedure(("text",), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "supersede",
        "change",
        "Replace a belief, under its own address or a new one.",
        "With `name`, `kind`, `space` or `project`, the replacement is a new item that supersedes"
        " the old one. What is not given is carried over.",
        (
            *parameters(kref=KREF, text=argument("The words of the replacement.")),
            *options_of(PlacedOptions),
        ),
        "Change",
        writes=True,
        idempotent=False,
        errors=("ConflictError", "RoleError", *_CHECKED),
        options="PlacedOptions",
        cli=Command(),
        cypher=Procedure(("kref", "text"), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "contract",
        "change",
        "Stop believing an item, a pinned revision, one fact, or a statement.",
        "A statement is retracted anywhere in the project: the least entrenched of what states or"
        " implies it goes.",
        parameters(
            what=WHAT,
            fact=Parameter("Only this fact of the current revision.", None, kind="fact"),
            project=PROJECT,
            dry_run=DRY_RUN,
        ),
        "Change",
        writes=True,
        errors=("ConflictError", *_CHECKED),
        cli=Command(old=("disbelieve",)),
        cypher=Procedure(("what",), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "deprecate",
        "change",
        "Take an item or a turn out of recall; `restore` brings it back.",
        "",
        parameters(kref=KREF, expect=EXPECT, dry_run=DRY_RUN),
        "Change",
        writes=True,
        errors=("ConflictError", *_CHECKED),
        cli=Command(),
        cypher=Procedure(("kref",), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "restore",
        "change",
        "Bring a deprecated item or turn back, and retract what contradicts it.",
        "",
        parameters(kref=KREF, dry_run=DRY_RUN),
        "Change",
        writes=True,
        errors=("ConflictError", *_CHECKED),
        cli=Command(old=("restore-item",), extra=(_FORMER_TARGET,)),
        cypher=Procedure(("kref",), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "rollback",
        "change",
        "Make the pinned revision current again, and retract what contradicts it.",
        "",
        parameters(kref=KREF, expect=EXPECT, dry_run=DRY_RUN),
        "Change",
        writes=True,
        errors=("ConflictError", *_CHECKED),
        cli=Command(),
        cypher=Procedure(("kref",), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "undo",
        "change",
        "Reverse one change. Undoing an undo redoes it.",
        "A change is given by its number, which `log` lists, or as the Change that a verb"
        " returned.",
        parameters(
            change=argument("The number of a change.", "change"),
            dry_run=DRY_RUN,
        ),
        "Change",
        writes=True,
        idempotent=False,
        errors=("ConflictError", "InputError", "NotFoundError", "RoleError", "StoreError"),
        cli=Command(),
        cypher=Procedure(("change",), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "forget",
        "change",
        "Retire an item, turn, thread, space or project, or erase it for good.",
        "Retiring can be undone. Erasing destroys content and is the operator's. More than one"
        " thing needs the token of a preview.",
        parameters(
            kref=KREF,
            erase=Parameter(
                "Destroy the content for good.",
                False,
                kind="flag",
                absent={
                    "cypher": "erasing scrubs the file, which no open transaction permits",
                    "mcp": "an agent retires and never erases",
                },
            ),
            confirm=Parameter("The token of the preview.", ""),
            preview=Parameter(
                "Only report what would go.",
                False,
                kind="flag",
                absent={"mcp": "a first call without `confirm` is the preview"},
            ),
        ),
        "Forgotten",
        writes=True,
        errors=("ConfirmationError", "RoleError", *_CHECKED),
        cli=Command(),
        cypher=Procedure(("kref",), rows.FORGOTTEN),
    ),
    Verb(
        "resolve",
        "change",
        "Decide an open conflict: accept the challenger, reject it, or keep both.",
        "With `both`, the challenger holds from `valid_from` on, and the other until then.",
        parameters(
            conflict=argument("The conflict's address.", "kref"),
            decision=argument("accept, reject or both.", choices=("accept", "reject", "both")),
            valid_from=Parameter("The time from which it holds.", None, kind="time"),
            dry_run=DRY_RUN,
        ),
        "Change",
        writes=True,
        idempotent=False,
        errors=("ConflictError", "RoleError", *_CHECKED),
        cli=Command(),
        cypher=Procedure(("conflict", "decision"), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "constrain",
        "change",
        "Declare what cannot be true together in a project, and what is retracted first.",
        "Beliefs that now contradict each other are retracted in the same change. Without"
        " arguments, the project is only made consistent.",
        parameters(
            constraints=argument(
                'Constraints: {"functional": [...], "exclusions": [...], "rules": [...]}.',
                "mapping",
                default=None,
                changed={"cli": "a JSON file holds it, with the entrenchment"},
            ),
            entrenchment=Parameter(
                "The order of entrenchment.",
                None,
                kind="mapping",
                absent={"cli": "the JSON file holds it"},
            ),
            project=PROJECT,
            dry_run=DRY_RUN,
        ),
        "Change",
        role="operator",
        writes=True,
        errors=("ConstraintError", "InputError", "RoleError", "StoreError"),
        cli=Command(
            extra=(
                argument(
                    'A JSON file: {"constraints": {...}, "entrenchment": {...}}.',
                    "path",
                    name="file",
                ),
            )
        ),
        cypher=Procedure(("constraints",), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "tag",
        "change",
        "Point a tag at a revision.",
        "`approved`, `published`, `verified` and `crystallised` are the operator's.",
        parameters(kref=KREF, tag=TAG, expect=EXPECT_TAGGED),
        "Change",
        writes=True,
        errors=("ConflictError", "RoleError", *_CHECKED),
        cli=Command(),
        cypher=Procedure(("kref", "tag"), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "untag",
        "change",
        "Remove a tag from an item.",
        "",
        parameters(kref=KREF, tag=TAG, expect=EXPECT_TAGGED),
        "Change",
        writes=True,
        errors=("ConflictError", "RoleError", *_CHECKED),
        cli=Command(),
        cypher=Procedure(("kref", "tag"), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "link",
        "change",
        "Add a typed edge, such as DEPENDS_ON, between two beliefs.",
        "",
        parameters(
            source=argument("The address that the edge leaves.", "kref"),
            target=argument("The address that it enters.", "kref"),
            kind=EDGE,
            metadata=Parameter("Values by name.", None, kind="mapping"),
        ),
        "Change",
        writes=True,
        errors=_CHECKED,
        cli=Command(order=("source", "kind", "target")),
        cypher=Procedure(("source", "target", "kind"), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "unlink",
        "change",
        "Remove a typed edge between two beliefs.",
        "",
        parameters(
            source=argument("The address that the edge leaves.", "kref"),
            target=argument("The address that it enters.", "kref"),
            kind=EDGE,
        ),
        "Change",
        writes=True,
        errors=_CHECKED,
        cli=Command(order=("source", "kind", "target")),
        cypher=Procedure(("source", "target", "kind"), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "attach",
        "change",
        "Attach a file to a revision by name and location; the file is not read.",
        "A password in the location is left out, and `change.reason` says so.",
        parameters(
            kref=KREF,
            name=argument("The artifact's name, such as report.pdf."),
            location=Parameter("Where the file is.", cli="LOCATION"),
            sha256=Parameter(
                "The file's SHA-256.",
                "",
                cli="--hash",
                changed={"cli": "--hash was there first, and reads better"},
            ),
            size_bytes=Parameter(
                "The file's size.",
                0,
                kind="integer",
                cli="--size",
                changed={"cli": "--size was there first, and reads better"},
            ),
        ),
        "Change",
        writes=True,
        errors=_CHECKED,
        cli=Command(order=("kref", "name", "location")),
        cypher=Procedure(("kref", "name", "location"), _CHANGE),
        absent=why.NO_TOOL,
    ),
    Verb(
        "bundle",
        "change",
        "Group items under an address of kind bundle.",
        "",
        parameters(
            kref=argument("kref://project/name.bundle", "kref"),
            add=Parameter("Krefs of items to add.", (), kind="krefs"),
            remove=Parameter("Krefs of items to remove.", (), kind="krefs"),
        ),
        "Change",
        writes=True,
        errors=_CHECKED,
        cli=Command(),
        cypher=Procedure(("kref",), _CHANGE),
        absent=why.NO_TOOL,
    ),
)


def with_key(verb: Verb) -> Verb:
    """Return a verb that takes an idempotency key."""
    errors = verb.errors if "ConflictError" in verb.errors else ("ConflictError", *verb.errors)
    return replace(verb, parameters=(*verb.parameters, KEY), errors=errors)


STATE = tuple(map(with_key, _STATE))

_INGEST = Verb(
    "ingest",
    "start",
    "Ingest a conversation: a file or folder, or messages.",
    "A message is a mapping with `text`, and optionally `speaker`, `role`, `time` and `id`. Turns"
    " that are known already are skipped. With `extract`, rules look for candidate beliefs (trust"
    " `candidate`).",
    (
        argument(
            "A file, a folder, or a list of messages.",
            "source",
            name="source",
            changed={
                "cli": "a file or folder",
                "cypher": "a list of messages: a query reads no files",
            },
        ),
        *options_of(
            IngestOptions,
            format=Parameter(
                "The file's format; without one, detected.",
                None,
                absent={"cypher": "a query reads no files"},
            ),
            thread=Parameter(
                "The thread of messages that name none.", "", absent={"cli": "a file names its own"}
            ),
            session=Parameter(
                "The session of messages that name none.",
                "",
                absent={"cli": "a file names its own"},
            ),
        ),
        Parameter(
            "A function that is called with the number of new turns.",
            None,
            kind="function",
            name="progress",
            absent={"cli": "a terminal shows the progress", "cypher": "a query has no functions"},
        ),
    ),
    "Ingested",
    writes=True,
    errors=("InputError", "LimitError", "StoreError"),
    cli=Command(
        "import",
        reason="on the command line, an export of doxa is imported by the same command",
        extra=(
            Parameter(
                "Embed what was imported; it can be stopped and continued.",
                True,
                kind="flag",
                name="embed",
                cli="--embed/--no-embed",
            ),
            Parameter(
                "Write nothing, and say what it would bring.",
                False,
                kind="flag",
                name="dry_run",
            ),
            Parameter(
                "Of an agent's history, also read: tools, thinking, sidechains, summaries.",
                (),
                kind="texts",
                name="include",
            ),
            Parameter(
                "Read files from their beginning, also where an import was before.",
                False,
                kind="flag",
                name="again",
            ),
            Parameter(
                "Of an export, also take what is verified or approved in it, without asking.",
                False,
                kind="flag",
                name="accept_protected",
            ),
        ),
    ),
    cypher=Procedure(("source",), rows.INGESTED),
    options="IngestOptions",
    absent=why.NO_TOOL,
)

INGEST = with_key(_INGEST)

EXTRACT = Verb(
    "extract",
    "care",
    "Read stored turns and state the candidate beliefs that rules find in them.",
    "For turns ingested without extraction, or by earlier rules. What is stated already stays as it"
    " is, so that a second call writes nothing. With `again`, candidates that an undo has taken"
    " away are stated once more; what a person retired stays retired.",
    parameters(
        project=PROJECT,
        again=Parameter("Also state candidates that an undo has taken away.", False, kind="flag"),
        progress=Parameter(
            "A function that is called with the number of turns read.",
            None,
            kind="function",
            absent={"cli": "a terminal shows the progress"},
        ),
    ),
    "Extracted",
    writes=True,
    errors=("InputError", "LimitError", "StoreError"),
    cli=Command(),
    absent={**why.NO_TOOL, "cypher": "it is a job of several transactions"},
)
