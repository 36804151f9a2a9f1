"""The options of verbs that have many: types that callers and type checkers see, and at once the
names, types, defaults and descriptions of the verb table.

    def recall(self, text: str, **options: Unpack[RecallOptions]) -> Recall: ...

No `from __future__ import annotations` here: the table reads the types.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypedDict, get_origin

from doxa.app.verbs.model import UNSET, Kind, Parameter, named
from doxa.base.clock import Clock
from doxa.base.ids import Role
from doxa.base.limits import (
    ACCESS_FLUSH_MS,
    DREAM_AGE_DAYS_MIN,
    RUN_TOUCHED_ITEMS_DEFAULT,
    WORKING_TTL_S,
)
from doxa.base.values import Value

Time = str | int | date  # a datetime is a date
Facts = Iterable[Sequence[object]]
Texts = Iterable[str]

_KINDS: dict[object, Kind] = {
    str: "text",
    str | None: "text",
    int: "integer",
    int | None: "integer",
    float: "number",
    float | None: "number",
    bool: "flag",
    Time | None: "time",
    Texts: "texts",
    Texts | None: "texts",
    Facts: "facts",
    Iterable[object]: "sentences",
    Mapping[str, Value] | None: "mapping",
}
_CONCLUDED = "Without it, conclusions of jobs are left out where their turns are eligible."
TRUST = "untrusted, inferred, candidate, stated or verified"
PROJECT = Parameter("The project; without one, the session's.", None, short="-p")
SCOPE = Parameter("The project; without one, the session's; '*': all projects.", None, short="-p")


class RecallOptions(TypedDict, total=False):
    """The options of a recall."""

    project: Annotated[str | None, SCOPE]
    space: Annotated[str, Parameter("Only this space and those below it.", "")]
    kinds: Annotated[Texts, Parameter("Only these kinds.", (), cli="--kind")]
    tag: Annotated[str, Parameter("Search what carries this tag.", "current")]
    trust: Annotated[str, Parameter(f"At least this trust: {TRUST}. {_CONCLUDED}", "")]
    speaker: Annotated[str, Parameter("Only what this speaker said.", "")]
    thread: Annotated[str, Parameter("Only turns of this thread, given by its kref.", "")]
    since: Annotated[Time | None, Parameter("Said or stated at this time or later.", None)]
    until: Annotated[Time | None, Parameter("Said or stated before this time.", None)]
    valid_at: Annotated[Time | None, Parameter("Only what holds at this time.", None)]
    as_of: Annotated[Time | None, Parameter("What memory believed at this time.", None)]
    history: Annotated[bool, Parameter("Include retired beliefs.", False)]
    limit: Annotated[int, Parameter("The number of hits at most.", 10, short="-n")]
    tokens_max: Annotated[
        int | None, Parameter("The token budget of all texts together.", None, cli="--tokens")
    ]
    lanes: Annotated[
        Texts | None,
        Parameter(
            "Only these signals: words, meaning, entities, time, graph, recency, policy, mentions.",
            None,
            cli="--lane",
        ),
    ]
    mode: Annotated[str, Parameter("How signals are fused: auto, max, rrf or convex.", "auto")]
    from_thread: Annotated[
        str, Parameter("The kref of the thread that asks; its own turns are preferred.", "")
    ]
    strict: Annotated[bool, Parameter("Leave out hits that do not stand out.", False)]
    diversity: Annotated[
        float, Parameter("Prefer hits that differ from each other, from 0 to below 1.", 0.0)
    ]
    order: Annotated[str, Parameter("score, or time for oldest first.", "score")]
    rerank: Annotated[str, Parameter("Rerank the hits: none, client, dedicated or auto.", "none")]
    reword: Annotated[str, Parameter("Expand the query: none, rules, model or auto.", "none")]


class ContentOptions(TypedDict, total=False):
    """What a belief may state in addition to its text."""

    facts: Annotated[Facts, Parameter("Facts as (subject, predicate, value).", UNSET, cli="--fact")]
    sentences: Annotated[
        Iterable[object],
        Parameter(
            'Statements that are not plain facts, such as {"if": s, "then": s}.',
            UNSET,
            cli="--sentence",
        ),
    ]
    title: Annotated[str, Parameter("A title.", UNSET)]
    topics: Annotated[Texts, Parameter("Topics.", UNSET, cli="--topic")]
    keywords: Annotated[Texts, Parameter("Keywords.", UNSET, cli="--keyword")]
    valid_from: Annotated[Time | None, Parameter("The time from which it holds.", UNSET)]
    valid_until: Annotated[Time | None, Parameter("The time until which it holds.", UNSET)]
    metadata: Annotated[
        Mapping[str, Value] | None,
        Parameter("Text, numbers, booleans and flat lists by name.", UNSET),
    ]
    embedding_text: Annotated[
        str, Parameter("The text to embed in place of the belief's own.", UNSET)
    ]
    events: Annotated[Texts, Parameter("What happened, and what followed.", UNSET, cli="--event")]
    implications: Annotated[
        Texts, Parameter("What may follow from it, in other words.", UNSET, cli="--implication")
    ]
    questions: Annotated[Texts, Parameter("Open questions about it.", UNSET, cli="--question")]
    decisions: Annotated[Texts, Parameter("Decisions it records.", UNSET, cli="--decision")]
    entities: Annotated[
        Texts, Parameter("The people and things it is about.", UNSET, cli="--entity")
    ]
    claims: Annotated[Texts, Parameter("What it says that holds.", UNSET, cli="--claim")]
    actions: Annotated[
        Texts, Parameter("What somebody is to do, and by when.", UNSET, cli="--action")
    ]


class RevisionOptions(ContentOptions, total=False):
    """The same for a new revision, with its confidence and trust. Missing ones are carried over."""

    confidence: Annotated[float, Parameter("How certain it is, from 0 to 1.", UNSET)]
    trust: Annotated[str, Parameter(f"How far it is trusted: {TRUST}.", UNSET)]


class PlacedOptions(RevisionOptions, total=False):
    """The same for a belief that may get an address of its own."""

    project: Annotated[
        str | None, Parameter("The project; without one, the session's.", UNSET, short="-p")
    ]
    space: Annotated[str, Parameter("The space in the project, such as a/b.", UNSET)]
    name: Annotated[str, Parameter("The name in its address.", UNSET)]
    kind: Annotated[str, Parameter("Its kind, such as fact or decision.", UNSET)]


class RememberOptions(ContentOptions, total=False):
    """The same for a new belief, with its place and what it depends on."""

    project: Annotated[str | None, PROJECT]
    space: Annotated[str, Parameter("The space in the project, such as a/b.", "")]
    name: Annotated[str, Parameter("A name under which it can be revised.", "")]
    kind: Annotated[str, Parameter("Its kind, such as fact, decision or preference.", "fact")]
    confidence: Annotated[float, Parameter("How certain it is, from 0 to 1.", 1.0)]
    trust: Annotated[str, Parameter(f"How far it is trusted: {TRUST}.", "stated")]
    derived_from: Annotated[Texts, Parameter("Krefs of its sources.", ())]
    depends_on: Annotated[Texts, Parameter("Krefs of beliefs that it depends on.", ())]


class UnitOptions(RememberOptions, total=False):
    """The same with all that belongs to a belief: files, edges, groups, tags."""

    created_from: Annotated[Texts, Parameter("Krefs of what it was generated from.", ())]
    references: Annotated[Texts, Parameter("Krefs of what it mentions.", (), cli="--reference")]
    bundles: Annotated[
        Texts, Parameter("Bundles to add it to: krefs, or names in its space.", (), cli="--bundle")
    ]
    tags: Annotated[Texts, Parameter("Tags to point at its revision.", (), cli="--tag")]
    artifacts: Annotated[
        Mapping[str, Value] | None,
        Parameter(
            "Files by name: a path, which is read and hashed, or {location, sha256, size_bytes}.",
            None,
            cli="--artifacts",
            changed={"cypher": "only {location, sha256, size_bytes}: a query reads no files"},
        ),
    ]
    folder: Annotated[
        str,
        Parameter(
            "The folder that paths are relative to; none leads out of it.",
            "",
            absent={"cypher": "a query reads no files"},
        ),
    ]


_ROWS = "a query asks recall for what is near"


class StatementOptions(RememberOptions, total=False):
    """The same where a named belief may exist already."""

    expect: Annotated[int | None, Parameter("The revision number that must be current.", None)]
    near: Annotated[
        int,
        Parameter(
            "How many of the nearest beliefs to name, if a plain text replaces none.",
            0,
            absent={"cypher": _ROWS},
        ),
    ]


_CURSOR = (
    "A name under which the position is kept in the file; where it exists, it is where to begin."
)
_NO_CURSOR = "a query ends with its rows; the consumer keeps the last `id`"


_APPLY = Parameter("Carry the proposals out, with your rights.", False)
_SECONDS = Parameter("How long it may work.", None)
_CALLS = Parameter("How often it may ask the language model.", 0)
AGE = Parameter("The least age of what it ends.", DREAM_AGE_DAYS_MIN)
_SHARE = Parameter("The share of items it may change, 0.1 to 0.9.", 0.5)
_NUMBER = Parameter("How many elements it may touch.", RUN_TOUCHED_ITEMS_DEFAULT)
_TOKENS = Parameter("How many tokens the model may use.", None)


class DreamingOptions(TypedDict, total=False):
    """How a dream is done."""

    project: Annotated[str | None, PROJECT]
    apply: Annotated[bool, _APPLY]
    dry_run: Annotated[bool, Parameter("Write nothing: only report.", False)]
    all_kinds: Annotated[
        bool,
        Parameter(
            "Propose also contradictions, gaps and summaries: fewer are right.", False, cli="--all"
        ),
    ]
    share: Annotated[float, _SHARE]
    number: Annotated[int, _NUMBER]
    age_days: Annotated[float, AGE]
    seconds: Annotated[float | None, _SECONDS]
    calls: Annotated[int, _CALLS]
    tokens: Annotated[int | None, _TOKENS]


class NightshiftOptions(TypedDict, total=False):
    """Which background jobs are done, what the dream may do and spend, and when it is due."""

    project: Annotated[str | None, PROJECT]
    jobs: Annotated[Texts, Parameter("Only these jobs.", (), cli="--job")]
    apply: Annotated[bool, _APPLY]
    share: Annotated[float, _SHARE]
    number: Annotated[int, _NUMBER]
    age_days: Annotated[float, AGE]
    seconds: Annotated[float | None, _SECONDS]
    calls: Annotated[int, _CALLS]
    tokens: Annotated[int | None, _TOKENS]
    budget_s: Annotated[
        float | None,
        Parameter("Seconds after which no further job begins.", None, cli="--budget"),
    ]
    every_s: Annotated[float | None, Parameter("Seconds between two dreams.", None, cli="--every")]
    idle_s: Annotated[float | None, Parameter("Seconds without a change.", None, cli="--idle")]
    entries: Annotated[int | None, Parameter("New entries of the log.", None)]
    follow: Annotated[
        bool, Parameter("Go on until interrupted; once a day if nothing else is given.", False)
    ]


class EventOptions(TypedDict, total=False):
    """Which events, from where, and how they are delivered."""

    names: Annotated[
        Texts, Parameter("Only these events; * is a wildcard: revision.*.", (), cli="--name")
    ]
    project: Annotated[str | None, Parameter("Only this project.", None, short="-p")]
    kind: Annotated[str, Parameter("Only elements of this kind.", "")]
    kref: Annotated[str, Parameter("Only addresses that begin so.", "")]
    label: Annotated[str, Parameter("Only nodes with this label.", "")]
    after: Annotated[
        int | str | None, Parameter("Begin after this event, given by its id or number.", None)
    ]
    since: Annotated[Time | None, Parameter("Begin at this time.", None)]
    limit: Annotated[int | None, Parameter("The number of events at most.", None, short="-n")]
    cursor: Annotated[str, Parameter(_CURSOR, "", absent={"cypher": _NO_CURSOR})]
    follow: Annotated[
        bool,
        Parameter("Wait for more at the end of the log.", False, absent={"cypher": _NO_CURSOR}),
    ]
    ack: Annotated[
        str,
        Parameter(
            "auto: an event is done when the next is asked for; manual: when `ack` is called.",
            "auto",
            absent={"cli": "a line printed is an event delivered", "cypher": _NO_CURSOR},
        ),
    ]


class IngestOptions(TypedDict, total=False):
    """How a conversation is ingested."""

    project: Annotated[str | None, PROJECT]
    space: Annotated[str, Parameter("The space of the turns.", "conversations")]
    thread: Annotated[str, Parameter("The thread of messages that name none.", "")]
    session: Annotated[str, Parameter("The session of messages that name none.", "")]
    format: Annotated[str | None, Parameter("The file's format; without one, detected.", None)]
    extract: Annotated[bool, Parameter("Extract candidate beliefs by rules.", True)]
    trust: Annotated[
        str,
        Parameter("stated or untrusted; without it, by the origin of the file and the role.", ""),
    ]


class OpenOptions(TypedDict, total=False):
    """How to open a memory. `Config` holds the same as a value."""

    role: Annotated[Role, Parameter("agent, operator or system.", "agent")]
    actor: Annotated[str, Parameter("The name in the log.", "local")]
    project: Annotated[str, Parameter("The project of calls that name none.", "default")]
    embedder: Annotated[Any, Parameter("The embedding model: a spec, an object, or None.", "auto")]
    model_folder: Annotated[Path | None, Parameter("The folder of the built model.", None)]
    clock: Annotated[Clock | None, Parameter("A replacement for the wall clock.", None)]
    background: Annotated[bool, Parameter("Embed and write accesses on threads.", True)]
    read_only: Annotated[bool, Parameter("Refuse every change.", False)]
    csv_folder: Annotated[
        str | Path | None, Parameter("The only folder that LOAD CSV may read.", None)
    ]
    decay_enabled: Annotated[
        bool | None,
        Parameter("True: a new file gets the standard policies; False: none has effect.", None),
    ]
    access_flush_ms: Annotated[
        int, Parameter("How long an access may wait before it is written.", ACCESS_FLUSH_MS)
    ]
    retain_every_s: Annotated[
        int | None, Parameter("How often retention is applied in the background; 0: never.", None)
    ]
    image_bytes_max: Annotated[
        int | None, Parameter("The most that arrays for wide queries occupy; 0: none.", None)
    ]
    model: Annotated[Any, Parameter("The language model: a spec, an object, or None.", "auto")]
    reranker: Annotated[Any, Parameter("The reranker: a spec, an object, or None.", "auto")]
    model_urls: Annotated[
        Mapping[str, str] | None, Parameter("URLs of endpoints by role or provider.", None)
    ]
    model_prices: Annotated[
        Mapping[str, Sequence[float]] | None,
        Parameter("Prices of a million tokens by model.", None),
    ]
    model_calls_max: Annotated[int | None, Parameter("The cap on calls to endpoints.", None)]
    model_tokens_max: Annotated[int | None, Parameter("The cap on tokens.", None)]
    working: Annotated[
        str | None, Parameter("The Redis URL of working memory; without one, a SQLite file.", None)
    ]
    working_ttl_s: Annotated[
        int, Parameter("How long a session lives after its last use.", WORKING_TTL_S)
    ]
    tenant: Annotated[str, Parameter("The tenant, if a shared log is opened.", "")]
    replica: Annotated[
        str | Path | None, Parameter("The folder of the replicas of shared logs.", None)
    ]
    read_level: Annotated[
        str, Parameter("What reads of a replica ask for: local, session or latest.", "session")
    ]


def options_of(shape: Any, /, **changes: Parameter) -> tuple[Parameter, ...]:
    """Return the parameters that a type of options declares, in its order."""
    found = []
    for name, annotated in shape.__annotations__.items():
        assert get_origin(annotated) is Annotated, name
        kind = annotated.__origin__
        parameter = changes.get(name, annotated.__metadata__[0])
        found.append(named(name, parameter, _KINDS.get(kind, "object")))
    return tuple(found)
