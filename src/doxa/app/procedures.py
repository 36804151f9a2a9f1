"""The verbs of beliefs as Cypher procedures, in the name of the session that calls them and in the
transaction that is open.

    CALL doxa.recall('when do we deploy?', {limit: 5}) YIELD kref, text, score, node
    CALL doxa.revise('kref://shop/deploys', 'We deploy on Fridays') YIELD kref, action

Options are a map with the names of the Python verbs' arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from doxa.base.clock import format_time
from doxa.base.errors import InputError
from doxa.base.temporal import Date, DateTime, LocalDateTime
from doxa.cypher.semantics.signatures import ProcedureSignature
from doxa.query.core.elements import Edge, Node
from doxa.query.core.valid_time import instant_ns
from doxa.query.procedures.registry import Procedure, Registry
from doxa.store import Transaction

if TYPE_CHECKING:
    from doxa.app.memory import Session
    from doxa.belief import Change, Walk

Rows = Iterable[tuple[Any, ...]]
_REHEARSED = frozenset(("revise", "contract", "deprecate", "restore", "rollback", "undo"))
_MOMENTS = (Date, DateTime, LocalDateTime)
_CHANGED = (
    ("action", "STRING"),
    ("kref", "STRING"),
    ("previous", "STRING"),
    ("reason", "STRING"),
    ("losses", "LIST OF MAP"),
    ("conflict", "STRING"),
    ("unsupported", "LIST OF MAP"),
)


def register(registry: Registry) -> None:
    """Add every doxa.* procedure that is a verb of Session. A run carries the session that it
    belongs to."""
    for name, args, optional, results, writes, description, call in _TABLE:
        declared = ProcedureSignature(f"doxa.{name}", args, results, writes, optional, description)
        registry.add(Procedure(declared, _in_session(call, present_only=name != "recall")))


def _in_session(call: Callable[..., Rows], *, present_only: bool) -> Callable[..., Rows]:
    def run_call(run: Any, *args: Any) -> Rows:
        session = run.session
        if session is None:
            raise InputError(
                "This procedure needs a session of a memory.",
                next_step="Run it through Memory or one of the servers.",
            )
        if present_only and (run.graph.as_of is not None or run.graph.valid is not None):
            raise InputError(
                "This procedure answers from the present.",
                next_step="Leave AS OF out, or match the nodes themselves.",
            )
        with session.memory.store.joined(run.graph.reader):
            rows = list(call(session, run, *args))
        run.graph.epoch += 1
        return rows

    return run_call


def _options(verb: Callable[..., Any], options: Any) -> dict[str, Any]:
    """The named arguments of a verb; Cypher's dates and times as the verbs take them. InputError
    for a name that it does not have."""
    given = options.properties if isinstance(options, (Node, Edge)) else options or {}
    taken = list(signature(verb).parameters.values())
    placed = [
        parameter.name for parameter in taken if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
    ]
    known = [parameter.name for parameter in taken if parameter.kind is Parameter.KEYWORD_ONLY]
    open_ended = any(
        parameter.kind is Parameter.VAR_KEYWORD for parameter in taken
    )  # such a verb looks at the names itself
    for name in given:
        if name in placed or (name not in known and not open_ended):
            raise InputError(
                f"{verb.__name__} has no option {name!r:.40}.",
                next_step=f"Use {', '.join(known)}.",
                field=str(name)[:80],
            )
    return {
        name: instant_ns(value) if isinstance(value, _MOMENTS) else value
        for name, value in given.items()
    }


def _recall(session: Session, run: Any, question: str, options: Any = None) -> Rows:
    """Recall sees what is committed: its arrays are shared with other threads, which must not see
    what may yet be rolled back."""
    given = _options(session.recall, options)
    if run.graph.as_of is not None:
        given.setdefault("as_of", format_time(run.graph.as_of))
    if run.graph.valid is not None:
        given.setdefault("valid_at", format_time(run.graph.valid.time))
    ask = partial(session._without_notes().recall, question, **given)
    if isinstance(run.graph.reader, Transaction):
        with ThreadPoolExecutor(max_workers=1) as other:
            found = other.submit(ask).result()
    else:
        found = ask()
    for hit in found.hits:
        row = run.graph.reader.node_by_kref(hit.kref)
        if row is not None and run.accesses is not None and "as_of" not in given:
            run.accesses.returned(row.id)
        yield (
            hit.kref,
            hit.text,
            hit.score,
            hit.status,
            hit.trust,
            hit.why,
            None if row is None else run.graph.node(row.id),
        )


def _remember(session: Session, run: Any, text: str, options: Any = None) -> Rows:
    made = session.remember(text, **_options(session.remember, options))
    yield from _changed(replace(made.change, action=made.action, kref=made.kref))  # type: ignore[arg-type]


def _changed(change: Change) -> Rows:
    losses = [{"kref": loss.kref, "says": loss.says, "why": loss.why} for loss in change.losses]
    unsupported = [{"kref": fallen.kref, "cause": fallen.cause} for fallen in change.unsupported]
    yield (
        change.action,
        change.kref,
        change.previous,
        change.reason,
        losses,
        change.conflict,
        unsupported,
    )


def _revise(session: Session, run: Any, what: Any, text: str = "", options: Any = None) -> Rows:
    return _changed(session.revise(_plain(what), text, **_options(session.revise, options)))


def _dry_run(session: Session, run: Any, verb: str, what: Any, options: Any = None) -> Rows:
    """On another thread: a rehearsal takes a transaction of its own, which is rolled back."""
    if isinstance(run.graph.reader, Transaction):
        raise InputError(
            "A dry run cannot be a part of a transaction that writes.",
            next_step="Run it by itself.",
            field="verb",
        )
    if verb not in _REHEARSED:
        raise InputError(
            f"{str(verb)[:40]!r} cannot be rehearsed.",
            next_step=f"Use {', '.join(sorted(_REHEARSED))}.",
            field="verb",
        )
    call: Callable[..., Any] = getattr(session, verb)
    given = _plain(options) or {}
    if not isinstance(given, Mapping) or (verb == "undo" and type(what) is not int):
        raise InputError(
            "A dry run takes a verb, what it is about, and a map of options.",
            next_step="Give them so.",
            field="options",
        )
    given = dict(given)
    text = (given.pop("text", ""),) if verb == "revise" else ()
    with ThreadPoolExecutor(max_workers=1) as other:
        return list(
            _changed(
                other.submit(
                    partial(call, _plain(what), *text, **{**_options(call, given), "dry_run": True})
                ).result()
            )
        )


def _plain(value: Any) -> Any:
    """A sentence as the verbs take it; a whole number (of a change) and text as they are."""
    return value.properties if isinstance(value, (Node, Edge)) else value


def _match(session: Session, run: Any, text: str, options: Any = None) -> Rows:
    found = session.match(text, **_options(session.match, options))
    for one in found.proposals:
        yield one.kref, one.score, one.relation, list(one.fact), list(one.reasons), found.verdict
    if not found.proposals:
        yield None, 0.0, "beside", [], [], found.verdict


def _conflicts(session: Session, run: Any, options: Any = None) -> Rows:
    for conflict in session.conflicts(**_options(session.conflicts, options)):
        held = [
            {"kref": one.kref, "text": one.summary, "trust": one.trust} for one in conflict.held
        ]
        yield (
            conflict.kref,
            conflict.challenger.kref,
            conflict.challenger.summary,
            conflict.challenger.trust,
            held,
            conflict.decision,
        )


def _explain(session: Session, run: Any, kref: str) -> Rows:
    found = session.explain(kref)
    yield "belief", found.revision.kref, found.revision.summary, found.revision.status
    parts = (
        ("ground", found.grounds),
        ("replaced", found.replaced),
        ("gave way to", found.gave_way_to),
        ("dependent", found.dependents),
        ("contradicts", found.contradicts),
    )
    for name, rows in parts:
        for row in rows:
            yield name, row.kref, row.says, row.how
    for conflict in found.conflicts:
        yield "conflict", conflict.kref, conflict.challenger.summary, "open"


def _walk(walk: Walk) -> Rows:
    for step in walk.steps:
        yield step.kref, step.depth, step.edge, step.via


def _impact(session: Session, run: Any, kref: str, depth: int | None = None) -> Rows:
    for step in session.impact(kref, depth=depth).steps:
        yield step.kref, step.depth, step.edge, step.via, step.falls


def _history(session: Session, run: Any, kref: str) -> Rows:
    for revision in session.history(kref).revisions:
        yield (
            revision.kref,
            revision.number,
            revision.summary,
            revision.status,
            format_time(revision.time),
        )


_TEXT, _NUMBER, _MAP = "STRING", "INTEGER", "MAP"
_KREF = (("kref", _TEXT),)
_STATED = (("kref", _TEXT), ("text", _TEXT), ("options", _MAP))
_WALKED = (("kref", _TEXT), ("depth", _NUMBER), ("edge", _TEXT), ("via", _TEXT))
_FOUND = (
    ("kref", _TEXT),
    ("text", _TEXT),
    ("score", "FLOAT"),
    ("status", _TEXT),
    ("trust", _TEXT),
    ("why", _TEXT),
    ("node", "NODE"),
)
_ABOUT = (("section", _TEXT), ("kref", _TEXT), ("says", _TEXT), ("how", _TEXT))
_MATCHED = (
    ("kref", _TEXT),
    ("score", "FLOAT"),
    ("relation", _TEXT),
    ("fact", "LIST OF ANY"),
    ("reasons", "LIST OF STRING"),
    ("verdict", _TEXT),
)
_CONFLICTS = (
    ("kref", _TEXT),
    ("challenger", _TEXT),
    ("text", _TEXT),
    ("trust", _TEXT),
    ("held", "LIST OF MAP"),
    ("decision", _TEXT),
)
_VERSIONS = (
    ("kref", _TEXT),
    ("revision", _NUMBER),
    ("text", _TEXT),
    ("status", _TEXT),
    ("time", _TEXT),
)

# name, arguments, how many may be left out, results, writes, description, call
_TABLE: tuple[tuple[str, Any, int, Any, bool, str, Callable[..., Rows]], ...] = (
    (
        "recall",
        (("question", _TEXT), ("options", _MAP)),
        1,
        _FOUND,
        False,
        "Find current beliefs and turns by words and meaning.",
        _recall,
    ),
    (
        "remember",
        (("text", _TEXT), ("options", _MAP)),
        1,
        _CHANGED,
        True,
        "State one belief.",
        _remember,
    ),
    (
        "revise",
        (("what", "ANY"), ("text", _TEXT), ("options", _MAP)),
        2,
        _CHANGED,
        True,
        (
            "Give a belief a new revision, or state a sentence; what cannot be true beside it gives"
            " way."
        ),
        _revise,
    ),
    (
        "supersede",
        _STATED,
        1,
        _CHANGED,
        True,
        "Replace a belief by another.",
        lambda session, run, kref, text, options=None: _changed(
            session.supersede(kref, text, **_options(session.supersede, options))
        ),
    ),
    (
        "contract",
        (("what", "ANY"), ("options", _MAP)),
        1,
        _CHANGED,
        True,
        "Give up a belief without another, by its address or by what it says.",
        lambda session, run, what, options=None: _changed(
            session.contract(_plain(what), **_options(session.contract, options))
        ),
    ),
    (
        "deprecate",
        _KREF,
        0,
        _CHANGED,
        True,
        "Retire an item.",
        lambda session, run, kref: _changed(session.deprecate(kref)),
    ),
    (
        "restore",
        _KREF,
        0,
        _CHANGED,
        True,
        "Bring a retired item back.",
        lambda session, run, kref: _changed(session.restore(kref)),
    ),
    (
        "rollback",
        _KREF,
        0,
        _CHANGED,
        True,
        "Make an earlier revision current.",
        lambda session, run, kref: _changed(session.rollback(kref)),
    ),
    (
        "tag",
        (("kref", _TEXT), ("tag", _TEXT)),
        0,
        _CHANGED,
        True,
        "Move a tag to a revision.",
        lambda session, run, kref, tag: _changed(session.tag(kref, tag)),
    ),
    (
        "untag",
        (("kref", _TEXT), ("tag", _TEXT)),
        0,
        _CHANGED,
        True,
        "Take a tag away.",
        lambda session, run, kref, tag: _changed(session.untag(kref, tag)),
    ),
    (
        "impact",
        (("kref", _TEXT), ("depth", _NUMBER)),
        1,
        (*_WALKED, ("falls", "BOOLEAN")),
        False,
        "What depends on a belief, and what would lose its support without it.",
        _impact,
    ),
    (
        "match",
        (("text", _TEXT), ("options", _MAP)),
        1,
        _MATCHED,
        False,
        "Which beliefs a plain sentence is about, and what it asks for.",
        _match,
    ),
    (
        "tell",
        (("text", _TEXT), ("options", _MAP)),
        1,
        _CHANGED,
        True,
        "Say something in plain words: revise, challenge or remember.",
        lambda session, run, text, options=None: _changed(
            session.tell(text, **_options(session.tell, options))
        ),
    ),
    (
        "explain",
        _KREF,
        0,
        _ABOUT,
        False,
        (
            "Why something is believed: grounds, what it replaced, what rests on it, what"
            " contradicts it."
        ),
        _explain,
    ),
    (
        "conflicts",
        (("options", _MAP),),
        1,
        _CONFLICTS,
        False,
        "Statements that wait for a decision.",
        _conflicts,
    ),
    (
        "resolve",
        (("kref", _TEXT), ("decision", _TEXT), ("options", _MAP)),
        1,
        _CHANGED,
        True,
        "Decide a conflict: accept, reject or both.",
        lambda session, run, kref, decision, options=None: _changed(
            session.resolve(kref, decision, **_options(session.resolve, options))
        ),
    ),
    (
        "constrain",
        (("constraints", _MAP), ("options", _MAP)),
        1,
        _CHANGED,
        True,
        "Declare what cannot be true together.",
        lambda session, run, constraints, options=None: _changed(
            session.constrain(_plain(constraints), **_options(session.constrain, options))
        ),
    ),
    (
        "rules",
        (("project", _TEXT),),
        1,
        (("rules", _MAP),),
        False,
        "What beliefs obey.",
        lambda session, run, project="": [(session.rules(project),)],
    ),
    (
        "dryRun",
        (("verb", _TEXT), ("what", "ANY"), ("options", _MAP)),
        1,
        _CHANGED,
        False,
        "What a verb would do, without doing it.",
        _dry_run,
    ),
    (
        "provenance",
        (("kref", _TEXT), ("depth", _NUMBER)),
        1,
        _WALKED,
        False,
        "What a belief rests on.",
        lambda session, run, kref, depth=10: _walk(session.provenance(kref, depth=depth)),
    ),
    ("history", _KREF, 0, _VERSIONS, False, "The revisions of an item.", _history),
)
