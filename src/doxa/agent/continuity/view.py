"""What a handoff shows, read from the turns that were stored until it was written: topics, key
points with their age, the last exchanges, what is open and who owes it, how people spoke. And the
warm start: the same as prose, from the sentences of data/warm_start.json.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from doxa.agent.continuity.exchanges import TurnView, pairs_of, time_of, turns_of, view_of
from doxa.agent.continuity.modes import table
from doxa.agent.continuity.topics import TopicInfo, topics_of
from doxa.agent.records.types import Record
from doxa.base.clock import NS
from doxa.base.errors import InputError
from doxa.base.limits import (
    CONTINUITY_TURN_CHARS_MAX,
    HANDOFF_LINES_ITEMS_MAX,
    HANDOFF_ORPHANED_S,
    HANDOFF_PROSE_CHARS_MAX,
    HANDOFF_STALE_S,
    HANDOFF_TURNS_ITEMS_MAX,
    HANDOFF_WINDOW_ITEMS_MAX,
)
from doxa.base.quoting import one_line
from doxa.belief.graph import current_of
from doxa.belief.kref import parse_kref
from doxa.consolidation.producers.reading import read
from doxa.consolidation.producers.tasks import actions, commitments
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.store import UNTRUSTED, Node, Reader, trust_of

_DAY_NS = 86_400 * NS
_PEOPLE = frozenset(("user", "person"))
_TASKS = frozenset(("action", "commitment", "question"))
_SHOWN_TRUST = frozenset(("stated", "verified"))
_POINT_CHARS, _TURN_CHARS = 160, 200
_PROSE_TURNS = 4


@dataclass(frozen=True, slots=True)
class KeyPoint:
    """A belief from the turns of a session: its address and revision, how old it is in seconds, and
    when it was said, in ns UTC."""

    kref: str
    text: str
    trust: str
    age_s: int
    time: int = 0


@dataclass(frozen=True, slots=True)
class OpenEnd:
    """What a session left open: what, who is to do it, by when, and the address that says it."""

    kref: str
    kind: str
    text: str
    who: str = ""
    due: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """How a session went, in counts: messages of people, questions, corrections and thanks among
    them."""

    messages: int = 0
    questions: int = 0
    corrections: int = 0
    thanks: int = 0


@dataclass(frozen=True, slots=True)
class HandoffView:
    """A handoff as it is read. `health` is fresh, stale after a day, orphaned after a week, or
    quarantined where nothing of it can be read; `authority` is its place on the ladder and
    `outcome` what follows: use, verify_first, hold or reject. `again`: the session had taken it
    before, `taken` is when. `prose` is the warm start."""

    kref: str
    thread: str
    session: str
    mode: str
    reason: str
    made: int
    exchanges: int
    compactions: int
    health: str
    authority: int
    outcome: str
    topics: tuple[TopicInfo, ...] = ()
    points: tuple[KeyPoint, ...] = ()
    last: tuple[TurnView, ...] = ()
    open: tuple[OpenEnd, ...] = ()
    relation: Relation = Relation()
    prose: str = ""
    again: bool = False
    taken: int | None = None


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """What a session begins with. `resumed`: it stopped less than an hour ago without an end, and
    `history` has its last turns; it is handed nothing new. Otherwise `handoff` is where the
    session before it stood. `consolidate`: its thread was compacted five times or more."""

    session: str
    thread: str
    mode: str
    resumed: bool
    handoff: HandoffView | None = None
    history: tuple[TurnView, ...] = ()
    consolidate: bool = False


def health_of(record: Record, now: int, *, readable: bool = True) -> str:
    """Return the health of a handoff."""
    if record.state == "quarantined" or not readable:
        return "quarantined"
    age = now - record.made
    if age > HANDOFF_ORPHANED_S * NS:
        return "orphaned"
    return "stale" if age > HANDOFF_STALE_S * NS else "fresh"


def authority_of(source: str, *, verified: bool = False, sourced: bool = True) -> tuple[int, str]:
    """Return the points of a source, and what they ask for (data/authority.json)."""
    ladder = table("authority")
    points = int(ladder["points"][source])
    points += int(ladder["verified"]) * verified + int(ladder["without_source"]) * (not sourced)
    outcome = next(name for name, least in ladder["outcomes"] if points >= least)
    return points, str(outcome)


_SOURCES = {"fresh": "fresh_handoff", "stale": "stale_handoff", "orphaned": "stale_summary"}


def view_of_handoff(
    reader: Reader, record: Record, *, language: str = "en", now: int, again: bool = False
) -> HandoffView:
    """Return what a handoff shows at a time."""
    data: Any = record.data
    turns = turns_of(
        reader,
        str(data["thread"]),
        session=str(data["session"]),
        until=int(data["until_ns"]),
        limit=HANDOFF_WINDOW_ITEMS_MAX,
    )
    taken = record.moved if record.state == "consumed" else None
    health = health_of(record, taken or now, readable=bool(turns))
    points, outcome = (
        (0, "reject")
        if health == "quarantined"
        else authority_of(_SOURCES[health], sourced=bool(turns))
    )
    trusted = [node for node in turns if node.props.get("trust") != UNTRUSTED]
    made = HandoffView(
        record.kref,
        str(data["thread"]),
        str(data["session"]),
        str(data["mode"]),
        str(data["reason"]),
        record.made,
        int(data["exchanges"]),
        int(data["compactions"]),
        health,
        points,
        outcome,
        tuple(topics_of(pairs_of(trusted), trusted, limit=HANDOFF_LINES_ITEMS_MAX)),
        *_stated(reader, trusted, now),
        relation=_relation(trusted),
        again=again,
        taken=taken,
    )
    made = replace(
        made,
        last=tuple(view_of(node) for node in turns[-HANDOFF_TURNS_ITEMS_MAX:]),
        open=_with_said(made.open, record.project, trusted),
    )
    return replace(made, prose=prose(made, language=language, now=made.taken or now))


def _stated(
    reader: Reader, turns: Sequence[Node], now: int
) -> tuple[tuple[KeyPoint, ...], tuple[TurnView, ...], tuple[OpenEnd, ...]]:
    """What is believed now from these turns, without candidates: key points, and what is open."""
    points: dict[str, KeyPoint] = {}
    left: dict[str, OpenEnd] = {}
    for turn in reversed(turns):
        for edge in reader.edges_in(turn.id, "DERIVED_FROM"):
            revision = reader.node(edge.src)
            if revision is None or "Revision" not in revision.labels:
                continue
            item = reader.node_by_kref(str(parse_kref(str(revision.props["kref"])).item()))
            held = current_of(reader, item.id) if item is not None else None
            if item is None or held is None or held.id != revision.id:
                continue
            if item.props.get("deprecated"):
                continue
            kref, kind = str(revision.props["kref"]), str(item.props.get("kind", ""))
            props: dict[str, Any] = dict(revision.props)
            text = str(props.get("summary") or "")
            if kind in _TASKS:
                if str(props.get("state") or "open") == "open":
                    who = str(props.get("who") or props.get("by") or "")
                    left[kref] = OpenEnd(kref, kind, text, who, str(props.get("due") or ""))
            elif kind != "summary" and trust_of(revision.props) in _SHOWN_TRUST:
                age = max(0, now - time_of(turn)) // NS
                points[kref] = KeyPoint(kref, text, trust_of(revision.props), age, time_of(turn))
    most = HANDOFF_LINES_ITEMS_MAX
    return tuple(points.values())[:most], (), tuple(left.values())[:most]


def _with_said(
    known: tuple[OpenEnd, ...], project: str, turns: Sequence[Node]
) -> tuple[OpenEnd, ...]:
    """What is open, with what people said they would do and no belief holds yet."""
    found = list(known)
    sources = tuple(
        SourceTurn(
            parse_kref(str(node.props["kref"])).name,
            str(node.props.get("speaker", "")),
            str(node.props.get("role", "")),
            str(node.props["text"])[:CONTINUITY_TURN_CHARS_MAX],
            time_of(node),
            str(node.props["kref"]),
        )
        for node in turns
    )
    transcript = Transcript(project, "", "", sources)
    said = read(transcript)
    krefs = {turn.id: turn.kref for turn in sources}
    texts = {one.text for one in known}
    for kind, entries in (
        ("commitment", commitments(said, transcript)),
        ("action", actions(said, transcript)),
    ):
        for entry in entries:
            if entry.status == "open" and entry.task not in texts:
                texts.add(entry.task)
                due = entry.date or entry.by_when
                found.append(OpenEnd(krefs[entry.sources[0]], kind, entry.task, entry.who, due))
    return tuple(found[-HANDOFF_LINES_ITEMS_MAX:])


def _relation(turns: Sequence[Node]) -> Relation:
    patterns = table("relation")
    texts = [
        " ".join(str(node.props["text"]).lower().split())
        for node in turns
        if node.props.get("role") in _PEOPLE
    ]

    def count(name: str) -> int:
        beginnings = tuple(word for words in patterns[name].values() for word in words)
        return sum(text.startswith(beginnings) for text in texts)

    questions = sum(text.rstrip().endswith(("?", "？")) for text in texts)
    return Relation(len(texts), questions, count("corrects"), count("thanks"))


# Warm start


def check_language(language: str) -> None:
    """Raise InputError for a language in which nothing can be said."""
    known = [name for name, said in table("warm_start").items() if isinstance(said, dict)]
    if language not in known:
        raise InputError(
            f"There are no warm starts in {language[:20]!r}.",
            next_step=f"Use one of {', '.join(known)}.",
            field="language",
        )


def prose(
    view: HandoffView, *, language: str, now: int, roles: Collection[str] = ("user", "assistant")
) -> str:
    """Return a handoff in sentences, by a template, at most `HANDOFF_PROSE_CHARS_MAX` long. Only
    turns of these roles are quoted; what is said is quoted, never taken for an instruction."""
    words = table("warm_start")
    say: dict[str, str] = words[language]
    if view.health in ("quarantined", "orphaned") or not view.last:
        return ""
    parts = [
        say["opening" if view.exchanges != 1 else "opening_one"].format(
            when=_when(view.made, now, say), exchanges=view.exchanges
        )
    ]
    if view.health == "stale":
        parts.append(say["stale"])
    if view.topics:
        parts.append(say["topics"].format(topics=", ".join(one.topic for one in view.topics)))
    if view.points:
        texts = (
            say["point"].format(
                text=_short(one.text, _POINT_CHARS).rstrip("."), when=_when(one.time, now, say)
            )
            for one in view.points
        )
        parts.append(say["points"].format(points="; ".join(texts)))
    if view.open:
        parts.append(say["open"].format(open="; ".join(_end(one, say) for one in view.open)))
    if view.relation.corrections:
        name = "relation_corrected" + ("_one" if view.relation.corrections == 1 else "")
        parts.append(say[name].format(count=view.relation.corrections))
    turns = [one for one in view.last if one.role in roles][-_PROSE_TURNS:]
    if turns:
        quotes = " ".join(
            say["turn"].format(
                who=say["assistant"] if one.role == "assistant" else say["user"],
                text=_short(one.text, _TURN_CHARS),
            )
            for one in turns
        )
        parts.append(say["stood"].format(turns=quotes))
    kept = list[str]()
    for part in parts:
        if sum(map(len, kept)) + len(kept) + len(part) <= HANDOFF_PROSE_CHARS_MAX:
            kept.append(part)
    return " ".join(kept)


def _when(time: int, now: int, say: dict[str, str]) -> str:
    days = now // _DAY_NS - time // _DAY_NS
    if days <= 0:
        return say["today"]
    return say["yesterday"] if days == 1 else say["days"].format(n=days)


def _end(one: OpenEnd, say: dict[str, str]) -> str:
    text = _short(one.text, _POINT_CHARS).rstrip(".")
    if one.due:
        return say["due"].format(text=text, who=one.who or "?", due=one.due)
    return say["who"].format(text=text, who=one.who) if one.who else text


def _short(text: str, most: int) -> str:
    line = " ".join(one_line(text).split()).translate({ord(c): "'" for c in '“”„«»"<>'})
    return line if len(line) <= most else line[: most - 2].rsplit(" ", 1)[0] + " …"
