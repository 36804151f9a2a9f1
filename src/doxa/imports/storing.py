"""Store what readers yield: messages as turns, entries as turns and beliefs derived from them.

    message -> what of it is stored (redaction/messages.py) -> turn, whose id has no time: what
               hooks captured while it was said is known already
    entry   -> its paragraph as a turn in the thread of its document
               -> a belief DERIVED_FROM it; without a name, addressed by document and text

A paragraph that a document does not hold any more is retired by an operation of its own; so the
belief lacks support and is tagged, and it is supported again when the paragraph is back. What a
person retired stays retired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import blake2b

from doxa.base.errors import DoxaError
from doxa.base.limits import IMPORT_NAME_CHARS_MAX, SKIPPED_ITEMS_MAX
from doxa.base.values import Value
from doxa.belief import EXCHANGE_KIND, Draft, Fact, Kref, Ledger, check_name, name_from, place_of
from doxa.belief.graph import current_of
from doxa.belief.removal.retiring import SPEAKER_NAME, SPEAKER_ROLE, set_deprecated
from doxa.belief.types import RESERVED, check_draft
from doxa.imports.contract import ImportedEntry, ImportedMessage
from doxa.ingestion.batches import store_what_can
from doxa.ingestion.from_turns import retired_by, was_undone
from doxa.ingestion.ingest import Ingest
from doxa.ingestion.remember import clean_draft
from doxa.ingestion.threads import CONVERSATIONS, thread_kref
from doxa.language.turns import Turn, untimed_id
from doxa.redaction.messages import message_text, storable
from doxa.store import TRUST_DEFAULT, TRUSTS, UNTRUSTED, Identity, Node, Store, Transaction

DOCUMENTS = "documents"
ABSENT = "absent"  # the operation that retires what its document does not hold any more
REFERENCED = "REFERENCED"
KINDS = frozenset(
    "decision preference fact correction commitment task goal rule constraint question event note"
    " directive reference".split()
)
Paragraph = tuple[str, Turn, ImportedEntry]  # its id, its text as a turn, what was read
_NOT_METADATA = RESERVED | {SPEAKER_NAME, SPEAKER_ROLE, "document", "source", "replaces"}


@dataclass(slots=True)
class StoredImport:
    """What was stored: new and known turns, candidates that rules read from them, beliefs that were
    written from documents, paragraphs that are gone or back, secrets removed, and what was left
    out, with its reason."""

    added: int = 0
    known: int = 0
    candidates: int = 0
    beliefs: int = 0
    absent: int = 0
    back: int = 0
    redacted: int = 0
    untrusted: int = 0
    vouched: int = 0
    changes: list[int] = field(default_factory=list)
    refused: int = 0
    places: list[str] = field(default_factory=list)

    def refuse(self, place: str) -> None:
        self.refused += 1
        if len(self.places) < SKIPPED_ITEMS_MAX:
            self.places.append(place)


def turn_of_message(message: ImportedMessage) -> tuple[str, Turn, int] | None:
    """Return a message as a turn with its id, and how many secrets were removed. None if nothing of
    it is stored."""
    session = short_name(message.session)
    return _turn(message, session, session, message.source_id)


def turn_of_entry(entry: ImportedEntry) -> tuple[str, Turn, int] | None:
    """Return the paragraph of an entry as a turn, whose thread is its document."""
    document = short_name(entry.document)
    return _turn(entry, document, entry.speaker or document, "")


def _turn(
    said: ImportedMessage | ImportedEntry, thread: str, speaker: str, source_id: str
) -> tuple[str, Turn, int] | None:
    text, redacted = message_text(said.text)
    if not text:
        return None
    if isinstance(said, ImportedMessage):
        speaker = said.speaker or said.role
    turn = Turn(
        thread,
        thread,
        short_name(speaker),
        said.role,
        text,
        said.time_ns,
        short_name(source_id),
    )
    return untimed_id(turn), turn, redacted


def short_name(name: str) -> str:
    """Return a name of a source within the limit; a longer one ends in a digest of all of it."""
    name = storable(name)
    if len(name) <= IMPORT_NAME_CHARS_MAX:
        return name
    digest = blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{name[: IMPORT_NAME_CHARS_MAX - 17]}-{digest}"


class Storing:
    """Stores batches in the name of one identity. `doubted`: the origin is unknown, so that turns
    and beliefs are untrusted and nothing is concluded from them."""

    def __init__(
        self,
        store: Store,
        identity: Identity,
        *,
        vouching: bool = False,
        extracting: bool = True,
        space: str = CONVERSATIONS,
    ) -> None:
        self._store, self._identity = store, identity
        self._vouching, self._extracting = vouching, extracting
        self._space = space
        self._ingests: dict[tuple[str, str, bool], Ingest] = {}
        self._named: dict[tuple[str, str], str] = {}  # project, name -> address of the item
        self._links: list[tuple[str, str, str, str]] = []  # project, item, relation, name
        self._threads: dict[str, None] = {}
        self.done = StoredImport()

    def messages(self, project: str, batch: Iterable[tuple[str, Turn]], *, doubted: bool) -> None:
        """Store turns, in one transaction unless one of them is refused."""
        turns = self._unknown(project, self._space, batch)
        if turns:
            store_what_can(
                turns,
                lambda some: self._ingest(project, self._space, some, doubted=doubted),
                lambda one, error: self.done.refuse(f"{one[1].thread}: {error.message}"),
            )

    def _unknown(
        self, project: str, space: str, batch: Iterable[tuple[str, Turn]]
    ) -> list[tuple[str, Turn]]:
        """Leave out the turns that are known already, unless they are trusted from now on or an
        undo took them away."""
        turns = list(dict(batch).items())
        if self._vouching:
            return turns
        addresses = {address_of(project, space, name): name for name, _ in turns}
        with self._store.read() as reader:
            known = {
                addresses[str(node.props["kref"])]
                for node in reader.nodes_by_kref(list(addresses))
                if not node.props.get("deprecated")
            }
        self.done.known += len(known)
        return [(name, turn) for name, turn in turns if name not in known]

    def _ingest(
        self, project: str, space: str, turns: Sequence[tuple[str, Turn]], *, doubted: bool
    ) -> None:
        key = (project, space, doubted)
        if key not in self._ingests:
            self._ingests[key] = Ingest(
                self._store,
                self._identity,
                project=project,
                space=space,
                extracting=self._extracting and space != DOCUMENTS,
                imported=True,
                doubted=(lambda: True) if doubted else bool,
                vouching=self._vouching,
            )
        ingest = self._ingests[key]
        before = ingest.counts()
        try:
            done = ingest.run_identified(turns)
        except DoxaError:
            self._ingests.pop(key, None)  # it knows threads that were not committed
            raise
        for name, value in ingest.counts().items():
            grown = value - before[name]
            if name != "cut":
                setattr(self.done, name, getattr(self.done, name) + grown)
        self.done.changes += done.changes
        self._threads.update(dict.fromkeys(done.threads))

    def threads(self) -> list[str]:
        """Return the addresses of the threads that something was stored in."""
        return list(self._threads)

    def entries(self, project: str, batch: Sequence[Paragraph], *, doubted: bool) -> None:
        """Store paragraphs and the beliefs derived from them, in one transaction unless one of the
        paragraphs is refused."""
        store_what_can(
            batch,
            lambda some: self._store_entries(project, some, doubted=doubted),
            lambda one, error: self.done.refuse(f"{one[1].thread}: {error.message}"),
        )

    def _store_entries(self, project: str, batch: Sequence[Paragraph], *, doubted: bool) -> None:
        counted, links = deepcopy(self.done), len(self._links)
        try:
            with self._store.write(self._identity, op="ingest") as tx, self._store.joined(tx):
                turns = {name: turn for name, turn, _ in batch}
                for name in turns:
                    self._bring_back(tx, address_of(project, DOCUMENTS, name))
                self._ingest(project, DOCUMENTS, list(turns.items()), doubted=doubted)
                for name, turn, entry in batch:
                    try:
                        self._believe(tx, project, name, turn, entry, doubted=doubted)
                    except DoxaError as error:  # one that cannot be stated blocks no others
                        self.done.refuse(f"{turn.thread}: {error.message}")
        except DoxaError:
            self.done = counted  # nothing of it was stored
            del self._links[links:]
            self._ingests.pop((project, DOCUMENTS, doubted), None)
            raise
        if tx.receipt_made and tx.tx not in self.done.changes:
            self.done.changes.append(tx.tx)

    def _bring_back(self, tx: Transaction, address: str) -> None:
        node = tx.node_by_kref(address)
        if node is not None and retired_by(tx, node) == ABSENT:
            set_deprecated(tx, node, False)
            self.done.back += 1

    def _believe(
        self,
        tx: Transaction,
        project: str,
        name: str,
        turn: Turn,
        entry: ImportedEntry,
        *,
        doubted: bool,
    ) -> None:
        source = address_of(project, DOCUMENTS, name)
        draft, _ = clean_draft(_draft(project, name, turn, entry, source, doubted=doubted))
        kref = Kref(project, (DOCUMENTS,), draft.name, draft.kind)
        if entry.name:
            self._named[(project, entry.name)] = str(kref)
        self._links += [(project, str(kref), relation, to) for relation, to in entry.links]
        item = tx.node_by_kref(str(kref))
        if item is not None and not _is_new(tx, item, draft, entry.retired):
            return
        ledger = Ledger(self._store, self._identity)
        change = ledger.upsert(tx, kref, check_draft(draft), links=[("DERIVED_FROM", source)])
        self.done.beliefs += change.action not in ("unchanged", "challenged")
        made = tx.node_by_kref(str(kref))
        if entry.retired and made is not None:
            set_deprecated(tx, made, True)

    def close_document(self, project: str, document: str, held: set[str]) -> None:
        """Retire the paragraphs of a document that was read whole and does not hold them."""
        document = short_name(document)
        thread = thread_kref(place_of(project, DOCUMENTS), document)
        with self._store.write(self._identity, op=ABSENT) as tx:
            node = tx.node_by_kref(str(thread))
            if node is None or node.props.get("name") != document:
                return
            ends = [edge.dst for edge in tx.edges_out(node.id, "HAS_EXCHANGE")]
            for turn in tx.nodes(ends):
                name = str(turn.props["kref"]).rpartition("/")[2].removesuffix(f".{EXCHANGE_KIND}")
                if name not in held and not turn.props.get("deprecated"):
                    set_deprecated(tx, turn, True)
                    self.done.absent += 1
        if tx.receipt_made:
            self.done.changes.append(tx.tx)

    def finish(self) -> None:
        """Write the links between entries, now that all of them are stored."""
        links, self._links = self._links, []
        for start in range(0, len(links), _LINKS_AT_ONCE):
            with self._store.write(self._identity, op="ingest") as tx:
                for project, address, relation, name in links[start : start + _LINKS_AT_ONCE]:
                    to = self._named.get((project, name))
                    if to is not None and to != address:
                        _link(tx, address, to, relation)
            if tx.receipt_made:
                self.done.changes.append(tx.tx)


_LINKS_AT_ONCE = 500


def address_of(project: str, space: str, name: str) -> str:
    """Return the address of a turn."""
    place = place_of(project, space)
    return str(Kref(place.project, place.spaces, name, EXCHANGE_KIND))


def _draft(
    project: str, name: str, turn: Turn, entry: ImportedEntry, source: str, *, doubted: bool
) -> Draft:
    readable = name_from(entry.name or turn.text[:80])
    if not entry.name:
        readable = f"{readable}-{name[:12]}".strip("-")
    elif readable != entry.name:
        digest = blake2b(entry.name.encode("utf-8", "replace"), digest_size=4).hexdigest()
        readable = f"{readable}-{digest}".strip("-")
    return Draft(
        summary=turn.text,
        project=project,
        space=DOCUMENTS,
        name=check_name(readable, what="name"),
        kind=entry.kind if entry.kind in KINDS else "note",
        title=short_name(entry.title),
        topics=tuple(short_name(one) for one in entry.topics[:_TOPICS_MAX] if one),
        # nothing is concluded from what nobody vouches for
        facts=() if doubted else tuple(Fact(*fact) for fact in entry.facts),
        valid_from=entry.valid_from,
        valid_until=entry.valid_until,
        trust=UNTRUSTED if doubted else TRUST_DEFAULT,
        time=entry.time_ns,
        metadata={**_metadata(entry.metadata), "document": turn.thread, "source": source},
    )


_TOPICS_MAX, _METADATA_MAX = 50, 50


def _metadata(given: Mapping[str, Value]) -> dict[str, Value]:
    """Return what a record says of itself, without names that mean something here."""
    found: dict[str, Value] = {}
    for name, value in list(given.items())[:_METADATA_MAX]:
        key = name_from(name).replace("-", "_")
        if key and key not in _NOT_METADATA:
            found[key] = storable(value) if isinstance(value, str) else value
    return found


def _is_new(tx: Transaction, item: Node, draft: Draft, retired: bool) -> bool:
    """Return whether an entry says something that its item does not: what a person retired stays
    retired, and what is trusted more is not stated again with less."""
    if item.props.get("deprecated"):
        return was_undone(tx, item)
    current = current_of(tx, item.id)
    if current is None:
        return False
    held = current.props
    rank = TRUSTS.index(str(held.get("trust"))) if held.get("trust") in TRUSTS else 0
    same = all(
        held.get(name) == getattr(draft, name) for name in ("summary", "valid_from", "valid_until")
    )
    return retired or not same or rank < TRUSTS.index(draft.trust)


def _link(tx: Transaction, address: str, to: str, relation: str) -> None:
    items = [tx.node_by_kref(one) for one in (address, to)]
    ends = [current_of(tx, item.id) if item is not None else None for item in items]
    if ends[0] is None or ends[1] is None:
        return
    said = short_name(relation)
    if all(
        edge.dst != ends[1].id or edge.props.get("relation") != said
        for edge in tx.edges_out(ends[0].id, REFERENCED)
    ):
        tx.create_edge(REFERENCED, ends[0].id, dst=ends[1].id, props={"relation": said})
