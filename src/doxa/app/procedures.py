"""The verbs as Cypher procedures, in the name of the calling session and in the open transaction.

    CALL doxa.recall('when do we deploy?', {limit: 5}) YIELD kref, text, score, node
    CALL doxa.revise('kref://shop/deploys', 'We deploy on Fridays') YIELD kref, action, change

Signatures come from the verb table; a last argument `options` is a map of the verb's other
parameters. Rows of changes carry the change's number; `receipt` is null until the transaction
commits, after which `doxa.log` lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from doxa.app.checks import ALL_PROJECTS
from doxa.app.session import History, Session, without_access_notes
from doxa.app.verbs import ALL, DRY_RUN_PROCEDURE, VERBS, Kind, Parameter, Verb
from doxa.base.clock import format_time
from doxa.base.errors import InputError
from doxa.base.temporal import Date, DateTime, LocalDateTime
from doxa.belief import Change, Explanation, Walk
from doxa.cypher.semantics.signatures import ProcedureSignature
from doxa.query.core.elements import Edge, Node
from doxa.query.core.valid_time import instant_ns
from doxa.query.procedures.registry import RegisteredProcedure, Registry
from doxa.store import Transaction

Rows = Iterable[tuple[Any, ...]]
_MOMENTS = (Date, DateTime, LocalDateTime)
_TYPES: dict[Kind, str] = {
    "integer": "INTEGER",
    "change": "INTEGER",
    "mapping": "MAP",
    "belief": "ANY",
    "source": "LIST",
}
_REHEARSED = frozenset(  # those that need one argument at most
    verb.name
    for verb in ALL
    if any(one.name == "dry_run" for one in verb.parameters)
    and sum(one.required for one in verb.parameters) <= 1
)


def register(registry: Registry) -> None:
    """Add every verb that the table offers to Cypher. A run carries the session it belongs to."""
    for verb in ALL:
        if verb.cypher is None:
            continue
        call = _recall if verb.name == "recall" else partial(_call, verb)
        registry.add(RegisteredProcedure(signature(verb), _in_session(call, verb.name)))
    entry = DRY_RUN_PROCEDURE
    dry_run = ProcedureSignature(
        f"doxa.{entry.name}", entry.arguments, entry.results, False, entry.optional, entry.summary
    )
    registry.add(RegisteredProcedure(dry_run, _in_session(_dry_run, entry.name)))


def signature(verb: Verb) -> ProcedureSignature:
    """Return the signature of a verb's procedure: its arguments, then a map of its other
    parameters."""
    assert verb.cypher is not None
    arguments = [(one.name, _TYPES.get(one.kind, "STRING")) for one in _arguments(verb)]
    optional = sum(not one.required for one in _arguments(verb))
    if _options(verb):
        arguments.append(("options", "MAP"))
        optional += 1
    return ProcedureSignature(
        f"doxa.{verb.procedure}",
        tuple(arguments),
        verb.cypher.results,
        verb.writes,
        optional,
        verb.summary,
    )


def _arguments(verb: Verb) -> list[Parameter]:
    assert verb.cypher is not None
    return [verb.parameter(name) for name in verb.cypher.arguments]


def _options(verb: Verb) -> list[Parameter]:
    """What is given in the map: no positional parameter, and nothing that Cypher does not take."""
    assert verb.cypher is not None
    placed = verb.cypher.arguments
    return [one for one in verb.of("cypher") if one.name not in placed]


def _in_session(call: Callable[..., Rows], name: str) -> Callable[..., Rows]:
    def run_call(run: Any, *args: Any) -> Rows:
        session = run.session
        if session is None:
            raise InputError(
                "This procedure needs a session of a memory.",
                next_step="Run it through Memory or one of the servers.",
            )
        if name != "recall" and (run.graph.as_of is not None or run.graph.valid is not None):
            raise InputError(
                "This procedure answers from the present.",
                next_step="Leave AS OF out, or match the nodes themselves.",
            )
        with session.memory.store.joined(run.graph.reader):
            rows = list(call(session, run, *args))
        run.graph.epoch += 1
        return rows

    return run_call


def _call(verb: Verb, session: Session, run: Any, *args: Any) -> Rows:
    """One call of a verb that is a method of the session or of its memory."""
    known = _arguments(verb)
    given: dict[str, Any] = {}
    for parameter, value in zip(known, args, strict=False):
        if value is not None or parameter.required:
            given[parameter.name] = _plain(value)
    options = args[len(known)] if len(args) > len(known) else None
    given |= _named(verb, options)
    _check_project(given)
    _check_messages(verb, given)
    _check_files(given)
    owner = session if verb.owner == "Session" else session.memory
    method = getattr(owner, verb.name)
    placed = [one.name for one in verb.parameters if one.positional and one.name in given]
    result = method(*[given.pop(name) for name in placed], **given)
    rows = _impact if verb.name == "impact" else _ROWS[verb.result]
    return rows(result)


def _check_project(given: Mapping[str, Any]) -> None:
    if given.get("project") == "":
        raise InputError(
            "The name of a project cannot be empty.",
            next_step=f"Leave it out for the session's project; {ALL_PROJECTS!r} searches all.",
            field="project",
        )


def _check_messages(verb: Verb, given: Mapping[str, Any]) -> None:
    if verb.name == "ingest" and not isinstance(given["source"], (list, tuple)):
        raise InputError(
            "A query ingests a list of messages, not a file.",
            next_step="Give maps with text, or use `doxa import`.",
            field="source",
        )


def _check_files(given: Mapping[str, Any]) -> None:
    """Refuse artifacts that are named by a path: who runs a query may be on another machine."""
    artifacts = given.get("artifacts") or {}
    if not isinstance(artifacts, Mapping) or not all(
        isinstance(one, Mapping) for one in artifacts.values()
    ):
        raise InputError(
            "A query reads no files.",
            next_step="Give {name: {location: ..., sha256: ..., size_bytes: ...}}.",
            field="artifacts",
        )


def _named(verb: Verb, options: Any) -> dict[str, Any]:
    """The verb's parameters in a map, with Cypher's times as the verbs take them. Raises InputError
    for a name that the verb does not have in Cypher."""
    given = options.properties if isinstance(options, (Node, Edge)) else options or {}
    known = [one.name for one in _options(verb)]
    for name in given:
        if name not in known:
            absent = next((one.absent for one in verb.parameters if one.name == name), {})
            reason = f" here: {absent['cypher']}" if "cypher" in absent else ""
            raise InputError(
                f"{verb.name} has no option {name!r:.40}{reason}.",
                next_step=f"Use {', '.join(known)}." if known else "Leave it out.",
                field=str(name)[:80],
            )
    return {
        name: instant_ns(value) if isinstance(value, _MOMENTS) else value
        for name, value in given.items()
    }


def _recall(session: Session, run: Any, text: str, options: Any = None) -> Rows:
    """Recall sees what is committed: its arrays are shared with other threads, which must not see
    what may still be rolled back."""
    given = _named(VERBS["recall"], options)
    _check_project(given)
    if run.graph.as_of is not None:
        given.setdefault("as_of", format_time(run.graph.as_of))
    if run.graph.valid is not None:
        given.setdefault("valid_at", format_time(run.graph.valid.time))
    ask = partial(without_access_notes(session).recall, text, **given)
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


def _dry_run(session: Session, run: Any, name: str, what: Any, options: Any = None) -> Rows:
    """On another thread: a dry run takes a transaction of its own, which is rolled back."""
    if isinstance(run.graph.reader, Transaction):
        raise InputError(
            "A dry run cannot be a part of a transaction that writes.",
            next_step="Run it by itself.",
            field="verb",
        )
    if name not in _REHEARSED:
        raise InputError(
            f"{str(name)[:40]!r} has no dry run.",
            next_step=f"Use {', '.join(sorted(_REHEARSED))}.",
            field="verb",
        )
    given = _plain(options) or {}
    if not isinstance(given, Mapping) or (name == "undo" and type(what) is not int):
        raise InputError(
            "A dry run takes a verb, its first argument, and a map of options.",
            next_step="Give them so.",
            field="options",
        )
    given = dict(given)
    text = (given.pop("text", ""),) if name == "revise" else ()
    call: Callable[..., Any] = getattr(session, name)
    ask = partial(call, _plain(what), *text, **_named(VERBS[name], given), dry_run=True)
    with ThreadPoolExecutor(max_workers=1) as other:
        return list(_change(other.submit(ask).result()))


def _plain(value: Any) -> Any:
    """A map in place of a node, nanoseconds in place of a time; everything else as it is."""
    if isinstance(value, (Node, Edge)):
        return value.properties
    return instant_ns(value) if isinstance(value, _MOMENTS) else value


# Results as rows, in the columns of verbs/columns.py


def _change(change: Change) -> Rows:
    losses = [{"kref": loss.kref, "says": loss.says, "why": loss.why} for loss in change.losses]
    yield (
        change.action,
        change.kref,
        change.previous,
        change.reason,
        losses,
        change.conflict,
        [{"kref": one.kref, "cause": one.cause} for one in change.unsupported],
        [{"kref": one.kref, "cause": one.cause} for one in change.supported],
        change.change,
        change.receipt or None,
    )


def _remembered(made: Any) -> Rows:
    reason = " ".join(filter(None, (made.change.reason, *made.warned("doxa.revise"))))
    return _change(replace(made.change, action=made.action, kref=made.kref, reason=reason))


def _walk(walk: Walk, *more: str) -> Rows:
    """A row for each step: the columns of all walks, and `more` of this one. A walk that was cut
    before its first step is one row, which says why."""
    columns = ("kref", "depth", "edge", "via", *more)
    for step in walk.steps:
        yield *(getattr(step, name) for name in columns), walk.cut
    if walk.cut and not walk.steps:
        yield *(None for _ in columns), walk.cut


def _impact(walk: Walk) -> Rows:
    return _walk(walk, "falls")


def _match(found: Any) -> Rows:
    for one in found.proposals:
        yield one.kref, one.score, one.relation, list(one.fact), list(one.reasons), found.verdict
    if not found.proposals:
        yield None, 0.0, None, [], [], found.verdict


def _conflicts(found: Any) -> Rows:
    for conflict in found:
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


def _explanation(found: Explanation) -> Rows:
    yield "belief", found.revision.kref, found.revision.summary, found.revision.status
    parts = (
        ("ground", found.grounds),
        ("replaced", found.replaced),
        ("retracted for", found.gave_way_to),
        ("dependent", found.dependents),
        ("contradicts", found.contradicts),
    )
    for name, rows in parts:
        for row in rows:
            yield name, row.kref, row.says, row.how
    for conflict in found.conflicts:
        yield "conflict", conflict.kref, conflict.challenger.summary, "open"


def _history(found: History) -> Rows:
    for revision in found.revisions:
        yield (
            revision.kref,
            revision.number,
            revision.summary,
            revision.status,
            format_time(revision.time),
        )


def _forgotten(found: Any) -> Rows:
    yield (
        found.done,
        found.mode,
        found.count,
        list(found.krefs),
        found.token,
        list(found.changes),
        found.note,
    )


def _ingested(found: Any) -> Rows:
    yield (
        found.added,
        found.known,
        found.candidates,
        found.redacted,
        list(found.threads),
        list(found.changes),
        found.untrusted,
    )


def _receipts(found: Any) -> Rows:
    for one in found:
        yield one.tx, format_time(one.time), one.actor, one.role, one.op, one.hash.hex()


def _listing(found: Any) -> Rows:
    for one in found.entries:
        yield one.kref, one.type, one.text, one.status


def _chat(found: Any) -> Rows:
    for one in found.messages:
        time = format_time(one.time)
        metadata = dict(one.metadata)
        yield found.session, one.id, one.role, one.text, time, one.consolidated, metadata


def _chats(found: Any) -> Rows:
    for one in found:
        yield (
            *(one.session, one.context, one.user, one.messages, one.pending, one.dropped),
            *(format_time(one.since), format_time(one.until)),
        )


def _events(found: Any) -> Rows:
    for one in found:
        yield (
            *(one.id, one.seq, one.change, one.name, format_time(one.time)),
            *(one.actor, one.role, one.op, one.kref, one.project),
            *(list(one.labels), one.previous, one.as_dict()),
        )


def _stored_unit(found: Any) -> Rows:
    change = found.change
    yield (
        *(found.action, found.kref, found.stored),
        *map(list, (found.artifacts, found.edges, found.bundles, found.tags)),
        [
            {"kref": one.kref, "text": one.text, "relation": one.relation, "score": one.score}
            for one in found.known
        ],
        list(found.warnings),
        [{"kref": loss.kref, "says": loss.says, "why": loss.why} for loss in change.losses],
        *(change.conflict, change.change, change.receipt or None),
    )


def _executions(found: Any) -> Rows:
    for one in found:
        yield (
            *(one.kref, one.task, one.outcome, list(one.steps), list(one.tools)),
            *(one.exit_code, one.duration_ms, one.cost, format_time(one.time), one.likeness),
        )


def _response(found: Any) -> Rows:
    yield (
        *(found.kref, found.thread, found.stored, list(found.sources)),
        *(found.change.change, found.change.receipt or None),
    )


def _edges(found: Any) -> Rows:
    for one in found.edges:
        yield (
            *(one.source, one.target, one.type, one.score, one.why, one.by),
            *(found.applied, found.change.change),
        )


def _entities(found: Any) -> Rows:
    for one in found:
        yield (
            *(one.kref, one.name, one.kind, one.trust, list(one.aliases), one.mentions),
            *(None if time is None else format_time(time) for time in (one.first, one.last)),
        )


def _entity_page(found: Any) -> Rows:
    yield "entity", found.kref, found.name, found.kind
    for alias in found.aliases:
        yield "alias", alias.kref or None, alias.name, alias.why
    for mention in found.mentions:
        yield "mention", mention.kref, mention.name, mention.why
    for other in found.related:
        yield "related", other.kref, other.name, str(other.count)
    for fact in found.facts:
        yield "fact", fact.kref, fact.subject, f"{fact.subject} {fact.predicate} {fact.value}"


def _pending(found: Any) -> Rows:
    for one in found:
        candidates = [
            {"kref": entity.kref, "name": entity.name, "score": entity.score, "why": entity.why}
            for entity in one.candidates
        ]
        yield (
            *(one.kref, one.name, one.kind, one.state, one.reason, list(one.sources)),
            *(candidates, one.answer),
        )


def _patterns(found: Any) -> Rows:
    for one in found:
        yield one.path, one.reached, one.used, one.yield_score, one.coverage, one.overlap


def _waiting(found: Any) -> Rows:
    for one in found:
        due = format_time(one.due)
        yield one.thread, one.session, one.part, one.producer, one.attempts, due, one.error


def _tasks(found: Any) -> Rows:
    for one in found:
        yield one.kref, one.kind, one.text, one.who, one.due, one.state, list(one.sources)


def _audit(found: Any) -> Rows:
    for one in found.shares:
        findings = [
            {"kref": belief.kref, "text": belief.text, "reason": belief.reason}
            for belief in one.findings
        ]
        yield one.kind, one.count, one.of, one.share, found.examined, findings


def _records(found: Any) -> Rows:
    for one in found:
        data, time = dict(one.data), format_time(one.made)
        yield (
            *(one.kref, one.type, one.agent, one.state, one.text),
            *(data, dict(one.notes), one.content_hash, time, one.said),
        )


def _crystallise_plan(found: Any) -> Rows:
    gates = [{"gate": one.gate, "open": one.open, "reason": one.reason} for one in found.gates]
    yield found.candidate, found.text, found.file, found.content_hash, found.ready, gates


def _agent_identity(found: Any) -> Rows:
    for one in found.lines:
        yield one.file, one.text, one.candidate, one.item, one.approved_by, found.digest


def _as_map(found: Any) -> Rows:
    yield (msgspec.json.decode(msgspec.json.encode(found)),)


def _as_maps(found: list[Any]) -> Rows:
    return [row for one in found for row in _as_map(one)]


_ROWS: dict[str, Callable[[Any], Rows]] = {
    "list[LeaseInfo]": _as_maps,
    "list[dict[str, object]]": _as_maps,
    "list[Scaffold]": _as_maps,
    "Standing": _as_map,
    "Eligibility": lambda one: [(one.kref, one.consumer, one.allowed, list(one.reasons))],
    "MemoryAudit": _audit,
    "Chat": _chat,
    "list[ChatSummary]": _chats,
    "EventStream": _events,
    "StoredUnit": _stored_unit,
    "list[Execution]": _executions,
    "StoredResponse": _response,
    "DiscoveredEdges": _edges,
    "Survey": lambda found: [(msgspec.json.decode(msgspec.json.encode(found)),)],
    "list[EntityInfo]": _entities,
    "EntityPage": _entity_page,
    "Resolution": lambda one: [(one.decision, one.kref, one.score, one.why)],
    "Recorded": lambda one: [
        (one.sources, one.mentions, one.entities, one.pending, list(one.changes))
    ],
    "list[PendingMention]": _pending,
    "list[PathYield]": _patterns,
    "list[Pending]": _waiting,
    "list[Task]": _tasks,
    "list[SessionInfo]": lambda found: [
        (one.thread, one.session, one.title, list(one.modes), one.state, one.turns) for one in found
    ],
    "list[ExchangePair]": lambda found: [
        (one.id, one.thread, one.session, [turn.kref for turn in one.turns], one.content_hash)
        for one in found
    ],
    "list[TopicInfo]": lambda found: [(one.topic, one.mentions, one.parent) for one in found],
    "list[KnowledgeEntry]": lambda found: [
        (one.kref, one.state, one.path, list(one.section), one.text, one.superseded_by)
        for one in found
    ],
    "list[Record]": _records,
    "CrystallisePlan": _crystallise_plan,
    "AgentIdentity": _agent_identity,
    "Change": _change,
    "Remembered": _remembered,
    "Walk": _walk,
    "MatchResult": _match,
    "list[Conflict]": _conflicts,
    "Explanation": _explanation,
    "History": _history,
    "Listing": _listing,
    "Forgotten": _forgotten,
    "Ingested": _ingested,
    "list[Receipt]": _receipts,
    "list[RunInfo]": lambda found: [
        (one.kref, one.job, one.state, one.touched, one.changed, one.model, one.report)
        for one in found
    ],
    "list[JobProposal]": lambda found: [
        (one.kref, one.run, one.kind, one.state, one.reason, list(one.about), one.said)
        for one in found
    ],
    "Applied": lambda one: [(one.proposal, one.state, one.change, one.said)],
    "Undone": lambda one: [(one.run, list(one.changes), one.change)],
    "dict[str, object]": lambda found: [(found,)],
}
