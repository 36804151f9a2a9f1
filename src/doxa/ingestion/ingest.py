"""Ingest conversations: turns become exchanges, and facts that rules extract from them become
candidate beliefs with their source.

    Turn -> redact (text, caption, names) -> Exchange node (content-derived id) -NEXT-> ...
            Candidate -> Item of trust `candidate` -DERIVED_FROM-> Exchange

A batch of turns is one transaction with one receipt. A known turn is skipped, so ingesting a
transcript again, or a longer version of it, adds only the new turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeGuard

from doxa.base.clock import format_time
from doxa.base.errors import DoxaError
from doxa.base.ids import NodeId
from doxa.base.limits import INGEST_BATCH_TURNS, SKIPPED_ITEMS_MAX, TEXT_BYTES_MAX
from doxa.belief import (
    EXCHANGE_KIND,
    Kref,
    Ledger,
    ensure_place,
    place_of,
)
from doxa.belief.removal.retiring import set_deprecated
from doxa.ingestion.from_turns import CANDIDATES, Candidates, read_turn, was_undone
from doxa.ingestion.threads import CONVERSATIONS, thread_kref
from doxa.language.extract import Candidate, Extraction
from doxa.language.turns import Turn, identified
from doxa.redaction.redact import redact, refuse_secret
from doxa.store import (
    TRUST_DEFAULT,
    UNTRUSTED,
    AccessRecord,
    Identity,
    Node,
    Store,
    Transaction,
    trust_of,
)

IMPORTED = "Imported"
_USER_SPEAKS = """
SELECT 1 FROM node t JOIN edge e ON e.src = t.id AND e.type = 'HAS_EXCHANGE'
  JOIN node n ON n.id = e.dst
WHERE t.id = ? AND n.props ->> '$.role' = 'user' LIMIT 1
"""
_CUT = " [… cut at the size limit]"


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of an ingestion: numbers of new exchanges, known exchanges, candidate beliefs
    created or revised, and redacted secrets; the threads and changes; how many parts of the source
    were skipped, how many messages were cut at the size limit, and the places and reasons of the
    first ones of both; how many new exchanges are untrusted because the origin of their file is
    unknown, and how many known ones are trusted now."""

    added: int
    known: int
    candidates: int
    redacted: int
    threads: tuple[str, ...]
    changes: tuple[int, ...]
    skipped: int = 0
    places: tuple[str, ...] = ()
    cut: int = 0
    untrusted: int = 0
    vouched: int = 0


class PreparedTurn(NamedTuple):
    """A turn ready to be stored: redacted, with the results of extraction."""

    identity: str
    turn: Turn
    entities: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    redacted: int = 0
    retired: bool = False
    cut_from: int = 0
    untrusted: bool = False
    imported: bool = False


class Ingest:
    """Ingests turns into one project under one identity. With `extracting` False it only stores the
    exchanges. Those of a history that a product kept are `imported`: they get the label Imported
    too, by which persistence policies distinguish an archive from the episodes of today. `doubted`
    says of the turn that was read last whether its origin is unknown: it is stored as untrusted,
    and states no candidates. With `vouching`, known turns of that kind are trusted from now on."""

    def __init__(
        self,
        store: Store,
        identity: Identity,
        *,
        project: str,
        space: str = CONVERSATIONS,
        extracting: bool = True,
        imported: bool = False,
        doubted: Callable[[], bool] = bool,
        vouching: bool = False,
    ) -> None:
        self._store = store
        self._identity = identity
        self._place = place_of(
            refuse_secret(project, field="project"), refuse_secret(space, field="space")
        )
        self._candidates = Candidates(Ledger(store, identity), place_of(project, CANDIDATES))
        self._extracting = extracting
        self._doubted = doubted
        self._vouching = vouching
        self._imported = imported
        self._threads: dict[str, tuple[Kref, NodeId]] = {}
        self._last: dict[tuple[str, str], NodeId] = {}
        self._users_threads: dict[str, bool] = {}  # whether the user speaks in a thread
        self._counts = dict.fromkeys(
            ("added", "known", "redacted", "cut", "untrusted", "vouched"), 0
        )
        self._cut_places: list[str] = []

    def run(
        self, turns: Iterable[Turn], *, progress: Callable[[int], None] | None = None
    ) -> Ingested:
        """Ingest all turns in batches. `progress` is called after each batch with its number of
        turns."""
        return self.run_identified(identified(turns), progress=progress)

    def run_identified(
        self,
        turns: Iterable[tuple[str, Turn]],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> Ingested:
        """Ingest turns whose ids the caller has derived from something else than their content and
        time, such as those that hooks deliver more than once."""
        return self.run_prepared(
            (self._prepare(identity, turn) for identity, turn in turns), progress=progress
        )

    def counts(self) -> dict[str, int]:
        """Return the counts of what is committed so far."""
        return {**self._counts, "candidates": self._candidates.count}

    def run_prepared(
        self, turns: Iterable[PreparedTurn], *, progress: Callable[[int], None] | None = None
    ) -> Ingested:
        """Ingest turns that are already prepared, such as those of an export."""
        changes: list[int] = []
        try:
            self._run_batches(turns, changes, progress)
        except (DoxaError, KeyboardInterrupt) as error:
            kept = [] if self._store.is_joined else changes
            _say_what_is_kept(error, kept, self._counts["added"])
            raise
        counts = self._counts
        return Ingested(
            counts["added"],
            counts["known"],
            self._candidates.count,
            counts["redacted"],
            threads=tuple(str(kref) for kref, _ in self._threads.values()),
            changes=tuple(changes),
            places=tuple(self._cut_places),
            cut=counts["cut"],
            untrusted=counts["untrusted"],
            vouched=counts["vouched"],
        )

    def _run_batches(
        self,
        turns: Iterable[PreparedTurn],
        changes: list[int],
        progress: Callable[[int], None] | None,
    ) -> None:
        """Ingest turns batch by batch. The counts are those of the batches that are committed."""
        # Turns are prepared outside the transaction, so that other writers do not wait for it.
        for batch in _batches(turns):
            counts = dict(self._counts)
            users = (prepared.turn for prepared in batch if prepared.turn.role == "user")
            self._users_threads |= {turn.thread: True for turn in users}
            tx = None
            try:
                with self._store.write(self._identity, op="ingest") as tx:
                    self._candidates.begin()
                    for prepared in batch:
                        self._counts["redacted"] += prepared.redacted
                        self._take(tx, prepared)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt) and self._is_committed(tx):
                    changes.append(tx.tx)  # the signal came between the commit and here
                else:
                    self._counts = counts
                raise
            if tx.receipt_made:
                changes.append(tx.tx)
            if progress:
                progress(len(batch))

    def _is_committed(self, tx: Transaction | None) -> TypeGuard[Transaction]:
        if tx is None or tx.receipt_made is None or self._store.is_joined:
            return False
        with self._store.read() as reader:
            return reader.receipt(tx.receipt_made.tx) == tx.receipt_made

    def _prepare(self, identity: str, turn: Turn) -> PreparedTurn:
        clean, redacted = cleaned(turn)
        cut_from = _size(turn.text) if clean.text.endswith(_CUT) else 0
        doubted = self._doubted()
        if not self._extracting:
            return PreparedTurn(
                identity, clean, redacted=redacted, cut_from=cut_from, untrusted=doubted
            )
        found = read_turn(clean)
        names, dates = noted_in(found)
        return PreparedTurn(
            identity,
            clean,
            names,
            dates,
            () if doubted else found.candidates,
            redacted,
            cut_from=cut_from,
            untrusted=doubted,
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
        if found is not None and was_undone(tx, found):
            self._bring_back(tx, found, prepared)
            self._last[key] = found.id
            return
        if found is not None:
            self._last[key] = found.id
            self._counts["known"] += 1
            self._vouch(tx, found, prepared)
            # A repeated turn counts as an access, so that its persistence policy can restore it.
            if tx.declared().evaluator.rules.any:
                tx.noted.append(AccessRecord(tx.now, {}, ((found.id,),)))
            return
        previous = self._previous(tx, key, thread=thread)
        imported = self._imported or prepared.imported
        made = tx.create_node(
            ("Exchange", IMPORTED) if imported else ("Exchange",),
            {
                **self._properties(prepared, kref=kref, thread=thread_kref, now=tx.now),
                "trust": UNTRUSTED if prepared.untrusted else self._label(tx, turn, thread),
            },
        )
        tx.create_edge("HAS_EXCHANGE", thread, dst=made)
        if previous is not None:
            tx.create_edge("NEXT", previous, dst=made)
        self._last[key] = made
        self._counts["added"] += 1
        self._counts["untrusted"] += prepared.untrusted
        if prepared.cut_from:
            self._note_cut(kref, prepared)
        for candidate in prepared.candidates:
            self._candidates.state(tx, candidate, turn=turn, source=str(kref))

    def _vouch(self, tx: Transaction, found: Node, prepared: PreparedTurn) -> None:
        """Trust a known turn that came from a file of unknown origin, and read its candidates."""
        if not self._vouching or found.props.get("trust") != UNTRUSTED:
            return
        if IMPORTED not in found.labels or trust_of({**found.props, "trust": None}) == UNTRUSTED:
            return  # what tools and strangers said stays what it is
        tx.set_node(found.id, {**found.props, "trust": TRUST_DEFAULT})
        self._counts["vouched"] += 1
        for candidate in prepared.candidates:
            self._candidates.state(
                tx, candidate, turn=prepared.turn, source=str(found.props["kref"])
            )

    def _note_cut(self, kref: Kref, prepared: PreparedTurn) -> None:
        self._counts["cut"] += 1
        if len(self._cut_places) < SKIPPED_ITEMS_MAX:
            self._cut_places.append(
                f"{kref}: of the message's {prepared.cut_from:,} bytes only the first"
                f" {TEXT_BYTES_MAX:,} are stored"
            )

    def _bring_back(self, tx: Transaction, found: Node, prepared: PreparedTurn) -> None:
        """Restore a turn of an import that was undone, with its candidates: it is imported
        again."""
        set_deprecated(tx, found, False)
        self._counts["added"] += 1
        for candidate in prepared.candidates:
            self._candidates.state(
                tx, candidate, turn=prepared.turn, source=str(found.props["kref"]), again=True
            )

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

    def _label(self, tx: Transaction, turn: Turn, thread: NodeId) -> str | None:
        """The label of a turn whose source is not trusted: by its role and speaker, or since the
        user speaks in its thread and somebody else said it."""
        if trust_of({"role": turn.role, "speaker": turn.speaker}) == UNTRUSTED:
            return UNTRUSTED
        if turn.role != "person":
            return None
        if turn.thread not in self._users_threads:
            found = tx.rows(_USER_SPEAKS, (thread,))
            self._users_threads[turn.thread] = bool(found)
        return UNTRUSTED if self._users_threads[turn.thread] else None

    def _thread(self, tx: Transaction, name: str) -> tuple[Kref, NodeId]:
        known = self._threads.get(name)
        if known is not None and tx.node(known[1]) is not None:
            return known
        kref, node = _place_for(tx, thread_kref(self._place, name), label="Thread")
        if node is not None:
            self._threads[name] = (kref, node.id)
        else:
            place = ensure_place(tx, self._place)
            made = tx.create_node(
                ("Thread",),
                {
                    "kref": str(kref),
                    "name": name or kref.name,
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


def _place_for(tx: Transaction, kref: Kref, *, label: str) -> tuple[Kref, Node | None]:
    """Return the address for a turn or thread, and its node if it exists. If another kind of node
    has the address, the next free one is used, and found again later."""
    name, number = kref.name, 1
    while (node := tx.node_by_kref(str(kref))) is not None and label not in node.labels:
        number += 1
        kref = replace(kref, name=f"{name}-{number}")
    return kref, node


def noted_in(found: Extraction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names and dates of a turn as an exchange holds them."""
    dates = (f"{d.text} = {format_time(d.start_ns)[:10]} ({d.precision})" for d in found.dates)
    return tuple(entity.text for entity in found.entities), tuple(dates)


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


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _say_what_is_kept(error: DoxaError | KeyboardInterrupt, changes: list[int], added: int) -> None:
    """Add to what ended an ingestion what was committed before, and how to go on."""
    if changes:
        numbers = (
            f"change {changes[0]}"
            if len(changes) == 1
            else f"{len(changes)} changes, {changes[0]} to {changes[-1]}"
        )
        kept = (
            f"{added:,} turns are stored, in {numbers}. Import again to go on from there, or `undo`"
            " them."
        )
    else:
        kept = "Nothing was stored."
    if isinstance(error, KeyboardInterrupt):
        error.add_note(kept)
    elif changes:
        error.fields["changes"] = list(changes)
        error.next_step = f"{error.next_step} {kept}".strip()


_redact_name = lru_cache(maxsize=1_024)(redact)  # the same few names occur in every turn


def _batches(turns: Iterable[PreparedTurn]) -> Iterator[list[PreparedTurn]]:
    iterator = iter(turns)
    while batch := list(islice(iterator, INGEST_BATCH_TURNS)):
        yield batch
