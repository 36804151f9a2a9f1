"""Small cases of the solver and of nested sentences, each with the one answer that is right."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from doxa.base.errors import LimitError
from doxa.base.limits import SENTENCE_ATOMS_MAX, SENTENCE_DEPTH_MAX
from doxa.logic import solver
from doxa.logic.sentence import And, Atom, Implies, Not, Or, Sentence, parse_sentence
from doxa.logic.solver import Theory, is_true, world_of

A, B, C = (Atom("it", name, True) for name in "abc")
RED, BLUE, GREEN = (Atom("lamp", "colour", value) for value in ("red", "blue", "green"))


def one_colour(topic: tuple[str, str]) -> bool:
    return topic[1] == "colour"


def free(topic: tuple[str, str]) -> bool:
    return False


@pytest.mark.parametrize(
    ("sentences", "true"),
    [
        ([], []),
        ([A], [A]),
        ([Not(A)], []),
        ([A, Not(A)], None),
        ([Not(A), A], None),
        ([Or((A, B)), Not(A)], [B]),
        ([Or((A, B)), Not(B)], [A]),
        ([Or((A, B)), Not(A), Not(B)], None),
        ([Implies(A, B), A], [A, B]),
        ([Implies(A, B), Not(B)], []),
        ([Implies(A, B), A, Not(B)], None),
        ([Implies(A, B), Implies(B, C), A], [A, B, C]),
        ([Not(And((A, B))), A], [A]),
        ([Not(And((A, B))), A, B], None),
        ([Not(Or((A, B)))], []),
        ([Not(Not(A))], [A]),
        ([Not(Implies(A, B))], [A]),
        ([Or((And((A, B)), C)), Not(C)], [A, B]),
        ([Or((A, B)), Or((A, Not(B))), Or((Not(A), B))], [A, B]),
        ([Or((A, B)), Or((A, Not(B))), Or((Not(A), B)), Or((Not(A), Not(B)))], None),
        ([RED], [RED]),
        ([RED, BLUE], None),
        ([BLUE, RED], None),
        ([Or((RED, BLUE)), RED], [RED]),
        ([RED, Or((BLUE, A))], [RED, A]),
        ([Or((RED, BLUE)), Not(RED)], [BLUE]),
        ([Implies(A, RED), Implies(B, BLUE), A, B], None),
        ([Implies(A, RED), Implies(B, BLUE), A], [A, RED]),
        ([Or((RED, BLUE, GREEN)), Not(RED), Not(GREEN)], [BLUE]),
    ],
)
def test_worlds(sentences: list[Sentence], true: list[Atom] | None) -> None:
    """In every order, since the first variable is the first one said."""
    for order in permutations(sentences):
        found = world_of(order, one_colour)
        assert found == (None if true is None else {atom.key for atom in true})


def test_a_free_topic_has_many_values() -> None:
    assert world_of([RED, BLUE], free) == {RED.key, BLUE.key}


def test_an_atom_that_breaks_one_of_several_sentences_is_not_just_made_true() -> None:
    """The short way, making one atom true, is taken only if all that names it stays true."""
    theory = Theory(free, [Or((A, B)), Implies(C, A), Implies(C, Not(B))])
    assert theory.add(Not(And((A, B))))
    assert theory.add(C)
    assert theory.allows(A) and not theory.allows(B) and theory.allows(Not(B))
    assert not theory.add(B) and theory.add(A)


def test_a_refused_sentence_changes_nothing() -> None:
    theory = Theory(one_colour, [RED])
    assert not theory.add(BLUE) and not theory.allows(BLUE)
    assert theory.allows(RED) and theory.add(Or((RED, BLUE)))
    assert not theory.add(Not(RED)) and theory.add(A)
    with pytest.raises(ValueError):
        Theory(one_colour, [RED, BLUE])


def test_truth_in_a_world() -> None:
    world = {A.key}
    cases: list[tuple[Sentence, bool]] = [
        (A, True),
        (B, False),
        (Not(B), True),
        (And((A, B)), False),
        (And((A, A)), True),
        (Or((A, B)), True),
        (Or((B, C)), False),
        (Implies(A, B), False),
        (Implies(B, A), True),
        (Implies(B, C), True),
    ]
    for sentence, expected in cases:
        assert is_true(sentence, world) is expected


def test_steps_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of looking for a clause that is not true yet, where nothing follows from units."""
    many = [Or((Atom("it", f"a{n}", True), Atom("it", f"b{n}", True))) for n in range(40)]
    assert world_of(many, free) is not None
    monkeypatch.setattr(solver, "SOLVER_STEPS_MAX", 400)
    with pytest.raises(LimitError):
        world_of(many, free)
    monkeypatch.setattr(solver, "SOLVER_STEPS_MAX", 2_000)
    assert world_of(many, free) is not None


def test_a_clause_that_is_looked_at_is_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    for steps, sentences in ((1, [A]), (2, [A, B]), (3, [Or((A, B))])):
        monkeypatch.setattr(solver, "SOLVER_STEPS_MAX", steps)
        assert world_of(sentences, free) is not None
        monkeypatch.setattr(solver, "SOLVER_STEPS_MAX", steps - 1)
        with pytest.raises(LimitError):
            world_of(sentences, free)


def test_what_the_model_satisfies_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what one more true atom satisfies, if all that names it stays true."""
    theory = Theory(one_colour, [A, Implies(C, A)])
    monkeypatch.setattr(solver, "SOLVER_STEPS_MAX", 0)
    assert theory.add(Or((A, B))) and theory.add(Not(RED)) and theory.allows(A)
    assert theory.add(BLUE) and theory.add(Or((BLUE, C)))
    with pytest.raises(LimitError):
        theory.add(Not(BLUE))


FORMS: dict[str, Callable[[object], object]] = {
    "not": lambda inner: {"not": inner},
    "and, first": lambda inner: {"and": [inner, ["it", "b", True]]},
    "and, last": lambda inner: {"and": [["it", "b", True], inner]},
    "or, first": lambda inner: {"or": [inner, ["it", "b", True]]},
    "or, last": lambda inner: {"or": [["it", "b", True], inner]},
    "if": lambda inner: {"if": inner, "then": ["it", "b", True]},
    "then": lambda inner: {"if": ["it", "b", True], "then": inner},
}


@pytest.mark.parametrize("form", FORMS)
def test_depth_is_counted_in_every_form(form: str) -> None:
    value: object = ["it", "a", True]
    for _ in range(min(SENTENCE_DEPTH_MAX, SENTENCE_ATOMS_MAX - 1)):
        value = FORMS[form](value)
    sentence = parse_sentence(value)
    assert parse_sentence(sentence) == sentence
    with pytest.raises(LimitError):
        parse_sentence(FORMS[form](value))
    with pytest.raises(LimitError):
        parse_sentence(Not(Not(sentence)))
