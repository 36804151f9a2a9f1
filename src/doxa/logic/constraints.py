"""Constraints on what can be believed together. They are declared once per project and apply to
every belief operation.

    functional   predicates with one value per item ("lives in")
    exclusions   atoms of which at most one is true
    rules        sentences that always hold, such as an implication

The item "*" in an exclusion or rule stands for any item, the same one throughout:

    {"if": ["*", "diet", "vegan"], "then": {"not": ["*", "eats", "meat"]}}

Constraints are not beliefs: no revision retracts them. A ground constraint is one whose "*" is
replaced by an item.
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

# Predicates that usually have one value at a time; a project may declare others.
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
    """The constraints of a project. Functional predicates are stored folded; each exclusion is a
    tuple of atoms."""

    functional: frozenset[str] = FUNCTIONAL
    exclusions: tuple[tuple[Atom, ...], ...] = ()
    rules: tuple[Sentence, ...] = ()

    def is_single(self, topic: Topic) -> bool:
        """Return whether a topic has at most one value."""
        return topic[1] in self.functional

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The exclusions and rules as sentences."""
        return (
            *(Not(And(pair)) for group in self.exclusions for pair in combinations(group, 2)),
            *self.rules,
        )

    @cached_property
    def _by_predicate(self) -> Mapping[str, tuple[Sentence, ...]]:
        # keyed by text, because in Python the values 1, 1.0 and True are equal
        found: dict[str, dict[str, Sentence]] = {}
        for sentence in self.sentences:
            for atom in atoms(sentence):
                found.setdefault(atom.topic[1], {})[stored(sentence)] = sentence
        return {predicate: tuple(several.values()) for predicate, several in found.items()}

    def about(self, topic: Topic) -> list[Sentence]:
        """Return the ground constraints that mention a topic."""
        found = []
        for sentence in self._by_predicate.get(topic[1], ()):
            if any(
                atom.topic == topic or (atom.topic[1] == topic[1] and atom.item == ANY_ITEM)
                for atom in atoms(sentence)
            ):
                found.append(_ground(sentence, topic[0]))
        return found

    def as_data(self) -> dict[str, object]:
        """Return the JSON value as stored in the catalogue."""
        return {
            "functional": sorted(self.functional),
            "exclusions": [[list(atom) for atom in group] for group in self.exclusions],
            "rules": [as_data(rule) for rule in self.rules],
        }


def _ground(sentence: Sentence, item: str) -> Sentence:
    return replace_atoms(
        sentence, lambda atom: atom._replace(item=item) if atom.item == ANY_ITEM else atom
    )


def parse_constraints(value: object) -> BeliefConstraints:
    """Parse constraints from their JSON value; an omitted part keeps its default. Raises InputError
    for invalid constraints and for rules that cannot all be true, LimitError for too many."""
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
            f"A memory can have at most {CONSTRAINTS_ITEMS_MAX:,} constraints.",
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
    for sentence in found.sentences:
        _check_items(sentence)
    if world_of(found.sentences, found.is_single) is None:
        raise InputError(
            "These rules cannot all be true.",
            next_step="Remove the rules that contradict the others.",
            field="rules",
        )
    return found


def _check_items(sentence: Sentence) -> None:
    """Reject a rule that mixes "*" with named items: its meaning for the named ones would depend on
    all items in memory."""
    if len({atom.item == ANY_ITEM for atom in atoms(sentence)}) > 1:
        raise InputError(
            f"A rule about any item (*) cannot also name an item: {worded(sentence)[:200]}.",
            next_step="Use * for all of its items, or for none.",
            field="rules",
        )


def _only_atom(value: object) -> Atom:
    found = parse_sentence(value, rule=True)
    if isinstance(found, Atom):
        return found
    raise _no_constraints(value)


def _no_constraints(value: object) -> InputError:
    return InputError(
        f"These are not constraints: {str(value)[:80]!r}.",
        next_step=(
            "Give functional (predicates), exclusions (lists of two or more atoms) and rules"
            " (sentences)."
        ),
        field="constraints",
    )


class LookupKeys(NamedTuple):
    """Where to look up sentences that may be relevant: atoms by key, topics with one value by the
    prefix of their atoms' keys."""

    keys: list[str]
    prefixes: list[str]


def relevant_constraints(
    said: Iterable[Atom],
    constraints: BeliefConstraints,
    holding: Callable[[LookupKeys], Iterable[Sentence]],
) -> list[Sentence]:
    """Return the ground constraints that may be relevant to some atoms. `holding` looks up the
    believed sentences for keys; it is called level by level, once for each key, until its results
    contain no new key. Sentences that it never returned are independent of the others."""
    seen: set[tuple[bool, str]] = set()
    relevant: dict[str, Sentence] = {}
    pending = list(said)
    while pending:
        places = {_place(atom, constraints): atom.topic for atom in pending}
        new = {place: topic for place, topic in places.items() if place not in seen}
        seen |= new.keys()
        found = [one for topic in sorted(set(new.values())) for one in constraints.about(topic)]
        relevant |= {stored(one): one for one in found}
        if new:
            found += holding(
                LookupKeys(
                    sorted(key for single, key in new if not single),
                    sorted(key for single, key in new if single),
                )
            )
        pending = [
            atom
            for sentence in found
            for atom in atoms(sentence)
            if _place(atom, constraints) not in seen
        ]
    return list(relevant.values())


def _place(atom: Atom, constraints: BeliefConstraints) -> tuple[bool, str]:
    single = constraints.is_single(atom.topic)
    return single, key_start(atom.topic) if single else atom.key
