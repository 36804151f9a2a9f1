"""What files of a workspace say, section by section: read, never written, and only below folders
that an operator declared for the agent.

    entry    one section of a Markdown or text file: its path of headings and the hash of its text
    current  the last one read; an earlier text of the same section is superseded, and a section
             that is in the file no more is gone
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from doxa.agent.continuity.exchanges import digest_name
from doxa.agent.continuity.types import KNOWLEDGE, ROOT
from doxa.agent.records.records import (
    find_record,
    list_records,
    move_record,
    note_record,
    record_kref,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.base.errors import InputError, NotFoundError
from doxa.base.limits import (
    KNOWLEDGE_FILE_BYTES_MAX,
    KNOWLEDGE_FILES_ITEMS_MAX,
    KNOWLEDGE_RECALLED_CHARS_MAX,
    KNOWLEDGE_SECTION_CHARS_MAX,
)
from doxa.base.words import terms
from doxa.store import Identity, Reader, Store, Transaction

_READ = frozenset((".md", ".markdown", ".txt", ".rst"))
_DEPTH_MAX = 6
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_LISTED_MAX = 100_000
_BATCH = 200


@dataclass(frozen=True, slots=True)
class KnowledgeEntry:
    """A section of a file. `section` is its path of headings, `source_hash` the SHA-256 of its
    text, `superseded_by` the address of what replaced it, `surfaced` how often it was shown."""

    kref: str
    state: str
    root: str
    path: str
    section: tuple[str, ...]
    text: str
    source_hash: str
    superseded_by: str = ""
    surfaced: int = 0
    surfaced_last: int | None = None


@dataclass(frozen=True, slots=True)
class KnowledgeIndexed:
    """What `knowledge_index` found: files and sections read, entries new, superseded and gone, and
    why files were passed over."""

    root: str
    files: int
    sections: int
    new: int
    superseded: int
    gone: int
    skipped: tuple[str, ...] = ()


def root_name(folder: Path) -> str:
    """Return the name of the record of a folder."""
    return digest_name("root", str(folder))


def declare_root(
    tx: Transaction, project: str, agent: str, folder: Path, *, remove: bool = False
) -> Record:
    """Declare a folder for an agent, or withdraw it. The operator's."""
    kref = record_kref(project, agent, ROOT, root_name(folder))
    known = find_record(tx, kref)
    if remove:
        return move_record(tx, kref, "withdrawn", expected=("declared",))
    if known is None:
        data = {"path": str(folder)}
        return write_record(
            tx,
            project=project,
            agent=agent,
            kind=ROOT,
            name=root_name(folder),
            state="declared",
            data=data,
        )
    return known if known.state == "declared" else move_record(tx, kref, "declared")


def roots_of(reader: Reader, project: str, agent: str) -> list[Path]:
    """Return the folders that are declared for an agent."""
    found = list_records(reader, project=project, agent=agent, kind=ROOT, states=("declared",))
    return [Path(str(one.data["path"])) for one in found]


def index(store: Store, identity: Identity, project: str, agent: str, folder: Path) -> Any:
    """Read the files below a declared folder, and store what is new of them."""
    name = root_name(folder)
    with store.read() as reader:
        root = find_record(reader, record_kref(project, agent, ROOT, name))
    if root is None or root.state != "declared":
        raise NotFoundError(
            f"{folder} is not declared for {agent}.",
            next_step="Ask the operator to declare it with knowledge_root.",
            path=str(folder),
        )
    skipped: list[str] = []
    found: dict[tuple[str, tuple[str, ...]], str] = {}
    files = 0
    for path in _files(folder, skipped):
        text = _text(folder, path, skipped)
        if text is None:
            continue
        files += 1
        place = _place(folder, path)
        for section, body in sections(text):
            found[place, section] = body[:KNOWLEDGE_SECTION_CHARS_MAX]
    counts = _store(store, identity, project, agent, name, found)
    return KnowledgeIndexed(str(folder), files, len(found), *counts, tuple(skipped))


def _store(
    store: Store,
    identity: Identity,
    project: str,
    agent: str,
    root: str,
    found: Mapping[tuple[str, tuple[str, ...]], str],
) -> tuple[int, int, int]:
    """Store sections, and return how many are new, superseded and gone."""
    new = superseded = gone = 0
    entries = list(found.items())
    for first in range(0, len(entries), _BATCH):
        with store.write(identity, op="knowledge_index") as tx:
            for (path, section), text in entries[first : first + _BATCH]:
                data: dict[str, Any] = {
                    "root": root,
                    "path": path,
                    "section": list(section),
                    "source_hash": sha256(text.encode()).hexdigest(),
                }
                name = f"{_place_digest(root, path, section)}-{data['source_hash'][:16]}"
                kref = record_kref(project, agent, KNOWLEDGE, name)
                known = find_record(tx, kref)
                if known is not None and known.state == "current":
                    continue
                superseded += replace_earlier(tx, by=kref)
                if known is not None:
                    move_record(tx, kref, "current")
                    note_record(tx, kref, {"superseded_by": ""})
                else:
                    write_record(
                        tx,
                        project=project,
                        agent=agent,
                        kind=KNOWLEDGE,
                        name=name,
                        state="current",
                        text=text,
                        data=data,
                    )
                new += 1
    # by their names: of what a record says of its place, credentials are left out
    places = {_place_digest(root, path, section) for path, section in found}
    with store.write(identity, op="knowledge_index") as tx:
        for one in _current(tx, project, agent):
            if one.data["root"] == root and one.name.partition("-")[0] not in places:
                move_record(tx, one.kref, "gone")
                gone += 1
    return new, superseded, gone


def _place_digest(root: str, path: str, section: Sequence[str]) -> str:
    """The beginning of the names of all entries of one section."""
    return digest_name(root, path, *section)


def replace_earlier(tx: Transaction, *, by: str) -> int:
    """Supersede what is current of the section of an entry, by its address, and return how many
    entries that were."""
    prefix = by.rpartition("-")[0]
    rows = tx.rows(
        "SELECT kref FROM node WHERE kref > ? AND kref < ? AND props ->> '$.state' = 'current'",
        (f"{prefix}-", f"{prefix}-\U0010ffff"),
    )
    for (kref,) in rows:
        if kref != by:
            move_record(tx, kref, "superseded")
            note_record(tx, kref, {"superseded_by": by})
    return sum(kref != by for (kref,) in rows)


def _current(reader: Reader, project: str, agent: str) -> list[Record]:
    return list_records(
        reader,
        project=project,
        agent=agent,
        kind=KNOWLEDGE,
        states=("current",),
        limit=_LISTED_MAX,
    )


def entries_of(
    reader: Reader, project: str, agent: str, *, text: str = "", every: bool = False, limit: int
) -> list[KnowledgeEntry]:
    """Return entries, those that share most words with a text first; `every` also those that are
    superseded or gone."""
    held = (
        list_records(reader, project=project, agent=agent, kind=KNOWLEDGE, limit=_LISTED_MAX)
        if every
        else _current(reader, project, agent)
    )
    wanted = set(terms(text))
    if wanted:
        scored = [(len(wanted & set(terms(_words(one)))), one) for one in held]
        scored.sort(key=lambda one: (-one[0], one[1].name))
        held = [one for score, one in scored if score]
    return [_entry(one) for one in held[:limit]]


def recall(
    store: Store, identity: Identity, project: str, agent: str, text: str, *, limit: int
) -> list[KnowledgeEntry]:
    """Return what an agent's current entries say about a text, and count that they were shown."""
    if not terms(text):
        return []
    with store.read() as reader:
        found = entries_of(reader, project, agent, text=text, limit=limit)
    if not found:
        return []
    shown = []
    with store.write(identity, op="knowledge_recall") as tx:
        for one in found:
            known = find_record(tx, one.kref)
            if known is None or known.state != "current":
                continue
            count = int(known.notes.get("surfaced", 0)) + 1
            noted = note_record(tx, one.kref, {"surfaced": count, "surfaced_ns": tx.now})
            entry = _entry(noted)
            shown.append(replace(entry, text=_cut(entry.text)))
    return shown


def _cut(text: str) -> str:
    if len(text) <= KNOWLEDGE_RECALLED_CHARS_MAX:
        return text
    return text[: KNOWLEDGE_RECALLED_CHARS_MAX - 2].rsplit(None, 1)[0] + " …"


def _words(record: Record) -> str:
    return f"{record.data['path']} {' '.join(map(str, record.data['section']))} {record.text}"


def _entry(record: Record) -> KnowledgeEntry:
    return KnowledgeEntry(
        record.kref,
        record.state,
        str(record.data["root"]),
        str(record.data["path"]),
        tuple(map(str, record.data["section"])),
        record.text,
        str(record.data["source_hash"]),
        str(record.notes.get("superseded_by", "")),
        int(record.notes.get("surfaced", 0)),
        record.notes.get("surfaced_ns"),
    )


# Files


def sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the sections of a text with their headings from the top. A heading in a code block is
    none; of two sections of one path the second gets a number."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    seen: dict[tuple[str, ...], int] = {}
    fence = ""

    def ended() -> Iterator[tuple[tuple[str, ...], str]]:
        body = "\n".join(lines).strip()
        if body:
            names = tuple(name for _, name in path)
            seen[names] = seen.get(names, 0) + 1
            yield (names if seen[names] == 1 else (*names, f"({seen[names]})")), body

    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        heading = None if fence else _heading(line)
        if heading is None:
            lines.append(line)
            continue
        yield from ended()
        lines.clear()
        while path and path[-1][0] >= heading[0]:
            path.pop()
        path.append(heading)
    yield from ended()


def _heading(line: str) -> tuple[int, str] | None:
    """Return the depth and the name of a heading; None for another line."""
    rest = line.lstrip("#")
    name = rest.strip(" \t")
    depth = len(line) - len(rest)
    if not 0 < depth <= _DEPTH_MAX or not name or rest[0] not in " \t":
        return None
    if line.endswith("#"):
        name = name.rstrip("#").rstrip(" \t") or "#"
    return depth, name


def _files(folder: Path, skipped: list[str]) -> Iterator[Path]:
    """Yield the readable files below a folder, in the order of their names. Links and hidden files
    and folders are left out, so that nothing outside of it is read."""
    count = 0
    for here, names, found in os.walk(folder, followlinks=False):
        names[:] = sorted(one for one in names if not one.startswith("."))
        for name in sorted(found):
            path = Path(here, name)
            if name.startswith(".") or path.suffix.lower() not in _READ or path.is_symlink():
                continue
            if not path.resolve().is_relative_to(folder):
                continue
            count += 1
            if count > KNOWLEDGE_FILES_ITEMS_MAX:
                skipped.append(f"more than {KNOWLEDGE_FILES_ITEMS_MAX:,} files: the rest")
                return
            yield path


def _place(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _text(folder: Path, path: Path, skipped: list[str]) -> str | None:
    raw = _place(folder, path).encode("utf-8", "surrogateescape")
    place = raw.decode("utf-8", "replace")
    if place.encode() != raw:
        skipped.append(f"{place}: its name is not UTF-8")
        return None
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
        with os.fdopen(handle, "rb") as file:
            data = file.read(KNOWLEDGE_FILE_BYTES_MAX + 1)
    except OSError as error:
        skipped.append(f"{place}: {error.strerror}")
        return None
    if len(data) > KNOWLEDGE_FILE_BYTES_MAX:
        skipped.append(f"{place}: more than {KNOWLEDGE_FILE_BYTES_MAX:,} bytes")
        return None
    try:
        return data.decode("utf-8-sig").replace("\0", "")
    except UnicodeDecodeError:
        skipped.append(f"{place}: not UTF-8")
        return None


def checked_folder(folder: Path) -> Path:
    """Return a folder, resolved. Raises InputError if it is not one."""
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder.", next_step="Give an existing folder.", field="folder"
        )
    return folder.resolve()
