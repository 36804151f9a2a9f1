"""The verbs that ask and look: they change nothing."""

from __future__ import annotations

from doxa.app.verbs import columns as rows
from doxa.app.verbs import reasons as why
from doxa.app.verbs.model import Command, Parameter, Procedure, Verb, argument, parameters
from doxa.app.verbs.options import SCOPE, RecallOptions, options_of

KREF = argument("An address: kref://project/space/name.kind[?r=N].", "kref")
REVEAL = Parameter(
    "Include what a persistence policy hides.",
    False,
    kind="flag",
    absent={"cypher": "reveal() in a query does it", "mcp": why.FEW},
)
TYPES = Parameter("Only these edge types.", (), kind="texts", cli="--edge")
DEPTH = Parameter("The number of edges at most, from 1 to 20.", 10, kind="integer")
FRAMED = Parameter(
    "Print one text for a reader, anchored and quoted.", False, kind="flag", name="framed"
)
WORDS_ONLY = Parameter("Search without meaning.", False, kind="flag", name="words_only")
_MISSING = ("KrefError", "NotFoundError")

ASK = (
    Verb(
        "recall",
        "ask",
        "Find the best answers among what memory believes and what was said.",
        "The session's own project may be empty: then there are no hits. A project that is named"
        " must exist. Retired beliefs are left out unless `history` or `as_of` asks for them."
        " Recall never waits for embeddings; `warnings` says what is missing.",
        (argument("The question, in words.", name="text"), *options_of(RecallOptions)),
        "Recall",
        errors=("InputError", "LimitError", "NotFoundError"),
        options="RecallOptions",
        cli=Command(extra=(WORDS_ONLY, FRAMED)),
        cypher=Procedure(("text",), rows.HIT),
    ),
    Verb(
        "get",
        "ask",
        "Return what an address means now, or at its pin.",
        "A bundle comes with its members, a project, space or thread with the first page of what is"
        " in it. What a persistence policy hides is not found unless `reveal` is set.",
        parameters(kref=KREF, reveal=REVEAL),
        "Revision | Exchange | Place | Bundle | Conflict",
        errors=_MISSING,
        cli=Command(),
        absent={"cypher": why.QUERY},
    ),
    Verb(
        "contents",
        "ask",
        "List what is directly in a project, space or thread; without an address, the projects.",
        "What a persistence policy hides is left out. `next` of a page is the `after` of the"
        " following one.",
        parameters(
            kref=argument("The address of a project, space or thread.", "kref", default=""),
            limit=Parameter("The number of entries at most.", 100, kind="integer", short="-n"),
            after=Parameter("The last address of the page before.", ""),
        ),
        "Listing",
        errors=("InputError", *_MISSING),
        cli=Command(name="list", reason="a shell lists; in Python `list` is a type"),
        cypher=Procedure(("kref",), rows.LISTING),
        absent=why.NO_TOOL,
    ),
    Verb(
        "recent",
        "ask",
        "List what was last said or stated and is still believed, newest first.",
        "What untrusted sources said is left out. The session's own project may be empty: then"
        " the list is empty. A project that is named must exist.",
        parameters(
            project=SCOPE,
            kinds=Parameter("Only these kinds.", (), kind="texts", cli="--kind"),
            trust=Parameter("Only what is at least so trusted, such as verified.", ""),
            limit=Parameter("The number of hits at most.", 10, kind="integer", short="-n"),
        ),
        "list[Hit]",
        errors=("InputError", "LimitError", "NotFoundError"),
        cli=Command(),
        absent={"cypher": why.QUERY},
    ),
    Verb(
        "match",
        "ask",
        "Find which beliefs a plain sentence is about, and what it asks for.",
        "The verdict is revise, conflict, create or same; every proposal has a score from 0 to 1"
        " and its reasons. Writes nothing.",
        parameters(
            text=argument("A plain sentence."),
            project=SCOPE,
            space=Parameter("Only this space and those below it.", ""),
            kinds=Parameter("Only these kinds.", (), kind="texts", cli="--kind"),
            speaker=Parameter("The person that 'I' means.", ""),
            limit=Parameter("The number of proposals at most.", 10, kind="integer", short="-n"),
        ),
        "MatchResult",
        errors=("InputError", "LimitError"),
        cli=Command(),
        cypher=Procedure(("text",), rows.MATCH),
        absent=why.NO_TOOL,
    ),
)

LOOK = (
    Verb(
        "explain",
        "look",
        "Explain one belief: its grounds, what it replaced and why, what depends on it.",
        "`.page()` is the explanation as text.",
        parameters(kref=KREF),
        "Explanation",
        errors=("InputError", *_MISSING),
        cli=Command(
            extra=(Parameter("Write it as SVG to a new file.", None, kind="path", name="svg"),)
        ),
        cypher=Procedure(("kref",), rows.EXPLANATION),
    ),
    Verb(
        "history",
        "look",
        "List every revision of an item, oldest first, and every move of its tags.",
        "Of a bundle, every membership. Revisions that a persistence policy hides are left out"
        " unless `reveal` is set.",
        parameters(kref=KREF, reveal=REVEAL),
        "History",
        errors=("InputError", *_MISSING),
        cli=Command(),
        cypher=Procedure(("kref",), rows.REVISION),
    ),
    Verb(
        "as_of",
        "look",
        "Return what a tag of an item pointed to at a time.",
        "A bundle comes with its members of that time.",
        parameters(
            kref=KREF,
            time=argument('A time: ISO 8601, or such as "last week".', "time"),
            tag=Parameter("The tag.", "current", absent={"mcp": why.FEW}),
        ),
        "Revision | Exchange | Place | Bundle | Conflict",
        errors=("InputError", *_MISSING),
        cli=Command(),
        absent={"cypher": why.QUERY},
    ),
    Verb(
        "impact",
        "look",
        "Find what depends on a belief, and what would lose its support without it.",
        "A step `falls` if it would lose its support. Without a depth, everything is searched.",
        parameters(
            kref=KREF,
            depth=Parameter(
                "The number of edges at most, from 1 to 20; without one, all.", None, kind="integer"
            ),
        ),
        "Walk",
        errors=("LimitError", *_MISSING),
        cli=Command(),
        cypher=Procedure(("kref", "depth"), rows.IMPACT),
        absent=why.NO_TOOL,
    ),
    Verb(
        "provenance",
        "look",
        "Find what a belief depends on, down to the conversation it came from.",
        "",
        parameters(kref=KREF, depth=DEPTH),
        "Walk",
        errors=("LimitError", *_MISSING),
        cli=Command(),
        cypher=Procedure(("kref", "depth"), rows.WALK_CUT),
        absent=why.NO_TOOL,
    ),
    Verb(
        "traverse",
        "look",
        "Follow typed edges from an element, nearest first.",
        "",
        parameters(
            kref=KREF,
            direction=Parameter("out, in or both.", "out", choices=("out", "in", "both")),
            depth=DEPTH,
            types=TYPES,
        ),
        "Walk",
        errors=("InputError", "LimitError", *_MISSING),
        cli=Command(),
        cypher=Procedure(("kref",), rows.WALK_CUT),
        absent=why.NO_TOOL,
    ),
    Verb(
        "shortest_path",
        "look",
        "Find the fewest typed edges between two elements, in either direction.",
        "Without such a path there are no steps, and `cut` says so.",
        parameters(
            start=argument("The first address.", "kref"),
            end=argument("The second address.", "kref"),
            depth=DEPTH,
            types=TYPES,
        ),
        "Walk",
        errors=("InputError", "LimitError", *_MISSING),
        cli=Command(old=("path",)),
        cypher=Procedure(("start", "end"), rows.WALK_CUT),
        absent=why.NO_TOOL,
    ),
    Verb(
        "conflicts",
        "look",
        "List statements that contradict what is trusted more and wait for a decision.",
        "Newest first.",
        parameters(
            project=SCOPE,
            decided=Parameter("Include decided ones.", False, kind="flag"),
            limit=Parameter("The number of conflicts at most.", 50, kind="integer", short="-n"),
        ),
        "list[Conflict]",
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure((), rows.CONFLICT),
        absent=why.NO_TOOL,
    ),
    Verb(
        "audit",
        "look",
        "Count what is wrong with what is believed: junk, duplicate, stale, echo, uncovered.",
        "Junk is not a complete statement; a duplicate says what an older belief says; what is"
        " stale was superseded by what was said later, lost its support, is contested or its time"
        " ended; an echo was concluded from memory's own output; what is uncovered was concluded,"
        " and its sources do not support it. Each kind has its count, its share, and the first of"
        " them with reasons. Writes nothing.",
        parameters(
            project=SCOPE,
            sample=Parameter(
                "Examine only so many beliefs, drawn at random; each is compared with all.",
                None,
                kind="integer",
            ),
            seed=Parameter("The seed of the sample.", 0, kind="integer"),
            limit=Parameter(
                "The number of beliefs listed of each kind.", 5, kind="integer", short="-n"
            ),
        ),
        "MemoryAudit",
        errors=("InputError", "LimitError"),
        cli=Command(),
        cypher=Procedure((), rows.AUDIT),
        absent=why.NO_TOOL,
    ),
    Verb(
        "rules",
        "look",
        "Return the constraints and the order of entrenchment of a project.",
        "`constrain` takes the same form.",
        parameters(
            project=Parameter(
                "The project; without one, the session's.",
                None,
                positional=True,
                changed={"cli": "as an option, like the project of every command"},
            )
        ),
        "dict[str, object]",
        errors=("InputError",),
        cli=Command(),
        cypher=Procedure(("project",), rows.RULES),
        absent=why.NO_TOOL,
    ),
)

_STATEMENT = parameters(
    text=argument("One statement of Cypher."),
    params=argument("Its parameters by name.", "mapping", default=None),
    timeout_ms=Parameter("How long it may take.", None, kind="integer"),
)
_BY_QUERY: why.Reasons = {
    "cli": why.CYPHER,
    "cypher": "it is a statement itself",
    "mcp": why.OPERATOR,
}
GRAPH = (
    Verb(
        "run",
        "look",
        "Run one Cypher statement in a transaction of its own.",
        "The rows are in memory when it returns. For many rows, or several statements in one"
        " transaction, use `graph()`.",
        _STATEMENT,
        "GraphResult",
        writes=True,
        idempotent=False,
        errors=("QueryError",),
        absent=_BY_QUERY,
    ),
    Verb(
        "read",
        "look",
        "Run one Cypher statement that only reads.",
        "A statement that writes is refused.",
        _STATEMENT,
        "GraphResult",
        errors=("InputError", "QueryError"),
        absent=_BY_QUERY,
    ),
    Verb(
        "write",
        "look",
        "Run one Cypher statement that may write; the same as `run`.",
        "",
        _STATEMENT,
        "GraphResult",
        writes=True,
        idempotent=False,
        errors=("QueryError",),
        absent=_BY_QUERY,
    ),
    Verb(
        "graph",
        "look",
        "Open a Cypher session: results that stream, and transactions of several statements.",
        "One thread at a time may use it. Queries see `context` as $_name; its entries take"
        " precedence over the session's own.",
        parameters(context=argument("Values by name.", "mapping", default=None)),
        "GraphSession",
        errors=("InputError",),
        awaited="its results stream from one transaction, which one thread at a time may use; call"
        " it on a thread",
        absent=_BY_QUERY,
    ),
)
