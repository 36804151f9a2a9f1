"""Sentences print and parse, atoms are equal if their names fold alike, and anything else is
rejected with a reason."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import SENTENCE_ATOMS_MAX, SENTENCE_DEPTH_MAX
from doxa.logic.constraints import (
    BeliefConstraints,
    LookupKeys,
    parse_constraints,
    relevant_constraints,
)
from doxa.logic.entrenchment import Entrenchment, EntrenchmentFactors, parse_entrenchment
from doxa.logic.sentence import (
    And,
    Atom,
    Implies,
    Not,
    Or,
    Sentence,
    atoms,
    key_start,
    negation,
    parse_sentence,
    stored,
    worded,
)

_NAMES = st.text(alphabet="abcXYZ é_", min_size=1, max_size=6).filter(
    lambda text: text.replace("_", " ").strip() != ""
)
ATOMS = st.builds(
    Atom,
    _NAMES,
    _NAMES,
    st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
)
SENTENCES: st.SearchStrategy[Sentence] = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(Implies, inner, inner)
        | st.builds(lambda parts: And(tuple(parts)), st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda parts: Or(tuple(parts)), st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=8,
)


@given(SENTENCES)
def test_what_is_printed_is_parsed_again(sentence: Sentence) -> None:
    assert stored(parse_sentence(stored(sentence))) == stored(sentence)
    assert worded(sentence)
    assert negation(Not(sentence)) == sentence
    assert isinstance(sentence, Not) or negation(sentence) == Not(sentence)


def test_an_atom_is_one_by_its_folded_names_and_its_exact_value() -> None:
    assert Atom("Ana  Lima", "lives_in", "Berlin").key == Atom("ana lima", "Lives In", "Berlin").key
    assert Atom("x", "p", "dark").key != Atom("x", "p", "Dark").key
    assert len({Atom("x", "p", value).key for value in (1, 1.5, True, "1")}) == 4
    assert Atom("x", "api-port", 1).topic != Atom("x", "api port", 1).topic


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "Ana lives in Berlin",
        "[1",
        [],
        ["a", "b"],
        ["a", "b", None],
        ["a", "b", [1]],
        ["", "p", 1],
        ["_", "p", 1],
        ["a", "b", float("nan")],
        ["a", "b", 2**70],
        {"not": 1},
        {"and": []},
        {"or": ["a"]},
        {"if": ["a", "b", 1]},
        {"and": [["a", "b", 1]], "or": [["a", "b", 1]]},
        {"xor": []},
        ["a\ud800", "b", 1],
    ],
)
def test_what_is_no_sentence_is_refused(value: object) -> None:
    with pytest.raises(InputError):
        parse_sentence(value)


def test_sentences_have_limits() -> None:
    deep: object = ["a", "b", 1]
    for _ in range(SENTENCE_DEPTH_MAX + 1):
        deep = {"not": deep}
    with pytest.raises(LimitError):
        parse_sentence(deep)
    with pytest.raises(LimitError):
        parse_sentence({"and": [["a", "b", n] for n in range(SENTENCE_ATOMS_MAX + 1)]})


def test_constraints_parse_print_and_speak_of_any_item() -> None:
    found = parse_constraints(
        {
            "functional": ["Lives In"],
            "exclusions": [[["*", "mood", "calm"], ["*", "mood", "angry"]]],
            "rules": [{"if": ["*", "diet", "vegan"], "then": {"not": ["*", "eats", "meat"]}}],
        }
    )
    assert parse_constraints(found.as_data()) == found
    assert found.is_single(("ana", "lives in")) and not found.is_single(("ana", "knows"))
    assert [sorted(atom.item for atom in atoms(law)) for law in found.about(("ana", "eats"))] == [
        ["ana", "ana"]
    ]
    assert found.about(("ana", "knows")) == []
    assert BeliefConstraints().is_single(("x", "lives in"))


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"functions": []},
        {"functional": "x"},
        {"functional": [1]},
        {"exclusions": [[["a", "b", 1]]]},
        {"exclusions": [["a", "b", 1]]},
        {"exclusions": [[{"not": ["a", "b", 1]}, ["a", "b", 2]]]},
        {"rules": [7]},
        {"rules": [["a", "b", 1], {"not": ["a", "b", 1]}]},
        {"functional": ["x"] * 10_001},
    ],
)
def test_what_are_no_constraints_is_refused(value: object) -> None:
    with pytest.raises(InputError):
        parse_constraints(value)


def test_the_connected_part_follows_rules_and_beliefs() -> None:
    rules = parse_constraints(
        {
            "functional": [],
            "rules": [{"if": ["*", "diet", "vegan"], "then": {"not": ["*", "eats", "meat"]}}],
        }
    )
    held: list[Sentence] = [
        Atom("Ana", "diet", "vegan"),
        Implies(Atom("Ana", "diet", "vegan"), Atom("Bo", "cooks", "tofu")),
        Atom("Cy", "eats", "meat"),
    ]

    def holding(places: LookupKeys) -> list[Sentence]:
        asked.append(places)
        return [
            sentence
            for sentence in held
            if any(
                atom.key in places.keys or key_start(atom.topic) in places.prefixes
                for atom in atoms(sentence)
            )
        ]

    asked: list[LookupKeys] = []
    assert len(relevant_constraints([Atom("Ana", "eats", "meat")], rules, holding)) == 1
    assert asked == [
        LookupKeys(['["ana","eats","meat"]'], []),
        LookupKeys(['["ana","diet","vegan"]'], []),
        LookupKeys(['["bo","cooks","tofu"]'], []),
    ]
    single = BeliefConstraints(frozenset({"diet"}))
    asked.clear()
    assert relevant_constraints([Atom("Ana", "diet", "none")], single, holding) == []
    assert asked[0] == LookupKeys([], ['["ana","diet",'])


def test_the_order_of_entrenchment_is_strict_and_says_why() -> None:
    order = Entrenchment()

    def standing(
        kind: str,
        *,
        trust: int = 2,
        support: int = 1,
        confidence: float = 1.0,
        recency: int = 0,
        number: int = 0,
    ) -> EntrenchmentFactors:
        return EntrenchmentFactors(kind, trust, support, confidence, recency, (number,))

    ascending = [
        standing("fact", trust=1, support=9),
        standing("inference", confidence=0.2, support=9, recency=9),
        standing("inference", confidence=0.9),
        standing("preference", support=9, recency=1),
        standing("preference", recency=2),
        standing("fact", support=1, recency=9),
        standing("decision", support=2),
        standing("fact", support=2, recency=1),
        standing("fact", support=2, recency=1, number=1),
    ]
    assert sorted(ascending, key=order.key) == ascending
    reasons = [order.why(more, less) for less, more in pairwise(ascending)]
    assert reasons == [
        "it is trusted more",
        "its confidence is 0.9 against 0.2",
        "a preference is more entrenched than an inference",
        "it is more recent",
        "a fact is more entrenched than a preference",
        "it has 2 independent sources against 1",
        "it is more recent",
        "it was written later",
    ]
    newest = parse_entrenchment({"criteria": ["recency"]})
    assert newest.key(standing("inference", recency=5)) > newest.key(
        standing("fact", trust=3, support=9, recency=4)
    )
    assert parse_entrenchment(newest.as_data()) == newest


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"family": 1},
        {"families": ["preference"]},
        {"families": "fact"},
        {"measures": {"fact": "age"}},
        {"kinds": {"x": "nothing"}},
        {"criteria": ["measure"]},
        {"criteria": ["measure", "family"]},
        {"criteria": ["trust", "trust"]},
        {"criteria": [1]},
        {"measures": 3},
    ],
)
def test_what_is_no_order_is_refused(value: object) -> None:
    with pytest.raises(InputError):
        parse_entrenchment(value)
