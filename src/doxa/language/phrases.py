"""Decide whether the parts of a clause are complete: a claim is asserted only if every word of its
sentence belongs to the subject, the verb, the value or a known adverbial.

    "works at Google now, not!"           "not" belongs to nothing          unclear
    "lives in Munich now, Tom whispered"  a second clause after the value   unclear
    "lives in Munich or Augsburg"         two values to choose from         alternative
    "lives in Munich, Germany"            the value and where it lies       complete
"""

from __future__ import annotations

import re

from doxa.base.patterns import lazy_re

_FINITE = lazy_re(
    r"\b(?:is|are|was|were|will|would|could|did|does|(?<!to )(?:has|had)"
    r"|(?:you|we|they|I|who|that|to|not) (?:have|do|can))\b"
)
_NOMINATIVE = lazy_re(r"\b(?:I|[Hh]e|[Ss]he|[Tt]hey|[Ww]e|who|whom)\b")
_ALTERNATIVE = lazy_re(r"\b(?:or(?! more\b| less\b| so\b| above\b| under\b| older\b)|either)\b")
_LIST_END = lazy_re(r"(?:,? and|,? &) [^,]+$")
_SAID = lazy_re(r"[A-Z][\w.'-]*(?: [A-Z][\w.'-]*)? (?!(?:of|de|and|the|van|von)\b)[a-z]+\b")
_SEGMENT = lazy_re(
    r"(?:(?:\d|[A-Z]|an? |the |my |our |his |her |their |its |one |two |three |four |five |near "
    r"|next to |in |on |at |by |for |with |from |to |of |until |till |since |every |each |not "
    r"|including |especially |mostly |mainly |both |all |per |about |around |roughly |plus |up "
    r"|down "
    r"|instead |formerly |previously |was |effective |starting |Q\dQ)|\w+ly\b|\w+ing\b)"
)
_EXCLAIMED = lazy_re(r"[!?]|\.\.|…|\b(?:lol|haha|hmm|ugh|right|not|psych|eh|huh|no|yes)\W*$")
_BRACKETS = lazy_re(r"\s*\(([^()]*)\)")
_RELATIVE = lazy_re(
    r"(?P<kept>(?:an?|the|my|our|his|her|their|some|one|two|\d+|[A-Z])\b.*?) that\b.*"
)
_NOUN_CLAUSE = lazy_re(r"\b(?:that|how|why|what|whether|because)\b.*\s\S")
_FRAME = lazy_re(r"(?:for|in|on|at|with|from|by|to|under|per|between|among) ", re.IGNORECASE)
_TOO_EMPTY = frozenset("not no right yes ok true false".split())


def cut_relative(value: str) -> str:
    """Remove a relative clause from the end of a value: "a firm that sells tea" gives "a firm"."""
    found = _RELATIVE.fullmatch(value) if " that " in value else None
    return found["kept"] if found else value


def why_incomplete(subject: str, value: str) -> str:
    """Return "alternative" or "unclear" if a subject or value contains what cannot be placed;
    empty if both are complete."""
    for text in (subject, value):
        if _ALTERNATIVE.search(text):
            return "alternative"
    if _is_odd_subject(subject) or _has_residue(value):
        return "unclear"
    return ""


def _is_odd_subject(subject: str) -> bool:
    if ":" in subject and not re.search(r"\w:\w", subject):
        return True
    if "," in subject and not _LIST_END.search(subject) and not _is_apposition(subject):
        return True
    several = " " in subject
    return several and bool(
        _NOMINATIVE.search(subject) or _FINITE.search(subject) or _EXCLAIMED.search(subject)
    )


def _is_apposition(subject: str) -> bool:
    """Return whether a name has an addition between commas: "Ana, my sister"."""
    parts = subject.split(", ")
    if _FRAME.match(subject) and parts[-1][:1].isupper():  # "for the sake of argument, Lou"
        return False
    return len(parts) == 2 and _SEGMENT.match(parts[1]) is not None


def _has_residue(value: str) -> bool:
    inside = _BRACKETS.findall(value) if "(" in value else []
    if inside:
        value = _BRACKETS.sub("", value)
    if any(_is_clause(part) for part in (value, *inside)):
        return True
    if any(_SEGMENT.match(part) is None for part in inside):  # "(citation needed)"
        return True
    _, *rest = value.split(", ")
    if _EXCLAIMED.search(value) and value.casefold() not in _TOO_EMPTY:
        return True
    if not rest:
        return False
    listed = _LIST_END.search(value) is not None or all(
        part[:1].isupper() or part[:1].isdigit() for part in rest
    )
    return any(_is_loose(part, listed=listed) for part in rest)


def _is_clause(text: str) -> bool:
    return bool(_FINITE.search(text) or _NOMINATIVE.search(text) or _NOUN_CLAUSE.search(text))


def _is_loose(segment: str, *, listed: bool) -> bool:
    """Return whether a part after a comma is neither an item of a list nor an addition."""
    if _SAID.match(segment):
        return True
    words = segment.split()
    if listed:
        return len(words) > 6
    return _SEGMENT.match(segment) is None
