"""Every postulate for every small case: each base, in each order, with each input, for three
operators.

Masks are sets of worlds (agm_universe.py): X entails Y where X & ~Y is empty, and Cn is not needed.
The operator itself is the product's own, `doxa.logic.revision.maximal`, run for all inputs at
once; that it gives the same on sentences and with the solver is checked too.

Sources: Alchourrón, Gärdenfors and Makinson, JSL 1985 (K*1-K*8, Recovery, Levi, Harper); Hansson,
"A Textbook of Belief Dynamics", 1999 (bases); Darwiche and Pearl, Artificial Intelligence 89, 1997
(C1-C4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.agm_universe import AllInputs, Flags, Masks, Universe, pairs_below, subset_meets
from doxa.logic.revision import contract_whole, maximal
from doxa.logic.sentence import Atom

_PAIRS_AT_ONCE = 1 << 22


@dataclass
class Finding:
    """One postulate of one operator: how often it was checked, and the first case in which it
    failed."""

    checked: int = 0
    failed: int = 0
    counterexample: str = ""


@dataclass
class Findings:
    """By operator and postulate, in the order of asking."""

    found: dict[tuple[str, str], Finding] = field(default_factory=dict)

    def see(
        self, operator: str, postulate: str, holds: Flags, describe: Callable[[int], str]
    ) -> None:
        """Count a check of many cases; of the first that fail the one with the shortest description
        is kept."""
        finding = self.found.setdefault((operator, postulate), Finding())
        finding.checked += holds.size
        wrong = np.flatnonzero(~holds)
        finding.failed += len(wrong)
        if len(wrong) and not finding.counterexample:
            finding.counterexample = min(
                (describe(int(i)) for i in wrong[:200]), key=lambda text: (len(text), text)
            )

    def see_one(self, operator: str, postulate: str, holds: bool, case: str) -> None:
        """Count one case."""
        self.see(operator, postulate, np.array([holds]), lambda _: case)

    def holds(self, operator: str, postulate: str) -> bool:
        """Whether it was checked, and never failed."""
        finding = self.found.get((operator, postulate))
        return finding is not None and finding.checked > 0 and finding.failed == 0


class Base(NamedTuple):
    """A base of sentences with what was computed of it: `meets` of every part, and the revision and
    contraction by every input."""

    universe: Universe
    members: tuple[int, ...]
    meets: Masks
    revised: Masks
    revised_kept: Masks
    contracted: Masks
    contracted_kept: Masks

    @property
    def all_of_it(self) -> int:
        return int(self.meets[-1])

    def text(self) -> str:
        return "{" + ", ".join(map(self.universe.text, self.members)) + "}"


def compute(universe: Universe, members: tuple[int, ...]) -> Base:
    """Both operations by every input at once."""
    inputs = np.arange(universe.everything + 1, dtype=np.uint32)
    meets = np.array(subset_meets(members, universe.everything), dtype=np.uint32)
    revising = AllInputs(inputs)
    revised_kept = _bits(maximal(members, revising), len(inputs))
    contracting = AllInputs(np.uint32(universe.everything) & ~inputs)
    contracted_kept = _bits(maximal(members, contracting), len(inputs))
    contracted_kept[universe.everything] = len(meets) - 1  # what is always true cannot be given up
    return Base(
        universe,
        members,
        meets,
        revising.state,
        revised_kept,
        meets[contracted_kept],
        contracted_kept,
    )


def _bits(flags: Sequence[Flags], count: int) -> Masks:
    found = np.zeros(count, dtype=np.uint32)
    for i, flag in enumerate(flags):
        found |= flag.astype(np.uint32) << np.uint32(i)
    return found


def check_linear(
    findings: Findings,
    operator: str,
    universe: Universe,
    bases: Iterable[tuple[int, ...]],
    *,
    supplementary: bool = True,
    iterated: bool = True,
) -> int:
    """All postulates over the given bases of one universe; returns how many bases there were.
    `supplementary` (K*7, K*8) and `iterated` (C1-C4) look at pairs of inputs."""
    count = 0
    for members in bases:
        base = compute(universe, members)
        _basic(findings, operator, base)
        if supplementary:
            _supplementary(findings, operator, base)
        _base_revision(findings, operator, base)
        _base_contraction(findings, operator, base)
        _identities(findings, operator, base)
        if iterated:
            _iterated(findings, operator, base)
        count += 1
    return count


def _basic(findings: Findings, operator: str, base: Base) -> None:
    """K*2 to K*5 of the consequences of the result. (K*1 is that they are consequences, K*6 that
    the input is a set of worlds.)"""
    inputs, revised = _inputs(base), base.revised
    expanded = np.uint32(base.all_of_it) & inputs
    findings.see(operator, "K*2 success", (revised & ~inputs) == 0, _one(base))
    findings.see(operator, "K*3 inclusion", (expanded & ~revised) == 0, _one(base))
    findings.see(
        operator, "K*4 vacuity", (expanded == 0) | ((revised & ~expanded) == 0), _one(base)
    )
    findings.see(operator, "K*5 consistency", (inputs == 0) | (revised != 0), _one(base))


def _supplementary(findings: Findings, operator: str, base: Base) -> None:
    """K*7 and K*8 for each pair A, C; only A and A∧C matter, since the result of revising by A is
    within A (K*2)."""
    all_above, all_both = _pairs(len(base.universe.worlds))
    for start in range(0, len(all_above), _PAIRS_AT_ONCE):
        above, both = (part[start : start + _PAIRS_AT_ONCE] for part in (all_above, all_both))
        narrower, joined = base.revised[both], base.revised[above] & both
        describe = _two(base, above, both)
        findings.see(operator, "K*7 superexpansion", (joined & ~narrower) == 0, describe)
        findings.see(
            operator, "K*8 subexpansion", (joined == 0) | ((narrower & ~joined) == 0), describe
        )


def _base_revision(findings: Findings, operator: str, base: Base) -> None:
    """Hansson's postulates of base revision, with the input next to the base."""
    inputs, kept = _inputs(base), base.revised_kept
    clashes = [
        (meet & inputs) == 0 for meet in base.meets
    ]  # by part of the base: whether it contradicts the input
    whole = np.uint32(len(base.meets) - 1)
    findings.see(operator, "base revision: vacuity", clashes[-1] | (kept == whole), _one(base))
    relevant, core = _reasons(base, kept, clashes)
    possible = inputs == 0  # an impossible input cannot have a belief as its reason
    findings.see(operator, "base revision: relevance", relevant | possible, _one(base))
    findings.see(operator, "base revision: core-retainment", core | possible, _one(base))
    findings.see(operator, "base revision: uniformity", _uniform(clashes, kept), _one(base))


def _base_contraction(findings: Findings, operator: str, base: Base) -> None:
    """Hansson's postulates of base contraction."""
    inputs, kept = _inputs(base), base.contracted_kept
    entails = [(meet & ~inputs) == 0 for meet in base.meets]
    always = inputs == base.universe.everything
    whole = np.uint32(len(base.meets) - 1)
    findings.see(
        operator, "contraction: success", always | ((base.contracted & ~inputs) != 0), _one(base)
    )
    findings.see(operator, "contraction: inclusion", (kept & ~whole) == 0, _one(base))
    findings.see(operator, "contraction: vacuity", entails[-1] | (kept == whole), _one(base))
    relevant, core = _reasons(base, kept, entails)
    findings.see(operator, "contraction: relevance", relevant, _one(base))
    findings.see(operator, "contraction: core-retainment", core, _one(base))
    findings.see(operator, "contraction: uniformity", _uniform(entails, kept), _one(base))
    findings.see(
        operator,
        "contraction: recovery",
        (base.contracted & inputs & ~np.uint32(base.all_of_it)) == 0,
        _one(base),
    )


def _identities(findings: Findings, operator: str, base: Base) -> None:
    """Levi and Harper, of what is kept of the base and of the consequences."""
    inputs = _inputs(base)
    denied = np.uint32(base.universe.everything) & ~inputs
    possible = inputs != 0
    findings.see(
        operator,
        "Levi, of bases",
        ~possible | (base.revised_kept == base.contracted_kept[denied]),
        _one(base),
    )
    findings.see(
        operator,
        "Levi, of consequences",
        base.revised == (base.contracted[denied] & inputs),
        _one(base),
    )
    findings.see(
        operator,
        "Harper, of bases",
        (denied == 0) | (base.contracted_kept == base.revised_kept[denied]),
        _one(base),
    )
    harper = np.uint32(base.all_of_it) | base.revised[denied]
    findings.see(operator, "Harper, of consequences", base.contracted == harper, _one(base))


def _iterated(findings: Findings, operator: str, base: Base) -> None:
    """Darwiche and Pearl: what was put in first is the most entrenched of the next base, what was
    given up is gone."""
    inputs = _inputs(base)
    for first in range(
        1, base.universe.everything + 1
    ):  # what cannot be true leaves no base to go on with
        kept = [
            member for i, member in enumerate(base.members) if base.revised_kept[first] >> i & 1
        ]
        again = AllInputs(inputs)
        maximal([first, *kept], again)
        twice, said = again.state, np.uint32(first)
        within, outside = (inputs & ~said) == 0, (inputs & said) == 0
        describe = _then(base, first)
        findings.see(operator, "Darwiche-Pearl C1", ~within | (twice == base.revised), describe)
        findings.see(operator, "Darwiche-Pearl C2", ~outside | (twice == base.revised), describe)
        findings.see(
            operator,
            "Darwiche-Pearl C3",
            ((base.revised & ~said) != 0) | ((twice & ~said) == 0),
            describe,
        )
        findings.see(
            operator,
            "Darwiche-Pearl C4",
            ((base.revised & said) == 0) | ((twice & said) != 0),
            describe,
        )


def _reasons(base: Base, kept: Masks, forbidden: Sequence[Flags]) -> tuple[Flags, Flags]:
    """For each input: whether each belief given up has a part of the base that is not forbidden and
    is with it, among those that hold all that was kept (relevance), or any part (core-retainment).
    """
    relevant = np.ones(len(kept), dtype=np.bool_)
    core = np.ones(len(kept), dtype=np.bool_)
    for i in range(len(base.members)):
        bit = 1 << i
        gone = (kept & np.uint32(bit)) == 0
        found, found_within = (np.zeros(len(kept), dtype=np.bool_) for _ in range(2))
        for part in range(len(base.meets)):
            if not part & bit:
                turns = ~forbidden[part] & forbidden[part | bit]
                found |= turns
                found_within |= turns & ((kept & ~np.uint32(part)) == 0)
        relevant &= ~gone | found_within
        core &= ~gone | found
    return relevant, core


def _uniform(forbidden: Sequence[Flags], kept: Masks) -> Flags:
    """Inputs that forbid the same parts of the base leave the same of it."""
    signature = np.zeros(len(kept), dtype=np.uint64)
    for part, flags in enumerate(forbidden):
        signature |= flags.astype(np.uint64) << np.uint64(part)
    _, first, which = np.unique(signature, return_index=True, return_inverse=True)
    return np.asarray(kept == kept[first][which], dtype=np.bool_)


def check_whole(
    findings: Findings, operator: str, universe: Universe, *, revisions_max: int
) -> int:
    """Whole-revision operations: bases are families of revisions, each a set of atoms; the input is
    an atom."""
    masks = {atom: universe.mask(atom) for atom in universe.atoms}
    contents = [
        frozenset(c)
        for size in range(1, len(universe.atoms) + 1)
        for c in combinations(universe.atoms, size)
    ]
    families = [
        family for size in range(revisions_max + 1) for family in combinations(contents, size)
    ]
    for family in families:
        said = sorted(frozenset().union(*family), key=universe.atoms.index)
        members = tuple(masks[atom] for atom in said)
        meets = np.array(subset_meets(members, universe.everything), dtype=np.uint32)
        for goal in universe.atoms:
            left = frozenset().union(*contract_whole(family, goal))
            kept = np.array(
                [sum(1 << i for i, atom in enumerate(said) if atom in left)], dtype=np.uint32
            )
            _whole_contraction(
                findings,
                operator,
                Base(universe, members, meets, kept, kept, meets[kept], kept),
                masks[goal],
                family,
            )
            for place in range(len(family) + 1):  # the item that the caller names, or a new one
                rest = [content for i, content in enumerate(family) if i != place]
                _whole_revision(
                    findings,
                    operator,
                    universe,
                    family,
                    goal=masks[goal],
                    rest=[masks[atom] for c in rest for atom in c],
                )
    return len(families)


def _whole_contraction(
    findings: Findings, operator: str, base: Base, goal: int, family: Sequence[frozenset[Atom]]
) -> None:
    one = np.uint32(goal)
    entails = [np.array([(meet & ~one) == 0]) for meet in base.meets]
    relevant, core = _reasons(base, base.contracted_kept, entails)
    whole = len(base.meets) - 1
    universe = base.universe

    def describe(_: int) -> str:
        return (
            f"revisions {_family(universe, family)}, contracted by {universe.text(goal)}"
            f" ({universe.name}: {universe.legend()})"
        )

    always = goal == universe.everything
    findings.see(
        operator,
        "contraction: success",
        np.array([always or bool(base.contracted[0] & ~one)]),
        describe,
    )
    findings.see(
        operator,
        "contraction: inclusion",
        np.array([int(base.contracted_kept[0]) & ~whole == 0]),
        describe,
    )
    findings.see(
        operator, "contraction: vacuity", entails[-1] | (base.contracted_kept == whole), describe
    )
    findings.see(operator, "contraction: relevance", relevant, describe)
    findings.see(operator, "contraction: core-retainment", core, describe)
    findings.see(
        operator,
        "contraction: recovery",
        (base.contracted & one & ~np.uint32(base.all_of_it)) == 0,
        describe,
    )


def _whole_revision(
    findings: Findings,
    operator: str,
    universe: Universe,
    family: Sequence[frozenset[Atom]],
    *,
    goal: int,
    rest: Sequence[int],
) -> None:
    before = universe.everything
    for content in family:
        for atom in content:
            before &= universe.mask(atom)
    after = goal
    for member in rest:
        after &= member

    def describe(_: int) -> str:
        return (
            f"revisions {_family(universe, family)}, one replaced by {universe.text(goal)}"
            f" ({universe.name}: {universe.legend()})"
        )

    expanded = before & goal
    findings.see(operator, "K*2 success", np.array([after & ~goal == 0]), describe)
    findings.see(operator, "K*3 inclusion", np.array([expanded & ~after == 0]), describe)
    findings.see(
        operator, "K*4 vacuity", np.array([expanded == 0 or after & ~expanded == 0]), describe
    )
    findings.see(operator, "K*5 consistency", np.array([goal == 0 or after != 0]), describe)


def _family(universe: Universe, family: Sequence[frozenset[Atom]]) -> str:
    letters = {atom: "abcd"[i] for i, atom in enumerate(universe.atoms)}
    members = (", ".join(sorted(letters[atom] for atom in content)) for content in family)
    return "[" + ", ".join(f"{{{member}}}" for member in members) + "]"


@lru_cache(maxsize=2)
def _pairs(worlds: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    return pairs_below(worlds)


def _inputs(base: Base) -> Masks:
    return np.arange(base.universe.everything + 1, dtype=np.uint32)


def _where(base: Base) -> str:
    return f"({base.universe.name}: {base.universe.legend()})"


def _one(base: Base) -> Callable[[int], str]:
    return lambda i: (
        f"{base.text()}, most entrenched first, by {base.universe.text(i)} {_where(base)}"
    )


def _two(base: Base, above: NDArray[np.uint16], both: NDArray[np.uint16]) -> Callable[[int], str]:
    text = base.universe.text
    return lambda i: (
        f"{base.text()}, by {text(int(above[i]))}, and with it {text(int(both[i]))} {_where(base)}"
    )


def _then(base: Base, first: int) -> Callable[[int], str]:
    return lambda i: (
        f"{base.text()}, by {base.universe.text(first)}, then by {base.universe.text(i)}"
        f" {_where(base)}"
    )
