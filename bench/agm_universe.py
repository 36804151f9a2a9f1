"""Small worlds to enumerate: a few atoms, what cannot be true together, and every sentence as the
set of worlds in which it is true.

A sentence is a bit mask over the worlds, so two sentences that say the same are one. `AllInputs`
adds a belief for every possible input at once: the operators of doxa.logic.revision run on it as
they run on the solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from doxa.logic.constraints import BeliefConstraints
from doxa.logic.sentence import And, Atom, Implies, Not, Or, Sentence, worded
from doxa.logic.solver import is_true

Masks = NDArray[np.uint32]
Flags = NDArray[np.bool_]
A, A2, B, B2 = Atom("x", "p", 1), Atom("x", "p", 2), Atom("y", "q", 1), Atom("y", "q", 2)
C, D = Atom("z", "r", 1), Atom("w", "s", 1)
_FREE = BeliefConstraints(frozenset())
_LETTERS = "abcd"


@dataclass(frozen=True)
class Universe:
    """Atoms, and the constraints that leave some assignments out. With `functional` the predicates
    p and q have one value."""

    name: str
    atoms: tuple[Atom, ...]
    constraints: BeliefConstraints = _FREE

    @cached_property
    def worlds(self) -> list[frozenset[str]]:
        """Every assignment that the constraints allow, as the set of true atoms."""
        found = []
        for size in range(len(self.atoms) + 1):
            for true in combinations(self.atoms, size):
                topics = [atom.topic for atom in true if self.constraints.is_single(atom.topic)]
                world = frozenset(atom.key for atom in true)
                if len(topics) == len(set(topics)) and all(
                    is_true(law, world) for law in self.constraints.sentences
                ):
                    found.append(world)
        return found

    @property
    def everything(self) -> int:
        """The sentence that is true in every world."""
        return (1 << len(self.worlds)) - 1

    def mask(self, sentence: Sentence) -> int:
        return sum(1 << i for i, world in enumerate(self.worlds) if is_true(sentence, world))

    def sentence(self, mask: int) -> Sentence:
        """Some sentence with exactly these worlds: in disjunctive normal form, one conjunction for
        each world."""
        parts = []
        for i, world in enumerate(self.worlds):
            if mask >> i & 1:
                parts.append(
                    And(tuple(atom if atom.key in world else Not(atom) for atom in self.atoms))
                )
        return Or(tuple(parts)) if parts else And((self.atoms[0], Not(self.atoms[0])))

    def other_form(self, mask: int) -> Sentence:
        """The same sentence in other words: that none of the other worlds is the case."""
        return Not(self.sentence(self.everything & ~mask))

    @cached_property
    def _short(self) -> dict[int, str]:
        """The shortest text for the sentences that have a short one."""
        names = {atom: _LETTERS[i] for i, atom in enumerate(self.atoms)}
        literals: list[tuple[str, Sentence]] = [(name, atom) for atom, name in names.items()]
        literals += [(f"¬{name}", Not(atom)) for atom, name in names.items()]
        found = {self.everything: "⊤", 0: "⊥"}
        for text, literal in literals:
            found.setdefault(self.mask(literal), text)
        for (one, left), (other, right) in combinations(literals, 2):
            found.setdefault(self.mask(And((left, right))), f"{one}∧{other}")
            found.setdefault(self.mask(Or((left, right))), f"{one}∨{other}")
        for size in (3, 4):
            for group in combinations(literals, size):
                found.setdefault(
                    self.mask(And(tuple(s for _, s in group))), "∧".join(t for t, _ in group)
                )
                found.setdefault(
                    self.mask(Or(tuple(s for _, s in group))), "∨".join(t for t, _ in group)
                )
        return found

    def text(self, mask: int) -> str:
        """A sentence for people, with a, b, c, d for the atoms in their order."""
        known = self._short.get(mask)
        if known is not None:
            return known
        parts = []
        for i, world in enumerate(self.worlds):
            if mask >> i & 1:
                parts.append(
                    "∧".join(
                        _LETTERS[k] if atom.key in world else f"¬{_LETTERS[k]}"
                        for k, atom in enumerate(self.atoms)
                    )
                )
        return " ∨ ".join(f"({part})" for part in parts)

    def legend(self) -> str:
        return ", ".join(f"{_LETTERS[i]} = {worded(atom)}" for i, atom in enumerate(self.atoms))


def _functional(*predicates: str) -> BeliefConstraints:
    return BeliefConstraints(frozenset(predicates))


UNIVERSES: tuple[Universe, ...] = (
    Universe("one atom", (A,)),
    Universe("two free atoms", (A, B)),
    Universe("a functional pair", (A, A2), _functional("p")),
    Universe("two atoms and a rule", (A, B), BeliefConstraints(frozenset(), (), (Implies(A, B),))),
    Universe("three free atoms", (A, B, C)),
    Universe("a functional pair and a free atom", (A, A2, C), _functional("p")),
    Universe("a functional triple", (A, A2, Atom("x", "p", 3)), _functional("p")),
    Universe(
        "a functional pair, and an exclusion with a third atom",
        (A, A2, C),
        BeliefConstraints(frozenset({"p"}), ((A, C),)),
    ),
    Universe(
        "a chain of rules",
        (A, B, C),
        BeliefConstraints(frozenset(), (), (Implies(A, B), Implies(B, C))),
    ),
    Universe("two functional pairs", (A, A2, B, B2), _functional("p", "q")),
    Universe(
        "two functional pairs and an exclusion",
        (A, A2, B, B2),
        BeliefConstraints(frozenset({"p", "q"}), ((A, B),)),
    ),
    Universe("a functional pair and two free atoms", (A, A2, C, D), _functional("p")),
    Universe("four free atoms", (A, B, C, D)),
)


class AllInputs:
    """What `maximal` adds to, for every input at once: state[i] is what is said so far after input
    i."""

    def __init__(self, start: Masks) -> None:
        self.state = start.copy()

    def add(self, sentence: int) -> Flags:
        """Whether it fits, for each input; where it does it is said from now on."""
        joined = self.state & np.uint32(sentence)
        fits: Flags = joined != 0
        self.state = np.where(fits, joined, self.state)
        return fits


def ordered_bases(sentences: list[int], sizes: range) -> list[tuple[int, ...]]:
    """Every base of these sizes in every order, most entrenched first."""
    return [base for size in sizes for base in permutations(sentences, size)]


def subset_meets(base: tuple[int, ...], everything: int) -> list[int]:
    """What each part of a base says: entry s is the conjunction of the members whose bits are set
    in s."""
    meets = [everything]
    for member in base:
        meets += [meet & member for meet in meets]
    return meets


def pairs_below(count: int) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """All pairs (A, C) of sentences over `count` worlds of which C says at least as much as A: each
    world is in neither, in A only, or in both."""
    above, below = np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.uint16)
    for i in range(count):
        bit = np.uint16(1 << i)
        above, below = (
            np.concatenate([above, above | bit, above | bit]),
            np.concatenate([below, below, below | bit]),
        )
    return above, below
