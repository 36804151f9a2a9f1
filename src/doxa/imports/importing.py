"""The one way of an import, whatever program wrote what is read. Start here.

    place -> sources (registry.py) -> cursor -> FormatReader.read -> batches of 500 -> storing.py

A cursor moves after what it stands for was committed. So an import that was killed at any point
goes on where it was, and ends in the same memory as one that was not; without its cursors too,
since what is known is skipped.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from doxa.base.errors import InputError, RoleError
from doxa.base.ids import TxId
from doxa.base.limits import IMPORT_FOLDERS_ITEMS_MAX, INGEST_BATCH_TURNS, SKIPPED_ITEMS_MAX
from doxa.imports.contract import (
    INCLUDED,
    START,
    FormatReader,
    ImportedEntry,
    ImportedMessage,
    ImportLog,
    ImportSource,
    Position,
)
from doxa.imports.cursors import Cursors, FileCursor, start_of
from doxa.imports.registry import READERS, sources
from doxa.imports.storing import (
    DOCUMENTS,
    Storing,
    address_of,
    short_name,
    turn_of_entry,
    turn_of_message,
)
from doxa.ingestion.from_turns import was_undone
from doxa.ingestion.readers import FORMATS
from doxa.ingestion.readers.formats import refuse_export
from doxa.ingestion.threads import CONVERSATIONS
from doxa.language.turns import Turn
from doxa.store import TRUST_DEFAULT, UNTRUSTED, Identity, Store

_COUNTED_EVERY = 1_000  # lines that hold nothing, between two notes of the position


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How an import is done. `project_of` gives the project of a folder that a conversation took
    place in ("" if the source names none). `trust` as for `ingest`: "stated" vouches for what is
    read, "untrusted" doubts it, "" decides by the format. `include` adds what is left out. `again`
    reads everything from its beginning. `space` is that of the turns of conversations."""

    project_of: Callable[[str], str]
    trust: str = ""
    include: Collection[str] = ()
    extract: bool = True
    dry_run: bool = False
    again: bool = False
    space: str = CONVERSATIONS


@dataclass(frozen=True, slots=True)
class ImportedFiles:
    """The result of an import. `sources` were read, `unchanged` were not, since nothing changed in
    them; `projects` counts messages and entries, of a dry run the new ones. `left_out` counts what
    a format leaves out on purpose, by reason; `skipped` what could not be read, with the first
    `places`. For the other counts see Ingested; `beliefs` are those of documents, `absent` and
    `back` paragraphs that documents do not hold any more, or again."""

    formats: dict[str, int]
    sources: int
    unchanged: int
    sessions: int
    projects: dict[str, int]
    added: int
    known: int
    candidates: int
    beliefs: int
    absent: int
    back: int
    redacted: int
    untrusted: int
    vouched: int
    left_out: dict[str, int]
    skipped: int
    places: tuple[str, ...]
    changes: tuple[int, ...]
    threads: tuple[str, ...]
    dry_run: bool = False

    def said(self) -> str:
        """Describe it in one line, such as "3 messages, 1 skipped"."""
        counts = (
            ("messages", self.added),
            ("candidates", self.candidates),
            ("beliefs of documents", self.beliefs),
            ("paragraphs gone", self.absent),
            ("skipped", self.skipped),
        )
        return ", ".join(f"{n:,} {what}" for what, n in counts if n) or "nothing new"


class _Held(NamedTuple):
    """One thing of a batch, ready to be stored."""

    project: str
    doubted: bool
    name: str
    turn: Turn
    entry: ImportedEntry | None


@dataclass(slots=True)
class _SourceReading:
    """One source while it is read: what is committed of it reaches to `saved`."""

    source: ImportSource
    state: os.stat_result
    position: Position = START
    done: bool = False
    stored: str = ""


@dataclass(slots=True)
class _Batch:
    """What was read and is not stored yet, and the sources it is from."""

    held: list[_Held] = field(default_factory=list)
    readings: dict[Path, _SourceReading] = field(default_factory=dict)


class Importer:
    """One import into one memory. `cursors` None: nothing is remembered of where it was.
    `progress` is called with the number of things read after each batch, when its cursors are
    saved. `following`: one of many rounds; what was undone meanwhile is not done again, and to find
    nothing is fine."""

    def __init__(
        self,
        store: Store,
        identity: Identity,
        options: ImportOptions,
        *,
        cursors: Cursors | None = None,
        progress: Callable[[int], None] | None = None,
        following: bool = False,
    ) -> None:
        _check(options, identity)
        self._store, self._options = store, options
        self._cursors, self._following = cursors, following
        self._progress = progress or (lambda _: None)
        self._storing = Storing(
            store,
            identity,
            vouching=options.trust == TRUST_DEFAULT,
            extracting=options.extract,
            space=options.space,
        )
        self._log = ImportLog()
        self._formats: Counter[str] = Counter()
        self._projects: Counter[str] = Counter()
        self._project_of: dict[str, str] = {}
        self._sessions: set[int] = set()
        self._unchanged = 0
        self._new: set[int] = set()  # of a dry run: what it would add
        self._batch = _Batch()
        self._resumed = False  # whether a part of a file was read before

    def run(self, place: Path, format: str | None = None) -> ImportedFiles:
        """Import a file, or everything below a folder that a reader recognises. Raises InputError
        if nothing is, or if nothing of it can be read."""
        found = False
        foreign = self._cursors.pass_over if self._cursors else lambda _: None
        for reader, source in sources(
            place, self._log, format, skip=self._is_unchanged, foreign=foreign
        ):
            found = True
            try:
                self._read(reader, source)
            except InputError as error:
                if source.path == place:
                    raise
                self._log.skip(error.message)  # one unreadable file must not block the others
        self._flush()
        if not self._options.dry_run:
            self._storing.finish()
        found = found or bool(self._unchanged) or (self._following and place.is_dir())
        if not found and not self._log.skipped:
            raise unknown(place)
        nothing = not (self._projects or self._unchanged or self._following or self._resumed)
        if self._log.skipped and nothing:
            raise InputError(
                f"{place} contains nothing that can be read: {self._log.skipped} parts were"
                f" skipped, first {self._log.places[0]}.",
                next_step=f"Name the right format: {', '.join(one.name for one in READERS)}.",
                path=str(place),
                skipped=self._log.skipped,
            )
        return self._result()

    def _is_unchanged(self, path: Path) -> bool:
        """Return whether a file was read to its end and has not changed since."""
        if self._cursors is None or self._options.again:
            return False
        if self._following and self._cursors.was_done(path):
            self._unchanged += 1
            return True
        cursor = self._cursors.load(path)
        if cursor is None or not self._cursors.is_done(path, cursor) or not self._holds(cursor):
            return False
        self._unchanged += 1
        return True

    def _cursor(self, path: Path) -> FileCursor | None:
        if self._cursors is None or self._options.again:
            return None
        cursor = self._cursors.load(path)
        return None if cursor is None or not self._holds(cursor) else cursor

    def _read(self, reader: FormatReader, source: ImportSource) -> None:
        state = source.path.stat()
        cursor = self._cursor(source.path)
        self._formats[reader.name] += 1
        self._resumed |= cursor is not None
        start = START if reader.documents else start_of(cursor)
        reading = _SourceReading(source, state, start, stored=cursor.stored if cursor else "")
        doubted = self._is_doubted(reader)
        skipped = self._log.skipped
        documents: dict[tuple[str, str], set[str]] = {}
        found = reader.read(source, start, self._log, self._options.include)
        for number, (item, after) in enumerate(found, 1):
            if item is not None:
                self._take(item, reading, doubted, documents)
            reading.position = after
            if len(self._batch.held) >= INGEST_BATCH_TURNS or number % _COUNTED_EVERY == 0:
                self._batch.readings[source.path] = reading
                self._flush()
        if reader.documents and self._log.skipped == skipped:
            self._flush()
            self._close(documents)
        reading.done = True
        self._batch.readings[source.path] = reading
        if len(self._batch.readings) >= INGEST_BATCH_TURNS:
            self._flush()

    def _holds(self, cursor: FileCursor) -> bool:
        """Return whether memory still holds what a cursor stands for: an import that was undone is
        done again, and so is one into a file that was put in its place."""
        with self._store.read() as reader:
            receipt = reader.receipt(TxId(cursor.change))
            node = reader.node_by_kref(cursor.stored)
            held = cursor.change == 0 or (
                receipt is not None and receipt.hash.hex() == cursor.receipt
            )
            undone = not self._following and node is not None and was_undone(reader, node)
            return held and not undone

    def _memory(self) -> tuple[int, str]:
        """The last change, by which memory is known again."""
        with self._store.read() as reader:
            last = reader.last_change()
            receipt = reader.receipt(TxId(last))
            return last, receipt.hash.hex() if receipt else ""

    def _is_doubted(self, reader: FormatReader) -> bool:
        trust = self._options.trust
        return trust == UNTRUSTED if trust else not reader.own

    def _take(
        self,
        item: ImportedMessage | ImportedEntry,
        reading: _SourceReading,
        doubted: bool,
        documents: dict[tuple[str, str], set[str]],
    ) -> None:
        """Add a message or entry to the batch."""
        project = self._project(item.folder)
        entry = item if isinstance(item, ImportedEntry) else None
        if entry is not None:
            held = documents.setdefault((project, entry.document), set())
        made = turn_of_entry(item) if isinstance(item, ImportedEntry) else turn_of_message(item)
        if made is None:
            self._log.left_out["empty messages"] += 1
            return
        name, turn, redacted = made
        self._storing.done.redacted += redacted
        if entry is not None:
            held.add(name)
        else:
            self._sessions.add(hash((project, turn.session)))
        space = DOCUMENTS if entry is not None else self._options.space
        reading.stored = address_of(project, space, name)
        self._projects[project] += 1
        self._batch.held.append(_Held(project, doubted, name, turn, entry))

    def _project(self, folder: str) -> str:
        if folder not in self._project_of and len(self._project_of) >= IMPORT_FOLDERS_ITEMS_MAX:
            folder = ""  # a file that names ever new folders does not fill the table of projects
        if folder not in self._project_of:
            self._project_of[folder] = self._options.project_of(folder)
        return self._project_of[folder]

    def _flush(self) -> None:
        """Store the batch, each project of it in a transaction of its own; then move the
        cursors."""
        batch, self._batch = self._batch, _Batch()
        groups: dict[tuple[str, bool, bool], list[_Held]] = {}
        for one in batch.held:
            groups.setdefault((one.project, one.doubted, one.entry is None), []).append(one)
        for (project, doubted, is_message), group in groups.items():
            if self._options.dry_run:
                self._count(project, group)
            elif is_message:
                turns = [(one.name, one.turn) for one in group]
                self._storing.messages(project, turns, doubted=doubted)
            else:
                entries = [(one.name, one.turn, one.entry) for one in group if one.entry]
                self._storing.entries(project, entries, doubted=doubted)
        if self._cursors is not None and not self._options.dry_run and batch.readings:
            memory = self._memory()
            for path, reading in batch.readings.items():
                self._cursors.save(
                    path,
                    reading.position,
                    state=reading.state,
                    done=reading.done,
                    stored=reading.stored,
                    memory=memory,
                )
        if batch.held:
            self._progress(len(batch.held))

    def _count(self, project: str, group: Iterable[_Held]) -> None:
        """Count what a dry run would add."""
        space = self._options.space
        addresses = {
            address_of(project, space if one.entry is None else DOCUMENTS, one.name): one
            for one in group
        }
        with self._store.read() as reader:
            known = {str(node.props["kref"]) for node in reader.nodes_by_kref(list(addresses))}
        for address, one in addresses.items():
            if address in known:
                self._storing.done.known += 1
            elif hash(address) not in self._new:
                self._new.add(hash(address))
                self._storing.done.added += 1
                self._storing.done.beliefs += one.entry is not None
                self._storing.done.untrusted += one.doubted

    def _close(self, documents: dict[tuple[str, str], set[str]]) -> None:
        if self._options.dry_run:
            return
        for (project, document), held in documents.items():
            self._storing.close_document(project, short_name(document), held)

    def _result(self) -> ImportedFiles:
        done, log = self._storing.done, self._log
        return ImportedFiles(
            dict(self._formats),
            self._formats.total(),
            self._unchanged,
            len(self._sessions),
            dict(self._projects),
            done.added,
            done.known,
            done.candidates,
            done.beliefs,
            done.absent,
            done.back,
            done.redacted,
            done.untrusted,
            done.vouched,
            {name: count for name, count in log.left_out.items() if count},
            log.skipped + done.refused,
            (*log.places, *done.places)[:SKIPPED_ITEMS_MAX],
            tuple(done.changes),
            tuple(self._storing.threads()),
            self._options.dry_run,
        )


def _check(options: ImportOptions, identity: Identity) -> None:
    """Raise InputError for options that make no sense, RoleError where the role may not give
    them."""
    if options.trust not in ("", TRUST_DEFAULT, UNTRUSTED):
        raise InputError(
            f"Files are taken as stated or as untrusted, not as {options.trust[:40]!r}.",
            next_step="Give trust='stated' or trust='untrusted', or leave it out.",
            field="trust",
        )
    unknown = sorted(set(options.include) - set(INCLUDED))
    if unknown:
        raise InputError(
            f"Unknown content to include: {', '.join(unknown)[:80]!r}.",
            next_step=f"Choose from: {', '.join(INCLUDED)}.",
            field="include",
        )
    if options.trust == TRUST_DEFAULT and identity.role == "agent":
        raise RoleError(
            "Only an operator vouches for the origin of a file.",
            next_step="Leave trust out, or ask the operator to import it.",
            role="agent",
            needed="operator",
        )


def unknown(place: Path) -> InputError:
    """Return the error for what no reader recognises, with the formats there are. Raises that of
    an export of doxa."""
    if place.is_file():
        refuse_export(place)
    titles = {one.name: one.title for one in READERS} | FORMATS
    return InputError(
        f"{place} is not in a supported format: {'; '.join(titles.values())}.",
        next_step="Give one of these, or name the format.",
        path=str(place),
        formats=list(titles),
    )
