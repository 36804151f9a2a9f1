"""Decide whether a claim is a complete statement that is worth keeping as a candidate belief.

    "I work at Acme Robotics."    complete
    "The port is 9090."           complete
    "She loves it there."         nobody knows who, what and where
    "My life is a mess."          no value that could be asked for or corrected
    "The thing is a bit odd."     no subject

Few and right rather than many: what is left out is still in the conversation, and what is kept is
offered as a belief.
"""

from __future__ import annotations

import re

from doxa.base.patterns import lazy_re
from doxa.base.words import stem
from doxa.language.not_names import NOT_NAMES
from doxa.language.predicates import ANY, BY_NAME, SPELLINGS, is_state
from doxa.language.stated_values import StatedValue
from doxa.language.statement import Claim
from doxa.language.subjects import PROPERTIES

_SUBJECT_WORDS_MAX, _VALUE_WORDS_MAX = 6, 8
_DEICTIC = lazy_re(
    r"\b(?:it|its|this|that|these|those|you|your|yours|them|they|him|her|hers|his|she|he|me|us|here"
    r"|there|something|anything|everything|nothing|someone|anyone|everyone|somebody|everybody|stuff"
    r"|things?|ones?|ways?|ideas?|lots?|bit|such|same|too|so|very|really|how|what|when|why|who"
    r"|where"
    r"|which|myself|yourself|itself|each other|again|else|enough|more|less|most|least|much|many"
    r"|few|both|another|other|others|some|any|all|no|not|just|even|kinda|sorta|like|as|than|though"
    r"|following|above|below|way|kind|sort|part|reason|point|fact|case|time|times)\b",
    re.IGNORECASE,
)
_PRONOUN = lazy_re(
    r"\b(?:it|this|that|these|those|you|your|he|she|they|his|her|their|its|him|them|there|here"
    r"|something|anything|everything|nothing|someone|anyone|everyone|somebody|everybody|nobody"
    r"|people|things?|stuff|ones?|what|who|which)\b",
    re.IGNORECASE,
)
_VAGUE = lazy_re(
    r"(?:(?:the|my|our|only|real|whole|main|big|best|worst|first|last|next|other|same|hard|good|bad"
    r"|great|biggest|hardest|key) )*(?:all|some|many|most|life|lives|world|day|today|thoughts?"
    r"|problem|point|truth|fact|question|issue|best|worst|idea|plan|goal|rest|key|trick|way|other"
    r"|same|only|last|first|next|reason|part|hope|dream|feeling|moment|time|bottom line|news|answer"
    r"|result|lesson|advice|support|story|experience|favou?rite)(?: (?:of|for|in|about|with) .*)?$",
    re.IGNORECASE,
)
_NAMED_SUBJECT = lazy_re(r"(?:the|my|our|both my) \S|[A-Z]|[\w.-]*[\d_.-]\w|\w+ \w+$|\w+$", re.I)
_HELD = lazy_re(
    r"(?:(?:an?|one|two|three|four|five|six|\d+|my|both) )?(?:[\w-]+ ){0,2}(?:son|daughter|kid"
    r"|child"
    r"|children|brother|sister|sibling|wife|husband|partner|fianc[eé]e?|girlfriend|boyfriend|twin"
    r"|cousin|niece|nephew|aunt|uncle|grand(?:ma|pa|mother|father|son|daughter|child|children|kid)"
    r"|stepson|stepdaughter|dog|puppy|cat|kitten|pet|parrot|bird|fish|rabbit|hamster|horse|pony"
    r"|snake|lizard|gecko|turtle|tortoise|guinea pig|goldfish|chicken|hen|goat|cow|sheep|ferret"
    r"|car|van|truck|bike|motorbike|motorcycle|scooter|boat|house|flat|apartment|condo|cabin|farm"
    r"|garden|shop|store|business|company|degree|phd|master's|diploma|licen[cs]e|allergy|asthma"
    r"|diabetes|adhd|autism|dyslexia|migraines|arthritis|account|subscription|piano|guitar|violin"
    r"|drum|cello|telescope|camera|laptop|studio|band|blog|podcast|channel)(?:s|es|ies)?\b",
    re.IGNORECASE,
)
_PHRASE_START = lazy_re(r"(?:to|of|in|on|at|by|with|for|from|about|and|but|or|because)\b", re.I)
_DEFINITE = lazy_re(r"(?:the|my|our|both my)\s\S|[A-Z][\w.-]*(?: [A-Z][\w.-]*)*'s? \S", re.I)
_KEY = lazy_re(r"\w[\d_.:/-]\w|^[a-z][a-z0-9]*(?:[ _-][a-z0-9]+){0,3}$")
_GERUND = lazy_re(r"[\w-]+ing\b", re.IGNORECASE)
_TIMES = frozenset(
    "deadline when starts ends birthday leaves arrives opens closes age port".split()
)
_NAMED_VALUES = frozenset(
    ("home", "work", "school", "visited", "points", "birthplace", "runs on", "hosting")
)
_CHOICE = lazy_re(r"[a-z][\w.+#-]*$")
_PLACE = lazy_re(r"(?:an?|the) (?!moment|time|end|same|night|beginning|start)[a-z]", re.I)
_TAKEN = lazy_re(
    r"\b(?:class|classes|course|courses|lessons?|medication|pills?|insulin|tablets?|antibiotics"
    r"|\d+ ?mg)$"
)
_RECIPROCAL = lazy_re(r"\b(?:another|other|each|thing|things|of (?:my|the|our|those))\b", re.I)
_JUDGING = lazy_re(
    r"(?:a |an |the |so |very |really |pretty |quite |too |more |most |all |always )*(?:good|great"
    r"|nice|fun|key|crucial|important|tricky|hard|difficult|easy|tough|amazing|awesome|perfect|fine"
    r"|ok|okay|bad|worse|better|best|wonderful|beautiful|lovely|cool|special|huge|big|real|true"
    r"|essential|critical|priceless|precious|incredible|fantastic|terrible|awful|crazy|funny"
    r"|interesting|inspiring|exciting|boring|worth|pure|clear|vital|everything|nothing|paramount"
    r"|rough|wild|total|constant|reminder|journey|blast|mess|challenge|struggle|learning|must"
    r"|lot|bit|way|part|gift|joy|blessing|pleasure|inspiration|passion|delight|treat|ride"
    r"|work in progress|fan of|support|help|start|step)\b",
    re.IGNORECASE,
)
_STATES_OF_PERSONS = frozenset(
    "single married divorced engaged widowed vegetarian vegan pregnant retired employed unemployed"
    " diabetic blind deaf".split()
)
_KIND = lazy_re(r"an? (?:[\w-]+ ){0,3}[\w-]+$")
# Predicates that state something lasting whatever the value; of the others the value decides.
_LASTING = frozenset(
    "home work school name price weight age birthday birthplace deadline duration port manager lead"
    " assignee owner spouse role hosting language allergic likes speaks uses plays teaches studies"
    " drives member starts ends leaves arrives opens closes sells supports stored maintained"
    " sponsor author supplier insurer deploys smokes rides consumes when".split()
) | {"runs on", "leaves from", "kept at"}
_SUBJECT_OF_PERSON_ONLY = frozenset(("likes", "plays", "studies", "teaches", "consumes", "rides"))


def is_complete(claim: Claim) -> bool:
    """Return whether a claim is asserted, and its subject, predicate and value can be kept."""
    if claim.unasserted or claim.unnamed or (claim.past and not claim.ends):
        return False
    return _names_something(claim) and _is_value(claim.value) and _fits(claim)


def is_first_person(subject: str) -> bool:
    """Return whether a subject is the speaker, alone or with others."""
    return subject.casefold() in ("i", "we", "me", "us")


def _is_referring(claim: Claim) -> bool:
    """Return whether a subject refers to one thing: a name, a definite phrase or a key."""
    subject = claim.subject
    if _DEFINITE.match(subject) or _KEY.search(subject):
        return True
    names = [word for word in subject.split() if word[:1].isupper()]
    return bool(names) and names[-1].partition("'")[0].casefold() not in NOT_NAMES


def _is_someone(claim: Claim) -> bool:
    return is_first_person(claim.subject) or claim.proper


def _names_something(claim: Claim) -> bool:
    subject = claim.subject
    if is_first_person(subject):
        return True
    words = subject.split()
    return (
        0 < len(words) <= _SUBJECT_WORDS_MAX
        and _PRONOUN.search(subject) is None
        and _VAGUE.match(subject) is None
        and _PHRASE_START.match(subject) is None
        and _GERUND.match(subject) is None
        and "," not in subject
        and _is_referring(claim)
        and _NAMED_SUBJECT.match(subject) is not None
        and "Q0Q" not in subject
    )


def _is_value(value: StatedValue) -> bool:
    text = value.text
    if not text or len(text.split()) > _VALUE_WORDS_MAX:
        return False
    if value.type != "text":
        return _RECIPROCAL.search(text) is None
    return (
        _DEICTIC.search(text) is None
        and len(text) > 1
        and (_PHRASE_START.match(text) is None or any(map(str.isupper, text)))
    )


def _fits(claim: Claim) -> bool:
    """Return whether the value is one that this predicate can have."""
    value, predicate = claim.value, claim.predicate
    named = _is_named(value)
    if _is_changing(predicate) and is_first_person(claim.subject):
        return claim.positive and claim.change and (named or _CHOICE.match(value.text) is not None)
    if predicate in ("is", "kind") or _is_changing(predicate):
        return (claim.positive or named) and _is_attribute(claim, named=named)
    if not claim.known:
        return named and not predicate.startswith("to ")
    if predicate in _SUBJECT_OF_PERSON_ONLY:
        return _is_liked(value) and _is_someone(claim)
    if predicate == "has":
        return _HELD.match(value.text) is not None
    if predicate in ("uses", "sells", "supports") and " to " in value.text:
        return False  # "the repeat function to create a grid"
    if predicate == "role":
        return value.type == "text"
    if predicate in ("work", "school") and _PLACE.match(value.text):
        return True
    if predicate == "takes":
        return _TAKEN.search(value.text) is not None
    if predicate in _NAMED_VALUES:
        return named
    if predicate == "where":
        return named and not _is_someone(claim)
    if predicate in _TIMES:
        return value.type != "text" or any(map(str.isdigit, value.text))
    return predicate in _LASTING and predicate in BY_NAME


def _is_changing(predicate: str) -> bool:
    """Return whether a predicate is a change of any property."""
    found = BY_NAME.get(predicate)
    return predicate == ANY or (found is not None and found.family == ANY)


def _is_attribute(claim: Claim, *, named: bool) -> bool:
    value = claim.value
    if value.type != "text":
        held = _HELD.match(value.text) is not None
        return not _is_someone(claim) or value.dimension != "count" or held
    if claim.predicate == "kind":
        kind = _KIND.match(value.text) is not None and _JUDGING.match(value.text) is None
        return _is_someone(claim) and kind
    if named:
        return not _is_someone(claim) or claim.property
    if is_first_person(claim.subject):
        return value.text.casefold() in _STATES_OF_PERSONS
    if _JUDGING.match(value.text) or value.text.startswith("the "):
        return False
    named_property = _head_of(claim.subject) in PROPERTIES or "favo" in claim.subject.casefold()
    return is_state(value.text) or (named_property and _DEFINITE.match(claim.subject) is not None)


def _head_of(subject: str) -> str:
    """Return the head noun of a subject, as a stem: "the colour of the gate" gives color."""
    words = re.split(r" (?:of|for|in|at|on) ", subject.casefold())[0].split()
    return SPELLINGS.get(stem(words[-1]), stem(words[-1])) if words else ""


def _is_liked(value: StatedValue) -> bool:
    text = value.text
    return not re.match(r"(?:the|an?|to|my|our)\b", text) or any(map(str.isupper, text))


def _is_named(value: StatedValue) -> bool:
    text = value.text
    return text[:1].isupper() or any(char.isdigit() or char.isupper() for char in text)
