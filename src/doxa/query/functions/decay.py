"""decayScore, decay, policy and reveal: an element's state under the persistence policies.

The scoring time is that of the transaction, so that a score does not change within a query. A query
as of a system time scores at that time. Without decay, or without a rule for the element, the score
is 1.
"""

from __future__ import annotations

from typing import Any

from doxa.query.core.elements import Edge, Element, Node, Path
from doxa.query.core.errors import fail, shown
from doxa.query.functions.registry import Function
from doxa.store import Access, PolicyStatus, Subject

_MS = 1_000_000
_OPTIONS = ("property",)


def subject_of(run: Any, value: Any, function: str) -> tuple[Subject, Access] | None:
    """Return the element as policies see it, in the version that the query sees; None if it was
    deleted."""
    if not isinstance(value, Element):
        fail(f"{function}() takes a node or a relationship, not {shown(value)}.")
    edge = isinstance(value, Edge)
    if run.graph.as_of is None:
        found: tuple[Subject, Access] | None = run.graph.reader.subject(value.id, edge=edge)
        return found
    return _subject_then(run, value, edge)


def _subject_then(run: Any, value: Any, edge: bool) -> tuple[Subject, Access] | None:
    """The same for the version of a past time. Access metadata has no history: it is current."""
    table, time = ("edge", "node")[not edge], run.graph.as_of
    sql = (
        f"SELECT since, born FROM {table} WHERE id = ?1 AND since <= ?2 UNION ALL SELECT since,"
        f" born FROM {table}_past WHERE id = ?1 AND since <= ?2 AND until > ?2"
    )
    now = run.graph.reader.subject(value.id, edge=edge)
    for since, born in run.graph.rows(sql, (value.id, time)):
        names = (value.type,) if edge else value.labels
        ends = (value.start, value.end) if edge else (0, 0)
        return Subject(
            edge, value.id, names, value.properties, since, born, *ends
        ), Access() if now is None else now[1]
    return None


def scoring_time(run: Any) -> int:
    """Return the scoring time in ns: of the transaction, or the time that is read as of."""
    return int(run.graph.reader.scored_at if run.graph.as_of is None else run.graph.as_of)


def property_of_options(options: Any, function: str) -> str | None:
    """Return name of {property: name}, or None. Raises QueryError for other keys."""
    if options is None:
        return None
    given = (
        dict(options.properties if isinstance(options, Element) else options)
        if isinstance(options, (dict, Element))
        else None
    )
    if (
        given is None
        or set(given) - set(_OPTIONS)
        or not isinstance(given.get("property", ""), str)
    ):
        fail(
            f"{function}() takes {{property: name}}, not {shown(options)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Write {property: 'summary'}, or leave the map out.",
        )
    return given.get("property")


def _standing(
    run: Any, value: Any, options: Any, function: str
) -> tuple[PolicyStatus | None, str, str | None]:
    """Return the policy status, or None with the reason why the score is 1."""
    name = property_of_options(options, function)
    if run.graph.reader.neutral:
        return None, "decay subsystem disabled", name
    found = subject_of(run, value, function)
    if found is None:
        return None, "entity not found", name
    evaluator = run.graph.reader.declared().evaluator
    rule = evaluator.rule(found[0])
    if rule is None or (name is not None and name not in rule.properties):
        immune = rule is not None and name in rule.immune
        return (
            None,
            "no decay: the property is part of an index" if immune else "no decay profile",
            name,
        )
    return evaluator.standing(*found, scoring_time(run), name=name, rule=rule), "", name


def _decay_score(run: Any, value: Any, options: Any = None) -> Any:
    if value is None:
        return None
    standing, _, _ = _standing(run, value, options, "decayScore")
    return 1.0 if standing is None else standing.score


def _decay(run: Any, value: Any, options: Any = None) -> Any:
    if value is None:
        return None
    standing, reason, name = _standing(run, value, options, "decay")
    if standing is None:
        return {"score": 1.0, "applies": False, "reason": reason}
    curve, binding = standing.curve, standing.rule.binding if standing.rule is not None else None
    fades = curve.decay.function != "none"
    return {
        "score": standing.score,
        "baseScore": standing.base,
        "applies": fades,
        "reason": "scored" if fades else "no decay",
        "policy": binding.name if binding is not None else None,
        "profile": curve.bundle,
        "promotion": standing.clause.profile if standing.clause is not None else None,
        "scope": "PROPERTY" if name is not None else "EDGE" if isinstance(value, Edge) else "NODE",
        "function": curve.decay.function,
        "halfLifeSeconds": curve.decay.half_life / 1e9,
        "visibilityThreshold": curve.decay.threshold,
        "floor": curve.decay.floor,
        "scoreFrom": curve.anchor,
        "visible": standing.visible(scoring_time(run)),
    }


def _policy(run: Any, value: Any) -> Any:
    if value is None:
        return None
    found = subject_of(run, value, "policy")
    if found is None:
        return None
    subject, access = found
    rule = run.graph.reader.declared().evaluator.rule(subject)
    states = {
        name: {
            "filteredValue": one.x,
            "filter": {"x": one.x, "p": one.p, "k": one.k, "r": one.r, "c": one.c, "n": one.n},
            "variance": {"v": one.r},
        }
        for name, one in access.kalman.items()
    }
    return {
        **access.values(),
        "accessCount": access.count,
        "traversalCount": access.walks,
        "mutationCount": access.changes,
        "lastMutatedAt": None if access.changed is None else access.changed // _MS,
        "lastAccessedAt": None if access.last is None else access.last // _MS,
        "lastTraversedAt": None if access.walked is None else access.walked // _MS,
        "kalmanFilters": states,
        "suppressed": access.suppressed,
        "lastError": access.error or None,
        "targetId": value.element_id,
        "targetScope": "EDGE" if subject.edge else "NODE",
        "policy": rule.policy.name if rule is not None and rule.policy is not None else None,
    }


def _reveal(run: Any, value: Any) -> Any:
    """Return the element with all its properties. The planner lets patterns find it although it is
    hidden, by the name of the variable."""
    if isinstance(value, Node):
        run.graph.revealed.add((False, value.id))
        return run.graph.node(value.id)
    if isinstance(value, Edge):
        run.graph.revealed.add((True, value.id))
        return Edge(value.id, run.graph, kind=value.type, start=value.start, end=value.end)
    if isinstance(value, Path):
        return Path(
            [_reveal(run, node) for node in value.nodes],
            [_reveal(run, edge) for edge in value.edges],
        )
    if isinstance(value, list):
        return [_reveal(run, item) for item in value]
    if value is None:
        return None
    fail(f"reveal() takes a node, a relationship or a path, not {shown(value)}.")


FUNCTIONS = (
    Function("decayScore", _decay_score, 1, 2, nulls=True, context=True),
    Function("decay", _decay, 1, 2, nulls=True, context=True),
    Function("policy", _policy, 1, 1, nulls=True, context=True),
    Function("reveal", _reveal, 1, 1, nulls=True, context=True),
)
