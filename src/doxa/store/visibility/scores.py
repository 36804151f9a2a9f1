"""The scores of many nodes at once, for recall.

Of a rule without promotions the score follows from a time, which one statement reads for all nodes:
when the node was made, its version, or one property. Other nodes are loaded whole, with their
accesses, and judged one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from doxa.base.values import TAGGED, decode, decode_value
from doxa.policy.decay import NO_DECAY, NO_PROMOTION, Decay, scores
from doxa.policy.rules import Rule
from doxa.store.sql_values import int64_array, json_path, pushable_name
from doxa.store.visibility.access import moment_of
from doxa.store.visibility.evaluator import PolicyEvaluator
from doxa.store.visibility.window_writer import load_nodes

_Times = tuple[Decay, str]
_TIMES = (
    "SELECT id, labels, since, born, props -> ? FROM node WHERE id IN (SELECT value FROM carray(?))"
)


def scores_of(
    db: apsw.Connection, evaluator: PolicyEvaluator, identities: Sequence[int], now: int
) -> dict[int, float]:
    """Return what policies leave of those of the nodes that are there, in [0, 1]; 1 where no rule
    is about one."""
    names = {one.curve.property for one in evaluator.rules.bindings if one.curve.property}
    name = next((one for one in sorted(names) if pushable_name(one)), None)
    path = None if name is None else json_path(name)
    decays: dict[str, _Times | None] = {}  # by the labels
    aged: dict[Decay, tuple[list[int], list[int]]] = {}  # nodes and their ages
    rest: list[int] = []
    for identity, labels, since, born, given in db.execute(_TIMES, (path, int64_array(identities))):
        if labels not in decays:
            decays[labels] = _times_of(evaluator.rules.rule(decode(labels), edge=False), name)
        times = decays[labels]
        if times is None or (times[1] == "CUSTOM" and given is None):  # its accesses may have it
            rest.append(identity)
            continue
        decay, anchor = times
        if anchor == "CUSTOM":
            at = moment_of(decode(given) if TAGGED not in given else decode_value(given))
            age = now - (born if at is None else at)
        else:
            age = now - (since if anchor == "VERSION" else born)
        nodes, ages = aged.setdefault(decay, ([], []))
        nodes.append(identity)
        ages.append(age)
    found: dict[int, float] = {}
    for decay, (nodes, ages) in aged.items():
        found.update(zip(nodes, scores(decay, NO_PROMOTION, ages), strict=True))
    for subject, access, _ in load_nodes(db, rest):
        found[subject.id] = evaluator.final_score(subject, access, now)
    return found


def _times_of(rule: Rule | None, name: str | None) -> _Times | None:
    """Return a rule's decay and what its ages count from; None if a score takes more than that."""
    if rule is None:
        return NO_DECAY, "CREATED"
    curve = rule.curve
    if rule.policy is not None and rule.policy.clauses:
        return None
    if curve.anchor == "LAST_ACCESSED" or (curve.anchor == "CUSTOM" and curve.property != name):
        return None
    return curve.decay, curve.anchor
