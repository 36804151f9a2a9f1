"""doxa.policy.simulate: what a change of policies would hide, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doxa.base.temporal import Duration
from doxa.cypher.errors import QueryError, placed
from doxa.cypher.parser import parse
from doxa.policy.rules import Rule, Rules
from doxa.query.core.errors import fail, shown
from doxa.query.expressions.compiler import Compiler, Nested
from doxa.query.functions.decay import scoring_time
from doxa.query.procedures.policy_catalogue import policy_evaluator
from doxa.query.procedures.policy_explain import time_text
from doxa.query.procedures.registry import Rows
from doxa.query.schema.policy_commands import POLICY_COMMANDS, run_policy
from doxa.store import Access, PolicyEvaluator, Subject
from doxa.store.declared import Declared, declared, kinds_changed

_SAMPLES, _PAGE = 10, 5_000
_DAY_S = 86_400


class _Draft:
    """A catalogue in memory that accepts commands like a transaction and writes nothing."""

    def __init__(self, held: dict[str, Any]) -> None:
        self.held = held

    def catalogue(self, name: str) -> Any:
        return self.held.get(name)

    def catalogue_all(self, prefix: str = "") -> dict[str, Any]:
        return {name: value for name, value in sorted(self.held.items()) if name.startswith(prefix)}

    def set_catalogue(self, name: str, value: object) -> None:
        if value is None:
            self.held.pop(name, None)
        else:
            self.held[name] = value

    def declared(self) -> Declared:
        return declared(self.held)


def simulate(run: Any, ddl: str, horizon: Any = None) -> Rows:
    """Report, for each kind of element that a change of policies affects, how many it hides now and
    by the horizon, with samples."""
    if not isinstance(ddl, str) or not ddl.strip():
        fail(
            f"The policies to try are text, not {shown(ddl)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    reader, now = run.graph.reader, scoring_time(run)
    until = now + _horizon_ns(horizon)
    before = policy_evaluator(run)
    trial = before.of(_drafted(run, ddl, reader.catalogue_all()))
    for edge, changed in zip((False, True), kinds_changed(before.rules, trial.rules), strict=True):
        if changed:
            yield from _effects(run, trial, before, edge=edge, now=now, until=until)


def _drafted(run: Any, ddl: str, held: dict[str, Any]) -> Rules:
    """The rules after the commands. Raises QueryError with a position in the given text."""
    try:
        statement = parse(ddl)
    except QueryError as error:
        fail(
            f"The policies to try cannot be read: {error.message}",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint=error.next_step,
        )
    if not isinstance(statement.body, POLICY_COMMANDS):
        fail(
            "Only policies can be simulated.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Give CREATE, ALTER or DROP of policies.",
        )
    draft = _Draft(held)
    try:
        run_policy(statement.body, draft, lambda expression: _constant(run, expression))  # type: ignore[arg-type]  # what commands ask of a transaction
    except QueryError as error:
        placed(error, ddl)
        raise
    return draft.declared().evaluator.rules


def _constant(run: Any, expression: Any) -> Any:

    return Compiler(Nested()).compile(expression, {})((), run)


def _horizon_ns(horizon: Any) -> int:
    """Convert a duration, or a number of seconds; null is now."""
    if horizon is None:
        return 0
    if isinstance(horizon, Duration):
        return (
            (horizon.months * 30 + horizon.days) * _DAY_S + horizon.seconds
        ) * 10**9 + horizon.nanos
    if type(horizon) in (int, float) and 0 <= horizon < 10**10:
        return int(horizon * 10**9)
    fail(
        f"A horizon is a duration or a number of seconds, not {shown(horizon)}.",
        kind="ArgumentError",
        detail="InvalidArgumentValue",
        hint="Write duration('P30D').",
    )


def _same(one: Rule | None, other: Rule | None) -> bool:
    return one is other or (
        one is not None
        and other is not None
        and (one.binding, one.policy) == (other.binding, other.policy)
    )


class _Effect:
    """The effect of a change on the elements of one kind."""

    def __init__(self) -> None:
        self.count = self.hidden = self.later = self.shown = 0
        self.first: int | None = None
        self.samples: list[tuple[int, str]] = []


def _effects(
    run: Any, trial: PolicyEvaluator, before: PolicyEvaluator, *, edge: bool, now: int, until: int
) -> Iterator[tuple[Any, ...]]:
    found: dict[tuple[str, ...], _Effect] = {}
    at = 0
    while True:
        page = run.graph.reader.subjects(at, _PAGE, edge=edge)
        for subject, access in page:
            run.tick()
            rule = trial.rule(subject)
            if access.suppressed or _same(
                rule, before.rule(subject)
            ):  # elements hidden by hand stay hidden
                continue
            effect = found.setdefault(subject.names, _Effect())
            effect.count += 1
            _add(
                effect,
                subject,
                _hidden_at(trial, subject, access, rule, now=now, until=until),
                before.seen(subject, access, now),
                now,
            )
        if len(page) < _PAGE:
            break
        at = page[-1][0].id
    for names, effect in sorted(found.items()):
        samples = [
            {"id": identity, "hiddenAt": time_text(hidden)}
            for hidden, identity in sorted(effect.samples)[:_SAMPLES]
        ]
        yield (
            "EDGE" if edge else "NODE",
            list(names),
            effect.count,
            effect.hidden,
            effect.later,
            effect.shown,
            time_text(effect.first),
            samples,
        )


def _hidden_at(
    evaluator: PolicyEvaluator,
    subject: Subject,
    access: Access,
    rule: Rule | None,
    *,
    now: int,
    until: int,
) -> int | None:
    """The time, up to the horizon, from which the element would be hidden, or None."""
    if rule is None:
        return None
    standing = evaluator.standing(subject, access, now, rule=rule)
    if not standing.visible(now):
        return now
    if standing.dynamic:
        return (
            None if evaluator.standing(subject, access, until, rule=rule).visible(until) else until
        )
    return standing.window.end if standing.window.end <= until else None


def _add(
    effect: _Effect, subject: Subject, hidden: int | None, seen_before: bool, now: int
) -> None:
    if hidden is None:
        effect.shown += not seen_before
        return
    effect.hidden += hidden <= now
    effect.later += 1
    effect.first = hidden if effect.first is None else min(effect.first, hidden)
    effect.samples.append((hidden, f"{'r' if subject.edge else 'n'}:{subject.id}"))
    if len(effect.samples) > _PAGE:
        effect.samples = sorted(effect.samples)[:_SAMPLES]
