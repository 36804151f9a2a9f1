"""doxa.policy.resolve and explain: which policies apply to an element, and what they do to it."""

from __future__ import annotations

from typing import Any

from doxa.base.clock import format_time
from doxa.policy.decay import TIME_MAX, TIME_MIN
from doxa.query.core.errors import fail
from doxa.query.functions.decay import property_of_options, scoring_time, subject_of
from doxa.query.procedures.policy_catalogue import policy_evaluator
from doxa.query.procedures.registry import Rows
from doxa.store import Access, PolicyStatus, Subject


def resolve_element(
    run: Any, entity: str | None = None, labels: str | None = None, kind: str | None = None
) -> Rows:
    """Return the policies of an element, a set of labels or a type. An element takes precedence
    over a type, a type over labels; without an element, the age is 0."""
    evaluator, now = policy_evaluator(run), scoring_time(run)
    found = _entity(run, entity) if entity else None
    if found is None:
        edge = bool(kind)
        names = (
            (kind,)
            if kind
            else tuple(sorted({name.strip() for name in (labels or "").split(",")} - {""}))
        )
        found = Subject(edge, 0, names, {}, now, now), Access()
    subject, access = found
    identity = "dry-run" if not subject.id else f"{'r' if subject.edge else 'n'}:{subject.id}"
    rule = evaluator.rule(subject)
    standing = evaluator.standing(subject, access, now, rule=rule)
    binding, policy = (rule.binding, rule.policy) if rule is not None else (None, None)
    off = run.graph.reader.neutral or rule is None
    decay = standing.curve.decay
    yield (
        identity,
        "EDGE" if subject.edge else "NODE",
        binding.name if binding else None,
        standing.curve.anchor,
        list(rule.chain) if rule else [],
        [name for name in (binding.name if binding else None, standing.curve.bundle) if name],
        policy.name if policy else None,
        standing.clause.profile if standing.clause else None,
        decay.half_life / 1e9,
        decay.threshold,
        standing.clause.promotion.multiplier if standing.clause else 1.0,
        1.0 if off else standing.base,
        1.0 if off else standing.score,
        decay.function == "none",
        not off and decay.threshold > 0,
        "; ".join(
            [
                _sentence(subject, standing, now, off=run.graph.reader.neutral),
                *(rule.ties if rule else ()),
            ]
        ),
    )


def _entity(run: Any, entity: str) -> tuple[Subject, Access]:
    """Find an element by its element id, n:1 or r:1, or a node by its number."""
    kind, _, number = entity.rpartition(":")
    if kind not in ("n", "r", "") or not number.isdecimal() or len(number) > 18:
        fail(
            f"{entity!r:.40} is not an element id.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Give what elementId() returns.",
        )
    found: tuple[Subject, Access] | None = run.graph.reader.subject(int(number), edge=kind == "r")
    if found is None:
        fail(
            f"There is no element {entity}.",
            kind="EntityNotFound",
            detail="EntityNotFound",
            hint="Look its id up again.",
        )
    return found


# Explaining


def explain_element(run: Any, value: Any, options: Any = None) -> Rows:
    if value is None:
        return

    name = property_of_options(options, "doxa.policy.explain")
    found = subject_of(run, value, "doxa.policy.explain")
    if found is None:
        fail(
            "The element was deleted.",
            kind="EntityNotFound",
            detail="DeletedEntityAccess",
            hint="Match it again.",
        )
    subject, access = found
    evaluator, now = policy_evaluator(run), scoring_time(run)
    rule = evaluator.rule(subject)
    standing = evaluator.standing(subject, access, now, name=name, rule=rule)
    neutral = run.graph.reader.neutral
    visible = neutral or standing.visible(now)
    hidden = (
        sorted(set(subject.props) - set(evaluator.shown(subject, access, now)))
        if not neutral
        else []
    )
    window = (
        (TIME_MIN, TIME_MAX)
        if neutral or standing.dynamic or standing.suppressed
        else standing.window
    )
    yield (
        visible,
        _sentence(subject, standing, now, off=neutral, name=name) + _ends(run, subject, neutral),
        1.0 if neutral else standing.score,
        standing.curve.decay.threshold,
        rule.binding.name if rule and rule.binding else None,
        standing.curve.bundle,
        rule.policy.name if rule and rule.policy else None,
        standing.clause.profile if standing.clause else None,
        standing.curve.anchor,
        time_text(standing.anchor),
        time_text(window[0]),
        time_text(window[1]),
        time_text(_change(window, now)),
        hidden,
        list(rule.chain) if rule else [],
        list(rule.ties) if rule else [],
        standing.suppressed,
        standing.dynamic,
    )


def _ends(run: Any, subject: Subject, neutral: bool) -> str:
    """For a relationship, report a hidden end, which prevents patterns from finding it."""
    hidden = [
        f"n:{end}"
        for end in (subject.src, subject.dst)
        if subject.edge and not neutral and not run.graph.reader.is_seen(False, end)
    ]
    return (
        f" No pattern finds it while {' and '.join(dict.fromkeys(hidden))}, at its end, is hidden."
        if hidden
        else ""
    )


def time_text(time: int | None) -> str | None:
    """Format a time; null if there is no bound."""
    return None if time is None or not TIME_MIN < time < TIME_MAX else format_time(time)


def _change(window: tuple[int, int], now: int) -> int | None:
    """The time of the next change of visibility."""
    start, end = window
    return start if now < start < TIME_MAX else end if start <= now < end < TIME_MAX else None


def _sentence(
    subject: Subject, standing: PolicyStatus, now: int, *, off: bool, name: str | None = None
) -> str:
    """Explain the visibility in a sentence."""
    what = (
        f"The property {name}"
        if name is not None
        else "The relationship"
        if subject.edge
        else "The node"
    )
    if off:
        return f"{what} is visible: decay is off."
    if standing.suppressed:
        return f"{what} is hidden: it was suppressed by hand."
    rule, decay = standing.rule, standing.curve.decay
    if (
        rule is None
        or (rule.binding is None and rule.policy is None)
        or (name is not None and name not in rule.properties)
    ):
        return f"{what} is visible: no policy is about it."
    seen = standing.visible(now)
    curve = (
        f"{decay.function} decay, half-life {decay.half_life / 1e9:g} s from"
        f" {standing.curve.anchor}"
    )
    curve = "it does not decay" if decay.function == "none" else curve
    lifted = f", promoted by {standing.clause.profile}" if standing.clause is not None else ""
    bound = f"{rule.binding.name}: " if rule.binding is not None else ""
    side = "at least" if seen else "below"
    change = None if standing.dynamic else _change(standing.window, now)
    turn = (
        f" It will be {'hidden' if seen else 'visible'} at {time_text(change)}."
        if time_text(change)
        else ""
    )
    return (
        f"{what} is {'visible' if seen else 'hidden'}: {bound}{curve}{lifted}; its score"
        f" {standing.score:.4g} is {side} the threshold {decay.threshold:g}.{turn}"
    )
