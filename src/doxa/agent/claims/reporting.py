"""What may be given to a prompt, and what is worth an operator's look. Pure functions of records.

The live gate: accepted claims alone, in the mode enforce, whose belief is held still, whose
sources bear them out still, and whose policy asks for no check first; at most 8, of one kind and
of one type of source at most half, and at most 3 whose sources are handoffs only. Any limit that is
met leaves out the older claim.

The report promotes nothing. Of each candidate it says how often it recurs, over how many types of
source, how old it is, what it is in tension with, and whether it is ready for a decision; it joins
what says nearly the same into clusters.

    same        half or more of all terms of both are shared (Jaccard), with the same denial
    tension     a third or more are shared, and denial or numbers differ
    ready       its sources resolved when it was made, it is in no tension, and is not of identity
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from doxa.agent.claims.claims import SETTLED
from doxa.agent.claims.handles import RANKS, parse_handle
from doxa.agent.claims.types import DECISION
from doxa.agent.claims.verdicts import DENIAL_COUNTED
from doxa.agent.records.types import Record
from doxa.agent.signals.patterns import denies
from doxa.base.clock import NS
from doxa.base.limits import CLAIMS_LIVE_HANDOFF_ITEMS_MAX, CLAIMS_LIVE_ITEMS_MAX
from doxa.base.words import terms
from doxa.consolidation.evidence import is_denied, numbers_in

SAME_MIN, TENSION_MIN = 0.5, 1 / 3  # chosen and not fitted; a report decides nothing
_DAY_NS = 86_400 * NS


@dataclass(frozen=True, slots=True)
class ClaimSignal:
    """What is known of one candidate. `recurrence` counts the candidates of its cluster,
    `diversity` the types of their sources, `authority` is the rank of its best source, 1 to 5."""

    kref: str
    text: str
    kind: str
    sources: tuple[str, ...]
    recurrence: int
    diversity: int
    age_days: int
    authority: int
    tensions: tuple[str, ...]
    is_ready: bool


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """The candidates, the clusters of what says the same, and the pairs in tension. `promoted` and
    `written` are what the report did: nothing."""

    claims: tuple[ClaimSignal, ...]
    clusters: tuple[tuple[str, ...], ...]
    tensions: tuple[tuple[str, str], ...]
    promoted: int = 0
    written: int = 0


def live(
    claims: Iterable[Record],
    *,
    now_ns: int,
    is_held: Callable[[str], bool],
    is_backed: Callable[[Record], bool],
    limit: int,
) -> list[Record]:
    """Return the accepted claims that may be given to a prompt, the newest first."""
    most = min(limit, CLAIMS_LIVE_ITEMS_MAX)
    half = CLAIMS_LIVE_ITEMS_MAX // 2
    kinds: Counter[str] = Counter()
    types: Counter[str] = Counter()
    chosen: list[Record] = []
    handoffs = 0
    for claim in sorted(claims, key=lambda one: (-(one.moved or 0), one.kref)):
        found = types_of(claim)
        only = found == {"handoff"}
        if (
            len(chosen) >= most
            or not _may_be_said(claim, now_ns)
            or kinds[str(claim.data["kind"])] >= half
            or any(types[one] >= half for one in found)
            or (only and handoffs >= CLAIMS_LIVE_HANDOFF_ITEMS_MAX)
            or not is_held(str(claim.notes[DECISION]["belief"]))
            or not is_backed(claim)
        ):
            continue
        chosen.append(claim)
        kinds[str(claim.data["kind"])] += 1
        types.update(found)
        handoffs += only
    return chosen


def _may_be_said(claim: Record, now_ns: int) -> bool:
    if claim.state != "accepted" or claim.data["policy"] not in SETTLED:
        return False
    lasts_s = int(claim.data["expires_s"])
    return not lasts_s or (claim.moved or 0) + lasts_s * NS > now_ns


def types_of(claim: Record) -> set[str]:
    """Return the types of the sources of a claim."""
    return {parse_handle(str(one["handle"])).type for one in claim.data["sources"]}


def report(claims: Sequence[Record], *, now_ns: int) -> ClaimReport:
    """Return what there is to see of candidates."""
    words = {one.kref: frozenset(terms(one.text)) for one in claims}
    by_kref = {one.kref: one for one in claims}
    cluster = {kref: kref for kref in words}
    tensions: list[tuple[str, str]] = []
    ordered = sorted(words)
    for number, one in enumerate(ordered):
        for other in ordered[number + 1 :]:
            shared = _shared(words[one], words[other])
            if shared < TENSION_MIN:
                continue
            if _differs(by_kref[one].text, by_kref[other].text):
                tensions.append((one, other))
            elif shared >= SAME_MIN:
                cluster[_top(cluster, other)] = _top(cluster, one)
    against: dict[str, list[str]] = {}
    for one, other in tensions:
        against.setdefault(one, []).append(other)
        against.setdefault(other, []).append(one)
    members: dict[str, list[str]] = {}
    for kref in ordered:
        members.setdefault(_top(cluster, kref), []).append(kref)
    signals = tuple(
        _signal(
            one,
            [by_kref[kref] for kref in members[_top(cluster, one.kref)]],
            tuple(against.get(one.kref, ())),
            now_ns,
        )
        for one in claims
    )
    clusters = tuple(tuple(found) for found in members.values() if len(found) > 1)
    return ClaimReport(signals, clusters, tuple(tensions))


def _signal(
    claim: Record, alike: Sequence[Record], against: tuple[str, ...], now_ns: int
) -> ClaimSignal:
    types = {one for member in alike for one in types_of(member)}
    resolved = all(one["hash"] for one in claim.data["sources"])
    return ClaimSignal(
        claim.kref,
        claim.text,
        str(claim.data["kind"]),
        tuple(str(one["handle"]) for one in claim.data["sources"]),
        len(alike),
        len(types),
        max(0, (now_ns - claim.made) // _DAY_NS),
        max(RANKS[one] for one in types_of(claim)),
        against,
        resolved and not against and claim.data["kind"] != "identity",
    )


def _shared(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _differs(one: str, other: str) -> bool:
    """Return whether two texts that share words cannot both be meant: one denies, or numbers
    differ."""
    if is_denied(one) != is_denied(other):
        return True
    if denies(one, DENIAL_COUNTED) != denies(other, DENIAL_COUNTED):
        return True
    numbers = frozenset(numbers_in(one)), frozenset(numbers_in(other))
    return bool(numbers[0] and numbers[1]) and numbers[0] != numbers[1]


def _top(cluster: dict[str, str], kref: str) -> str:
    while cluster[kref] != kref:
        cluster[kref] = cluster[cluster[kref]]
        kref = cluster[kref]
    return kref
