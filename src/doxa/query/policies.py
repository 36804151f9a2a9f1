"""What persistence policies there are and what they do, as procedures: doxa.policy.* and, with the
known columns, nornicdb.knowledgepolicy.*.

CALL doxa.policy.explain(reveal(n))                     why an element is visible or hidden, by
which rule, and when that changes
CALL doxa.policy.simulate($ddl, duration('P30D'))       what a change of policies would hide and
when; nothing is written
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from doxa.base.clock import format_time
from doxa.base.temporal import Duration
from doxa.cypher.errors import QueryError, placed
from doxa.cypher.parser import parse
from doxa.cypher.signatures import ProcedureSignature
from doxa.policy.decay import TIME_MAX, TIME_MIN
from doxa.policy.rules import Curve, Rule, Rules
from doxa.query.errors import fail, shown
from doxa.query.functions.persistence import scoring_time, subject_of
from doxa.query.policy_schema import POLICY_COMMANDS, run_policy
from doxa.query.procedures import Procedure, Registry
from doxa.store import Access, PolicyEvaluator, PolicyStatus, Subject
from doxa.store.declared import Declared, declared, kinds_changed

Rows = Iterable[tuple[Any, ...]]
SYSTEM = "doxa"
_SAMPLES, _PAGE = 10, 5_000
_DAY_S = 86_400


def _judge(run: Any) -> PolicyEvaluator:
    found: PolicyEvaluator = run.graph.reader.declared().judge
    return found


def _target(held: Mapping[str, Any]) -> str:
    inner = "".join(f":{name}" for name in held["names"])
    return f"()-[{inner}]-()" if held["edge"] else f"({inner})"


def _scope(held: Mapping[str, Any]) -> str:
    return "EDGE" if held["edge"] else "NODE"


# SHOW


def decay_profiles(run: Any, detail: str) -> Rows:
    rules = _judge(run).rules
    for name, held in rules.of("bundle").items():
        yield "bundle", name, held["scope"], None, None, held["enabled"]
    for name, held in rules.of("binding").items():
        yield "binding", name, _scope(held), _target(held), held["profile"], held["enabled"]


def promotion_profiles(run: Any, detail: str) -> Rows:
    for name, held in _judge(run).rules.of("profile").items():
        yield name, held["scope"], held["multiplier"], held["floor"], held["cap"], held["enabled"]


def promotion_policies(run: Any, detail: str) -> Rows:
    for name, held in _judge(run).rules.of("policy").items():
        yield (
            name,
            _scope(held),
            _target(held),
            held["enabled"],
            len(held["rules"]),
            len(held["access"]),
        )


# The catalogue in rows


def _info(run: Any) -> Rows:
    rules = _judge(run).rules
    counts = [len(rules.of(kind)) for kind in ("bundle", "binding", "profile", "policy")]
    yield not run.graph.reader.neutral, SYSTEM, *counts, "Cypher"


def _profiles(run: Any) -> Rows:
    """Bundles, bindings and promotion profiles, the columns of all of them in each row."""
    rules = _judge(run).rules
    for name, held in rules.of("bundle").items():
        yield (
            "decayBundle",
            name,
            held["half_life"] / 1e9,
            held["threshold"],
            held["floor"],
            held["function"],
            held["scope"],
            held["decay"],
            held["from"],
            held["property"],
            held["enabled"],
            [],
            None,
            False,
            False,
            None,
            False,
            held["order"],
        )
    bound = {binding.name: binding for binding in rules.bindings}
    for name, held in rules.of("binding").items():
        curve = bound[name].curve if name in bound else Curve()
        labels, kind = ([], (held["names"] or [None])[0]) if held["edge"] else (held["names"], None)
        yield (
            "decayBinding",
            name,
            curve.decay.half_life / 1e9,
            curve.decay.threshold,
            curve.decay.floor,
            curve.decay.function,
            _scope(held),
            curve.decay.function != "none",
            curve.anchor,
            curve.property,
            held["enabled"],
            labels,
            kind,
            not held["names"],
            held["edge"],
            held["profile"],
            held["none"],
            held["order"],
        )


def _own_profiles(run: Any) -> Rows:
    """The same, and what bindings say of single properties."""
    yield from _profiles(run)
    rules = _judge(run).rules
    held = rules.of("binding")
    for binding in rules.bindings:
        target = held[binding.name]
        labels, kind = (
            ([], (target["names"] or [None])[0]) if target["edge"] else (target["names"], None)
        )
        for name, curve in binding.properties.items():
            decay = curve.decay
            yield (
                "decayProperty",
                f"{binding.name}.{name}",
                decay.half_life / 1e9,
                decay.threshold,
                decay.floor,
                decay.function,
                "PROPERTY",
                decay.function != "none",
                curve.anchor,
                curve.property,
                True,
                labels,
                kind,
                not target["names"],
                target["edge"],
                curve.bundle,
                decay.function == "none",
                binding.order,
            )


def _policies(run: Any) -> Rows:
    rules = _judge(run).rules
    for name, held in rules.of("profile").items():
        yield (
            "promotionProfile",
            name,
            held["scope"],
            held["multiplier"],
            held["floor"],
            held["cap"],
            held["enabled"],
            [],
            None,
            False,
            False,
        )
    for name, held in rules.of("policy").items():
        labels, kind = ([], (held["names"] or [None])[0]) if held["edge"] else (held["names"], None)
        yield (
            "promotionPolicy",
            name,
            _scope(held),
            None,
            None,
            None,
            held["enabled"],
            labels,
            kind,
            not held["names"],
            held["edge"],
        )


def _resolve(
    run: Any, entity: str | None = None, labels: str | None = None, kind: str | None = None
) -> Rows:
    """What an element, or a set of labels, or a type is under. An element goes before a type, a
    type before labels; without one, age is 0."""
    judge, now = _judge(run), scoring_time(run)
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
    rule = judge.rule(subject)
    standing = judge.standing(subject, access, now, rule=rule)
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
    """An element by its element id, n:1 or r:1, or a node by its number."""
    kind, _, number = entity.rpartition(":")
    if kind not in ("n", "r", "") or not number.isdecimal() or len(number) > 18:
        fail(
            f"{entity!r:.40} is no element id.",
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


def _deindex_status(run: Any) -> Rows:
    """Searches pass over what is hidden; what there may be to wait for is that windows follow a
    change of policies."""
    swept = run.graph.reader.swept()
    if not swept:
        yield (
            0,
            True,
            "Hidden elements are in no result; nothing waits.",
            None,
            None,
            None,
            None,
            "IDLE",
        )
    for kind, done in swept.items():
        left = next(iter(run.graph.rows(f"SELECT count(*) FROM {kind} WHERE id > ?", (done,))))[0]
        text = (
            f"Policies changed; the windows of {left:,} more {kind}s follow. Reads judge them"
            " meanwhile."
        )
        yield left, True, text, f"sweep:{kind}", None, kind.upper(), None, "RUNNING"


# Explaining


def _explain(run: Any, value: Any, options: Any = None) -> Rows:
    if value is None:
        return
    from doxa.query.functions.persistence import property_of_options

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
    judge, now = _judge(run), scoring_time(run)
    rule = judge.rule(subject)
    standing = judge.standing(subject, access, now, name=name, rule=rule)
    neutral = run.graph.reader.neutral
    visible = neutral or standing.visible(now)
    hidden = (
        sorted(set(subject.props) - set(judge.shown(subject, access, now))) if not neutral else []
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
        _told(standing.anchor),
        _told(window[0]),
        _told(window[1]),
        _told(_change(window, now)),
        hidden,
        list(rule.chain) if rule else [],
        list(rule.ties) if rule else [],
        standing.suppressed,
        standing.dynamic,
    )


def _ends(run: Any, subject: Subject, neutral: bool) -> str:
    """Of a relationship, whether an end is hidden, so that no pattern finds it."""
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


def _told(time: int | None) -> str | None:
    """A time as text; what has no bound is null."""
    return None if time is None or not TIME_MIN < time < TIME_MAX else format_time(time)


def _change(window: tuple[int, int], now: int) -> int | None:
    """When the visibility changes next."""
    start, end = window
    return start if now < start < TIME_MAX else end if start <= now < end < TIME_MAX else None


def _sentence(
    subject: Subject, standing: PolicyStatus, now: int, *, off: bool, name: str | None = None
) -> str:
    """Why it is visible or hidden, for a person."""
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
        f" It will be {'hidden' if seen else 'visible'} at {_told(change)}."
        if _told(change)
        else ""
    )
    return (
        f"{what} is {'visible' if seen else 'hidden'}: {bound}{curve}{lifted}; its score"
        f" {standing.score:.4g} is {side} the threshold {decay.threshold:g}.{turn}"
    )


# Simulating


class _Draft:
    """A catalogue in memory that takes commands as a transaction would, and writes nothing."""

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


def _simulate(run: Any, ddl: str, horizon: Any = None) -> Rows:
    """For each kind of element that a change of policies is about: how many it hides now and by the
    horizon, and the first of them."""
    if not isinstance(ddl, str) or not ddl.strip():
        fail(
            f"The policies to try are text, not {shown(ddl)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    reader, now = run.graph.reader, scoring_time(run)
    until = now + _horizon_ns(horizon)
    before = _judge(run)
    trial = before.of(_drafted(run, ddl, reader.catalogue_all()))
    for edge, changed in zip((False, True), kinds_changed(before.rules, trial.rules), strict=True):
        if changed:
            yield from _effects(run, trial, before, edge=edge, now=now, until=until)


def _drafted(run: Any, ddl: str, held: dict[str, Any]) -> Rules:
    """The rules after the commands. Raises QueryError with the place in the given text."""
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
    return draft.declared().judge.rules


def _constant(run: Any, expression: Any) -> Any:
    from doxa.query.evaluate import Compiler, Nested

    return Compiler(Nested()).compile(expression, {})((), run)


def _horizon_ns(horizon: Any) -> int:
    """A duration, or a number of seconds; none is now."""
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
    """What a change does to the elements of one kind."""

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
            ):  # what is hidden by hand stays so
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
            {"id": identity, "hiddenAt": _told(hidden)}
            for hidden, identity in sorted(effect.samples)[:_SAMPLES]
        ]
        yield (
            "EDGE" if edge else "NODE",
            list(names),
            effect.count,
            effect.hidden,
            effect.later,
            effect.shown,
            _told(effect.first),
            samples,
        )


def _hidden_at(
    judge: PolicyEvaluator,
    subject: Subject,
    access: Access,
    rule: Rule | None,
    *,
    now: int,
    until: int,
) -> int | None:
    """From when on, up to the horizon, the element would be hidden; None if it would not be."""
    if rule is None:
        return None
    standing = judge.standing(subject, access, now, rule=rule)
    if not standing.visible(now):
        return now
    if standing.dynamic:
        return None if judge.standing(subject, access, until, rule=rule).visible(until) else until
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


# By hand


def _suppress(run: Any, value: Any, *, hidden: bool) -> Rows:
    from doxa.query.values import Edge, Node

    if value is None:
        return
    if not isinstance(value, (Node, Edge)):
        fail(f"This takes a node or a relationship, not {shown(value)}.")
    writer = run.graph.reader
    edge = isinstance(value, Edge)
    changed = (
        writer.suppress(value.id, edge=edge) if hidden else writer.restore(value.id, edge=edge)
    )
    run.graph.changed_sight()
    yield value.element_id, changed


# Registration

_RESOLVED = (
    "TargetID",
    "TargetScope",
    "ResolvedDecayProfileID",
    "ResolvedScoreFrom",
    "ResolutionSourceChain",
    "AppliedDecayProfileNames",
    "AppliedPromotionPolicyName",
    "AppliedPromotionProfileName",
    "EffectiveRate",
    "EffectiveThreshold",
    "EffectiveMultiplier",
    "BaseScore",
    "FinalScore",
    "NoDecay",
    "SuppressionEligible",
    "Explanation",
)
_PROFILE_COLUMNS = (
    "kind",
    "Name",
    "HalfLifeSeconds",
    "VisibilityThreshold",
    "ScoreFloor",
    "Function",
    "Scope",
    "DecayEnabled",
    "ScoreFrom",
    "ScoreFromProperty",
    "Enabled",
    "TargetLabels",
    "TargetEdgeType",
    "IsWildcard",
    "IsEdge",
    "ProfileRef",
    "NoDecay",
    "Order",
)
_POLICY_COLUMNS = (
    "kind",
    "Name",
    "Scope",
    "Multiplier",
    "ScoreFloor",
    "ScoreCap",
    "Enabled",
    "TargetLabels",
    "TargetEdgeType",
    "IsWildcard",
    "IsEdge",
)
_EXPLAINED = (
    "visible",
    "reason",
    "score",
    "threshold",
    "binding",
    "profile",
    "policy",
    "promotion",
    "scoreFrom",
    "anchor",
    "visibleFrom",
    "visibleUntil",
    "changesAt",
    "hiddenProperties",
    "chain",
    "ties",
    "suppressed",
    "dynamic",
)
_Call = Callable[..., Rows]
_BOTH: tuple[tuple[str, tuple[tuple[str, str], ...], tuple[str, ...], str, _Call], ...] = (
    (
        "info",
        (),
        (
            "enabled",
            "system",
            "decayProfiles",
            "decayBindings",
            "promotionProfiles",
            "promotionPolicies",
            "configuredVia",
        ),
        "How many persistence policies there are, and whether they are in force.",
        _info,
    ),
    ("profiles", (), _PROFILE_COLUMNS, "Decay profiles: bundles and bindings.", _profiles),
    ("policies", (), _POLICY_COLUMNS, "Promotion profiles and promotion policies.", _policies),
    (
        "resolve",
        (("entityId", "STRING"), ("labels", "STRING"), ("edgeType", "STRING")),
        _RESOLVED,
        "Which policies an element, labels (separated by commas) or a type are under.",
        _resolve,
    ),
    (
        "deindexStatus",
        (),
        (
            "pending_count",
            "supported",
            "message",
            "workItemId",
            "targetId",
            "targetScope",
            "enqueuedAt",
            "status",
        ),
        "Whether windows still follow a change of policies.",
        _deindex_status,
    ),
)
_OWN: tuple[
    tuple[str, tuple[tuple[str, str], ...], int, tuple[str, ...], bool, str, _Call], ...
] = (
    (
        "explain",
        (("element", "ANY"), ("options", "MAP")),
        1,
        _EXPLAINED,
        False,
        "Why an element is visible or hidden, and when that changes.",
        _explain,
    ),
    (
        "simulate",
        (("ddl", "STRING"), ("horizon", "ANY")),
        1,
        (
            "scope",
            "names",
            "elements",
            "hiddenNow",
            "hiddenByHorizon",
            "shownAgain",
            "firstHiddenAt",
            "samples",
        ),
        False,
        "What a change of policies would hide, and when; nothing is written.",
        _simulate,
    ),
    (
        "suppress",
        (("element", "ANY"),),
        0,
        ("id", "changed"),
        True,
        "Hide an element by hand.",
        partial(_suppress, hidden=True),
    ),
    (
        "restore",
        (("element", "ANY"),),
        0,
        ("id", "changed"),
        True,
        "Take a suppression back.",
        partial(_suppress, hidden=False),
    ),
)


def register_policies(registry: Registry) -> None:
    """Add the procedures of persistence policies under both names."""
    for name, args, columns, description, call in _BOTH:
        for prefix in ("nornicdb.knowledgepolicy", "doxa.policy"):
            results = tuple((column, "ANY") for column in columns)
            carry_out = _own_profiles if (prefix, name) == ("doxa.policy", "profiles") else call
            registry.add(
                Procedure(
                    ProcedureSignature(
                        f"{prefix}.{name}", args, results, False, len(args), description
                    ),
                    carry_out,
                )
            )
    for name, args, optional, columns, writes, description, call in _OWN:
        results = tuple((column, "ANY") for column in columns)
        registry.add(
            Procedure(
                ProcedureSignature(
                    f"doxa.policy.{name}", args, results, writes, optional, description
                ),
                call,
            )
        )
