"""Sentences: the logical content of beliefs, as data that can be parsed, printed and compared.

An atom states that an item has a value: (item, predicate, value). Sentences combine atoms with not,
and, or, and if-then. As JSON:

    ["Ana", "lives in", "Berlin"]
    {"not": s}   {"and": [s, ...]}   {"or": [s, ...]}   {"if": s, "then": s}

Two atoms are equal if their values are equal and their items and predicates differ at most in case,
whitespace and underscores. The item "*" stands for any item and is allowed only in rules. Source:
the language L_G of "Graph-Native Cognitive Memory for AI Agents" (Kumiho, 2026), definition 7.8.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import SENTENCE_ATOMS_MAX, SENTENCE_DEPTH_MAX
from doxa.base.values import canonical, check_text, decode

AtomValue = bool | int | float | str
ANY_ITEM = "*"
Topic = tuple[str, str]  # the folded item and predicate of an atom


@lru_cache(maxsize=65_536)
def fold(text: str) -> str:
    """Fold the name of an item or predicate for comparison."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("_", " ").split())


class Atom(NamedTuple):
    """A statement that an item has a value. Tuple equality compares the texts as given; atoms with
    the same `key` are the same atom."""

    item: str
    predicate: str
    value: AtomValue

    @property
    def topic(self) -> Topic:
        """The folded item and predicate."""
        return fold(self.item), fold(self.predicate)

    @property
    def key(self) -> str:
        """The canonical text that identifies the atom; 1.0 and 1 are the same value."""
        value = (
            int(self.value)
            if isinstance(self.value, float) and self.value.is_integer()
            else self.value
        )
        return canonical([*self.topic, value]).decode()


def key_start(topic: Topic) -> str:
    """Return the common prefix of the keys of all atoms of a topic."""
    return canonical(list(topic)).decode()[:-1] + ","


class Not(msgspec.Struct, frozen=True):
    of: Sentence


class And(msgspec.Struct, frozen=True):
    parts: tuple[Sentence, ...]


class Or(msgspec.Struct, frozen=True):
    parts: tuple[Sentence, ...]


class Implies(msgspec.Struct, frozen=True):
    given: Sentence
    then: Sentence


Sentence = Atom | Not | And | Or | Implies


def negation(sentence: Sentence) -> Sentence:
    """Negate a sentence; a double negation cancels out."""
    return sentence.of if isinstance(sentence, Not) else Not(sentence)


def atoms(sentence: Sentence) -> Iterator[Atom]:
    """Yield every atom of a sentence in order, with repetitions."""
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
    """Return the sentence with each atom replaced."""
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
    """Return the JSON value of a sentence."""
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
    """Return the canonical JSON text that a revision stores."""
    return canonical(as_data(sentence)).decode()


def worded(sentence: Sentence) -> str:
    """Return a sentence as readable text."""
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
            return " or ".join(map(_inner, parts)) or "a contradiction"
        case Implies(given, then):
            return f"if {_inner(given)} then {_inner(then)}"


def _inner(sentence: Sentence) -> str:
    return worded(sentence) if isinstance(sentence, Atom) else f"({worded(sentence)})"


def parse_sentence(value: object, *, rule: bool = False) -> Sentence:
    """Parse a sentence from JSON text, from its JSON value (tuples count as lists), or from a
    Sentence. Raises InputError or LimitError; "*" is allowed only with `rule`."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            value = decode(value)
        except Exception:
            raise _no_sentence(value) from None
    found = _parse(value, SENTENCE_DEPTH_MAX)
    if not rule and any(atom.item == ANY_ITEM for atom in atoms(found)):
        raise InputError(
            "Only a rule may use any item (*).",
            next_step="Name the item, or declare a rule with constrain.",
            field="sentence",
        )
    count = sum(1 for _ in atoms(found))
    if count > SENTENCE_ATOMS_MAX:
        raise LimitError(
            f"A sentence can have at most {SENTENCE_ATOMS_MAX} atoms; this one has {count}.",
            next_step="Split it into several sentences.",
            field="sentence",
            limit_atoms=SENTENCE_ATOMS_MAX,
        )
    return found


def _parse(value: object, depth: int) -> Sentence:
    if depth < 0:
        raise LimitError(
            f"A sentence can be nested at most {SENTENCE_DEPTH_MAX} levels deep.",
            next_step="Split it into several sentences.",
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
        f"This is not a sentence: {str(value)[:80]!r}.",
        next_step=(
            'Give [item, predicate, value], {"not": s}, {"and": [s, ...]}, {"or": [s, ...]} or'
            ' {"if": s, "then": s}.'
        ),
        field="sentence",
    )
