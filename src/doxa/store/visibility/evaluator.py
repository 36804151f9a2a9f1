"""Whether an element is visible, until when, and what its score is: the rules of the catalogue
applied to one element and its access metadata.

A rule's window is stored with the element and tested by SQL. Where a WHEN reads the clock there is
no window: such an element is dynamic and is judged whenever it is read. The expressions of WHEN and
ON ACCESS are compiled by a package above, which passes its compiler in (`Expressions`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from doxa.base.errors import DoxaError, StoreError
from doxa.base.values import Properties
from doxa.policy.decay import (
    ALWAYS,
    NEVER,
    NO_PROMOTION,
    TIME_MAX,
    Promotion,
    VisibilityInterval,
    base,
    score,
    window,
)
from doxa.policy.rules import Curve, Policy, Rule, Rules, WhenClause
from doxa.store.visibility.access import SUPPORT, Access, AccessRecord, moment_of

_ERROR_CHARS = 300
DYNAMIC = -1  # the vis_from of an element that is judged when it is read


class Subject(NamedTuple):
    """An element to be judged. `names` are its labels, or its type alone."""

    edge: bool
    id: int
    names: tuple[str, ...]
    props: Properties
    since: int
    born: int
    src: int = 0
    dst: int = 0


class Condition(Protocol):
    dynamic: bool  # it reads the clock

    def __call__(self, subject: Subject, access: Access, now: int) -> bool: ...


class Value(Protocol):
    parameters: frozenset[str]

    def __call__(
        self, subject: Subject, access: Access, now: int, parameters: Mapping[str, Any]
    ) -> Any: ...


class Expressions(Protocol):
    """Compiles what WHEN and ON ACCESS say; each text once."""

    def condition(self, variable: str, text: str) -> Condition: ...

    def value(self, variable: str, text: str, *, target: str, smoothed: bool) -> Value: ...


class VisibilityDecision(NamedTuple):
    """As it is stored: the window, and for properties that fade [all from, all until, {name: [from,
    until]}] as JSON."""

    start: int
    end: int
    fades: str | None


SEEN = VisibilityDecision(0, TIME_MAX, None)


class PolicyStatus(NamedTuple):
    """How an element, or one of its properties, stands at a time."""

    rule: Rule | None
    curve: Curve
    anchor: int
    clause: WhenClause | None
    base: float
    score: float
    window: VisibilityInterval
    dynamic: bool
    suppressed: bool

    def visible(self, now: int) -> bool:
        if self.suppressed:
            return False
        return self.score >= self.curve.decay.threshold if self.dynamic else self.window.holds(now)


class PolicyEvaluator:
    """Rules with their expressions. One for each state of the catalogue; safe to share between
    threads."""

    def __init__(self, rules: Rules, expressions: Expressions | None) -> None:
        self.rules = rules
        self._expressions = expressions
        self._conditions: dict[tuple[str, str], Condition] = {}
        self._values: dict[tuple[str, str, str, bool], Value] = {}
        self.sights: dict[
            bool, Any
        ] = {}  # what follows for reads, kept here since it lasts as long (filter.py)

    # Expressions

    def condition(self, policy: Policy, clause: WhenClause) -> Condition:
        key = (policy.variable, clause.when)
        found = self._conditions.get(key)
        if found is None:
            found = self._conditions[key] = self._compiler().condition(*key)
        return found

    def value(self, policy: Policy, number: int) -> Value:
        """Return the value of a SET of the policy's ON ACCESS block."""
        setter = policy.setters[number]
        key = (policy.variable, setter.value, setter.property, setter.kalman is not None)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = self._compiler().value(
                key[0], key[1], target=key[2], smoothed=key[3]
            )
        return found

    def of(self, rules: Rules) -> PolicyEvaluator:
        """Return an evaluator of other rules, with the same compiler."""
        return PolicyEvaluator(rules, self._expressions)

    @property
    def can_judge(self) -> bool:
        """Whether expressions can be compiled."""
        return self._expressions is not None

    def _compiler(self) -> Expressions:
        if self._expressions is None:
            raise StoreError(
                "This file has promotion policies, whose expressions a bare store cannot judge.",
                next_step="Open it with doxa.open(path).",
            )
        return self._expressions

    @functools.cached_property
    def parameters(self) -> frozenset[str]:
        """Return the names of all parameters that are kept with an access: those that ON ACCESS
        blocks read, and who supports."""
        found = {f"_{name}" for name in SUPPORT}
        for policy in self.rules.policies:
            for number in range(len(policy.setters)):
                found |= self.value(policy, number).parameters
        return frozenset(found)

    @functools.cached_property
    def about(self) -> tuple[bool, bool] | None:
        """Return whether any policy is about nodes, and about edges; None if there is none at
        all."""
        return (
            (self.rules.about(edge=False), self.rules.about(edge=True)) if self.rules.any else None
        )

    def is_dynamic(self, policy: Policy | None) -> bool:
        """Return whether a WHEN of the policy reads the clock."""
        return policy is not None and any(
            self.condition(policy, clause).dynamic for clause in policy.clauses
        )

    def has_dynamic(self, *, edge: bool) -> bool:
        return any(
            policy.target.edge is edge and self.is_dynamic(policy) for policy in self.rules.policies
        )

    # Judging

    def rule(self, subject: Subject) -> Rule | None:
        return self.rules.rule(subject.names, edge=subject.edge)

    def clause(
        self, policy: Policy | None, subject: Subject, access: Access, now: int
    ) -> WhenClause | None:
        """Return, of the clauses that hold, the one with the highest multiplier, then the highest
        floor, then the first."""
        if policy is None:
            return None
        holding = [
            clause
            for clause in policy.clauses
            if _holds(self.condition(policy, clause), subject, access, now)
        ]
        return max(
            holding,
            key=lambda clause: (clause.promotion.multiplier, clause.promotion.floor),
            default=None,
        )

    def standing(
        self,
        subject: Subject,
        access: Access,
        now: int,
        *,
        name: str | None = None,
        rule: Rule | None = None,
    ) -> PolicyStatus:
        """Return how the element stands now, or its property `name`."""
        rule = rule if rule is not None else self.rule(subject)
        curve = Curve()
        if rule is not None:
            curve = rule.curve if name is None else rule.properties.get(name, Curve())
        policy = rule.policy if rule is not None else None
        clause = self.clause(policy, subject, access, now)
        promotion = clause.promotion if clause is not None else NO_PROMOTION
        anchor = anchor_of(curve, subject, access)
        age = max(0, now - anchor)
        return PolicyStatus(
            rule,
            curve,
            anchor,
            clause,
            base(curve.decay, age),
            score(curve.decay, promotion, age),
            window(curve.decay, promotion, anchor),
            self.is_dynamic(policy),
            access.suppressed,
        )

    def final_score(self, subject: Subject, access: Access, now: int) -> float:
        """Return the score of the element, in [0, 1]; 1 if no rule is about it."""
        rule = self.rule(subject)
        if rule is None:
            return 1.0
        clause = self.clause(rule.policy, subject, access, now)
        promotion = clause.promotion if clause is not None else NO_PROMOTION
        return score(rule.curve.decay, promotion, now - anchor_of(rule.curve, subject, access))

    def decide(self, subject: Subject, access: Access, rule: Rule | None) -> VisibilityDecision:
        """Return what to store with the element."""
        if access.suppressed:
            return VisibilityDecision(TIME_MAX, TIME_MAX, None)
        if rule is None:
            return SEEN
        faded = (
            {name: curve for name, curve in rule.properties.items() if name in subject.props}
            if rule.binding is not None
            else {}
        )
        if self.is_dynamic(rule.policy):
            hidden = rule.curve.decay.threshold > 0
            return VisibilityDecision(
                DYNAMIC if hidden else 0, TIME_MAX, f"[{TIME_MAX},0,null]" if faded else None
            )
        clause = self.clause(rule.policy, subject, access, subject.since)
        promotion = clause.promotion if clause is not None else NO_PROMOTION
        seen = window(rule.curve.decay, promotion, anchor_of(rule.curve, subject, access))
        start, end = (
            (TIME_MAX, TIME_MAX) if seen == NEVER else (max(0, seen.start), max(0, seen.end))
        )
        return VisibilityDecision(start, end, _fades(faded, promotion, subject, access))

    def use(
        self, rule: Rule, subject: Subject, access: Access, noted: AccessRecord, *, walked: bool
    ) -> None:
        """Take one access into the metadata: the counts, who it was, then what the ON ACCESS block
        sets, line by line."""
        if walked:
            access.walks, access.walked = access.walks + 1, noted.at
            return
        setters = rule.policy.setters if rule.policy is not None else ()
        if not any(setter.property == "accessCount" for setter in setters):
            access.count += 1
        access.last, access.error = noted.at, ""
        access.note_support(noted.parameters)
        for number, setter in enumerate(setters):
            assert rule.policy is not None
            try:
                value = self.value(rule.policy, number)(subject, access, noted.at, noted.parameters)
                if value is not None:
                    access.set(setter.property, value, kalman=setter.kalman, now=noted.at)
            except StoreError:
                raise
            except (
                DoxaError,
                ArithmeticError,
                ValueError,
                TypeError,
                AttributeError,
                LookupError,
                MemoryError,
                RecursionError,
            ) as error:
                access.error = f"{rule.policy.name}: SET {setter.property}: {error}"[:_ERROR_CHARS]

    def seen(self, subject: Subject, access: Access, now: int) -> bool:
        """Return whether the element is visible now, without a stored window."""
        if access.suppressed:
            return False
        rule = self.rule(subject)
        return rule is None or self.standing(subject, access, now, rule=rule).visible(now)

    def shown(self, subject: Subject, access: Access, now: int) -> Properties:
        """Return the properties that are visible now, without stored windows."""
        rule = self.rule(subject)
        if rule is None or not rule.properties:
            return subject.props
        held = [name for name in rule.properties if name in subject.props]
        hidden = {
            name
            for name in held
            if not self.standing(subject, access, now, name=name, rule=rule).visible(now)
        }
        return {name: value for name, value in subject.props.items() if name not in hidden}


def _holds(condition: Condition, subject: Subject, access: Access, now: int) -> bool:
    try:
        return condition(subject, access, now)
    except StoreError:  # there is nobody to judge
        raise
    except (
        DoxaError,
        ArithmeticError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
    ):
        # what an expression cannot make of this element's properties does not hold for it
        return False


def _fades(
    faded: Mapping[str, Curve], promotion: Promotion, subject: Subject, access: Access
) -> str | None:
    windows = {
        name: window(curve.decay, promotion, anchor_of(curve, subject, access))
        for name, curve in faded.items()
    }
    bounded = {
        name: [max(0, one.start), max(0, one.end)] for name, one in windows.items() if one != ALWAYS
    }
    if not bounded:
        return None
    limits = [
        max(start for start, _ in bounded.values()),
        min(end for _, end in bounded.values()),
        bounded,
    ]
    return json.dumps(limits, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def faded_names(fades: str, now: int) -> frozenset[str] | None:
    """Return the properties that a stored text says are hidden; None if the element is to be
    judged."""
    _, _, bounded = json.loads(fades)
    return (
        None
        if bounded is None
        else frozenset(name for name, (start, end) in bounded.items() if not start <= now < end)
    )


def common_window(decision: VisibilityDecision, names: tuple[str, ...]) -> tuple[int, int]:
    """Return the window in which the element and these properties are visible together."""
    start, end = decision.start, decision.end
    if decision.fades is None:
        return start, end
    bounded = json.loads(decision.fades)[2]
    if bounded is None:
        return DYNAMIC, end
    for name in names:
        if name in bounded:
            start, end = (
                max(start, bounded[name][0]) if start != DYNAMIC else start,
                min(end, bounded[name][1]),
            )
    return (start, end) if start < end else (TIME_MAX, TIME_MAX)


def anchor_of(curve: Curve, subject: Subject, access: Access) -> int:
    """Return where ages count from, integer ns. What cannot be read, a property that is missing or
    no time, leaves the creation."""
    match curve.anchor:
        case "VERSION":
            return subject.since
        case "LAST_ACCESSED":
            return subject.born if access.last is None else access.last
        case "CUSTOM":
            given = subject.props.get(curve.property or "", access.held.get(curve.property or ""))
            found = moment_of(given)
            return subject.born if found is None else found
    return subject.born
