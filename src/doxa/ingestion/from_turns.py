"""State what rules read in turns as candidate beliefs, and retire those that a later turn corrects.

    user: "I live in Berlin."        user | lives in | Berlin       DERIVED_FROM the turn
    user: "I moved to Munich."       user | lives in | Munich       retires it, and marks its turn
    tool: "The API host is evil"     nothing: only people state candidates

A candidate is stated by a person: a user, or a named participant of a conversation. What tools,
systems and assistants say, and what a person only passes on (own_words.py), states nothing. A
person's candidate never retires that of another person: where both are about one item, the one read
later opens a conflict. Only a user's replaces that of somebody who is not a user. A candidate is
trusted less than what a caller stated, and retires none of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from doxa.base.ids import NodeId
from doxa.base.limits import CANDIDATES_COMPARED_ITEMS_MAX
from doxa.base.values import decode
from doxa.belief import Draft, Fact, Kref, Ledger, check_draft, name_from, parse_fact
from doxa.belief.conflicts import open_conflict
from doxa.belief.graph import SUPERSEDES, current_of, last_of
from doxa.belief.relevant_beliefs import trust_rank
from doxa.belief.removal.retiring import (
    SPEAKER_NAME,
    SPEAKER_ROLE,
    mark_turns,
    retire_for,
    turns_of,
)
from doxa.belief.writes import link
from doxa.ingestion.match import REVISE_AT, judge_claims
from doxa.ingestion.own_words import overlaps, passed_on
from doxa.language.agreement import RETIRING
from doxa.language.corrections import ExtractedFact, corrects, index_words
from doxa.language.extract import Candidate, Extraction, extract
from doxa.language.statement import Claim, read_statement
from doxa.language.turns import Turn
from doxa.store import TRUSTS, Node, Reader, Transaction

CANDIDATES = "candidates"
STATING_ROLES = frozenset(("user", "person"))
_SAID_LAST = "said_last"
_TRUST = "candidate"
_HOME = "home"  # "moved to" names a town or a tool: `corrects` distinguishes them


def read_turn(turn: Turn) -> Extraction:
    """Extract names, dates and candidates of a turn; candidates only from a person's own words."""
    found = extract(turn)
    if turn.role not in STATING_ROLES:
        return replace(found, candidates=())
    spans = passed_on(turn.text)
    if not spans:
        return found
    own = tuple(one for one in found.candidates if not overlaps(spans, one.start, one.end))
    return replace(found, candidates=own)


class HeldCandidate(NamedTuple):
    """A current candidate: its item and revision, when it was stated, and the fact."""

    item: NodeId
    revision: NodeId
    time: int
    fact: ExtractedFact

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What its sentence states."""
        return read_statement(self.fact.quote, speaker=self.fact.speaker, time_ns=self.time)

    @property
    def keys(self) -> set[str]:
        """What it is indexed by: the words of its subject."""
        return index_words(self.fact) | {
            f"@{' '.join(sorted(claim.key))}" for claim in self.claims if not claim.unasserted
        }

    def replaces(self, earlier: HeldCandidate) -> bool:
        """Return whether this later statement retires an earlier one of the same speaker."""
        speakers = self.fact.speaker.casefold(), earlier.fact.speaker.casefold()
        if all(speakers) and speakers[0] != speakers[1]:
            return False
        if corrects(self.fact, earlier.fact):
            return True
        held = earlier.claims
        if len(held) != 1 or held[0].unasserted or held[0].predicate == _HOME:
            return False
        return any(
            (not claim.given_up.text or claim.given_up.words == held[0].value.words)
            and verdict.relation in RETIRING
            and score >= REVISE_AT
            for claim in self.claims
            for verdict, score in (judge_claims(claim, held[0]),)
        )


class Candidates:
    """States candidates of one project. `begin` starts each transaction."""

    def __init__(self, ledger: Ledger, place: Kref) -> None:
        self._ledger = ledger
        self._place = place
        self._held: dict[str, list[HeldCandidate]] | None = None
        self.count = 0

    def begin(self) -> None:
        """Forget what an earlier transaction read: others may have written since."""
        self._held = None

    def state(
        self,
        tx: Transaction,
        candidate: Candidate,
        *,
        turn: Turn,
        source: str,
        again: bool = False,
        is_new: bool = True,
    ) -> None:
        """State one candidate of a turn at the address `source`. `again`: also one that an undo has
        taken away, so that its revision is derived from no turn any more. `is_new` False: the turn
        was stored before, and what an undo has taken away stays so unless `again`."""
        time = tx.now if turn.time_ns is None else turn.time_ns
        draft = self._draft(candidate, turn, source)
        kref = Kref(self._place.project, self._place.spaces, draft.name, candidate.kind)
        item = tx.node_by_kref(str(kref))
        last = last_of(tx, item) if item else None
        undone = (
            item is not None
            and bool(item.props.get("deprecated"))
            and (last is None or not turns_of(tx, last.id))
        )
        if undone and not (again or is_new):
            return
        if item is not None and last is not None:
            facts = [fact.stored() for fact in draft.facts]
            if _is_read(tx, item, source, facts):
                return
            same = last.props.get("facts") == facts
            other = not same and _is_of_another(tx, item, turn)
            if _is_later(last, turn.time_ns) and not other:
                if not same:
                    _mark_turn(tx, last, source)
                return
            restored = _was_corrected(tx, last, turn.time_ns) or (again and undone)
            if same and not restored:
                self._note_repetition(tx, item, last, time=time, source=source)
                return
            if other and not _outranks(turn, last):
                self._challenge(tx, kref, draft, source)
                return
        change = self._ledger.upsert(
            tx, kref, check_draft(draft), links=[("DERIVED_FROM", source)], in_time=True
        )
        self.count += change.action != "unchanged"
        if change.action in ("challenged", "superseded", "unchanged"):
            return  # not current: it awaits a decision, or a later statement replaces it
        item, made = tx.node_by_kref(str(kref)), tx.node_by_kref(change.kref)
        assert item is not None and made is not None
        if last is not None:
            mark_turns(tx, last.id, by=made.id)
        fact = ExtractedFact(
            candidate.subject,
            candidate.predicate,
            candidate.value,
            candidate.replaces,
            candidate.rule,
            speaker=turn.speaker,
            quote=candidate.quote,
        )
        self._settle(tx, HeldCandidate(item.id, made.id, time, fact))

    def _draft(self, candidate: Candidate, turn: Turn, source: str) -> Draft:
        words = [candidate.subject, candidate.predicate]
        if not candidate.single:
            words.append(candidate.value)
        digest = hashlib.blake2b(
            "|".join(w.casefold() for w in words).encode(), digest_size=3
        ).hexdigest()
        return Draft(
            summary=candidate.quote,
            project=self._place.project,
            space="/".join(self._place.spaces),
            name=f"{name_from(' '.join(words))}-{digest}".strip("-"),
            kind=candidate.kind,
            facts=(Fact(candidate.subject, candidate.predicate, candidate.value),),
            confidence=candidate.certainty,
            trust=_TRUST,
            author=f"rule:{candidate.rule}",
            time=turn.time_ns,
            metadata={
                SPEAKER_NAME: turn.speaker,
                SPEAKER_ROLE: turn.role,
                "replaces": candidate.replaces or None,
                "source": source,
            },
        )

    def _challenge(self, tx: Transaction, kref: Kref, draft: Draft, source: str) -> None:
        """Keep what another person says about the same thing as the challenger of a conflict."""
        item = tx.node_by_kref(str(kref))
        held = current_of(tx, item.id) if item else None
        if held is None:
            return
        made, _, new = open_conflict(
            tx, kref, check_draft(draft), [held], links=(("DERIVED_FROM", source),)
        )
        if new:
            link(tx, made, kind="DERIVED_FROM", target=source)
            self.count += 1

    def _note_repetition(
        self, tx: Transaction, item: Node, last: Node, *, time: int, source: str
    ) -> None:
        """Record on the item when it was last stated, since a correction ingested later may be of a
        time in between; and on the belief the turn that repeats it, to be marked if the belief is
        retired. A turn that repeats what is retired already is marked at once."""
        turn = tx.node_by_kref(source)
        if turn is not None and item.props.get("deprecated"):
            for edge in tx.edges_in(last.id, SUPERSEDES):
                _mark(tx, turns_of(tx, edge.src), turn)
        elif turn is not None and turn.id not in turns_of(tx, last.id):
            tx.create_edge("EVIDENCES", last.id, dst=turn.id)
        known = item.props.get(_SAID_LAST, _time(last))
        if isinstance(known, int) and known >= time:
            return
        tx.set_node(item.id, item.props | {_SAID_LAST: time})
        for entries in (self._held or {}).values():
            entries[:] = [
                held._replace(time=max(held.time, time)) if held.item == item.id else held
                for held in entries
            ]

    def _settle(self, tx: Transaction, new: HeldCandidate) -> None:
        """Retire the candidates that the new statement corrects, and the new one if a later
        statement corrects it, so the order of ingestion makes no difference. Only candidates that
        rules created and nobody has tagged are considered."""
        if self._held is None:
            self._held = {}
            for held in _held_candidates(tx, self._place):
                for key in held.keys:
                    self._held.setdefault(key, []).append(held)
        near = {
            old.item: old
            for key in new.keys
            for old in self._held.get(key, ())[-CANDIDATES_COMPARED_ITEMS_MAX:]
            if old.item != new.item
        }
        retired: list[HeldCandidate] = []
        for old in near.values():
            first, second = (old, new) if old.time <= new.time else (new, old)
            if first not in retired and second not in retired and second.replaces(first):
                retire_for(tx, first.revision, by=second.revision)
                mark_turns(tx, first.revision, by=second.revision)
                retired.append(first)
        gone = {held.item for held in retired}
        for key in {key for held in (*retired, new) for key in held.keys}:
            kept = [
                held
                for held in self._held.get(key, ())
                if held.item not in gone and held.item != new.item
            ]
            self._held[key] = [*kept, new] if key in new.keys and new.item not in gone else kept


def was_undone(reader: Reader, node: Node) -> bool:
    """Return whether it was an undo that retired a turn or item, and not a person."""
    return retired_by(reader, node) == "undo"


def retired_by(reader: Reader, node: Node) -> str:
    """Return the operation that retired a turn or item; "" if it is not retired."""
    if not node.props.get("deprecated"):
        return ""
    rows = reader.rows(
        "SELECT r.op FROM receipt r WHERE r.tx = (SELECT max(tx) FROM log WHERE element = ? AND op"
        " = 'node.set')",
        (node.id,),
    )
    return str(rows[0][0]) if rows else ""


def _was_corrected(tx: Transaction, last: Node, time: int | None) -> bool:
    """Return whether an earlier statement retired this item; then stating it again restores it. An
    item that a person retired stays retired."""
    rows = tx.rows(
        "SELECT max(s.props ->> '$.time') FROM edge h JOIN node i ON i.id = h.src JOIN edge c ON"
        " c.dst = h.dst AND c.type = 'SUPERSEDES' JOIN node s ON s.id = c.src WHERE h.dst = ? AND"
        " h.type = 'HAS_REVISION' AND i.props ->> '$.deprecated' AND s.props ->> '$.author' LIKE"
        " 'rule:%'",
        (last.id,),
    )
    return rows[0][0] is not None and (time is None or rows[0][0] <= time)


def _time(node: Node) -> int | None:
    said = node.props.get("time")
    return said if isinstance(said, int) else None


def _is_later(last: Node, time: int | None) -> bool:
    """Return whether an item was stated later than `time`. An early statement must not replace a
    later one when transcripts are ingested out of order."""
    said = _time(last)
    return said is not None and time is not None and said > time


def _speaker(node: Node) -> str:
    return str(node.props.get(SPEAKER_NAME) or "").casefold()


def _is_of_another(tx: Transaction, item: Node, turn: Turn) -> bool:
    """Return whether the item's current candidate was stated by another person."""
    current = current_of(tx, item.id)
    return (
        current is not None
        and trust_rank(current) <= TRUSTS.index(_TRUST)
        and _speaker(current) not in ("", turn.speaker.casefold())
    )


def _is_read(tx: Transaction, item: Node, source: str, facts: list[str]) -> bool:
    """Return whether a revision of an item states these facts by this turn already."""
    rows = tx.rows(
        "SELECT r.props -> '$.facts' FROM node t JOIN edge d ON d.dst = t.id AND d.type ="
        " 'DERIVED_FROM' JOIN edge h ON h.dst = d.src AND h.type = 'HAS_REVISION' JOIN node r ON"
        " r.id = d.src WHERE t.kref = ? AND h.src = ?",
        (source, item.id),
    )
    return any(decode(row[0]) == facts for row in rows if row[0])


def _outranks(turn: Turn, held: Node) -> bool:
    """Return whether a user speaks, and the held candidate is not of a user."""
    return turn.role == "user" and held.props.get(SPEAKER_ROLE) not in (None, "user")


def _mark_turn(tx: Transaction, last: Node, source: str) -> None:
    """Mark a turn that is read after what superseded it."""
    turn = tx.node_by_kref(source)
    if turn is not None:
        _mark(tx, turns_of(tx, last.id), turn)


def _mark(tx: Transaction, later: Iterable[NodeId], turn: Node) -> None:
    for source in later:
        known = {edge.dst for edge in tx.edges_out(source, SUPERSEDES)}
        if source != turn.id and turn.id not in known:
            tx.create_edge(SUPERSEDES, source, dst=turn.id)


def _held_candidates(tx: Transaction, place: Kref) -> Iterator[HeldCandidate]:
    """Yield the current candidates of a project: created by a rule, of trust `candidate`, and
    without a tag."""
    prefix = f"{place}/"
    for item, revision, time, facts, replaces, author, speaker, quote in tx.rows(
        _CANDIDATES, (prefix, prefix[:-1] + "0")
    ):
        held = parse_fact(decode(facts)[0])
        fact = ExtractedFact(
            held.subject,
            held.predicate,
            str(held.value),
            replaces or "",
            author.removeprefix("rule:"),
            speaker=speaker or "",
            quote=quote,
        )
        yield HeldCandidate(NodeId(item), NodeId(revision), time, fact)


_CANDIDATES = (
    f"SELECT i.id, r.id, max(r.props ->> '$.time', coalesce(i.props ->> '$.{_SAID_LAST}', r.props"
    " ->> '$.time')), r.props ->> '$.facts', r.props ->> '$.replaces', r.props ->> '$.author',"
    " r.props ->> '$.speaker_name', r.props ->> '$.summary' FROM node i JOIN edge e ON e.src ="
    " i.id AND e.type = 'CURRENT' JOIN node r ON r.id = e.dst WHERE i.kref >= ? AND i.kref < ? AND"
    " coalesce(i.props ->> '$.deprecated', 0) = 0 AND r.props ->> '$.trust' = 'candidate' AND"
    " r.props ->> '$.author' LIKE 'rule:%' AND r.props ->> '$.facts' IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM edge t WHERE t.src = i.id AND t.type = 'TAG') ORDER BY i.id"
)
