"""Register the procedures of persistence policies: doxa.policy.* and nornicdb.knowledgepolicy.*.

CALL doxa.policy.explain(reveal(n))
why an element is visible or hidden, by which rule, and when that changes

CALL doxa.policy.simulate($ddl, duration('P30D'))
what a change of policies would hide and when; nothing is written"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from doxa.cypher.semantics.signatures import ProcedureSignature
from doxa.query.core.elements import Edge, Node
from doxa.query.core.errors import fail, shown
from doxa.query.procedures.policy_catalogue import (
    deindex_status,
    policy_info,
    policy_rows,
    profile_rows,
    profiles_with_properties,
)
from doxa.query.procedures.policy_explain import explain_element, resolve_element
from doxa.query.procedures.policy_simulate import simulate
from doxa.query.procedures.registry import RegisteredProcedure, Registry, Rows

# By hand


def _suppress(run: Any, value: Any, *, hidden: bool) -> Rows:

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
        policy_info,
    ),
    ("profiles", (), _PROFILE_COLUMNS, "Decay profiles: bundles and bindings.", profile_rows),
    ("policies", (), _POLICY_COLUMNS, "Promotion profiles and promotion policies.", policy_rows),
    (
        "resolve",
        (("entityId", "STRING"), ("labels", "STRING"), ("edgeType", "STRING")),
        _RESOLVED,
        "Which policies an element, labels (separated by commas) or a type are under.",
        resolve_element,
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
        deindex_status,
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
        explain_element,
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
        simulate,
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
    """Register the procedures of persistence policies under both prefixes."""
    for name, args, columns, description, call in _BOTH:
        for prefix in ("nornicdb.knowledgepolicy", "doxa.policy"):
            results = tuple((column, "ANY") for column in columns)
            carry_out = (
                profiles_with_properties if (prefix, name) == ("doxa.policy", "profiles") else call
            )
            registry.add(
                RegisteredProcedure(
                    ProcedureSignature(
                        f"{prefix}.{name}", args, results, False, len(args), description
                    ),
                    carry_out,
                )
            )
    for name, args, optional, columns, writes, description, call in _OWN:
        results = tuple((column, "ANY") for column in columns)
        registry.add(
            RegisteredProcedure(
                ProcedureSignature(
                    f"doxa.policy.{name}", args, results, writes, optional, description
                ),
                call,
            )
        )
