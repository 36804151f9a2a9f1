"""Ingest conversations: turns become exchanges, and facts that rules extract from them become
candidate beliefs with their source.

    Turn -> redact (text, caption, names) -> Exchange node (content-derived id) -NEXT-> ...
            Candidate -> Item of trust `candidate` -DERIVED_FROM-> Exchange

A batch of turns is one transaction with one receipt. A known turn is skipped, so ingesting a
transcript again, or a longer version of it, adds only the new turns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from doxa.base.clock import format_time
from doxa.base.ids import NodeId
from doxa.base.limits import INGEST_BATCH_TURNS, TEXT_BYTES_MAX
from doxa.base.values import decode
from doxa.belief import (
    EXCHANGE_KIND,
    Draft,
    Fact,
    Kref,
    Ledger,
    check_name,
    ensure_place,
    parse_fact,
    place_of,
    slug,
)
from doxa.belief.graph import last_of
from doxa.belief.retiring import retire_for
from doxa.language.corrections import ExtractedFact, corrects, index_words
from doxa.language.extract import Candidate, extract
from doxa.language.turns import Turn, identified
from doxa.redaction.redact import redact, refuse_secret
from doxa.store import AccessRecord, Identity, Node, Store, Transaction

CONVERSATIONS, CANDIDATES = "conversations", "candidates"
_SAID_LAST = "said_last"
_CUT = " [… cut at the size limit]"


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of an ingestion: numbers of new exchanges, known exchanges, candidate beliefs
    created or revised, and redacted secrets; the threads and changes; how many parts of the source
    were skipped, and the places and reasons of the first ones."""

    added: int
    known: int
    candidates: int
    redacted: int
    threads: tuple[str, ...]
    changes: tuple[int, ...]
    skipped: int = 0
    places: tuple[str, ...] = ()


class PreparedTurn(NamedTuple):
    """A turn ready to be stored: redacted, with the results of extraction."""

    identity: str
    turn: Turn
    entities: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    redacted: int = 0
    retired: bool = False


class Ingest:
    """Ingests turns into one project under one identity. With `extracting` False it only stores the
    exchanges."""

    def __init__(
        self,
        store: Store,
        identity: Identity,
        *,
        project: str,
        space: str = CONVERSATIONS,
        extracting: bool = True,
    ) -> None:
        self._store = store
        self._identity = identity
        self._place = place_of(
            refuse_secret(project, field="project"), refuse_secret(space, field="space")
        )
        self._candidate_place = place_of(project, CANDIDATES)
        self._extracting = extracting
        self._ledger = Ledger(store, identity)
        self._threads: dict[str, tuple[Kref, NodeId]] = {}
        self._last: dict[tuple[str, str], NodeId] = {}
        self._held: dict[str, list[_CurrentCandidate]] | None = None
        self._counts = {"added": 0, "known": 0, "candidates": 0, "redacted": 0}

    def run(
        self, turns: Iterable[Turn], *, progress: Callable[[int], None] | None = None
    ) -> Ingested:
        """Ingest all turns in batches. `progress` is called after each batch with its number of
        turns."""
        return self.run_prepared(
            (self._prepare(identity, turn) for identity, turn in identified(turns)),
            progress=progress,
        )

    def run_prepared(
        self, turns: Iterable[PreparedTurn], *, progress: Callable[[int], None] | None = None
    ) -> Ingested:
        """Ingest turns that are already prepared, such as those of an export."""
        changes: list[int] = []
        # Turns are prepared outside the transaction, so that other writers do not wait for it.
        for batch in _batches(turns):
            with self._store.write(self._identity, op="ingest") as tx:
                self._held = None
                for prepared in batch:
                    self._counts["redacted"] += prepared.redacted
                    self._take(tx, prepared)
            if tx.receipt_made:
                changes.append(tx.tx)
            if progress:
                progress(len(batch))
        counts = self._counts
        return Ingested(
            counts["added"],
            counts["known"],
            counts["candidates"],
            counts["redacted"],
            threads=tuple(str(kref) for kref, _ in self._threads.values()),
            changes=tuple(changes),
        )

    def _prepare(self, identity: str, turn: Turn) -> PreparedTurn:
        clean, redacted = cleaned(turn)
        if not self._extracting:
            return PreparedTurn(identity, clean, redacted=redacted)
        found = extract(clean)
        dates = tuple(
            f"{d.text} = {format_time(d.start_ns)[:10]} ({d.precision})" for d in found.dates
        )
        return PreparedTurn(
            identity,
            clean,
            tuple(entity.text for entity in found.entities),
            dates,
            found.candidates,
            redacted,
        )

    def _take(self, tx: Transaction, prepared: PreparedTurn) -> None:
        turn = prepared.turn
        thread_kref, thread = self._thread(tx, turn.thread)
        key = (turn.thread, turn.session)
        kref, found = _place_for(
            tx,
            Kref(self._place.project, self._place.spaces, prepared.identity, EXCHANGE_KIND),
            label="Exchange",
        )
        if found is not None:
            self._last[key] = found.id
            self._counts["known"] += 1
            # A repeated turn counts as an access, so that its persistence policy can restore it.
            if tx.declared().judge.rules.any:
                tx.noted.append(AccessRecord(tx.now, {}, [found.id]))
            return
        previous = self._previous(tx, key, thread=thread)
        made = tx.create_node(
            ("Exchange",), self._properties(prepared, kref=kref, thread=thread_kref, now=tx.now)
        )
        tx.create_edge("HAS_EXCHANGE", thread, dst=made)
        if previous is not None:
            tx.create_edge("NEXT", previous, dst=made)
        self._last[key] = made
        self._counts["added"] += 1
        for candidate in prepared.candidates:
            self._candidate(tx, candidate, turn=turn, source=str(kref))

    def _properties(
        self, prepared: PreparedTurn, *, kref: Kref, thread: Kref, now: int
    ) -> dict[str, object]:
        turn = prepared.turn
        return {
            "kref": str(kref),
            "project": kref.project,
            "space": "/".join(kref.spaces),
            "kind": EXCHANGE_KIND,
            "thread": str(thread),
            "session": turn.session,
            "speaker": turn.speaker,
            "role": turn.role,
            "text": turn.text,
            "caption": turn.caption or None,
            "time": now if turn.time_ns is None else turn.time_ns,
            "source_id": turn.source_id or None,
            "entities": list(prepared.entities) or None,
            "dates": list(prepared.dates) or None,
            "deprecated": prepared.retired or None,
        }

    def _thread(self, tx: Transaction, name: str) -> tuple[Kref, NodeId]:
        known = self._threads.get(name)
        if known is not None and tx.node(known[1]) is not None:
            return known
        readable = slug(name)
        if readable != name:
            digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=4).hexdigest()
            readable = f"{readable or 'thread'}-{digest}"
        kref = Kref(
            self._place.project, self._place.spaces, check_name(readable, what="thread"), "thread"
        )
        kref, node = _place_for(tx, kref, label="Thread")
        if node is not None:
            self._threads[name] = (kref, node.id)
        else:
            place = ensure_place(tx, self._place)
            made = tx.create_node(
                ("Thread",),
                {
                    "kref": str(kref),
                    "name": name or readable,
                    "project": kref.project,
                    "kind": "thread",
                },
            )
            tx.create_edge("HAS_THREAD", place, dst=made)
            self._threads[name] = (kref, made)
        return self._threads[name]

    def _previous(self, tx: Transaction, key: tuple[str, str], *, thread: NodeId) -> NodeId | None:
        """Return the previous exchange of the session: from this run, or the last one stored in the
        thread."""
        if key in self._last:
            return self._last[key]
        rows = tx.rows(
            "SELECT n.id FROM edge e JOIN node n ON n.id = e.dst WHERE e.src = ? AND e.type ="
            " 'HAS_EXCHANGE' AND n.props ->> '$.session' = ? ORDER BY e.dst DESC LIMIT 1",
            (thread, key[1]),
        )
        return NodeId(rows[0][0]) if rows else None

    def _candidate(self, tx: Transaction, candidate: Candidate, *, turn: Turn, source: str) -> None:
        words = [candidate.subject, candidate.predicate]
        if not candidate.single:
            words.append(candidate.value)
        digest = hashlib.blake2b(
            "|".join(w.casefold() for w in words).encode(), digest_size=3
        ).hexdigest()
        name = f"{slug(' '.join(words))}-{digest}".strip("-")
        draft = Draft(
            summary=candidate.quote,
            name=name,
            kind=candidate.kind,
            facts=(Fact(candidate.subject, candidate.predicate, candidate.value),),
            confidence=candidate.certainty,
            trust="candidate",
            author=f"rule:{candidate.rule}",
            time=turn.time_ns,
            metadata={
                "speaker_name": turn.speaker,
                "replaces": candidate.replaces or None,
                "source": source,
            },
        )
        kref = Kref(
            self._candidate_place.project, self._candidate_place.spaces, name, candidate.kind
        )
        if self._is_older(tx, kref, turn.time_ns):
            return
        if self._says_the_same(tx, kref, draft) and not self._was_corrected(tx, kref, turn.time_ns):
            self._note_repetition(tx, kref, tx.now if turn.time_ns is None else turn.time_ns)
            return
        change = self._ledger.upsert(
            tx, kref, draft, links=[("DERIVED_FROM", source)], in_time=True
        )
        self._counts["candidates"] += change.action != "unchanged"
        if change.action in ("challenged", "superseded"):
            return  # not current: it awaits a decision, or a later statement replaces it
        claim = ExtractedFact(
            candidate.subject,
            candidate.predicate,
            candidate.value,
            candidate.replaces,
            candidate.rule,
            speaker=turn.speaker,
            quote=candidate.quote,
        )
        item, made = tx.node_by_kref(str(kref)), tx.node_by_kref(change.kref)
        assert item is not None and made is not None
        self._settle(
            tx,
            _CurrentCandidate(
                item.id, made.id, tx.now if turn.time_ns is None else turn.time_ns, claim
            ),
        )

    def _note_repetition(self, tx: Transaction, kref: Kref, time: int) -> None:
        """Record on the item when it was last stated: a correction ingested later may be of a time
        in between."""
        item = tx.node_by_kref(str(kref))
        assert item is not None
        tx.set_node(item.id, item.props | {_SAID_LAST: time})
        for entries in (self._held or {}).values():
            entries[:] = [
                held._replace(time=max(held.time, time)) if held.item == item.id else held
                for held in entries
            ]

    def _settle(self, tx: Transaction, new: _CurrentCandidate) -> None:
        """Retire the candidates that the new statement corrects, and the new one if a later
        statement corrects it, so the order of ingestion makes no difference. Only candidates that
        rules created and nobody has tagged are considered."""
        if self._held is None:
            self._held = _held_claims(tx, self._candidate_place)
        near = {
            old.item: old
            for key in index_words(new.claim)
            for old in self._held.get(key, ())
            if old.item != new.item
        }
        retired: list[_CurrentCandidate] = []
        for old in near.values():
            first, second = (old, new) if old.time <= new.time else (new, old)
            if (
                first not in retired
                and second not in retired
                and corrects(second.claim, first.claim)
            ):
                retire_for(tx, first.revision, by=second.revision)
                retired.append(first)
        gone = {held.item for held in retired}
        for key in {key for held in (*retired, new) for key in index_words(held.claim)}:
            kept = [
                held
                for held in self._held.get(key, ())
                if held.item not in gone and held.item != new.item
            ]
            self._held[key] = (
                [*kept, new] if key in index_words(new.claim) and new.item not in gone else kept
            )

    @staticmethod
    def _was_corrected(tx: Transaction, kref: Kref, time: int | None) -> bool:
        """Return whether an earlier statement retired this item; then stating it again restores it.
        An item that a person retired stays retired."""
        last = _last_said(tx, kref)
        rows = tx.rows(
            "SELECT max(s.props ->> '$.time') FROM edge h JOIN node i ON i.id = h.src JOIN edge c"
            " ON c.dst = h.dst AND c.type = 'SUPERSEDES' JOIN node s ON s.id = c.src WHERE h.dst ="
            " ? AND h.type = 'HAS_REVISION' AND i.props ->> '$.deprecated' AND s.props ->>"
            " '$.author' LIKE 'rule:%'",
            (last.id if last else 0,),
        )
        return rows[0][0] is not None and (time is None or rows[0][0] <= time)

    @staticmethod
    def _is_older(tx: Transaction, kref: Kref, time: int | None) -> bool:
        """Return whether the item was stated later than `time`. An early statement must not replace
        a later one when transcripts are ingested out of order."""
        last = _last_said(tx, kref)
        said = last.props["time"] if last else None
        return isinstance(said, int) and time is not None and said > time

    @staticmethod
    def _says_the_same(tx: Transaction, kref: Kref, draft: Draft) -> bool:
        """Return whether the item states the same facts. A repetition is not a revision; the fact
        keeps its first source."""
        last = _last_said(tx, kref)
        return last is not None and last.props.get("facts") == [
            fact.stored() for fact in draft.facts
        ]


def _last_said(tx: Transaction, kref: Kref) -> Node | None:
    """Return the current revision of an item, or the last one before it was retired."""
    item = tx.node_by_kref(str(kref))
    return last_of(tx, item) if item else None


class _CurrentCandidate(NamedTuple):
    """A current candidate: its item and revision, when it was stated, and the fact."""

    item: NodeId
    revision: NodeId
    time: int
    claim: ExtractedFact


def _held_claims(tx: Transaction, place: Kref) -> dict[str, list[_CurrentCandidate]]:
    """Index the current candidates of a project by the words of their subjects: created by a rule,
    of trust `candidate`, and without a tag."""
    found: dict[str, list[_CurrentCandidate]] = {}
    prefix = f"{place}/"
    for item, revision, time, facts, replaces, author, speaker, quote in tx.rows(
        _CANDIDATES, (prefix, prefix[:-1] + "0")
    ):
        held = parse_fact(decode(facts)[0])
        claim = ExtractedFact(
            held.subject,
            held.predicate,
            str(held.value),
            replaces or "",
            author.removeprefix("rule:"),
            speaker=speaker or "",
            quote=quote,
        )
        for key in index_words(claim):
            found.setdefault(key, []).append(
                _CurrentCandidate(NodeId(item), NodeId(revision), time, claim)
            )
    return found


_CANDIDATES = (
    f"SELECT i.id, r.id, max(r.props ->> '$.time', coalesce(i.props ->> '$.{_SAID_LAST}', r.props"
    " ->> '$.time')), r.props ->> '$.facts', r.props ->> '$.replaces', r.props ->> '$.author',"
    " r.props ->> '$.speaker_name', r.props ->> '$.summary' FROM node i JOIN edge e ON e.src ="
    " i.id AND e.type = 'CURRENT' JOIN node r ON r.id = e.dst WHERE i.kref >= ? AND i.kref < ? AND"
    " coalesce(i.props ->> '$.deprecated', 0) = 0 AND r.props ->> '$.trust' = 'candidate' AND"
    " r.props ->> '$.author' LIKE 'rule:%' AND r.props ->> '$.facts' IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM edge t WHERE t.src = i.id AND t.type = 'TAG') ORDER BY i.id"
)


def _place_for(tx: Transaction, kref: Kref, *, label: str) -> tuple[Kref, Node | None]:
    """Return the address for a turn or thread, and its node if it exists. If another kind of node
    has the address, the next free one is used, and found again later."""
    name, number = kref.name, 1
    while (node := tx.node_by_kref(str(kref))) is not None and label not in node.labels:
        number += 1
        kref = replace(kref, name=f"{name}-{number}")
    return kref, node


def cleaned(turn: Turn) -> tuple[Turn, int]:
    """Redact a turn and cut it to the size limit. Also returns the number of secrets. The id of the
    turn is computed before this."""
    texts = {"text": redact(turn.text), "caption": redact(turn.caption)}
    texts |= {
        name: _redact_name(getattr(turn, name))
        for name in ("thread", "session", "speaker", "source_id")
    }
    found = sum(len(redaction.findings) for redaction in texts.values())
    changed: dict[str, Any] = {name: redaction.text for name, redaction in texts.items()}
    clean = replace(turn, **changed) if found else turn
    if len(clean.text) * 4 > TEXT_BYTES_MAX:  # a pasted log must not block a whole history
        data = clean.text.encode("utf-8", "replace")
        if len(data) > TEXT_BYTES_MAX:
            kept = data[: TEXT_BYTES_MAX - len(_CUT.encode())].decode("utf-8", "ignore")
            clean = replace(clean, text=kept + _CUT)
    return clean, found


_redact_name = lru_cache(maxsize=1_024)(redact)  # the same few names occur in every turn


def _batches(turns: Iterable[PreparedTurn]) -> Iterator[list[PreparedTurn]]:
    iterator = iter(turns)
    while batch := list(islice(iterator, INGEST_BATCH_TURNS)):
        yield batch
