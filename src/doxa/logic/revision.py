"""Belief revision over finite bases of sentences, with an order that says which belief is retracted
first. There is no database, so tests can enumerate every small case.

    expand       add the sentence, whatever it contradicts
    revise       start with the sentence; add beliefs, most entrenched first, if consistent
    contract     start with the negated sentence, so that the result does not entail it
    consolidate  start with nothing, so that an inconsistent base becomes consistent
    merge        consolidate the bases of several sources, more trusted ones first

This is linear prioritised base revision (Nebel, "Base Revision Operations and Schemes", ECAI 1994)
and its counterpart by the Levi identity. One function, `maximal`, implements all of them; it knows
neither sentences nor the solver, only whether an addition is consistent.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from doxa.base.errors import InputError
from doxa.logic.constraints import BeliefConstraints
from doxa.logic.sentence import And, Atom, Sentence, negation, worded
from doxa.logic.solver import Theory, world_of

_REASONS_MAX = 200  # with more kept beliefs, a minimal set of reasons is not computed
S = TypeVar("S", contravariant=True)
R = TypeVar("R", covariant=True)
T = TypeVar("T")


class ConsistentSet(Protocol[S, R]):
    """A set to which sentences are added one by one while they are consistent. `add` returns
    whether the sentence was added."""

    def add(self, sentence: S, /) -> R: ...


def maximal(ordered: Iterable[T], into: ConsistentSet[T, R]) -> list[R]:
    """Add each sentence that is consistent with those before it, most entrenched first, and return
    which were added."""
    return [into.add(sentence) for sentence in ordered]


class Belief(NamedTuple):
    """A sentence of a base. A greater `rank` is more entrenched."""

    id: Hashable
    sentence: Sentence
    rank: tuple[Any, ...]


class Loss(NamedTuple):
    """A retracted belief and the smallest set of kept beliefs that it contradicts. Empty means that
    it contradicts the input or the constraints alone."""

    belief: Belief
    because: tuple[Belief, ...]


class Outcome(NamedTuple):
    """A base after an operation, most entrenched first. `refusal` says why it was not possible."""

    kept: tuple[Belief, ...]
    lost: tuple[Loss, ...]
    refusal: str = ""


def expand(base: Iterable[Belief], belief: Belief) -> tuple[Belief, ...]:
    """Add a belief, whatever it contradicts. Returns the base, most entrenched first."""
    return _ordered([*base, belief])


def revise(
    base: Iterable[Belief],
    sentence: Sentence,
    constraints: BeliefConstraints,
    *,
    ground_constraints: Sequence[Sentence] = (),
) -> Outcome:
    """Revise the base by a sentence, keeping as much of it as is consistent, in order.
    `ground_constraints` are the relevant ones. Raises InputError for a sentence that cannot be
    true."""
    if world_of([*ground_constraints, sentence], constraints.is_single) is None:
        raise InputError(
            f"This cannot be true: {worded(sentence)[:200]}.",
            next_step="State a sentence that the rules allow.",
            field="sentence",
        )
    return _linear(base, (*ground_constraints, sentence), constraints)


def contract(
    base: Iterable[Belief],
    sentence: Sentence,
    constraints: BeliefConstraints,
    *,
    ground_constraints: Sequence[Sentence] = (),
) -> Outcome:
    """Contract the base to its most entrenched part that does not entail the sentence. A sentence
    that follows from the constraints alone cannot be contracted."""
    denied = negation(sentence)
    if world_of([*ground_constraints, denied], constraints.is_single) is None:
        return Outcome(
            _ordered(base), (), refusal=f"{worded(sentence)[:200]} follows from the rules alone"
        )
    return _linear(base, (*ground_constraints, denied), constraints)


def consolidate(
    base: Iterable[Belief],
    constraints: BeliefConstraints,
    *,
    ground_constraints: Sequence[Sentence] = (),
) -> Outcome:
    """Remove the beliefs that contradict more entrenched ones."""
    return _linear(base, tuple(ground_constraints), constraints)


def merge(
    sources: Sequence[Iterable[Belief]],
    constraints: BeliefConstraints,
    *,
    ground_constraints: Sequence[Sentence] = (),
) -> Outcome:
    """Merge several bases into one consistent base, the most trusted source first. A sentence in
    several bases counts for the first of them."""
    known: set[str] = set()
    together: list[Belief] = []
    for place, source in enumerate(sources):
        for belief in _ordered(source):
            key = (
                belief.sentence.key if isinstance(belief.sentence, Atom) else repr(belief.sentence)
            )
            if key not in known:
                known.add(key)
                together.append(belief._replace(rank=(-place, *belief.rank)))
    return _linear(together, tuple(ground_constraints), constraints)


def entails(
    base: Iterable[Sentence],
    sentence: Sentence,
    constraints: BeliefConstraints,
    *,
    ground_constraints: Sequence[Sentence] = (),
) -> bool:
    """Return whether the base and the constraints entail a sentence."""
    return world_of([*ground_constraints, *base, negation(sentence)], constraints.is_single) is None


def contract_whole(revisions: Iterable[frozenset[T]], atom: T) -> list[frozenset[T]]:
    """Contract whole revisions as defined in the Kumiho paper (7.5, 7.6): drop each revision that
    contains the atom, with everything else in it."""
    return [content for content in revisions if atom not in content]


def _ordered(base: Iterable[Belief]) -> tuple[Belief, ...]:
    return tuple(sorted(base, key=lambda belief: belief.rank, reverse=True))


def _linear(
    base: Iterable[Belief], start: tuple[Sentence, ...], constraints: BeliefConstraints
) -> Outcome:
    ordered = _ordered(base)
    stays = maximal(
        (belief.sentence for belief in ordered), Theory(constraints.is_single, _parts(start))
    )
    begun = Theory(constraints.is_single, _parts(start))
    kept: list[Belief] = []
    lost: list[Loss] = []
    for belief, stay in zip(ordered, stays, strict=True):
        if stay:
            kept.append(belief)
        else:
            lost.append(Loss(belief, _because(belief, kept, begun)))
    return Outcome(tuple(kept), tuple(lost))


def _parts(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield the conjuncts one by one, so that a theory examines only relevant ones."""
    for sentence in sentences:
        if isinstance(sentence, And):
            yield from _parts(sentence.parts)
        else:
            yield sentence


def _because(belief: Belief, kept: Sequence[Belief], begun: Theory) -> tuple[Belief, ...]:
    """Return a minimal set of kept beliefs that, with the start of the operation, contradict a
    belief: none, one, or several."""

    def clash(others: Sequence[Belief]) -> bool:
        return not begun.allows(
            conjunction([belief.sentence, *(other.sentence for other in others)])
        )

    if clash(()):
        return ()
    single = next((other for other in kept if clash((other,))), None)
    if single is not None:
        return (single,)
    if len(kept) > _REASONS_MAX:
        return ()
    needed = [*kept]
    for candidate in reversed(kept):  # the less entrenched are dropped first
        rest = [other for other in needed if other is not candidate]
        if clash(rest):
            needed = rest
    return tuple(needed)


def conjunction(sentences: Sequence[Sentence]) -> Sentence:
    """Join sentences with and; a single sentence is returned unchanged."""
    return sentences[0] if len(sentences) == 1 else And(tuple(sentences))
