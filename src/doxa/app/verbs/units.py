"""The verbs that store complete units, each in one transaction, and find executions."""

from __future__ import annotations

from msgspec.structs import replace

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, named, parameters
from doxa.app.verbs.options import PROJECT, SCOPE, UnitOptions, options_of
from doxa.app.verbs.writing import DRY_RUN, with_key
from doxa.base.limits import DISCOVERED_EDGES_ITEMS_MAX

_ERRORS = ("ConflictError", "InputError", "LimitError", "NotFoundError", "RoleError", "StoreError")
_FILES = options_of(UnitOptions)[-2:]
_UNIT = next(one for one in options_of(UnitOptions) if one.name == "tags")
_OUTCOME = "done, failed, error or blocked"

STORE_UNIT = with_key(
    Verb(
        "store_unit",
        "change",
        "Store one belief with its files, edges, bundles and tags, in one transaction.",
        "What is there already is not written again; words that are known with another file are a"
        " new revision. `known` names what was believed about it before. Files are hashed, not"
        " copied.",
        (
            argument("The belief, as one sentence.", name="text"),
            *options_of(UnitOptions),
            named("dry_run", DRY_RUN),
        ),
        "StoredUnit",
        writes=True,
        errors=_ERRORS,
        options="UnitOptions",
        cli=Command(),
        cypher=Procedure(("text",), rows.STORED_UNIT),
        absent=why.NO_TOOL,
    )
)
STORE_EXECUTION = with_key(
    Verb(
        "store_execution",
        "change",
        "Store what was done for a task: outcome, steps, tools, cost and files.",
        "Each execution is an item of its own, of kind `execution`. Send a retry under an"
        " idempotency key.",
        parameters(
            task=argument("What was to be done, in a sentence."),
            outcome=Parameter(f"How it ended: {_OUTCOME}.", "done"),
            steps=Parameter("What was done, in order.", (), kind="texts", cli="--step"),
            tools=Parameter("What it was done with.", (), kind="texts", cli="--tool"),
            exit_code=Parameter("The exit code.", None, kind="integer"),
            duration_ms=Parameter("How long it took.", None, kind="integer"),
            cost=Parameter("What it cost, in a currency of your own.", None, kind="number"),
            output=Parameter("What it printed; 4,000 characters are kept.", ""),
            derived_from=Parameter("Krefs of its sources.", (), kind="texts"),
            created_from=Parameter("Krefs of what it worked on.", (), kind="texts"),
            topics=Parameter("Topics.", (), kind="texts", cli="--topic"),
            tags=_UNIT,
            project=PROJECT,
            space=Parameter("The space of executions.", "executions"),
            artifacts=next(one for one in _FILES if one.name == "artifacts"),
            folder=next(one for one in _FILES if one.name == "folder"),
        ),
        "StoredUnit",
        writes=True,
        idempotent=False,
        errors=_ERRORS,
        cli=Command(),
        cypher=Procedure(("task",), rows.STORED_UNIT),
        absent=why.NO_TOOL,
    )
)
EXECUTIONS = Verb(
    "executions",
    "ask",
    "Find how a task was done before: those that succeeded first, the newest first.",
    "An execution counts if it shares half of the words of the shorter task.",
    parameters(
        task=argument("The task, in a sentence."),
        outcome=Parameter(f"Only this outcome: {_OUTCOME}.", ""),
        project=SCOPE,
        limit=Parameter("The number of executions at most.", 5, kind="integer", short="-n"),
    ),
    "list[Execution]",
    errors=("InputError", "NotFoundError", "StoreError"),
    cli=Command(),
    cypher=Procedure(("task",), rows.EXECUTION),
    absent=why.NO_TOOL,
)
ADD_RESPONSE = with_key(
    Verb(
        "add_response",
        "change",
        "Store what an assistant answered, with edges to what the answer is based on.",
        "The response is a turn of the role assistant; no candidate beliefs are read from it. One"
        " that is known is not stored twice.",
        parameters(
            text=argument("The response, verbatim."),
            sources=Parameter(
                "Krefs of the beliefs and turns it is based on.", (), kind="texts", cli="--source"
            ),
            thread=Parameter("The thread.", "default"),
            session=Parameter("The session of the thread.", ""),
            speaker=Parameter("The assistant's name.", "assistant"),
            time=Parameter("When it was said; now, if it is not given.", None, kind="time"),
            project=PROJECT,
            space=Parameter("The space of the turns.", "conversations"),
        ),
        "StoredResponse",
        writes=True,
        errors=_ERRORS,
        cli=Command(),
        cypher=Procedure(("text",), rows.RESPONSE),
        absent=why.NO_TOOL,
    )
)
DISCOVER_EDGES = Verb(
    "discover_edges",
    "change",
    "Propose the edges that a belief lacks, each with the reason why it exists.",
    "By rules and recall: addresses and files that its text names, texts that it repeats, and what"
    " recall finds for it. With `model`, the language model writes queries too. Nothing is written"
    " until `dry_run` is false; then all edges are, in one transaction.",
    parameters(
        kref=argument("A belief or a turn.", "kref"),
        types=Parameter(
            "Only these types.",
            ("DERIVED_FROM", "CREATED_FROM", "REFERENCED"),
            kind="texts",
            cli="--type",
        ),
        limit=Parameter(
            f"The number of edges at most, up to {DISCOVERED_EDGES_ITEMS_MAX}.",
            3,
            kind="integer",
            short="-n",
        ),
        score_min=Parameter("The least score of what recall finds.", 0.3, kind="number"),
        model=Parameter("Ask the language model for queries.", False, kind="flag"),
        dry_run=Parameter(
            "Only propose.",
            True,
            kind="flag",
            changed={"cli": "`--no-dry-run` writes"},
            cli="--dry-run/--no-dry-run",
        ),
    ),
    "DiscoveredEdges",
    writes=True,
    errors=("ModelError", *_ERRORS),
    cli=Command(),
    cypher=Procedure(("kref",), rows.EDGES),
    absent=why.NO_TOOL,
)
ARTIFACT_FILE = Verb(
    "artifact_file",
    "look",
    "Return the file of an artifact, after comparing it with its digest.",
    "ConflictError if its content changed, NotFoundError if it is gone.",
    parameters(
        kref=argument("An artifact, such as kref://project/plate.image?r=2&a=plate.png.", "kref"),
        folder=replace(_FILES[-1], name="folder"),
    ),
    "ArtifactFile",
    errors=("ConflictError", "InputError", "NotFoundError", "StoreError"),
    cli=Command(),
    absent={**why.NO_TOOL, "cypher": "a query reads no files"},
)
SURVEY = Verb(
    "survey",
    "look",
    "Report what memory knows about itself: coverage, age, and what is open.",
    "How many beliefs, turns and executions there are, by kind and topic; what nobody stated for"
    " `stale_days`; conflicts, beliefs without support, doubtful and expired ones, and vectors that"
    " are pending. Writes nothing.",
    parameters(
        project=SCOPE,
        stale_days=Parameter("The age from which a belief is stale.", 180, kind="integer"),
        limit=Parameter("The length of each list.", 10, kind="integer", short="-n"),
    ),
    "Survey",
    errors=("InputError", "StoreError"),
    cli=Command(),
    cypher=Procedure((), rows.SURVEY),
    absent=why.NO_TOOL,
)
UNITS = (
    SURVEY,
    STORE_UNIT,
    STORE_EXECUTION,
    EXECUTIONS,
    ADD_RESPONSE,
    DISCOVER_EDGES,
    ARTIFACT_FILE,
)
