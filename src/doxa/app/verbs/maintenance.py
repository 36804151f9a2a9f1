"""The verbs of an opened file: its sessions, its log, its copies, its embeddings."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import EventOptions, OpenOptions, options_of
from doxa.app.verbs.retention import KEEPING

_STATUS: why.Reasons = {"cypher": why.CARE}
_FILES: why.Reasons = {"cypher": why.CARE, "mcp": "it concerns files of the server's machine"}

OPEN = Verb(
    "open",
    "start",
    "Open a memory file, or create it; without a path, the user's own.",
    "The URL of a shared log, such as `postgresql://host/db`, opens a replica of a tenant of it.",
    (
        argument("The memory file.", "path", name="path", default=None),
        *options_of(OpenOptions),
    ),
    "Memory",
    owner="Memory",
    writes=True,
    errors=("InputError", "StoreError"),
    options="OpenOptions",
    absent={
        "cli": "every command opens the file of --db",
        "cypher": why.CARE,
        "mcp": "the server opens it",
    },
)

EVENTS = (
    Verb(
        "events",
        "look",
        "Iterate over what was committed, in order, as events derived from the log.",
        "Begins at the beginning unless `since` or `after` says otherwise, or the cursor exists."
        " Delivery is at least once: the position of a named cursor is kept in the file when a"
        ' batch was consumed or, with `ack="manual"`, at each `ack`. With `follow` the iterator'
        " waits for more. A session that is bound to projects gets their events alone.",
        options_of(EventOptions),
        "EventStream",
        errors=("InputError", "LimitError"),
        options="EventOptions",
        cli=Command(),
        cypher=Procedure((), rows.EVENT),
        absent=why.NO_TOOL,
    ),
    Verb(
        "cursors",
        "look",
        "List the cursors of consumers of this session's role and projects.",
        "",
        (),
        "list[EventCursor]",
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "set_cursor",
        "look",
        "Move a cursor, also back, or make it: what follows the position is delivered next.",
        "Without a position, everything is. `remove` deletes it.",
        parameters(
            name=argument("The cursor's name."),
            after=Parameter("The event after which it stands, by its id or number.", None),
            since=Parameter("The time at which it stands.", None, kind="time"),
            remove=Parameter("Delete it.", False, kind="flag"),
        ),
        "None",
        writes=True,
        errors=("InputError", "LimitError", "NotFoundError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
)

CARE = (
    Verb(
        "log",
        "care",
        "List changes with their numbers, times, actors and operations.",
        "",
        parameters(
            limit=Parameter("The number of changes at most.", 20, kind="integer", short="-n"),
            after=Parameter("Only changes after this number.", 0, kind="integer"),
            newest_first=Parameter("The newest first.", True, kind="flag"),
        ),
        "list[Receipt]",
        owner="Memory",
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure((), rows.RECEIPT),
        absent=why.NO_TOOL,
    ),
    Verb(
        "token",
        "care",
        "Return the token of the last change that this session sees: `change@receipt`.",
        "Another server of the same memory honours it; so does that of any write, from its"
        " `change` and `receipt`.",
        (),
        "str",
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "wait",
        "care",
        "Wait until this memory has the change of a token; return the token of its last one.",
        "The token comes from `token`, or from a write on another server. After `timeout_s`"
        " seconds, up to 60, BusyError.",
        parameters(
            token=argument("What `token` said, here or on another server."),
            timeout_s=Parameter("Seconds to wait at most.", 5.0, kind="number"),
        ),
        "str",
        errors=("BusyError", "InputError", "UnreachableError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "doctor",
        "care",
        "Examine everything that can be wrong, and say what to do.",
        "No endpoint is called unless `models` is set.",
        parameters(
            models=Parameter(
                "Call each configured model once, also over the network.", False, kind="flag"
            )
        ),
        "list[HealthCheck]",
        owner="Memory",
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "verify",
        "care",
        "Verify the whole log, and compare the state with a replay of it.",
        "",
        parameters(
            progress=Parameter(
                "A function that is called with the number of entries since its last call: each is"
                " verified and replayed.",
                None,
                kind="function",
                absent={"cli": "a terminal shows the progress"},
            ),
        ),
        "LogProof",
        owner="Memory",
        errors=("CorruptError",),
        cli=Command(
            extra=(
                Parameter(
                    "A head hash noted earlier; the log must still contain it.", "", name="expect"
                ),
            )
        ),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "has_receipt",
        "care",
        "Return whether the log contains a receipt with this hash.",
        "Compare with one that was noted elsewhere.",
        parameters(head=argument("The hash in hexadecimal.")),
        "bool",
        owner="Memory",
        absent={**why.CARE_ONLY, "cli": "`doxa verify --expect` does it"},
    ),
    Verb(
        "check",
        "care",
        "Check every invariant of the file; an empty list means that it is sound.",
        "",
        (),
        "list[str]",
        owner="Memory",
        absent={**why.CARE_ONLY, "cli": "`doxa doctor` does it"},
    ),
    Verb(
        "backup",
        "care",
        "Write a consistent, verified copy while others read and write.",
        "",
        parameters(
            path=argument("A path that does not exist yet.", "path", cli="TARGET"),
            progress=Parameter(
                "A function that is called with the bytes that were copied since its last call.",
                None,
                kind="function",
                absent={"cli": "a terminal shows the progress"},
            ),
        ),
        "Path",
        owner="Memory",
        idempotent=False,
        errors=("InputError", "CorruptError", "StoreError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "export",
        "care",
        "Yield the whole state as JSON lines: every element, version, time and rule.",
        "`import_` reads them.",
        (),
        "Iterator[bytes]",
        owner="Memory",
        cli=Command(
            extra=(
                argument(
                    "A file that does not exist yet; - or nothing writes to standard output.",
                    "path",
                    name="target",
                    default=None,
                ),
                Parameter(
                    "lines: the whole state; markdown: a folder of notes; memory-json: entities"
                    " and relations.",
                    "lines",
                    name="format",
                    choices=("lines", "markdown", "memory-json"),
                ),
                Parameter(
                    "Of notes and memory-json: only these projects.",
                    (),
                    kind="texts",
                    name="projects",
                    cli="--project",
                    short="-p",
                ),
            )
        ),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "export_to",
        "care",
        "Write an export to a file that does not exist yet; return the number of its lines.",
        "A name that ends in `.gz` compresses it.",
        parameters(target=argument("A path that does not exist yet.", "path")),
        "int",
        owner="Memory",
        idempotent=False,
        errors=("InputError", "StoreError"),
        absent={**why.CARE_ONLY, "cli": "`doxa export FILE` does it"},
    ),
    Verb(
        "import_",
        "care",
        "Import an export of doxa: all of it into an empty file, into another what it lacks.",
        "Everything keeps its address; what exists already is skipped. A file that brings verified"
        " or approved beliefs is refused with ConfirmationError unless `accept_protected`; only an"
        " operator may accept them. For conversations, use `ingest`.",
        parameters(
            path=argument("A file written by `export`.", "path"),
            dry_run=Parameter("Write nothing, and return what would be.", False, kind="flag"),
            accept_protected=Parameter(
                "Also take what is verified or approved in the file.", False, kind="flag"
            ),
        ),
        "Imported",
        owner="Memory",
        writes=True,
        errors=("ConfirmationError", "InputError", "RoleError", "StoreError"),
        absent={**why.CARE_ONLY, "cli": "`doxa import` detects an export and imports it"},
    ),
    Verb(
        "export_notes",
        "care",
        "Write what is believed as a folder of Markdown notes, one for each belief.",
        "A folder that doxa wrote is brought up to date; what somebody edited, and what doxa did"
        " not write, stays as it is. Without `projects`, all that this session reads.",
        parameters(
            folder=argument("A folder, or a path that does not exist yet.", "path"),
            projects=Parameter("Only these projects.", (), kind="texts"),
        ),
        "ExportedNotes",
        errors=("InputError", "RoleError", "StoreError"),
        absent=_FILES | {"cli": "`doxa export FOLDER --format markdown` does it"},
    ),
    Verb(
        "import_notes",
        "care",
        "Import notes that `export_notes` wrote: each that was edited is a revision.",
        "A note whose belief was revised meanwhile is passed over and named in `places`. What is"
        " verified or approved needs `accept_protected`, as in `import_`.",
        parameters(
            folder=argument("The folder of an export as notes.", "path"),
            dry_run=Parameter("Write nothing, and return what would be.", False, kind="flag"),
            accept_protected=Parameter(
                "Also take what is verified or approved in the notes.", False, kind="flag"
            ),
        ),
        "Imported",
        writes=True,
        errors=("ConfirmationError", "InputError", "RoleError", "StoreError"),
        absent=_FILES | {"cli": "`doxa import FOLDER` detects notes and imports them"},
    ),
    Verb(
        "export_memory_json",
        "care",
        "Write what is believed as the entities and relations of `memory.json`, to a new file.",
        "Returns the number of lines. The MCP reference server for memory reads it.",
        parameters(
            target=argument("A path that does not exist yet.", "path"),
            projects=Parameter("Only these projects.", (), kind="texts"),
        ),
        "int",
        idempotent=False,
        errors=("InputError", "RoleError", "StoreError"),
        absent=_FILES | {"cli": "`doxa export FILE --format memory-json` does it"},
    ),
    Verb(
        "load",
        "change",
        "Load rows of CSV, JSON lines or Parquet as nodes, edges or revisions of items.",
        "With `label`, each row is a node; one whose `key` is there already is not created again."
        " With `edge`, each row is an edge between the nodes that `start` and `end` name. With"
        " `item`, each row is the next revision of the item whose address is in that column. A load"
        " that was interrupted goes on where it stopped, and rows that are loaded are not loaded"
        " twice.",
        parameters(
            path=argument("A file that ends in .csv, .tsv, .jsonl, .ndjson or .parquet.", "path"),
            label=Parameter("The label of the nodes.", ""),
            key=Parameter("The property by which a node is known.", ""),
            edge=Parameter("The type of the edges.", ""),
            start=Parameter("Where they begin: column:Label.property.", ""),
            end=Parameter("Where they end: column:Label.property.", ""),
            item=Parameter("The column with the addresses of the items.", ""),
            again=Parameter("Load all rows, also those that are loaded.", False, kind="flag"),
        ),
        "Loaded",
        writes=True,
        idempotent=False,
        errors=("InputError", "LimitError", "NotFoundError", "RoleError", "StoreError"),
        cli=Command(),
        absent={"cypher": "LOAD CSV reads rows there", "mcp": _FILES["mcp"]},
    ),
    Verb(
        "stats",
        "care",
        "Return counts and sizes.",
        "While the vectors of another model are made, also how many there are; where background"
        " jobs have run, how long ago that was.",
        (),
        "dict[str, object]",
        owner="Memory",
        cli=Command(),
        absent=_STATUS,
    ),
    Verb(
        "growth",
        "care",
        "Return what of the file grows, how fast, and what would trim it; and the last backup.",
        "Every page is counted, which takes about a second for a gigabyte.",
        (),
        "Growth",
        owner="Memory",
        absent={**why.CARE_ONLY, "cli": "`doxa status` shows it"},
    ),
    Verb(
        "quota",
        "care",
        "Set how much the file may hold, or tell it.",
        "What is not given stays; 0 takes a limit away. Operators set it; each commit is checked.",
        parameters(
            items=Parameter("How many nodes there may be.", None, kind="integer"),
            size_bytes=Parameter(
                "How large the file may be, without free pages.", None, kind="integer"
            ),
            writes_per_minute=Parameter(
                "How many transactions may commit in a minute.", None, kind="integer"
            ),
        ),
        "Quota",
        owner="Memory",
        writes=True,
        errors=("InputError", "RoleError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "embed",
        "care",
        "Embed what has no vector yet, and return how many memories were embedded.",
        "`anew` begins to rebuild all vectors with another model; recall uses the old ones until"
        " all are rebuilt, by this call, a later one or the background thread. Without a model: 0."
        " Where an endpoint is out of reach, `embedder_error` says why.",
        parameters(
            limit=Parameter("The number of memories at most.", None, kind="integer"),
            anew=Parameter(
                "Rebuild all vectors with another model; recall uses the old ones until then.",
                False,
                kind="flag",
            ),
            progress=Parameter(
                "A function that is called with the number of new vectors.",
                None,
                kind="function",
                absent={"cli": "a terminal shows the progress"},
            ),
        ),
        "int",
        owner="Memory",
        writes=True,
        errors=("InputError", "LimitError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "pending",
        "care",
        "Return how many memories have no vector yet.",
        "",
        parameters(
            in_use=Parameter(
                "Only vectors of the model in use, not of its successor.",
                False,
                kind="flag",
                absent={"mcp": why.FEW},
            )
        ),
        "int",
        owner="Memory",
        absent={**_STATUS, "cli": "`doxa embed` and `doxa stats` report it"},
    ),
    Verb(
        "reembedding",
        "care",
        "Return the progress of a rebuild with another model; None if there is none.",
        "",
        (),
        "Reembedding | None",
        owner="Memory",
        absent={**why.CARE_ONLY, "cli": "`doxa embed` and `doxa stats` report it"},
    ),
    Verb(
        "spend",
        "care",
        "Return what was sent to endpoints: calls, tokens and money.",
        "",
        parameters(
            process=Parameter(
                "Of all memories of this process, not of this one alone.", False, kind="flag"
            )
        ),
        "Spend",
        owner="Memory",
        absent=why.PYTHON_ONLY,
    ),
    Verb(
        "spending",
        "care",
        "Return what models were used for: calls and tokens by day, purpose and model.",
        "Of the last so many days (UTC), today included, by all processes, with the caps of a day"
        " and what they leave. `spend` returns that of this opening, with prices.",
        parameters(days=Parameter("The number of days.", 7, kind="integer")),
        "Spending",
        owner="Memory",
        errors=("InputError", "StoreError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "spend_cap",
        "care",
        "Set how much of models a purpose may use in a day, or tell the caps.",
        "Purposes are embed, recall, consolidate, dream, enrich, doctor, other, and all of them"
        " together. What is not given stays; 0 takes a cap away. Operators set it. A call that may"
        " exceed a cap is not sent.",
        parameters(
            purpose=Parameter(
                "What the models are used for.",
                "all",
                positional=True,
            ),
            tokens=Parameter("How many tokens in a day (UTC).", None, kind="integer"),
            calls=Parameter("How many calls in a day.", None, kind="integer"),
        ),
        "Spending",
        owner="Memory",
        writes=True,
        errors=("InputError", "RoleError"),
        cli=Command(),
        absent=why.CARE_ONLY,
    ),
    Verb(
        "flush",
        "care",
        "Write pending accesses, and finish what a change of policies left to do.",
        "The background thread does both by itself. Returns how many elements had accesses.",
        (),
        "int",
        owner="Memory",
        writes=True,
        absent=why.PYTHON_ONLY,
    ),
    Verb(
        "wake",
        "care",
        "Start the background embedding, if there may be work.",
        "It never blocks the caller.",
        (),
        "None",
        owner="Memory",
        absent=why.PYTHON_ONLY,
    ),
    Verb(
        "session",
        "start",
        "Return a session of another identity on the same file.",
        "It never has more power than the memory was opened with. Queries and policies see"
        ' `context`, such as {"session": "s1", "agent": "planner"}, as $_session and so on. With'
        " `projects` it is bound to these: everything else is as if it did not exist.",
        parameters(
            actor=Parameter("The name in the log; without one, the memory's.", ""),
            role=Parameter("agent, operator or system.", "agent", kind="object"),
            project=Parameter("The project of calls that name none.", ""),
            projects=Parameter("The only projects that it sees; none: all.", (), kind="texts"),
            context=Parameter("Values by name.", None, kind="mapping"),
        ),
        "Session",
        owner="Memory",
        errors=("InputError", "RoleError"),
        absent={
            "cli": "`doxa mcp` and `doxa serve` make sessions",
            "cypher": "a statement belongs to a session already",
            "mcp": "the server makes one",
        },
    ),
    Verb(
        "close",
        "start",
        "Stop background work after its current batch, and close the file.",
        "What is not embedded yet stays pending.",
        (),
        "None",
        owner="Memory",
        absent=why.PYTHON_ONLY,
    ),
    *KEEPING,
)
