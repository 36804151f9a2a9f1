"""Removes credentials from text before it is stored: a memory that keeps a key hands it to every
later reader.

    "key AKIA................ works"  ->  "key [redacted:aws-access-key] works",
    Finding(kind="aws-access-key", start=4, end=24)

Secrets are always removed; personal data only on request. A finding has the kind and the span in
the given text, never the secret. The rules are data, in `rules.py`.

Not covered: secrets in prose ("my password is ..."), split over lines, encoded, or in pictures.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from doxa.base.errors import InputError
from doxa.redaction.rules import PERSONAL, SECRETS


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret that was removed: its kind, and its span in the given text."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redaction:
    """The text without its secrets, and what was removed."""

    text: str
    findings: tuple[Finding, ...] = ()


def redact(text: str, *, pii: bool = False) -> Redaction:
    """Replace every secret by [redacted:<kind>]; with `pii` also e-mail addresses, card numbers,
    IBANs, IPv4 addresses and US social security numbers.

    Redacting a redacted text changes nothing.
    """
    if len(text) > _KEPT_CHARS_MAX:
        return _redacted(text, pii)
    return _redacted_before(text, pii)


def may_hold_secret(text: str) -> bool:
    """Return whether any rule has to look at a text, or at a value under it as a name."""
    return _passes(text, pii=False)


def redact_named(name: str, value: str) -> Redaction:
    """Redact a value that stands under a name: under `password` all of it may be one."""
    found = redact(value)
    if found.findings or not _may_name_secret(name):
        return found
    before = f'{name}: "'
    named = redact(f'{before}{value}"')
    if not named.findings:
        return found
    shift = len(before)
    findings = tuple(
        Finding(one.kind, max(0, one.start - shift), min(len(value), one.end - shift))
        for one in named.findings
    )
    return Redaction(named.text[shift:-1], findings)


_RUN = "a1" * 8  # a value that some gates look for behind a name


@lru_cache(maxsize=4_096)
def _may_name_secret(name: str) -> bool:
    return _passes(f"{name}: {_RUN}", pii=False)


# Each pass reads the whole text once. What people write takes one or two; after so many passes the
# text was made to take one for each of its words.
_PASSES_MAX = 3


def _redacted(text: str, pii: bool) -> Redaction:
    found = _scan(text, pii=pii)
    if not found:
        return Redaction(text)
    findings = _merged(found)
    redacted = _replaced(text, findings)
    # Without one secret, the edge of another that touched it becomes visible.
    passes = 0
    while findings and (freed := _scan(redacted, pii=pii)):
        passes += 1
        more = _in_original(freed, findings)
        if passes > 2 * _PASSES_MAX:
            more = [Finding(more[0].kind, 0, len(text))]
        elif passes > _PASSES_MAX:
            more = [_whole_line(text, one) for one in more]
        before, findings = findings, _merged([*findings, *more])
        redacted = _replaced(text, findings)
        if findings == before:
            break
    return Redaction(redacted, findings)


def _whole_line(text: str, finding: Finding) -> Finding:
    end = text.find("\n", finding.end)
    start = text.rfind("\n", 0, finding.start) + 1
    return Finding(finding.kind, start, len(text) if end < 0 else end)


# A text comes here twice, by its verb and by the store: the last ones are not scanned again.
_KEPT_CHARS_MAX = 4_096
_redacted_before = lru_cache(maxsize=2_048)(_redacted)


def refuse_secret(name: str, *, field: str) -> str:
    """Return `name`, unless it contains a secret.

    Names are part of addresses and indexes and outlive an erasure, and a redacted name would be
    another name. Raises InputError with the kind and never the secret.
    """
    found = _scan(name, pii=False) if isinstance(name, str) else []
    if found:
        kind = found[0].kind
        raise InputError(
            f"{field} contains what looks like a secret ({kind}).",
            next_step=f"Give {field} without it.",
            field=field,
            kind=kind,
        )
    return name


def unless_secret(name: str, other: str) -> str:
    """Return a name that was made; the other one where the first looks like a secret."""
    return name if redact(name).text == name else other


def left_out(kinds: Iterable[str]) -> str:
    """Return the warning for the author of a text: which kinds of secret were not stored."""
    return " ".join(f"A secret ({kind}) was left out before storing." for kind in kinds)


_ALL = SECRETS + PERSONAL


@cache
def _gates(pii: bool) -> Any:
    """What RE2 looks for, in a tenth of the time of `re`: the gates of all rules, and after them
    what is in every text, and so is missed only by an RE2 that ran out of memory."""
    import re2  # on first use: who only reads needs no rules

    options = re2.Options()
    options.case_sensitive = False
    gates = re2.Set.SearchSet(options)
    rules = _ALL if pii else SECRETS
    parts = {
        part
        for rule in rules
        for part in ([rule.gate] if rule.gate else map(re.escape, rule.hints))
    }
    gates.Add("|".join(sorted(parts)))
    gates.Add("")
    gates.Compile()
    return gates


# `re` takes these for an i in any case, RE2 does not.
_LIKE_I = str.maketrans({"\u0130": "i", "\u0131": "i"})


def _passes(text: str, *, pii: bool) -> bool:
    """Return whether any rule may find something in a text."""
    if not text.isascii():
        text = text.translate(_LIKE_I)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair: what may be stored is for others to say
        return True
    found = _gates(pii).Match(data)
    return found is None or 0 in found or 1 not in found


def _scan(text: str, *, pii: bool) -> list[Finding]:
    if not _passes(text, pii=pii):
        return []
    lowered = text.lower()
    return [
        Finding(rule.kind, start, end)
        for rule in (_ALL if pii else SECRETS)
        if any(hint in lowered for hint in rule.hints)
        for start, end in rule.find(text)
    ]


def _replaced(text: str, findings: tuple[Finding, ...]) -> str:
    parts: list[str] = []
    position = 0
    for finding in findings:
        parts += (text[position : finding.start], _mark(finding))
        position = finding.end
    return "".join((*parts, text[position:]))


def _mark(finding: Finding) -> str:
    return f"[redacted:{finding.kind}]"


def _in_original(freed: list[Finding], findings: tuple[Finding, ...]) -> list[Finding]:
    """Convert spans of the redacted text to spans of the given one; an edge within a mark moves to
    the edge of the secret that it replaces."""

    starts, shifts, shift = [], [], 0  # of the marks, and of what follows each
    for finding in findings:
        starts.append(finding.start - shift)
        shift += finding.end - finding.start - len(_mark(finding))
        shifts.append(shift)

    def place(position: int, *, is_end: bool) -> int:
        at = bisect_left(starts, position) - 1  # the last mark that begins before it
        if at < 0:
            return position
        if position < starts[at] + len(_mark(findings[at])):
            return findings[at].end if is_end else findings[at].start
        return position + shifts[at]

    return [
        Finding(one.kind, place(one.start, is_end=False), place(one.end, is_end=True))
        for one in freed
    ]


def _merged(found: list[Finding]) -> tuple[Finding, ...]:
    """Return the findings in order and without overlap. Overlapping ones become one, of the kind
    that starts first and reaches farthest."""
    merged: list[Finding] = []
    for finding in sorted(found, key=lambda one: (one.start, -one.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Finding(last.kind, last.start, max(last.end, finding.end))
        else:
            merged.append(finding)
    return tuple(merged)
