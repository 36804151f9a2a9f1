"""The brief: what an agent should know when a conversation begins, state before knowledge.

    state        conflicts and proposals that wait, commitments and their dates, a request that was
                 left unanswered, what changed since the last conversation here, jobs that stopped
    knowledge    what is verified or what a person stated in this project, decisions first
    person       preferences
    index        how much more there is, which recall finds

Each line has a reason, given on demand. One budget of characters holds for the whole block; state
takes at most half of it. The block holds dates and no spans of time, so that it stays the same,
byte for byte, while what it says does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from doxa.app import Session
from doxa.base.clock import format_time
from doxa.base.limits import HOOK_BRIEF_CHARS_MAX
from doxa.base.quoting import bare, quoted
from doxa.hosts.capture import in_project
from doxa.hosts.events import digest_of
from doxa.hosts.quoting import shown
from doxa.hosts.standing import BELIEF_KINDS, vouched, without_repeats
from doxa.hosts.trivial import is_trivial
from doxa.ingestion.own_words import own_words
from doxa.jobs.heartbeat import heartbeats
from doxa.jobs.proposals import list_proposals
from doxa.recall import Hit
from doxa.redaction.stripping import BLOCK
from doxa.store import Reader

_READ_ITEMS = 100  # beliefs of each read that a brief is made from
_LINE_CHARS = 240
_OVERDUE_DAYS = 3
_TITLES = {
    "state": "Open in this project:",
    "knowledge": "Known here, verified or stated by the user:",
    "person": "About the user:",
}
_COMMITMENTS = ("commitment", "task", "goal")
_PREFERENCES = ("preference",)
_ORDER = {"decision": 0, "correction": 1, "rule": 2, "constraint": 2}
_PERSON_PROJECT = "default"


@dataclass(frozen=True, slots=True)
class BriefLine:
    """One line: its section, its text as the agent reads it, why it is there, and its address or
    ""."""

    section: str
    text: str
    reason: str
    kref: str = ""

    @property
    def digest(self) -> str:
        """What stands for the line where its words are not to be kept."""
        return digest_of(self.section, self.text)


@dataclass(frozen=True, slots=True)
class Brief:
    """The lines that fit, how many did not, and how many memories the project holds beyond."""

    project: str
    lines: tuple[BriefLine, ...]
    left_out: int
    beliefs: int
    newest: str = ""

    def block(self) -> str:
        """Return the block that is injected; "" if there is nothing to say."""
        if not self.lines and not self.beliefs:
            return ""
        parts = [f"<{BLOCK} project={quoted(self.project)}>"]
        for section, title in _TITLES.items():
            lines = [line.text for line in self.lines if line.section == section]
            parts += [title, *lines] if lines else []
        if self.beliefs:
            parts.append(_index_text(self.beliefs, shown=bool(self.lines)))
        return "\n".join((*parts, f"</{BLOCK}>"))


@dataclass(frozen=True, slots=True)
class EarlierBrief:
    """What is kept of a brief: the digests of its lines, how many memories there were beyond, and
    when it was made. Holds no text, so that nothing erased survives in it."""

    lines: Sequence[str]
    beliefs: int
    made_ns: int


def _index_text(count: int, *, shown: bool) -> str:
    what = "belief" if count == 1 else "beliefs"
    more = "more " if shown else ""
    return f"Memory holds {count} {more}{what} on this project; memory_recall searches them."


def brief(
    session: Session,
    *,
    since_ns: int | None = None,
    chars_max: int = HOOK_BRIEF_CHARS_MAX,
    earlier: EarlierBrief | None = None,
) -> Brief:
    """Make the brief of the session's project. `since_ns` is when the last conversation here ended.
    With `earlier` it is that brief again: its lines alone, in its order, as far as they hold."""
    held = session.recent(kinds=BELIEF_KINDS, limit=_READ_ITEMS)
    with session.memory.store.read() as reader:
        known = without_repeats(vouched(reader, held))
        state = [
            *_conflicts(session),
            *_proposals(reader, session.project),
            *_commitments(known),
            *_unanswered(session, since_ns),
            *_changed(known, since_ns, earlier.made_ns if earlier is not None else None),
            *_stopped_jobs(reader, session.project),
        ]
    person = _preferences(session, known)
    rest = [hit for hit in known if hit.kind not in (*_COMMITMENTS, *_PREFERENCES)]
    rest.sort(key=lambda hit: (_ORDER.get(hit.kind, 3), hit.trust != "verified"))
    lines = [*state, *map(_known_line, rest), *person]
    if earlier is not None:
        by_digest = {line.digest: line for line in lines}
        lines = [by_digest[digest] for digest in earlier.lines if digest in by_digest]
    kept = _fitting(lines, chars_max - _frame_chars(session.project))
    said = {line.kref for line in kept}
    more = len([hit for hit in without_repeats(held) if hit.kref not in said])
    more = more if earlier is None else earlier.beliefs
    newest = max((hit.time for hit in known if hit.kref in said), default=None)
    return Brief(
        session.project,
        tuple(kept),
        len(lines) - len(kept),
        more,
        "" if newest is None else format_time(newest)[:10],
    )


def _frame_chars(project: str) -> int:
    titles = sum(len(title) + 1 for title in _TITLES.values())
    return titles + len(_index_text(_READ_ITEMS, shown=True)) + 2 * len(BLOCK) + len(project) + 30


def _fitting(lines: Sequence[BriefLine], chars_max: int) -> list[BriefLine]:
    """The lines that fit, in order; state takes at most half."""
    kept, left, state_left = [], chars_max, chars_max // 2
    for line in lines:
        size = len(line.text) + 1
        if size > left or (line.section == "state" and size > state_left):
            continue
        kept.append(line)
        left -= size
        state_left -= size if line.section == "state" else 0
    return kept


def _known_line(hit: Hit, section: str = "knowledge") -> BriefLine:
    day = format_time(hit.time)[:10]
    until = "" if hit.valid_until is None else f"; until {format_time(hit.valid_until)[:10]}"
    how = "verified" if hit.trust == "verified" else "stated"
    text = f"- {shown(hit.text, _LINE_CHARS)} [{bare(hit.kind)}, {how} {day}{until}]"
    reason = (
        f"{hit.kref}: {'a person verified it' if how == 'verified' else 'a person stated it'}"
        f" ({hit.source})"
    )
    return BriefLine(section, text, reason, hit.kref)


def _conflicts(session: Session) -> list[BriefLine]:
    found = session.conflicts(limit=_READ_ITEMS)
    if not found:
        return []
    newest = found[0]
    held = next((one for one in newest.held if one.trust == "verified"), None)
    about = f" The newest concerns {shown(held.summary, _LINE_CHARS)}." if held is not None else ""
    count = f"{len(found)} statements contradict" if len(found) > 1 else "1 statement contradicts"
    text = f"- {count} what is believed and a person has not decided yet.{about}"
    return [BriefLine("state", text, f"{newest.kref}: an undecided conflict", newest.kref)]


def _proposals(reader: Reader, project: str) -> list[BriefLine]:
    """How many changes background jobs have proposed; what they say comes through tools alone."""
    count = len(list_proposals(reader, project=project, limit=_READ_ITEMS))
    if not count:
        return []
    many = f"{count} proposed changes wait" if count > 1 else "1 proposed change waits"
    reason = "open proposals of background jobs; see `doxa proposals`"
    return [BriefLine("state", f"- {many} for a person.", reason)]


def _commitments(known: Sequence[Hit]) -> list[BriefLine]:
    found = [hit for hit in known if hit.kind in _COMMITMENTS]
    found.sort(key=lambda hit: (hit.valid_until is None, hit.valid_until or 0))
    lines = []
    for hit in found:
        due = f", due {format_time(hit.valid_until)[:10]}" if hit.valid_until is not None else ""
        text = f"- {shown(hit.text, _LINE_CHARS)} [{bare(hit.kind)}{due}]"
        lines.append(BriefLine("state", text, f"{hit.kref}: an open {hit.kind}", hit.kref))
    return lines


def _unanswered(session: Session, since_ns: int | None) -> list[BriefLine]:
    """The user's last message, if the conversation before ended without an answer to it."""
    last = session.recent(kinds=("exchange",), limit=1)
    if since_ns is None or not last or last[0].speaker != "user" or last[0].time > since_ns:
        return []
    hit = last[0]
    own = own_words(hit.text)
    if is_trivial(own):
        return []
    text = (
        f"- The last conversation here, {format_time(hit.time)[:10]}, ended without an answer to"
        f" {shown(own, 160)}."
    )
    return [BriefLine("state", text, f"{hit.kref}: the newest message has no answer", hit.kref)]


def _changed(
    known: Sequence[Hit], since_ns: int | None, until_ns: int | None = None
) -> list[BriefLine]:
    new = [
        hit
        for hit in known
        if since_ns is not None
        and hit.recorded > since_ns
        and (until_ns is None or hit.recorded <= until_ns)
    ]
    if since_ns is None or not new:
        return []
    day = format_time(since_ns)[:10]
    many = (
        f"{len(new)} beliefs are new or changed" if len(new) > 1 else "1 belief is new or changed"
    )
    text = f"- Since the last conversation here, {day}, {many}."
    return [BriefLine("state", text, f"recorded after {format_time(since_ns)}")]


def _stopped_jobs(reader: Reader, project: str) -> list[BriefLine]:
    """Jobs that failed, stopped in the middle, or have not run for days."""
    lines = []
    for beat in heartbeats(reader, project=project, now=reader.now):
        days = beat.days_since
        late = days is None or days >= _OVERDUE_DAYS
        if late or beat.is_stalled or beat.run.state == "failed":
            reason = "a job that keeps memory in order does not run"
            done = "never" if beat.done is None else f"on {format_time(beat.done.started)[:10]}"
            what = f"- The background job {bare(beat.job)} last ended well {done}."
            lines.append(BriefLine("state", what, f"{reason}: {beat.said()}"))
    return lines


def _preferences(session: Session, known: Sequence[Hit]) -> list[BriefLine]:
    """What is known of the person, here and in the default project."""
    hits = [hit for hit in known if hit.kind in _PREFERENCES]
    if session.project != _PERSON_PROJECT:
        own = in_project(session, _PERSON_PROJECT)
        others = own.recent(kinds=_PREFERENCES, limit=_READ_ITEMS)
        with session.memory.store.read() as reader:
            hits = without_repeats([*hits, *vouched(reader, others)])
    return [_known_line(hit, "person") for hit in hits]
