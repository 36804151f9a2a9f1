"""The stages of what is believed: what a person verified or stated in the project, and what is
known of the person."""

from __future__ import annotations

from collections.abc import Iterator

from doxa.agent.context.isolation import injectable
from doxa.agent.context.quoting import shown
from doxa.agent.context.stages import ContextLine, Situation
from doxa.agent.context.vouching import BELIEF_KINDS, without_repeats
from doxa.base.clock import format_time
from doxa.base.errors import NotFoundError, RoleError
from doxa.base.quoting import bare
from doxa.recall import Hit

READ_ITEMS = 100  # beliefs of each read that a context is made from
LINE_CHARS = 240
COMMITMENTS = ("commitment", "task", "goal")
PERSON_PROJECT = "default"
_PREFERENCES = ("preference",)
_ORDER = {"decision": 0, "correction": 1, "rule": 2, "constraint": 2}


def held_and_known(situation: Situation) -> tuple[list[Hit], list[Hit]]:
    """Return what the project believes, newest first, and those of it that may be injected."""

    def read() -> tuple[list[Hit], list[Hit]]:
        held = situation.recent(kinds=BELIEF_KINDS, limit=READ_ITEMS)
        with situation.store.read() as reader:
            return held, without_repeats(injectable(situation, reader, held))

    found: tuple[list[Hit], list[Hit]] = situation.once("known", read)
    return found


def known_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield what is known of the project: decisions first, and what is verified before what is
    stated."""
    _, known = held_and_known(situation)
    rest = [hit for hit in known if hit.kind not in (*COMMITMENTS, *_PREFERENCES)]
    rest.sort(key=lambda hit: (_ORDER.get(hit.kind, 3), hit.trust != "verified"))
    yield from map(belief_line, rest)


def person_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield what is known of the person, here and in the default project."""
    _, known = held_and_known(situation)
    hits = [hit for hit in known if hit.kind in _PREFERENCES]
    if situation.project != PERSON_PROJECT:
        others = _of_person(situation)
        with situation.store.read() as reader:
            hits = without_repeats([*hits, *injectable(situation, reader, others)])
    yield from (belief_line(hit, "person") for hit in hits)


def _of_person(situation: Situation) -> list[Hit]:
    try:
        return situation.recent(project=PERSON_PROJECT, kinds=_PREFERENCES, limit=READ_ITEMS)
    except (NotFoundError, RoleError):  # nothing was stored there, or the session may not read it
        return []


def index_lines(situation: Situation) -> Iterator[ContextLine]:
    """Yield how many beliefs the project holds, which recall finds."""
    held, known = held_and_known(situation)
    count = len(without_repeats(held))
    if count:
        more = "+" if len(held) == READ_ITEMS else ""
        what = "belief" if count == 1 else "beliefs"
        text = f"- {count}{more} {what} on this project in all; memory_recall searches them."
        yield ContextLine("index", text, f"{len(known)} of {count} may be injected")


def belief_line(
    hit: Hit, section: str = "knowledge", *, chars_max: int = LINE_CHARS
) -> ContextLine:
    """Return a belief that a person stands for as a line."""
    day = format_time(hit.time)[:10]
    until = "" if hit.valid_until is None else f"; until {format_time(hit.valid_until)[:10]}"
    how = "verified" if hit.trust == "verified" else "stated"
    text = f"- {shown(hit.text, chars_max)} [{bare(hit.kind)}, {how} {day}{until}]"
    reason = (
        f"{hit.kref}: {'a person verified it' if how == 'verified' else 'a person stated it'}"
        f" ({hit.source})"
    )
    return ContextLine(section, text, reason, hit.kref)
