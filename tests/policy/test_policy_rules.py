"""Which rule applies to an element and which curve it has, compared with the definition spelled out
once more over random catalogues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from doxa.policy.decay import NO_PROMOTION, Decay, Promotion
from doxa.policy.rules import STANDARD_PROFILES, Curve, Rules

Catalogue = dict[str, Any]
LABELS = ("A", "B", "C")
SHARE = st.sampled_from([0.0, 0.1, 0.5])
LEVERS = st.fixed_dictionaries(
    {
        "profile": st.none() | st.sampled_from(["week", "slow", "missing"]),
        "half_life": st.none() | st.sampled_from([60, -60]),
        "floor": st.none() | SHARE,
        "threshold": st.none() | SHARE,
        "none": st.booleans(),
    }
)
BUNDLE = st.fixed_dictionaries(
    {
        "function": st.sampled_from(["exponential", "linear", "step", "none"]),
        "half_life": st.sampled_from([7, -7]),
        "floor": SHARE,
        "threshold": SHARE,
        "from": st.sampled_from(["CREATED", "CUSTOM"]),
        "property": st.none() | st.just("at"),
        "enabled": st.booleans(),
        "decay": st.booleans(),
    }
)
NAMES = st.lists(st.sampled_from(LABELS), max_size=3, unique=True)
TARGET = {"edge": st.booleans(), "names": NAMES, "enabled": st.sampled_from([True, True, False])}
BINDING = st.builds(
    lambda target, levers, properties: {**target, **levers, "properties": properties},
    st.fixed_dictionaries(TARGET),
    LEVERS,
    st.dictionaries(st.sampled_from(["x", "y"]), LEVERS, max_size=2),
)
POLICY = st.builds(
    lambda target, rules: {**target, "variable": "n", "rules": rules, "access": []},
    st.fixed_dictionaries(TARGET),
    st.lists(
        st.builds(
            lambda name: {"when": "n.x > 1", "profile": name},
            st.sampled_from(["mine", "reinforced", "unknown"]),
        ),
        max_size=2,
    ),
)
PROFILE = st.fixed_dictionaries(
    {
        "multiplier": st.sampled_from([0.5, 2.0]),
        "floor": SHARE,
        "cap": st.sampled_from([0.5, 1.0]),
        "enabled": st.booleans(),
    }
)


def _catalogue(
    bundles: Mapping[str, Any],
    profiles: Mapping[str, Any],
    bindings: list[Any],
    policies: list[Any],
) -> Catalogue:
    """Entries by key. The order of registration is not that of the names."""
    found = {f"policy:bundle:{name}": value for name, value in bundles.items()}
    found |= {f"policy:profile:{name}": value for name, value in profiles.items()}
    found |= {f"policy:binding:{9 - at}": value for at, value in enumerate(bindings)}
    found |= {f"policy:policy:{9 - at}": value for at, value in enumerate(policies)}
    entries = {key: {**value, "order": order} for order, (key, value) in enumerate(found.items())}
    return dict(sorted(entries.items())) | {"search:other": 1}


CATALOGUES = st.builds(
    _catalogue,
    st.dictionaries(st.sampled_from(["week", "slow"]), BUNDLE, max_size=2),
    st.dictionaries(st.sampled_from(["mine", "reinforced"]), PROFILE, max_size=2),
    st.lists(BINDING, max_size=5),
    st.lists(POLICY, max_size=4),
)


def entries(catalogue: Catalogue, kind: str) -> list[tuple[str, Any]]:
    """The enabled entries of a kind, as they were registered."""
    prefix = f"policy:{kind}:"
    found = [(key.removeprefix(prefix), value) for key, value in catalogue.items()]
    return sorted(
        ((name, value) for name, value in found if prefix + name in catalogue and value["enabled"]),
        key=lambda entry: entry[1]["order"],
    )


def shown(name: str, value: Any, kind: str) -> str:
    inner = "".join(f":{label}" for label in sorted(value["names"]))
    return f"{kind} {name} " + (f"()-[{inner}]-()" if value["edge"] else f"({inner})")


@given(CATALOGUES, st.booleans(), NAMES)
def test_the_most_specific_and_first_registered_applies(
    catalogue: Catalogue, edge: bool, names: list[str]
) -> None:
    structural = {(False, "A"): frozenset("x"), (True, "B"): frozenset("y")}
    rules = Rules(catalogue, structural)
    rule = rules.rule(names, edge=edge)
    assert rules.rule(names, edge=edge) is rule
    chain, ties, first = [], [], {}
    for kind in ("binding", "policy"):
        fitting = [
            (name, value)
            for name, value in entries(catalogue, kind)
            if value["edge"] == edge and set(value["names"]) <= set(names)
        ]
        fitting.sort(key=lambda entry: len(entry[1]["names"]), reverse=True)  # stable
        chain += [shown(name, value, kind) for name, value in fitting]
        first[kind] = fitting[0][0] if fitting else None
        ties += [
            f"{kind} {name} is as specific as {first[kind]}, which was registered first"
            for name, value in fitting[1:]
            if len(value["names"]) == len(fitting[0][1]["names"])
        ]
    if not chain:
        assert rule is None
        return
    assert rule is not None
    assert (list(rule.chain), list(rule.ties)) == (chain, ties)
    assert (rule.binding and rule.binding.name, rule.policy and rule.policy.name) == (
        first["binding"],
        first["policy"],
    )
    immune = {"x"} if (not edge and "A" in names) else {"y"} if (edge and "B" in names) else set()
    assert set(rule.immune) == immune
    if rule.binding is None:
        assert rule.curve == Curve() and rule.properties == {}
    else:
        assert rule.curve == rule.binding.curve
        assert set(rule.properties) == set(rule.binding.properties) - immune


@given(CATALOGUES)
def test_what_a_catalogue_may_do_to_nodes_and_edges(catalogue: Catalogue) -> None:
    """Asked before elements are read, so that those of no rule cost nothing."""
    rules = Rules(catalogue)
    bindings, policies = entries(catalogue, "binding"), entries(catalogue, "policy")
    assert [one.name for one in rules.bindings] == [name for name, _ in bindings]
    assert [one.name for one in rules.policies] == [name for name, _ in policies]
    assert rules.any == bool(bindings or policies)
    for edge in (False, True):
        curves = [one for one in rules.bindings if one.target.edge == edge]
        assert rules.about(edge=edge) == any(
            value["edge"] == edge for _, value in bindings + policies
        )
        assert rules.hides(edge=edge) == any(one.curve.decay.threshold > 0 for one in curves)
        assert rules.fades(edge=edge) == any(
            curve.decay.threshold > 0 for one in curves for curve in one.properties.values()
        )


def curve_of(levers: Mapping[str, Any], catalogue: Catalogue, whole: Curve | None) -> Curve:
    """The curve by its bundle, then its levers. `whole`: that of the element, for a property."""
    bundle = catalogue.get(f"policy:bundle:{levers['profile']}")
    outer = whole or Curve()
    if bundle is None:
        function, half_life, floor, threshold = "none", 0, 0.0, outer.decay.threshold
        anchor, prop, name = outer.anchor, outer.property, None
    else:
        acts = bundle["enabled"] and bundle["decay"]
        function = bundle["function"] if acts else "none"
        half_life, floor, threshold = bundle["half_life"], bundle["floor"], bundle["threshold"]
        threshold = threshold if threshold != 0 else outer.decay.threshold
        anchor, prop, name = bundle["from"], bundle["property"], levers["profile"]
    if levers["half_life"] is not None:
        half_life = levers["half_life"]
        functions = [function, outer.decay.function, "exponential"]
        function = next(one for one in functions if one != "none")
    if levers["none"]:
        function, half_life = "none", 0
    floor = floor if levers["floor"] is None else levers["floor"]
    threshold = threshold if levers["threshold"] is None else levers["threshold"]
    return Curve(Decay(function, half_life, floor, threshold), anchor, prop, name)


@given(CATALOGUES)
def test_a_curve_is_its_bundle_with_the_levers_over_it(catalogue: Catalogue) -> None:
    for binding in Rules(catalogue).bindings:
        held = catalogue[f"policy:binding:{binding.name}"]
        whole = curve_of(held, catalogue, None)
        assert binding.curve == whole
        assert binding.properties == {
            name: curve_of(levers, catalogue, whole) for name, levers in held["properties"].items()
        }


@given(CATALOGUES)
def test_a_declared_profile_overrides_a_standard_one(catalogue: Catalogue) -> None:
    for policy in Rules(catalogue).policies:
        for clause, rule in zip(
            policy.clauses, catalogue[f"policy:policy:{policy.name}"]["rules"], strict=True
        ):
            declared = catalogue.get(f"policy:profile:{rule['profile']}")
            if declared is None:
                wanted = STANDARD_PROFILES.get(rule["profile"], NO_PROMOTION)
            elif declared["enabled"]:
                wanted = Promotion(declared["multiplier"], declared["floor"], declared["cap"])
            else:
                wanted = NO_PROMOTION
            assert clause == ("n.x > 1", rule["profile"], wanted)
