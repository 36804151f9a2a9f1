"""Import a folder of notes that doxa wrote: what nobody edited changes nothing, an edited note is
the next revision of its belief, and one whose belief is not here is stated under its address.

    note == what is believed                         nothing
    note as doxa wrote it, belief is another now     nothing: the belief is newer
    edited, and the belief is what the note was of   one revision
    edited, and the belief was revised since         passed over, with the reason
    no such belief here                              stated, with its number, tags and times
    somebody's own note, without an address          passed over, after all others

All of it is one transaction and one change to undo. A note that is missing means nothing: beliefs
are forgotten by the verbs for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from doxa.base.clock import format_time
from doxa.base.errors import DoxaError, InputError
from doxa.base.limits import IMPORT_NOTE_BYTES_MAX, SKIPPED_ITEMS_MAX
from doxa.belief import check_name, parse_kref
from doxa.belief.graph import RESERVED_EDGES, current_of, revisions_of
from doxa.belief.types import check_artifact, check_draft
from doxa.belief.writes import check_edge_type
from doxa.ingestion.readers.sources import files_below, head
from doxa.redaction.redact import refuse_secret
from doxa.store import Identity, Node, Reader, Store
from doxa.transfer.beliefs import BeliefLine, BundleLine, LinkLine
from doxa.transfer.merge import draft_of, merge
from doxa.transfer.types import Imported
from doxa.transfer.vault.compare import said_by, said_here
from doxa.transfer.vault.names import SUFFIX, NoteNames
from doxa.transfer.vault.notes import ForeignNote, NotANote, Note, address, read_note
from doxa.transfer.vault.state import held_note
from doxa.transfer.vault.write import MANIFEST


@dataclass(slots=True)
class _Passed:
    """What was passed over, and the first places with their reasons."""

    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        self.count += 1
        if len(self.places) < SKIPPED_ITEMS_MAX:
            self.places.append(place[:500])


def is_vault(path: Path) -> bool:
    """Return whether a folder holds the notes of an export."""
    with suppress(OSError, ValueError):
        return path.is_dir() and (path / MANIFEST).is_file()
    return False


def import_notes(
    store: Store,
    identity: Identity,
    folder: Path,
    *,
    dry_run: bool = False,
    accept_protected: bool = False,
) -> Imported:
    """Import the notes below a folder. `dry_run` writes nothing and returns what would be. Raises
    InputError, RoleError or ConfirmationError before anything is written; a note that cannot be
    read is passed over."""
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder.",
            next_step="Give the folder of an export as notes.",
            path=str(folder),
        )
    passed, foreign = _Passed(), _Passed()
    texts, names = _addresses(folder, passed, foreign)
    if not texts:
        raise InputError(
            f"{folder} holds no notes of doxa.",
            next_step="Give the folder of an export as notes; other notes are read by `doxa"
            " import`.",
            path=str(folder),
        )
    lines: list[BeliefLine] = []
    decided: list[tuple[Note, str]] = []
    known = 0
    now = format_time(store.clock.now_ns())
    with store.read() as snapshot:
        for path, item in texts.items():
            try:
                note = read_note(_text(path), kref_of=names.get)
                if note.item != item:
                    raise NotANote("it was changed while it was read")
                revision = _decide(snapshot, note, names.krefs)
                if revision:
                    _check(note)
            except NotANote as error:
                passed.add(f"{path.relative_to(folder)}: {error}")
            except DoxaError as error:
                passed.add(f"{path.relative_to(folder)}: {error.message}")
            else:
                known += not revision
                decided += [(note, revision)] if revision else []
        coming = {note.item: revision for note, revision in decided}
        for note, revision in decided:
            lines += _lines(snapshot, note, revision, coming, now)
    done = merge(
        store,
        identity,
        lambda: iter(lines),
        dry_run=dry_run,
        accept_protected=accept_protected,
    )
    return replace(
        done,
        known=done.known + known,
        passed_over=done.passed_over + passed.count + foreign.count,
        # last, since a vault of somebody's own may hold thousands of them
        places=(*passed.places, *done.places, *foreign.places)[:SKIPPED_ITEMS_MAX],
    )


def _addresses(
    folder: Path, passed: _Passed, foreign: _Passed
) -> tuple[dict[Path, str], NoteNames]:
    """Return the notes below a folder with the addresses of their items. Two notes of one item say
    nothing if they differ; `foreign` takes those that are not of doxa."""
    by_item: dict[str, list[Path]] = {}
    names = NoteNames()
    for path in files_below(folder, SUFFIX):
        inside = path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts):
            continue
        try:
            item = address(_text(path))
        except ForeignNote as error:
            foreign.add(f"{inside}: {error}")
            continue
        except NotANote as error:
            passed.add(f"{inside}: {error}")
            continue
        except (DoxaError, ValueError) as error:
            passed.add(f"{inside}: {getattr(error, 'message', error)}")
            continue
        by_item.setdefault(item, []).append(path)
        names.add(inside.with_suffix("").as_posix(), item)
    texts: dict[Path, str] = {}
    for item, paths in by_item.items():
        if len(paths) > 1 and len({_text(path) for path in paths}) > 1:
            shown = ", ".join(str(path.relative_to(folder)) for path in paths[:5])
            passed.add(f"{item}: {len(paths)} notes differ: {shown}")
        else:
            texts[paths[0]] = item
    return texts, names


def _text(path: Path) -> str:
    """Read a note. Raises NotANote or InputError."""
    data = head(path, IMPORT_NOTE_BYTES_MAX + 1)
    if len(data) > IMPORT_NOTE_BYTES_MAX:
        raise NotANote(f"it is longer than {IMPORT_NOTE_BYTES_MAX:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NotANote("it is not UTF-8") from None


def _decide(reader: Reader, note: Note, coming: set[str]) -> str:
    """Return the address of the revision that a note becomes, or of the bundle that it makes; ""
    if it changes nothing. Raises NotANote with the reason if it cannot be taken."""
    item = reader.node_by_kref(note.item)
    if item is None:
        number = note.line.number + note.edited if note.line else 0
        return str(parse_kref(note.item).pinned(number)) if number else note.item
    if not note.edited:
        return ""
    held = held_note(reader, item)
    if None not in (held.members, note.members) and {*held.members} != {*note.members}:  # type: ignore[misc]
        raise NotANote("members of a bundle are changed by the verb `bundle`, not in its note")
    current = current_of(reader, item.id)
    if note.line is None:
        return ""
    if current is None or held.held is None:
        raise NotANote("its belief was retired here")
    if said_by(reader, note, coming) == said_here(held):
        return ""
    if note.line.number != current.props["number"]:
        raise NotANote(
            f"it was edited as revision {note.line.number}, and the belief is at revision"
            f" {current.props['number']} now: export again, and edit that"
        )
    return str(parse_kref(note.item).pinned(_following(reader, item)))


def _following(reader: Reader, item: Node) -> int:
    """Return the number that the next revision of an item will have."""
    used = [node.props["number"] for node in revisions_of(reader, item.id)]
    least = item.props.get("next_number", 1)
    return max(int(str(one)) for one in (least, *(int(str(n)) + 1 for n in used)))


def _check(note: Note) -> None:
    """Raise DoxaError for a note that no belief can say: one bad note must not block the others."""
    if note.line is None:
        return
    draft, _ = draft_of(note.line)
    check_draft(draft)
    for tag in note.line.tags:
        refuse_secret(check_name(tag, what="tag"), field="tag")
    for artifact in note.artifacts:
        check_artifact(artifact.location, sha256=artifact.sha256, size_bytes=artifact.size_bytes)
        refuse_secret(parse_kref(artifact.kref).artifact or "", field="artifact")
    for link in note.links:
        check_edge_type(link.kind)
        if link.kind in RESERVED_EDGES:
            raise NotANote(f"edges of type {link.kind} are written by doxa alone")


def _lines(
    reader: Reader, note: Note, revision: str, coming: dict[str, str], now: str
) -> Iterator[BeliefLine]:
    """Yield what a note becomes, as lines of a merge."""
    if note.members is not None:
        yield BundleLine(note.item, note.members)
    if note.line is None:
        return
    number = parse_kref(revision).revision or 1
    if note.edited:
        yield msgspec.structs.replace(note.line, kref=revision, number=number, author="", time=now)
    else:
        yield note.line
    for artifact in note.artifacts:
        name = parse_kref(artifact.kref).artifact
        yield msgspec.structs.replace(artifact, kref=f"{revision}&a={name}")
    for link in note.links:
        target = coming.get(link.target) or _present(reader, link.target)
        yield LinkLine(link.kind, revision, target, msgspec.Raw(link.properties))


def _present(reader: Reader, target: str) -> str:
    """Return the address of the current revision of an item, and any other as it is."""
    kref = parse_kref(target)
    item = reader.node_by_kref(target) if kref == kref.item() else None
    current = current_of(reader, item.id) if item is not None and "Item" in item.labels else None
    return target if current is None else str(current.props["kref"])
