"""Comments that begin with two dashes. Cypher has none, since (a) -- (b) is a relationship, but
texts about persistence policies use them.

They may stand at the beginning of any text, where no statement can start with dashes. In a text
that begins with a policy command they may also stand between blanks, outside of strings, quoted
names and other comments:

    -- Parameters, for use by name.
    CREATE DECAY PROFILE p -- inert by itself
    OPTIONS { function: 'none' }
"""

from __future__ import annotations

import re

_GAP = r"[\s\u0085\u180e\ufeff]++|//[^\n\r]*+|/\*.*?\*/"
DASHES = r"(?<!\S)-{2,}+(?!\S)[^\n\r]*+"
# a doubled backtick reads as two adjacent quoted names
QUOTED = r"'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"|`[^`]*+`"
COMMENT = r"//[^\n\r]*+|/\*.*?\*/"
OPEN = r"['\"`]|/\*"  # unterminated strings, names and comments
_LEAD = re.compile(rf"(?:{_GAP}|--[^\n\r]*+)*+", re.DOTALL)
_BETWEEN = rf"(?:{_GAP}|{DASHES})++"
_POLICY = re.compile(
    rf"(?:(?:EXPLAIN|PROFILE)\b{_BETWEEN})?(?:CREATE\b(?:{_BETWEEN}OR\b{_BETWEEN}REPLACE\b)?|ALTER\b|DROP\b|SHOW\b){_BETWEEN}"
    rf"(?:DECAY|PROMOTION|RETENTION)\b(?!(?:{_GAP})*+=)",
    re.DOTALL | re.IGNORECASE,
)
_PART = re.compile(rf"{QUOTED}|{COMMENT}|(?P<dashes>{DASHES})|(?:{OPEN}).*", re.DOTALL)
_INK = re.compile(r"[^\n\r]")


def lead(text: str, at: int = 0) -> int:
    """Return the start of the first statement after a position, behind blanks and comments."""
    found = _LEAD.match(text, at)
    assert found is not None
    return found.end()


def about_policies(text: str, at: int) -> bool:
    """Return whether a policy command begins here."""
    return _POLICY.match(text, at) is not None


def without_dashes(text: str) -> str:
    """Replace these comments by blanks, so that all other characters keep their positions."""
    if "--" not in text:
        return text
    start = lead(text)
    rest = text[start:]
    if about_policies(text, start):
        rest = _PART.sub(
            lambda part: " " * len(part[0]) if part.lastgroup == "dashes" else part[0], rest
        )
    return _INK.sub(" ", text[:start]) + rest
