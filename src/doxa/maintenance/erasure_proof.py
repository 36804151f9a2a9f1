"""Prove that a text is gone: from what the file states, from every cell and byte of it and of what
lies next to it, and from the copies that doxa wrote. What cannot be reached is named.

A search that finds nothing proves something only where the same search finds what must be there. So
each file is also searched for a control, the hash of a receipt: a copy in which that is missing is
compressed, encrypted or another file, and nothing is said about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any, Literal

import apsw

from doxa.base.errors import InputError
from doxa.base.files.places import (
    REFUSED,
    agents_folder,
    hooks_folder,
    imports_folder,
    signals_folder,
)
from doxa.base.values import canonical, check_text
from doxa.base.words import term_counts
from doxa.store import Reader, Store, blocks_of_gone
from doxa.store.file.scrub import left_over, marked
from doxa.store.retention.copies import REMOTE, Copy, copies_of
from doxa.store.retention.leftovers import RawFinding, cells_of_file, cells_with, scan_files
from doxa.store.retention.occurrences import Needle, find
from doxa.store.stages import Stages, no_stages

State = Literal["gone", "holds", "unknown", "missing"]
_SHORT = 3
_TOLD = 20


@dataclass(frozen=True, slots=True)
class Trace:
    """One place that was looked at: `holds` the text, or it is `gone`; `unknown` if that is
    unclear; `missing` for a copy that is not at its path any more, and may be elsewhere."""

    place: str
    state: State
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ErasureProof:
    """The result of `verify_erased`. `erased`: this file and what lies next to it hold the text no
    more. `complete`: no known copy holds it either, and all could be looked at."""

    erased: bool
    complete: bool
    traces: tuple[Trace, ...]
    words: tuple[str, ...] = ()
    note: str = ""


def verify_erased(store: Store, text: str, *, stages: Stages = no_stages) -> ErasureProof:
    """Look for a text, in upper or lower case, wherever doxa may have written it. Reads the whole
    file and all known copies; writes nothing but what an earlier erasure left to do."""
    check_text(text, field="text")
    if len(text.strip()) < _SHORT:
        raise InputError(
            f"A text to look for has at least {_SHORT} characters.",
            next_step="Give more of it.",
            field="text",
        )
    needle = Needle(text)
    if not store.read_only:
        with store.read() as snapshot:
            due = marked(snapshot._db)
        if due is not None:
            store.scrub()
    with store.read() as snapshot:
        stated = _stated(snapshot, text)
        cells = cells_with(snapshot._db, needle.forms(), stages=stages)
        vectors = _vectors(snapshot._db)
        words = _words_left(snapshot, text)
        control = _control(snapshot._db)
        copies = copies_of(snapshot._db)
        due = marked(snapshot._db)
    own, others = _paths(store.path), dict(_files_of(copies))
    raw = scan_files([*own, *others], needle.forms(), control=control, stages=stages)
    here = [
        *stated,
        Trace("tables", "holds" if cells else "gone", _counted(cells)),
        *vectors,
        *_own_files(own, raw, waiting=left_over(due)),
    ]
    there = [
        _copy(path, kind, raw[path], needle) for path, kind in others.items() if path not in own
    ]
    erased = all(trace.state == "gone" for trace in here)
    complete = erased and all(trace.state == "gone" for trace in there)
    return ErasureProof(erased, complete, (*here, *there), words, _note(words))


def _files_of(copies: Iterable[Copy]) -> Iterator[tuple[str, str]]:
    """Yield the files that copies consist of, with their kind: notes and research bundles are
    folders."""
    for copy in copies:
        place = Path(copy.path)
        if place.is_dir():
            found = place.rglob("*.md" if copy.kind == "notes" else "*")
            yield from ((str(path), copy.kind) for path in sorted(found) if path.is_file())
        else:
            yield copy.path, copy.kind


def _note(words: tuple[str, ...]) -> str:
    told = (
        "Not looked at: exports to standard output, copies made without doxa, file system"
        " snapshots, and the memory of other processes."
    )
    if words:
        told += (
            f" {len(words)} of its words are in the index, because other texts hold them; a single"
            " word proves nothing."
        )
    return told


def _stated(snapshot: Reader, text: str) -> list[Trace]:
    """Look at what the file states, in the order in which an erasure takes it."""
    found = find(snapshot._db, text)
    logged = [
        seq for hit in (*found.nodes.values(), *found.edges.values()) for seq in hit.logged
    ] + found.catalogue_log
    places: tuple[tuple[str, Iterable[Any]], ...] = (
        ("nodes", (f"n:{i}" for i, hit in found.nodes.items() if hit.properties or hit.names)),
        ("relationships", (f"r:{i}" for i, h in found.edges.items() if h.properties or h.names)),
        ("access metadata", (i for i, hit in found.nodes.items() if hit.access)),
        ("log payloads", logged),
        ("catalogue", found.catalogue),
        ("receipts", found.receipts),
    )
    traces = []
    for place, held in places:
        names = [str(one) for one in held]
        told = f"{len(names)}: {', '.join(names[:_TOLD])}" if names else ""
        traces.append(Trace(place, "holds" if names else "gone", told))
    return traces


def _vectors(db: apsw.Connection) -> list[Trace]:
    """Look for vectors of texts that are gone: a vector has no text of its own to look for."""
    orphans = sum(
        db.execute(
            f"SELECT count(*) FROM vector{end} v LEFT JOIN doc d USING(scope, doc) WHERE d.doc IS"
            " NULL OR d.node < 0"
        ).get
        for end in ("", "_next")
    )
    orphans += blocks_of_gone(db)
    return [
        Trace("vectors", "holds" if orphans else "gone", f"{orphans} of no text" if orphans else "")
    ]


def _words_left(snapshot: Reader, text: str) -> tuple[str, ...]:
    words = sorted(term_counts(text))
    rows = snapshot.rows(
        "SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM posting WHERE term = value)"
        " OR EXISTS (SELECT 1 FROM posting_new WHERE term = value)",
        (canonical(words).decode(),),
    )
    return tuple(row[0] for row in rows)[:_TOLD]


def _control(db: apsw.Connection) -> list[bytes]:
    """Return what every file of this memory, of any age, holds: the hash of its first receipt, and
    that of its last."""
    rows = db.execute("SELECT hash FROM receipt WHERE tx IN (1, (SELECT max(tx) FROM receipt))")
    return [row[0] for row in rows]


def _paths(path: str) -> list[str]:
    """Return the file and all that lies next to it under its name, with what is in the folders of
    hooks, imports, signals and archives."""
    place = Path(path).absolute()
    beside = sorted(str(one) for one in place.parent.glob(f"{escape(place.name)}*"))
    folders = (hooks_folder, imports_folder, signals_folder, agents_folder)
    for folder in (one(place) for one in folders):
        beside += sorted(str(one) for one in folder.rglob("*"))
    return list(dict.fromkeys([str(place), *(name for name in beside if Path(name).is_file())]))


def _own_files(own: list[str], raw: dict[str, RawFinding], *, waiting: str) -> list[Trace]:
    traces = []
    controlled = any(raw[path].control for path in own)
    for path in own:
        found = raw[path]
        if not found.exists:
            continue  # the log went between the listing and the look
        if found.error:
            traces.append(Trace(path, "unknown", found.error))
        elif found.holds:
            told = _spooled(Path(path), Path(own[0])) or waiting or "its bytes hold the text"
            traces.append(Trace(path, "holds", told))
        elif not controlled:
            traces.append(Trace(path, "unknown", "its bytes do not hold what they must hold"))
        else:
            traces.append(Trace(path, "gone"))
    return traces


def _spooled(path: Path, memory: Path) -> str:
    """Say what to do where hooks have captured a text that is not stored yet; else ""."""
    if path.suffix != ".jsonl" or path.parent != hooks_folder(memory):
        return ""
    if path.name == REFUSED:
        return "the memory refused it, and it is kept there with the reason: take its line out"
    return (
        "hooks have captured it and it is not stored yet: start a conversation in a host, or"
        " `doxa mcp`, which stores it; then erase the text again"
    )


def _copy(path: str, kind: str, found: RawFinding, needle: Needle) -> Trace:
    place = f"{kind} {path}"
    if kind == REMOTE:
        return Trace(place, "unknown", "on another machine; the next shipment erases it there")
    if not found.exists:
        return Trace(place, "missing", "not at its path any more; it may be elsewhere")
    if found.error:
        return Trace(place, "unknown", found.error)
    if found.holds:
        return Trace(place, "holds", "its bytes hold the text")
    if kind in ("export", "notes", "follow"):
        return Trace(place, "gone")
    cells = cells_of_file(path, needle.forms())
    if cells is None or not found.control:
        return Trace(place, "unknown", "it is not a readable copy of this memory")
    return Trace(place, "holds" if cells else "gone", _counted(cells))


def _counted(cells: dict[str, int]) -> str:
    return ", ".join(f"{count} of {table}" for table, count in sorted(cells.items()))
