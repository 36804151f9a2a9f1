"""Operators, constraints and orders compared with their definitions over random sentences: what is
kept, why the rest is not, which constraints matter, and which belief is given up first."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import CONSTRAINTS_ITEMS_MAX, SENTENCE_ATOMS_MAX
from doxa.logic import revision
from doxa.logic.constraints import (
    BeliefConstraints,
    LookupKeys,
    parse_constraints,
    relevant_constraints,
)
from doxa.logic.entrenchment import (
    CRITERIA,
    FAMILIES,
    Entrenchment,
    EntrenchmentFactors,
    parse_entrenchment,
)
from doxa.logic.revision import Belief, Outcome, consolidate, contract, entails, merge, revise
from doxa.logic.sentence import (
    And,
    Atom,
    Implies,
    Not,
    Or,
    Sentence,
    atoms,
    key_start,
    parse_sentence,
    worded,
)
from doxa.logic.solver import Theory, world_of

FREE = BeliefConstraints(frozenset())
COLOURED = BeliefConstraints(frozenset({"colour"}))
A, B, C, D = (Atom("it", name, True) for name in "abcd")
ATOMS = st.sampled_from([A, B, C, Atom("it", "colour", "red"), Atom("it", "colour", "blue")])
SENTENCES: st.SearchStrategy[Sentence] = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(Implies, inner, inner)
        | st.builds(lambda parts: And(tuple(parts)), st.lists(inner, min_size=2, max_size=3))
        | st.builds(lambda parts: Or(tuple(parts)), st.lists(inner, min_size=2, max_size=3))
    ),
    max_leaves=5,
)
BASES = st.lists(SENTENCES, max_size=7).flatmap(
    lambda sentences: st.permutations(range(len(sentences))).map(
        lambda ranks: [
            Belief(number, sentence, (rank,))
            for number, (sentence, rank) in enumerate(zip(sentences, ranks, strict=True))
        ]
    )
)


def consistent(*sentences: Sentence) -> bool:
    return world_of(sentences, COLOURED.is_single) is not None


def check_outcome(found: Outcome, base: list[Belief], start: list[Sentence]) -> None:
    """Everything that fits is kept, the most entrenched first; each loss has a smallest reason."""
    kept: list[Belief] = []
    losses = list(found.lost)
    for belief in sorted(base, key=lambda belief: belief.rank, reverse=True):
        if consistent(*start, *(one.sentence for one in kept), belief.sentence):
            kept.append(belief)
            continue
        loss = losses.pop(0)
        assert loss.belief == belief
        reasons = [one.sentence for one in loss.because]
        assert set(loss.because) <= set(kept)
        assert not consistent(*start, belief.sentence, *reasons)
        for fewer in combinations(reasons, max(0, len(reasons) - 1)):
            assert not reasons or consistent(*start, belief.sentence, *fewer)
        if len(reasons) > 1:
            assert all(consistent(*start, belief.sentence, one.sentence) for one in kept)
    assert (found.kept, losses, found.refusal) == (tuple(kept), [], "")


@settings(max_examples=200)
@given(BASES, SENTENCES, st.lists(SENTENCES, max_size=2))
def test_operators_keep_what_fits_and_name_the_reason_of_each_loss(
    base: list[Belief], sentence: Sentence, rules: list[Sentence]
) -> None:
    assume(consistent(*rules))
    if consistent(*rules, sentence):
        found = revise(base, sentence, COLOURED, ground_constraints=rules)
        check_outcome(found, base, [*rules, sentence])
    else:
        with pytest.raises(InputError, match="cannot be true"):
            revise(base, sentence, COLOURED, ground_constraints=rules)
    found = contract(base, sentence, COLOURED, ground_constraints=rules)
    if consistent(*rules, Not(sentence)):
        check_outcome(found, base, [*rules, Not(sentence)])
        assert not entails([one.sentence for one in found.kept], sentence, COLOURED)
    else:
        assert found.refusal == f"{worded(sentence)[:200]} follows from the rules alone"
        assert {one.id for one in found.kept} == {one.id for one in base} and found.lost == ()
    check_outcome(consolidate(base, COLOURED, ground_constraints=rules), base, rules)


@given(st.lists(BASES, max_size=3))
def test_a_merge_is_the_consolidation_of_all_the_more_trusted_first(
    sources: list[list[Belief]],
) -> None:
    named = [
        [belief._replace(id=(place, belief.id)) for belief in source]
        for place, source in enumerate(sources)
    ]
    together: dict[str, Belief] = {}
    for place, source in enumerate(named):
        for belief in sorted(source, key=lambda belief: belief.rank, reverse=True):
            ranked = belief._replace(rank=(-place, *belief.rank))
            together.setdefault(repr(belief.sentence), ranked)
    assert merge(named, COLOURED) == consolidate(together.values(), COLOURED)


def test_several_reasons_are_all_named_and_no_more() -> None:
    """None of three excludes the loss alone; what is not needed is left out."""
    held: list[Sentence] = [C, Or((Not(A), D)), Or((Not(B), D)), A, B, Atom("it", "e", True)]
    base = [Belief(number, sentence, (9 - number,)) for number, sentence in enumerate(held)]
    denied = Belief("loss", Or((Not(D), Not(C))), (0,))
    (loss,) = consolidate([*base, denied], FREE).lost
    assert [one.id for one in loss.because] == [0, 1, 3]


def test_of_very_many_beliefs_no_set_of_reasons_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[Sentence] = [Or((Not(A), B)), A]
    base = [Belief(n, sentence, (9 - n,)) for n, sentence in enumerate(held)]
    denied = Belief("loss", Not(B), (0,))
    for limit, wanted in ((1, []), (2, [0, 1])):
        monkeypatch.setattr(revision, "_REASONS_MAX", limit)
        (loss,) = consolidate([*base, denied], FREE).lost
        assert [one.id for one in loss.because] == wanted


# Constraints


@pytest.mark.parametrize("count", [2, 3, 4])
def test_of_an_exclusion_at_most_one_is_true(count: int) -> None:
    group = [["*", "mood", f"m{number}"] for number in range(count)]
    rules = parse_constraints({"functional": [], "exclusions": [group]})
    ground = rules.about(("ana", "mood"))
    each = [Atom("ana", "mood", f"m{number}") for number in range(count)]
    for several in range(count + 1):
        for chosen in combinations(each, several):
            found = world_of([*ground, *chosen], rules.is_single)
            assert (found is not None) is (several <= 1)


PEOPLE = ("ana", "bo")
PLACED = st.builds(
    Atom, st.sampled_from(PEOPLE), st.sampled_from(["diet", "eats", "home"]), st.integers(1, 2)
)
ANYBODY = st.builds(
    Atom, st.just("*"), st.sampled_from(["diet", "eats", "home"]), st.integers(1, 2)
)


def rules_of(each: st.SearchStrategy[Atom]) -> st.SearchStrategy[Sentence]:
    return st.builds(lambda one, other: Implies(one, Not(other)), each, each) | st.builds(
        lambda one, other: Or((Not(one), other)), each, each
    )


@settings(max_examples=200)
@given(
    st.lists(rules_of(PLACED) | rules_of(ANYBODY), max_size=4),
    st.lists(st.lists(ANYBODY, min_size=2, max_size=3), max_size=1),
    st.lists(PLACED | rules_of(PLACED), max_size=6),
    PLACED,
    st.booleans(),
)
def test_the_constraints_that_matter_decide_as_all_of_them_do(
    rules: list[Sentence],
    exclusions: list[list[Atom]],
    held: list[Sentence],
    stated: Atom,
    single: bool,
) -> None:
    constraints = BeliefConstraints(
        frozenset({"home"} if single else ()),
        tuple(tuple(group) for group in exclusions),
        tuple(rules),
    )
    every = [
        sentence
        for person in PEOPLE
        for topic in ("diet", "eats", "home")
        for sentence in constraints.about((person, topic))
    ]
    assume(world_of([*every, *held], constraints.is_single) is not None)

    def holding(places: LookupKeys) -> list[Sentence]:
        asked.extend([*places.keys, *places.prefixes])
        return [
            sentence
            for sentence in held
            if any(
                atom.key in places.keys or any(atom.key.startswith(p) for p in places.prefixes)
                for atom in atoms(sentence)
            )
        ]

    asked: list[str] = []
    relevant = relevant_constraints([stated], constraints, holding)
    assert len(asked) == len(set(asked))  # nothing is looked up twice
    for decided in (stated, Not(stated)):
        assert (world_of([*relevant, *held, decided], constraints.is_single) is None) == (
            world_of([*every, *held, decided], constraints.is_single) is None
        )


def test_a_rule_is_about_any_item_or_about_named_ones() -> None:
    for item in ("*", "ana"):
        assert parse_constraints({"rules": [{"not": [item, "eats", "meat"]}]}).rules
    mixed = {"if": ["*", "diet", "vegan"], "then": {"not": ["ana", "eats", "meat"]}}
    with pytest.raises(InputError, match="cannot also name an item"):
        parse_constraints({"rules": [mixed]})
    with pytest.raises(InputError, match="cannot also name an item"):
        parse_constraints({"exclusions": [[["*", "mood", 1], ["ana", "mood", 2]]]})
    with pytest.raises(InputError, match="Only a rule"):
        parse_sentence(mixed)


def test_constraints_have_a_limit() -> None:
    most = {"functional": ["x"] * (CONSTRAINTS_ITEMS_MAX - 1), "rules": [["a", "b", 1]]}
    assert parse_constraints(most).functional == frozenset("x")
    with pytest.raises(LimitError) as caught:
        parse_constraints(most | {"rules": [["a", "b", 1], ["a", "b", 2]]})
    assert caught.value.fields["limit_items"] == CONSTRAINTS_ITEMS_MAX


def test_a_topic_has_one_value_by_its_predicate() -> None:
    """Of any item, however it is spelled; declared predicates take the place of the usual ones."""
    usual = BeliefConstraints()
    for name in ("Lives_In", "port", "default  branch"):
        assert usual.is_single(Atom("x", name, 1).topic)
    assert not usual.is_single(Atom("lives in", "likes", 1).topic)
    mine = parse_constraints({"functional": ["Likes_Best"]})
    assert mine.is_single(Atom("x", "likes best", 1).topic)
    assert not mine.is_single(Atom("x", "lives in", 1).topic)


# Sentences


@pytest.mark.parametrize(
    ("value", "sound"),
    [
        (2**63 - 1, True),
        (2**63, False),
        (-(2**63), True),
        (-(2**63) - 1, False),
        (1.5, True),
        (float("inf"), False),
        (float("-inf"), False),
        (True, True),
        ("", True),
    ],
)
def test_values_that_an_atom_may_have(value: Any, sound: bool) -> None:
    if sound:
        assert parse_sentence(["a", "b", value]) == Atom("a", "b", value)
    else:
        with pytest.raises(InputError, match="not a sentence"):
            parse_sentence(["a", "b", value])


def test_a_sentence_has_as_many_atoms_as_the_limit() -> None:
    most = [["a", "b", number] for number in range(SENTENCE_ATOMS_MAX)]
    assert len(list(atoms(parse_sentence({"or": most})))) == SENTENCE_ATOMS_MAX
    with pytest.raises(LimitError) as caught:
        parse_sentence({"or": [*most, ["a", "b", -1]]})
    assert caught.value.fields["limit_atoms"] == SENTENCE_ATOMS_MAX


def test_equal_numbers_are_one_value_and_a_key_starts_with_its_topic() -> None:
    assert Atom("x", "p", 1.0).key == Atom("x", "p", 1).key != Atom("x", "p", True).key
    assert Atom("x", "p", 1e300).key == Atom("x", "p", int(1e300)).key
    for atom in (A, Atom("Ana  Lima", "lives_in", "Oslo"), Atom('"', "\\", 0.5)):
        assert atom.key.startswith(key_start(atom.topic))
        assert not Atom(atom.item, atom.predicate + "x", 1).key.startswith(key_start(atom.topic))


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        (A, "it a True"),
        (Not(A), "not: it a True"),
        (Not(Not(A)), "not (not: it a True)"),
        (Not(And((A, B))), "not (it a True and it b True)"),
        (And((A, Or((B, C)))), "it a True and (it b True or it c True)"),
        (Implies(A, Not(B)), "if it a True then (not: it b True)"),
        (And(()), "nothing"),
        (Or(()), "a contradiction"),
    ],
)
def test_sentences_in_words(sentence: Sentence, text: str) -> None:
    assert worded(sentence) == text


def test_a_theory_answers_as_the_solver_does_after_refusals() -> None:
    """A refused sentence leaves no trace, whatever shared its atoms."""
    theory = Theory(COLOURED.is_single)
    red, blue = Atom("it", "colour", "red"), Atom("it", "colour", "blue")
    held: list[Sentence] = []
    for sentence in (Or((A, B)), Not(A), red, And((Not(B), C)), blue, Implies(B, C), Not(C), B):
        fits = world_of([*held, sentence], COLOURED.is_single) is not None
        assert theory.allows(sentence) is fits and theory.add(sentence) is fits
        held += [sentence] if fits else []
        for asked in (A, B, C, red, blue, Not(B), Not(red), Or((blue, C))):
            wanted = world_of([*held, asked], COLOURED.is_single) is not None
            assert theory.allows(asked) is wanted


# Entrenchment

FACTORS = st.builds(
    EntrenchmentFactors,
    st.sampled_from(["fact", "decision", "preference", "directive", "inference", "guess"]),
    st.integers(0, 1),
    st.integers(1, 2),
    st.sampled_from([0.5, 1.0]),
    st.integers(0, 1),
    st.tuples(st.integers(0, 3)),
)
FAMILY_ORDER = ["inference", "preference", "fact"]
MEASURE_OF = {"fact": "support", "preference": "recency", "inference": "confidence"}
WORDS = {
    "trust": "it is trusted more",
    "recency": "it is more recent",
    "revision": "it was written later",
}


def value_of(one: EntrenchmentFactors, criterion: str) -> Any:
    family = FAMILIES.get(one.kind, "fact")
    if criterion == "family":
        return FAMILY_ORDER.index(family)
    return getattr(one, MEASURE_OF[family] if criterion == "measure" else criterion)


@given(
    FACTORS,
    FACTORS,
    st.permutations(["trust", "family", "support", "recency"]),
    st.integers(0, 4),
    st.booleans(),
)
def test_the_first_criterion_that_differs_decides_and_is_named(
    one: EntrenchmentFactors,
    other: EntrenchmentFactors,
    criteria: list[str],
    taken: int,
    measured: bool,
) -> None:
    chosen = criteria[:taken]
    if measured and "family" in chosen:
        chosen.insert(chosen.index("family") + 1, "measure")
    order = parse_entrenchment({"criteria": chosen})
    assert parse_entrenchment(order.as_data()) == order
    assert order.criteria == (*chosen, "revision")
    differing = [name for name in order.criteria if value_of(one, name) != value_of(other, name)]
    if not differing:
        assert order.key(one) == order.key(other)
        assert order.why(one, other) == "it is the same belief"
        return
    first = differing[0]
    more, less = (one, other) if value_of(one, first) > value_of(other, first) else (other, one)
    assert order.key(more) > order.key(less)
    family = FAMILIES.get(more.kind, "fact")
    name = MEASURE_OF[family] if first == "measure" else first
    plural = "" if more.support == 1 else "s"
    reasons = WORDS | {
        "support": f"it has {more.support} independent source{plural} against {less.support}",
        "confidence": f"its confidence is {more.confidence:g} against {less.confidence:g}",
        "family": f"a{'n' * (family == 'inference')} {family} is more entrenched than a"
        f"{'n' * (FAMILIES.get(less.kind, 'fact') == 'inference')}"
        f" {FAMILIES.get(less.kind, 'fact')}",
    }
    assert order.why(more, less) == reasons[name]


def test_the_usual_order_and_one_of_other_families() -> None:
    assert Entrenchment().criteria == CRITERIA
    assert parse_entrenchment({}) == Entrenchment()
    other = parse_entrenchment(
        {
            "families": ["fact", "inference", "preference"],
            "measures": {"fact": "recency"},
            "kinds": {"law": "preference"},
        }
    )
    law, fact = (
        EntrenchmentFactors(kind, 1, 1, 1.0, 0, (number,))
        for number, kind in enumerate(("law", "fact"))
    )
    assert other.key(law) > other.key(fact)
    assert other.why(law, fact) == "a preference is more entrenched than a fact"
    assert other.family("guess") == "inference" and other.family("law") == "preference"
