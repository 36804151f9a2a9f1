"""Claims out of turns and handoffs by rules: the same source gives the same claims.

    turns      what the rules of language find stated, if the turn bears it out as it was put:
               never a question, a wish or hearsay. The source is the turn
    handoffs   the lines of the sections that state (Key Points, Decisions, Completed, Current
               State: kind summary) and of those that promise (Open Threads, Next Steps, Blocked:
               kind commitment). The source is the line

The sources stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from doxa.agent.claims.handles import ResolvedHandle
from doxa.agent.claims.verdicts import compare
from doxa.agent.records.types import Record
from doxa.base.dates import find_dates
from doxa.base.limits import CLAIM_CHARS_MAX, EXTRACT_CHARS_MAX
from doxa.consolidation.transcript import SourceTurn
from doxa.language.candidates import candidates_of

_SUMMARY = ("key points", "decisions", "completed", "current state")
_COMMITMENT = ("open threads", "next steps", "blocked")
_HEADING = re.compile(r"#{1,4}\s+(.+?)\s*$")
_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s+(?:\[[ x]\]\s+)?(\S.*)")
_KINDS = {"preference": "user_preference", "decision": "project_state"}


@dataclass(frozen=True, slots=True)
class ProducedClaim:
    """A claim before it is proposed."""

    text: str
    kind: str
    source: str


def from_turn(turn: SourceTurn) -> Iterator[ProducedClaim]:
    """Yield the claims of a turn of a person or an assistant."""
    text = turn.text[:EXTRACT_CHARS_MAX]
    dates = find_dates(text, turn.time_ns)
    for one in candidates_of(
        text, speaker=turn.speaker, time_ns=turn.time_ns, dates=dates, written=text
    ):
        said = f"{one.subject} {one.predicate} {one.value}".strip()
        handle = f"transcript:{turn.session}#{turn.id}"
        source = ResolvedHandle(
            handle, turn.text, "", turn.kref, turn.speaker, turn.role, turn.time_ns
        )
        if len(said) <= CLAIM_CHARS_MAX and compare(said, source).supports:
            yield ProducedClaim(said, _KINDS.get(one.kind, "project_state"), handle)


def from_handoff(handoff: Record, text: str) -> Iterator[ProducedClaim]:
    """Yield the claims of a handoff, given its text: the listed lines of its sections."""
    kind = ""
    for number, line in enumerate(text.splitlines(), start=1):
        heading = _HEADING.match(line)
        if heading:
            title = heading[1].casefold()
            kind = "summary" if title in _SUMMARY else "commitment" * (title in _COMMITMENT)
            continue
        item = _ITEM.match(line)
        if kind and item and len(item[1]) <= CLAIM_CHARS_MAX:
            yield ProducedClaim(item[1], kind, f"handoff:{handoff.name}#L{number}")
