"""The operators over sentences agree with the definition over worlds; the solver agrees with the
truth table; every loss has its reason."""

from __future__ import annotations

import random
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sentence import SENTENCES

from bench.agm_enumeration import check_solver
from bench.agm_postulates import Findings, check_linear, check_whole, compute
from bench.agm_universe import UNIVERSES, Universe, ordered_bases
from doxa.base.errors import LimitError
from doxa.logic import solver
from doxa.logic.constraints import BeliefConstraints
from doxa.logic.revision import (
    Belief,
    consolidate,
    contract,
    contract_whole,
    entails,
    expand,
    merge,
    revise,
)
from doxa.logic.sentence import And, Atom, Implies, Not, Or, Sentence, atoms
from doxa.logic.solver import Theory, is_true, world_of

FREE = BeliefConstraints(frozenset())
SMALL = [universe for universe in UNIVERSES if len(universe.worlds) <= 4]


def _base(universe: Universe, masks: tuple[int, ...]) -> list[Belief]:
    return [Belief(i, universe.sentence(mask), (-i,)) for i, mask in enumerate(masks)]


@pytest.mark.parametrize("universe", SMALL, ids=lambda universe: universe.name)
def test_operators_over_sentences_are_those_over_worlds(universe: Universe) -> None:
    """Every base of up to two sentences, every input, in two forms each: K*6, and the ground under
    the enumeration of postulates."""
    findings = Findings()
    assert check_solver(findings, universe) > 2
    for finding in findings.found.values():
        assert finding.checked > 10 and finding.counterexample == ""


def test_operators_agree_over_four_atoms_too(campaign: int) -> None:
    rng = random.Random(7)
    for universe in UNIVERSES:
        laws = universe.constraints.sentences
        for _ in range(15 * campaign):
            masks = tuple({rng.randint(1, universe.everything) for _ in range(rng.randint(1, 4))})
            computed, base = compute(universe, masks), _base(universe, masks)
            for mask in rng.sample(range(1, universe.everything + 1), min(8, universe.everything)):
                found = revise(
                    base, universe.sentence(mask), universe.constraints, ground_constraints=laws
                )
                assert sum(1 << int(str(b.id)) for b in found.kept) == computed.revised_kept[mask]


@pytest.mark.parametrize("universe", SMALL, ids=lambda universe: universe.name)
def test_linear_revision_satisfies_what_is_claimed(universe: Universe) -> None:
    findings = Findings()
    check_linear(
        findings,
        "atoms",
        universe,
        ordered_bases(
            [universe.mask(atom) for atom in universe.atoms], range(len(universe.atoms) + 1)
        ),
    )
    check_linear(
        findings,
        "linear",
        universe,
        ordered_bases(list(range(1, universe.everything + 1)), range(3)),
    )
    claimed = {
        name
        for _, name in findings.found
        if name.startswith(("K*", "base revision", "contraction", "Levi"))
    } - {"contraction: recovery"}
    assert len(claimed) == 18
    for operator, name in findings.found:
        if name in claimed or name in (
            "Harper, of bases",
            "Darwiche-Pearl C3",
            "Darwiche-Pearl C4",
        ):
            assert findings.holds(operator, name), findings.found[operator, name]


def test_the_enumeration_can_fail() -> None:
    """Recovery fails in a known minimal case, and contracting whole revisions loses unrelated
    atoms."""
    findings = Findings()
    two = UNIVERSES[1]
    check_linear(
        findings, "atoms", two, ordered_bases([two.mask(atom) for atom in two.atoms], range(3))
    )
    assert findings.found["atoms", "contraction: recovery"].counterexample.startswith(
        "{a}, most entrenched first, by a∨b"
    )
    check_whole(findings, "whole", two, revisions_max=2)
    for name in ("relevance", "core-retainment", "recovery"):
        assert findings.found["whole", f"contraction: {name}"].counterexample.startswith(
            "revisions [{a, b}], contracted by a"
        )


def test_an_operator_that_forgets_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "bench.agm_postulates.maximal",
        lambda members, into: [np.zeros(len(into.state), dtype=np.bool_) for _ in members],
    )
    findings, two = Findings(), UNIVERSES[1]
    check_linear(
        findings, "amnesia", two, ordered_bases([two.mask(atom) for atom in two.atoms], range(3))
    )
    assert not findings.holds("amnesia", "K*4 vacuity") and not findings.holds(
        "amnesia", "contraction: relevance"
    )


@settings(max_examples=400)
@given(st.lists(SENTENCES, max_size=5), st.booleans())
def test_the_solver_agrees_with_the_truth_table(sentences: list[Sentence], single: bool) -> None:
    said = {atom.key: atom for sentence in sentences for atom in atoms(sentence)}
    if len(said) > 9:
        return
    possible = []
    for values in product((False, True), repeat=len(said)):
        world = frozenset(key for key, value in zip(said, values, strict=True) if value)
        topics = [said[key].topic for key in world]
        if (not single or len(topics) == len(set(topics))) and all(
            is_true(sentence, world) for sentence in sentences
        ):
            possible.append(world)
    found = world_of(sentences, lambda _: single)
    assert (found is not None) == bool(possible)
    assert found is None or found in possible
    theory = Theory(lambda _: single)
    fitting: list[Sentence] = []
    for sentence in sentences:
        fits = world_of([*fitting, sentence], lambda _: single) is not None
        assert theory.allows(sentence) == fits
        assert theory.add(sentence) == fits
        fitting += [sentence] if fits else []


def test_the_solver_stops_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "SOLVER_STEPS_MAX", 1_000)
    pigeons, holes = 7, 6  # a known hard case for this kind of search
    seats = [
        Or(tuple(Atom(f"pigeon {p}", f"in {h}", True) for h in range(holes)))
        for p in range(pigeons)
    ]
    alone = [
        Not(And((Atom(f"pigeon {p}", f"in {h}", True), Atom(f"pigeon {q}", f"in {h}", True))))
        for h in range(holes)
        for p in range(pigeons)
        for q in range(p)
    ]
    with pytest.raises(LimitError, match="steps"):
        world_of([*seats, *alone], lambda _: False)


def test_a_loss_names_the_smallest_reason() -> None:
    a, b, c = (Atom(name, "is", True) for name in "abc")
    base = [Belief("rule", Implies(a, b), (3,)), Belief("other", c, (2,)), Belief("a", a, (1,))]
    found = revise(base, Not(b), FREE)
    assert [belief.id for belief in found.kept] == ["rule", "other"]
    assert [(loss.belief.id, [reason.id for reason in loss.because]) for loss in found.lost] == [
        ("a", ["rule"])
    ]
    assert [loss.belief.id for loss in contract(base, b, FREE).lost] == ["a"]
    assert contract(base, Or((c, Not(c))), FREE).refusal


def test_merge_and_consolidate_leave_a_consistent_base() -> None:
    single = BeliefConstraints(frozenset({"port"}))
    one = [Belief("1", Atom("api", "port", 80), (1,)), Belief("2", Atom("db", "port", 5432), (2,))]
    other = [
        Belief("3", Atom("api", "port", 81), (9,)),
        Belief("4", Atom("db", "port", 5432), (9,)),
        Belief("5", Atom("api", "host", "x"), (1,)),
    ]
    assert [belief.id for belief in merge([one, other], single).kept] == ["2", "1", "5"]
    assert [belief.id for belief in merge([other, one], single).kept] == ["3", "4", "5"]
    assert [loss.belief.id for loss in consolidate([*one, *other], single).lost] == ["1"]
    assert entails([Atom("api", "port", 80)], Not(Atom("api", "port", 81)), single)
    for order in permutations(one):
        assert merge([order], single).kept == merge([one], single).kept


def test_expansion_takes_in_what_contradicts_and_consolidation_mends_it() -> None:
    a = Atom("a", "is", True)
    base = expand(expand((), Belief(1, a, (1,))), Belief(2, Not(a), (2,)))
    assert [belief.id for belief in base] == [2, 1]
    assert [loss.belief.id for loss in consolidate(base, FREE).lost] == [1]


def test_whole_revision_contraction_takes_what_is_beside() -> None:
    assert contract_whole([frozenset("ab"), frozenset("c")], "a") == [frozenset("c")]
