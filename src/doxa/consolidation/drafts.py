"""The entries of a validated structure as beliefs: the summary of a unit with its search fields,
and an item of its own for each event, fact, decision, action, commitment and open question.

All are `inferred`, and name their producer and model. Names of items are made of the unit and of
what an entry is about, so that consolidating again finds them: an action that is done by now has
the name that it had when it was open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from doxa.base.clock import parse_time
from doxa.base.errors import InputError
from doxa.base.limits import ENRICHMENT_CHARS_MAX, ENRICHMENT_ENTRIES_MAX, TEXT_BYTES_MAX
from doxa.base.values import Value
from doxa.base.words import terms
from doxa.belief import Draft, Fact, Kref, name_from
from doxa.belief.removal.retiring import SPEAKER_NAME, SPEAKER_ROLE
from doxa.consolidation.structure import (
    CERTAINTY_RESERVED_MAX,
    ActionEntry,
    DecisionEntry,
    EventEntry,
    FactEntry,
    Structure,
    says,
)
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.consolidation.units import SPACE, Unit

TRUST = "inferred"
DIGEST, UNIT, STRUCTURE = "source_digest", "unit", "structure"
KEPT = "kept"  # what was kept of a structure by another producer
_NAME_CHARS = 60
_KINDS = {
    "events": "event",
    "facts": "fact",
    "decisions": "decision",
    "actions": "action",
    "commitments": "commitment",
    "open_questions": "question",
}


class ItemDraft(NamedTuple):
    """An item to write: its section, what it says, and the turns that it is derived from."""

    section: str
    draft: Draft
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a structure of which turns. `kept` are entries, with their section, that `kept_by`
    made before, a producer and its model; `note` is what the summary says of them."""

    unit: Unit
    transcript: Transcript
    producer: str
    model: str
    kept: frozenset[Any] = frozenset()
    kept_by: tuple[str, str] = ("", "")
    note: str = ""

    def of(self, section: str, entry: Any) -> Origin:
        """Return the origin of one entry."""
        if (section, entry) not in self.kept:
            return self
        return replace(self, producer=self.kept_by[0], model=self.kept_by[1])


def summary_draft(structure: Structure, origin: Origin) -> Draft:
    """Return the belief that sums a unit up, with what else it is found by."""
    unit, turns = origin.unit, origin.transcript.turns
    title = structure.title.text if structure.title is not None else ""
    told = " ".join(line.text for line in structure.summary)
    count = "1 turn" if len(turns) == 1 else f"{len(turns)} turns"
    stored = msgspec.json.encode(structure).decode()
    return Draft(
        told or title or f"The session has {count}.",
        project=unit.project,
        space=SPACE,
        name=unit.kref.name,
        kind="summary",
        title=title,
        topics=tuple(line.text for line in structure.topics),
        trust=TRUST,
        time=turns[-1].time_ns,
        metadata=_origin(origin)
        | {
            DIGEST: origin.transcript.digest,
            "level": "session",
            "session": unit.session,
            "turns": len(turns),
            "left_out": origin.transcript.left_out,
            "chars_in": sum(len(turn.text) for turn in turns),
            STRUCTURE: stored if len(stored.encode()) <= TEXT_BYTES_MAX else "",
        }
        | ({KEPT: origin.note} if origin.note else {}),
        **search_fields(structure),
    )


def search_fields(structure: Structure) -> dict[str, Any]:
    """Return what a summary is found by besides its own words. Implications stand there alone: they
    are nobody's belief."""
    fields = {
        "events": (told_of(one) for one in structure.events),
        "implications": (line.text for line in structure.implications),
        "questions": (one.question for one in structure.open_questions),
        "decisions": (told_of(one) for one in structure.decisions),
        "claims": (told_of(one) for one in structure.facts),
        "actions": (told_of(one) for one in (*structure.actions, *structure.commitments)),
        "entities": (one.name for one in structure.entities),
    }
    return {
        name: tuple(text[:ENRICHMENT_CHARS_MAX] for text in found)[:ENRICHMENT_ENTRIES_MAX]
        for name, found in fields.items()
    }


def item_drafts(structure: Structure, origin: Origin) -> Iterator[ItemDraft]:
    """Yield the items of a structure."""
    turns = {turn.id: turn for turn in origin.transcript.turns}
    for section, kind in _KINDS.items():
        for entry in getattr(structure, section):
            sources = [turns[name] for name in entry.sources if name in turns]
            if sources:
                made = origin.of(section, entry)
                draft = _draft(section, kind, entry, origin=made, sources=sources)
                yield ItemDraft(section, draft, tuple(turn.kref for turn in sources))


def told_of(entry: Any) -> str:
    """Return what an entry says, in one text."""
    if isinstance(entry, EventEntry):
        dated = f" ({entry.date})" if entry.date and entry.date not in entry.event else ""
        followed = f" As a result: {entry.consequence}." if entry.consequence else ""
        return f"{entry.event.rstrip(' .')}{dated}.{followed}"
    if isinstance(entry, DecisionEntry):
        return f"{entry.decision} Reason: {entry.reason}." if entry.reason else entry.decision
    if isinstance(entry, ActionEntry):
        dated = f" ({entry.date})" if entry.date and entry.date not in entry.task else ""
        return f"{entry.task.rstrip(' .')}{dated}."
    return str(entry.claim if isinstance(entry, FactEntry) else entry.question)


def fact_of(entry: FactEntry) -> Fact | None:
    """Return the fact that an entry states, if it gives its three parts."""
    if not (entry.subject and entry.predicate and entry.value):
        return None
    return Fact(entry.subject, entry.predicate, entry.value)


def _draft(
    section: str, kind: str, entry: Any, *, origin: Origin, sources: list[SourceTurn]
) -> Draft:
    first, last = sources[0], sources[-1]
    fact = fact_of(entry) if isinstance(entry, FactEntry) else None
    return Draft(
        told_of(entry),
        project=origin.unit.project,
        space=SPACE,
        name=_name(section, entry, fact, origin.unit),
        kind=kind,
        facts=(fact,) if fact is not None else (),
        confidence=_confidence(entry),
        trust=TRUST,
        time=last.time_ns,
        metadata=_origin(origin)
        | {SPEAKER_NAME: first.speaker, SPEAKER_ROLE: first.role}
        | _details(entry),
    )


def _confidence(entry: Any) -> float:
    if isinstance(entry, FactEntry):
        return entry.certainty
    return CERTAINTY_RESERVED_MAX if getattr(entry, "modality", "") else 1.0


def _name(section: str, entry: Any, fact: Fact | None, unit: Unit) -> str:
    text = says(section, entry)
    about = fact.stored() if fact is not None else " ".join(sorted(terms(text))) or text
    digest = blake2b(f"{unit.kref}|{section}|{about}".encode(), digest_size=5).hexdigest()
    return "-".join(filter(None, (name_from(text)[:_NAME_CHARS].strip("-"), digest)))


def _origin(origin: Origin) -> dict[str, Value]:
    return {
        UNIT: str(origin.unit.kref),
        "thread": origin.unit.thread,
        "producer": origin.producer,
        "model": origin.model or "rules",
    }


def _details(entry: Any) -> dict[str, Value]:
    """Return what is kept of an entry besides its text, without what is empty."""
    found: dict[str, Any] = {}
    if isinstance(entry, EventEntry):
        found = {
            "date": entry.date,
            "when": entry.when,
            "consequence": entry.consequence,
            "participants": list(entry.participants),
        }
    elif isinstance(entry, DecisionEntry):
        found = {"rationale": entry.reason, "by": entry.by}
    elif isinstance(entry, ActionEntry):
        found = {
            "who": entry.who,
            "by_when": entry.by_when,
            "due": entry.date,
            "due_ns": due_ns(entry.date),
            "state": entry.status,
        }
    elif not isinstance(entry, FactEntry):
        found = {"by": entry.by, "state": "open"}
    found["modality"] = getattr(entry, "modality", "")
    return {name: value for name, value in found.items() if value not in ("", None, [])}


def due_ns(date: str) -> int | None:
    """Return the first instant of an ISO day, month or year, or None."""
    whole = date + "-01-01"[len(date) - 4 :] if 4 <= len(date) < 10 else date
    try:
        return parse_time(whole, field="date") if whole else None
    except InputError:
        return None


def address_of(draft: Draft) -> Kref:
    """Return where a draft of this module goes."""
    return Kref(draft.project, (SPACE,), draft.name, draft.kind)
