"""Compare a new claim with a held one: whether both are about the same subject, and whether the new
one replaces the held one.

    held                        new                             relation
    "The API port is 8080"      "The API port is 9090"          updates: one value, and it differs
    "Noah is allergic to nuts"  "Noah is not allergic to nuts"  contradicts: denies the held value
    "Priya lives in Leeds"      "Priya is based in Leeds"       restates
    "Eva knows Python"          "Eva knows Rust"                beside: both may hold

A pure function of two claims. The evidence is a tuple of numbers between 0 and 1 named by FEATURES;
their weights are in ingestion/match.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from doxa.base.words import stem
from doxa.language.comparison.values import compare_values
from doxa.language.predicates import ANY, BY_NAME, same_state, shared_category
from doxa.language.stated_values import StatedValue, words_of
from doxa.language.statement import Claim
from doxa.language.subjects import GROUP, SPEAKER

_SPELT_CHARS_MIN = 6  # one letter makes another word of a shorter one
Relation = Literal["updates", "contradicts", "restates", "refines", "names", "beside"]
RETIRING: frozenset[Relation] = frozenset(("updates", "contradicts"))

FEATURES = (
    # "Ana's sister" for a belief of Ana, "the box in the parcel" for one of the parcel
    "part_or_relative",
    "part_of_name",  # "Zoe Miller" for a belief of Zoe: perhaps the same person
    "says_less_of_subject",  # "the port" for a belief of "the API port"
    "other_subject",  # "the API host" for a belief of "the API port"
    "owner_open",  # the subjects differ only in "our" or "my"
    "unnamed",  # "she" without an antecedent
    "near_predicate",
    "other_predicate",
    "other_kind_of_value",
    "unspecific",  # two plain words, and no sign of a change
    "may_be_several",
    # "switched to Linear" for a belief that Trello is used: a replacement or an addition
    "may_replace",
    "gives_up_held",
    "gives_up_another",
    "takes_back",
    "takes_back_another",
    "scope_open",
    "other_scope",
    # the belief states several things, or lists several values, and this is one of them
    "says_more_besides",
    "change",
    "past",
    "other_speaker",
    "shared_words",
    "unknown_predicate",  # nobody said how many such values the subject has at a time
    "misspelt",  # the subjects differ in a letter of a long word
    "by_words",  # compared without grammar
    "unsure_words",  # and no sign of a change
)


# If any of these is set, the two are not about exactly the same subject.
SUBJECT_DIFFERS = frozenset(
    FEATURES.index(name)
    for name in (
        "part_or_relative",
        "part_of_name",
        "says_less_of_subject",
        "other_subject",
        "owner_open",
        "unnamed",
        "misspelt",
    )
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """The relation of two claims; `reasons` are short sentences for people."""

    relation: Relation
    features: tuple[float, ...]
    reasons: tuple[str, ...]


def agreement(
    new: Claim,
    held: Claim,
    *,
    several: bool,
    same_speaker: bool,
    shared_words: float,
    learnt: bool = False,
    known: frozenset[str] = frozenset(),
) -> Agreement:
    """Compare two claims. `several` means that the belief states more than the held claim;
    `shared_words` is the fraction of words that the two texts share; `learnt` that values of the
    held predicate have replaced each other before; `known` are words that occur in beliefs, which
    are not spelling errors."""
    names = (
        shared_category(new.value.words, held.value.words)
        if new.predicate != held.predicate
        else None
    )
    left, right = _difference(new, held, names=names)
    left, right, misspelt = _respelt(left, right, known)
    near = _predicates(new, held, same_category=names is not None)
    if _gives_up_exactly(new, held, left=left, right=right):
        left, right, near = frozenset(), frozenset(), "same"
    if same_speaker and not left and _elides_owner(new, held, right=right):
        right = frozenset()
    relation, found = _values(new, held, near=near, learnt=learnt)
    found |= _subjects(new, held, left=left, right=right)
    found |= {
        "near_predicate": float(near == "near"),
        "other_predicate": float(near == "other"),
        "says_more_besides": float(several or (_is_list(held.value) and not _is_list(new.value))),
        "change": float(new.change),
        "past": float(new.past and not new.change and not new.ends),
        "other_speaker": float(not same_speaker and GROUP in new.key),
        "shared_words": shared_words,
        "misspelt": float(misspelt),
    }
    # a denial without a scope also denies the value within any scope
    if new.scope != held.scope and (new.scope or relation != "contradicts"):
        found["other_scope" if new.scope and held.scope else "scope_open"] = 1.0
    reasons = _reasons(new, held, relation, near=near, left=left, right=right, several=several)
    return Agreement(relation, tuple(float(found.get(name, 0.0)) for name in FEATURES), reasons)


# One may still love or know what one has replaced, but not use it.
_OF_NAMES = frozenset(("is", "kind", "uses", "has", "where", "hosting"))


def _gives_up_exactly(
    new: Claim, held: Claim, *, left: frozenset[str], right: frozenset[str]
) -> bool:
    """Return whether a change names the held value as the old one: "I replaced my Pixel 6 with an
    iPhone 15", "I changed my major from physics to economics". The name of a value identifies the
    belief whatever its predicate; any other word must also occur in the held value."""
    if not (new.change and new.positive and held.positive and new.given_up.words):
        return False
    if new.predicate not in (ANY, "where") or not (held.property or held.predicate in _OF_NAMES):
        return False
    if right & {SPEAKER, GROUP} or re.search(
        r"'s\b| of |\b(?:his|her|their|its|your) ", held.subject
    ):
        return False
    stated = held.value.words | {stem(word) for word in held.value.words}
    if left and left <= stated and new.given_up.words <= held.value.words:
        return not right
    exact = compare_values(held.value, new.given_up) == "same"
    return exact and not left and _is_name(new.given_up.text)


def _elides_owner(new: Claim, held: Claim, *, right: frozenset[str]) -> bool:
    """Return whether a short note leaves out "my" or "our": "New phone number: 555-0178"."""
    owner = re.match(r"(?:my|our) (?P<what>[a-z][a-z ]*)$", held.subject, re.IGNORECASE)
    return (
        new.change
        and owner is not None
        and len(right) == 1
        and new.subject.casefold() == owner["what"].casefold()
    )


def _difference(
    new: Claim, held: Claim, *, names: frozenset[str] | None
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of each key that the other lacks. The category of both values ("database")
    does not count as part of the subject."""
    one, other = new.key, held.key
    if names:
        one, other = one - names, other - names
    left, right = one - other, other - one
    return _unjoined(left, right), _unjoined(right, left)


def _unjoined(words: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Drop words that the others contain in joined or separated spelling: "time zone" and
    "timezone"."""
    if len(others) > 2 and len(words) > 2:
        return words
    joined = (
        {first + second for first in words for second in words if first != second}
        if len(words) == 2
        else set()
    )
    if any(
        one.startswith(other) or other.startswith(one)
        for one in joined
        for other in others
        if len(other) > 4
    ):
        return frozenset()
    apart = (
        {first + second for first in others for second in others if first != second}
        if len(others) == 2
        else set()
    )
    return frozenset(
        word
        for word in words
        if not (
            len(word) > 4 and any(one.startswith(word) or word.startswith(one) for one in apart)
        )
    )


def _respelt(
    left: frozenset[str], right: frozenset[str], known: frozenset[str]
) -> tuple[frozenset[str], frozenset[str], bool]:
    """Drop a long word of each side if they differ in one letter: probably a spelling error."""
    if len(left) != 1 or len(right) != 1 or left <= known:
        return left, right, False
    (one,), (other,) = left, right
    if min(len(one), len(other)) < _SPELT_CHARS_MIN or not (one + other).isalpha():
        return left, right, False
    near = within_one_edit(one, other)
    return (frozenset(), frozenset(), True) if near else (left, right, False)


def within_one_edit(one: str, other: str) -> bool:
    """Return whether two words differ in one letter, or in two that changed places."""
    if abs(len(one) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if start is None:
        return True
    first, second = one[start:], other[start:]
    return (
        first[1:] == second[1:]
        or first[1:] == second
        or first == second[1:]
        or (first[:2] == second[1::-1] and first[2:] == second[2:])
    )


def _subjects(
    new: Claim, held: Claim, *, left: frozenset[str], right: frozenset[str]
) -> dict[str, float]:
    owners = {SPEAKER, GROUP}
    if (left or right) and left | right <= owners and not (left and right):
        return {"owner_open": 1.0, "unnamed": float(new.unnamed)}
    one_side, named = bool(left) != bool(right), new.proper and held.proper
    return {
        "part_or_relative": float(one_side and not named and (bool(left) or new.proper)),
        "part_of_name": float(one_side and named),
        "says_less_of_subject": float(one_side and not named and bool(right) and not new.proper),
        "other_subject": float(bool(left) and bool(right)),
        "unnamed": float(new.unnamed),
    }


# Predicates of one family that hold together: a concert starts at eight and ends at eleven.
_APART = frozenset(
    frozenset(pair.split(" / "))
    for pair in (
        "starts / ends",
        "starts / leaves",
        "starts / arrives",
        "when / ends",
        "ends / leaves",
        "home / seat",
        "stored / seat",
    )
)


def holds_beside(one: str, other: str) -> bool:
    """Return whether two predicates of one family are known to hold together."""
    return frozenset((one, other)) in _APART


def _predicates(
    new: Claim, held: Claim, *, same_category: bool
) -> Literal["same", "near", "other"]:
    if new.predicate == held.predicate:
        return "same"
    one, other = BY_NAME.get(new.predicate), BY_NAME.get(held.predicate)
    if new.predicate == ANY or (one is not None and one.family == ANY):
        return "near"
    if one is not None and other is not None and one.family and one.family == other.family:
        return "other" if holds_beside(one.name, other.name) else "near"
    if "is" in (new.predicate, held.predicate) and {"kind", "name", "age"} & {
        new.predicate,
        held.predicate,
    }:
        return "near"
    return "near" if same_category else "other"


def _values(
    new: Claim, held: Claim, *, near: str, learnt: bool
) -> tuple[Relation, dict[str, float]]:
    """Return the relation of the two values and the features that it sets."""
    likeness = compare_values(new.value, held.value)
    if not new.positive:
        return _taken_back(new, held, likeness=likeness, near=near)
    if not held.positive:
        return (
            ("contradicts", {"takes_back": 1.0})
            if likeness == "same" and near == "same"
            else ("beside", {"may_be_several": 1.0})
        )
    if new.value.type == "none" and not new.ends:
        same_word = held.value.type == "none" and near == "same" and not new.property
        return ("restates" if same_word else "names", {})
    if likeness == "same" and near != "other":
        return "restates", {}
    if new.given_up.text:
        if compare_values(held.value, new.given_up) != "other":
            return "updates", {"gives_up_held": 1.0}
        return ("beside" if near == "other" else "updates"), {
            "gives_up_another": 1.0,
            "may_be_several": float(not _is_one(new, held, near=near)),
        }
    days = {new.value.category, held.value.category} == {"day", "time"}  # on Saturday, and at three
    if new.besides or (days and near != "other"):
        return "beside", {"may_be_several": 1.0}
    if likeness == "part" and near == "same" and not _versions(new.value, held.value):
        return "refines", {}
    if near != "other" and not _is_one(new, held, near=near) and _may_replace(new, held):
        return "updates", {
            "may_replace": 1.0,
            "other_kind_of_value": float(not _same_kind(new.value, held.value)),
        }
    single = near != "other" and _is_one(new, held, near=near)
    if near == "same" and not single and _is_unknown(new) and not new.past:
        return "updates", {
            "unknown_predicate": float(not learnt),
            "other_kind_of_value": float(not _same_kind(new.value, held.value)),
        }
    if near == "other" or not (single or (learnt and near == "same")):
        return "beside", {
            "may_be_several": 1.0,
            "other_kind_of_value": float(not _same_kind(new.value, held.value)),
        }
    return "updates", {
        "other_kind_of_value": float(not _same_kind(new.value, held.value)),
        "unspecific": float(_unspecific(new, held)),
    }


def _taken_back(
    new: Claim, held: Claim, *, likeness: str, near: str
) -> tuple[Relation, dict[str, float]]:
    if not held.positive:
        return (
            ("restates", {})
            if likeness == "same" and near == "same"
            else ("beside", {"may_be_several": 1.0})
        )
    whole = new.value.type == "none" and (new.ends or held.value.type == "none") and near == "same"
    if near != "other" and (whole or likeness != "other"):
        # someone who does not like blue cheese may still like cheese
        narrower = likeness == "part" and new.value.words > held.value.words
        return "contradicts", {"takes_back_another" if narrower else "takes_back": 1.0}
    return "beside", {"takes_back_another": 1.0, "may_be_several": 1.0}


def _is_one(new: Claim, held: Claim, *, near: str) -> bool:
    """Return whether the subject has one such value at a time."""
    one, other = new.value, held.value
    versions = _versions(one, other)
    replacing = versions or bool(shared_category(one.words, other.words))
    several = _has_several(new, held, unknown=not versions)
    if same_state(one.words, other.words) or (replacing and (new.change or not several)):
        return True
    if near == "same":
        known_several = (table := BY_NAME.get(new.predicate)) is not None and not table.single
        measured = one.type != "text" and one.category == other.category
        if new.change and not known_several and (measured or _one_slot(one, other)):
            return True
        plain = (
            new.predicate == "is" and _is_plain(one) and _is_plain(other)
        )  # a car is red, and fast
        return (new.settled and held.settled if plain else new.property and held.property) or (
            new.predicate == "kind" and _head(one) == _head(other)
        )
    by_change = BY_NAME.get(new.predicate)
    if new.predicate == ANY or (by_change is not None and by_change.family == ANY):
        return held.property and _same_kind(one, other)
    if by_change is not None and by_change.family in ("place", "time"):
        return new.change and held.property
    if {new.predicate, held.predicate} in ({"is", "name"}, {"is", "age"}):
        return new.change and new.property and held.property
    return (
        by_change is not None
        and by_change.family == "role"
        and (new.change or _head(one) == _head(other))
    )


def _is_unknown(claim: Claim) -> bool:
    """Return whether the verb of a claim is not in the table."""
    return claim.predicate.startswith("to ") and claim.value.type != "none"


def _one_slot(one: StatedValue, other: StatedValue) -> bool:
    """Return whether the values differ in one word: "rebuilt every night", "rebuilt every hour"."""
    first, second = words_of(one.text), words_of(other.text)
    return (
        len(first) == len(second) > 1
        and sum(a != b for a, b in zip(first, second, strict=True)) == 1
    )


def _is_list(value: StatedValue) -> bool:
    return re.search(r" and | or |, | & ", value.text) is not None


def _is_plain(value: StatedValue) -> bool:
    return value.type == "text" and not _is_name(value.text)


def _unspecific(new: Claim, held: Claim) -> bool:
    apart = not (
        same_state(new.value.words, held.value.words)
        or shared_category(new.value.words, held.value.words)
    )
    return (
        apart
        and not new.change
        and not new.settled
        and _is_plain(new.value)
        and _is_plain(held.value)
    )


def _may_replace(new: Claim, held: Claim) -> bool:
    """Return whether the claim reports a change among values of which there may be several."""
    by_change = BY_NAME.get(new.predicate)
    changing = by_change is not None and by_change.family == ANY
    return new.change and (changing or new.predicate == held.predicate)


def _has_several(new: Claim, held: Claim, *, unknown: bool) -> bool:
    """Return whether either predicate allows several values: two databases may be in use together.
    `unknown` is the answer for a verb that is not in the table."""
    for claim in (new, held):
        found = BY_NAME.get(claim.predicate)
        if (found is not None and not found.single) or (
            found is None and unknown and claim.predicate.startswith("to ")
        ):
            return True
    return False


def _versions(one: StatedValue, other: StatedValue) -> bool:
    """Return whether the values differ only in a number: "Python 3.11" and "Python 3.13"."""
    if one.type != "text" or other.type != "text":
        return False
    differing = one.words ^ other.words
    return (
        bool(one.words & other.words)
        and bool(differing)
        and all(any(map(str.isdigit, word)) for word in differing)
    )


def _head(value: StatedValue) -> str:
    return re.sub(r"\W+", " ", value.text).casefold().strip().rpartition(" ")[2]


def _same_kind(one: StatedValue, other: StatedValue) -> bool:
    """Return whether one value could replace the other: a name a name, a day a day, dollars
    euros."""
    if one.category != other.category:
        return "day" in (one.category, other.category) and any(
            value.dimension == "count" and 1900 <= value.numbers[0] < 2200 for value in (one, other)
        )
    if (
        one.type != "text"
        or one.words & other.words
        or shared_category(one.words, other.words)
        or same_state(one.words, other.words)
    ):
        return True
    return _is_name(one.text) == _is_name(other.text) and _is_version(one) == _is_version(other)


def _is_version(value: StatedValue) -> bool:
    """Return whether a value is a name with a version, which no place and no person has."""
    return _VERSION.fullmatch(value.text) is not None


_VERSION = re.compile(r"[^\W\d_][\w.+#-]* v?\d[\d.]*", re.IGNORECASE)


def _is_name(text: str) -> bool:
    bare = re.sub(r"^(?:the|a|an|my|our|his|her|their) ", "", text)
    return bare[:1].isupper() or re.search(r"\d|\w[_./]\w", bare) is not None


def _reasons(
    new: Claim,
    held: Claim,
    relation: Relation,
    *,
    near: str,
    left: frozenset[str],
    right: frozenset[str],
    several: bool,
) -> tuple[str, ...]:
    found: list[str] = []
    if left or right:
        parts = [
            f"{whose} {', '.join(sorted(words))}"
            for whose, words in (("the text adds", left), ("the belief adds", right))
            if words
        ]
        found.append(f"The subjects differ: {'; '.join(parts)}.")
    else:
        found.append("Both are about the same subject.")
    if near != "same":
        found.append(f"The text says {new.predicate!r}, the belief {held.predicate!r}.")
    said = {
        "updates": f"{new.value.text!r} replaces {held.value.text!r}.",
        "contradicts": (
            f"The text denies {(held.value.text or held.predicate)!r}."
            if not new.positive
            else f"The text asserts {held.value.text!r} again."
        ),
        "restates": f"Both state {held.value.text!r}.",
        "refines": (
            f"{new.value.text!r} and {held.value.text!r} may both hold: one is more specific."
        ),
        "names": "The text names the subject and states nothing about it.",
        "beside": f"{held.value.text!r} and {new.value.text!r} may both hold.",
    }
    found.append(said[relation])
    if several:
        found.append("The belief states more than this.")
    return tuple(found)
