"""The one validator: every entry of a structure is compared with the turns that it names before
anything of it is stored. What they do not support is left out, and counted by reason.

    unknown_source    it names no turn, or one that is not of this session
    too_long, empty, incomplete, malformed, repeated, surplus
    name, number, date, words, denial, speaker     see claims.py
    question, hypothetical, hedged, planned, ...   its clause asserts nothing (language/assertion)
    not_asked         an open question that nobody asked
    assistant         a fact that only an assistant stated

Implications say things in other words, so only their numbers are compared; they become search
texts, and no beliefs. Whatever the turns or an entry say is data: there is no field by which an
entry could choose its trust, its tags, or what else is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from doxa.base.dates import iso_mention
from doxa.base.limits import CONSOLIDATED_SOURCES_ITEMS_MAX, ENRICHMENT_CHARS_MAX
from doxa.base.words import terms
from doxa.consolidation.claims import COVERED_MIN, is_dated, reserve_of, why_unsupported
from doxa.consolidation.evidence import ClaimEvidence, affirms, evidence_of, numbers_in, words_in
from doxa.consolidation.structure import (
    CERTAINTY_RESERVED_MAX,
    SECTIONS,
    ActionEntry,
    DecisionEntry,
    EntityEntry,
    EventEntry,
    FactEntry,
    Structure,
    read_structure,
    says,
)
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.language.lint.complete import fragments_problem
from doxa.redaction.redact import redact

TEXT_CHARS_MAX: Mapping[str, int] = {"title": 120, "topics": 60, "entities": 80}
_ASKED = frozenset(("question", "hedged", "hypothetical"))
_OPEN = re.compile(
    r"\?|\b(?:not sure|unsure|undecided|unclear|open question|tbd|to be decided|figure out|find out"
    r"|wonder\w*|whether|do not know|need to know|have to decide|need to decide)\b",
    re.IGNORECASE,
)
# A command line, markup or a table of figures is not a statement.
_NO_STATEMENT = re.compile(
    r"^\s*(?:[$>#%]\s|```|\{|\[|<\w)|(?:\s--?\w[\w-]*){2}|[{};|]{2}|\bconfidence\s*[:=]\s*[\d.]"
    r"|\bscore\s*[:=]\s*[\d.]|^\W*(?:candidate|score|confidence)\s*:",
    re.IGNORECASE,
)
_WORDS_MIN = {"title": 1, "topics": 1, "entities": 1}


@dataclass(frozen=True, slots=True)
class Validated:
    """What of a structure its turns support, how much was left out by reason, and how many secrets
    were removed."""

    structure: Structure
    dropped: Mapping[str, int] = field(default_factory=dict)
    redacted: int = 0


def validate(value: object, transcript: Transcript) -> Validated:
    """Compare a structure with its transcript. Raises InputError for what is not a structure."""
    structure, lost = read_structure(value)
    return _Validation(transcript, lost).run(structure)


class _Validation:
    def __init__(self, transcript: Transcript, lost: Counter[str]) -> None:
        self._turns = {turn.id: turn for turn in transcript.turns}
        self._turns |= {turn.kref: turn for turn in transcript.turns if turn.kref}
        self._people = transcript.speakers
        self._answered = _answered(transcript)
        self._read = cache(evidence_of)
        self._dropped = lost
        self._redacted = 0
        self._order = {turn.id: number for number, turn in enumerate(transcript.turns)}

    def run(self, structure: Structure) -> Validated:
        kept: dict[str, Any] = {}
        if structure.title is not None:
            kept["title"] = self._entry("title", structure.title)
        for section in SECTIONS:
            kept[section] = tuple(self._section(section, getattr(structure, section)))
        counts = {reason: count for reason, count in sorted(self._dropped.items()) if count}
        return Validated(Structure(**kept), counts, self._redacted)

    def _section(self, section: str, listed: tuple[Any, ...]) -> list[Any]:
        kept: list[Any] = []
        seen: set[frozenset[str] | str] = set()
        for entry in listed:
            found = self._entry(section, entry)
            if found is None:
                continue
            key = frozenset(terms(says(section, found))) or says(section, found).casefold()
            if key in seen:
                self._dropped["repeated"] += 1
            elif len(kept) >= SECTIONS[section][2]:
                self._dropped["surplus"] += 1
            else:
                seen.add(key)
                kept.append(found)
        return kept

    def _entry(self, section: str, entry: Any) -> Any:
        """Return an entry as it is stored, or None."""
        entry, turns = self._cleaned(entry), self._sources(entry)
        reason = (
            "unknown_source"
            if not turns
            else _why_malformed(section, says(section, entry))
            or self._why(section, entry, self._evidence(turns))
        )
        if reason:
            self._dropped[reason] += 1
            return None
        checked = _CHECKED.get(type(entry))
        kept = checked(self, entry, self._evidence(turns)) if checked else entry
        return msgspec.structs.replace(kept, sources=tuple(turn.id for turn in turns))

    def _evidence(self, turns: Iterable[SourceTurn]) -> ClaimEvidence:
        return ClaimEvidence(turns, answered=self._answered, read=self._read)

    def _sources(self, entry: Any) -> list[SourceTurn]:
        """Return the turns of an entry in their order; none if one of them is unknown."""
        named = dict.fromkeys(entry.sources[: CONSOLIDATED_SOURCES_ITEMS_MAX + 1])
        found = [self._turns[name] for name in named if name in self._turns]
        if len(found) < len(named) or len(named) > CONSOLIDATED_SOURCES_ITEMS_MAX:
            return []
        return sorted(dict.fromkeys(found), key=lambda turn: self._order[turn.id])

    def _cleaned(self, entry: Any) -> Any:
        """Return an entry without secrets, control characters and blank ends."""
        changed: dict[str, Any] = {}
        for name in entry.__struct_fields__:
            value = getattr(entry, name)
            if isinstance(value, str) and name not in ("status", "modality"):
                changed[name] = self._clean(value)
            elif name in ("participants", "aliases"):
                changed[name] = tuple(filter(None, map(self._clean, value)))[:20]
        return msgspec.structs.replace(entry, **changed)

    def _clean(self, text: str) -> str:
        plain = " ".join("".join(char if char.isprintable() else " " for char in text).split())
        found = redact(plain)
        self._redacted += len(found.findings)
        return found.text

    def _why(self, section: str, entry: Any, evidence: ClaimEvidence) -> str:
        """Return why the turns of an entry do not support it."""
        text = says(section, entry)
        if section == "implications":
            return "" if frozenset(numbers_in(text)) <= evidence.numbers else "number"
        if section in ("title", "topics"):
            return self._why_unnamed(text, evidence)
        if section == "entities":
            return "" if self._is_named(entry.name, evidence) else "name"
        if section == "open_questions":
            return self._why_unasked(text, evidence)
        if section == "facts" and not any(turn.is_persons for turn in evidence.turns):
            return "assistant"
        return self._why_unsupported(text, evidence, section)

    def _why_unsupported(self, text: str, evidence: ClaimEvidence, section: str) -> str:
        return why_unsupported(text, evidence, section=section, participants=self._people)

    def _why_unnamed(self, text: str, evidence: ClaimEvidence) -> str:
        wanted = frozenset(terms(text)) - frozenset(terms(" ".join(self._people)))
        return "words" if len(wanted & evidence.terms) < COVERED_MIN * len(wanted) else ""

    def _why_unasked(self, text: str, evidence: ClaimEvidence) -> str:
        wanted = frozenset(terms(text))
        if len(wanted & evidence.terms) < COVERED_MIN * max(1, len(wanted)):
            return "words"
        if not _OPEN.search(text):  # as a statement it would pass for one
            return "not_asked"
        clauses = evidence.nearest(wanted)
        said = any(_OPEN.search(turn.text) for turn in evidence.turns)
        return "" if said or any(one.modes & _ASKED for one in clauses) else "not_asked"

    def _is_named(self, name: str, evidence: ClaimEvidence) -> bool:
        """Return whether the turns, or who says them, have all words of a name."""
        known = evidence.words | frozenset(
            word for speaker in evidence.speakers for word in words_in(speaker)
        )
        wanted = frozenset(words_in(name))
        return bool(wanted) and wanted <= known

    def _or_empty(self, text: str, evidence: ClaimEvidence, section: str) -> str:
        """Return a field that an entry can do without, or nothing where the turns do not have
        it."""
        if not text:
            return ""
        reason = (
            "too_long"
            if len(text) > ENRICHMENT_CHARS_MAX
            else self._why_unsupported(text, evidence, section)
        )
        if reason:
            self._dropped[f"{reason}_of_field"] += 1
        return "" if reason else text

    def _person_or_empty(self, name: str, evidence: ClaimEvidence) -> str:
        if not name or self._is_named(name, evidence) or name in self._people:
            return name
        self._dropped["name_of_field"] += 1
        return ""

    def _date_or_empty(self, when: str, date: str, evidence: ClaimEvidence) -> tuple[str, str]:
        """Return a time in words and its day, resolved against the turns: what a producer made of
        it counts only if the turns name that day."""
        allowed = list(evidence.dates())
        said = next(
            (one for one in allowed if when and one.text.casefold() in when.casefold()), None
        )
        if date:
            named = iso_mention(date)
            if named is not None and is_dated(named, evidence, allowed):
                inside = said is None or named.start_ns <= said.start_ns < named.end_ns
                if inside:
                    return self._words_or_empty(when, evidence), date
            self._dropped["date_of_field"] += 1
        return self._words_or_empty(when, evidence), said.iso if said else ""

    def _words_or_empty(self, when: str, evidence: ClaimEvidence) -> str:
        """Return a time in words if they are those of a turn."""
        wanted = frozenset(words_in(when))
        if wanted and not wanted <= evidence.words:
            self._dropped["words_of_field"] += 1
            return ""
        return when

    def _event(self, entry: EventEntry, evidence: ClaimEvidence) -> EventEntry:
        when, date = self._date_or_empty(entry.when, entry.date, evidence)
        there = tuple(
            dict.fromkeys(
                filter(None, (self._person_or_empty(n, evidence) for n in entry.participants))
            )
        )
        followed = self._or_empty(entry.consequence, evidence, "events")
        return msgspec.structs.replace(
            entry,
            when=when,
            date=date,
            participants=there,
            consequence=followed,
            modality=reserve_of(entry.event),
        )

    def _claim(self, entry: FactEntry, evidence: ClaimEvidence) -> FactEntry:
        triple = (entry.subject, entry.predicate, entry.value)
        reserve = reserve_of(entry.claim)
        certainty = min(1.0, max(0.0, entry.certainty)) if entry.certainty == entry.certainty else 0
        kept = triple if all(triple) else ("", "", "")
        if any(kept) and self._why_unsupported(" ".join(kept), evidence, "facts"):
            self._dropped["triple_of_field"] += 1
            kept = ("", "", "")
        return msgspec.structs.replace(
            entry,
            subject=kept[0],
            predicate=kept[1],
            value=kept[2],
            certainty=min(certainty, CERTAINTY_RESERVED_MAX) if reserve else certainty,
            modality=reserve,
        )

    def _decision(self, entry: DecisionEntry, evidence: ClaimEvidence) -> DecisionEntry:
        return msgspec.structs.replace(
            entry,
            reason=self._or_empty(entry.reason, evidence, "decisions"),
            by=self._person_or_empty(entry.by, evidence),
        )

    def _action(self, entry: ActionEntry, evidence: ClaimEvidence) -> ActionEntry:
        when, date = self._date_or_empty(entry.by_when, entry.date, evidence)
        status = entry.status
        if status != "open" and len(evidence.turns) < 2:  # one turn promised, another did it
            self._dropped["status_of_field"] += 1
            status = "open"
        who = self._person_or_empty(entry.who, evidence)
        reserve = reserve_of(entry.task)
        return msgspec.structs.replace(
            entry,
            by_when=when,
            date=date,
            who=who,
            status=status,
            modality="" if reserve == "planned" else reserve,  # each task is a plan
        )

    def _mention(self, entry: EntityEntry, evidence: ClaimEvidence) -> EntityEntry:
        aliases = tuple(
            name
            for name in dict.fromkeys(entry.aliases)
            if name != entry.name and self._is_named(name, evidence)
        )
        given = [name for name in dict.fromkeys(entry.aliases) if name != entry.name]
        self._dropped["name_of_field"] += len(given) - len(aliases)
        return msgspec.structs.replace(entry, aliases=aliases)


_CHECKED: Mapping[type[Any], Callable[[_Validation, Any, ClaimEvidence], Any]] = {
    EventEntry: _Validation._event,
    FactEntry: _Validation._claim,
    DecisionEntry: _Validation._decision,
    ActionEntry: _Validation._action,
    EntityEntry: _Validation._mention,
}


def _why_malformed(section: str, text: str) -> str:
    if not text:
        return "empty"
    if len(text) > TEXT_CHARS_MAX.get(section, ENRICHMENT_CHARS_MAX):
        return "too_long"
    few = len(terms(text)) < _WORDS_MIN.get(section, 2)
    if few or (section not in _WORDS_MIN and _NO_STATEMENT.search(text)):
        return "incomplete"
    return "incomplete" if fragments_problem(text) else ""  # the store would refuse it


def _answered(transcript: Transcript) -> frozenset[str]:
    """Return the turns that the next one, by somebody else, affirms."""
    found = set()
    for turn, following in zip(transcript.turns, transcript.turns[1:], strict=False):
        if following.speaker != turn.speaker and affirms(following):
            found.add(turn.id)
    return frozenset(found)
