"""Remember one belief, structured or plain: redact it, compare it with existing beliefs, and store
it once.

A near-duplicate is a text with the same stems in the same order, including short words that change
the meaning (not, before, off, from, my), and the same numbers, paths and signs as they are written.
So "We deploy on Thursday." and "we deploy on thursdays" are the same belief, while a different
number, name or `not` makes another one, and so does C++ for C. One change of order is allowed: a
phrase at the start of a plain sentence means the same at its end ("On Thursdays, we deploy").
Elsewhere order is meaning, as in "Ana pays Bo". Belief revision decides about anything less
similar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from doxa.base.calendar_names import MONTHS, WEEKDAYS, alternatives
from doxa.base.errors import InputError
from doxa.base.limits import DUPLICATE_HITS_READ
from doxa.base.quoting import quoted
from doxa.base.values import Value, check_text
from doxa.base.words import terms, written_marks
from doxa.belief import (
    Change,
    Draft,
    Fact,
    Ledger,
    draft_kref,
    parse_kref,
    read_revision,
    resolve,
    with_receipt,
)
from doxa.belief.types import ENRICHMENTS, CheckedDraft, without
from doxa.belief.writes import EMBEDDING_TEXT
from doxa.ingestion.nearest import NearBelief, nearest
from doxa.ingestion.verdict import (
    Verdict,
    challenged,
    consult,
    may_retire,
    restated,
    revised,
    sure,
    unsure,
    with_facts,
)
from doxa.logic.sentence import Atom, replace_atoms
from doxa.recall import Recaller
from doxa.redaction.redact import left_out, redact, refuse_secret
from doxa.store import Identity, Reader, Store, Transaction

_TURNING = re.compile(
    r"\b(?:not|no|nor|on|off|in|out|into|up|down|over|under|before|after|from|to|until|again|once"
    r"|if|by|with|than|then|when|while|because|all|any|each|few|more|most|only|some|same|other|can"
    r"|could|may|should|would|will|being|been|was|were|did|had|i|me|my|we|us|our|ours|you|your"
    r"|yours|he|him|his|she|her|hers|they|them|their|theirs|who|whom|whose|here|there|now|this"
    r"|that|these|those)\b"
)
_DAYS = alternatives((*WEEKDAYS, *MONTHS))
_PREPOSITION = (
    "on|in|at|after|before|since|until|during|within|without|with|by|from|for|to|every|each"
)
_FRONTED = re.compile(
    rf"\W*(?P<front>(?:{_PREPOSITION})(?:\s+[^\s,;:.!?]+){{1,5}},|(?:on|in|since|until|by|every"
    rf"|each)\s+(?:(?:{_DAYS})s?|\d{{4}}))\s+(?P<rest>\S+\s[^,;:]*)"
)
_SEVERAL = re.compile(
    r"\b(?:and|or|but|than|while|whereas|because|if|when)\b|[.!?]\s+\S"
)  # more than one thing is said: what belongs to which?
# the words by which texts that say the same are found; then the whole texts are compared
_GIST_CHARS_READ, _GIST_WORDS_READ = 2_000, 32
_CONTRACTIONS = (
    (re.compile(r"\bwon['’]?t\b"), "will not"),
    (re.compile(r"\bcan(?:not\b|['’]t\b)"), "can not"),
    (re.compile(r"n['’]t\b"), " not"),
)


@dataclass(frozen=True, slots=True)
class MayContradict:
    """A current belief that a remembered text may contradict: its revision, and what it says."""

    kref: str
    text: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """The result of `remember`. With `stored` False the belief was known, at `duplicate_of`; with
    the action "revised" the text replaced beliefs, which `change.losses` lists. `searchable` lists
    how it can be found now; "meaning" is added when its vector is computed. `near` are the current
    beliefs nearest to a text that replaced and contradicts nothing, if they were asked for."""

    action: str
    kref: str
    stored: bool
    duplicate_of: str
    searchable: tuple[str, ...]
    warnings: tuple[str, ...]
    change: Change
    may_contradict: tuple[MayContradict, ...] = ()
    near: tuple[NearBelief, ...] = ()

    def warned(self, verb: str) -> tuple[str, ...]:
        """Return the warnings with the name that the interface gives to `revise`."""
        others = [text for text in self.warnings if text not in _hints(self.may_contradict)]
        return (*others, *_hints(self.may_contradict, verb))


def _hints(found: Iterable[MayContradict], verb: str = "revise") -> tuple[str, ...]:
    return tuple(
        f"May contradict {one.kref}: {quoted(one.text)}; to replace it, call {verb}."
        for one in found
    )


def remember(
    store: Store,
    identity: Identity,
    recaller: Recaller,
    *,
    draft: Draft,
    links: Iterable[tuple[str, str]] = (),
    expect: int | None = None,
    near: int = 0,
) -> Remembered:
    """State a draft. A named item is revised if it exists. A draft without a name is first looked
    for among what its space holds. If it has no facts or sentences either, its text is matched with
    existing beliefs: it revises what it surely replaces, and is stored next to what it may
    contradict. Both are done again within the transaction if anybody wrote meanwhile. What replaced
    nothing is answered with the `near` nearest beliefs."""
    clean, found = clean_draft(draft)
    warnings = tuple(left_out([kind]) for kind in found)
    held_links = tuple(links)
    ledger = Ledger(store, identity)
    plain = not (clean.name or clean.facts or clean.sentences or expect is not None)
    known, seen, kref = "", 0, draft_kref(clean)
    verdict = _UNMATCHED
    checked = ledger.check(clean)
    if not clean.name:
        with store.read() as snapshot:
            seen = snapshot.last_change()
            known = near_duplicate(snapshot, clean)
            if plain and not known:
                verdict = consult(store, recaller, clean)
                known = restated(verdict, clean)
    kept: tuple[MayContradict, ...] = ()
    if not known:
        with ledger.write("put") as work:
            if not clean.name and work.tx.written_since(seen):
                known = near_duplicate(work.tx, clean)
                if plain and not known:
                    verdict = consult(store, recaller, clean)
                    known = restated(verdict, clean)
            if known:
                pass
            elif plain:
                change, kept, notes = _kept(work.tx, ledger, checked, verdict, links=held_links)
                warnings += notes
            else:
                change = ledger.upsert(work.tx, kref, checked, links=held_links, expect=expect)
    if known:
        warnings += _left_out(store, known, clean, links=held_links) + _said_again(store, known)
        change = Change(
            "unchanged", known, None, store.clock.now_ns(), reason="memory holds this already"
        )
        return Remembered("unchanged", known, False, known, ("words",), warnings, change)
    change = with_receipt(change, work)
    stored = change.action != "unchanged"
    warnings += () if stored else _said_again(store, change.kref)
    undecided = plain and not (kept or change.losses or change.conflict)
    return Remembered(
        change.action,
        change.kref,
        stored,
        "" if stored else change.kref,
        ("words",),
        (*warnings, *_hints(kept)),
        change,
        kept,
        nearest(store, recaller, clean, near, besides=change.kref) if undecided else (),
    )


_UNMATCHED = Verdict("create")
_UNASSERTED_CONFIDENCE = 0.3  # of a sentence that asserts nothing, where none was given


def _kept(
    tx: Transaction,
    ledger: Ledger,
    draft: CheckedDraft,
    verdict: Verdict,
    *,
    links: tuple[tuple[str, str], ...],
) -> tuple[Change, tuple[MayContradict, ...], tuple[str, ...]]:
    """Store a text that its author wants kept: as the next revision of what it surely replaces, or
    as a belief of its own. Also returns what that may contradict, and warnings."""
    if verdict.action == "nothing":
        confidence = min(draft.confidence, _UNASSERTED_CONFIDENCE)
        metadata = {**draft.metadata, "unasserted": verdict.unasserted}
        doubtful = CheckedDraft(replace(draft, confidence=confidence, metadata=metadata))
        note = (
            f"Stored as a sentence with confidence {doubtful.confidence:g}, and not as a fact:"
            f" {verdict.unasserted}. It replaces nothing."
        )
        return ledger.upsert(tx, draft_kref(doubtful), doubtful, links=links), (), (note,)
    found = sure(tx, verdict) if _holds_now(tx, draft) else []
    if found and may_retire(draft, [node for _, node in found]):
        return revised(tx, ledger, draft, found, facts=verdict.facts, links=links), (), ()
    # a fact would retract what it contradicts; what is unsure stays until somebody decides
    full = draft if verdict.action == "conflict" else with_facts(draft, verdict.facts)
    if found and (change := challenged(tx, full, verdict, links=links)) is not None:
        return change, (), ()
    change = ledger.upsert(tx, draft_kref(full), full, links=links)
    current = change.action in ("created", "revised")
    kept = tuple(
        MayContradict(one.kref, str(node.props["summary"]))
        for one, node in (unsure(tx, verdict) if current else ())
        if one.kref != change.kref
    )
    return change, kept, ()


def _holds_now(tx: Transaction, draft: Draft) -> bool:
    """Return whether a draft is about the present: what holds at another time retires nothing."""
    return (draft.valid_from is None or draft.valid_from <= tx.now) and (
        draft.valid_until is None or tx.now < draft.valid_until
    )


def _said_again(store: Store, kref: str) -> tuple[str, ...]:
    """Record a restated belief as accessed, and return a warning if a policy hides it."""
    with store.read() as reader:
        node = reader.node_by_kref(kref)
        if node is None:
            return ()
        store.returned(reader, [kref], {})
        if reader.neutral or reader.is_seen(False, node.id):
            return ()
    return (
        (
            f"{kref} is known, but a persistence policy hides it from recall; this counts as an"
            " access."
        ),
    )


def clean_draft(draft: Draft) -> tuple[Draft, list[str]]:
    """Redact a draft. Also returns the kinds of secrets found."""
    kinds: list[str] = []
    for name in ("summary", "project", "space", "name", "kind", "title"):
        value = getattr(draft, name)
        if not isinstance(value, str):
            raise InputError(
                f"{name} must be text, not {type(value).__name__}.",
                next_step="Give it as text.",
                field=name,
            )
        check_text(value, field=name)
        if name not in ("summary", "title"):
            refuse_secret(value, field=name)

    def clean(text: str) -> str:
        if text == "":
            return text
        result = redact(text)
        kinds.extend(finding.kind for finding in result.findings)
        return result.text

    facts = tuple(
        Fact(
            clean(f.subject),
            clean(f.predicate),
            clean(f.value) if isinstance(f.value, str) else f.value,
        )
        for f in draft.facts
    )
    enrichments: dict[str, Any] = {
        name: tuple(clean(entry) for entry in getattr(draft, name)) for name in ENRICHMENTS
    }

    def clean_atom(atom: Atom) -> Atom:
        return Atom(
            clean(atom.item),
            clean(atom.predicate),
            clean(atom.value) if isinstance(atom.value, str) else atom.value,
        )

    cleaned: dict[str, Any] = {
        "sentences": tuple(replace_atoms(sentence, clean_atom) for sentence in draft.sentences),
        "summary": clean(draft.summary),
        "title": clean(draft.title),
        "topics": tuple(clean(topic) for topic in draft.topics),
        "keywords": tuple(clean(word) for word in draft.keywords),
        **enrichments,
        "facts": facts,
        "metadata": clean_properties(draft.metadata, kinds),
    }
    changed = {name: value for name, value in cleaned.items() if value != getattr(draft, name)}
    return (replace(draft, **changed) if changed else draft), kinds


def clean_metadata(values: Mapping[str, Value]) -> tuple[dict[str, Value], list[str]]:
    """Redact the metadata of an edge. Also returns the kinds of secrets found."""
    kinds: list[str] = []
    return clean_properties(values, kinds), kinds


def clean_location(
    name: str, location: str, *, sha256: str, size_bytes: int
) -> tuple[str, list[str]]:
    """Redact the location of an artifact. Also returns the kinds of secrets found. Raises
    InputError for an invalid reference to a file."""
    for field, value in (("name", name), ("location", location), ("sha256", sha256)):
        if not isinstance(value, str) or (field != "sha256" and not value.strip()):
            raise InputError(
                f"{field} of an artifact must be text, not {value!r:.60}.",
                next_step="Give it as text.",
                field=field,
            )
        check_text(value, field=field)
    if isinstance(size_bytes, bool) or not isinstance(size_bytes, int) or size_bytes < 0:
        raise InputError(
            f"size_bytes must be a number of bytes, not {size_bytes!r:.60}.",
            next_step="Give the number, or omit it.",
            field="size_bytes",
        )
    refuse_secret(name, field="name")
    result = redact(location)
    return result.text, [finding.kind for finding in result.findings]


def clean_properties(values: Mapping[str, Value], kinds: list[str]) -> dict[str, Value]:
    """Redact properties; the kinds of secrets found are appended to `kinds`."""
    return {
        refuse_secret(name, field="metadata name"): clean_value(value, kinds)
        for name, value in values.items()
    }


def clean_value(value: Value, kinds: list[str]) -> Value:
    """Redact one property; the kinds of secrets found are appended to `kinds`."""
    if isinstance(value, (list, tuple)):
        return [clean_value(item, kinds) if isinstance(item, str) else item for item in value]  # type: ignore[misc]
    if not isinstance(value, str):
        return value
    result = redact(value)
    kinds.extend(finding.kind for finding in result.findings)
    return result.text


def near_duplicate(reader: Reader, draft: Draft) -> str:
    """The address of a current belief of the same project, space and kind that says the same, or
    nothing."""
    wanted, marks = gist(draft.summary), written_marks(draft.summary)
    words = list(dict.fromkeys(terms(draft.summary[:_GIST_CHARS_READ])))
    words = [word for word in words if word in wanted][:_GIST_WORDS_READ]
    if not words:
        return ""
    near = reader.live_with_terms(
        words,
        project=draft.project,
        space=draft.space,
        kind=draft.kind,
        limit=DUPLICATE_HITS_READ,
    )
    for node in near:
        held = str(node.props["summary"])
        alike = gist(held) == wanted and written_marks(held) == marks
        if "Revision" in node.labels and alike:
            return str(node.props["kref"])
    return ""


def _left_out(
    store: Store, known: str, draft: Draft, *, links: tuple[tuple[str, str], ...]
) -> tuple[str, ...]:
    """Return a warning about fields of a restated belief that the stored one does not have."""
    with store.read() as snapshot:
        held = read_revision(snapshot, resolve(snapshot, parse_kref(known)))
    lost = [
        name
        for name in (
            "title",
            "topics",
            "keywords",
            "valid_from",
            "valid_until",
            "confidence",
            "trust",
            *ENRICHMENTS,
        )
        if getattr(draft, name) not in ("", (), None, getattr(held, name))
    ]
    lost += ["facts"] if without(draft.facts, held.facts) else []
    lost += ["links"] if links else []
    other = [name for name, value in draft.metadata.items() if held.metadata.get(name) != value]
    lost += ["embedding text" if name == EMBEDDING_TEXT else f"metadata {name}" for name in other]
    if not lost:
        return ()
    return (
        (f"These fields were not stored: {', '.join(lost)[:500]}. Revise {held.item} to set them."),
    )


def gist(text: str) -> list[str]:
    """Return the index terms in order, including short words that change the meaning: a suffix
    keeps them from being dropped as stop words."""
    plain = text.casefold()
    for pattern, words in _CONTRACTIONS:
        plain = pattern.sub(words, plain)
    fronted = _FRONTED.fullmatch(plain)
    if fronted and not _SEVERAL.search(plain):
        plain = f"{fronted['rest'].rstrip('.!?')} {fronted['front']}"
    return terms(_TURNING.sub(r"\g<0>0", plain))
