"""Belief revision over finite bases of sentences, with an order that says which belief is given up
first. No database, so that every small case can be enumerated.

    expand      the sentence joins the base, whatever it contradicts
    revise      begin with the sentence; add beliefs from the most entrenched down while all can be
    true together
    contract    the same with the sentence denied: what stays does not entail it
    consolidate the same with nothing to begin with: an inconsistent base becomes consistent
    merge       the bases of several sources, more trusted ones first, consolidated

This is linear prioritised base revision (Nebel, "Base Revision Operations and Schemes", ECAI 1994)
and its counterpart by the Levi identity. One function, `maximal`, makes all of them; it knows
neither sentences nor solver, only whether one more thing fits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from doxa.base.errors import InputError
from doxa.logic.constraints import BeliefConstraints
from doxa.logic.sentence import And, Atom, Sentence, negation, worded
from doxa.logic.solver import Theory, world_of

_REASONS_MAX = (
    200  # of more beliefs the several that a loss cannot stand beside are not singled out
)
S = TypeVar("S", contravariant=True)
R = TypeVar("R", covariant=True)
T = TypeVar("T")


class ConsistentSet(Protocol[S, R]):
    """What sentences are added to, one after another, while they can all be true; the answer says
    whether one fits."""

    def add(self, sentence: S, /) -> R: ...


def maximal(ordered: Iterable[T], into: ConsistentSet[T, R]) -> list[R]:
    """Which of the sentences stay, given from the most entrenched down: each that fits with those
    before it."""
    return [into.add(sentence) for sentence in ordered]


class Belief(NamedTuple):
    """A sentence of a base with its place in the order: the greater `rank`, the more entrenched."""

    id: Hashable
    sentence: Sentence
    rank: tuple[Any, ...]


class Loss(NamedTuple):
    """A belief that was given up, and the smallest set of kept ones it could not stand beside;
    empty: the input (or the laws) alone."""

    belief: Belief
    because: tuple[Belief, ...]


class Outcome(NamedTuple):
    """A base after an operation, most entrenched first. `refusal` says why nothing could be done."""

    kept: tuple[Belief, ...]
    lost: tuple[Loss, ...]
    refusal: str = ""


def expand(base: Iterable[Belief], belief: Belief) -> tuple[Belief, ...]:
    """The base with one more belief, whatever it contradicts, most entrenched first."""
    return _ordered([*base, belief])


def revise(
    base: Iterable[Belief],
    sentence: Sentence,
    constraints: BeliefConstraints,
    *,
    ground_constraints: Sequence[Sentence] = (),
) -> Outcome:
    """The base that holds the sentence and as much of the old one as can be, in order. `laws` are
    the ground constraints that matter. Raises InputError for a sentence that cannot be true."""
    if world_of([*ground_constraints, sentence], constraints.is_single) is None:
        raise InputError(
            f"This cannot be true: {worded(sentence)[:200]}.",
            next_step="State something that the rules allow.",
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
    """The most entrenched part of the base that does not entail the sentence. What follows from the
    laws alone cannot be given up."""
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
    """The base without what contradicts its more entrenched part."""
    return _linear(base, tuple(ground_constraints), constraints)


def merge(
    sources: Sequence[Iterable[Belief]],
    constraints: BeliefConstraints,
    *,
    ground_constraints: Sequence[Sentence] = (),
) -> Outcome:
    """One consistent base of several, the most trusted source first. A sentence that several hold
    counts as held by the first of them."""
    known: set[str] = set()
    together: list[Belief] = []
    for place, source in enumerate(sources):
        for belief in _ordered(source):
            said = (
                belief.sentence.key if isinstance(belief.sentence, Atom) else repr(belief.sentence)
            )
            if said not in known:
                known.add(said)
                together.append(belief._replace(rank=(-place, *belief.rank)))
    return _linear(together, tuple(ground_constraints), constraints)


def entails(
    base: Iterable[Sentence],
    sentence: Sentence,
    constraints: BeliefConstraints,
    *,
    ground_constraints: Sequence[Sentence] = (),
) -> bool:
    """Whether a sentence is true wherever the base and the laws are."""
    return world_of([*ground_constraints, *base, negation(sentence)], constraints.is_single) is None


def contract_whole(revisions: Iterable[frozenset[T]], atom: T) -> list[frozenset[T]]:
    """Whole-revision contraction as Kumiho's paper defines it (7.5, 7.6): each revision that says
    the atom goes, with all that it says."""
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
    """The conjuncts one by one, so that a theory looks only at those that matter."""
    for sentence in sentences:
        if isinstance(sentence, And):
            yield from _parts(sentence.parts)
        else:
            yield sentence


def _because(belief: Belief, kept: Sequence[Belief], begun: Theory) -> tuple[Belief, ...]:
    """A smallest part of what was kept before a belief that it contradicts, with what the operation
    began with: nothing, one, or several."""

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
    return sentences[0] if len(sentences) == 1 else And(tuple(sentences))
