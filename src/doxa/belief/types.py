"""The values that operations on beliefs take and return: plain frozen data, fit for any interface.

Times are integer ns UTC. A fact is a ground triple (subject, predicate, value); it is stored as the
canonical JSON text of the three.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, NewType

import msgspec

from doxa.base.clock import TIME_MAX
from doxa.base.errors import InputError, LimitError
from doxa.base.limits import (
    ENRICHMENT_CHARS_MAX,
    ENRICHMENT_ENTRIES_MAX,
    FACTS_PER_REVISION_MAX,
    SENTENCES_PER_REVISION_MAX,
)
from doxa.base.values import Value, canonical, check_properties, check_text, decode
from doxa.logic.sentence import Sentence, parse_sentence, stored
from doxa.store import RUN_KREF, RUN_MODEL, TRUST_DEFAULT, TRUSTS

# What a belief gives besides what it states, in words of their own: each a list of short texts,
# each text found by itself. Nothing is concluded from them: what happened and what followed, what
# may come, what is open, what was settled, who and what it is about.
ENRICHMENTS = (
    "events",
    "implications",
    "questions",
    "decisions",
    "entities",
    "claims",
    "actions",
)

FactValue = bool | int | float | str  # of what a property may hold, what a sentence can say


class Fact(NamedTuple):
    """One atom of belief."""

    subject: str
    predicate: str
    value: FactValue

    def stored(self) -> str:
        return canonical([self.subject, self.predicate, self.value]).decode()


def parse_fact(value: object) -> Fact:
    """Read a fact from a triple or from its stored text. Raises InputError."""
    parts = decode(value) if isinstance(value, str) and value.startswith("[") else value
    if isinstance(parts, (list, tuple)) and len(parts) == 3:
        subject, predicate, content = parts
        if (
            isinstance(subject, str)
            and subject
            and isinstance(predicate, str)
            and predicate
            and _is_said(content)
        ):
            return Fact(subject, predicate, content)
    raise InputError(
        f"This is not a fact: {str(value)[:80]!r}.",
        next_step="Give three parts: subject, predicate, value (text, number or boolean).",
        field="facts",
    )


def _is_said(value: object) -> bool:
    return math.isfinite(value) if isinstance(value, float) else isinstance(value, (str, bool, int))


@dataclass(frozen=True, slots=True)
class Draft:
    """What a revision will say. `name` empty means: one is made from the text."""

    summary: str
    project: str = "default"
    space: str = ""
    name: str = ""
    kind: str = "fact"
    title: str = ""
    topics: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    valid_from: int | None = None
    valid_until: int | None = None
    confidence: float = 1.0
    trust: str = TRUST_DEFAULT
    author: str = ""
    time: int | None = None
    metadata: Mapping[str, Value] = field(default_factory=dict)
    events: tuple[str, ...] = ()
    implications: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()

    def content(self) -> dict[str, Value]:
        """Return the properties by which two revisions are compared, without absent ones."""
        values: dict[str, Value] = {
            "summary": self.summary,
            "title": self.title or None,
            "topics": list(self.topics) or None,
            "keywords": list(self.keywords) or None,
            "facts": [fact.stored() for fact in self.facts] or None,
            "sentences": [stored(sentence) for sentence in self.sentences] or None,
            "valid_from": self.valid_from,
            "valid_until": self.valid_until,
            "confidence": float(self.confidence),
            "trust": self.trust,
            **{name: list(getattr(self, name)) or None for name in ENRICHMENTS},
            **self.metadata,
        }
        return {name: _stored_value(value) for name, value in values.items() if value is not None}


def _stored_value(value: Any) -> Value:
    """Return a property as it is stored: a tuple as a list."""
    return list(value) if type(value) is tuple else value


CheckedDraft = NewType("CheckedDraft", Draft)  # what check_draft returned


def without(facts: tuple[Fact, ...], others: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Return the facts that are not among the others, compared as they are stored: for Python the
    values 1, 1.0 and True are equal."""
    known = {fact.stored() for fact in others}
    return tuple(fact for fact in facts if fact.stored() not in known)


def check_summary(summary: object) -> None:
    if not isinstance(summary, str) or not summary.strip():
        raise InputError(
            "A belief needs a summary; this one is blank.",
            next_step="Say in words what is believed.",
            field="summary",
        )
    check_text(summary, field="summary")


def check_draft(draft: Draft) -> CheckedDraft:
    """Raise InputError or LimitError for what no revision may say: every field is of its type, so
    that whatever is stored can be read. The verb that makes a draft calls this once; what it calls
    takes a CheckedDraft."""
    if not isinstance(draft, Draft):
        raise InputError(
            f"A belief is stated as a Draft; this is {type(draft).__name__}.",
            next_step="Give a Draft.",
            field="draft",
        )
    check_summary(draft.summary)
    _check_texts(draft)
    check_kind(draft.kind)
    if draft.trust not in TRUSTS:
        raise InputError(
            f"{draft.trust[:40]!r} is not a trust label.",
            next_step=f"Use one of {', '.join(TRUSTS)}.",
            field="trust",
        )
    if (
        isinstance(draft.confidence, bool)
        or not isinstance(draft.confidence, (int, float))
        or not 0 <= draft.confidence <= 1
    ):
        raise InputError(
            f"A confidence lies between 0 and 1; this is {draft.confidence!r:.60}.",
            next_step="Give a number from 0 to 1.",
            field="confidence",
        )
    _check_times(draft)
    check_facts(draft.facts)
    _check_sentences(draft.sentences)
    for name in ENRICHMENTS:
        _check_enrichment(name, getattr(draft, name))
    if not isinstance(draft.metadata, Mapping):
        raise InputError(
            f"metadata is a mapping of names to values; this is {type(draft.metadata).__name__}.",
            next_step="Give a mapping.",
            field="metadata",
        )
    check_properties(draft.content(), owner="Revision")
    reserved = RESERVED & draft.metadata.keys()
    if reserved:
        raise InputError(
            f"Metadata may not be named {', '.join(sorted(reserved))}: doxa keeps these itself.",
            next_step="Choose another name.",
            field="metadata",
        )
    return CheckedDraft(draft)


def check_kind(kind: str) -> None:
    """Raise InputError for a kind whose addresses belong to something else than a belief."""
    if kind in RESERVED_KINDS:
        raise InputError(
            f"A belief cannot be of kind {kind!r}: such addresses are of conversations.",
            next_step="Choose another kind.",
            field="kind",
        )


_NOTHING: tuple[()] = ()  # as fields that are not given have it


def _check_texts(draft: Draft) -> None:
    for name in ("project", "space", "name", "kind", "title", "trust", "author"):
        value = getattr(draft, name)
        if not isinstance(value, str):
            raise InputError(
                f"{name} is text; this is {type(value).__name__}.",
                next_step="Give it as text.",
                field=name,
            )
        check_text(value, field=name)
    for name in ("topics", "keywords", *ENRICHMENTS):
        values = getattr(draft, name)
        if values is _NOTHING:
            continue
        if not isinstance(values, (tuple, list)) or not all(
            isinstance(value, str) for value in values
        ):
            raise InputError(
                f"{name} is a list of texts; this is {values!r:.60}.",
                next_step="Give each as text, in a list.",
                field=name,
            )


def _check_times(draft: Draft) -> None:
    for name in ("time", "valid_from", "valid_until"):
        value = getattr(draft, name)
        if value is not None and (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not -TIME_MAX <= value <= TIME_MAX
        ):
            raise InputError(
                f"{name} is a time in integer nanoseconds since 1970 UTC; this is {value!r:.60}.",
                next_step="Give a time, or leave it out.",
                field=name,
            )
    if (
        draft.valid_from is not None
        and draft.valid_until is not None
        and draft.valid_from >= draft.valid_until
    ):
        raise InputError(
            "valid_from is not before valid_until.",
            next_step="Give a window that begins before it ends.",
            field="valid_until",
        )


def check_facts(facts: object) -> None:
    """Raise InputError or LimitError for what cannot be the facts of a revision."""
    if not isinstance(facts, (tuple, list)):
        raise InputError(
            f"facts is a list of facts; this is {type(facts).__name__}.",
            next_step="Give facts in a list.",
            field="facts",
        )
    if len(facts) > FACTS_PER_REVISION_MAX:
        raise LimitError(
            f"A revision holds at most {FACTS_PER_REVISION_MAX} facts; this has {len(facts)}.",
            next_step="Split them over several items.",
            limit_facts=FACTS_PER_REVISION_MAX,
        )
    for fact in facts:
        check_fact(fact)


def _check_sentences(sentences: object) -> None:
    if not isinstance(sentences, (tuple, list)):
        kind = type(sentences).__name__
        raise InputError(
            f"sentences is a list of sentences; this is {kind}.",
            next_step="Give sentences in a list.",
            field="sentences",
        )
    if len(sentences) > SENTENCES_PER_REVISION_MAX:
        raise LimitError(
            f"A revision holds at most {SENTENCES_PER_REVISION_MAX} sentences; this has"
            f" {len(sentences)}.",
            next_step="Split them over several items.",
            limit_sentences=SENTENCES_PER_REVISION_MAX,
        )
    for sentence in sentences:
        parse_sentence(sentence)


def _check_enrichment(name: str, entries: tuple[str, ...]) -> None:
    if len(entries) > ENRICHMENT_ENTRIES_MAX:
        raise LimitError(
            f"A belief has at most {ENRICHMENT_ENTRIES_MAX} {name}; this has {len(entries)}.",
            next_step="Keep those that matter, or split the belief.",
            field=name,
            limit_entries=ENRICHMENT_ENTRIES_MAX,
        )
    for entry in entries:
        check_text(entry, field=name)
        if not entry.strip():
            raise InputError(
                f"An entry of {name} is blank.",
                next_step="Leave it out, or say it in words.",
                field=name,
            )
        if len(entry) > ENRICHMENT_CHARS_MAX:
            raise LimitError(
                f"An entry of {name} has {len(entry):,} characters; the limit is"
                f" {ENRICHMENT_CHARS_MAX:,}.",
                next_step="Say it in a sentence or two, or in several entries.",
                field=name,
                limit_chars=ENRICHMENT_CHARS_MAX,
            )


def check_fact(fact: object) -> Fact:
    """Raise InputError unless this is a Fact whose parts can be stored."""
    if not isinstance(fact, Fact):
        raise InputError(
            f"This is not a fact: {fact!r:.80}.",
            next_step="Give a Fact of three parts: subject, predicate, value.",
            field="facts",
        )
    check_properties(parse_fact(fact)._asdict(), owner="fact")
    return fact


_SHA256 = re.compile(r"[0-9a-f]{64}")


def check_artifact(location: object, *, sha256: object, size_bytes: object) -> None:
    """Raise InputError unless this is a pointer to a file. No digest and no size (empty, 0) may be
    given."""
    if not isinstance(location, str) or not location.strip():
        raise InputError(
            f"An artifact says where its file is; this is {location!r:.60}.",
            next_step="Give its path or address as text.",
            field="location",
        )
    check_text(location, field="location")
    if not isinstance(sha256, str) or (sha256 and not _SHA256.fullmatch(sha256)):
        raise InputError(
            f"sha256 is 64 hexadecimal digits in lower case; this is {sha256!r:.80}.",
            next_step="Give the file's digest, or leave it out.",
            field="sha256",
        )
    if (
        isinstance(size_bytes, bool)
        or not isinstance(size_bytes, int)
        or not 0 <= size_bytes < 2**63
    ):
        raise InputError(
            f"size_bytes is a number of bytes; this is {size_bytes!r:.60}.",
            next_step="Give the file's size, or leave it out.",
            field="size_bytes",
        )


RESERVED = frozenset(
    "kref number project space name kind title summary topics keywords facts sentences valid_from"
    " valid_until confidence trust author time created content_hash deprecated".split()
).union(ENRICHMENTS, (RUN_KREF, RUN_MODEL))

CONFLICT_KIND = "conflict"
RUN_KIND, PROPOSAL_KIND = "job-run", "job-proposal"
RECORD_KIND = "record"  # what the agent's runtime keeps; see agent/records
_JOBS = (RUN_KIND, PROPOSAL_KIND)
RESERVED_KINDS = frozenset(("exchange", "thread", CONFLICT_KIND, *_JOBS, RECORD_KIND))

Action = Literal[
    "created",
    "revised",
    "unchanged",
    "contracted",
    "deprecated",
    "restored",
    "tagged",
    "untagged",
    "linked",
    "unlinked",
    "rolled_back",
    "undone",
    "superseded",
    "attached",
    "grouped",
    "erased",
    "challenged",
    "resolved",
    "constrained",
]


@dataclass(frozen=True, slots=True)
class Retracted:
    """A belief that was retracted: its address, what it says in words, why it was the one, and
    the addresses of what it was retracted for."""

    kref: str
    says: str
    why: str
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SupportLost:
    """A belief whose support was lost or came back, and the cause in words."""

    kref: str
    cause: str


@dataclass(frozen=True, slots=True)
class Change:
    """What one operation did, under one receipt. `change` is the number to give to undo; None when
    nothing was written.

    `gained` and `lost` are facts; `losses` every belief that was retracted, wherever it was;
    `conflict` the address of the conflict that was opened instead; `unsupported` and `supported`
    what lost its support by it, or got it back.
    """

    action: Action
    kref: str
    change: int | None
    time: int
    receipt: str = ""
    previous: str = ""
    gained: tuple[Fact, ...] = ()
    lost: tuple[Fact, ...] = ()
    reason: str = ""
    losses: tuple[Retracted, ...] = ()
    conflict: str = ""
    unsupported: tuple[SupportLost, ...] = ()
    supported: tuple[SupportLost, ...] = ()


Status = Literal[
    "current", "superseded", "deprecated", "detached", "contested"
]  # contested: it waits for a conflict to be resolved


@dataclass(frozen=True, slots=True)
class Revision:
    """One immutable statement of an item, and where it stands now."""

    kref: str
    item: str
    number: int
    status: Status
    summary: str
    kind: str
    project: str
    space: str
    title: str
    topics: tuple[str, ...]
    keywords: tuple[str, ...]
    facts: tuple[Fact, ...]
    valid_from: int | None
    valid_until: int | None
    confidence: float
    trust: str
    author: str
    time: int
    created: int
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Value] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()  # as JSON
    unsupported: str = ""  # why its support is lost; empty if it is not
    events: tuple[str, ...] = ()
    implications: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One turn of a conversation, verbatim."""

    kref: str
    thread: str
    session: str
    speaker: str
    role: str
    text: str
    time: int
    project: str
    space: str
    source_id: str
    deprecated: bool
    entities: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A project, space, thread or artifact: what has an address but is not a belief.
    `contents` is the first page of what is below it."""

    kref: str
    type: str
    properties: Mapping[str, Value]
    contents: Listing | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a listing: an address, its label (Project, Space, Thread, Item or Exchange), what
    is believed or was said there, and an item's status: current, retired or bundle."""

    kref: str
    type: str
    text: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """What is directly below an address: how many things, one page of them, and the address after
    which the next page begins ("" after the last)."""

    kref: str
    count: int
    entries: tuple[Entry, ...]
    next: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """An item was in a bundle from `since` until `until` (None = still)."""

    kref: str
    since: int
    until: int | None


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle and what it holds: now, or at the system time `at`. `moves` is every membership
    there ever was, oldest first."""

    kref: str
    project: str
    space: str
    name: str
    deprecated: bool
    members: tuple[Member, ...]
    moves: tuple[Member, ...]
    created: int
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A challenger that is not believed, since what it contradicts is trusted more, and the beliefs
    that it challenges.

    `decision` is empty while it is open, else accept, reject, both, or undone (what opened it was).
    """

    kref: str
    challenger: Revision
    held: tuple[Revision, ...]
    opened: int
    opened_by: str
    decision: str = ""
    decided: int | None = None
    decided_by: str = ""


@dataclass(frozen=True, slots=True)
class TagMove:
    """A tag pointed to `kref` from `since` until `until` (None = still)."""

    tag: str
    kref: str
    since: int
    until: int | None


class Step(
    msgspec.Struct, frozen=True, gc=False
):  # ten thousand of them are made in the time of one thousand data classes
    """One element that a traversal reached: by which edge, at which depth, from where."""

    kref: str
    depth: int
    edge: str
    via: str
    current: bool = True
    falls: bool = False  # of an impact: it would lose its support


@dataclass(frozen=True, slots=True)
class Walk:
    """A traversal's answer. `cut` says why it stopped short, or is empty."""

    start: str
    steps: tuple[Step, ...]
    cut: str = ""
