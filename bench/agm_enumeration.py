"""Which bases are enumerated for which operator, and whether enumeration says what is claimed.

atom-level       every base of atoms, in every order, in all universes, with every input: complete
up to four atoms
linear           bases of any sentences: up to three of them over four worlds, two over eight; over
four atoms, sentences of two literals
whole-revision   every family of up to three revisions, each a set of atoms, contracted by each atom
and revised by it in each place
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from bench.agm_postulates import Findings, check_linear, check_whole, compute
from bench.agm_universe import UNIVERSES, Universe, ordered_bases
from doxa.base.errors import InputError
from doxa.logic.revision import Belief, contract, revise
from doxa.logic.sentence import And, Not, Or, Sentence

ATOMS, LINEAR, WHOLE = "atom-level", "linear, compound", "whole-revision"
SOLVER = "K*6 extensionality"
_PAIRS_WORLDS_MAX = 9
# What the operators are claimed to satisfy. The rest is reported as it is found.
_CLAIMED = (
    "K*2 success",
    "K*3 inclusion",
    "K*4 vacuity",
    "K*5 consistency",
    SOLVER,
    "K*7 superexpansion",
    "K*8 subexpansion",
    "base revision: vacuity",
    "base revision: relevance",
    "base revision: core-retainment",
    "base revision: uniformity",
    "contraction: success",
    "contraction: inclusion",
    "contraction: vacuity",
    "contraction: relevance",
    "contraction: core-retainment",
    "contraction: uniformity",
    "Levi, of bases",
    "Levi, of consequences",
    "Harper, of bases",
    "Darwiche-Pearl C3",
    "Darwiche-Pearl C4",
)
EXPECTED = {
    ATOMS: frozenset(_CLAIMED),
    LINEAR: frozenset(_CLAIMED),
    WHOLE: frozenset(
        ("K*2 success", "K*3 inclusion", "contraction: inclusion", "contraction: vacuity")
    ),
}


def enumerate_all(*, quick: bool) -> tuple[Findings, dict[str, int]]:
    """Every finding, and how many bases were looked at for each operator. `quick` leaves out what
    takes minutes."""
    findings, counts = Findings(), {ATOMS: 0, LINEAR: 0, WHOLE: 0}
    for universe in UNIVERSES:
        if not quick or len(universe.atoms) <= 3:
            worlds = len(universe.worlds)
            atoms = ordered_bases(
                [universe.mask(atom) for atom in universe.atoms], range(len(universe.atoms) + 1)
            )
            counts[ATOMS] += check_linear(
                findings, ATOMS, universe, atoms, iterated=worlds <= _PAIRS_WORLDS_MAX
            )
            counts[WHOLE] += check_whole(
                findings,
                WHOLE,
                universe,
                revisions_max=3 if len(universe.atoms) <= 3 and not quick else 2,
            )
            for bases, pairs in _compound(universe, quick=quick):
                few = pairs and worlds <= _PAIRS_WORLDS_MAX
                counts[LINEAR] += check_linear(
                    findings,
                    LINEAR,
                    universe,
                    bases,
                    supplementary=worlds <= _PAIRS_WORLDS_MAX,
                    iterated=few,
                )
        if len(universe.worlds) <= 4:
            check_solver(findings, universe, quick=quick)
    return findings, counts


def _compound(universe: Universe, *, quick: bool) -> Iterator[tuple[list[tuple[int, ...]], bool]]:
    """Bases of sentences, and whether pairs of inputs to them are looked at."""
    every = (
        list(range(1, universe.everything + 1)) if len(universe.worlds) <= _PAIRS_WORLDS_MAX else []
    )
    match len(universe.worlds):
        case 2 | 3 | 4:
            yield ordered_bases(every, range(3 if quick else 4)), True
        case 5 | 6:
            yield ordered_bases(every, range(2 if quick else 3)), True
        case 8 | 9:
            yield ordered_bases(every, range(2)), not quick
            if not quick and len(universe.atoms) == 3:
                yield ordered_bases(every, range(2, 3)), False
        case _:
            yield ordered_bases(_short_sentences(universe), range(3)), False


def _short_sentences(universe: Universe) -> list[int]:
    literals: list[Sentence] = [*universe.atoms, *map(Not, universe.atoms)]
    found: list[Sentence] = [
        *literals,
        *(form(pair) for pair in combinations(literals, 2) for form in (And, Or)),
    ]
    return sorted({universe.mask(sentence) for sentence in found} - {0})


def check_solver(findings: Findings, universe: Universe, *, quick: bool = False) -> int:
    """The operators over sentences, with the solver, against the operators over worlds; each input
    in two forms that say the same (K*6). Returns the number of bases. A small universe is taken
    whole: every base of up to two sentences, every input."""
    laws, count = universe.constraints.sentences, 0
    for masks in ordered_bases(list(range(1, universe.everything + 1)), range(2 if quick else 3)):
        base = [Belief(i, universe.sentence(mask), (-i,)) for i, mask in enumerate(masks)]
        computed = compute(universe, masks)
        operators = (
            (LINEAR, ATOMS)
            if all(mask in {universe.mask(atom) for atom in universe.atoms} for mask in masks)
            else (LINEAR,)
        )
        for mask in range(universe.everything + 1):
            for said in (universe.sentence(mask), universe.other_form(mask)):
                agrees = _revised(base, said, universe, laws) == (
                    None if mask == 0 else computed.revised_kept[mask]
                )
                contracted = contract(base, said, universe.constraints, ground_constraints=laws)
                agrees &= _bits(contracted.kept) == computed.contracted_kept[mask] and bool(
                    contracted.refusal
                ) == (mask == universe.everything)
                for operator in operators:
                    findings.see_one(
                        operator,
                        SOLVER,
                        agrees,
                        f"{computed.text()} by {universe.text(mask)} ({universe.name})",
                    )
        count += 1
    return count


def _revised(
    base: list[Belief], said: Sentence, universe: Universe, laws: tuple[Sentence, ...]
) -> int | None:
    try:
        return _bits(revise(base, said, universe.constraints, ground_constraints=laws).kept)
    except InputError:
        return None


def _bits(kept: tuple[Belief, ...]) -> int:
    return sum(1 << int(str(belief.id)) for belief in kept)
