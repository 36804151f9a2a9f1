"""Secrets of no known form in prose and logs: a value that looks generated, next to the name of a
secret, whatever stands between the two.

    "use the token 8fK2…w0Q for staging"      "secret (rotated today): 8fK2…w0Q"

A value looks generated if letters, digits and cases alternate in a long run of it; a word with a
number, a date or a path does not. Identifiers of other things look generated too, so that nothing
is taken where the words between say so: a hash, an id, a public key. The parts of an address are
such: a project may be called token-service, and names that doxa makes end in digests.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from doxa.base.patterns import lazy_re

_NAMES = (
    r"password|passwd|passphrase|passwort|kennwort|secrets?|tokens?|credentials?|bearer|apikey"
    r"|(?:api|access|private|auth|secret|signing|encryption|service|license|deploy)[ _-]?key"
)
_BETWEEN = 40  # characters
_RUN = 16  # characters of letters and digits without a break
NAMED = lazy_re(rf"(?i:(?<![A-Za-z])(?:{_NAMES})(?![A-Za-z]))")
GATE = rf"(?:{_NAMES})[^\n]*[a-z0-9]{{{_RUN}}}"
_LEAST = 15
_VALUE = lazy_re(rf"[A-Za-z0-9][A-Za-z0-9_+/=~.-]{{{_LEAST - 1},400}}")
_GENERATED = lazy_re(rf"[A-Za-z0-9]{{{_RUN},}}")
_OTHER = lazy_re(
    r"(?i:hash|sha-?\d|md5|digest|checksum|fingerprint|public|commit|\bids?\b|_id\b|uuid|etag|cache"
    r"|redacted|https?:|version|expires)"
)
_ADDRESS = lazy_re(r"kref://[\w.~%/-]*(?:\?[\w.=&%-]*)?")
_UUID = lazy_re(r"(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def spans_near_names(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each generated value close behind the name of a secret."""
    if "kref://" in text:  # neither a name nor a value, wherever it stands
        text = _ADDRESS.sub(lambda found: " " * len(found[0]), text)
    end = 0
    for name in NAMED.finditer(text):
        if name.end() < end:
            continue
        reach = name.end() + _BETWEEN + _LEAST
        start = _VALUE.search(text, name.end(), reach)
        while start is not None:
            value = _VALUE.match(text, start.start())
            assert value is not None
            between = text[name.end() : value.start()]
            if "\n" in between or _OTHER.search(between):
                break
            if is_generated(value.group()):
                end = value.end()
                yield value.start(), end
                break
            start = _VALUE.search(text, value.end(), reach) if value.end() < reach else None


def is_generated(value: str) -> bool:
    """Return whether a value looks drawn at random: its kinds of characters alternate in a run."""
    if _UUID.search(value) or _OTHER.match(value):
        return False
    return any(_alternates(run.group()) for run in _GENERATED.finditer(value))


def _alternates(run: str) -> bool:
    kinds = [0 if char.isdigit() else 1 if char.islower() else 2 for char in run]
    turns = sum(a != b for a, b in pairwise(kinds))
    return kinds.count(0) >= 2 and turns * 4 >= len(run)
