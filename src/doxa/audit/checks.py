"""The five tests of an audit. Each yields the beliefs that fail it, with the reason.

junk        its form is that of no statement (language/lint/complete.py)
duplicate   an older current belief of the project says the same: by the words, as `remember`
            compares them, or by the facts, in the same stretch of time
stale       current, though its time has ended, its support is lost, an open conflict challenges
            it, its source was retired or replaced by a later turn, or a later belief gives
            another value to what has one at a time
echo        derived from what a job wrote; or its sources say it only where they repeat what
            recall printed, or where an assistant repeats what memory already held
uncovered   derived, and its sources as they are now do not support it, by the validator of
            consolidation
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from doxa.audit.claims import is_derived, is_of_rules, said, settled_claims, stated, statement_of
from doxa.audit.entries import ExaminedEntries, section_of
from doxa.audit.reading import SessionsOfTurns, contested, unsupported_items
from doxa.audit.types import CurrentBelief, Ground
from doxa.base.clock import format_time
from doxa.base.words import terms
from doxa.consolidation.claims import COVERED_MIN
from doxa.consolidation.structure import Structure
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.consolidation.validate import validate
from doxa.language.lint.complete import fragment_problem, statement_problem
from doxa.recall.framing import HEAD, QUOTE
from doxa.store import Reader

Fault = tuple[CurrentBelief, str]
_TIME_MAX = 2**63 - 1
_NO_STATEMENTS = frozenset(("topics", "entities", "open_questions"))
_PRINTED = re.compile(rf"{re.escape(HEAD[:40])}|^\[\d+\] kref://", re.MULTILINE)


def junk(beliefs: Sequence[CurrentBelief]) -> Iterator[Fault]:
    for one in beliefs:
        strict = is_derived(one) and section_of(one) not in _NO_STATEMENTS
        reason = (statement_problem if strict else fragment_problem)(statement_of(one))
        if reason:
            yield one, reason


class Twins:
    """Which beliefs of a memory say what an older one says."""

    def __init__(self, beliefs: Sequence[CurrentBelief]) -> None:
        self._worded: dict[int, list[tuple[CurrentBelief, bool]]] = {}
        self._factual: dict[int, CurrentBelief] = {}
        self._older: dict[int, CurrentBelief] = {}
        for one in beliefs:
            found = self._found(one)
            if found is not None:
                self._older[one.node] = found

    def of(self, belief: CurrentBelief) -> CurrentBelief | None:
        """Return the older belief that says the same."""
        return self._older.get(belief.node)

    def _found(self, one: CurrentBelief) -> CurrentBelief | None:
        window = (one.project, one.valid_from, one.valid_until)
        facts = stated(one)
        if facts:
            first = self._factual.setdefault(hash((window, facts)), one)
            if first is not one:
                return first
        words = said(one)
        if not words:
            return None
        alike = self._worded.setdefault(hash((window, words)), [])
        for other, has_facts in alike:
            if not (facts and has_facts):
                return other
        if len(alike) < 2:  # the first with facts and the first without decide for all others
            alike.append((one, bool(facts)))
        return None


def duplicate(beliefs: Sequence[CurrentBelief], twins: Twins) -> Iterator[Fault]:
    for one in beliefs:
        older = twins.of(one)
        if older is not None:
            yield one, f"says the same as {older.kref}"


def stale(
    reader: Reader,
    beliefs: Sequence[CurrentBelief],
    everything: Sequence[CurrentBelief],
    grounds: Mapping[int, list[Ground]],
) -> Iterator[Fault]:
    unsupported, challenged = unsupported_items(reader, beliefs), contested(reader, beliefs)
    later = _replaced_values(everything)
    for one in beliefs:
        if one.valid_until is not None and one.valid_until <= reader.now:
            yield one, f"held until {format_time(one.valid_until)[:10]}"
        elif one.item in unsupported:
            yield one, "what supported it was retracted"
        elif one.node in challenged:
            yield one, f"contested by {challenged[one.node]}"
        elif one.node in later:
            yield one, f"replaced by {later[one.node]}"
        elif is_derived(one) and (old := _replaced_source(grounds.get(one.node, ()))):
            yield one, f"its source {old} was retired or replaced"


def _replaced_source(grounds: Sequence[Ground]) -> str:
    return next((one.kref for one in grounds if one.retired or one.replaced), "")


def _replaced_values(beliefs: Sequence[CurrentBelief]) -> dict[int, str]:
    """Return the beliefs to whose single value a later one gives another, with the later one."""
    held: dict[int, tuple[CurrentBelief, str]] = {}
    found: dict[int, str] = {}
    for one in sorted(beliefs, key=lambda one: (one.time, one.node)):
        for claim in settled_claims(one) if section_of(one) == "facts" else ():
            about = hash((one.project, claim.key, claim.predicate, claim.scope))
            value = claim.value.text.casefold()
            before = held.get(about)
            if before is not None and before[1] != value and _overlap(before[0], one):
                found[before[0].node] = one.kref
            held[about] = one, value
    return found


def _overlap(one: CurrentBelief, other: CurrentBelief) -> bool:
    start = max(one.valid_from or 0, other.valid_from or 0)
    return start < min(one.valid_until or _TIME_MAX, other.valid_until or _TIME_MAX)


class SourceCoverage:
    """Whether the sources of derived beliefs support them, as they are now."""

    def __init__(self, reader: Reader) -> None:
        self._sessions = SessionsOfTurns(reader)
        self._entries = ExaminedEntries(reader)

    def why_not(
        self,
        belief: CurrentBelief,
        grounds: Sequence[Ground],
        told: Callable[[str], str] = lambda text: text,
    ) -> str:
        """Return in a word why they do not; empty if they do. `told` changes what the turns say."""
        turns = [one for one in grounds if one.is_turn]
        if not turns:
            return "" if grounds else "it has none"
        if is_of_rules(belief) and any(belief.text in told(one.text) for one in turns):
            return ""
        for claimed in self._entries.of(belief, grounds):
            transcript = self._transcript(turns, frozenset(claimed.entry.sources), told)
            alone: dict[str, Any] = {claimed.section: (claimed.entry,)}
            dropped = validate(Structure(**alone), transcript).dropped
            reason = next((why for why in dropped if not why.endswith("_of_field")), "")
            if reason:
                return reason
        return ""

    def _transcript(
        self, grounds: Sequence[Ground], named: frozenset[str], told: Callable[[str], str]
    ) -> Transcript:
        """Return the sessions of the turns that are named, among those that it is derived from."""
        sources = [one for one in grounds if one.name in named]
        places = dict.fromkeys((one.thread, one.session) for one in sources)
        held = frozenset(one.name for one in sources)
        turns = [
            _retold(turn, told) if turn.id in held else turn
            for place in places
            for turn in self._sessions.transcript(*place).turns
            if turn.id in held or turn.id not in named
        ]
        thread, session = next(iter(places), ("", ""))
        return Transcript("", thread, session, tuple(turns))


def _retold(turn: SourceTurn, told: Callable[[str], str]) -> SourceTurn:
    return SourceTurn(turn.id, turn.speaker, turn.role, told(turn.text), turn.time_ns, turn.kref)


def uncovered(
    beliefs: Sequence[CurrentBelief], grounds: Mapping[int, list[Ground]], coverage: SourceCoverage
) -> Iterator[Fault]:
    for one in beliefs:
        if is_derived(one):
            reason = coverage.why_not(one, grounds.get(one.node, ()))
            if reason:
                yield one, f"its sources do not support it: {reason}"


def echo(
    beliefs: Sequence[CurrentBelief],
    twins: Twins,
    grounds: Mapping[int, list[Ground]],
    coverage: SourceCoverage,
) -> Iterator[Fault]:
    for one in beliefs:
        reason = _echoed(one, grounds.get(one.node, ()), twins, coverage)
        if reason:
            yield one, reason


def _echoed(
    one: CurrentBelief,
    grounds: Sequence[Ground],
    twins: Twins,
    coverage: SourceCoverage,
) -> str:
    if _PRINTED.search(one.text):
        return "it is what recall printed"
    written = next((ground for ground in grounds if ground.run is not None), None)
    if written is not None and one.trust != "verified":
        return f"derived from {written.kref}, which a job wrote"
    if not is_derived(one) or not grounds:
        return ""
    if any(map(_may_be_recalled, grounds)) and _is_recalled(one, grounds, coverage):
        return "its sources say it only where they repeat what recall printed"
    older = twins.of(one)
    if older is not None:
        repeated = all(g.is_turn and g.role == "assistant" and g.time > older.time for g in grounds)
        if repeated:
            return f"an assistant repeated {older.kref}"
    return ""


def _may_be_recalled(ground: Ground) -> bool:
    return _PRINTED.search(ground.text) is not None


def _is_recalled(one: CurrentBelief, grounds: Sequence[Ground], coverage: SourceCoverage) -> bool:
    """Return whether what recall printed says it, and the rest of the sources does not."""
    printed = {
        term
        for ground in grounds
        for term in frozenset(terms(ground.text)) - frozenset(terms(without_recalled(ground.text)))
    }
    wanted = frozenset(terms(statement_of(one)))
    return len(wanted & printed) >= COVERED_MIN * len(wanted) and bool(
        coverage.why_not(one, grounds, without_recalled)
    )


def without_recalled(text: str) -> str:
    """Return a text without what recall printed into it: its head, the lines of its hits, and what
    they quote."""
    return "\n".join(
        line for line in text.splitlines() if not (line.startswith(QUOTE) or _PRINTED.search(line))
    )
