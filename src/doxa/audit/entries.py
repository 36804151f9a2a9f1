"""Which entries of a structure a derived belief says, to be checked as consolidation checked them.

a summary of a session          the lines of the structure that it holds
a summary of a day, week, month those lines of its thread's sessions that it repeats
an event, fact, decision, ...   the entry of its session's structure that it tells
anything else                   its text as one entry, with all of its sources
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from doxa.audit.claims import statement_of
from doxa.audit.types import CurrentBelief, Ground
from doxa.base.errors import DoxaError
from doxa.base.limits import CONSOLIDATED_SOURCES_ITEMS_MAX
from doxa.base.words import terms
from doxa.consolidation.drafts import STRUCTURE, told_of
from doxa.consolidation.structure import SECTIONS, Structure, read_structure
from doxa.store import Reader

_HELD = 64
_SECTIONS = {
    "event": "events",
    "decision": "decisions",
    "action": "actions",
    "commitment": "commitments",
    "question": "open_questions",
    "summary": "summary",
}
_BY_UNIT = f"""
SELECT r.props ->> '$.{STRUCTURE}' FROM node i JOIN edge e ON e.src = i.id AND e.type = 'CURRENT'
  JOIN node r ON r.id = e.dst
WHERE i.kref = ?1
"""
_BY_THREAD = f"""
SELECT r.props ->> '$.{STRUCTURE}' FROM node t JOIN edge h ON h.src = t.id AND h.type =
    'HAS_EXCHANGE' JOIN edge d ON d.dst = h.dst AND d.type = 'DERIVED_FROM'
  JOIN node r ON r.id = d.src
WHERE t.kref = ?1 AND r.props ->> '$.{STRUCTURE}' IS NOT NULL GROUP BY r.id
"""


class Claimed(NamedTuple):
    """An entry to check. The ids of its sources are names of exchanges."""

    section: str
    entry: Any


def section_of(belief: CurrentBelief) -> str:
    """Return the section that a kind of belief is of; what is none of them is a fact."""
    return _SECTIONS.get(belief.kind, "facts")


class ExaminedEntries:
    """Reads structures of a snapshot; the last ones are kept."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._of_unit = lru_cache(maxsize=_HELD)(self._read_unit)
        self._of_thread = lru_cache(maxsize=_HELD)(self._read_thread)

    def of(self, belief: CurrentBelief, grounds: Sequence[Ground]) -> list[Claimed]:
        """Return the entries that a belief says."""
        section = section_of(belief)
        if belief.run is not None and section == "summary":
            held = self._of_unit(belief.kref.partition("?")[0]) or self._of_thread(belief.thread)
            lines = [line for one in held for line in one.summary if line.text in belief.text]
            if lines:
                return [Claimed("summary", line) for line in lines]
        if belief.unit:
            for structure in self._of_unit(belief.unit):
                for entry in getattr(structure, section):
                    if told_of(entry) == belief.text:
                        return [Claimed(section, entry)]
        return [_whole(section, belief, grounds)]

    def _read_unit(self, kref: str) -> tuple[Structure, ...]:
        return _structures(self._reader.rows(_BY_UNIT, (kref,)))

    def _read_thread(self, thread: str) -> tuple[Structure, ...]:
        return _structures(self._reader.rows(_BY_THREAD, (thread,))) if thread else ()


def _structures(rows: Sequence[tuple[Any, ...]]) -> tuple[Structure, ...]:
    found = []
    for (text,) in rows:
        try:
            if text:
                found.append(read_structure(text)[0])
        except DoxaError:
            continue
    return tuple(found)


def _whole(section: str, belief: CurrentBelief, grounds: Sequence[Ground]) -> Claimed:
    """Return the text as one entry, with those of its sources that share most of its words where
    there are more than an entry may have."""
    kind, field, _ = SECTIONS[section]
    text = statement_of(belief)
    wanted = frozenset(terms(text))
    turns = sorted(
        (one for one in grounds if one.is_turn),
        key=lambda one: -len(wanted & frozenset(terms(one.text))),
    )
    sources = tuple(one.name for one in turns[:CONSOLIDATED_SOURCES_ITEMS_MAX])
    return Claimed(section, kind(**{field: text, "sources": sources}))
