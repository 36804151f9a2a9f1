"""One belief in, structured or plain: redacted, compared with what is there, then stated once.

A near-duplicate is a text of the same stems in the same order with the same negations, so that "We deploy on Thursday." and "we deploy on
thursdays" are one belief, while a changed number, name or `not` makes another. Anything less alike is for belief revision to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from doxa.base.values import Value
from doxa.base.words import terms
from doxa.belief import Change, Draft, Ledger
from doxa.curation.redact import redact
from doxa.recall import Ask, Recaller
from doxa.store import Identity, Store

_NEGATIONS = re.compile(r"\b(?:not|no|never|none|nor|neither|without|cannot)\b|n['’]t\b", re.IGNORECASE)
_LOOK_AT = 10


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of a belief. `stored` False means that it was known: `duplicate_of` says where. `searchable` lists how it can be found
    now; meaning joins when its vector is made."""

    action: str
    kref: str
    stored: bool
    duplicate_of: str
    searchable: tuple[str, ...]
    warnings: tuple[str, ...]
    change: Change


def remember(
    store: Store, identity: Identity, recaller: Recaller, *, draft: Draft, links: Iterable[tuple[str, str]] = (), expect: int | None = None
) -> Remembered:
    """State a draft. A named item is revised if it exists; an unnamed one is first looked for among what its space holds."""
    clean, found = clean_draft(draft)
    warnings = tuple(f"A secret ({kind}) was left out before storing." for kind in found)
    if not clean.name:
        known = _near_duplicate(recaller, clean)
        if known:
            change = Change("unchanged", known, None, store.clock.now_ns(), reason="memory holds this already")
            return Remembered("unchanged", known, False, known, ("words",), warnings, change)
    change = Ledger(store, identity).put(clean, links=tuple(links), expect=expect)
    stored = change.action != "unchanged"
    return Remembered(change.action, change.kref, stored, "" if stored else change.kref, ("words",), warnings, change)


def clean_draft(draft: Draft) -> tuple[Draft, list[str]]:
    """The draft without secrets, and the kinds that were found."""
    kinds: list[str] = []

    def clean(text: str) -> str:
        result = redact(text)
        kinds.extend(finding.kind for finding in result.findings)
        return result.text

    def clean_value(value: Value) -> Value:
        if isinstance(value, str):
            return clean(value)
        return [clean(item) if isinstance(item, str) else item for item in value] if isinstance(value, list) else value

    facts = tuple(f._replace(value=clean(f.value)) if isinstance(f.value, str) else f for f in draft.facts)
    result = replace(
        draft,
        summary=clean(draft.summary) if isinstance(draft.summary, str) else draft.summary,
        title=clean(draft.title),
        topics=tuple(clean(topic) for topic in draft.topics),
        keywords=tuple(clean(word) for word in draft.keywords),
        facts=facts,
        metadata={name: clean_value(value) for name, value in draft.metadata.items()},
    )
    return result, kinds


def _near_duplicate(recaller: Recaller, draft: Draft) -> str:
    """The address of a current belief of the same project, space and kind that says the same, or nothing."""
    if not isinstance(draft.summary, str) or not draft.summary.strip():
        return ""
    wanted = _gist(draft.summary)
    if not wanted[0]:
        return ""
    ask = Ask(draft.summary, project="", kinds=(draft.kind,), space=draft.space, limit=_LOOK_AT, lanes=("words",))
    for hit in recaller.recall(ask).hits:
        if hit.project == draft.project and hit.space == draft.space and hit.type == "revision" and _gist(hit.text) == wanted:
            return hit.kref
    return ""


def _gist(text: str) -> tuple[list[str], int]:
    return terms(text), len(_NEGATIONS.findall(text))
