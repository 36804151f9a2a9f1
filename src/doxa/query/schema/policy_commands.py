"""CREATE, ALTER and DROP of decay profiles, promotion profiles and promotion policies.

The parser checked literals. This module checks the values of parameters and resolves every name, so
that no declaration is without effect. `policy/rules.py` documents the catalogue entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from doxa.base.limits import LABEL_CHARS_MAX
from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.cypher.policy_options import check_directive, check_option, check_options
from doxa.cypher.printer import print_expression as printed
from doxa.policy.rules import KINDS, PREFIX, SECOND, STANDARD_PROFILES
from doxa.query.core.errors import fail, shown
from doxa.store import Transaction
from doxa.store.declared import structural_of
from doxa.store.visibility.access import FIXED

Evaluate = Callable[[t.Expression], Any]
Values = dict[str, Any]
_WHAT = {
    "bundle": "decay profile",
    "binding": "decay profile",
    "profile": "promotion profile",
    "policy": "promotion policy",
}
_KINDS_OF = {
    "DECAY PROFILE": ("bundle", "binding"),
    "PROMOTION PROFILE": ("profile",),
    "PROMOTION POLICY": ("policy",),
}
_BUNDLE = {
    "half_life": 0,
    "function": "none",
    "threshold": 0.0,
    "floor": 0.0,
    "from": "CREATED",
    "property": None,
    "scope": "NODE",
    "decay": True,
    "enabled": True,
}
_PROFILE = {"multiplier": 1.0, "floor": 0.0, "cap": 1.0, "scope": "NODE", "enabled": True}
_KEYS = {
    "halfLifeSeconds": "half_life",
    "function": "function",
    "visibilityThreshold": "threshold",
    "scoreFloor": "floor",
    "scoreFrom": "from",
    "scoreFromProperty": "property",
    "scope": "scope",
    "decayEnabled": "decay",
    "enabled": "enabled",
    "multiplier": "multiplier",
    "scoreCap": "cap",
}
_LEVERS: Values = {
    "profile": None,
    "half_life": None,
    "floor": None,
    "threshold": None,
    "none": False,
}
_SMOOTHING = {"q": "q", "r": "r", "varianceScale": "scale", "windowSize": "window"}
POLICY_COMMANDS = (
    t.CreateDecayBundle,
    t.CreateDecayBinding,
    t.CreatePromotionProfile,
    t.CreatePromotionPolicy,
    t.AlterPolicy,
    t.DropPolicy,
    t.PolicyCommands,
)


def run_policy(command: t.Clause, tx: Transaction, evaluate: Evaluate) -> dict[str, int]:
    """Execute one command, or several; returns counters."""
    match command:
        case t.PolicyCommands(commands):
            counts = {"policies_added": 0, "policies_changed": 0, "policies_removed": 0}
            for one in commands:
                for name, count in run_policy(one, tx, evaluate).items():
                    counts[name] += count
            return counts
        case t.CreateDecayBundle():
            return _create(command, "bundle", lambda held: _bundle(command, evaluate), tx, evaluate)
        case t.CreateDecayBinding():
            return _create(
                command, "binding", lambda held: _binding(command, tx, evaluate), tx, evaluate
            )
        case t.CreatePromotionProfile():
            return _create(
                command,
                "profile",
                lambda held: _PROFILE | _options("PROMOTION PROFILE", command.options, evaluate),
                tx,
                evaluate,
            )
        case t.CreatePromotionPolicy():
            return _create(
                command, "policy", lambda held: _policy(command, tx, evaluate), tx, evaluate
            )
        case t.AlterPolicy():
            return _alter(command, tx, evaluate)
        case t.DropPolicy():
            return _drop(command, tx, evaluate)
    raise AssertionError(type(command))


def _create(
    command: Any, kind: str, make: Callable[[Values], Values], tx: Transaction, evaluate: Evaluate
) -> dict[str, int]:
    name = _named(command.name, evaluate)
    held = {
        other: tx.catalogue(f"{PREFIX}{other}:{name}")
        for other in KINDS
        if _WHAT[other] == _WHAT[kind]
    }
    existing = next((other for other, value in held.items() if value is not None), None)
    if existing is not None and command.if_absent:
        return {}
    if existing is not None and not command.replace:
        _refuse(
            command.at,
            f"There is a {_WHAT[kind]} {name!r} already.",
            "Choose another name, or write CREATE OR REPLACE or IF NOT EXISTS.",
            detail="AlreadyExists",
        )
    if existing is not None and existing != kind:
        _unused(command.at, tx, existing, name, f"replaced by a {kind}")
        tx.set_catalogue(f"{PREFIX}{existing}:{name}", None)
    before = held.get(kind)
    order = (
        before["order"]
        if before is not None
        else 1 + max((one["order"] for one in tx.catalogue_all(PREFIX).values()), default=0)
    )
    value = {"enabled": True, **make(before or {}), "order": order}
    if value == before:
        return {}
    tx.set_catalogue(f"{PREFIX}{kind}:{name}", value)
    return {"policies_added": 1} if existing is None else {"policies_changed": 1}


def _named(name: Any, evaluate: Evaluate) -> str:
    found = evaluate(name) if isinstance(name, t.ParameterRef) else name
    if not isinstance(found, str) or not found.strip() or len(found) > LABEL_CHARS_MAX:
        fail(
            f"A name is text of 1 to {LABEL_CHARS_MAX} characters, not {shown(found)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    return found


def _refuse(at: int, message: str, hint: str, *, detail: str = "InvalidArgumentValue") -> NoReturn:
    """Raise an error with its position."""

    error = QueryError(
        message, kind="ArgumentError", detail=detail, next_step=hint, phase="runtime"
    )
    error.at = at
    raise error


# Entries


def _options(kind: str, options: Iterable[t.PolicyOption], evaluate: Evaluate) -> Values:
    """Return the given options, by keys of the catalogue."""
    found: Values = {}
    for option in options:
        value = check_option(kind, option.key, evaluate(option.value), at=option.value.at)
        found[_KEYS[option.key]] = (
            round(value * SECOND) if option.key == "halfLifeSeconds" else value
        )
    return found


def _whole(values: Mapping[str, Any], at: int) -> None:
    """Check that the options of a bundle are consistent."""
    shown_as = {
        "half_life": "halfLifeSeconds",
        "function": "function",
        "from": "scoreFrom",
        "property": "scoreFromProperty",
    }
    check_options(
        "DECAY PROFILE",
        {
            shown_as[key]: value
            for key, value in values.items()
            if key in shown_as and value is not None
        },
        at=at,
    )


def _bundle(command: t.CreateDecayBundle, evaluate: Evaluate) -> Values:
    given = _options("DECAY PROFILE", command.options, evaluate)
    function = "exponential" if given.get("half_life") else "none"
    found = {**_BUNDLE, "function": function, **given}
    if found["function"] != "none" and not found["half_life"]:
        _refuse(
            command.at,
            f"The function {found['function']} needs a half-life.",
            "Add halfLifeSeconds, or give function: 'none'.",
        )
    _whole(found, command.at)
    return found


def _binding(command: t.CreateDecayBinding, tx: Transaction, evaluate: Evaluate) -> Values:
    whole, properties = dict(_LEVERS), dict[str, Values]()
    fixed = structural_of(tx.declared().indexes.rules)
    for directive in command.directives:
        name = directive.property
        levers = whole if name is None else properties.setdefault(name, dict(_LEVERS))
        for label in command.target.names if name is not None and directive.kind != "none" else ():
            if name in fixed.get((command.target.edge, label), ()):
                _refuse(
                    directive.at,
                    f"{label}.{name} is part of an index, so it does not fade.",
                    "Leave the property out, or drop the index.",
                )
        if directive.kind == "none":
            levers["none"] = True
            continue
        assert directive.value is not None
        value = check_directive(directive.kind, evaluate(directive.value), at=directive.value.at)
        if directive.kind == "profile":
            _known_bundle(value, tx, directive.value.at)
        levers[directive.kind] = round(value * SECOND) if directive.kind == "half_life" else value
    return {**_target(command.target), **whole, "properties": properties}


def _known_bundle(name: str, tx: Transaction, at: int) -> None:
    if tx.catalogue(f"{PREFIX}bundle:{name}") is None:
        known = [one.split(":", 2)[2] for one in tx.catalogue_all(f"{PREFIX}bundle:")]
        _refuse(
            at,
            f"Unknown decay profile with OPTIONS {name!r}.",
            _did_you_mean(name, known, "Create it first"),
            detail="NotFound",
        )


def _did_you_mean(name: str, known: list[str], otherwise: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return (
        f"Did you mean {near[0]!r}?"
        if near
        else f"{otherwise}; known are {', '.join(known[:10]) or 'none'}."
    )


def _target(target: t.PolicyTarget) -> Values:
    return {"edge": target.edge, "names": sorted(set(target.names))}


def _policy(command: t.CreatePromotionPolicy, tx: Transaction, evaluate: Evaluate) -> Values:
    rules = []
    for rule in command.rules:
        profile = _named(rule.profile, evaluate)
        if tx.catalogue(f"{PREFIX}profile:{profile}") is None and profile not in STANDARD_PROFILES:
            known = [one.split(":", 2)[2] for one in tx.catalogue_all(f"{PREFIX}profile:")] + list(
                STANDARD_PROFILES
            )
            _refuse(
                rule.at,
                f"Unknown promotion profile {profile!r}.",
                _did_you_mean(profile, known, "Create it first"),
                detail="NotFound",
            )
        rules.append({"when": printed(rule.when), "profile": profile})
    access = []
    for one in command.accesses:
        given = None
        if one.kalman is not None and one.property in FIXED:
            _refuse(
                one.at,
                f"{one.property} is a count or a time: it has no noise to smooth.",
                "Set it without WITH KALMAN.",
            )
        if one.kalman is not None:
            given = {
                _SMOOTHING[item.key]: check_option(
                    "KALMAN", item.key, evaluate(item.value), at=item.value.at
                )
                for item in one.kalman
            }
        access.append({"property": one.property, "value": printed(one.value), "kalman": given})
    return {
        **_target(command.target),
        "variable": command.target.variable,
        "rules": rules,
        "access": access,
    }


# Changing and dropping


def _found(command: Any, tx: Transaction, evaluate: Evaluate) -> tuple[str, str, Values] | None:
    """Find the kind, name and entry that a command applies to."""
    name = _named(command.name, evaluate)
    for kind in _KINDS_OF[command.what]:
        held = tx.catalogue(f"{PREFIX}{kind}:{name}")
        if held is not None:
            return kind, name, held
    return None


def _missing(command: Any, tx: Transaction, evaluate: Evaluate) -> NoReturn:
    name = _named(command.name, evaluate)
    known = [
        one.split(":", 2)[2]
        for kind in _KINDS_OF[command.what]
        for one in tx.catalogue_all(f"{PREFIX}{kind}:")
    ]
    hint = _did_you_mean(
        name, known, f"SHOW {command.what.replace('POLICY', 'POLICIE')}S lists them"
    )
    _refuse(command.at, f"Unknown {command.what.lower()} {name!r}.", hint, detail="NotFound")


def _alter(command: t.AlterPolicy, tx: Transaction, evaluate: Evaluate) -> dict[str, int]:
    found = _found(command, tx, evaluate)
    if found is None:
        _missing(command, tx, evaluate)
    kind, name, held = found
    given = _options(command.what, command.options, evaluate)
    if kind == "binding" and set(given) - {"enabled"}:
        hint = "Write CREATE OR REPLACE … FOR … APPLY."
        _refuse(
            command.at,
            f"{name!r} is bound to a target; only profiles with OPTIONS have these options.",
            hint,
        )
    value = {**held, **given}
    if kind == "bundle":
        if given.get("from") not in (None, "CUSTOM"):
            value["property"] = None
        if given.get("half_life") and "function" not in given and held["function"] == "none":
            value["function"] = "exponential"
        if value["function"] != "none" and not value["half_life"]:
            _refuse(
                command.at,
                f"The function {value['function']} needs a half-life.",
                "Add halfLifeSeconds.",
            )
        _whole(value, command.at)
    if value == held:
        return {}
    tx.set_catalogue(f"{PREFIX}{kind}:{name}", value)
    return {"policies_changed": 1}


def _drop(command: t.DropPolicy, tx: Transaction, evaluate: Evaluate) -> dict[str, int]:
    found = _found(command, tx, evaluate)
    if found is None:
        if command.if_present:
            return {}
        _missing(command, tx, evaluate)
    kind, name, _ = found
    _unused(command.at, tx, kind, name, "dropped")
    tx.set_catalogue(f"{PREFIX}{kind}:{name}", None)
    return {"policies_removed": 1}


def _unused(at: int, tx: Transaction, kind: str, name: str, what: str) -> None:
    """Raise if another entry refers to this one."""
    users = []
    if kind == "bundle":
        for other, held in tx.catalogue_all(f"{PREFIX}binding:").items():
            if name in (
                held["profile"],
                *(levers["profile"] for levers in held["properties"].values()),
            ):
                users.append(other.split(":", 2)[2])
    if kind == "profile":
        for other, held in tx.catalogue_all(f"{PREFIX}policy:").items():
            if any(rule["profile"] == name for rule in held["rules"]):
                users.append(other.split(":", 2)[2])
    if users:
        _refuse(
            at,
            f"{name!r} is used by {', '.join(users[:5])}, so it cannot be {what}.",
            "Drop or change those first.",
            detail="InUse",
        )
