"""Sentences about the world: what beliefs say and what may be asked of them, as data that prints,
parses and compares.

An atom says that something has a value: (item, predicate, value). Sentences are built of atoms with
not, and, or and if-then. As JSON:

    ["Ana", "lives in", "Berlin"]      {"not": s}      {"and": [s, ...]}      {"or": [s, ...]}
    {"if": s, "then": s}

Two atoms are one if their values are and their items and predicates are the same text but for case,
blanks and underscores. The item "*" stands for any item; only rules may say it. Source: the
language L_G of "Graph-Native Cognitive Memory for AI Agents" (Kumiho, 2026), definition 7.8.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import SENTENCE_ATOMS_MAX, SENTENCE_DEPTH_MAX
from doxa.base.values import canonical, check_text, decode

AtomValue = bool | int | float | str
ANY_ITEM = "*"
Topic = tuple[str, str]  # of what an atom gives the value: item and predicate, folded


@lru_cache(maxsize=65_536)
def fold(text: str) -> str:
    """The form in which names of items and predicates are compared."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("_", " ").split())


class Atom(NamedTuple):
    """Something has a value. Equality of the tuple is of the text as given; `key` is what counts as
    one atom."""

    item: str
    predicate: str
    value: AtomValue

    @property
    def topic(self) -> Topic:
        return fold(self.item), fold(self.predicate)

    @property
    def key(self) -> str:
        value = (
            int(self.value)
            if isinstance(self.value, float) and self.value.is_integer()
            else self.value
        )  # 1.0 is said of what is 1
        return canonical([*self.topic, value]).decode()


def key_start(topic: Topic) -> str:
    """How the keys of all atoms of a topic begin."""
    return canonical(list(topic)).decode()[:-1] + ","


@dataclass(frozen=True, slots=True)
class Not:
    of: Sentence


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    given: Sentence
    then: Sentence


Sentence = Atom | Not | And | Or | Implies


def negation(sentence: Sentence) -> Sentence:
    return sentence.of if isinstance(sentence, Not) else Not(sentence)


def atoms(sentence: Sentence) -> Iterator[Atom]:
    """Every atom of a sentence, in order, as often as it is said."""
    match sentence:
        case Atom():
            yield sentence
        case Not(of):
            yield from atoms(of)
        case And(parts) | Or(parts):
            for part in parts:
                yield from atoms(part)
        case Implies(given, then):
            yield from atoms(given)
            yield from atoms(then)


def replace_atoms(sentence: Sentence, change: Callable[[Atom], Atom]) -> Sentence:
    """The same sentence about other atoms."""
    match sentence:
        case Atom():
            return change(sentence)
        case Not(of):
            return Not(replace_atoms(of, change))
        case And(parts):
            return And(tuple(replace_atoms(part, change) for part in parts))
        case Or(parts):
            return Or(tuple(replace_atoms(part, change) for part in parts))
        case Implies(given, then):
            return Implies(replace_atoms(given, change), replace_atoms(then, change))


def as_data(sentence: Sentence) -> object:
    """The JSON value of a sentence."""
    match sentence:
        case Atom():
            return list(sentence)
        case Not(of):
            return {"not": as_data(of)}
        case And(parts):
            return {"and": [as_data(part) for part in parts]}
        case Or(parts):
            return {"or": [as_data(part) for part in parts]}
        case Implies(given, then):
            return {"if": as_data(given), "then": as_data(then)}


def stored(sentence: Sentence) -> str:
    """The canonical JSON text, as a revision holds it."""
    return canonical(as_data(sentence)).decode()


def worded(sentence: Sentence) -> str:
    """A sentence for people."""
    match sentence:
        case Atom(item, predicate, value):
            return f"{item} {predicate} {value}"
        case Not(Atom() as atom):
            return f"not: {worded(atom)}"
        case Not(of):
            return f"not ({worded(of)})"
        case And(parts):
            return " and ".join(map(_inner, parts)) or "nothing"
        case Or(parts):
            return " or ".join(map(_inner, parts)) or "what cannot be"
        case Implies(given, then):
            return f"if {_inner(given)} then {_inner(then)}"


def _inner(sentence: Sentence) -> str:
    return worded(sentence) if isinstance(sentence, Atom) else f"({worded(sentence)})"


def parse_sentence(value: object, *, rule: bool = False) -> Sentence:
    """A sentence from JSON text, from its JSON value (tuples are lists), or as it is. Raises
    InputError or LimitError; also for one about any item, unless it is to be a rule."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            value = decode(value)
        except Exception:
            raise _no_sentence(value) from None
    found = _parse(value, SENTENCE_DEPTH_MAX)
    if not rule and any(atom.item == ANY_ITEM for atom in atoms(found)):
        raise InputError(
            "Only a rule may speak of any item (*).",
            next_step="Name the item, or declare a rule with constrain.",
            field="sentence",
        )
    said = sum(1 for _ in atoms(found))
    if said > SENTENCE_ATOMS_MAX:
        raise LimitError(
            f"A sentence has at most {SENTENCE_ATOMS_MAX} atoms; this has {said}.",
            next_step="Say it in several sentences.",
            field="sentence",
            limit_atoms=SENTENCE_ATOMS_MAX,
        )
    return found


def _parse(value: object, depth: int) -> Sentence:
    if depth < 0:
        raise LimitError(
            f"A sentence is nested at most {SENTENCE_DEPTH_MAX} deep.",
            next_step="Say it in several sentences.",
            field="sentence",
            limit_depth=SENTENCE_DEPTH_MAX,
        )
    if isinstance(value, Mapping):
        return _parse_mapping(value, depth)
    match value:
        case Not(of):
            return Not(_parse(of, depth - 1))
        case And(parts) | Or(parts):
            return type(value)(tuple(_parse(part, depth - 1) for part in parts))
        case Implies(given, then):
            return Implies(_parse(given, depth - 1), _parse(then, depth - 1))
        case [str() as item, str() as predicate, bool() | int() | float() | str() as content]:
            return _atom(item, predicate, content)
    raise _no_sentence(value)


def _parse_mapping(value: Mapping[str, object], depth: int) -> Sentence:
    match dict(value):
        case {"if": given, "then": then, **rest} if not rest:
            return Implies(_parse(given, depth - 1), _parse(then, depth - 1))
        case {"not": inner, **rest} if not rest:
            return Not(_parse(inner, depth - 1))
        case {"and": [first, *parts], **rest} if not rest:
            return And(tuple(_parse(part, depth - 1) for part in (first, *parts)))
        case {"or": [first, *parts], **rest} if not rest:
            return Or(tuple(_parse(part, depth - 1) for part in (first, *parts)))
    raise _no_sentence(value)


def _atom(item: str, predicate: str, value: AtomValue) -> Atom:
    for field, text in (("item", item), ("predicate", predicate), ("value", value)):
        if isinstance(text, str):
            check_text(text, field=field)
    if not fold(item) or not fold(predicate):
        raise _no_sentence([item, predicate, value])
    if (isinstance(value, float) and not math.isfinite(value)) or (
        isinstance(value, int) and not -(2**63) <= value < 2**63
    ):
        raise _no_sentence([item, predicate, value])
    return Atom(ANY_ITEM if fold(item) == ANY_ITEM else item, predicate, value)


def _no_sentence(value: object) -> InputError:
    return InputError(
        f"This is no sentence: {str(value)[:80]!r}.",
        next_step=(
            'Give [item, predicate, value], {"not": s}, {"and": [s, ...]}, {"or": [s, ...]} or'
            ' {"if": s, "then": s}.'
        ),
        field="sentence",
    )
