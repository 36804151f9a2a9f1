"""The refiner: what the outcomes of an agent say about how it works. It reads the ledger, gives
scores and signatures of failure with their evidence, and drafts proposals. It changes nothing.

    score                 1 is good; none where there is nothing to judge
    success               outcomes that did not fail or stop
    verification          acts whose effect was verified
    evidence              verified outcomes by another's evidence than the agent's own words
    steadiness            no failure of one kind came again
    completion            acts that were not interrupted or rolled back

    signature             at least this many outcomes
    repeated_failure      2 of one failure class
    correction_repair     2 rolled back
    unverified_work       3 in a row observed and never verified
    interrupted_work      2 interrupted
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from doxa.agent.records.types import Record
from doxa.base.limits import SCAFFOLD_EVIDENCE_ITEMS_MIN

_ACTS = ("observed", "verified", "rolled_back", "failed", "interrupted")
_UNVERIFIED_RUN = 3


@dataclass(frozen=True, slots=True)
class FailureSignature:
    """A pattern of failure: its name, what it is of, and the outcomes that show it."""

    name: str
    of: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refined:
    """What the refiner found: scores from 0 to 1 by axis, signatures, and addresses of the
    proposals that were written.
    """

    outcomes: int
    scores: dict[str, float]
    signatures: tuple[FailureSignature, ...]
    proposals: tuple[str, ...] = ()


def refine(outcomes: Sequence[Record]) -> Refined:
    """Score the outcomes of an agent, given in the order of their time."""
    acts = [one for one in outcomes if one.state in _ACTS]
    failed = [one for one in acts if one.state == "failed"]
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for one in failed:
        classes[str(one.data["failure_class"])].append(one.kref)
    repeated = {
        name: krefs for name, krefs in classes.items() if len(krefs) >= SCAFFOLD_EVIDENCE_ITEMS_MIN
    }
    verified = [one for one in acts if one.state == "verified"]
    undone = [one.kref for one in acts if one.state == "rolled_back"]
    stopped = [one.kref for one in acts if one.state == "interrupted"]
    done = [one for one in acts if one.state in ("observed", "verified")]
    scores: dict[str, float] = {}
    if acts:
        again = sum(len(krefs) - 1 for krefs in repeated.values())
        scores["success"] = 1 - len(failed) / len(acts)
        scores["steadiness"] = 1 - again / len(acts)
        scores["completion"] = 1 - (len(undone) + len(stopped)) / len(acts)
    if done:
        scores["verification"] = len(verified) / len(done)
    if verified:
        named = [one for one in verified if one.data["evidence"]]
        scores["evidence"] = len(named) / len(verified)
    found = [
        FailureSignature("repeated_failure", name, tuple(krefs)) for name, krefs in repeated.items()
    ]
    if len(undone) >= SCAFFOLD_EVIDENCE_ITEMS_MIN:
        found.append(FailureSignature("correction_repair", "rolled_back", tuple(undone)))
    if len(stopped) >= SCAFFOLD_EVIDENCE_ITEMS_MIN:
        found.append(FailureSignature("interrupted_work", "interrupted", tuple(stopped)))
    run = _unverified(acts)
    if run:
        found.append(FailureSignature("unverified_work", "observed", run))
    rounded = {name: round(value, 4) for name, value in sorted(scores.items())}
    return Refined(len(outcomes), rounded, tuple(found))


def _unverified(acts: Sequence[Record]) -> tuple[str, ...]:
    """Return the longest run of acts that were observed and not verified, if it is long enough."""
    best: list[str] = []
    run: list[str] = []
    for one in acts:
        run = [*run, one.kref] if one.state == "observed" else []
        best = run if len(run) > len(best) else best
    return tuple(best) if len(best) >= _UNVERIFIED_RUN else ()
