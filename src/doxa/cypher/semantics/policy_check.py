"""Check the expressions of a policy. A policy evaluates one element without a query around it, so
it can use that element and the time.

    WHEN n.uses >= 3
    the element, literals and the clock

    SET n.uses = coalesce(n.uses, 0) + 1, n.by = $_session
    also the parameters of the query that accessed the element
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from doxa.cypher import tree as t
from doxa.cypher.errors import Problem, fail
from doxa.cypher.semantics.infer import Checks, condition, infer, is_aggregate
from doxa.cypher.semantics.signatures import TEMPORAL

_BEYOND = "A policy sees one element only."
_OTHERS = "Keep what is needed as a property of the element, for example by ON ACCESS."
_CHANCE = "A policy gives the same answer each time it is evaluated."
_SCORED = "A score cannot depend on scores, nor on what they hide."
_FROM_FILE = "LOAD CSV is not available in a policy."
_REFUSED: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("startnode", "endnode", "nodes", "relationships", "rels"), (_BEYOND, _OTHERS)),
    **dict.fromkeys(
        ("rand", "randomuuid"),
        (_CHANCE, "Leave chance out, or set it as a property of the element."),
    ),
    **dict.fromkeys(
        ("reveal", "decayscore", "decay", "policy"),
        (_SCORED, "Use the properties of the element: in WHEN and SET all are seen."),
    ),
    **dict.fromkeys(
        ("file", "linenumber"), (_FROM_FILE, "Keep the value as a property of the element.")
    ),
}
_NO_MEASURE = frozenset(
    {"string", "boolean", "map", "node", "edge", "path", "point", "list", *TEMPORAL}
)


def check_policy(command: t.Clause, check: Checks) -> None:
    """Check the expressions of a policy command; other commands have none. Raises Problem."""
    match command:
        case t.PolicyCommands(commands):
            for one in commands:
                check_policy(one, check)
        case (
            t.CreateDecayBundle(_, options)
            | t.CreatePromotionProfile(_, options)
            | t.AlterPolicy(_, _, options)
        ):
            _constants(options, check)
        case t.CreatePromotionPolicy(_, target, accesses, rules):
            scope = {target.variable: "edge" if target.edge else "node"} if target.variable else {}
            for access in accesses:
                _constants(access.kalman or (), check)
                _access(access, scope, check)
            for rule in rules:
                _when(rule.when, scope, check)


def _constants(options: Iterable[t.PolicyOption], check: Checks) -> None:
    for option in options:
        _alone(option.value)
        try:
            infer(option.value, {}, check)
        except Problem as problem:
            raise _hinted(
                problem,
                "An option is a literal, a parameter or a calculation with these; texts stand in"
                " quotes.",
            ) from None


def _access(access: t.AccessSet, scope: Mapping[str, str], check: Checks) -> None:
    _alone(access.value)
    try:
        kind = infer(access.value, scope, check)
    except Problem as problem:
        raise _hinted(problem, _only(scope)) from None
    if access.kalman is not None and kind.partition("<")[0] in _NO_MEASURE:
        hint = "Leave out WITH KALMAN for values that are not measurements."
        fail(
            f"WITH KALMAN smooths numbers, not values of type {kind}.",
            access.value.at,
            detail="InvalidArgumentType",
            hint=hint,
        )


def _when(when: t.Expression, scope: Mapping[str, str], check: Checks) -> None:
    _alone(when)
    for part in t.walk(when):
        if isinstance(part, t.ParameterRef):
            hint = "A WHEN is evaluated without a query; store values with ON ACCESS."
            fail(
                f"WHEN cannot use the parameter ${part.name}.",
                part.at,
                detail="InvalidParameterUse",
                hint=hint,
            )
    try:
        condition(when, scope, check)
    except Problem as problem:
        raise _hinted(problem, _only(scope)) from None


def _alone(expression: t.Expression) -> None:
    """Refuse expressions that reach beyond the element, vary between evaluations, or depend on
    scores."""
    for part in t.walk(expression):
        if isinstance(part, (t.Subquery, t.PatternTest, t.PatternComprehension, t.PathValue)):
            fail(_BEYOND, part.at, hint=_OTHERS)
        if is_aggregate(part):
            fail(
                "A policy has no rows to aggregate over.",
                part.at,
                detail="InvalidAggregation",
                hint="Count by ON ACCESS, as in SET n.x = n.x + 1.",
            )
        if isinstance(part, t.Call) and part.name.lower() in _REFUSED:
            message, hint = _REFUSED[part.name.lower()]
            fail(f"{part.name}() cannot stand in a policy. {message}", part.at, hint=hint)


def _only(scope: Mapping[str, str]) -> str:
    return (
        f"A policy knows one variable: {next(iter(scope))}."
        if scope
        else "Name the element in FOR, as in (n:Label) or ()-[r:TYPE]-()."
    )


def _hinted(problem: Problem, hint: str) -> Problem:
    """In a policy, variables are not bound by MATCH."""
    if problem.detail == "UndefinedVariable":
        problem.hint = hint
    return problem
