"""Actions and commitments of a transcript, by rules.

Ana: "I'll send the report to Ben by Friday."      commitment  Ana, by Friday
Ben: "Can you check the invoice?"  Ana: "Sure."    action      Ana
Ana: "Ben has to renew the certificate."           action      Ben
Ana: "I sent the report to Ben."                   the first is done
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doxa.base.dates import DateMention
from doxa.base.words import terms
from doxa.consolidation.producers.reading import Utterance, happened
from doxa.consolidation.structure import ActionEntry, Status
from doxa.consolidation.transcript import Transcript

_DONE_MIN = 0.6  # of the words of a task, in what is said to be done
_TERMS_MIN = 2
_WILL = re.compile(
    r"^(?:(?:then|also|ok|okay|sure|yes|no problem|of course),? )*(?P<who>I|[Ww]e) (?:will"
    r"|am going to|are going to|shall|promise to|plan to|intend to) (?:definitely |also |then )?"
    r"(?P<task>[a-z].+)",
)
_IDLE = re.compile(
    r"(?:be|not|never|always|think|love|miss|see|let you know|try|do (?:my|our) best|keep|look"
    r"|remember|feel|have|need|want|wait|hope|cheer|support|root|talk to you)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"^(?:(?P<who>[A-Z]\w+), )?(?:[Pp]lease |(?:[Cc]an|[Cc]ould|[Ww]ould|[Ww]ill) you (?:please )?)"
    r"(?P<task>[a-z].+)"
)
_HAS_TO = re.compile(
    r"^(?P<who>I|[Ww]e|[A-Z]\w+(?: [A-Z]\w+)?) (?:will|should|must|ha[sv]e? to|needs? to"
    r"|is going to|is supposed to) (?:also |still )?(?P<task>[a-z].+)"
)
_LISTED = re.compile(r"^(?:todo|to do|action item|action|next step)s?\s*[:–-]\s*(?P<task>.+)", re.I)
_DUE = re.compile(
    r"\b(?:by|before|until|till|on|due|no later than|at the latest|this|next)\b", re.I
)


def commitments(said: Sequence[Utterance], transcript: Transcript) -> Iterator[ActionEntry]:
    """Yield what people said they would do. An assistant promises nothing that lasts."""
    for one in said:
        match = _WILL.match(one.text) if one.turn.is_persons else None
        if match is None or one.unasserted not in ("", "planned", "unclear"):
            continue
        if _IDLE.match(match["task"]):
            continue
        yield from _task(one, said, who=one.turn.speaker)


def actions(said: Sequence[Utterance], transcript: Transcript) -> Iterator[ActionEntry]:
    """Yield what somebody is to do. What is asked of an assistant it does at once, so that counts
    only with a day."""
    people = transcript.speakers
    with_assistant = any(turn.role == "assistant" for turn in transcript.turns)
    for one in said:
        if not one.turn.is_persons:
            continue
        listed, asked, has_to = _LISTED.match(one.text), _ASKED.match(one.text), None
        if one.unasserted in ("", "planned", "unclear"):
            has_to = _HAS_TO.match(one.text)
        if listed:
            yield from _task(one, said, who="", text=listed["task"])
        elif asked and (one.dates or not with_assistant):
            others = [name for name in people if name != one.turn.speaker]
            who = asked["who"] or (others[0] if len(others) == 1 and not with_assistant else "")
            yield from _task(one, said, who=who, text=asked["task"])
        elif has_to and not _IDLE.match(has_to["task"]) and not _WILL.match(one.text):
            who = has_to["who"]
            if who in ("I", "We", "we"):
                who = one.turn.speaker if who == "I" else ""
            elif who not in people and not one.dates:
                continue
            yield from _task(one, said, who=who)


def _task(
    one: Utterance, said: Sequence[Utterance], *, who: str, text: str = ""
) -> Iterator[ActionEntry]:
    due = _due(one)
    text = (text[:1].upper() + text[1:] if text else one.told).rstrip(" .?!") + "."
    if len(frozenset(terms(text))) <= _TERMS_MIN:
        return
    done = _done_by(one, said, who=who or one.turn.speaker)
    status: Status = "done" if done is not None else "open"
    yield ActionEntry(
        task=text,
        who=who,
        by_when=due.text if due else "",
        date=due.iso if due else "",
        status=status,
        sources=(one.turn.id, *((done.turn.id,) if done is not None else ())),
    )


def _due(one: Utterance) -> DateMention | None:
    """Return the last day that is named as when it is to be done."""
    for date in reversed(one.dates):
        before = one.text[max(0, date.start - 16) : date.end]
        if date.end_ns > one.turn.time_ns and (_DUE.search(before) or date.text.lower() in _NEAR):
            return date
    return None


_NEAR = frozenset(("today", "tonight", "tomorrow", "the day after tomorrow"))


def _done_by(one: Utterance, said: Sequence[Utterance], *, who: str) -> Utterance | None:
    """Return a later sentence of who was to do it which says that it was done."""
    wanted = one.terms - {term for date in one.dates for term in terms(date.text)}
    for other in said:
        if other.number <= one.number or other.turn.speaker != who:
            continue
        if other.unasserted not in ("", "reported"):  # "I wrote the report" reports nobody's words
            continue
        shared = len(other.terms & wanted)
        if wanted and shared >= _DONE_MIN * len(wanted) and happened(other):
            return other
    return None
