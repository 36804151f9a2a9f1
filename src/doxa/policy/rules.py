"""Resolve which persistence policies of a catalogue apply to an element.

Catalogue entries, each with "order" (of registration) and "enabled":

    policy:bundle:<name>   {"half_life": ns, "function", "threshold", "floor", "from": anchor,
                            "property": for CUSTOM, "scope", "decay": bool}
    policy:binding:<name>  {"edge": bool, "names": [labels, or one type; empty: wildcard],
                            **LEVERS, "properties": {name: LEVERS}}
    policy:profile:<name>  {"multiplier", "floor", "cap", "scope"}
    policy:policy:<name>   {"edge", "names", "variable",
                            "rules": [{"when": expression, "profile": name}],
                            "access": [{"property", "value": expression, "kalman": null or some
                                        of {"q", "r", "scale", "window"}}]}
    LEVERS                 "profile": bundle, "half_life": ns, "floor", "threshold", "none": bool;
                           null if the binding does not set it

A binding or promotion policy applies to elements that have all its labels. If several match, the
one with the most labels wins, then the one registered first; a wildcard comes last. Bindings and
policies are resolved independently of each other.

Source: the paper "Persistence Semantics" (NornicDB, 2026), sections 4.2 and 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from doxa.policy.decay import NO_DECAY, NO_PROMOTION, Decay, Promotion

SECOND = 1_000_000_000
PREFIX = "policy:"
KINDS = ("bundle", "binding", "profile", "policy")
# Profiles that a WHEN may apply without a declaration. A declared profile of the same name
# overrides the standard one.
STANDARD_PROFILES: Mapping[str, Promotion] = {
    "reinforced": Promotion(1.25, 0.0, 1.0),
    "reinforced_tier": Promotion(1.25, 0.0, 1.0),
    "high_confidence": Promotion(1.5, 0.8, 1.0),
    "canonical_tier": Promotion(1.5, 0.9, 1.0),
    "provisional_wisdom": Promotion(1.0, 0.0, 1.0),
    "established_wisdom": Promotion(1.0, 0.5, 1.0),
}


class Target(NamedTuple):
    """The elements that a binding or policy applies to: nodes with all these labels, or edges of
    this type. No names mean any."""

    edge: bool
    names: frozenset[str]

    def __str__(self) -> str:
        inner = "".join(f":{name}" for name in sorted(self.names))
        return f"()-[{inner}]-()" if self.edge else f"({inner})"


class Curve(NamedTuple):
    """A decay, the anchor that its ages count from, and the bundle that defines it, if any."""

    decay: Decay = NO_DECAY
    anchor: str = "CREATED"
    property: str | None = None
    bundle: str | None = None


class WhenClause(NamedTuple):
    """WHEN … APPLY PROFILE …"""

    when: str
    profile: str
    promotion: Promotion


class Setter(NamedTuple):
    """One SET of an ON ACCESS block. `kalman` holds the parameters of the filter, or None for a
    plain assignment."""

    property: str
    value: str
    kalman: Mapping[str, Any] | None


class Binding(msgspec.Struct, frozen=True):
    name: str
    target: Target
    order: int
    curve: Curve
    properties: Mapping[str, Curve]


class Policy(msgspec.Struct, frozen=True):
    name: str
    target: Target
    order: int
    variable: str
    clauses: tuple[WhenClause, ...]
    setters: tuple[Setter, ...]


class Rule(msgspec.Struct, frozen=True):
    """The binding and policy that apply to nodes with certain labels or edges of a type. `chain`
    names all that match, the effective one first."""

    binding: Binding | None
    policy: Policy | None
    immune: frozenset[str]  # properties in structural indexes, to which property rules do not apply
    chain: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()

    @property
    def curve(self) -> Curve:
        return self.binding.curve if self.binding is not None else Curve()

    @property
    def properties(self) -> Mapping[str, Curve]:
        """The curves of single properties."""
        if self.binding is None:
            return {}
        return {
            name: curve
            for name, curve in self.binding.properties.items()
            if name not in self.immune
        }


@dataclass(slots=True)
class Rules:
    """All policies of a catalogue. `structural` maps (edge, label or type) to the properties in
    range, text, point and window indexes."""

    catalogue: Mapping[str, Any]
    structural: Mapping[tuple[bool, str], frozenset[str]] = field(default_factory=dict)
    bindings: list[Binding] = field(init=False)
    policies: list[Policy] = field(init=False)
    _found: dict[tuple[bool, tuple[str, ...]], Rule | None] = field(
        init=False, default_factory=dict
    )

    _of: dict[str, dict[str, dict[str, Any]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.bindings = [
            self._binding(name, held)
            for name, held in self.of("binding").items()
            if held["enabled"]
        ]
        self.policies = [
            self._policy(name, held) for name, held in self.of("policy").items() if held["enabled"]
        ]

    def of(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the entries of a kind by name, in the order of registration."""
        if kind not in self._of:
            prefix = f"{PREFIX}{kind}:"
            found = {
                name[len(prefix) :]: value
                for name, value in self.catalogue.items()
                if name.startswith(prefix)
            }
            self._of[kind] = dict(sorted(found.items(), key=lambda item: item[1]["order"]))
        return self._of[kind]

    @property
    def any(self) -> bool:
        """Whether a rule may apply to any element."""
        return bool(self.bindings or self.policies)

    def about(self, *, edge: bool) -> bool:
        """Return whether any binding or policy applies to nodes, or to edges."""
        targets = [one.target for one in self.bindings] + [one.target for one in self.policies]
        return any(target.edge is edge for target in targets)

    def hides(self, *, edge: bool) -> bool:
        """Return whether a rule may hide a node, or an edge."""
        return any(
            binding.target.edge is edge and binding.curve.decay.threshold > 0
            for binding in self.bindings
        )

    def fades(self, *, edge: bool) -> bool:
        """Return whether a rule may hide a single property of a node, or of an edge."""
        return any(
            binding.target.edge is edge
            and any(curve.decay.threshold > 0 for curve in binding.properties.values())
            for binding in self.bindings
        )

    def rule(self, names: Iterable[str], *, edge: bool) -> Rule | None:
        """Return the rule for nodes with these labels, or edges of this type; None if there is
        none."""
        key = (edge, tuple(names))
        if key not in self._found:
            self._found[key] = self._resolve(frozenset(key[1]), edge)
        return self._found[key]

    def _resolve(self, names: frozenset[str], edge: bool) -> Rule | None:
        bindings = _fitting(self.bindings, names, edge)
        policies = _fitting(self.policies, names, edge)
        if not bindings and not policies:
            return None
        immune = frozenset[str]().union(
            *(self.structural.get((edge, name), frozenset()) for name in names)
        )
        chain = [
            f"{kind} {one.name} {one.target}"
            for kind, found in (("binding", bindings), ("policy", policies))
            for one in found
        ]
        ties = [
            f"{kind} {one.name} is as specific as {found[0].name}, which was registered first"
            for kind, found in (("binding", bindings), ("policy", policies))
            for one in found[1:]
            if len(one.target.names) == len(found[0].target.names)
        ]
        return Rule(
            bindings[0] if bindings else None,
            policies[0] if policies else None,
            immune,
            tuple(chain),
            tuple(ties),
        )

    # Entries

    def _binding(self, name: str, held: Mapping[str, Any]) -> Binding:
        bundles = self.of("bundle")
        whole = _curve(held, bundles, Curve())
        properties = {
            each: _curve(levers, bundles, whole, part=True)
            for each, levers in held["properties"].items()
        }
        return Binding(
            name, Target(held["edge"], frozenset(held["names"])), held["order"], whole, properties
        )

    def _policy(self, name: str, held: Mapping[str, Any]) -> Policy:
        clauses = tuple(
            WhenClause(one["when"], one["profile"], self.promotion(one["profile"]))
            for one in held["rules"]
        )
        setters = tuple(
            Setter(one["property"], one["value"], one["kalman"]) for one in held["access"]
        )
        return Policy(
            name,
            Target(held["edge"], frozenset(held["names"])),
            held["order"],
            held["variable"],
            clauses,
            setters,
        )

    def promotion(self, profile: str) -> Promotion:
        """Return a promotion profile by name: a declared one, else a standard one. A disabled
        profile has no effect."""
        held = self.catalogue.get(f"{PREFIX}profile:{profile}")
        if held is None:
            return STANDARD_PROFILES.get(profile, NO_PROMOTION)
        return (
            Promotion(held["multiplier"], held["floor"], held["cap"])
            if held["enabled"]
            else NO_PROMOTION
        )


def _fitting(found: list[Any], names: frozenset[str], edge: bool) -> list[Any]:
    """Return those that apply to such an element, the most specific first."""
    fitting = [one for one in found if one.target.edge is edge and one.target.names <= names]
    return sorted(fitting, key=lambda one: (-len(one.target.names), one.order))


def _curve(
    levers: Mapping[str, Any],
    bundles: Mapping[str, Mapping[str, Any]],
    base: Curve,
    *,
    part: bool = False,
) -> Curve:
    """Build a curve from the named bundle and explicit levers, which override it. A property
    without its own bundle keeps the anchor and threshold of the element."""
    bundle = bundles.get(levers["profile"]) if levers["profile"] is not None else None
    if bundle is not None and not (bundle["enabled"] and bundle["decay"]):
        bundle = {**bundle, "function": "none"}
    if bundle is not None:
        decay = Decay(
            bundle["function"],
            bundle["half_life"],
            bundle["floor"],
            bundle["threshold"] or (base.decay.threshold if part else 0.0),
        )
        anchor, prop, name = bundle["from"], bundle["property"], levers["profile"]
    else:
        decay = Decay(threshold=base.decay.threshold if part else 0.0)
        anchor, prop, name = (base.anchor, base.property, None) if part else ("CREATED", None, None)
    if levers["half_life"] is not None:
        function = (
            decay.function
            if decay.function != "none"
            else base.decay.function
            if part and base.decay.function != "none"
            else "exponential"
        )
        decay = decay._replace(function=function, half_life=levers["half_life"])
    if levers["none"]:
        decay = decay._replace(function="none", half_life=0)
    if levers["floor"] is not None:
        decay = decay._replace(floor=levers["floor"])
    if levers["threshold"] is not None:
        decay = decay._replace(threshold=levers["threshold"])
    return Curve(decay, anchor, prop, name)
