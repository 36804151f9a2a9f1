"""What a catalogue declares, parsed once for each state of it: guards, search rows, indexes,
constraints, persistence policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from doxa.policy.rules import PREFIX, Rules
from doxa.store.constraint import Constraints
from doxa.store.guard import Guards
from doxa.store.index import Indexes, IndexRule
from doxa.store.indexing.search_rows import rules_of
from doxa.store.indexing.search_texts import SearchRules
from doxa.store.scope.quota import QUOTA, Quota, parse_quota
from doxa.store.visibility.evaluator import Expressions, PolicyEvaluator

# [edge types]: what a transaction changes of them is returned by Transaction.drain_dirty
SUPPORT = "support"
SUPPRESSING = "suppressing"  # {"node": bool, "edge": bool}: whether any was ever suppressed by hand
_STRUCTURAL = frozenset(("range", "text", "point"))


class Declared(NamedTuple):
    guards: Guards
    search: SearchRules
    indexes: Indexes
    constraints: Constraints
    evaluator: PolicyEvaluator
    suppressing: Mapping[str, bool]
    support: frozenset[str]  # types of edges by which one node depends on another
    quota: Quota | None  # how much the file may hold
    swept: Mapping[str, int]  # how far a change of policies has come, by kind; usually empty

    def hides(self, *, edge: bool) -> bool:
        """Return whether a node, or an edge, may be hidden."""
        suppressed = self.suppressing.get("edge" if edge else "node", False)
        return suppressed or self.evaluator.rules.hides(edge=edge)


def declared(
    catalogue: dict[str, Any],
    expressions: Expressions | None = None,
    swept: Mapping[str, int] | None = None,
) -> Declared:
    indexes = Indexes(catalogue)
    rules = Rules(
        {name: value for name, value in catalogue.items() if name.startswith(PREFIX)},
        structural_of(indexes.rules),
    )
    return Declared(
        Guards(catalogue),
        rules_of(catalogue),
        indexes,
        Constraints(catalogue),
        PolicyEvaluator(rules, expressions),
        catalogue.get(SUPPRESSING) or {},
        frozenset(catalogue.get(SUPPORT) or ()),
        parse_quota(catalogue[QUOTA]) if catalogue.get(QUOTA) else None,
        swept or {},
    )


def structural_of(rules: Iterable[IndexRule]) -> dict[tuple[bool, str], frozenset[str]]:
    """Return the properties that indexes lead by, by (edge, label or type): they never fade, so
    that lookups, sums and joins hold."""
    found: dict[tuple[bool, str], frozenset[str]] = {}
    for rule in rules:
        for name in rule.names if rule.kind in _STRUCTURAL or rule.window else ():
            found[rule.edge, name] = found.get((rule.edge, name), frozenset()) | set(
                rule.properties
            )
    return found


def kinds_changed(before: Rules, after: Rules) -> tuple[bool, bool]:
    """Return whether the rules of nodes, and those of edges, are others."""
    return _changed(before, after, False), _changed(before, after, True)


def _changed(before: Rules, after: Rules, edge: bool) -> bool:
    def held(rules: Rules) -> tuple[object, ...]:
        named = {
            name: one for (of_edges, name), one in rules.structural.items() if of_edges is edge
        }
        bindings = [one for one in rules.bindings if one.target.edge is edge]
        return (
            bindings,
            [one for one in rules.policies if one.target.edge is edge],
            named if any(one.properties for one in bindings) else {},
        )

    return held(before) != held(after)
