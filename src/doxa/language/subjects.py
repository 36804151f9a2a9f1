"""Reduce the subject of a sentence to a key: the set of its normalised words, by which two
sentences are compared.

    "The API port"          ->  {api}, and the predicate of its head noun: port
    "Ana's home address"    ->  {ana, home, address}, a property with one value
    "my cousin Anna" by Bo  ->  {bo, cousin, anna}
    "the flight to Lisbon"  ->  {flight, to, lisbon}
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doxa.base.words import stem
from doxa.language.predicates import ANY, NOUNS, SPELLINGS, Predicate

SPEAKER, GROUP, LISTENER = "@me", "@we", "@you"
_DETERMINER = re.compile(
    r"(?:the|a|an|this|that|these|those|some|all|each|every|both|current|present"
    r"|new(?= [a-z]+ (?:is|was)))\s+",
    re.I,
)
_JOINT = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])|(?<=[^\W\d])[-_/](?=[^\W\d])")
_KEPT_PREPOSITIONS = frozenset(
    "to from before after without inside outside under over above below between towards into"
    " against".split()
)
_LEFT_OUT = frozenset("a an the of in on at for by with and is are current our my".split())
_TITLES = frozenset("dr mr mrs ms prof st".split())
_PROPERTY = frozenset(
    "name color price cost port host hostname address number code password limit size timeout"
    " budget version owner title status deadline date time day place capital motto theme language"
    " currency phone email extension salary rent deposit fee dose weight height length width depth"
    " age speed rate ratio score count total minimum maximum max min target goal default level mode"
    " path url domain region zone key id token topic office room seat locker doctor dentist"
    " landlord teacher boss manager lead leader captain director president chair editor author"
    " spouse wife husband boyfriend girlfriend fiance birthday size model brand capacity frequency"
    " interval threshold location branch database framework editor provider password contact"
    " speaker headquarters temperature discount tax margin balance quota priority severity timezone"
    " deadline due schedule shift hostname server password mascot logo font background ceo cto cfo"
    " mayor coach treasurer secretary capital successor accountant lawyer vet therapist"
    " trainer".split()
)
PROPERTY_WORDS = _PROPERTY
PROPERTIES = frozenset(SPELLINGS.get(stem(word), stem(word)) for word in _PROPERTY)
_WITH_NOUN = frozenset(
    ("is", "where", ANY, "kept at", "set", "switched", "home", "when", "given up")
)  # with these predicates the head noun of the subject names the property
_NO_HEADS = frozenset(("home", "job", "start", "end", "day"))  # alone they are the subject itself


class ParsedSubject(NamedTuple):
    """A subject: its key, the predicate of its head noun, whether it names a property (`settled`:
    by its noun alone), and whether it is a proper name."""

    key: frozenset[str]
    predicate: str
    property: bool
    settled: bool
    proper: bool


def parse_subject(subject: str, predicate: str, *, speaker: str) -> ParsedSubject:
    """Analyse the subject of a sentence that has this predicate."""
    plain = _DETERMINER.sub("", subject, count=1) if _DETERMINER.match(subject) else subject
    if predicate in _WITH_NOUN:
        noun, rest = _head(plain)
        if noun is not None:
            key, _ = key_of(rest, speaker=speaker)
            found = (
                noun.name
                if predicate != "where" or noun.name in ("when", "deadline", "birthday")
                else predicate
            )
            return ParsedSubject(key, found, property=True, settled=True, proper=False)
    key, proper = key_of(plain, speaker=speaker)
    words = [
        SPELLINGS.get(stem(word), stem(word))
        for word in re.findall(r"[a-z]+", split_joined(plain).lower())
    ]
    of = next((i for i, word in enumerate(words) if word == "of"), len(words))
    head = words[of - 1] if of else ""
    compound = len(key - {SPEAKER, GROUP}) >= 2 and not proper
    settled = (
        head in PROPERTIES or "favorit" in key or bool(re.search(r"[_\-]|[a-z][A-Z]", subject))
    )
    named = settled or compound or bool(re.search(r"\d", subject))
    return ParsedSubject(key, predicate, property=named, settled=settled, proper=proper)


def _head(subject: str) -> tuple[Predicate | None, str]:
    """Return the predicate of the head noun of a subject, and the rest of the subject: "the
    deadline of the report" gives deadline and report."""
    before, of, after = subject.partition(" of " if " of " in subject else " for ")
    words = split_joined(before).split()
    for count in (2, 1):
        noun = " ".join(words[-count:]).lower()
        alone = len(words) == 1 and not of and noun in _NO_HEADS
        if len(words) >= count and noun in NOUNS and not alone:
            return NOUNS[noun], f"{' '.join(words[:-count])} {after}".strip()
    return None, subject


def key_of(text: str, *, speaker: str) -> tuple[frozenset[str], bool]:
    """Return the key of a subject, and whether the subject is only a name."""
    words: list[str] = []
    names = 0
    for part in split_joined(text).split():
        bare = part.strip(".,;:!?'\"“”()[]`*").removesuffix("'s").removesuffix("'")
        low = bare.casefold()
        if low in ("i", "my", "me", "mine", "myself"):
            words += [speaker] if speaker else [SPEAKER]
            names += 1
        elif low in ("we", "our", "us", "ours"):
            words.append(GROUP)
        elif low in ("you", "your"):
            words.append(LISTENER)
        elif low in _LEFT_OUT or not bare:
            continue
        elif low in _KEPT_PREPOSITIONS or any(map(str.isdigit, low)):
            words.append(low)
        else:
            names += bare[:1].isupper()
            words.append(
                low
                if bare[:1].isupper() and bare[1:].islower() and low in _TITLES
                else SPELLINGS.get(stem(low), stem(low))
            )
    found = frozenset(word for word in words if word)
    found = (
        found - {"address"}
        if "email" in found
        else found | {"number"}
        if "phone" in found
        else found
    )
    return found, bool(words) and names == len(words)


def split_joined(text: str) -> str:
    """Split joined words such as "maxRetries", "api-port" and "min_size"."""
    return _JOINT.sub(" ", text)
