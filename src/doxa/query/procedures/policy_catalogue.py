"""List the persistence policies as rows, for SHOW and for doxa.policy.*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doxa.policy.rules import Curve
from doxa.query.procedures.registry import Rows
from doxa.store import PolicyEvaluator
from doxa.store.retention.policies import policies_of

SYSTEM = "doxa"


def policy_evaluator(run: Any) -> PolicyEvaluator:
    found: PolicyEvaluator = run.graph.reader.declared().evaluator
    return found


def _target(held: Mapping[str, Any]) -> str:
    inner = "".join(f":{name}" for name in held["names"])
    return f"()-[{inner}]-()" if held["edge"] else f"({inner})"


def _scope(held: Mapping[str, Any]) -> str:
    return "EDGE" if held["edge"] else "NODE"


# SHOW


def decay_profiles(run: Any, detail: str) -> Rows:
    rules = policy_evaluator(run).rules
    for name, held in rules.of("bundle").items():
        yield "bundle", name, held["scope"], None, None, held["enabled"]
    for name, held in rules.of("binding").items():
        yield "binding", name, _scope(held), _target(held), held["profile"], held["enabled"]


def promotion_profiles(run: Any, detail: str) -> Rows:
    for name, held in policy_evaluator(run).rules.of("profile").items():
        yield name, held["scope"], held["multiplier"], held["floor"], held["cap"], held["enabled"]


def promotion_policies(run: Any, detail: str) -> Rows:
    for name, held in policy_evaluator(run).rules.of("policy").items():
        yield (
            name,
            _scope(held),
            _target(held),
            held["enabled"],
            len(held["rules"]),
            len(held["access"]),
        )


def retention_policies(run: Any, detail: str) -> Rows:
    for policy in policies_of(run.graph.reader.catalogue_all("retention:")):
        held = {"edge": policy.edge, "names": sorted(policy.names)}
        spans = (policy.past, policy.log, policy.accesses)
        seconds = [None if span is None else span // 1_000_000_000 for span in spans]
        yield policy.name, _scope(held), _target(held), policy.project, *seconds


# The catalogue in rows


def policy_info(run: Any) -> Rows:
    rules = policy_evaluator(run).rules
    counts = [len(rules.of(kind)) for kind in ("bundle", "binding", "profile", "policy")]
    yield not run.graph.reader.neutral, SYSTEM, *counts, "Cypher"


def profile_rows(run: Any) -> Rows:
    """Yield bundles, bindings and promotion profiles, each row with the columns of all three."""
    rules = policy_evaluator(run).rules
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


def profiles_with_properties(run: Any) -> Rows:
    """Return the same rows, and the settings of bindings for single properties."""
    yield from profile_rows(run)
    rules = policy_evaluator(run).rules
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


def policy_rows(run: Any) -> Rows:
    rules = policy_evaluator(run).rules
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


def deindex_status(run: Any) -> Rows:
    """Report the windows that are still to be updated after a change of policies. Searches skip
    hidden elements at once; no other work is pending."""
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
