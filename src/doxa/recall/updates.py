"""Which turns may update an earlier one, and which hits differ in a value only: the later goes
first. Pure: texts, likeness and weights in, an order out.

Turns supersede nothing: "the deadline is April 1" and "the deadline is April 5" both answer when
the deadline is, and the first often in better words. Among the best UPDATE_HITS hits of a question
that asks for the current state of something, a later turn **may update** an earlier one if

    alike      both are turns of one speaker, and their vectors are at least UPDATE_ALIKE standard
               deviations nearer than memories are on average; without vectors the words around both
               values are compared more strictly instead (UPDATE_SLOT_WORDS)
    slot       each asserts a value of one type (`slots.py`), the later another one than any in the
               earlier turn, of the same affair: the content words around the values, names apart,
               overlap by UPDATE_SLOT of the shorter; both have UPDATE_TOPIC of the question's
               weight around them; and of the question's words around the earlier value the later
               turn lacks at most UPDATE_MISSING, and no name

Each condition alone is true of most unrelated turns; a word of change only widens what may be
missing. The later turn is placed just above the best turn that it may update, unless that scored
much better (UPDATE_SCORE). Where the store holds that a belief from the one superseded a belief
from the other, that is stated as a fact instead.

Hits that have the same words except one value or name ("X is a citizen of …"), and nearly the same
score, are a tie: the newest goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.patterns import lazy_re
from doxa.base.words import STOP_WORDS, stem, terms
from doxa.recall import constants
from doxa.recall.slots import Slot, read_slots

# "how do I": no value is asked for
_MANNER = (
    "do|does|did|can|could|should|would|will|shall|to|about|has|have|had|is|are|am|was|were|come"
    "|not"
)
_ASKS = lazy_re(rf"\b(what|which|when|where|who|whose|still|how (?!(?:{_MANNER})\b)[a-z]+)\b")
# where nothing else is asked
_KINDS = {
    "when": frozenset(("date", "clock")),
    "how many": frozenset(("number",)),
    "where": frozenset(("name", "number")),
    "who": frozenset(("name",)),
}
_PAST = lazy_re(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at"
    r" first|previous(?:ly)?|earlier|formerly|(?:i|we|you|he|she|they|it|that|who|what) used"
    r" to|back then"
    r"|in the beginning|history|over time|between|in order(?! to)|order in which|summar\w+"
    r"|how (?:did|has|have) .{0,80}?(?:chang|evolv|develop|progress|improv)\w*)\b|\bbefore\W*$"
)
_NAME = lazy_re(r"(?<=[^\s.!?] )[A-Z]\w+")
_WORD = lazy_re(r"\w+")
_HOW = lazy_re(r"\bhow ([a-z]+)")
_PLACES = frozenset("in at to on into from near".split())


class RankedTurn(NamedTuple):
    """A hit as the rule sees it. Hits of equal `by` have one speaker; `turn` is False for a belief,
    and for a turn that states nothing for its speaker, such as an assistant's."""

    by: Hashable
    time: tuple[int, int]
    text: str
    score: float
    turn: bool = True


class Placed(NamedTuple):
    """A hit in the new order: its place in the old one, the place of the hit whose score it takes
    (its own unless it was moved), and of the hit that it may update, or None."""

    place: int
    level: int
    updates: int | None = None


class Topic(NamedTuple):
    """What a question asks about: the weights of its terms, of its other words, the sum of the
    former, the terms that are names, and the kinds of value asked for (none: all)."""

    weights: Mapping[str, float]
    others: Mapping[str, float]
    mass: float
    names: frozenset[str]
    kinds: frozenset[str]


class Reading(NamedTuple):
    """What a turn states, and the terms that it contains anywhere."""

    slots: list[Slot]
    terms: frozenset[str]


Likeness = Sequence[Sequence[float | None]]
"""By two places: how much nearer two hits are than memories on average, in standard deviations."""


def asks_current_state(question: str) -> bool:
    """Return whether a question asks for something as it is, not as it was or came to be."""
    text = question[:QUERY_CHARS_READ].casefold()
    return bool(_ASKS.search(text)) and not _PAST.search(text)


def reorder(
    question: str,
    weights: Mapping[str, float],
    turns: Sequence[RankedTurn],
    alike: Likeness,
    revised: frozenset[tuple[int, int]] = frozenset(),
) -> list[Placed]:
    """Return the hits in their new order. `revised` are the places of turns (later, earlier) from
    which beliefs came of which one superseded the other."""
    topic = read_topic(question, weights)
    read: dict[int, Reading] = {}

    def reading(place: int) -> Reading:
        if place not in read:
            text = turns[place].text
            read[place] = Reading(read_slots(text), frozenset(terms(text)))
        return read[place]

    def replaces(later: int, earlier: int) -> bool:
        if turns[later].time <= turns[earlier].time:
            return False
        if (later, earlier) in revised:
            return True
        new, old = turns[later], turns[earlier]
        if new.by != old.by or not (new.turn and old.turn):
            return False
        likeness = alike[later][earlier]
        if likeness is not None and likeness < constants.UPDATE_ALIKE:
            return False
        least = constants.UPDATE_SLOT_WORDS if likeness is None else constants.UPDATE_SLOT
        return may_update(reading(later), reading(earlier), topic, least=least)

    order: list[Placed] = []
    left = constants.UPDATE_MOVES_MAX
    for place, turn in enumerate(turns):
        updated = [at for at, placed in enumerate(order) if replaces(place, placed.place)]
        tied = [at for at, one in enumerate(order) if _is_tie(turn, turns[one.place], topic)]
        near = [
            at
            for at in (updated if left else ())
            if turn.score >= constants.UPDATE_SCORE * turns[order[at].place].score
        ]
        above = min((*near, *tied), default=None)
        claim = order[updated[0]].place if updated else None
        if above is None:
            order.append(Placed(place, place, claim))
        else:
            left -= bool(near)
            order.insert(above, Placed(place, order[above].level, claim))
    return [
        placed
        if placed.updates is not None
        else placed._replace(updates=_below(order[at + 1 :], placed.place, replaces))
        for at, placed in enumerate(order)
    ]


def _below(order: Sequence[Placed], place: int, replaces: Callable[[int, int], bool]) -> int | None:
    """The best turn of those below that this one may update."""
    return next((other.place for other in order if replaces(place, other.place)), None)


def read_topic(question: str, weights: Mapping[str, float]) -> Topic:
    """Return what a question asks about, given the weights of its terms."""
    text = question[:QUERY_CHARS_READ]
    asked = set(_ASKS.findall(text.casefold()))
    names = frozenset(term for name in _NAME.findall(text) for term in terms(name))
    kinds = _KINDS.get(asked.pop(), frozenset()) if len(asked) == 1 else frozenset()
    measures = {stem(word) for word in _HOW.findall(text.casefold())}  # how much, how long
    mean = sum(weights.values()) / max(1, len(weights))
    others = dict.fromkeys(
        set(terms(text)) - weights.keys(), mean
    )  # words about the talk, speakers
    weights = {term: weights[term] for term in weights.keys() - measures}
    return Topic(weights, others, sum(weights.values()), names & weights.keys(), kinds)


def may_update(later: Reading, earlier: Reading, topic: Topic, *, least: float) -> bool:
    """Return whether the later turn states another value for something that the earlier states.
    `least` is the share of the words around the values that must be the same."""
    return any(
        _is_replaced(old, new, later, earlier, topic, least=least)
        for new in later.slots
        if new.asserted and (not topic.kinds or new.kind in topic.kinds)
        for old in earlier.slots
        if old.asserted and old.kind == new.kind and old.value != new.value
    )


def _is_replaced(
    old: Slot, new: Slot, later: Reading, earlier: Reading, topic: Topic, *, least: float
) -> bool:
    if any(new.value == slot.value for slot in earlier.slots if slot.kind == new.kind):
        return False
    if not (_of_one_type(old, new) and _of_one_subject(old, new, later, earlier)):
        return False
    shared = old.near & new.near
    if not shared - old.names - old.units or len(shared) < least * min(
        len(old.near), len(new.near)
    ):
        return False
    return _is_asked(old, new, later, topic)


def _is_asked(old: Slot, new: Slot, later: Reading, topic: Topic) -> bool:
    """Whether the question asks for just this value: its words are around both, and what it names
    is not missing from the later turn. A value that the question contains is not asked for."""
    weights = {**topic.others, **topic.weights}
    asked = weights.keys()
    if asked & ({*terms(old.value)} ^ {*terms(new.value)}):
        return False
    around = asked & old.near
    missing = around - later.terms
    if missing & topic.names:
        return False
    most = constants.UPDATE_MISSING_CHANGED if new.changed else constants.UPDATE_MISSING
    if sum(weights[term] for term in missing) > most * sum(weights[term] for term in around):
        return False
    both = sum(topic.weights.get(term, 0.0) for term in around & new.near)
    return both >= constants.UPDATE_TOPIC * topic.mass > 0


def _of_one_type(old: Slot, new: Slot) -> bool:
    """Whether two values of one kind could answer the same question. A number without a unit takes
    the other's if that occurs near it. A name needs the same word before it, and neither a name nor
    a number of things replaces another by an act that is done again and again."""
    if new.kind in ("name", "number") and (old.act or new.act) and not new.changed:
        return False
    if new.kind == "name":
        both_places = new.changed and {old.lead, new.lead} <= _PLACES
        one_head = not set(old.value.split()).isdisjoint(new.value.split())  # Hotel, Professor
        return new.lead == old.lead or both_places or one_head
    if new.kind != "number" or old.units & new.units or not (old.units or new.units):
        return True
    return bool(
        (not old.units and new.units & old.near) or (not new.units and old.units & new.near)
    )


def _of_one_subject(old: Slot, new: Slot, later: Reading, earlier: Reading) -> bool:
    """Whether two values belong to one person or thing, as far as pronouns, persons, names and the
    words before what both share say. "She" may be anybody whom the earlier turn names. A past
    tense of what the earlier turn states in the present is about the past."""
    if new.persons - old.persons or ((new.past - old.past) & old.near and not new.changed):
        return False
    if not (old.own or new.own) and _subject(old, new) and _subject(new, old):
        return False
    if (old.persons - later.terms) and not new.pronoun:
        return False
    if old.own and not new.own:
        return not (new.pronoun or new.names - earlier.terms)
    if new.own and not old.own:
        return not (old.pronoun or old.names - later.terms)
    return True


def _subject(slot: Slot, other: Slot) -> list[str]:
    """The content words before the first that the other has as well: of "the mail relay listens on
    port 2525" and "the search API listens on port 9200" mail and relay."""
    place = next((i for i, word in enumerate(slot.before) if word in other.near), 0)
    shared_name = place and slot.before[place] in slot.names
    return [] if shared_name else list(slot.before[:place])


def _is_tie(later: RankedTurn, earlier: RankedTurn, topic: Topic) -> bool:
    """Whether two hits of one speaker differ in one value or name only, which the question does not
    contain, and are so near in score that the later goes first."""
    if later.by != earlier.by or later.time <= earlier.time:
        return False
    if later.score < constants.TIE_SCORE * earlier.score:
        return False
    spans = differing(later.text, earlier.text)
    if spans is None:
        return False
    new, old = (frozenset(terms(" ".join(span))) & topic.weights.keys() for span in spans)
    return not old - new


def differing(one: str, other: str) -> tuple[list[str], list[str]] | None:
    """Return the words in which two texts differ, if these are one run of at most TIE_WORDS in
    each, and what is equal has at least as many words, two of them content; otherwise None."""
    if abs(len(one) - len(other)) > constants.TIE_CHARS or "?" in one or "?" in other:
        return None
    words, others = _WORD.findall(one.casefold()), _WORD.findall(other.casefold())
    least = min(len(words), len(others))
    start = next((i for i in range(least) if words[i] != others[i]), least)
    end = next((i for i in range(least - start) if words[-1 - i] != others[-1 - i]), least - start)
    same = words[:start] + words[len(words) - end :]
    spans = words[start : len(words) - end], others[start : len(others) - end]
    longest = max(map(len, spans))
    content = {stem(word) for word in same if word not in STOP_WORDS}
    if not all(spans) or longest > constants.TIE_WORDS or longest > len(same) or len(content) < 2:
        return None
    return spans
