"""RealMem held open: requests as of their moment, by the share of the sessions that they build on
among the first ten sessions; their own session counts nowhere.

    realmem         turns alone
    realmem_notes   and of each session a note by rules, with fields, derived from its turns
    realmem_alone   the same notes without turns
    realmem_hand    turns and notes that people wrote, of the sessions that these cover
    hand_alone      the same notes without turns

A note is a stated belief: title and summary of the session as its text, and as its fields what
consolidation makes the fields of a summary. A hit counts as the session that it is of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import doxa
from bench.metrics import recall_at, to_sessions
from bench.persistence_parts import fresh
from bench.realmem import read_dialogues
from bench.ripening_sets import STRUCTURES, Group, Wanted, exchanges, of_sessions, recorded, renamed
from bench.sets_asked import Asked
from doxa.base.clock import FakeClock
from doxa.belief import parse_kref
from doxa.consolidation.drafts import search_fields
from doxa.consolidation.producers.rules import RulesProducer
from doxa.consolidation.structure import Structure
from doxa.consolidation.transcript import Transcript
from doxa.consolidation.units import threads_of, transcript_of, units_of
from doxa.consolidation.validate import validate
from doxa.models import Embedder
from doxa.recall import Hit

FIRST = 10
DEPTH = 50  # hits, of which the first ten sessions are taken
TITLES = {
    "realmem": "RealMem turns, session recall@10",
    "realmem_notes": "RealMem turns and notes by rules",
    "realmem_alone": "RealMem notes by rules alone",
    "realmem_hand": "RealMem turns and notes by hand",
    "hand_alone": "RealMem notes by hand alone",
}
_DAY_NS = 86_400 * 10**9
_NOTE = "note"


def opened(
    stack: ExitStack, path: Path, embedder: Embedder | None, *, fields: bool
) -> dict[str, list[Asked]]:
    """Fill the stores of every persona, which stay open with `stack`; return the requests by
    set."""
    asked: dict[str, list[Asked]] = {name: [] for name in TITLES}
    for file in sorted(path.glob("*_dialogues_*.json")):
        group = _group(file)
        hand = recorded((STRUCTURES,), group.name)
        bare = _Store(stack, group, embedder, fields=fields)
        noted = _Store(stack, group, embedder, fields=fields)
        noted.note(None)
        asked["realmem"] += bare.asked(group)
        asked["realmem_notes"] += noted.asked(group)
        asked["realmem_alone"] += noted.asked(group, kinds=(_NOTE,))
        if within := of_sessions(group, hand) if hand else None:
            written = _Store(stack, group, embedder, fields=fields)
            written.note(hand)
            asked["realmem_hand"] += written.asked(within)
            asked["hand_alone"] += written.asked(within, kinds=(_NOTE,))
    return asked


def _group(file: Path) -> Group:
    turns, asked = read_dialogues(json.loads(file.read_text())["dialogues"])
    wanted = tuple(Wanted(question, time, own) for question, time, own in asked)
    return Group("realmem", file.stem, tuple(turns), wanted, of_sessions=True)


class _Store:
    """The turns of one persona in a memory of its own, stored before the first was said."""

    def __init__(
        self, stack: ExitStack, group: Group, embedder: Embedder | None, *, fields: bool
    ) -> None:
        self._clock = FakeClock(min(turn.time_ns or 0 for turn in group.turns) - _DAY_NS)
        self.memory: doxa.Memory = stack.enter_context(fresh(clock=self._clock, embedder=embedder))
        self._session_of = {turn.source_id: turn.session for turn in group.turns}
        self._fields = fields
        self.memory.ingest(group.turns, extract=False)
        self.memory.record_mentions()
        self.memory.embed()

    def note(self, structures: Mapping[str, Mapping[str, Any]] | None) -> None:
        """Store a note of each session, by rules or after these structures."""
        names = {source: parse_kref(kref).name for kref, source in exchanges(self.memory)}
        for transcript in sorted(self._transcripts(), key=lambda one: one.turns[-1].time_ns):
            if structures is not None and transcript.session not in structures:
                continue
            made = _structure(transcript, structures, names)
            text = " ".join(line.text for line in made.summary)
            title = made.title.text if made.title else ""
            if not (text or title):
                continue
            self._clock.set(transcript.turns[-1].time_ns)
            self.memory.remember(
                text or title,
                title=title if text else "",
                name=f"{_NOTE}-{transcript.session}",
                kind=_NOTE,
                topics=tuple(line.text for line in made.topics) if self._fields else (),
                derived_from=tuple(turn.kref for turn in transcript.turns),
                **(search_fields(made) if self._fields else {}),
            )
        self.memory.record_mentions()
        self.memory.embed()

    def _transcripts(self) -> Iterator[Transcript]:
        with self.memory.store.read() as reader:
            for thread in threads_of(reader, "default"):
                for unit in units_of(reader, thread):
                    if (transcript := transcript_of(reader, unit)).turns:
                        yield transcript

    def asked(self, group: Group, **options: Any) -> list[Asked]:
        """Return the requests of a group, to be asked of this memory."""
        return [
            Asked(
                self.memory,
                "default",
                one.question.text,
                group.name,
                partial(self._share, one),
                {"until": one.until_ns, "limit": DEPTH, **options},
                self._clock,
                one.until_ns or 0,
            )
            for one in group.asked
        ]

    def _share(self, one: Wanted, hits: Sequence[Hit]) -> float:
        sessions = [self._session(hit) for hit in hits]
        ranking = to_sessions(sessions, dict(zip(sessions, sessions, strict=True)))
        return recall_at([name for name in ranking if name != one.own], one.question.gold, FIRST)

    def _session(self, hit: Hit) -> str:
        if hit.kind == _NOTE:
            return hit.kref.rpartition("/")[2].partition(".")[0].removeprefix(f"{_NOTE}-")
        return self._session_of[hit.source_id]


def _structure(
    transcript: Transcript,
    structures: Mapping[str, Mapping[str, Any]] | None,
    names: Mapping[str, str],
) -> Structure:
    """What is kept of a structure once it is compared with the turns."""
    if structures is None:
        return validate(RulesProducer().produce(transcript).structure, transcript).structure
    return validate(renamed(structures[transcript.session], names), transcript).structure
