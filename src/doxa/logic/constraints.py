"""What cannot be true together in any world that memory believes in: declared once, known to every
belief operation.

    functional   predicates that give an item one value ("lives in")
    exclusions   atoms of which at most one is true
    rules        sentences that always hold, such as an implication

The item "*" in an exclusion or rule stands for any item, the same one throughout: {"if": ["*",
"diet", "vegan"], "then": {"not": ["*", "eats", "meat"]}}. BeliefConstraints are laws, not beliefs: no
revision gives them up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import CONSTRAINTS_ITEMS_MAX
from doxa.logic.sentence import (
    ANY_ITEM,
    And,
    Atom,
    Not,
    Sentence,
    Topic,
    as_data,
    atoms,
    fold,
    key_start,
    parse_sentence,
    replace_atoms,
    stored,
    worded,
)
from doxa.logic.solver import world_of

# Predicates that have one value at a time in plain speech; a file may declare more, or other ones.
FUNCTIONAL = frozenset(
    map(
        fold,
        (
            "lives in",
            "live in",
            "works at",
            "work at",
            "works for",
            "work for",
            "born on",
            "born in",
            "age",
            "name",
            "full name",
            "address",
            "timezone",
            "favourite color",
            "favorite color",
            "favourite colour",
            "status",
            "version",
            "port",
            "host",
            "deadline",
            "due on",
            "price",
            "costs",
            "located in",
            "reports to",
            "married to",
            "owned by",
            "default branch",
            "language level",
            "value",
        ),
    )
)


@dataclass(frozen=True)
class BeliefConstraints:
    """Functional predicates are kept folded; each exclusion is a tuple of atoms."""

    functional: frozenset[str] = FUNCTIONAL
    exclusions: tuple[tuple[Atom, ...], ...] = ()
    rules: tuple[Sentence, ...] = ()

    def is_single(self, topic: Topic) -> bool:
        """Whether a topic has at most one value."""
        return topic[1] in self.functional

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Exclusions and rules as sentences."""
        return (
            *(Not(And(pair)) for group in self.exclusions for pair in combinations(group, 2)),
            *self.rules,
        )

    @cached_property
    def _by_predicate(self) -> Mapping[str, tuple[Sentence, ...]]:
        found: dict[
            str, dict[str, Sentence]
        ] = {}  # by their text: for Python the values 1, 1.0 and True are equal
        for law in self.sentences:
            for atom in atoms(law):
                found.setdefault(atom.topic[1], {})[stored(law)] = law
        return {predicate: tuple(laws.values()) for predicate, laws in found.items()}

    def about(self, topic: Topic) -> list[Sentence]:
        """The laws that say something of a topic, each about its item."""
        found = []
        for law in self._by_predicate.get(topic[1], ()):
            if any(
                atom.topic == topic or (atom.topic[1] == topic[1] and atom.item == ANY_ITEM)
                for atom in atoms(law)
            ):
                found.append(_about(law, topic[0]))
        return found

    def as_data(self) -> dict[str, object]:
        """The JSON value, as the catalogue holds it."""
        return {
            "functional": sorted(self.functional),
            "exclusions": [[list(atom) for atom in group] for group in self.exclusions],
            "rules": [as_data(rule) for rule in self.rules],
        }


def _about(law: Sentence, item: str) -> Sentence:
    return replace_atoms(
        law, lambda atom: atom._replace(item=item) if atom.item == ANY_ITEM else atom
    )


def parse_constraints(value: object) -> BeliefConstraints:
    """BeliefConstraints from their JSON value; what is not given is as it is without a declaration.
    Raises InputError, or LimitError for too many, and refuses rules that cannot all be true."""
    if not isinstance(value, Mapping) or not value.keys() <= {"functional", "exclusions", "rules"}:
        raise _no_constraints(value)
    functional, exclusions, rules = (
        value.get("functional", sorted(FUNCTIONAL)),
        value.get("exclusions", ()),
        value.get("rules", ()),
    )
    lists = (functional, exclusions, rules)
    if not all(isinstance(part, (list, tuple, set, frozenset)) for part in lists):
        raise _no_constraints(value)
    if sum(map(len, lists)) > CONSTRAINTS_ITEMS_MAX:
        raise LimitError(
            f"A memory has at most {CONSTRAINTS_ITEMS_MAX:,} constraints.",
            next_step="Use rules about any item (*).",
            limit_items=CONSTRAINTS_ITEMS_MAX,
        )
    if not all(isinstance(name, str) and fold(name) for name in functional):
        raise _no_constraints(functional)
    groups = tuple(
        tuple(_only_atom(part) for part in group)
        if isinstance(group, (list, tuple))
        else (_only_atom(group),)
        for group in exclusions
    )
    if any(len(group) < 2 for group in groups):
        raise _no_constraints(exclusions)
    found = BeliefConstraints(
        frozenset(map(fold, functional)),
        groups,
        tuple(parse_sentence(rule, rule=True) for rule in rules),
    )
    for law in found.sentences:
        _check_items(law)
    if world_of(found.sentences, found.is_single) is None:
        raise InputError(
            "These rules cannot all be true.",
            next_step="Leave out what contradicts the rest.",
            field="rules",
        )
    return found


def _check_items(law: Sentence) -> None:
    """A rule is about any item throughout, or about named ones: of both, what it says of the named
    ones would depend on all items that there are."""
    if len({atom.item == ANY_ITEM for atom in atoms(law)}) > 1:
        raise InputError(
            f"A rule about any item (*) cannot name one as well: {worded(law)[:200]}.",
            next_step="Name all items of it, or none.",
            field="rules",
        )


def _only_atom(value: object) -> Atom:
    found = parse_sentence(value, rule=True)
    if isinstance(found, Atom):
        return found
    raise _no_constraints(value)


def _no_constraints(value: object) -> InputError:
    return InputError(
        f"These are no constraints: {str(value)[:80]!r}.",
        next_step=(
            "Give functional (predicates), exclusions (lists of two or more atoms) and rules"
            " (sentences)."
        ),
        field="constraints",
    )


class LookupKeys(NamedTuple):
    """Where to look for sentences that may matter: atoms by key, and topics of one value by how the
    keys of their atoms begin."""

    keys: list[str]
    prefixes: list[str]


def relevant_constraints(
    said: Iterable[Atom],
    constraints: BeliefConstraints,
    holding: Callable[[LookupKeys], Iterable[Sentence]],
) -> list[Sentence]:
    """The laws that may matter to what is said. `holding` gives the believed sentences at some
    places; it is asked level by level, for each place once, until what it gave leads to no new one.
    What it never gave can be true or false whatever becomes of the rest."""
    seen: set[tuple[bool, str]] = set()
    laws: dict[str, Sentence] = {}
    due = list(said)
    while due:
        places = {_place(atom, constraints): atom.topic for atom in due}
        new = {place: topic for place, topic in places.items() if place not in seen}
        seen |= new.keys()
        found = [law for topic in sorted(set(new.values())) for law in constraints.about(topic)]
        laws |= {stored(law): law for law in found}
        if new:
            found += holding(
                LookupKeys(
                    sorted(key for single, key in new if not single),
                    sorted(key for single, key in new if single),
                )
            )
        due = [
            atom
            for sentence in found
            for atom in atoms(sentence)
            if _place(atom, constraints) not in seen
        ]
    return list(laws.values())


def _place(atom: Atom, constraints: BeliefConstraints) -> tuple[bool, str]:
    single = constraints.is_single(atom.topic)
    return single, key_start(atom.topic) if single else atom.key
